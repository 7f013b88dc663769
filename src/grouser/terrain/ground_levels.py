"""Levels of the deformable ground as arrays on the host, and which tiles have changed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from grouser.terrain import resting
from grouser.terrain.resting import AT_REST, TILE

if TYPE_CHECKING:
    from grouser.terrain.ground import Ground

Region = tuple[float, float, float, float]  # [m] x0, x1, y0, y1
Seen = tuple[np.ndarray, np.ndarray]  # keys of tiles, sorted, and their stamps


def level_of(ground: Ground, which: int, world: int, region: Region | None) -> np.ndarray:
    """One of the four levels [m], (row, column) of the nodes inside `region` (default: all nodes)."""
    r0, r1, c0, c1 = _node_range(ground, region)
    x = ground.elevation.origin[0] + ground.spacing * np.arange(c0, c1)
    y = ground.elevation.origin[1] + ground.spacing * np.arange(r0, r1)
    out = ground.terrain_of(world).height(x[None, :], y[:, None])
    table, levels = ground.arrays.table.numpy()[world], ground.arrays.levels.numpy()[world]
    for tile_row, tile_column in np.argwhere(table[: -(-r1 // TILE), : -(-c1 // TILE)] != -1):
        a0, b0 = tile_row * TILE, tile_column * TILE
        i0, i1, j0, j1 = max(a0, r0), min(a0 + TILE, r1), max(b0, c0), min(b0 + TILE, c1)
        if i0 < i1 and j0 < j1:
            number = table[tile_row, tile_column]
            at_rest = np.array([AT_REST - number])
            tile = levels[number] if number >= 0 else resting.levels_at_rest(ground, world, at_rest)[0]
            out[i0 - r0 : i1 - r0, j0 - c0 : j1 - c0] = tile[i0 - a0 : i1 - a0, j0 - b0 : j1 - b0, which]
    return out


def _node_range(ground: Ground, region: Region | None) -> tuple[int, int, int, int]:
    if region is None:
        return 0, ground.rows, 0, ground.columns
    x0, x1, y0, y1 = region
    ox, oy = ground.elevation.origin
    c0, c1 = (math.floor((x - ox) / ground.spacing + 0.5) for x in (x0, x1))
    r0, r1 = (math.floor((y - oy) / ground.spacing + 0.5) for y in (y0, y1))
    return max(r0, 0), min(r1 + 1, ground.rows), max(c0, 0), min(c1 + 1, ground.columns)


def changed_tiles(ground: Ground, world: int, seen: Seen | None) -> tuple[np.ndarray, np.ndarray, Seen]:
    """Tiles written to since `seen`: (m, 2) row and column, (m, T, T) heights [m] float32; and what is seen now.

    Tiles keep their number of writes when they come to rest and when they come back.
    """
    stamps, owners, levels = ground.written(world)
    if not ground.rests:
        numbers, rest_stamps, rest_owners = np.zeros(0, int), stamps[:0], owners[:0]
    else:
        numbers, rest_stamps, rest_owners = resting.tiles_at_rest(ground, world)
    owner, stamp = np.concatenate([owners, rest_owners]), np.concatenate([stamps, rest_stamps])
    key = owner[:, 0].astype(np.int64) * ground.arrays.table.shape[2] + owner[:, 1]
    known = np.zeros(len(key), stamp.dtype)
    if seen is not None and len(seen[0]):
        place = np.minimum(np.searchsorted(seen[0], key), len(seen[0]) - 1)
        known = np.where(seen[0][place] == key, seen[1][place], 0)
    changed = np.flatnonzero(stamp != known)
    live, slept = changed[changed < len(stamps)], changed[changed >= len(stamps)] - len(stamps)
    heights = [levels[live, :, :, 0]]
    if len(slept):
        heights.append(resting.levels_at_rest(ground, world, numbers[slept])[..., 0])
    order = np.argsort(key)
    found = owner[changed].astype(np.int32), np.concatenate(heights).astype(np.float32)
    return *found, (key[order], stamp[order])
