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
YAW_GAIN = 100.0  # [1/s], as that of the speed (Morrot et al.)
ROLLING = 1.0  # [m/s] speed for which a standing vehicle steers its wheels (assumed)
TRACTION_CONTROL = "traction_control"


class TorqueShares:
    """Holds a driver's speed and turn rate with the torques of the wheels.

    The force along the chassis is that of a speed controller. Wheels that are not steered turn the vehicle by a
    difference of torque between its sides: yaw moment M = I_z k (rate wanted - rate), and M r / sum |y| more on each
    wheel of the outer side and less on the inner side. Steered wheels point along their path instead. With traction
    control the force is shared by CDTA and no wheel gets more torque than its load can transmit.
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
        gain: float = YAW_GAIN,
        prefix: str = "",
    ):
        """`plain` and `traction` act without and with traction control. `friction`: peak of the tyres over load."""
        self.vehicle, self.laws, self.period = vehicle, {"off": plain, "on": traction}, traction.period
        self.speed, self.friction, self.turn_rate = speed, friction, turn_rate
        self.side_acceleration, self.prefix = side_acceleration, prefix
        self.moment_per_rate = gain * float(vehicle.chassis.inertias[2])  # [N m s/rad]
        self.positions = np.array([[wheel.x, wheel.y] for wheel in vehicle.wheels])
        self.limits = np.array([math.radians(wheel.steer_limit_deg) for wheel in vehicle.wheels])
        y = self.positions[:, 1]
        self.lever = 0.0 if self.limits.any() else vehicle.tyre.radius / np.abs(y).sum()  # [1] torque of a wheel / M
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
        torque = command[self._drive] * self.gears
        if seen.rotation[2, 2] > 0:  # not on its roof, where the speed controllers rest too
            torque -= np.sign(self.positions[:, 1]) * self.lever * self._yaw_moment(seen)
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

    def _yaw_moment(self, seen: Any) -> float:
        return self.moment_per_rate * (self._rate(seen.speed) - float(seen.angular_velocity[2]))

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
