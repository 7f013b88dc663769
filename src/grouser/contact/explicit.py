"""Largest stable step of explicit contact between two moving bodies."""

from __future__ import annotations

import math
from typing import Any


def mobility(model: Any, name: str | None, farthest: Any) -> float:
    """[1/kg] how easily a body's own mass lets a point be moved: 1/m + r^2 / least inertia.

    `farthest` gives the distance r [m] of that point from a centre of mass in the body's frame [m], (3,).
    """
    try:
        body = model.body(name)
    except KeyError:
        return 0.0  # the engine refuses it by name
    mass, inertia = float(model.body_mass[body.id]), float(model.body_inertia[body.id].min())
    if mass <= 0:
        return 0.0
    arm = float(farthest(model.body_ipos[body.id]))
    return 1 / mass + (arm**2 / inertia if inertia > 0 else 0.0)


def largest_step(stiffness: float, damping: float, give: float) -> float:
    """[s] up to which the semi-implicit Euler step of a spring [N/m] and damper [N s/m] is stable.

    h = 2 (sqrt(1 + z^2) - z) / w with w^2 = k g, z = d g / (2 w); `give` g = 1/m_1 + 1/m_2 [1/kg].
    """
    w = math.sqrt(stiffness * give)
    z = damping * give / (2 * w)
    return 2 * (math.sqrt(1 + z * z) - z) / w
