"""Driving a vehicle with torque motors: the speed controllers of `traction.py`, and a share of torque that turns it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import mujoco
import numpy as np

from grouser.control.steering import steer_angles, wheel_velocities
from grouser.control.traction import SpeedController
from grouser.control.wheels import Worlds, actuator_id
from grouser.module import Channel

TURN_RATE = 2.0  # [rad/s] at full input (assumed)
SIDE_ACCELERATION = 3.0  # [m/s^2] largest in a curve: faster means wider (assumed: below what turns VIVI over)
GAIN = 20.0  # [N m s/rad] of the wheel rates, as in `TorqueDrive` (assumed)
ROLLING = 1.0  # [m/s] speed for which a standing vehicle steers its wheels (assumed)
TRACTION_CONTROL = "traction_control"


def rate_difference(turn_rate: float, positions: np.ndarray, radius: float) -> float:
    """Half the difference [rad/s] of the wheel rates, right less left, with which a skid-steered vehicle turns.

    Wheels at (x, y) slide sideways by w x and along by d r - w |y|. Tyres that are alike in both directions, with one
    load and one share of force to slip, are in balance about the vertical if sum (d r - w |y|) |y| = w sum x^2, so
    d r = w sum (x^2 + y^2) / sum |y|.
    """
    return turn_rate * float((positions**2).sum() / np.abs(positions[:, 1]).sum()) / radius


class TorqueShares:
    """Holds a driver's speed and turn rate with the torques of the wheels.

    Straight ahead a speed controller sets the torques. Wheels that are not steered turn the vehicle by a difference of
    torque between its sides: each gets k (v / r + d - its rate) on the right and k (v / r - d - its rate) on the left,
    for the wanted speed v. The rate d turns the vehicle as fast as wanted in spite of its slip, see
    `rate_difference`. Steered wheels point along their path instead. With traction control the force straight ahead is
    shared by CDTA, and no wheel ever gets more torque than its load can transmit.
    """

    switches: Mapping[str, tuple[str, ...]] = {TRACTION_CONTROL: ("on", "off")}

    def __init__(
        self,
        vehicle: Any,
        plain: SpeedController,
        traction: SpeedController,
        *,
        speed: float,
        friction: float,
        turn_rate: float = TURN_RATE,
        side_acceleration: float = SIDE_ACCELERATION,
        gain: float = GAIN,
        prefix: str = "",
    ):
        """`plain` and `traction` act without and with traction control. `friction`: peak of the tyres over load."""
        self.vehicle, self.laws, self.period = vehicle, {"off": plain, "on": traction}, traction.period
        self.speed, self.friction, self.turn_rate = speed, friction, turn_rate
        self.side_acceleration, self.prefix = side_acceleration, prefix
        self.positions = np.array([[wheel.x, wheel.y] for wheel in vehicle.wheels])
        self.limits = np.array([math.radians(wheel.steer_limit_deg) for wheel in vehicle.wheels])
        self.gain = 0.0 if self.limits.any() else gain
        self._right = -np.sign(self.positions[:, 1])  # 1 on the right, -1 on the left
        self.gears = np.array(traction.gears)
        self.control, self.wanted = ["on"], np.zeros(2)  # traction control; [m/s, rad/s] speed and turn rate
        count = len(vehicle.wheels)
        self.torque, self.angles = np.zeros((1, count)), np.zeros((1, count))  # [N m, rad] commanded
        self._worlds = Worlds(self, 1, self._wire)

    def _wire(self, model: mujoco.MjModel) -> None:
        names = self.laws["on"].actuators
        self._drive = np.array([actuator_id(model, name) for name in names])
        self._steered = np.array([k for k, name in enumerate(self.vehicle.steers) if name], int)
        self._steer = np.array([actuator_id(model, self.prefix + n) for n in self.vehicle.steers if n], int)

    def drive(self, forward: float, turn: float) -> None:
        speed = self.speed * forward
        self.wanted[:] = speed, turn * self.turn_rate
        for law in self.laws.values():
            law.speed = speed

    def switch(self, name: str, position: str) -> None:
        self.control[0] = position

    def act(self, time: float, sensors: Any, command: Any) -> None:
        self._worlds.index(sensors)
        law = self.laws[self.control[0]]
        law.act(time, sensors, command)
        seen = law.sensors.readings
        torque, rate = command[self._drive] * self.gears, self._rate(seen.speed)
        if rate and self.gain and seen.rotation[2, 2] > 0:  # not on its roof, where the speed controllers rest too
            torque = self._turning_torques(seen, rate)
        limit = np.full(len(torque), self.vehicle.motor.torque_limit)
        if self.control[0] == "on":
            limit = np.minimum(limit, self.friction * self.vehicle.tyre.radius * np.maximum(seen.load, 0.0))
        self.torque[0] = np.clip(torque, -limit, limit)
        command[self._drive] = self.torque[0] / self.gears
        if len(self._steer):
            self._steer_wheels(command)

    def _rate(self, speed: float) -> float:
        """Turn rate [rad/s] wanted at a speed [m/s]."""
        most = self.side_acceleration / max(abs(speed), 1e-9)
        return float(np.clip(self.wanted[1], -most, most))

    def _turning_torques(self, seen: Any, rate: float) -> np.ndarray:
        """Torques [N m], (wheel,) that turn the vehicle at `rate` [rad/s].

        Each wheel is held at its own rate. In a turn the tyres slide beyond the peak of their force, where a wheel
        with a given torque would race, and where the speed of the chassis hardly follows the force along it.
        """
        wanted = self._right * rate_difference(rate, self.positions, self.vehicle.tyre.radius)
        return self.gain * (self.wanted[0] / self.vehicle.tyre.radius + wanted - seen.wheel_rate)

    def _steer_wheels(self, command: Any) -> None:
        speed = self.wanted[0]
        rolling = math.copysign(max(abs(speed), ROLLING), speed)
        velocities = wheel_velocities((rolling, 0.0, self._rate(rolling)), self.positions)
        self.angles[0] = steer_angles(velocities, self.angles[0], self.limits)
        command[self._steer] = self.angles[0, self._steered]

    def state(self) -> dict[str, Any]:
        own = {"torque": self.torque, "angles": self.angles}
        laws = {f"{name}/{what}": a for name, law in self.laws.items() for what, a in law.state().items()}
        return own | laws

    def reset(self, worlds: Sequence[int]) -> None:
        for law in self.laws.values():
            law.reset(worlds)
        self.torque[:], self.angles[:], self.wanted[:] = 0.0, 0.0, 0.0

    def channels(self) -> list[Channel]:
        names, count = tuple(f"wheel_{w.name}" for w in self.vehicle.wheels), len(self.vehicle.wheels)
        return [
            Channel("drive/torque", "N m", (count,), "", labels=names, read=self.torque.copy),
            Channel("drive/steer_angle", "rad", (count,), "", labels=names, read=self.angles.copy),
        ]
