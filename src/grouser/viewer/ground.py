"""The ground of a recording as patches to draw: fine where the ground changed, coarse elsewhere.

Patches ("cells") are squares of a quadtree over the fine grid. A leaf covers LEAF x LEAF tiles. A leaf with any
recorded tile is drawn node by node; all others are joined to larger squares with few nodes. Only patches that changed
are drawn again. Only the indices of the tiles shown are kept, so memory does not grow with the length of a run.

Of a long way no browser draws every node. If more than MOST_CELLS leaves have changed, they are joined to larger
squares with DETAIL nodes along a side, until there are no more than that; near the robot (`look_at`) leaves stay.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from grouser.recording import Recording
from grouser.recording.surface import first_heights

LEAF = 2  # tiles along the side of a leaf
COARSE = 24  # largest number of grid cells along the side of an unchanged square
MOST_CELLS = 600  # largest number of squares with changed ground
DETAIL = 48  # grid cells along the side of a square of joined leaves: 11 cm if it is 5 m wide
NEAR = 4.0  # [m] around the robot, leaves are not joined
FOCUS_STEP = 2.0  # [m] the robot moves on before leaves are joined behind it and divided ahead of it
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
        self.detail = 0  # level of the squares to which changed leaves are joined
        self._focus: tuple[float, float] | None = None  # [m]
        self._stamped: tuple[Any, dict[Cell, tuple[int, ...]]] = (None, {})  # last result of `stamps`
        self.cells: set[Cell] = set()
        self.refresh()

    def look_at(self, x: float, y: float) -> None:
        """Draw the ground around a place [m] node by node, also in a long recording."""
        focus = round(x / FOCUS_STEP) * FOCUS_STEP, round(y / FOCUS_STEP) * FOCUS_STEP
        if focus != self._focus:
            self._focus = focus
            if self.detail:
                self._divide()

    def refresh(self) -> None:
        """Read new tiles, and split the cells in which they lie into fine ones."""
        index = self.recording.tile_index()
        new = {(int(r) // LEAF, int(c) // LEAF) for r, c in np.unique(index[self._counted :], axis=0)}
        self._counted = len(index)
        if self.cells and not new - self._touched:
            return
        self._touched |= new
        self._divide()

    def _divide(self) -> None:
        """Divide the ground into cells."""
        side = self.leaf << self.top
        rows, columns = math.ceil((self.ny - 1) / side), math.ceil((self.nx - 1) / side)
        touched = {level: {(r >> level, c >> level) for r, c in self._touched} for level in range(self.top + 1)}
        self.detail = next((level for level, cells in touched.items() if len(cells) <= MOST_CELLS), self.top)
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
        joined = cell.level <= self.detail and not self._is_near(cell)
        if cell.level == 0 or joined or (cell.row, cell.column) not in touched[cell.level]:
            yield cell
            return
        for r in (0, 1):
            for c in (0, 1):
                yield from self._split(Cell(cell.level - 1, 2 * cell.row + r, 2 * cell.column + c), touched)

    def _is_near(self, cell: Cell) -> bool:
        """Whether a cell lies within NEAR of the place that is looked at."""
        if self._focus is None:
            return False
        side = (self.leaf << cell.level) * self.spacing
        west, south = self.origin[0] + cell.column * side, self.origin[1] + cell.row * side
        x, y = self._focus
        away = max(west - x, 0.0, x - west - side), max(south - y, 0.0, y - south - side)
        return math.hypot(*away) < NEAR

    def stamps(self, time: float) -> dict[Cell, tuple[int, ...]]:
        """The tiles that each cell shows at `time` [s]. A cell must be redrawn when they change."""
        self._latest.move(time)
        state = self._latest.shown, self.cells
        if self._stamped[0] is not None and self._stamped[0][0] == state[0] and self._stamped[0][1] is state[1]:
            return self._stamped[1]
        found: dict[Cell, list[int]] = {cell: [] for cell in self.cells}
        levels = range(self.detail + 1)
        for (row, column), patch in self._latest.patches.items():
            leaves = _leaves(row, column)
            for cell in {Cell(level, r >> level, c >> level) for r, c in leaves for level in levels}:
                if cell in found:
                    found[cell].append(patch)
        self._stamped = state, {cell: tuple(sorted(patches)) for cell, patches in found.items()}
        return self._stamped[1]

    def patch(self, cell: Cell, stride: int = 1) -> Patch:
        """Heights of a cell at the time of the last `stamps`."""
        side = self.leaf << cell.level
        r0, c0 = cell.row * side, cell.column * side
        r1, c1 = min(r0 + side, self.ny - 1), min(c0 + side, self.nx - 1)
        changed = cell.level <= self.detail and self._is_touched(cell)
        (rows, inner_rows), (columns, inner_columns) = (
            _with_neighbours(self._nodes(low, high, cell.level if changed else None, stride, axis), count)
            for axis, low, high, count in ((1, r0, r1, self.ny), (0, c0, c1, self.nx))
        )
        x, y = self.origin[0] + self.spacing * columns, self.origin[1] + self.spacing * rows
        first = first_heights(self.recording, x, y)
        heights = first.copy()
        if changed:
            self._latest.apply_tiles(rows, columns, heights)
        inside = inner_rows, inner_columns
        return Patch(
            x[inner_columns], y[inner_rows], heights[inside], first[inside], height_normals(heights, x, y)[inside]
        )

    def _is_touched(self, cell: Cell) -> bool:
        leaves = range(1 << cell.level)
        return any(
            ((cell.row << cell.level) + r, (cell.column << cell.level) + c) in self._touched
            for r in leaves
            for c in leaves
        )

    def _nodes(self, start: int, stop: int, changed: int | None, stride: int, axis: int) -> np.ndarray:
        """Node indices from start to stop, both included, thinned by `stride` or for coarse cells; `axis`: 0 x, 1 y.

        `changed`: level of a cell with changed ground; None: nothing has changed, and the nodes of the elevation model
        say it all, so that the patch meets its finer neighbours.
        """
        steps = max(stop - start, 1)
        if changed is None:
            origin, spacing = self._terrain[0][axis], self._terrain[1]
            first, last = ((self.origin[axis] + k * self.spacing - origin) / spacing for k in (start, stop))
            places = origin + spacing * np.arange(math.ceil(first), math.floor(last) + 1)
            nodes = np.unique(np.round((places - self.origin[axis]) / self.spacing).astype(int).clip(start, stop))
            if len(nodes) < COARSE:
                return np.unique([start, *nodes, max(stop, start)])
        count = COARSE if changed is None else math.ceil(steps / stride) if changed == 0 else DETAIL
        return np.unique(np.round(np.linspace(start, max(stop, start), min(count, steps) + 1)).astype(int))

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

    @property
    def shown(self) -> int:
        """Number of tiles recorded up to the present time."""
        return self._seen

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
