"""Checks of what a deformable ground is given: its terrains, and the soils of its worlds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grouser.errors import InputError
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.soil_depth import Depth
from grouser.terrain.soils import Soil


def terrains_of(given: ElevationGrid | Sequence[ElevationGrid], depth: Depth | None) -> tuple[ElevationGrid, ...]:
    """Terrains to choose from. They have the same nodes and the same soils; only heights differ."""
    terrains = (given,) if isinstance(given, ElevationGrid) else tuple(given)
    if not terrains or not all(isinstance(one, ElevationGrid) for one in terrains):
        raise InputError(f"terrain: {given!r} is not allowed; give an elevation grid, or some of the same size")
    first = terrains[0]
    for k, one in enumerate(terrains[1:], 1):
        same = one.heights.shape == first.heights.shape and one.spacing == first.spacing and one.origin == first.origin
        index, other = (np.zeros(0) if grid.soil_index is None else grid.soil_index for grid in (one, first))
        if not (same and one.soils == first.soils and np.array_equal(index, other)):
            raise InputError(f"terrain: number {k} has other nodes or soils than the first; only heights may differ")
    if len(terrains) > 1 and depth is not None:
        raise InputError(f"depth: not allowed with {len(terrains)} terrains to choose from; give one terrain")
    return terrains


def soils_of_worlds(given: Sequence[Soil | Sequence[Soil]], worlds: int) -> tuple[tuple[Soil, ...], ...]:
    """The soils of each world, the same number in all."""
    found = tuple((one,) if isinstance(one, Soil) else tuple(one) for one in given)
    if len(found) != worlds:
        raise InputError(f"soil: {len(found)} are given; allowed is one, or one for each of the {worlds} worlds")
    counts = sorted({len(one) for one in found})
    if len(counts) > 1 or not counts[0]:
        raise InputError(f"soil: worlds have {' and '.join(map(str, counts))} soils; all need the same number")
    return found
