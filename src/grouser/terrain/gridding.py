"""Make an elevation grid from an array of heights that may have missing values and cells that are not square."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from grouser.errors import InputError
from grouser.terrain import checks
from grouser.terrain.elevation import ElevationGrid

Origin = tuple[float, float] | Literal["file"] | None
Missing = float | Literal["error", "nearest"]

MOST_NODES = 200_000_000  # 1.6 GB of heights; use the deformable grid (`Ground`) for finer ground
SQUARE = 1e-6  # relative difference of pixel sides that still counts as square: coordinates in files are rounded


def check_node_count(what: str, cells: Sequence[int]) -> None:
    """Raise an InputError if a grid of `cells` has too many nodes. `what` names it in the message."""
    nodes = cells[0] + 1, cells[1] + 1
    if nodes[0] * nodes[1] > MOST_NODES:
        raise InputError(f"{what} gives {nodes[0]} x {nodes[1]} nodes: allowed are {MOST_NODES} in all")


def placed(what: str, heights: np.ndarray, spacing: float, origin: Origin) -> ElevationGrid:
    """Make the elevation grid. Without an origin it is centred on the world origin. `what` names it in errors."""
    try:
        step = checks.spacing(spacing, "spacing")
        if origin == "file":
            raise InputError("origin = 'file': it has no coordinates; allowed are two numbers or None")
        if heights.ndim != 2:
            raise InputError(f"heights have shape {heights.shape}: allowed is (ny, nx), at least 2 x 2")
        rows, columns = heights.shape
        corner = (-0.5 * step * (columns - 1), -0.5 * step * (rows - 1)) if origin is None else origin
        return ElevationGrid(heights, step, corner)
    except InputError as error:
        raise InputError(f"terrain {what!r}: {error}") from None


def filled(what: str, heights: np.ndarray, missing: Missing) -> np.ndarray:
    """Treat missing heights (NaN): raise an error, use the nearest known height, or use a given number."""
    holes = np.isnan(heights)
    if not holes.any():
        return heights
    if missing == "error":
        row, column = np.argwhere(holes)[0]
        raise InputError(
            f"terrain {what!r}: no height at node (row {row}, column {column}) counted from the south-west, "
            f"{holes.sum()} of {holes.size} missing: allowed with missing = 'nearest' or a height in m"
        )
    if missing == "nearest":
        return _nearest_known(what, heights, holes)
    known = checks.number(missing, f"{what}: missing ('error', 'nearest' or a height)")
    return np.where(holes, known, heights)


def square_cells(what: str, heights: np.ndarray, step_x: float, step_y: float, side: float) -> tuple[np.ndarray, float]:
    """Resample heights linearly to nodes `side` apart along both axes. Row 0 and column 0 keep their position."""
    if abs(step_x - step_y) <= SQUARE * step_y and abs(side - step_y) <= SQUARE * step_y:
        return heights, side
    rows, columns = heights.shape
    cells = [int(min(n * step / side, MOST_NODES)) for n, step in ((rows, step_y), (columns, step_x))]
    check_node_count(f"terrain {what!r}: pixels of {step_x:g} m x {step_y:g} m resampled to squares", cells)
    return _resampled(_resampled(heights, step_x / side, 1), step_y / side, 0), side


def _resampled(heights: np.ndarray, stretch: float, axis: int) -> np.ndarray:
    """Interpolate linearly along one axis at multiples of 1/stretch of the old node distance."""
    last = heights.shape[axis] - 1
    position = np.arange(int(last * stretch + SQUARE) + 1) / stretch
    cell = np.clip(position.astype(np.intp), 0, max(last - 1, 0))
    part = np.expand_dims(np.clip(position - cell, 0.0, 1.0), 1 - axis)
    return (1.0 - part) * heights.take(cell, axis) + part * heights.take(np.minimum(cell + 1, last), axis)


def _nearest_known(what: str, heights: np.ndarray, holes: np.ndarray) -> np.ndarray:
    if holes.all():
        raise InputError(f"terrain {what!r}: no node has a height")
    from scipy.ndimage import distance_transform_edt

    nearest = distance_transform_edt(holes, return_distances=False, return_indices=True)
    return heights[tuple(np.asarray(nearest))]
