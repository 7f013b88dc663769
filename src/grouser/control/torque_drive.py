"""Drive of a vehicle with torque motors from a twist: skid steering, Ackermann steering and mixtures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from grouser.control.steering import Twist, rolling_speeds, steer_angles, wheel_velocities
from grouser.control.wheels import Worlds, actuator_id
from grouser.errors import InputError
from grouser.module import Channel


class TorqueDrive:
    """Converts `twist` [m/s, m/s, rad/s], (world, 3) in chassis axes, into motor torques and steering angles.

    Steered wheels point along their path, as in Ackermann steering. Fixed wheels roll at the forward speed of their
    path and slide sideways, as in skid steering. Each wheel rate is controlled by torque = gain (wanted - rate), within
    the limit of the motor.
    """

    def __init__(
        self,
        vehicle: Any,
        twist: Twist = (0.0, 0.0, 0.0),
        *,
        gain: float = 20.0,
        period: float = 0.01,
        worlds: int = 1,
        prefix: str = "",
    ):
        """`vehicle`: a `Vehicle` with all wheels driven. `gain` [N m s/rad] at the wheel (assumed)."""
        if not (gain > 0 and period > 0):
            raise InputError(f"TorqueDrive: gain = {gain}, period = {period}: allowed are numbers above 0")
        if len(vehicle.drives) != len(vehicle.wheels):
            raise InputError(f"TorqueDrive: {len(vehicle.drives)} of {len(vehicle.wheels)} wheels are driven, not all")
        self.period, self.gain, self.prefix = period, gain, prefix
        self.first = np.array(twist, float)
        self.twist = np.tile(self.first, (worlds, 1))
        self.drives = tuple(prefix + name for name in vehicle.drives)
        self.steers = tuple(prefix + name if name else None for name in vehicle.steers)
        self.positions = np.array([[wheel.x, wheel.y] for wheel in vehicle.wheels])
        self.limits = np.array([math.radians(wheel.steer_limit_deg) for wheel in vehicle.wheels])
        self.radius, self.motor, self.most = vehicle.tyre.radius, vehicle.motor, vehicle.motor.torque_limit
        count = len(self.drives)
        self.rates = np.zeros((worlds, count))  # [rad/s] wanted
        self.angles = np.zeros((worlds, count))  # [rad] wanted
        self._worlds = Worlds(self, worlds, self._wire)

    def _wire(self, model: mujoco.MjModel) -> None:
        self._drive = np.array([actuator_id(model, name) for name in self.drives])
        self._steered = np.array([k for k, name in enumerate(self.steers) if name], int)
        self._steer = np.array([actuator_id(model, name) for name in self.steers if name], int)
        joints = model.actuator_trnid[self._drive, 0]
        self._rate = model.jnt_dofadr[joints]
        self._turn = model.jnt_qposadr[model.actuator_trnid[self._steer, 0]]

    def act(self, time: float, sensors: Any, command: Any) -> None:
        world = self._worlds.index(sensors)
        velocities = wheel_velocities(tuple(self.twist[world].tolist()), self.positions)
        self.angles[world] = steer_angles(velocities, self.angles[world], self.limits)
        turned = np.zeros(len(self.drives))
        turned[self._steered] = sensors.qpos[self._turn]
        self.rates[world] = rolling_speeds(velocities, turned) / self.radius
        rate = sensors.qvel[self._rate]
        torque = np.clip(self.gain * (self.rates[world] - rate), -self.most, self.most)
        command[self._drive] = self.motor.shaft_torque(torque, rate)
        command[self._steer] = self.angles[world, self._steered]

    def state(self) -> dict[str, Any]:
        return {"twist": self.twist, "rates": self.rates, "angles": self.angles}

    def reset(self, worlds: Sequence[int]) -> None:
        chosen = self._worlds.check(worlds)
        self.twist[chosen], self.rates[chosen], self.angles[chosen] = self.first, 0.0, 0.0

    def channels(self) -> list[Channel]:
        count = len(self.drives)
        return [
            Channel(f"{self.prefix}drive/wheel_rate", "rad/s", (count,), "", labels=self.drives, read=self.rates.copy),
            Channel(f"{self.prefix}drive/steer_angle", "rad", (count,), "", labels=self.drives, read=self.angles.copy),
        ]
