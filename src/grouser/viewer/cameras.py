"""Where to look from: free, follow, wheel, top, driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grouser.viewer.moving import BODIES, Moving, matrix

if TYPE_CHECKING:
    from grouser.module import Shape

CAMERAS = ("free", "follow", "wheel", "top", "driver")
SMALLEST = 0.15  # [m] half the size a robot is taken to have at least


class Look(NamedTuple):
    position: np.ndarray  # [m]
    target: np.ndarray  # [m]
    up: np.ndarray = np.array([0.0, 0.0, 1.0])


class Cameras:
    """Cameras of one recording; sizes are those of the robot at its start."""

    def __init__(self, moving: Moving, shapes: list[Shape]):
        self.moving, self.main = moving, moving.main(shapes)
        self.wheels = moving.pushed() or ([self.main] if self.main else [])
        self.low, self.high = _box(moving, shapes)
        self.size = max(float(np.linalg.norm(self.high - self.low)) / 2, SMALLEST)
        self._middle = self._seen_from_main()
        self._wheel_size = {body: _reach(moving, shapes, body) for body in self.wheels}
        self._ahead, self._top = _front(moving, shapes, self.main)

    def _seen_from_main(self) -> np.ndarray:
        """[m] the middle of all that moves, in the axes of the main body at the start."""
        if not self.main or not len(self.moving.recording):
            return np.zeros(3)
        start = float(self.moving.recording.time[0])
        pose = self.moving.poses(BODIES, start)[self.moving.bodies.index(self.main)]
        return matrix(pose[3:]).T @ ((self.low + self.high) / 2 - pose[:3])

    def look(self, camera: str, time: float, wheel: str = "") -> Look:
        """`wheel` is the body the wheel camera looks at; the first one where it is left out."""
        poses = self.moving.poses(BODIES, time) if self.moving.bodies else np.zeros((0, 7))
        if not len(poses):
            return Look(np.array([3.0, -3.0, 2.0]), np.zeros(3))
        pose = poses[self.moving.bodies.index(self.main)]
        origin = pose[:3]
        centre = origin + matrix(pose[3:]) @ self._middle
        if camera == "wheel":
            body = wheel or self.wheels[0]
            at = poses[self.moving.bodies.index(body)][:3]
            reach = self._wheel_size.get(body, SMALLEST)
            side = np.sign(matrix(pose[3:])[:, 1] @ (at - origin)) or -1.0
            outward = side * matrix(pose[3:])[:, 1]
            return Look(at + reach * (4.2 * outward + np.array([0, 0, 1.6])) + 1.4 * reach * matrix(pose[3:])[:, 0], at)
        if camera == "top":
            return Look(centre + np.array([-1e-3, 0, 4.2 * self.size]), centre)
        if camera == "driver":
            turn = matrix(pose[3:])
            eye = origin + turn @ np.array([self._ahead, 0, self._top])
            return Look(eye, eye + turn @ np.array([1.0, 0.0, -0.35]), turn[:, 2])
        return Look(centre + self.size * np.array([-1.5, -2.1, 1.5]), centre)


def _placed(moving: Moving, shapes: list[Shape]) -> list[np.ndarray]:
    """Vertices of the moving shapes in world axes at the start."""
    found = []
    start = float(moving.recording.time[0]) if len(moving.recording) else 0.0
    poses = {}
    for shape in shapes:
        follow = moving.follow(shape)
        if follow is None or not len(shape.vertices):
            continue
        if follow.channel not in poses:
            poses[follow.channel] = moving.poses(follow.channel, start)
        rows = poses[follow.channel]
        rows = rows if follow.place is None else rows[follow.place : follow.place + 1]
        found += [shape.vertices @ matrix(row[3:]).T + row[:3] for row in rows]
    return found


def _box(moving: Moving, shapes: list[Shape]) -> tuple[np.ndarray, np.ndarray]:
    placed = _placed(moving, shapes)
    if not placed:
        return np.full(3, -1.0), np.full(3, 1.0)
    points = np.concatenate(placed)
    return points.min(axis=0), points.max(axis=0)


def _reach(moving: Moving, shapes: list[Shape], body: str) -> float:
    """[m] of the farthest vertex of a body's shapes from its origin."""
    place = moving.bodies.index(body)
    own = [s.vertices for s in shapes if moving.follow(s) == (BODIES, place)]
    return max([SMALLEST, *(float(np.linalg.norm(v, axis=1).max()) for v in own if len(v))])


def _front(moving: Moving, shapes: list[Shape], body: str) -> tuple[float, float]:
    """[m] how far ahead and up the eyes of a driver are: at the front of the main body, a little above it."""
    if not body:
        return 0.0, 0.5
    place = moving.bodies.index(body)
    own = [s.vertices for s in shapes if moving.follow(s) == (BODIES, place) and len(s.vertices)]
    points = np.concatenate(own) if own else np.zeros((1, 3))
    return float(points[:, 0].max()), float(points[:, 2].max()) * 1.05
