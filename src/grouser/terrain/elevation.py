"""The undeformed ground: heights on a square grid with bilinear interpolation, and the soil of every node."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grouser.errors import InputError
from grouser.terrain import checks
from grouser.terrain.soils import Soil, soil

BARE = -1  # soil index of a node that carries no soil


@dataclass(frozen=True, eq=False)
class ElevationGrid:
    """Heights z(x, y) of the ground, z up, world axes.

    Between nodes the surface is bilinear. Outside the grid `height`, `normal`, `gradient` and
    `soil_index_at` return the values of the nearest point of the border; `contains` tells whether a point
    is on the grid. Heights and slopes at a NaN coordinate are NaN, and `contains` is false. Arrays are read only.
    """

    heights: np.ndarray  # [m], (ny, nx) float64, row = y, column = x
    spacing: float  # [m] between neighbouring nodes, the same along x and y
    origin: tuple[float, float]  # [m] world x, y of node (row 0, column 0)
    soil_index: np.ndarray | None = None  # (ny, nx) int32 into `soils`; -1: bare, no soil; None: all 0
    soils: tuple[Soil, ...] = ()  # empty: the soil is given elsewhere

    def __post_init__(self):
        store = object.__setattr__
        store(self, "heights", _heights(self.heights))
        store(self, "spacing", checks.spacing(self.spacing, "elevation grid: spacing"))
        place = checks.pair(self.origin, "elevation grid: origin", at_least=-checks.FARTHEST, at_most=checks.FARTHEST)
        store(self, "origin", place)
        store(self, "soils", _soils(self.soils))
        if self.soil_index is not None:
            store(self, "soil_index", _soil_index(self.soil_index, self.heights.shape, len(self.soils)))

    @property
    def x(self) -> np.ndarray:
        """World x [m], (nx,) of the columns."""
        return self.origin[0] + self.spacing * np.arange(self.heights.shape[1])

    @property
    def y(self) -> np.ndarray:
        """World y [m], (ny,) of the rows."""
        return self.origin[1] + self.spacing * np.arange(self.heights.shape[0])

    @property
    def size(self) -> tuple[float, float]:
        """Extent [m] along x and y, from the first to the last node."""
        rows, columns = self.heights.shape
        return self.spacing * (columns - 1), self.spacing * (rows - 1)

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Bounds x_min, x_max, y_min, y_max [m]."""
        (x, y), (length, breadth) = self.origin, self.size
        return x, x + length, y, y + breadth

    def contains(self, x: Any, y: Any) -> Any:
        """Whether points lie on the grid or its border; bool, or an array of bool."""
        x_min, x_max, y_min, y_max = self.bounds
        x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
        inside = (x >= x_min) & (x <= x_max) & (y >= y_min) & (y <= y_max)
        return bool(inside) if inside.ndim == 0 else inside

    def height(self, x: Any, y: Any) -> Any:
        """Bilinear height [m]; a float, or an array of the broadcast shape of x and y."""
        row, column, v, u = self._cell(x, y)
        z = self.heights
        low = (1.0 - u) * z[row, column] + u * z[row, column + 1]
        high = (1.0 - u) * z[row + 1, column] + u * z[row + 1, column + 1]
        height = (1.0 - v) * low + v * high
        return float(height) if height.ndim == 0 else height

    def gradient(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Slopes dz/dx, dz/dy of the bilinear surface. On a grid line, those of the cell at larger x or y."""
        row, column, v, u = self._cell(x, y)
        z = self.heights
        z00, z01 = z[row, column], z[row, column + 1]
        z10, z11 = z[row + 1, column], z[row + 1, column + 1]
        along_x = ((1.0 - v) * (z01 - z00) + v * (z11 - z10)) / self.spacing
        along_y = ((1.0 - u) * (z10 - z00) + u * (z11 - z01)) / self.spacing
        return (float(along_x), float(along_y)) if along_x.ndim == 0 else (along_x, along_y)

    def normal(self, x: Any, y: Any) -> np.ndarray:
        """Upward unit normal (-dz/dx, -dz/dy, 1)/|...| of the bilinear surface, (..., 3)."""
        along_x, along_y = self.gradient(x, y)
        normal = np.stack(np.broadcast_arrays(np.negative(along_x), np.negative(along_y), 1.0), axis=-1)
        return normal / np.linalg.norm(normal, axis=-1, keepdims=True)

    def soil_index_at(self, x: Any, y: Any) -> Any:
        """Index into `soils` of the nearest node, -1 where bare; int, or an int32 array."""
        row, column, v, u = self._cell(x, y)
        if self.soil_index is None:
            index = np.zeros(row.shape, np.int32)
        else:
            index = self.soil_index[row + (v >= 0.5), column + (u >= 0.5)]
        return int(index) if index.ndim == 0 else index

    def with_soil(self, soil_or_name: Soil | str) -> ElevationGrid:
        """The same ground with one soil everywhere."""
        return dataclasses.replace(self, soil_index=None, soils=(soil_or_name,))

    def with_soils(self, index: Any, soils: Sequence[Soil | str]) -> ElevationGrid:
        """The same ground with a soil at each node. `index` (ny, nx): index into `soils`, -1 for bare ground."""
        return dataclasses.replace(self, soil_index=index, soils=tuple(soils))

    def moved(self, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> ElevationGrid:
        """The same ground shifted by x, y, z [m]."""
        x, y = checks.pair((x, y), "elevation grid: moved by")
        origin = (self.origin[0] + x, self.origin[1] + y)
        heights = self.heights + checks.number(z, "elevation grid: moved by z")
        return dataclasses.replace(self, heights=heights, origin=origin)

    def _cell(self, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Cell (row, column) of each point and the position in the cell: v along y, u along x, 0 to 1."""
        rows, columns = self.heights.shape
        x, y = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(y, np.float64))
        column, u = _along(x, self.origin[0], self.spacing, columns)
        row, v = _along(y, self.origin[1], self.spacing, rows)
        return row, column, v, u


