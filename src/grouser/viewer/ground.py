"""The ground of a recording as patches to draw: fine where the ground changed, coarse elsewhere.

Patches ("cells") are squares of a quadtree over the fine grid. A leaf covers LEAF x LEAF tiles. A leaf with any
recorded tile is drawn node by node; all others are joined to larger squares with few nodes. Only patches that changed
are drawn again. Only the indices of the tiles shown are kept, so memory does not grow with the length of a run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from grouser.recording import Recording
from grouser.recording.surface import first_heights

LEAF = 2  # tiles along the side of a leaf
COARSE = 24  # largest number of grid cells along the side of an unchanged square
ROOTS = 8  # approximate number of root squares along the longer side of the terrain
BASE = 0.5  # [m] thickness of the ground drawn below its lowest point
MINIMAL_RANGE = 0.02  # [m] smallest range of the colour scale


class Cell(NamedTuple):
    """A square of the quadtree with 2^level leaves along its side."""

    level: int
    row: int
    column: int


class Patch(NamedTuple):
    """Heights to draw."""

    x: np.ndarray  # [m], (nx,)
    y: np.ndarray  # [m], (ny,)
    heights: np.ndarray  # [m], (ny, nx)
    first: np.ndarray  # [m], (ny, nx) before the run
    normals: np.ndarray  # unit normals, (ny, nx, 3), by the present heights, also those beside the patch


class GroundView:
    """The patches that show the ground at a given time, and their heights."""

    def __init__(self, recording: Recording, world: int = 0):
        self.recording, self.world = recording, world
        tiles = recording.header.get("tiles")
        origin, spacing = recording.terrain_place()
        ny, nx = recording.terrain_shape()
        self.size = int(tiles["size"]) if tiles else 0
        self.origin = tuple(map(float, tiles["origin"])) if tiles else origin
        self.spacing = float(tiles["spacing"]) if tiles else spacing
        self.nx, self.ny = (int(tiles["nx"]), int(tiles["ny"])) if tiles else (nx, ny)
        self.leaf = LEAF * self.size or max(COARSE, math.ceil(max(nx, ny) / ROOTS))  # nodes
        self._terrain = (origin, spacing)
        longest = max(self.nx, self.ny) / self.leaf
        self.top = max(0, math.ceil(math.log2(max(longest / ROOTS, 1))))
        self._touched: set[tuple[int, int]] = set()
        self._counted = 0
        self._latest = _Latest(self)
        self.cells: set[Cell] = set()
        self.refresh()

    def refresh(self) -> None:
        """Read new tiles, and split the cells in which they lie into fine ones."""
        index = self.recording.tile_index()
        new = {(int(r) // LEAF, int(c) // LEAF) for r, c in np.unique(index[self._counted :], axis=0)}
        self._counted = len(index)
        if self.cells and not new - self._touched:
            return
        self._touched |= new
        side = self.leaf << self.top
        rows, columns = math.ceil((self.ny - 1) / side), math.ceil((self.nx - 1) / side)
        touched = {level: {(r >> level, c >> level) for r, c in self._touched} for level in range(self.top + 1)}
        self.cells = {
            cell
            for r in range(max(rows, 1))
            for c in range(max(columns, 1))
            for cell in self._split(Cell(self.top, r, c), touched)
        }

    def _split(self, cell: Cell, touched: dict[int, set[tuple[int, int]]]) -> Iterator[Cell]:
        side = self.leaf << cell.level
        if cell.row * side >= max(self.ny - 1, 1) or cell.column * side >= max(self.nx - 1, 1):
            return
        if cell.level == 0 or (cell.row, cell.column) not in touched[cell.level]:
            yield cell
            return
        for r in (0, 1):
            for c in (0, 1):
                yield from self._split(Cell(cell.level - 1, 2 * cell.row + r, 2 * cell.column + c), touched)

    def stamps(self, time: float) -> dict[Cell, tuple[int, ...]]:
        """The tiles that each cell shows at `time` [s]. A cell must be redrawn when they change."""
        self._latest.move(time)
        found: dict[Cell, list[int]] = {cell: [] for cell in self.cells}
        for (row, column), patch in self._latest.patches.items():
            for r, c in _leaves(row, column):
                cell = Cell(0, r, c)
                if cell in found:
                    found[cell].append(patch)
        return {cell: tuple(sorted(patches)) for cell, patches in found.items()}

    def patch(self, cell: Cell, stride: int = 1) -> Patch:
        """Heights of a cell at the time of the last `stamps`."""
        side = self.leaf << cell.level
        r0, c0 = cell.row * side, cell.column * side
        r1, c1 = min(r0 + side, self.ny - 1), min(c0 + side, self.nx - 1)
        fine = cell.level == 0 and (cell.row, cell.column) in self._touched
        (rows, inner_rows), (columns, inner_columns) = (
            _with_neighbours(self._nodes(low, high, fine, stride), count)
            for low, high, count in ((r0, r1, self.ny), (c0, c1, self.nx))
        )
        x, y = self.origin[0] + self.spacing * columns, self.origin[1] + self.spacing * rows
        first = first_heights(self.recording, x, y)
        heights = first.copy()
        if fine:
            self._latest.apply_tiles(rows, columns, heights)
        inside = inner_rows, inner_columns
        return Patch(
            x[inner_columns], y[inner_rows], heights[inside], first[inside], height_normals(heights, x, y)[inside]
        )

    def _nodes(self, start: int, stop: int, fine: bool, stride: int) -> np.ndarray:
        """Node indices from start to stop, both included, thinned by `stride` or for coarse cells."""
        steps = max(stop - start, 1)
        if fine:
            count = math.ceil(steps / stride)
        else:
            count = min(COARSE, max(1, round(steps * self.spacing / self._terrain[1])), steps)
        return np.unique(np.round(np.linspace(start, max(stop, start), count + 1)).astype(int))

    @cached_property
    def bottom(self) -> float:
        """Height [m] below all ground, down to which the edges of patches are closed."""
        heights = self.recording.terrain_patch(slice(None), slice(None))
        return float(heights.min()) - BASE

    def height_range(self) -> tuple[float, float]:
        """Lowest and highest point [m] of the terrain before the run, at least 5 MINIMAL_RANGE apart."""
        heights = self.recording.terrain_patch(slice(None), slice(None))
        return _at_least_apart(float(heights.min()), float(heights.max()), 5 * MINIMAL_RANGE)

    def sinkage_range(self) -> tuple[float, float]:
        """Range [m] of the sinkage colours: from raised ground (below 0) to the deepest rut at the last time."""
        deepest = 0.0
        self._latest.move(math.inf)
        for row, column in list(self._latest.patches)[:: max(1, len(self._latest.patches) // 200)]:
            heights = self._latest.heights(row, column)
            rows, columns = row * self.size + np.arange(self.size), column * self.size + np.arange(self.size)
            inside = np.ix_(rows < self.ny, columns < self.nx)
            x = self.origin[0] + self.spacing * columns[columns < self.nx]
            y = self.origin[1] + self.spacing * rows[rows < self.ny]
            if len(x) and len(y):
                deepest = max(deepest, float((first_heights(self.recording, x, y) - heights[inside]).max()))
        deepest = max(deepest, MINIMAL_RANGE)
        return -deepest / 3, deepest  # so that 0 has the colour of sand, the second of five stops


class _Latest:
    """The last version of each tile up to a time. Moving forward is cheap, moving backward starts all over."""

    def __init__(self, view: GroundView):
        self.view, self.patches = view, dict[tuple[int, int], int]()
        self._time, self._seen = -math.inf, 0

    def move(self, time: float) -> None:
        recording = self.view.recording
        times = recording.tile_time()
        end = int(np.searchsorted(times, time + 1e-9, side="right"))
        if end < self._seen:
            self.patches, self._seen = {}, 0
        index, world = recording.tile_index()[self._seen : end], recording.tile_world()[self._seen : end]
        for k in np.flatnonzero(world == self.view.world):
            self.patches[int(index[k, 0]), int(index[k, 1])] = self._seen + int(k)
        self._seen, self._time = end, time

    def heights(self, row: int, column: int) -> np.ndarray:
        return self.view.recording.tile_heights(self.patches[row, column])

    def apply_tiles(self, rows: np.ndarray, columns: np.ndarray, heights: np.ndarray) -> None:
        """Overwrite `heights` at these node indices by the tiles."""
        size = self.view.size
        for r in range(rows[0] // size, rows[-1] // size + 1):
            row = slice(*np.searchsorted(rows, (r * size, (r + 1) * size)))
            for c in range(columns[0] // size, columns[-1] // size + 1):
                if (r, c) not in self.patches:
                    continue
                column = slice(*np.searchsorted(columns, (c * size, (c + 1) * size)))
                inside = np.ix_(rows[row] - r * size, columns[column] - c * size)
                heights[row, column] = self.heights(r, c)[inside]


def _leaves(row: int, column: int) -> set[tuple[int, int]]:
    """Leaves that change with a tile: a leaf ends with the first nodes of its neighbours, and normals reach beyond."""
    rows = {k // LEAF for k in (row - 1, row, row + 1)}
    columns = {k // LEAF for k in (column - 1, column, column + 1)}
    return {(r, c) for r in rows for c in columns if r >= 0 and c >= 0}


def _with_neighbours(nodes: np.ndarray, count: int) -> tuple[np.ndarray, slice]:
    """Node indices with one more at each end, as far as there are `count`, and where the given ones are in them."""
    steps = np.diff(nodes) if len(nodes) > 1 else np.ones(1, int)
    before, after = max(nodes[0] - steps[0], 0), min(nodes[-1] + steps[-1], count - 1)
    every = np.unique([before, *nodes, after])
    start = int(before < nodes[0])
    return every, slice(start, start + len(nodes))


def height_normals(heights: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Unit normals, (ny, nx, 3), of heights [m] at x and y [m]."""
    along_y = np.gradient(heights, y, axis=0) if len(y) > 1 else np.zeros_like(heights)
    along_x = np.gradient(heights, x, axis=1) if len(x) > 1 else np.zeros_like(heights)
    normals = np.stack([-along_x, -along_y, np.ones_like(heights)], axis=-1)
    return normals / np.linalg.norm(normals, axis=-1, keepdims=True)


def _at_least_apart(low: float, high: float, least: float) -> tuple[float, float]:
    middle = (low + high) / 2
    return (low, high) if high - low >= least else (middle - least / 2, middle + least / 2)
