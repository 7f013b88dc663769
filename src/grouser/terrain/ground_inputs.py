"""Checks of what a deformable ground is given: its terrains, the soils of its worlds, and its size in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from grouser.errors import InputError
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.resting import TILE
from grouser.terrain.soil_depth import Depth
from grouser.terrain.soils import Soil

MOST_TILES = 2**28  # of all worlds together: 1 GiB of table, or 27 km^2 at a spacing of 1 cm


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


def check_table(rows: int, columns: int, worlds: int, spacing: float, size: tuple[float, float]) -> None:
    """Raise an InputError if the tables of tiles of all worlds are too large. `size` [m] of the terrain."""
    length, breadth = size
    each = -(-rows // TILE) * -(-columns // TILE)
    if each > MOST_TILES:
        raise InputError(
            f"spacing: {spacing:g} m makes {rows} x {columns} nodes of a terrain of {length:g} m x "
            f"{breadth:g} m, more than fit into memory: allowed is a larger spacing or a smaller terrain"
        )
    if worlds * each > MOST_TILES:
        raise InputError(
            f"worlds: {worlds} take {worlds * each * 4 / 2**30:.3g} GiB for tables of the tiles of a "
            f"terrain of {length:g} m x {breadth:g} m: allowed are {MOST_TILES // each} worlds, a larger spacing "
            "or a smaller terrain"
        )


def check_device_memory(size: int, device: Any, worlds: int, what: str) -> None:
    """Raise an InputError if `size` [bytes] for `what` of all worlds is more than a CUDA device has free."""
    there = wp.get_device(device)
    if there.is_cuda and size > there.free_memory:
        each, free = size / worlds, there.free_memory
        raise InputError(
            f"worlds: {worlds} take {size / 2**30:.3g} GiB for {what}, {each / 2**20:.3g} MiB each; {there.alias} has "
            f"{free / 2**30:.3g} GiB free: allowed are {int(free / each)} worlds, fewer tiles or a larger spacing"
        )
