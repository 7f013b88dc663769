"""Largest stable step of explicit contact between two moving bodies."""

from __future__ import annotations

import math
from typing import Any


def mobility(model: Any, name: str | None, farthest: Any) -> float:
    """Inverse effective mass [1/kg] of a body at its farthest point: 1/m + r^2 / smallest inertia.

    `farthest(centre)` returns the distance r [m] of that point from the centre of mass [m], (3,) in the body frame.
    Joints are ignored.
    """
    try:
        body = model.body(name)
    except KeyError:
        return 0.0  # the engine reports an unknown body by name
    mass, inertia = float(model.body_mass[body.id]), float(model.body_inertia[body.id].min())
    if mass <= 0:
        return 0.0
    arm = float(farthest(model.body_ipos[body.id]))
    return 1 / mass + (arm**2 / inertia if inertia > 0 else 0.0)


def largest_step(stiffness: float, damping: float, give: float) -> float:
    """Largest stable step [s] of semi-implicit Euler for a spring k [N/m] and damper d [N s/m] between two masses.

    h = 2 (sqrt(1 + z^2) - z) / w with w^2 = k g and z = d g / (2 w); `give` is g = 1/m_1 + 1/m_2 [1/kg].
    """
    w = math.sqrt(stiffness * give)
    z = damping * give / (2 * w)
    return 2 * (math.sqrt(1 + z * z) - z) / w
