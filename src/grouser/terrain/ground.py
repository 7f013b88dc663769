"""The deformable ground: a fine grid in tiles, which are filled from an elevation grid when a body comes near.

Only tiles that a body has come near are allocated. The cost of a step therefore depends on the footprint, and untouched
ground costs one integer per tile. Each node has four levels [m], which describe loose soil over compacted soil:

    levels[SURFACE]        Z    visible surface
    levels[VIRGIN]         V_l  level the loose surface would have if it had never been pressed
    levels[PACKED]         C    top of the compacted soil below the loose soil
    levels[PACKED_VIRGIN]  V_c  virgin level of that compacted soil

Worlds may stand on different terrains and different soils: each has the number of its terrain and of its first soil.

Tiles that no body is near any more come to rest in a quarter of the memory or less: `resting`.

Soil may end at a depth below the initial surface, on hard ground or on a second soil. No step changes that depth, so it
is not stored with the nodes but read from a map of its own, as heights of untouched ground are.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from grouser.device import array, array2d, array3d, array4d, at, fields, module, nonnegative, struct
from grouser.errors import InputError
from grouser.precision import Precision, precision, real, vec3, vec4
from grouser.quiet_warp import start_warp
from grouser.resets import Resets, world_mask
from grouser.terrain import checks, resting
from grouser.terrain.elevation import BARE, ElevationGrid
from grouser.terrain.ground_inputs import check_device_memory, check_table, soils_of_worlds, terrains_of
from grouser.terrain.ground_levels import level_of
from grouser.terrain.resting import AT_REST, BLOCK, BLOCKS, LIVE_TILES, REST_STEP, TILE
from grouser.terrain.soil_depth import Depth, depth_map
from grouser.terrain.soils import Soil

MODULE = module("grouser.terrain.ground")
SURFACE, VIRGIN, PACKED, PACKED_VIRGIN = 0, 1, 2, 3  # components of a node's levels
FEW_WORLDS = 64  # up to here tiles are kept free for several steps of all worlds


@struct
class GroundArrays:
    """The deformable grid of all worlds. `tile` counts the tiles of a world in the order they were touched."""

    base: array3d[real]  # [m], (terrain, base row, base column) heights of the elevation grids
    base_soil: array2d[int]  # (row, column) soil index, or one element if uniform
    depth: array3d[real]  # [m], (1, row, column) of the soil below the initial surface; one element: unlimited
    terrain: array[int]  # (world,) number of its terrain in `base`
    first_soil: array[int]  # (world,) number of its first soil: 0 if all worlds have the same soils
    table: array3d[
        int
    ]  # (world, tile row, tile column) number of the tile, -1 where untouched, AT_REST or less: at rest
    used: array[int]  # (world,) tiles in use
    owner: array2d[wp.vec2i]  # (world, tile) tile row and column
    stamp: array2d[int]  # (world, tile) number of times written
    levels: array4d[vec4]  # [m], (world, tile, row, column)
    shear: array4d[vec3]  # (world, tile, row, column) shear state, one element where none is kept
    rest_used: array[int]  # (world,) tiles at rest, and such as bodies have come back to since
    rest_owner: array2d[wp.vec2i]  # (world, tile at rest) tile row and column
    rest_stamp: array2d[int]  # (world, tile at rest) number of times written
    rest_block: array3d[int]  # (world, tile at rest, block of nodes) its number in `rest_levels`, FREE if unchanged
    rest_levels: array3d[wp.vec4s]  # [REST_STEP], (world, block, node) above the undisturbed ground
    rounded: array[wp.float64]  # [m^3], (world,) volume that rounding has added
    spacing: real  # [m]
    per_spacing: real  # [1/m]
    x0: real  # [m] world x of column 0
    y0: real  # [m] world y of row 0
    rows: int
    columns: int
    ratio: real  # spacing of this grid over that of the base
    depth_ratio: real  # the same over that of `depth`
    depth_row: real  # row and column of `depth` at row 0 and column 0 of this grid
    depth_column: real


CONSTANT = (
    "base",
    "base_soil",
    "depth",
    "first_soil",
)  # arrays of the ground that no step changes; all others are its state


@wp.func
def between(values: array3d[real], layer: int, y: real, x: real):
    """Value of a layer at row y and column x between the nodes of a grid, bilinear."""
    # No cell begins at the last row or column of the grid.
    i = wp.clamp(int(wp.floor(y)), 0, values.shape[1] - 2)
    j = wp.clamp(int(wp.floor(x)), 0, values.shape[2] - 2)
    v = y - real(i)
    u = x - real(j)
    one = real(1.0)
    low = (one - u) * values[layer, i, j] + u * values[layer, i, j + 1]
    high = (one - u) * values[layer, i + 1, j] + u * values[layer, i + 1, j + 1]
    return (one - v) * low + v * high


@wp.func
def base_height(g: GroundArrays, world: int, row: int, column: int):
    """Height [m] of the elevation grid under a node of the fine grid, bilinear."""
    return between(g.base, nonnegative(g.terrain[world]), real(row) * g.ratio, real(column) * g.ratio)


@wp.func
def base_normal(g: GroundArrays, world: int, position: vec3):
    """Upward unit normal of the elevation grid at a position, as `ElevationGrid.normal`."""
    layer = nonnegative(g.terrain[world])
    per = g.per_spacing * g.ratio  # [1/m] nodes of the elevation grid
    rows = g.base.shape[1]
    columns = g.base.shape[2]
    y = wp.clamp((position[1] - g.y0) * per, real(0.0), real(rows - 1))
    x = wp.clamp((position[0] - g.x0) * per, real(0.0), real(columns - 1))
    i = wp.clamp(int(wp.floor(y)), 0, rows - 2)
    j = wp.clamp(int(wp.floor(x)), 0, columns - 2)
    v = y - real(i)
    u = x - real(j)
    one = real(1.0)
    z00 = g.base[layer, i, j]
    z01 = g.base[layer, i, j + 1]
    z10 = g.base[layer, i + 1, j]
    z11 = g.base[layer, i + 1, j + 1]
    along_x = ((one - v) * (z01 - z00) + v * (z11 - z10)) * per
    along_y = ((one - u) * (z10 - z00) + u * (z11 - z01)) * per
    return wp.normalize(vec3(-along_x, -along_y, one))


@wp.func
def bottom_height(g: GroundArrays, row: real, column: real):
    """Height [m] of the bottom of the soil at a place on the fine grid. Only where the soil has one, see `depth`.

    Then all worlds stand on the same terrain.
    """
    surface = between(g.base, 0, row * g.ratio, column * g.ratio)
    return surface - between(g.depth, 0, g.depth_row + row * g.depth_ratio, g.depth_column + column * g.depth_ratio)


@wp.func
def soil_at(g: GroundArrays, world: int, row: int, column: int):
    """Soil index of a node: that of the nearest node of the elevation grid, from the world's first soil on."""
    i = wp.min(int(wp.floor(real(row) * g.ratio + real(0.5))), g.base_soil.shape[0] - 1)
    j = wp.min(int(wp.floor(real(column) * g.ratio + real(0.5))), g.base_soil.shape[1] - 1)
    soil = g.base_soil[i, j]
    return wp.where(soil == BARE, soil, soil + g.first_soil[world])


