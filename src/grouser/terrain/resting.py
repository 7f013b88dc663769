"""Tiles at rest: the ground far behind a robot, stored in 16 bits a level.

A tile in use holds four levels of 8 bytes for each node. A tile that no body is near needs no such precision. It comes
to rest: blocks of BLOCK x BLOCK nodes that no body has changed are freed, and the others keep their levels in steps of
REST_STEP above the undisturbed ground. Rounding moves a level by at most half a step, 0.031 mm; equal levels stay
equal, and none passes another. Its change of volume is booked in `GroundArrays.rounded`. When a body comes near again,
`ground.allocate_tile` makes a tile in use of it; a tile that comes to rest twice is not rounded twice.

Levels farther than 2 m from the undisturbed ground do not fit into 16 bits: such a tile stays in use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

if TYPE_CHECKING:
    from grouser.terrain.ground import Ground

TILE = 32  # nodes along a tile's side
BLOCK = 8  # nodes along the side of a block
BLOCKS = TILE // BLOCK  # blocks along a tile's side
REST_STEP = 2.0**-14  # [m] 0.061 mm
LARGEST = 2**15 - 1  # steps in 16 bits
AT_REST = -2  # in the table of tiles: AT_REST - k is tile k at rest; -1 is a tile that was never touched
FREE = -1  # number of a block that no body has changed
REST_PERIOD = 200  # steps between two looks at the ground: 1 s at 5 ms
LIVE_TILES = 512  # tiles in use above which those that no body is near come to rest: 17 MB in float64
GROWTH = 1.25  # of the memory for blocks, once they are full
OF_TILES = ("rest_owner", "rest_stamp", "rest_block")  # arrays with an element for each tile at rest

Held = Callable[[], np.ndarray]  # (box, 5) world, first row, one past the last, first column, one past the last: nodes


def allocate(a: Any, worlds: int, device: Any) -> None:
    """Arrays of a ground of which nothing is at rest."""
    a.rest_used = wp.zeros(worlds, dtype=wp.int32, device=device)
    a.rounded = wp.zeros(worlds, dtype=wp.float64, device=device)
    a.rest_owner = wp.zeros((worlds, 1), dtype=wp.vec2i, device=device)
    a.rest_stamp = wp.zeros((worlds, 1), dtype=wp.int32, device=device)
    a.rest_block = wp.full((worlds, 1, BLOCKS * BLOCKS), FREE, dtype=wp.int32, device=device)
    a.rest_levels = wp.zeros((worlds, 1, BLOCK * BLOCK), dtype=wp.vec4s, device=device)


def rest(ground: Ground, held: np.ndarray) -> None:
    """Bring the tiles outside the boxes `held` to rest, in worlds with more than `ground.live_tiles` tiles in use.

    Between two steps only, on the CPU: windows of bodies look up the numbers of their tiles anew in every step.
    """
    a = ground.arrays
    for world in np.flatnonzero(a.used.numpy() > ground.live_tiles):
        boxes = held[held[:, 0] == world]
        owner = a.owner.numpy()[world, : a.used.numpy()[world]]
        quiet = np.flatnonzero(~_under(owner, boxes))
        if len(quiet):
            _drop_woken(ground, int(world))
            _put_to_rest(ground, int(world), quiet)


def _under(owner: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Whether each tile, (tile, 2) row and column, lies under one of the boxes of nodes."""
    row, column = owner[:, :1], owner[:, 1:]
    _, row0, row1, column0, column1 = boxes.T
    along = (row >= row0 // TILE) & (row <= (row1 - 1) // TILE)
    return (along & (column >= column0 // TILE) & (column <= (column1 - 1) // TILE)).any(axis=1)


def _drop_woken(ground: Ground, world: int) -> None:
    """Forget the tiles at rest that bodies have come back to, and number the others anew."""
    a = ground.arrays
    count = int(a.rest_used.numpy()[world])
    owner, table = a.rest_owner.numpy()[world, :count], a.table.numpy()[world]
    stays = np.flatnonzero(table[owner[:, 0], owner[:, 1]] == AT_REST - np.arange(count))
    for name in OF_TILES:
        values = getattr(a, name).numpy()[world]
        values[: len(stays)] = values[stays]
    rows, columns = a.rest_owner.numpy()[world, : len(stays)].T
    table[rows, columns] = AT_REST - np.arange(len(stays))
    a.rest_used.numpy()[world] = len(stays)


def _put_to_rest(ground: Ground, world: int, quiet: np.ndarray) -> None:
    a = ground.arrays
    levels, owner = a.levels.numpy()[world], a.owner.numpy()[world]
    above = levels[quiet] - untouched_heights(ground, world, owner[quiet])[..., None]  # [m], (tile, row, column, level)
    steps = np.rint(above / REST_STEP)
    fits = (np.abs(steps) <= LARGEST).all(axis=(1, 2, 3))
    quiet, above, steps = quiet[fits], above[fits], steps[fits].astype(np.int16)
    changed = np.asarray(_in_blocks(steps).any(axis=(2, 3)))  # (tile, block)
    # A tile that was never written to is as if no body had come near. One that was keeps its number of writes, by
    # which recordings know what they hold.
    kept = changed.any(axis=1) | (a.stamp.numpy()[world, quiet] > 0)
    a.rounded.numpy()[world] += _volume(ground, steps[..., 0] * REST_STEP - above[..., 0])
    numbers = _take_records(ground, world, int(kept.sum()))
    a.rest_owner.numpy()[world, numbers] = owner[quiet[kept]]
    a.rest_stamp.numpy()[world, numbers] = a.stamp.numpy()[world, quiet[kept]]
    a.rest_block.numpy()[world, numbers] = _store_blocks(ground, world, steps[kept], changed[kept])
    table = a.table.numpy()[world]
    rows, columns = owner[quiet].T
    table[rows, columns] = -1
    rows, columns = owner[quiet[kept]].T
    table[rows, columns] = AT_REST - numbers
    _close_gaps(ground, world, quiet)


def _volume(ground: Ground, rises: np.ndarray) -> float:
    return float(rises.sum()) * ground.spacing**2


def _in_blocks(steps: np.ndarray) -> np.ndarray:
    """(tile, row, column, level) as (tile, block, node, level)."""
    count = len(steps)
    split = steps.reshape(count, BLOCKS, BLOCK, BLOCKS, BLOCK, 4).swapaxes(2, 3)
    return split.reshape(count, BLOCKS * BLOCKS, BLOCK * BLOCK, 4)


def _take_records(ground: Ground, world: int, count: int) -> np.ndarray:
    """Numbers of `count` more tiles at rest."""
    a = ground.arrays
    first = int(a.rest_used.numpy()[world])
    if first + count > a.rest_owner.shape[1]:
        for name in OF_TILES:
            _grow(a, name, max(first + count, int(GROWTH * a.rest_owner.shape[1])))
        ground.generation += 1
    a.rest_used.numpy()[world] = first + count
    return np.arange(first, first + count)


def _store_blocks(ground: Ground, world: int, steps: np.ndarray, changed: np.ndarray) -> np.ndarray:
    """Store the changed blocks. Returns their numbers, (tile, block), FREE where nothing is changed."""
    a, wanted = ground.arrays, int(changed.sum())
    count = int(a.rest_used.numpy()[world]) - len(steps)  # tiles that were at rest before
    held = a.rest_block.numpy()[world, :count]
    held = held[held != FREE]
    if len(held) + wanted > a.rest_levels.shape[1]:
        _grow(a, "rest_levels", max(len(held) + wanted, int(GROWTH * a.rest_levels.shape[1])))
        ground.generation += 1
    is_free = np.ones(a.rest_levels.shape[1], bool)
    is_free[held] = False
    free = np.flatnonzero(is_free)[:wanted]
    a.rest_levels.numpy()[world, free] = _in_blocks(steps)[changed]
    numbers = np.full(changed.shape, FREE, np.int32)
    numbers[changed] = free
    return numbers


def _grow(a: Any, name: str, count: int) -> None:
    """More elements along the second axis of an array; the old ones stay."""
    old = getattr(a, name)
    new = wp.zeros((old.shape[0], count, *old.shape[2:]), dtype=old.dtype, device=old.device)
    new.numpy()[:, : old.shape[1]] = old.numpy()
    setattr(a, name, new)


def _close_gaps(ground: Ground, world: int, gone: np.ndarray) -> None:
    """Number the tiles that stay in use anew, without gaps."""
    a = ground.arrays
    used = int(a.used.numpy()[world])
    stays = np.setdiff1d(np.arange(used), gone)
    for array in (a.owner, a.stamp, a.levels):
        values = array.numpy()[world]
        values[: len(stays)] = values[stays]
    rows, columns = a.owner.numpy()[world, : len(stays)].T
    a.table.numpy()[world, rows, columns] = np.arange(len(stays))
    a.used.numpy()[world] = len(stays)


# ---- what is at rest --------------------------------------------------------------------------------------


def untouched_heights(ground: Ground, world: int, owner: np.ndarray) -> np.ndarray:
    """Heights [m], (tile, row, column) of undisturbed ground, as `ground.base_height` has them."""
    a = ground.arrays
    base, ratio = a.base.numpy()[a.terrain.numpy()[world]], ground.spacing / ground.elevation.spacing
    within = np.arange(TILE)
    y, x = ((TILE * owner[:, axis, None] + within) * ratio for axis in (0, 1))
    i = np.clip(np.floor(y).astype(int), 0, base.shape[0] - 2)
    j = np.clip(np.floor(x).astype(int), 0, base.shape[1] - 2)
    v, u = (y - i)[:, :, None], (x - j)[:, None, :]
    i, j = i[:, :, None], j[:, None, :]
    low = (1 - u) * base[i, j] + u * base[i, j + 1]
    high = (1 - u) * base[i + 1, j] + u * base[i + 1, j + 1]
    return (1 - v) * low + v * high


def tiles_at_rest(ground: Ground, world: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers (k,), stamps (k,) and owners (k, 2) of the tiles of a world that are at rest."""
    a = ground.arrays
    count = int(a.rest_used.numpy()[world])
    stamp, owner = a.rest_stamp.numpy()[world, :count], a.rest_owner.numpy()[world, :count]
    table = a.table.numpy()[world]
    stays = np.flatnonzero(table[owner[:, 0], owner[:, 1]] == AT_REST - np.arange(count))
    return stays, stamp[stays], owner[stays]


def memory_at_rest(ground: Ground) -> int:
    """Memory [bytes] of all tiles at rest, without spare room."""
    a, own = ground.arrays, 0
    record, block = 12 + 4 * BLOCKS * BLOCKS, a.rest_levels.numpy()[0, 0].nbytes  # owner, stamp, blocks
    for world in range(ground.worlds):
        numbers, _, _ = tiles_at_rest(ground, world)
        own += len(numbers) * record + int((a.rest_block.numpy()[world, numbers] != FREE).sum()) * block
    return own


def memory_in_use(ground: Ground) -> int:
    """Memory [bytes] of all tiles in use and at rest, without spare room and without the table of tiles."""
    tile = ground.arrays.levels.numpy()[0, 0].nbytes + 12  # levels, owner, stamp
    return int(ground.arrays.used.numpy().sum()) * tile + memory_at_rest(ground)


def levels_at_rest(ground: Ground, world: int, numbers: np.ndarray) -> np.ndarray:
    """Levels [m], (tile, row, column, level) of tiles at rest, by their numbers."""
    a = ground.arrays
    block = a.rest_block.numpy()[world, numbers]
    steps = np.where((block != FREE)[..., None, None], a.rest_levels.numpy()[world, np.maximum(block, 0)], 0)
    count = len(numbers)
    above = steps.reshape(count, BLOCKS, BLOCKS, BLOCK, BLOCK, 4).swapaxes(2, 3).reshape(count, TILE, TILE, 4)
    owner = a.rest_owner.numpy()[world, numbers]
    return untouched_heights(ground, world, owner)[..., None] + above * REST_STEP
