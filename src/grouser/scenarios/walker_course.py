"""A course of the user under the wheel-stepping robot: where it starts, how far it drives, what is told."""

from __future__ import annotations

from typing import Any

import numpy as np

from grouser.errors import InputError
from grouser.recording import Recording
from grouser.robots.wheel_walker import WheelWalker
from grouser.scenarios.scenario import metric
from grouser.terrain.course import Course
from grouser.terrain.mesh_rays import heights_from_above

BETWEEN = 0.05  # [m] of the points below the robot at which its start is looked for
BEFORE_END = 0.1  # [m] from the foremost wheel to the end of the mesh where the robot stops
DRAWN = 400  # points of the side view


class OwnCourse:
    """A course cut from a mesh, with the start of a robot on it."""

    def __init__(self, course: Course, at: tuple[float, float], p: WheelWalker):
        self.course, (x, y) = course, at
        reach = p.wheelbase / 2 + p.arm + p.wheel_radius
        half = max(abs(p.hub(name)[1]) for name in ("fl", "fr"))
        below = self.heights(np.arange(x - reach, x + reach, BETWEEN), y + np.linspace(-half, half, 9))
        if not np.isfinite(below).all():
            raise InputError(
                f"at = {x:g}, {y:g} m: part of the robot is beside the mesh; allowed: {reach:.2g} m inside"
            )
        self.start = [x, y, float(below.max()) + p.hub_height]
        self.goal = float(course.vertices[:, 0].max()) - reach - BEFORE_END

    def heights(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Topmost heights [m], (y, x); not finite beside the mesh."""
        return heights_from_above(self.course.vertices, self.course.triangles, x, y)

    @property
    def profile(self) -> dict[str, list[float]]:
        """Side view below the middle of the robot."""
        x = np.linspace(self.course.vertices[:, 0].min(), self.course.vertices[:, 0].max(), DRAWN)[1:-1]
        z = self.heights(x, self.start[1] + np.array([0.0, 1e-3]))[0]
        there = np.isfinite(z)
        return {"x": x[there].tolist(), "z": z[there].tolist()}


def own_metrics() -> list[dict[str, Any]]:
    return [
        metric("distance_m", "m", "distance of the hull along x at the end"),
        metric("height_gained_m", "m", "height of the lowest hub at the end above the lowest hub at the start"),
    ]


def own_measures(recording: Recording) -> dict[str, Any]:
    x, z = recording["body/pose[hull]"][:, 0], recording["hub/z"]
    return {"distance_m": float(x[-1] - x[0]), "height_gained_m": float(z[-1].min() - z[0].min())}
