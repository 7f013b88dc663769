"""Attitude and orbit control of a servicer: thrusters with quantised on-times, reaction wheels, relative navigation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import mujoco
import numpy as np

from grouser.control.docking_sensors import StereoCamera
from grouser.control.wheels import actuator_id, body_id
from grouser.errors import InputError
from grouser.module import Channel

FILTER_DAMPING = 1.0  # damping ratio of the alpha-beta filters: critical


class Mode(IntEnum):
    """Mode of the servicer's attitude and orbit control."""

    RELATIVE = 0  # holds position and attitude relative to the client, by the camera
    FREE = 1  # wheels and thrusters are off
    MATED = 2  # holds the attitude that both satellites had when the mode began
    RETREAT = 3  # moves away from the client and holds its attitude


class _OneWorld:
    """Base of a controller for one world. A reset sets all of its state to zero."""

    def state(self) -> dict[str, Any]:
        raise NotImplementedError

    def reset(self, worlds: Sequence[int]) -> None:
        for array in self.state().values():
            array[:] = 0


class Thrusters(_OneWorld):
    """Pairs of on-off thrusters with one pulse per period. On-times are multiples of a quantum.

    The part of an impulse lost by rounding is carried to the next pulse. `impulse` is the total impulse on the system
    about the world origin, summed over the forces that MuJoCo applies.
    """

    def __init__(
        self, names: Sequence[str], places: np.ndarray, directions: np.ndarray, force: float, *, body: str,
        quantum: float, pulse_period: float, step: float,
    ):  # fmt: skip
        """`places` [m], `directions`: (thruster, 3) in body axes. `force` [N]; the others [s]."""
        ticks = round(quantum / step)
        if ticks < 1 or abs(ticks * step - quantum) > 1e-9:
            raise InputError(f"thrusters: quantum = {quantum:g} s: allowed are multiples of the step {step:g} s")
        if pulse_period < quantum:
            raise InputError(f"thrusters: pulse_period = {pulse_period:g} s must be at least the quantum {quantum:g} s")
        self.names, self.body, self.force, self.period = tuple(names), body, force, step
        self._step = step
        self.places, self.directions = places, directions
        self.quantum, self.pulse_period, self._ticks = quantum, pulse_period, ticks
        self._most = math.floor(pulse_period / quantum + 1e-9)
        self.wanted = np.zeros(3)  # [N] wanted force in body axes, held until changed
        self.left = np.zeros(len(self.names), np.int64)  # quanta left of the present pulse
        self.carried = np.zeros(3)  # [N s] wanted but not delivered yet
        self.clock = np.zeros(1, np.int64)  # steps since the pulses began
        self.on_time = np.zeros(len(self.names))  # [s]
        self.impulse = np.zeros(6)  # [N s], [N m s] about the world's origin
        self.burning = np.zeros(len(self.names), bool)
        self._ids: np.ndarray | None = None

    def _wire(self, model: mujoco.MjModel) -> None:
        self._ids = np.array([actuator_id(model, name) for name in self.names])
        self._body = body_id(model, self.body)

    def act(self, time: float, sensors: Any, command: Any) -> None:
        if self._ids is None:
            self._wire(sensors.model)
        tick = int(self.clock[0])
        if tick % self._ticks == 0:
            if (tick // self._ticks) % self._most == 0:
                self._start_pulses()
            burning = self.left > 0
            command[self._ids] = burning
            self.left[burning] -= 1
            self.burning[:] = burning
        # While none burns, nothing changes until the next quantum.
        idle = not self.burning.any()
        self.clock[0] += self._ticks if idle else 1
        self.period = self._ticks * self._step if idle else self._step
        if not idle:
            self._account(sensors)

    def _start_pulses(self) -> None:
        """Set the on-times of the next period. For each axis, the pair that points in the wanted direction fires."""
        asked = self.wanted * (self._most * self.quantum) + self.carried
        quanta = np.rint(np.abs(asked) / (2 * self.force * self.quantum))
        quanta = np.minimum(quanta, self._most)
        given = np.sign(asked) * quanta * 2 * self.force * self.quantum
        most = self.force * self.quantum  # half a quantum of a pair: largest rounding error
        self.carried[:] = np.clip(asked - given, -most, most)
        share = self.directions @ np.sign(asked)
        self.left[:] = np.where(share > 0, np.abs(self.directions) @ quanta, 0).astype(int)

    def _account(self, data: Any) -> None:
        turn = data.xmat[self._body].reshape(3, 3)
        push = self.force * self.burning[:, None] * (self.directions @ turn.T)
        arm = data.xpos[self._body] + self.places @ turn.T
        self.impulse[:3] += self._step * push.sum(axis=0)
        self.impulse[3:] += self._step * np.cross(arm, push).sum(axis=0)
        self.on_time += self._step * self.burning

    def state(self) -> dict[str, Any]:
        return {
            "wanted": self.wanted, "left": self.left, "carried": self.carried, "clock": self.clock,
            "on_time": self.on_time, "impulse": self.impulse, "burning": self.burning,
        }  # fmt: skip

    def channels(self) -> list[Channel]:
        axes = ("x", "y", "z")
        return [
            Channel("thrusters/on_time", "s", (len(self.names),), "", labels=self.names,
                    read=lambda: self.on_time[None]),
            Channel("thrusters/wanted", "N", (3,), "servicer", labels=axes, read=lambda: self.wanted[None]),
            Channel("thrusters/impulse", "N s, N m s", (6,), labels=(*axes, "about x", "about y", "about z"),
                    read=lambda: self.impulse[None]),
        ]  # fmt: skip


@dataclass(frozen=True)
class AocsGains:
    """Bandwidths of the control loops; all assumed."""

    station: float = 0.2  # [rad/s] relative position
    attitude: float = 0.1  # [rad/s] relative attitude
    mated: float = 0.02  # [rad/s] attitude of both satellites
    damping: float = 0.8  # damping ratio of all loops
    place_filter: float = 0.4  # [rad/s] of the camera's position and the client's velocity
    tilt_filter: float = 0.2  # [rad/s] of its tilt and the client's rate
    retreat: float = 0.02  # [m/s] speed at which the servicer leaves


class Aocs(_OneWorld):
    """Attitude and orbit control: holds the servicer relative to the client by its camera, or both once mated.

    Reaction wheels control the attitude, thrusters the position.
    """

    def __init__(
        self, camera: StereoCamera, thrusters: Thrusters, wheels: Sequence[str], *, body: str, target: np.ndarray,
        mass: float, inertia: np.ndarray, mated_inertia: np.ndarray, wheel_torque: float, wheel_momentum: float,
        wheel_inertia: float, gyro_noise: float = 0.0, period: float = 0.1,
        gains: AocsGains | None = None, seed: int = 0,
    ):  # fmt: skip
        """`target` [m], (3,): wanted position of the camera's target in servicer axes. `gyro_noise` [rad/s]."""
        self.camera, self.thrusters, self.wheels, self.body = camera, thrusters, tuple(wheels), body
        self.target, self.mass, self.inertia, self.mated_inertia = np.asarray(target), mass, inertia, mated_inertia
        self.wheel_torque, self.wheel_momentum, self.wheel_inertia = wheel_torque, wheel_momentum, wheel_inertia
        self.gyro_noise, self.period, self.gains, self._seed = gyro_noise, period, gains or AocsGains(), seed
        self.mode = np.zeros(1, int)
        self.place, self.velocity = np.zeros(3), np.zeros(3)  # [m], [m/s] of the client's nozzle, estimated
        self.tilt, self.angular_velocity = np.zeros(3), np.zeros(3)  # [rad], [rad/s] of the client, estimated
        self.measurement_count, self.count, self.since = (np.zeros(1, np.int64) for _ in range(3))
        self.held = np.zeros(4)  # quaternion to hold when mated
        self._ids: np.ndarray | None = None

    @property
    def blind(self) -> float:
        """Time [s] since the camera last saw the client."""
        return float(self.since[0]) * self.period

    def set_mode(self, mode: Mode) -> None:
        if self.mode[0] != mode:
            self.mode[0] = mode
            self.held[:] = 0
            self.thrusters.wanted[:] = 0
            self.thrusters.carried[:] = 0

    def _wire(self, model: mujoco.MjModel) -> None:
        self._ids = np.array([actuator_id(model, name) for name in self.wheels])
        self._body = body_id(model, self.body)
        self._speed = np.array([model.jnt_dofadr[model.actuator_trnid[a, 0]] for a in self._ids])
        root = model.body_jntadr[self._body]
        self._quat, self._rate = model.jnt_qposadr[root] + 3, model.jnt_dofadr[root] + 3

    def act(self, time: float, sensors: Any, command: Any) -> None:
        if self._ids is None:
            self._wire(sensors.model)
        g, mode = self.gains, self.mode[0]
        rate = sensors.qvel[self._rate : self._rate + 3]
        if self.gyro_noise > 0:
            rng = np.random.default_rng([self._seed, 3, int(self.count[0])])
            rate = rate + self.gyro_noise * rng.standard_normal(3)
        self.count[0] += 1
        place_rate, tilt_rate = self._estimate_rates(rate)
        torque = np.zeros(3)
        if mode == Mode.RELATIVE:
            torque = self.inertia * (g.attitude**2 * self.tilt + 2 * g.damping * g.attitude * tilt_rate)
            self.thrusters.wanted[:] = self.mass * (
                g.station**2 * (self.place - self.target) + 2 * g.damping * g.station * place_rate
            )
        elif mode in (Mode.MATED, Mode.RETREAT):
            quat = sensors.qpos[self._quat : self._quat + 4]
            if not self.held.any():
                self.held[:] = quat
            error = np.zeros(3)
            mujoco.mju_subQuat(error, self.held, quat)  # rotation from the present to the held attitude, body axes
            inertia = self.mated_inertia if mode == Mode.MATED else self.inertia
            speed = g.mated if mode == Mode.MATED else g.attitude
            torque = inertia * (speed**2 * error - 2 * g.damping * speed * rate)
            if mode == Mode.RETREAT:
                self.thrusters.wanted[:] = [0, 0, -self.mass * g.station * (g.retreat - place_rate[2])]
        torque = np.clip(torque, -self.wheel_torque, self.wheel_torque)
        momentum = sensors.qvel[self._speed] * self.wheel_inertia
        full = (np.abs(momentum) >= self.wheel_momentum) & (np.sign(momentum) == np.sign(-torque))
        command[self._ids] = np.where(full, 0.0, -torque)  # the reaction on the bus has the opposite sign

    def _estimate_rates(self, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rates of position [m/s] and tilt [rad/s], (3,) each, from alpha-beta filters on the camera's samples.

        Between samples the estimate is propagated with the gyros and the thrusters' commands.
        """
        camera, g, h = self.camera, self.gains, self.period
        self.velocity -= h * self.thrusters.wanted / self.mass
        self.since[0] += 1
        if camera.measurement_count[0] != self.measurement_count[0]:
            if self.measurement_count[0] == 0:
                self.place[:], self.tilt[:] = camera.position, camera.tilt
            elapsed = min(float(self.since[0]) * h, 2 * camera.period)
            self.since[0], self.measurement_count[0] = 0, camera.measurement_count[0]
            for value, change, seen, speed in (
                (self.place, self.velocity, camera.position, g.place_filter),
                (self.tilt, self.angular_velocity, camera.tilt, g.tilt_filter),
            ):
                x = min(speed * elapsed, 0.5)
                error = seen - value
                value += 2 * FILTER_DAMPING * x * error
                change += x * x / elapsed * error
        place_rate, tilt_rate = self.velocity - np.cross(rate, self.place), self.angular_velocity - rate
        self.place += h * place_rate
        self.tilt += h * tilt_rate
        return place_rate, tilt_rate

    def state(self) -> dict[str, Any]:
        return {
            "mode": self.mode, "place": self.place, "velocity": self.velocity, "tilt": self.tilt,
            "angular_velocity": self.angular_velocity, "measurement_count": self.measurement_count,
            "count": self.count, "since": self.since,
            "held": self.held,
        }  # fmt: skip

    def channels(self) -> list[Channel]:
        axes = ("x", "y", "z")
        return [
            Channel("aocs/mode", "1", (), "", read=lambda: self.mode.astype(float)),
            Channel("aocs/place_error", "m", (3,), "servicer", labels=axes,
                    read=lambda: (self.place - self.target)[None]),
            Channel("aocs/tilt_error", "rad", (3,), "servicer", labels=axes, read=lambda: self.tilt[None]),
        ]  # fmt: skip