def _along(x: np.ndarray, origin: float, spacing: float, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Cell index and position in the cell along one axis, clamped to the grid. NaN remains in the position."""
    position = np.clip((x - origin) / spacing, 0.0, nodes - 1.0)
    cell = np.clip(np.nan_to_num(np.floor(position)), 0, nodes - 2).astype(np.intp)
    return cell, position - cell


def _heights(given: Any) -> np.ndarray:
    """Heights as a finite, read-only float64 array (ny, nx). An array that is one already is not copied."""
    try:
        heights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("elevation grid: heights are not an array of numbers") from None
    if heights.ndim != 2 or min(heights.shape) < 2:
        raise InputError(f"elevation grid: heights have shape {heights.shape}: allowed is (ny, nx), at least 2 x 2")
    bad = ~(np.abs(heights) <= checks.HIGHEST)  # NaN too
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InputError(
            f"elevation grid: height {heights[row, column]} at node (row {row}, column {column}), "
            f"{bad.sum()} such nodes in all: allowed are finite numbers up to {checks.HIGHEST:g} m"
        )
    return _read_only(heights, given)


def _soil_index(given: Any, shape: tuple[int, ...], soil_count: int) -> np.ndarray:
    """Soil indices as a read-only int32 array (ny, nx); every value is -1 (bare) or the index of a soil."""
    index = np.asarray(given)
    if index.shape != shape or index.dtype.kind not in "iu":
        raise InputError(f"elevation grid: soil_index is {index.dtype} {index.shape}: allowed are integers {shape}")
    last = soil_count - 1 if soil_count else np.iinfo(np.int32).max
    bad = (index < BARE) | (index > last)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        allowed = f"-1 (bare) to {last}" if soil_count else "-1 (bare) or above"
        raise InputError(
            f"elevation grid: soil_index {index[row, column]} at node (row {row}, column {column}): "
            f"allowed is {allowed}"
        )
    return _read_only(index.astype(np.int32, copy=False), given)


def _soils(given: Any) -> tuple[Soil, ...]:
    """A tuple of soils. Built-in soils may be given by name."""
    if isinstance(given, Soil | str):
        given = (given,)
    soils = tuple(soil(entry) if isinstance(entry, str) else entry for entry in given)
    for entry in soils:
        if not isinstance(entry, Soil):
            raise InputError(f"elevation grid: soils hold {entry!r}: allowed are soils or names of built-in ones")
    return soils


def _read_only(array: np.ndarray, given: Any) -> np.ndarray:
    """Make `array` read only. It is copied if the caller could still write to it."""
    if array.flags.writeable and isinstance(given, np.ndarray) and np.shares_memory(array, given):
        array = array.copy()
    array.flags.writeable = False
    return array
