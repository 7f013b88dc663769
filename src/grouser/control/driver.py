"""Manual driving: input from keys or sticks sets the twist of a `Drive`, in real time."""

from __future__ import annotations

import math
import threading
import time as clock
from collections.abc import Sequence
from typing import Any

import numpy as np

from grouser.control.drive import PERIOD, Drive
from grouser.control.function import DrivenFunction
from grouser.control.steering import Twist, ackermann, crab, point_turn, sharpest_curvature
from grouser.errors import InputError, RunEnded
from grouser.module import Channel

PATIENCE = 0.8  # [s] without input after which the vehicle stops
FALLS_BEHIND = 0.3  # [s] largest lag behind real time; beyond it the clock is set again
AVERAGED = 2.0  # [s] of wall time over which the pace is measured
LEGS = np.array([[0.0, 0.5]])  # [m] a robot without wheels turns like one with wheels here (assumed)
LABELS = ("forward", "turn", "aside")


class DriverInput:
    """Takes driver input from another thread and holds the run back to real time.

    Inputs are -1 to 1. Forward with turn drives an arc, at most as sharp as the wheels can steer; turn alone turns on
    the spot; aside drives sideways (crab).
    """

    def __init__(
        self,
        drive: Drive | DrivenFunction,
        speed: float,
        *,
        start: float = 0.0,
        period: float = PERIOD,
        paced: bool = True,
    ):
        """`speed` [m/s] at full input. Before `start` [s] the vehicle stands."""
        if not (speed > 0 and math.isfinite(speed)):
            raise InputError(f"DriverInput: speed = {speed}: allowed is a finite number above 0")
        self.drive, self.speed, self.start, self.period, self.paced = drive, speed, start, period, paced
        place, limits = (LEGS, np.zeros(1)) if drive.wheels is None else (drive.wheels.positions, drive.wheels.limits)
        fixed = limits == 0
        self.axle = float(place[fixed, 0].mean()) if fixed.any() and not fixed.all() else 0.0  # [m] that never steers
        self.sharpest = min(sharpest_curvature(place, limits, self.axle), 1e3)  # [1/m]
        if fixed.all():  # skid steering: in the sharpest curve the wheels of the inner side stand
            self.sharpest = 1 / max(float(np.abs(place[:, 1]).mean()), 1e-3)
        self.turn_rate = speed / float(np.hypot(*place.T).max())  # [rad/s]
        self.shares = np.zeros((len(drive.twist), 3))
        self.share_of_speed = 1.0
        self.ending = ""  # reason to end the run, or empty
        self.behind = 0.0  # [s] lost against real time so far
        self._lock, self._asked, self._heard = threading.Lock(), (0.0, 0.0, 0.0), -math.inf
        self._began: float | None = None
        self._marks: list[tuple[float, float]] = []

    # ---- from another thread ------------------------------------------------------------------------

    def take(self, forward: float, turn: float, aside: float = 0.0) -> None:
        """Set the driver's input. It holds for PATIENCE [s]."""
        asked = tuple(min(max(float(x), -1.0), 1.0) if math.isfinite(x) else 0.0 for x in (forward, turn, aside))
        with self._lock:
            self._asked, self._heard = asked, clock.monotonic()

    def end(self, why: str) -> None:
        """End the run at the next act of this controller."""
        self.ending = why

    @property
    def pace(self) -> float:
        """Simulated time over wall time, averaged over the last seconds."""
        if len(self._marks) < 2:
            return math.nan
        (wall, simulated), (now, time) = self._marks[0], self._marks[-1]
        return (time - simulated) / (now - wall) if now > wall else math.nan

    # ---- as a controller ----------------------------------------------------------------------------

    def act(self, time: float, sensors: Any, command: Any) -> None:
        if self.ending:
            raise RunEnded(self.ending)
        self._keep_time(time)
        with self._lock:
            asked = self._asked if clock.monotonic() - self._heard < PATIENCE else (0.0, 0.0, 0.0)
        self.shares[:] = asked
        self.drive.twist[:] = (0.0, 0.0, 0.0) if time < self.start else self.twist(*asked)

    def twist(self, forward: float, turn: float, aside: float) -> Twist:
        """Twist [m/s, m/s, rad/s] in chassis axes for an input."""
        speed = self.speed * self.share_of_speed
        if aside:
            size = min(math.hypot(forward, aside), 1.0)
            return crab(speed * size, math.atan2(aside, forward))
        if forward:
            return ackermann(speed * forward, turn * math.copysign(self.sharpest, forward), self.axle)
        return point_turn(self.turn_rate * self.share_of_speed * turn) if turn else (0.0, 0.0, 0.0)

    def _keep_time(self, time: float) -> None:
        now = clock.monotonic()
        if self._began is None:
            self._began = now - time
        if self.paced:
            ahead = time - (now - self._began)
            if ahead > 0:
                clock.sleep(ahead)
            elif ahead < -FALLS_BEHIND:
                self.behind -= ahead
                self._began -= ahead
        self._marks = [mark for mark in self._marks if now - mark[0] < AVERAGED] + [(clock.monotonic(), time)]

    def state(self) -> dict[str, Any]:
        return {"shares": self.shares}

    def reset(self, worlds: Sequence[int]) -> None:
        self.shares[list(worlds)] = 0.0
        self._began = None

    def channels(self) -> list[Channel]:
        return [Channel("driver/share", "1", (3,), "", labels=LABELS, read=self.shares.copy)]
