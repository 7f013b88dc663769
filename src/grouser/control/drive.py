"""Drive of a wheeled chassis: wheel commands from a twist, and control of the speed over ground."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from grouser.control.motion import body_twist
from grouser.control.steering import Twist, rolling_speeds, steer_angles, wheel_velocities
from grouser.control.wheels import OnWheels, Wheels, Worlds, body_id
from grouser.errors import InputError
from grouser.module import Channel

PERIOD = 0.05  # [s] default period of the controllers in this package (assumed: rovers steer at 10 to 20 Hz)
STEER_RATE = 0.25  # [rad/s] (assumed)
RAMP = 1.0  # [s] from standstill to full speed (assumed)
WAIT_ABOVE = math.radians(15)  # steering error above which wheels stop (assumed; steering while driving stays below)
SETTLED_WITHIN = math.radians(2)  # steering error below which they start again (assumed)
PATIENCE = 10.0  # [s] longest stop; then they start although soil holds the steering back (assumed)


class Drive(OnWheels):
    """Converts a twist into steering angles and wheel rates.

    `twist` [m/s, m/s, rad/s], (world, 3) in chassis axes is the wanted motion. Set it from Python, or let a
    `PathFollower` set it. If a wheel must steer far, all wheels stop, wait until they are steered, and start slowly.
    """

    def __init__(
        self,
        wheels: Wheels,
        twist: Twist = (0.0, 0.0, 0.0),
        *,
        period: float = PERIOD,
        worlds: int = 1,
        steer_rate: float = STEER_RATE,
        ramp: float = RAMP,
        wheel_rate_limit: float = math.inf,
        wait_above: float = WAIT_ABOVE,
        settled_within: float = SETTLED_WITHIN,
        patience: float = PATIENCE,
    ):
        """`steer_rate`, `wheel_rate_limit` [rad/s]; `ramp`, `patience` [s]; the other angles [rad]."""
        positive = {"period": period, "steer_rate": steer_rate, "wheel_rate_limit": wheel_rate_limit}
        for name, value in positive.items():
            if not value > 0:
                raise InputError(f"Drive: {name} = {value}: allowed is a number above 0")
        if not 0 < settled_within <= wait_above:
            raise InputError(f"Drive: settled_within = {settled_within}: allowed is above 0 to wait_above {wait_above}")
        self.wheels, self.period, self.steer_rate, self.ramp = wheels, period, steer_rate, ramp
        self.wheel_rate_limit, self.patience = wheel_rate_limit, patience
        self.wait_above, self.settled_within = wait_above, settled_within
        count = len(wheels.drive)
        self.first = np.array(twist, float)
        self.twist = np.tile(self.first, (worlds, 1))  # wanted
        self.gain = np.ones(worlds)  # factor on the wheel rates, set by a `GroundSpeed`
        self.pace = np.zeros(worlds)  # 0 (standing) to 1 (full speed)
        self.waited = np.zeros(worlds)  # [s] time spent waiting for the steering
        self.waiting = np.zeros(worlds, bool)
        self.started = np.zeros(worlds, bool)
        self.angles = np.zeros((worlds, count))  # [rad] commanded
        self.rates = np.zeros((worlds, count))  # [rad/s] commanded
        self._worlds = Worlds(self, worlds, self._wire)
        self._velocities, self._measured = np.zeros((count, 2)), np.zeros(count)

    def act(self, time: float, sensors: Any, command: Any) -> None:
        world, wires, w = self._worlds.index(sensors), self._wiring, self.wheels
        vx, vy, wz = self.twist[world].tolist()
        velocities = wheel_velocities((vx, vy, wz), w.positions, out=self._velocities)
        measured, commanded = self._measured, self.angles[world]
        measured[wires.steered] = sensors.qpos[wires.turn] * wires.steer_sign
        if not self.started[world]:
            self.started[world], commanded[:] = True, measured
        wanted = steer_angles(velocities, commanded, w.limits)
        most = self.steer_rate * self.period
        commanded += np.clip(wanted - commanded, -most, most)
        self._wait_for_steering(world, float(np.abs(wanted - measured).max()), bool(vx or vy or wz))
        rates = rolling_speeds(velocities, measured)
        rates *= self.pace[world] * self.gain[world] / w.radius
        fastest = float(np.abs(rates).max())
        if fastest > self.wheel_rate_limit:
            rates *= self.wheel_rate_limit / fastest  # scale all wheels, so that the centre of rotation stays
        self.rates[world] = rates
        command[wires.steer] = commanded[wires.steered] * wires.steer_gear
        command[wires.drive] = rates * wires.drive_gear

    def _wait_for_steering(self, world: int, error: float, moving: bool) -> None:
        """Stand while the steering error is large, then speed up."""
        if self.waiting[world]:
            self.waited[world] += self.period
            self.waiting[world] = error > self.settled_within and self.waited[world] < self.patience
        elif error <= self.wait_above:
            self.waited[world] = 0.0
        else:
            self.waiting[world] = moving and self.waited[world] == 0
        standing = self.waiting[world] or not moving
        gained = self.pace[world] + self.period / self.ramp if self.ramp > 0 else 1.0
        self.pace[world] = 0.0 if standing else min(gained, 1.0)

    def state(self) -> dict[str, Any]:
        return {
            "twist": self.twist, "gain": self.gain, "pace": self.pace, "waited": self.waited,
            "waiting": self.waiting, "started": self.started, "angles": self.angles, "rates": self.rates,
        }  # fmt: skip

    def reset(self, worlds: Sequence[int]) -> None:
        chosen = self._worlds.clear(worlds)
        self.gain[chosen], self.twist[chosen] = 1.0, self.first

    def channels(self) -> list[Channel]:
        names, count = self.wheels.names, len(self.wheels.names)
        return [
            Channel("drive/twist", "m/s, rad/s", (3,), "body", labels=("vx", "vy", "wz"), read=self.twist.copy),
            Channel("drive/steer_angle", "rad", (count,), "", labels=names, read=self.angles.copy),
            Channel("drive/wheel_rate", "rad/s", (count,), "", labels=names, read=self.rates.copy),
            Channel("drive/waiting", "1", (), "", read=lambda: self.waiting.astype(float)),
        ]


class GroundSpeed:
    """Holds the speed over ground in spite of slip: a PI controller on the wheel rates of a `Drive`.

    The achieved fraction of the wanted motion is s = sum u_done . u_wanted / sum u_wanted^2 over the wheels. It is
    computed from the true motion of the chassis, as visual odometry would measure it. Wheel rates are the wanted ones
    times 1 + k (1 - s) + integral.
    """

    def __init__(
        self,
        drive: Drive,
        *,
        proportional: float = 0.2,
        integral: float = 0.2,
        most: float = 2.0,
        period: float = PERIOD,
    ):
        """Gains `proportional` [1], `integral` [1/s] (assumed: slower than the motors). `most`: largest factor."""
        if not most >= 1:
            raise InputError(f"GroundSpeed: most = {most}: allowed is 1 or more")
        self.drive, self.period, self.most = drive, period, most
        self.proportional, self.integral = proportional, integral
        worlds = len(drive.twist)
        self.share = np.full(worlds, np.nan)
        self.extra = np.zeros(worlds)
        p = drive.wheels.positions
        self._weight = np.zeros((3, 3))  # sum over wheels of u.u for unit twists
        self._weight[0, 0] = self._weight[1, 1] = len(p)
        self._weight[0, 2] = self._weight[2, 0] = -p[:, 1].sum()
        self._weight[1, 2] = self._weight[2, 1] = p[:, 0].sum()
        self._weight[2, 2] = (p * p).sum()
        self._worlds = Worlds(self, worlds, self._wire)

    def _wire(self, model: mujoco.MjModel) -> None:
        self._body = body_id(model, self.drive.wheels.chassis)
        self._root = int(model.body_rootid[self._body])

    def act(self, time: float, sensors: Any, command: Any) -> None:
        world, drive = self._worlds.index(sensors), self.drive
        wanted = drive.twist[world]
        weighed = self._weight @ wanted
        size = float(weighed @ wanted)
        if size == 0 or drive.pace[world] < 1:
            drive.gain[world] = 1.0 + self.extra[world]
            return
        share = float(weighed @ body_twist(sensors, self._body, self._root)) / size
        extra = self.extra[world] + self.integral * self.period * (1 - share)
        self.extra[world] = min(max(extra, 1 / self.most - 1), self.most - 1)
        gain = 1 + self.extra[world] + self.proportional * (1 - share)
        self.share[world], drive.gain[world] = share, min(max(gain, 1 / self.most), self.most)

    def state(self) -> dict[str, Any]:
        return {"share": self.share, "extra": self.extra}

    def reset(self, worlds: Sequence[int]) -> None:
        chosen = self._worlds.check(worlds)
        self.share[chosen], self.extra[chosen] = np.nan, 0.0

    def channels(self) -> list[Channel]:
        return [
            Channel("speed/share", "1", (), "", read=self.share.copy),
            Channel("speed/gain", "1", (), "", read=self.drive.gain.copy),
        ]
