"""Path following: sets the twist of a `Drive` so that a point of the chassis follows a path."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import mujoco
import numpy as np

from grouser.control.drive import PERIOD, Drive
from grouser.control.motion import heading, wrap_angle
from grouser.control.path import Path
from grouser.control.steering import Twist, ackermann, crab, point_turn, sharpest_curvature
from grouser.control.wheels import Worlds, body_id
from grouser.errors import InputError
from grouser.module import Channel

Mode = Literal["ackermann", "crab", "point-turn"]
MODES = ("ackermann", "crab", "point-turn")
LOOK_AHEAD = 0.6  # [m] (assumed: about half the length of a rover)
HEADING_GAIN = 0.5  # [1/s] gain of the heading control (assumed)
TURN_ABOVE = math.radians(5)  # heading error that starts a point turn (assumed)
TURNED_WITHIN = math.radians(1)  # heading error that ends it (assumed)


class PathFollower:
    """Follows a path in plan view with one of three steering modes.

    `ackermann`: pure pursuit (Coulter 1992, CMU-RI-TR-92-01). The vehicle drives on the arc to the point (x, y) of the
    path one look-ahead distance farther on, with curvature = 2 y / (x^2 + y^2). `crab`: it drives in the direction of
    the path minus atan(error / look-ahead) and keeps its heading. `point-turn`: pure pursuit along each leg, with a
    turn on the spot between legs. At the end of the path the vehicle stops and `ended` is true.
    """

    def __init__(
        self,
        path: Path,
        drive: Drive,
        speed: float,
        mode: Mode = "ackermann",
        *,
        look_ahead: float = LOOK_AHEAD,
        axle: float = 0.0,
        turn_rate: float | None = None,
        end_within: float = 0.0,
        start: float = 0.0,
        period: float = PERIOD,
    ):
        """`speed` [m/s] of the point (`axle` [m], 0) of the chassis; this point follows the path.

        `turn_rate` [rad/s]: of turns on the spot; None: the outermost wheel moves at `speed`. The path ends
        `end_within` [m] before its last point. Before `start` [s] the vehicle stands.
        """
        if mode not in MODES:
            raise InputError(f"PathFollower: mode = {mode!r}: allowed are {', '.join(MODES)}")
        for name, value in (("speed", speed), ("look_ahead", look_ahead)):
            if not (value > 0 and math.isfinite(value)):
                raise InputError(f"PathFollower: {name} = {value}: allowed is a finite number above 0")
        self.path, self.drive, self.speed, self.mode, self.period = path, drive, speed, mode, period
        self.look_ahead, self.axle, self.end_within, self.start = look_ahead, axle, end_within, start
        wheels = drive.wheels
        outermost = float(np.hypot(wheels.positions[:, 0] - axle, wheels.positions[:, 1]).max())
        self.turn_rate = turn_rate if turn_rate is not None else speed / outermost
        self.sharpest = sharpest_curvature(wheels.positions, wheels.limits, axle)  # [1/m]
        worlds = len(drive.twist)
        self.leg = np.zeros(worlds, np.int64)
        self.progress = np.zeros(worlds)  # [m] along the path
        self.error = np.full(worlds, np.nan)  # [m] cross-track error, positive to the left of the path
        self.heading = np.full(worlds, np.nan)  # [rad] heading kept in crab mode, read at the start
        self.turning = np.zeros(worlds, bool)
        self.legs_turned = np.zeros(worlds, np.int64)  # number of legs whose point turn has been decided
        self.ended = np.zeros(worlds, bool)
        self._worlds = Worlds(self, worlds, self._wire)

    def _wire(self, model: mujoco.MjModel) -> None:
        self._body = body_id(model, self.drive.wheels.chassis)

    def act(self, time: float, sensors: Any, command: Any) -> None:
        world = self._worlds.index(sensors)
        yaw = heading(sensors, self._body)
        x, y, _ = sensors.xpos[self._body].tolist()
        x, y = x + self.axle * math.cos(yaw), y + self.axle * math.sin(yaw)
        leg, arc, error = self.path.locate(x, y, int(self.leg[world]))
        self.leg[world], self.progress[world], self.error[world] = leg, arc, error
        if arc >= self.path.length - self.end_within:
            self.ended[world] = True
        stands = self.ended[world] or time < self.start
        self.drive.twist[world] = (0.0, 0.0, 0.0) if stands else self._twist(world, x, y, yaw, leg, arc)

    def _twist(self, world: int, x: float, y: float, yaw: float, leg: int, arc: float) -> Twist:
        if self.mode == "point-turn":
            if self._must_turn(world, yaw, leg):
                missing = wrap_angle(self.path.heading(leg) - yaw)
                rate = math.copysign(min(self.turn_rate, HEADING_GAIN * abs(missing)), missing)
                return point_turn(rate, (self.axle, 0.0))
            goal = self.path.point_of_leg(arc + self.look_ahead, leg)
        elif self.mode == "crab":
            return self._sideways(world, yaw, leg)
        else:
            goal = self.path.point(arc + self.look_ahead, leg)
        dx, dy = goal[0] - x, goal[1] - y
        left = math.cos(yaw) * dy - math.sin(yaw) * dx
        curvature = 2 * left / (dx * dx + dy * dy)
        return ackermann(self.speed, min(max(curvature, -self.sharpest), self.sharpest), self.axle)

    def _sideways(self, world: int, yaw: float, leg: int) -> Twist:
        if math.isnan(self.heading[world]):
            self.heading[world] = yaw
        course = self.path.heading(leg) - math.atan2(self.error[world], self.look_ahead)
        vx, vy, _ = crab(self.speed, wrap_angle(course - yaw))
        turn = HEADING_GAIN * wrap_angle(self.heading[world] - yaw)
        turn = min(max(turn, -self.turn_rate), self.turn_rate)
        return vx, vy - turn * self.axle, turn

    def _must_turn(self, world: int, yaw: float, leg: int) -> bool:
        """Whether to turn on the spot: once at the start of each leg, until the heading is that of the leg."""
        off = abs(wrap_angle(self.path.heading(leg) - yaw))
        if leg >= self.legs_turned[world]:
            self.legs_turned[world] = leg + 1
            self.turning[world] = off > TURN_ABOVE
        elif self.turning[world]:
            self.turning[world] = off > TURNED_WITHIN
        return bool(self.turning[world])

    def state(self) -> dict[str, Any]:
        return {
            "leg": self.leg, "progress": self.progress, "error": self.error, "heading": self.heading,
            "turning": self.turning, "legs_turned": self.legs_turned, "ended": self.ended,
        }  # fmt: skip

    def reset(self, worlds: Sequence[int]) -> None:
        chosen = self._worlds.clear(worlds)
        self.error[chosen] = self.heading[chosen] = np.nan

    def channels(self) -> list[Channel]:
        return [
            Channel("path/progress", "m", (), "", read=self.progress.copy),
            Channel("path/cross_track_error", "m", (), "", read=self.error.copy),
            Channel("path/ended", "1", (), "", read=lambda: self.ended.astype(float)),
        ]
