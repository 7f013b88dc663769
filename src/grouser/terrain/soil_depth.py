"""Depth of the soil above hard ground or above a second soil: a number, an array or a map."""

from __future__ import annotations

from typing import Any

import numpy as np

from grouser.errors import InputError
from grouser.terrain import checks
from grouser.terrain.elevation import ElevationGrid

DEEPEST = 1e3  # [m] deeper soil is given without a depth

Depth = float | np.ndarray | ElevationGrid


def depth_map(depth: Any, elevation: ElevationGrid) -> ElevationGrid:
    """Depths [m] below the initial surface of `elevation`, as a grid of their own.

    `depth` is a number, an array with one value for each node of `elevation`, or a map: an ElevationGrid whose heights
    are depths, such as one of `grouser.terrain.load`. A map has its own spacing and must cover the terrain. Where it is
    0 the hard ground is bare.
    """
    if isinstance(depth, ElevationGrid):
        _check_covers(depth, elevation)
        _check_values(depth.heights)
        return depth
    if np.ndim(depth) == 0:
        value = checks.number(depth, "depth", above=0.0, at_most=DEEPEST)
        side = max(elevation.size)
        return ElevationGrid(np.full((2, 2), value), side, elevation.origin)
    values = np.asarray(depth)
    if values.shape != elevation.heights.shape or values.dtype.kind not in "fiu":
        rows, columns = elevation.heights.shape
        raise InputError(
            f"depth: an array of shape {values.shape} is not allowed; allowed are a number, {rows} x {columns} numbers "
            "(one for each node of the terrain), or a map as an ElevationGrid"
        )
    values = values.astype(np.float64)
    _check_values(values)
    return ElevationGrid(values, elevation.spacing, elevation.origin)


def _check_values(values: np.ndarray) -> None:
    wrong = ~((values >= 0) & (values <= DEEPEST))  # also true where a value is not a number
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InputError(
            f"depth: {values[row, column]:g} m in row {row}, column {column} is not allowed; allowed is 0 to "
            f"{DEEPEST:g} m"
        )


def _check_covers(depth: ElevationGrid, elevation: ElevationGrid) -> None:
    x0, x1, y0, y1 = elevation.bounds
    slack = 1e-6 * max(x1 - x0, y1 - y0)
    a0, a1, b0, b1 = depth.bounds
    if a0 > x0 + slack or a1 < x1 - slack or b0 > y0 + slack or b1 < y1 - slack:
        raise InputError(
            f"depth: the map covers x {a0:g} to {a1:g} m, y {b0:g} to {b1:g} m, but the terrain x {x0:g} to {x1:g} m, "
            f"y {y0:g} to {y1:g} m; allowed is a map that covers the terrain"
        )
