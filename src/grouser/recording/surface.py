"""The terrain at a time of a recording: the terrain before the run with all patches up to that time applied."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from grouser.errors import InputError

if TYPE_CHECKING:
    from grouser.recording.reader import Recording

Region = tuple[float, float, float, float]  # [m] x0, x1, y0, y1
Surface = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # x, y, heights, heights before the run [m]


def surface_at(recording: Recording, time: float, world: int, region: Region | None, max_nodes: int) -> Surface:
    """Heights [m] on the fine grid. Every n-th node is taken, so that at most `max_nodes` are left."""
    lattice = _Lattice(recording)
    columns, rows = lattice.window(_touched(recording, lattice) if region is None else region, max_nodes)
    x, y = lattice.origin[0] + lattice.spacing * columns, lattice.origin[1] + lattice.spacing * rows
    first = first_heights(recording, x, y)
    heights = first.copy()
    if lattice.size:
        _lay_tiles(recording, time, world, rows, columns, lattice.size, heights)
    return x, y, heights, first


class _Lattice:
    """The grid on which heights are computed: the fine grid of the tiles, or the grid of the terrain."""

    def __init__(self, recording: Recording):
        tiles = recording.header.get("tiles")
        self.size = int(tiles["size"]) if tiles else 0
        if tiles:
            self.origin, self.spacing = tiles["origin"], float(tiles["spacing"])
            self.nx, self.ny = int(tiles["nx"]), int(tiles["ny"])
        else:
            self.origin, self.spacing = recording.terrain_place()
            self.ny, self.nx = recording.terrain_shape()

    def window(self, region: Region, max_nodes: int) -> tuple[np.ndarray, np.ndarray]:
        """Columns and rows inside a region, clipped to the grid."""
        x0, x1, y0, y1 = region
        if not (x0 < x1 and y0 < y1):
            raise InputError(f"region {region}; allowed: (x0, x1, y0, y1) with x0 < x1 and y0 < y1")
        (c0, c1), (r0, r1) = self._range(x0, x1, 0, self.nx), self._range(y0, y1, 1, self.ny)
        stride = max(1, math.isqrt((c1 - c0 + 1) * (r1 - r0 + 1) // max(1, max_nodes)))
        while math.ceil((c1 - c0 + 1) / stride) * math.ceil((r1 - r0 + 1) / stride) > max_nodes:
            stride += 1
        return np.arange(c0, c1 + 1, stride), np.arange(r0, r1 + 1, stride)

    def _range(self, low: float, high: float, axis: int, count: int) -> tuple[int, int]:
        first = math.floor((low - self.origin[axis]) / self.spacing + 1e-9)
        last = math.ceil((high - self.origin[axis]) / self.spacing - 1e-9)
        if last < 0 or first > count - 1:
            raise InputError(f"region from {low:g} to {high:g} m along {'xy'[axis]} lies outside the terrain")
        return max(first, 0), min(last, count - 1)


def _touched(recording: Recording, lattice: _Lattice) -> Region:
    """Bounding box of all patches, with a margin of half a tile. The whole terrain if there are no patches."""
    (ox, oy), spacing = lattice.origin, lattice.spacing
    index = recording.tile_index() if lattice.size else np.empty((0, 2), int)
    if not len(index):
        return ox, ox + spacing * max(lattice.nx - 1, 1), oy, oy + spacing * max(lattice.ny - 1, 1)
    low, high = index.min(axis=0) - 0.5, index.max(axis=0) + 1.5
    side = spacing * lattice.size
    return ox + side * low[1], ox + side * high[1], oy + side * low[0], oy + side * high[0]


def first_heights(recording: Recording, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Heights [m], (y, x), of the terrain before the run at increasing x and y [m]; outside it, those of the edge."""
    (ox, oy), spacing = recording.terrain_place()
    ny, nx = recording.terrain_shape()
    column, right = _cells((x - ox) / spacing, nx)
    row, up = _cells((y - oy) / spacing, ny)
    patch = recording.terrain_patch(slice(row[0], row[-1] + 2), slice(column[0], column[-1] + 2))
    row, column = row - row[0], column - column[0]
    above = np.minimum(row + 1, patch.shape[0] - 1)
    beside = np.minimum(column + 1, patch.shape[1] - 1)
    up = up[:, None]
    lines = patch[row] * (1 - up) + patch[above] * up
    return lines[:, column] * (1 - right) + lines[:, beside] * right


def _cells(place: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Cell index and the position inside the cell, 0 to 1. Clamped to the grid, so the edge height is used outside."""
    place = np.clip(place, 0, count - 1)
    cell = np.minimum(np.floor(place).astype(int), max(count - 2, 0))
    return cell, place - cell


def _lay_tiles(
    recording: Recording,
    time: float,
    world: int,
    rows: np.ndarray,
    columns: np.ndarray,
    size: int,
    heights: np.ndarray,
) -> None:
    """Apply the patches to `heights`. Only the last patch of each tile up to `time` is read."""
    index = recording.tile_index()
    wanted = (recording.tile_time() <= time) & (recording.tile_world() == world)
    wanted &= (index[:, 0] >= rows[0] // size) & (index[:, 0] <= rows[-1] // size)
    wanted &= (index[:, 1] >= columns[0] // size) & (index[:, 1] <= columns[-1] // size)
    latest = {tuple(index[patch]): int(patch) for patch in np.flatnonzero(wanted)}
    for (r, c), patch in latest.items():
        row = slice(*np.searchsorted(rows, (r * size, (r + 1) * size)))
        column = slice(*np.searchsorted(columns, (c * size, (c + 1) * size)))
        inside = np.ix_(rows[row] - r * size, columns[column] - c * size)
        heights[row, column] = recording.tile_heights(patch)[inside]
