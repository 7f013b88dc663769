"""Cameras: free, follow, wheel, top, driver."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grouser.viewer.motion import BODIES, RecordedMotion, rotation_matrix

if TYPE_CHECKING:
    from grouser.module import Shape

CAMERAS = ("free", "follow", "wheel", "top", "driver")
FIELD_OF_VIEW = math.radians(45)  # vertical, as MuJoCo's renderer has it
TRACK_WHEEL = 0.7  # [m] what a camera on a wheel of a track takes for its radius
SMALLEST = 0.15  # [m] lower bound for half the size of a robot


class CameraPose(NamedTuple):
    position: np.ndarray  # [m]
    target: np.ndarray  # [m]
    up: np.ndarray = np.array([0.0, 0.0, 1.0])


class Cameras:
    """Cameras of one recording. Distances follow from the size of the robot at the start."""

    def __init__(self, motion: RecordedMotion, shapes: list[Shape]):
        self.motion, self.main = motion, motion.main(shapes)
        self.wheels = [*motion.loaded_bodies(), *motion.track_wheels] or ([self.main] if self.main else [])
        self.low, self.high = _box(motion, shapes)
        self.size = max(float(np.linalg.norm(self.high - self.low)) / 2, SMALLEST)
        self._middle = self._seen_from_main()
        self._wheel_size = {body: _reach(motion, shapes, body) for body in self.wheels}
        self._ahead, self._top = _front(motion, shapes, self.main)

    def _seen_from_main(self) -> np.ndarray:
        """Centre [m] of all moving shapes at the start, in the axes of the main body."""
        if not self.main or not len(self.motion.recording):
            return np.zeros(3)
        start = float(self.motion.recording.time[0])
        pose = self.motion.poses(BODIES, start)[self.motion.bodies.index(self.main)]
        return rotation_matrix(pose[3:]).T @ ((self.low + self.high) / 2 - pose[:3])

    def place(self, time: float) -> np.ndarray:
        """Origin [m] of the main body; zero without one."""
        if not self.main or not len(self.motion.recording):
            return np.zeros(3)
        return self.motion.poses(BODIES, time)[self.motion.bodies.index(self.main)][:3]

    def camera_pose(self, camera: str, time: float, wheel: str = "") -> CameraPose:
        """Position and target of a camera. `wheel`: the body that the wheel camera looks at (default: the first)."""
        poses = self.motion.poses(BODIES, time) if self.motion.bodies else np.zeros((0, 7))
        if not len(poses):
            return CameraPose(np.array([3.0, -3.0, 2.0]), np.zeros(3))
        pose = poses[self.motion.bodies.index(self.main)]
        origin = pose[:3]
        centre = origin + rotation_matrix(pose[3:]) @ self._middle
        if camera == "wheel":
            body = wheel or self.wheels[0]
            at = self.motion.place(body, time)
            reach = self._wheel_size.get(body, SMALLEST)
            side = np.sign(rotation_matrix(pose[3:])[:, 1] @ (at - origin)) or -1.0
            outward = side * rotation_matrix(pose[3:])[:, 1]
            return CameraPose(
                at + reach * (4.2 * outward + np.array([0, 0, 1.6])) + 1.4 * reach * rotation_matrix(pose[3:])[:, 0], at
            )
        if camera == "top":
            return CameraPose(centre + np.array([-1e-3, 0, 4.2 * self.size]), centre)
        if camera == "driver":
            turn = rotation_matrix(pose[3:])
            eye = origin + turn @ np.array([self._ahead, 0, self._top])
            return CameraPose(eye, eye + turn @ np.array([1.0, 0.0, -0.35]), turn[:, 2])
        return CameraPose(centre + self.size * np.array([-1.5, -2.1, 1.5]), centre)


def _placed(motion: RecordedMotion, shapes: list[Shape]) -> list[np.ndarray]:
    """Vertices of the moving shapes in world axes at the start."""
    found = []
    start = float(motion.recording.time[0]) if len(motion.recording) else 0.0
    poses = {}
    for shape in shapes:
        follow = motion.follow(shape)
        if follow is None or not len(shape.vertices):
            continue
        if follow.channel not in poses:
            poses[follow.channel] = motion.poses(follow.channel, start)
        rows = poses[follow.channel]
        rows = rows if follow.place is None else rows[follow.place : follow.place + 1]
        found += [shape.vertices @ rotation_matrix(row[3:]).T + row[:3] for row in rows]
    return found


def _box(motion: RecordedMotion, shapes: list[Shape]) -> tuple[np.ndarray, np.ndarray]:
    placed = _placed(motion, shapes)
    if not placed:
        return np.full(3, -1.0), np.full(3, 1.0)
    points = np.concatenate(placed)
    return points.min(axis=0), points.max(axis=0)


def _reach(motion: RecordedMotion, shapes: list[Shape], body: str) -> float:
    """Largest distance [m] of a vertex of a body's shapes from its origin; TRACK_WHEEL for a wheel of a track."""
    if body not in motion.bodies:
        return TRACK_WHEEL
    place = motion.bodies.index(body)
    own = [s.vertices for s in shapes if motion.follow(s) == (BODIES, place)]
    return max([SMALLEST, *(float(np.linalg.norm(v, axis=1).max()) for v in own if len(v))])


def _front(motion: RecordedMotion, shapes: list[Shape], body: str) -> tuple[float, float]:
    """Position [m] of a driver's eyes, forward and up: at the front of the main body, a little above it."""
    if not body:
        return 0.0, 0.5
    place = motion.bodies.index(body)
    own = [s.vertices for s in shapes if motion.follow(s) == (BODIES, place) and len(s.vertices)]
    points = np.concatenate(own) if own else np.zeros((1, 3))
    return float(points[:, 0].max()), float(points[:, 2].max()) * 1.05
