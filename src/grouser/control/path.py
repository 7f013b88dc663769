"""A path in plan view: a polyline through waypoints, or a finely sampled spline."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from grouser.errors import InputError

SAMPLING = 0.02  # [m] between the points of a spline: on an arc of 1 m radius the error is 0.05 mm


class Path:
    """Points joined by straight legs. With `smooth`, a natural cubic spline through the waypoints."""

    def __init__(self, waypoints: Sequence[Sequence[float]], smooth: bool = False, sampling: float = SAMPLING):
        """`waypoints` [m]: two or more (x, y), no two consecutive ones equal."""
        given = np.array(waypoints, float)
        if given.ndim != 2 or given.shape[1] != 2 or len(given) < 2 or not np.isfinite(given).all():
            raise InputError(f"waypoints = {waypoints}: allowed are two or more finite pairs (x, y)")
        if (np.hypot(*np.diff(given, axis=0).T) == 0).any():
            raise InputError(f"waypoints = {waypoints}: allowed are points of which none is given twice in a row")
        self.points = _spline(given, sampling) if smooth and len(given) > 2 else given  # [m], (point, 2)
        legs = np.diff(self.points, axis=0)
        self._x, self._y = self.points[:, 0].tolist(), self.points[:, 1].tolist()
        lengths = np.hypot(legs[:, 0], legs[:, 1])
        self._lengths = lengths.tolist()
        self._ahead = (legs / lengths[:, None]).tolist()  # unit vectors
        self._start = [0.0, *np.cumsum(lengths).tolist()]
        self.length = self._start[-1]  # [m]
        self.legs = len(legs)

    def locate(self, x: float, y: float, leg: int = 0) -> tuple[int, float, float]:
        """Nearest point of the path from leg `leg` on. Returns its leg, arc length [m] and cross-track error [m].

        The error is the distance to the leg's line, positive to the left of the path. The search moves on to the next
        leg only while that leg is not farther away, so a path may cross itself.
        """
        distance = self._distance(x, y, leg)
        while leg + 1 < self.legs and (following := self._distance(x, y, leg + 1)) <= distance:
            leg, distance = leg + 1, following
        along, across = self._within(x, y, leg)
        return leg, self._start[leg] + min(max(along, 0.0), self._lengths[leg]), across

    def point(self, arc: float, leg: int = 0) -> tuple[float, float]:
        """Point [m] at an arc length [m], searched from `leg` on. The last leg is extended beyond its end."""
        while leg + 1 < self.legs and arc > self._start[leg + 1]:
            leg += 1
        return self.point_of_leg(arc, leg)

    def point_of_leg(self, arc: float, leg: int) -> tuple[float, float]:
        """Point [m] at an arc length [m] on the line of one leg, extended beyond both ends."""
        (ex, ey), along = self._ahead[leg], arc - self._start[leg]
        return self._x[leg] + along * ex, self._y[leg] + along * ey

    def heading(self, leg: int) -> float:
        """Heading [rad] of a leg, from x towards y."""
        return math.atan2(self._ahead[leg][1], self._ahead[leg][0])

    def _within(self, x: float, y: float, leg: int) -> tuple[float, float]:
        """Distance [m] along a leg's line from its start, and distance [m] to the left of it."""
        (ex, ey), dx, dy = self._ahead[leg], x - self._x[leg], y - self._y[leg]
        return ex * dx + ey * dy, ex * dy - ey * dx

    def _distance(self, x: float, y: float, leg: int) -> float:
        along, across = self._within(x, y, leg)
        return math.hypot(across, min(along, 0.0) + max(along - self._lengths[leg], 0.0))


def _spline(waypoints: np.ndarray, sampling: float) -> np.ndarray:
    """Points [m], (point, 2) of the spline over chord length, about `sampling` [m] apart."""
    from scipy.interpolate import CubicSpline

    chord = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(waypoints, axis=0).T))])
    curve = CubicSpline(chord, waypoints, bc_type="natural")
    return curve(np.linspace(0.0, chord[-1], max(2, math.ceil(chord[-1] / sampling) + 1)))
