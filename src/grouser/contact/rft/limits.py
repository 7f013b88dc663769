"""Ranges in which resistive force theory is taken to hold."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from grouser.module import Limit, Mesh

BURIED = 1.0  # sinkage over the largest extent: the stress that grows with depth was measured near the surface; assumed
SPEED = 0.5  # [m/s] slow intrusion without inertia of the grains; assumed


def rft_limits(name: str, surfaces: Mapping[str, Mesh]) -> list[Limit]:
    """Limits of a module of resistive forces with this name."""
    bodies = tuple(surfaces)
    extents = tuple(float(np.ptp(np.asarray(mesh.vertices), axis=0).max()) for mesh in surfaces.values())
    return [
        Limit(
            "sinkage over the largest extent of a body", f"{name}/sinkage", bodies, extents, BURIED,
            "stresses proportional to depth were measured near the surface",
        ),
        Limit(
            "speed of bodies in a granular medium [m/s]", "body/pose", bodies, (1.0,) * len(bodies), SPEED,
            "the theory is of slow intrusion: grains have no inertia",
        ),
    ]  # fmt: skip
