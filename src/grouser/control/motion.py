"""Attitude and velocity of a chassis, read from MuJoCo."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from grouser.control.steering import Twist


def heading(data: Any, body: int) -> float:
    """Heading [rad] of the body's x axis in plan view, from world x towards y."""
    matrix = data.xmat[body]
    return math.atan2(matrix[3], matrix[0])


def tilt(data: Any, body: int) -> tuple[float, float]:
    """Pitch (nose down positive) and roll (left side up positive) [rad], as an inclinometer measures them."""
    matrix = data.xmat[body]
    return math.atan2(-matrix[6], math.hypot(matrix[7], matrix[8])), math.atan2(matrix[7], matrix[8])


def wrap_angle(angle: float) -> float:
    """Wrap an angle [rad] to -pi to pi."""
    return math.remainder(angle, 2 * math.pi)


def point_velocity(data: Any, bodies: Any, roots: Any) -> np.ndarray:
    """Velocity [m/s], (…, 3) of frame origins, world axes. `roots`: roots of the bodies' trees (`body_rootid`)."""
    angular_velocity, velocity = data.cvel[bodies, :3], data.cvel[bodies, 3:]
    return velocity + np.cross(angular_velocity, data.xpos[bodies] - data.subtree_com[roots])


def body_twist(data: Any, body: int, root: int) -> Twist:
    """Twist (vx, vy, wz) [m/s, m/s, rad/s] of the frame origin in body axes."""
    axes = data.xmat[body].reshape(3, 3)
    vx, vy, _ = (point_velocity(data, body, root) @ axes).tolist()
    return vx, vy, float(data.cvel[body, :3] @ axes[:, 2])