@wp.func
def surface_at(g: GroundArrays, world: int, row: int, column: int):
    """Height [m] of the surface at a node, also where its tile is not allocated."""
    tile = g.table[world, row // TILE, column // TILE]
    if tile >= 0:
        return g.levels[world, tile, row % TILE, column % TILE][SURFACE]
    z = base_height(g, world, row, column)
    if tile <= AT_REST:
        z += rises_at_rest(g, world, tile, row % TILE, column % TILE)[SURFACE]
    return z


@wp.func
def rises_at_rest(g: GroundArrays, world: int, tile: int, i: int, j: int):
    """Levels [m] of a node of a tile at rest above the undisturbed ground. `tile`: its entry in the table."""
    block = g.rest_block[world, AT_REST - tile, (i // BLOCK) * BLOCKS + j // BLOCK]
    if block < 0:
        return vec4()
    steps = g.rest_levels[world, block, (i % BLOCK) * BLOCK + j % BLOCK]
    step = real(REST_STEP)
    return vec4(
        step * real(steps[0]), step * real(steps[1]),  # pyright: ignore[reportIndexIssue] a device vector
        step * real(steps[2]), step * real(steps[3]),  # pyright: ignore[reportIndexIssue]
    )  # fmt: skip


@wp.func
def untouched(z: real):
    """Levels [m] of untouched soil: all four equal the surface."""
    return vec4(z, z, z, z)


@wp.func
def claim_tile(g: GroundArrays, world: int, tile_row: int, tile_column: int, stamp: int):
    """Give a tile that has none yet the next free number and this `stamp`. Returns False if the pool of tiles is full.

    Only one thread per world may call this, because it takes the number without an atomic operation. The levels are
    not set: tiles of a reset world still hold old data.
    """
    if g.table[world, tile_row, tile_column] >= 0:
        return True
    tile = g.used[world]
    if tile >= g.levels.shape[1]:
        return False
    g.used[world] = tile + 1
    g.table[world, tile_row, tile_column] = tile
    g.owner[world, tile] = wp.vec2i(tile_row, tile_column)
    g.stamp[world, tile] = stamp
    return True


@wp.func
def allocate_tile(g: GroundArrays, world: int, tile_row: int, tile_column: int):
    """Allocate a tile if it is not in use and set its levels. Returns False if the pool of tiles is full.

    Only one thread per world may call this, see `claim_tile`.
    """
    before = g.table[world, tile_row, tile_column]
    if before >= 0:
        return True
    stamp = int(0)
    if before <= AT_REST:
        stamp = g.rest_stamp[world, AT_REST - before]
    if not claim_tile(g, world, tile_row, tile_column, stamp):
        return False
    tile = g.table[world, tile_row, tile_column]
    for i in range(TILE):
        for j in range(TILE):
            levels = untouched(base_height(g, world, tile_row * TILE + i, tile_column * TILE + j))
            if before <= AT_REST:
                levels += rises_at_rest(g, world, before, i, j)
            g.levels[world, tile, i, j] = levels
            if g.shear.shape[2] > 1:
                g.shear[world, tile, i, j] = vec3()
    return True


@wp.kernel(module=MODULE)
def choose_terrain(mask: array[int], numbers: array[int], count: int, terrain_out: array[int]):
    """Set the terrain of the chosen worlds. One thread per world."""
    world = wp.tid()
    if mask[world] != 0 and numbers[world] >= 0 and numbers[world] < count:
        terrain_out[world] = numbers[world]


class Ground:
    """Owns the deformable grid. Soil and track modules hold views of its arrays."""

    def __init__(
        self,
        elevation: ElevationGrid | Sequence[ElevationGrid],
        soils: Soil | Sequence[Soil] = (),
        spacing: float | None = None,
        *,
        worlds: int = 1,
        dtype: str = "float64",
        device: str = "cpu",
        capacity: int = 64,
        fixed: bool = False,
        depth: Depth | None = None,
        below: Soil | None = None,
        world_soils: Sequence[Soil | Sequence[Soil]] | None = None,
        live_tiles: int = LIVE_TILES,
    ):
        """`spacing` [m] of the fine grid (default: that of the elevation grid). `capacity`: number of tiles of a world
        at the start; with `fixed` it never grows, and a world that needs more tiles has a status that says so.

        Several elevation grids of the same size are terrains to choose from, `set_terrain`; world k starts on number k,
        counted round. `world_soils`: soils of each world in place of `soils`, all of the same number.

        `depth` [m] of the soil below its initial surface: a number, an array with a value for each node of the
        elevation grid, or a map (`soil_depth.depth_map`). Below it lies hard ground, or the soil `below`.

        `live_tiles`: number of tiles of a world above which those that no body is near come to rest (`resting`).
        """
        start_warp()
        self.terrains = terrains_of(elevation, depth)
        self.elevation = elevation = self.terrains[0]
        self.fixed = fixed
        self.world_soils = None if world_soils is None else soils_of_worlds(world_soils, worlds)
        if self.world_soils is not None:
            soils = self.world_soils[0]
        self.soils = (soils,) if isinstance(soils, Soil) else tuple(soils) or elevation.soils
        if not self.soils:
            raise InputError("ground: no soil given; pass soils=… or an elevation grid that has some")
        self.spacing = float(elevation.spacing if spacing is None else spacing)
        if not (self.spacing > 0 and math.isfinite(self.spacing)):
            raise InputError(f"spacing: {spacing} m is not allowed; it must be above 0")
        self.worlds, self.device = checks.count(worlds, "worlds", at_least=1), device
        self.precision = precision(dtype)
        length, breadth = elevation.size
        self.columns = math.floor(length / self.spacing + 1e-6) + 1
        self.rows = math.floor(breadth / self.spacing + 1e-6) + 1
        if min(self.rows, self.columns) < 4:
            raise InputError(
                f"spacing: {self.spacing} m leaves {self.rows} x {self.columns} nodes on a terrain of "
                f"{length:g} m x {breadth:g} m; at least 4 x 4 are needed"
            )
        check_table(self.rows, self.columns, self.worlds, self.spacing, (length, breadth))
        if below is not None and depth is None:
            raise InputError(f"below: {below.name!r} is not allowed without a depth of the soil above it")
        self.depth = None if depth is None else depth_map(depth, elevation)
        self.below = below
        self.live_tiles = checks.count(live_tiles, "live_tiles", at_least=1)
        self._holders: list[resting.Held | None] = []  # of modules on this ground, see `held_by`
        self.keeps_shear = False  # whether nodes have a shear state; a module may ask for it
        self.arrays = self._allocate(capacity)
        self._viewed = -1  # generation of the views below
        self._views: tuple[np.ndarray, ...] = ()  # stamp, owner, levels
        self.generation = 0  # number of reallocations; launches must be recorded again after each
        self.reserved = 0  # tiles that modules beside the one that asks may need in a step

    def _allocate(self, capacity: int):
        p: Precision = self.precision
        elevation, device = self.elevation, self.device
        index = elevation.soil_index
        if index is None:
            index = np.zeros((1, 1), np.int32)
        if index.max() >= len(self.soils):
            raise InputError(f"soil_index: {index.max()} is not allowed; there are {len(self.soils)} soils")
        tiles = (self.worlds, -(-self.rows // TILE), -(-self.columns // TILE))
        self._tiles = tiles[1] * tiles[2]  # of each world
        a = at(GroundArrays, p.name)()
        heights = np.stack([terrain.heights for terrain in self.terrains]).astype(p.numpy)
        a.base = wp.array(heights, dtype=p.real, device=device)
        starts = np.arange(self.worlds, dtype=np.int32)
        a.terrain = wp.array(starts % len(self.terrains), dtype=wp.int32, device=device)
        own = 0 if self.world_soils is None else len(self.soils)
        a.first_soil = wp.array(own * starts, dtype=wp.int32, device=device)
        a.base_soil = wp.array(index.astype(np.int32), dtype=wp.int32, device=device)
        a.table = wp.full(tiles, -1, dtype=wp.int32, device=device)
        a.used = wp.zeros(self.worlds, dtype=wp.int32, device=device)
        self._used = a.used.numpy()  # a view on the CPU
        self._starts = Resets(self.worlds, device)
        self._starts.add(a.table, -1)
        self._starts.add(a.used, 0)
        resting.allocate(a, self.worlds, device)
        self._starts.add(a.rest_used, 0)
        self._starts.add(a.rounded, np.zeros(1))
        self._allocate_pool(a, capacity)
        a.per_spacing = 1 / self.spacing
        a.spacing, a.x0, a.y0 = self.spacing, elevation.origin[0], elevation.origin[1]
        a.rows, a.columns, a.ratio = self.rows, self.columns, self.spacing / elevation.spacing
        self._set_depth(a)
        return a

    def _set_depth(self, a) -> None:
        depth = self.depth
        values = np.zeros((1, 1, 1)) if depth is None else depth.heights[None]
        a.depth = wp.array(values.astype(self.precision.numpy), dtype=self.precision.real, device=self.device)
        if depth is not None:
            (x0, y0), (x, y) = depth.origin, self.elevation.origin
            a.depth_ratio = self.spacing / depth.spacing
            a.depth_row, a.depth_column = (y - y0) / depth.spacing, (x - x0) / depth.spacing

    def _allocate_pool(self, a, capacity: int) -> None:
        values = 7 if self.keeps_shear else 4
        size = self.worlds * capacity * (TILE * TILE * values * np.dtype(self.precision.numpy).itemsize + 12)
        check_device_memory(size, self.device, self.worlds, f"{capacity} tiles of each world")
        pool, self._capacity = (self.worlds, capacity), capacity
        a.owner = wp.zeros(pool, dtype=wp.vec2i, device=self.device)
        a.stamp = wp.zeros(pool, dtype=wp.int32, device=self.device)
        a.levels = wp.zeros((*pool, TILE, TILE), dtype=self.precision.vec4, device=self.device)
        nodes = (*pool, TILE, TILE) if self.keeps_shear else (1, 1, 1, 1)
        a.shear = wp.zeros(nodes, dtype=self.precision.vec3, device=self.device)

    @property
    def capacity(self) -> int:
        """Number of tiles allocated for each world."""
        return self._capacity

    def reserve(self, tiles: int) -> None:
        """Add `tiles` to what every step may need, for a module that shares the ground with others."""
        self.reserved += tiles
        self.ensure(0)

    def ensure(self, spare: int) -> bool:
        """Keep `spare` free tiles in every world for each of the steps that may run before the next call.

        Returns true if arrays were reallocated.
        """
        if self.fixed:
            return False
        steps = 2 if self.worlds == 1 else 4 if self.worlds <= FEW_WORLDS else 1  # more worlds take more memory
        wanted = min(self._most_used() + steps * (spare + self.reserved), self._tiles)
        if wanted <= self._capacity:
            return False
        doubled = 2 * self.capacity
        if self.rests:  # no more than come to rest, and a reserve
            doubled = min(doubled, self.live_tiles + 4 * steps * spare)
        self.grow(min(max(doubled, wanted), self._tiles))
        return True

    def held_by(self, boxes: resting.Held | None) -> None:
        """Register a module that changes the ground. `boxes` gives the nodes that it needs until its next commit.

        None: the module cannot work with tiles at rest; then none come to rest.
        """
        self._holders.append(boxes)

    @property
    def rests(self) -> bool:
        """Whether tiles come to rest: on the CPU, if all modules allow it, without a shear state of nodes."""
        able = self.device == "cpu" and not (self.fixed or self.keeps_shear)
        return able and bool(self._holders) and None not in self._holders

    def rest(self) -> None:
        """Bring tiles that no body is near to rest, in worlds with more than `live_tiles`. Between two steps only."""
        if self.rests:
            resting.rest(self, np.concatenate([boxes() for boxes in self._holders if boxes is not None]))

    def room_for(self, spare: int) -> int:
        """How many times `spare` more tiles fit, after making room for at least one; `sys.maxsize` if all tiles fit."""
        if self._capacity < self._tiles:
            self.ensure(spare)
        if self.fixed or self._capacity >= self._tiles:
            return sys.maxsize
        return (self._capacity - self._most_used()) // (spare + self.reserved)

    def _most_used(self) -> int:
        """Largest number of tiles in use in any world."""
        used = self._used if self.device == "cpu" else self.arrays.used.numpy()
        return int(used[0]) if self.worlds == 1 else int(used.max())

    def written(self, world: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Stamps (slot,), owners (slot, 2) and levels [m], (slot, row, column, 4) of the tiles in use, not at rest.

        On the CPU these are views that later steps overwrite: copy what you keep.
        """
        a = self.arrays
        if self.device != "cpu":  # copies of this world only
            count = int(a.used.numpy()[world])
            return tuple(array[world].numpy()[:count] for array in (a.stamp, a.owner, a.levels))  # type: ignore[return-value]
        if self._viewed != self.generation:
            self._views, self._viewed = tuple(array.numpy() for array in (a.stamp, a.owner, a.levels)), self.generation
        stamp, owner, levels = self._views
        count = int(self._used[world])
        return stamp[world, :count], owner[world, :count], levels[world, :count]

    def grow(self, capacity: int) -> None:
        a = self.arrays
        old = (a.owner, a.stamp, a.levels, a.shear)
        self._allocate_pool(a, capacity)
        for source, target in zip(old, (a.owner, a.stamp, a.levels, a.shear), strict=True):
            moved = target.numpy()
            moved[:, : source.shape[1]] = source.numpy()
            target.assign(moved)
        self.generation += 1

    def keep_shear(self) -> None:
        """Allocate a shear state for the nodes of all tiles."""
        if not self.keeps_shear:
            self.keeps_shear = True
            nodes = self.arrays.levels.shape
            self.arrays.shear = wp.zeros(nodes, dtype=self.precision.vec3, device=self.device)
            self.generation += 1

    def state(self) -> dict[str, wp.array]:
        unchanged = CONSTANT if self.keeps_shear else (*CONSTANT, "shear")
        arrays = (name for name, kind in fields(GroundArrays).items() if hasattr(kind, "ndim"))
        return {name: getattr(self.arrays, name) for name in arrays if name not in unchanged}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        if state["levels"].shape[1] != self.capacity:
            self._allocate_pool(self.arrays, state["levels"].shape[1])
            self.generation += 1
        for name in (*resting.OF_TILES, "rest_levels"):
            old = getattr(self.arrays, name)
            if state[name].shape[:2] != old.shape[:2]:
                shape = (*state[name].shape[:2], *old.shape[2:])
                setattr(self.arrays, name, wp.zeros(shape, dtype=old.dtype, device=self.device))
                self.generation += 1
        for name, values in self.state().items():
            values.assign(state[name])

    def reset(self, worlds: Sequence[int] | wp.array) -> None:
        """Put the ground of some worlds, given by number or as a mask on the device, back to its untouched state."""
        self._starts.run(world_mask(worlds, self.worlds, self.device))

    def set_terrain(self, worlds: Sequence[int] | wp.array, terrain: Any) -> None:
        """Choose the terrain of some worlds by number, one or (world,) of all worlds. Reset these worlds afterwards.

        Numbers in a device array are not read by the host: one that no terrain has leaves the world on its own.
        """
        count = len(self.terrains)
        if not isinstance(terrain, wp.array):
            numbers = np.asarray(terrain)
            if numbers.dtype.kind not in "iu" or not ((numbers >= 0) & (numbers < count)).all():
                raise InputError(f"terrain: {terrain!r} is not allowed; allowed are numbers 0 to {count - 1}")
            spread = np.ascontiguousarray(np.broadcast_to(numbers, self.worlds), np.int32)
            terrain = wp.array(spread, dtype=wp.int32, device=self.device)
        inputs = [world_mask(worlds, self.worlds, self.device), terrain, count, self.arrays.terrain]
        wp.launch(choose_terrain, dim=self.worlds, inputs=inputs, device=self.device)

    def terrain_of(self, world: int) -> ElevationGrid:
        """The elevation grid on which a world stands."""
        return self.terrains[int(self.arrays.terrain.numpy()[world]) if len(self.terrains) > 1 else 0]

    def memory(self) -> int:
        """Memory [bytes] of the deformable grid, without the elevation grid."""
        return sum(array.capacity for array in self.state().values())

    def heights(self, world: int = 0, region: tuple[float, float, float, float] | None = None) -> np.ndarray:
        """Surface heights [m], (row, column) of the nodes inside `region` x0, x1, y0, y1 [m] (default: all nodes)."""
        return self.level(0, world, region)

    def level(self, which: int, world: int = 0, region: tuple[float, float, float, float] | None = None) -> np.ndarray:
        """One of the four levels [m], (row, column) of the nodes inside `region` x0, x1, y0, y1 [m]."""
        return level_of(self, which, world, region)
