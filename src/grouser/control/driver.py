"""Manual driving in real time: input from keys or sticks sets the twist of a `Drive`, or drives a `Machine`."""

from __future__ import annotations

import math
import threading
import time as clock
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

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


class Machine(Protocol):
    """A machine that takes the inputs of a driver itself."""

    switches: Mapping[str, tuple[str, ...]]  # what the driver can switch, and its positions, the first at the start

    def drive(self, forward: float, turn: float) -> None:
        """Set the inputs, -1 to 1: forward, and turn to the left."""
        ...

    def switch(self, name: str, position: str) -> None: ...


class Driver:
    """Takes driver input from another thread and holds the run back to real time. Inputs are -1 to 1."""

    switches: Mapping[str, tuple[str, ...]] = {}

    def __init__(self, worlds: int = 1, *, start: float = 0.0, period: float = PERIOD, paced: bool = True):
        """Before `start` [s] the vehicle stands. `paced`: not faster than real time."""
        self.start, self.period, self.paced = start, period, paced
        self.shares = np.zeros((worlds, 3))
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

    def switch(self, name: str, position: str) -> None:
        """Set a switch at the next act of this controller. Without such a switch or position nothing happens."""

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
        self.pass_on(*(asked if time >= self.start else (0.0, 0.0, 0.0)))

    def pass_on(self, forward: float, turn: float, aside: float) -> None:
        """Pass the input on to what is driven."""
        raise NotImplementedError

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


class DriverInput(Driver):
    """A driver of wheels: sets the twist of a `Drive`.

    Forward with turn drives an arc, at most as sharp as the wheels can steer; turn alone turns on the spot; aside
    drives sideways (crab).
    """

    def __init__(self, drive: Drive | DrivenFunction, speed: float, **more: Any):
        """`speed` [m/s] at full input. `more`: as for `Driver`."""
        if not (speed > 0 and math.isfinite(speed)):
            raise InputError(f"DriverInput: speed = {speed}: allowed is a finite number above 0")
        super().__init__(len(drive.twist), **more)
        self.drive, self.speed = drive, speed
        place, limits = (LEGS, np.zeros(1)) if drive.wheels is None else (drive.wheels.positions, drive.wheels.limits)
        fixed = limits == 0
        self.axle = float(place[fixed, 0].mean()) if fixed.any() and not fixed.all() else 0.0  # [m] that never steers
        self.sharpest = min(sharpest_curvature(place, limits, self.axle), 1e3)  # [1/m]
        if fixed.all():  # skid steering: in the sharpest curve the wheels of the inner side stand
            self.sharpest = 1 / max(float(np.abs(place[:, 1]).mean()), 1e-3)
        self.turn_rate = speed / float(np.hypot(*place.T).max())  # [rad/s]

    def pass_on(self, forward: float, turn: float, aside: float) -> None:
        self.drive.twist[:] = self.twist(forward, turn, aside)

    def twist(self, forward: float, turn: float, aside: float) -> Twist:
        """Twist [m/s, m/s, rad/s] in chassis axes for an input."""
        speed = self.speed * self.share_of_speed
        if aside:
            size = min(math.hypot(forward, aside), 1.0)
            return crab(speed * size, math.atan2(aside, forward))
        if forward:
            return ackermann(speed * forward, turn * math.copysign(self.sharpest, forward), self.axle)
        return point_turn(self.turn_rate * self.share_of_speed * turn) if turn else (0.0, 0.0, 0.0)


class MachineDriver(Driver):
    """A driver of a `Machine`. The positions of its switches are recorded as numbers, in the order they are listed."""

    def __init__(self, machine: Machine, **more: Any):
        """`more`: as for `Driver`."""
        super().__init__(**more)
        self.machine, self.switches = machine, dict(machine.switches)
        self.positions = {name: np.zeros(1) for name in self.switches}
        self._turned: dict[str, str] = {}  # switches since the last act

    def switch(self, name: str, position: str) -> None:
        if position in self.switches.get(name, ()):
            with self._lock:
                self._turned[name] = position

    def pass_on(self, forward: float, turn: float, aside: float) -> None:
        with self._lock:
            turned, self._turned = self._turned, {}
        for name, position in turned.items():
            self.positions[name][:] = self.switches[name].index(position)
            self.machine.switch(name, position)
        self.machine.drive(self.share_of_speed * forward, self.share_of_speed * turn)

    def state(self) -> dict[str, Any]:
        return {**super().state(), **self.positions}

    def reset(self, worlds: Sequence[int]) -> None:
        super().reset(worlds)
        for name, positions in self.switches.items():
            self.switch(name, positions[0])

    def channels(self) -> list[Channel]:
        more = [Channel(f"driver/{name}", "1", (), "", read=at.copy) for name, at in self.positions.items()]
        return [*super().channels(), *more]


def sides(forward: float, turn: float) -> tuple[float, float]:
    """Inputs of the left and the right side of a machine that turns by their difference, -1 to 1.

    Where a side would need more than 1, both are scaled, so that the curve stays.
    """
    left, right = forward - turn, forward + turn
    most = max(1.0, abs(left), abs(right))
    return left / most, right / most
