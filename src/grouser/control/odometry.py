"""Wheel odometry: pose of the vehicle estimated from wheel encoders and steering angles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from grouser.control.drive import PERIOD
from grouser.control.motion import heading, tilt, wrap_angle
from grouser.control.wheels import OnWheels, Wheels, Worlds
from grouser.module import Channel


def twist_fit(positions: np.ndarray) -> np.ndarray:
    """Matrix (3, 2 wheel) that maps wheel velocities (u1x, u1y, u2x, …) to the twist that fits them best.

    Least squares: min over (v, w) of sum |v + w x p - u|^2, for wheels at `positions` [m], (wheel, 2).
    """
    count = len(positions)
    rows = np.zeros((2 * count, 3))
    rows[0::2, 0] = rows[1::2, 1] = 1.0
    rows[0::2, 2], rows[1::2, 2] = -positions[:, 1], positions[:, 0]
    return np.linalg.pinv(rows)


def chord(dx: float, dy: float, turn: float) -> tuple[float, float]:
    """Displacement [m], in the axes at the start, of a motion at constant twist with path (dx, dy) [m] and turn [rad].

    The exponential map of SE(2): sin(turn)/turn along, (1 - cos(turn))/turn across.
    """
    if turn == 0:
        return dx, dy
    along, across = math.sin(turn) / turn, 2 * math.sin(turn / 2) ** 2 / turn
    return along * dx - across * dy, across * dx + along * dy


class Odometry(OnWheels):
    """Dead reckoning from encoders and steering angles. Pitch and roll are taken from an ideal inclinometer.

    It starts at the true pose at its first act. Each period a wheel rolls its radius times its rotation, along the mean
    of its old and new steering angle. The twist that fits all wheels best moves the pose.
    """

    def __init__(self, wheels: Wheels, *, worlds: int = 1, period: float = PERIOD):
        self.wheels, self.period = wheels, period
        count = len(wheels.drive)
        self.position = np.full((worlds, 3), np.nan)  # [m] of the chassis origin
        self.heading = np.full(worlds, np.nan)  # [rad]
        self.error = np.full(worlds, np.nan)  # [m] distance to the true position in plan view
        self.started = np.zeros(worlds, bool)
        self.rolled = np.zeros((worlds, count))  # [rad] encoders at the last act
        self.angles = np.zeros((worlds, count))  # [rad] steering at the last act
        self.pitch = np.zeros(worlds)  # [rad] at the last act
        self.roll = np.zeros(worlds)
        self._fit = twist_fit(wheels.positions)
        self._worlds = Worlds(self, worlds, self._wire)
        self._moved, self._angles = np.zeros((count, 2)), np.zeros(count)

    def act(self, time: float, sensors: Any, command: Any) -> None:
        world, wires = self._worlds.index(sensors), self._wiring
        rolled = sensors.qpos[wires.roll] * wires.drive_sign
        angles = self._angles
        angles[wires.steered] = sensors.qpos[wires.turn] * wires.steer_sign
        pitch, roll = tilt(sensors, wires.chassis)
        truth = sensors.xpos[wires.chassis]
        if not self.started[world]:
            self.started[world], self.position[world], self.heading[world] = (
                True,
                truth,
                heading(sensors, wires.chassis),
            )
        else:
            path = (rolled - self.rolled[world]) * self.wheels.radius
            middle = (angles + self.angles[world]) / 2
            np.multiply(path, np.cos(middle), out=self._moved[:, 0])
            np.multiply(path, np.sin(middle), out=self._moved[:, 1])
            dx, dy, turn = (self._fit @ self._moved.ravel()).tolist()
            self._move(world, dx, dy, turn, pitch, roll)
        self.rolled[world], self.angles[world] = rolled, angles
        self.pitch[world], self.roll[world] = pitch, roll
        self.error[world] = math.dist(self.position[world, :2], truth[:2])

    def _move(self, world: int, dx: float, dy: float, turn: float, pitch: float, roll: float) -> None:
        """Move the pose by a motion in the plane of the chassis, at the mean of the old and new tilt.

        Yaw rate from the turn rate r about the chassis' z axis: yaw' = (r + pitch' sin roll) / (cos pitch cos roll).
        """
        nod = pitch - self.pitch[world]
        pitch, roll = (pitch + self.pitch[world]) / 2, (roll + self.roll[world]) / 2
        yaw = (turn + nod * math.sin(roll)) / (math.cos(pitch) * math.cos(roll))
        # Level axes: x forward, lowered by the pitch, and y sideways.
        ahead = dx * math.cos(pitch) + dy * math.sin(roll) * math.sin(pitch)
        left = dy * math.cos(roll)
        rise = -dx * math.sin(pitch) + dy * math.sin(roll) * math.cos(pitch)
        ahead, left = chord(ahead, left, yaw)
        c, s = math.cos(self.heading[world]), math.sin(self.heading[world])
        self.position[world] += (c * ahead - s * left, s * ahead + c * left, rise)
        self.heading[world] = wrap_angle(self.heading[world] + yaw)

    def state(self) -> dict[str, Any]:
        return {
            "position": self.position, "heading": self.heading, "error": self.error, "started": self.started,
            "rolled": self.rolled, "angles": self.angles, "pitch": self.pitch, "roll": self.roll,
        }  # fmt: skip

    def reset(self, worlds: Sequence[int]) -> None:
        chosen = self._worlds.clear(worlds)
        self.position[chosen], self.heading[chosen], self.error[chosen] = np.nan, np.nan, np.nan

    def channels(self) -> list[Channel]:
        return [
            Channel("odometry/position", "m", (3,), labels=("x", "y", "z"), read=self.position.copy),
            Channel("odometry/heading", "rad", (), read=self.heading.copy),
            Channel("odometry/position_error", "m", (), "", read=self.error.copy),
        ]
