"""Ranges in which the laws of soil have been compared with measurements or closed forms."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from grouser.contact.soil.surface import Surface
from grouser.module import Limit

SINKAGE = 0.6  # sinkage over radius: measured wheels reach 0.55 (docs/measured-wheels.md, pavlov2023 at slip -0.7)
BURIED = 1.0  # sinkage over the largest extent of another body: soil that closes over it is not modelled
SLIP = 0.75  # measured wheels: -0.7 to 0.75 (docs/measured-wheels.md)
SPEED = 2.0  # [m/s] up to which results have been compared with those of finer steps (docs/validation.md)


def soil_limits(name: str, surfaces: Mapping[str, Surface]) -> list[Limit]:
    """Limits of a soil module with this name."""
    extents = {body: float(np.ptp(s.vertices, axis=0).max()) for body, s in surfaces.items()}
    wheels = tuple(body for body, surface in surfaces.items() if surface.rolls)
    others = tuple(body for body in surfaces if body not in wheels)
    bodies = tuple(surfaces)
    found = [
        Limit(
            "sinkage of wheels over their radius", f"{name}/sinkage", wheels,
            tuple(extents[body] / 2 for body in wheels), SINKAGE, "no measured wheel that deep has been compared",
        ),
        Limit(
            "sinkage over the largest extent of a body", f"{name}/sinkage", others,
            tuple(extents[body] for body in others), BURIED, "soil that closes over a body is not modelled",
        ),
        Limit(
            "slip of wheels", f"{name}/slip", wheels, (1.0,) * len(wheels), SLIP,
            "no measured wheel with more slip has been compared",
        ),
        Limit(
            "speed of bodies on soil [m/s]", "body/pose", bodies, (1.0,) * len(bodies), SPEED,
            "the laws are quasi-static, and the step has been checked up to this speed",
        ),
    ]  # fmt: skip
    return [limit for limit in found if limit.bodies]
