"""How a chassis stands and moves, read from MuJoCo."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from grouser.control.steering import Twist


def heading(data: Any, body: int) -> float:
    """[rad] of the body's x axis in plan view, from world x towards y."""
    matrix = data.xmat[body]
    return math.atan2(matrix[3], matrix[0])


def tilt(data: Any, body: int) -> tuple[float, float]:
    """[rad] pitch (nose down positive) and roll (left side up positive), as an inclinometer gives them."""
    matrix = data.xmat[body]
    return math.atan2(-matrix[6], math.hypot(matrix[7], matrix[8])), math.atan2(matrix[7], matrix[8])


def turned(angle: float) -> float:
    """The same angle [rad] between -pi and pi."""
    return math.remainder(angle, 2 * math.pi)


def point_velocity(data: Any, bodies: Any, roots: Any) -> np.ndarray:
    """[m/s], (…, 3) of frame origins, world axes; `roots` are the bodies' tree roots (`body_rootid`)."""
    spin, velocity = data.cvel[bodies, :3], data.cvel[bodies, 3:]
    return velocity + np.cross(spin, data.xpos[bodies] - data.subtree_com[roots])


def body_twist(data: Any, body: int, root: int) -> Twist:
    """(vx, vy, wz) of the frame origin in the body's own axes."""
    axes = data.xmat[body].reshape(3, 3)
    vx, vy, _ = (point_velocity(data, body, root) @ axes).tolist()
    return vx, vy, float(data.cvel[body, :3] @ axes[:, 2])
