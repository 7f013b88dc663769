"""Stages `gather` and `write back`: copy soil nodes from the tiles of the ground into a body's window and back."""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import boxes
from grouser.contact.soil import types as t
from grouser.contact.soil.types import Displacement, Options, Skin, Slides, Window
from grouser.device import nonnegative
from grouser.precision import real, vec4
from grouser.terrain.elevation import BARE
from grouser.terrain.ground import SURFACE, TILE, soil_at
from grouser.terrain.ground import GroundArrays as Ground

FAR = wp.constant(real(t.FAR))


# ---- one node -------------------------------------------------------------------------------------------


@wp.func
def gather_node(g: Ground, win: Window, world: int, tile: int, row: int, column: int, k: int):
    """Copy a node from its tile into the window. `row` and `column` are those of the grid."""
    win.levels[k] = g.levels[world, tile, row % TILE, column % TILE]
    # The shear array has one element if nodes keep no shear state.
    if g.shear.shape[2] > 1:
        win.node_shear[k] = g.shear[world, tile, row % TILE, column % TILE]


@wp.func
def clear_node(g: Ground, win: Window, skin: Skin, world: int, row: int, column: int, k: int):
    """Reset a node: no body above it, and its soil is free to move."""
    skin.height[k] = FAR
    skin.reach[k] = vec4()
    mark = int(t.FREE)
    # With one soil everywhere the index is that of the world from the start: nothing to write.
    if g.base_soil.shape[0] > 1:
        soil = soil_at(g, world, row, column)
        win.soil[k] = soil
        if soil == BARE:
            mark = int(t.BARE_NODE)
    win.mark[k] = mark


@wp.func
def scatter_node(g: Ground, win: Window, world: int, tile: int, row: int, column: int, k: int):
    """Copy a node back into its tile. Returns the rise of its surface [m]."""
    levels = win.levels[k]
    # The volume balance compares the sum of the rises with the compressed soil.
    rise = levels[SURFACE] - g.levels[world, tile, row % TILE, column % TILE][SURFACE]
    g.levels[world, tile, row % TILE, column % TILE] = levels
    if g.shear.shape[2] > 1:
        g.shear[world, tile, row % TILE, column % TILE] = win.node_shear[k]
    return rise


@wp.func
def scatter_row(g: Ground, win: Window, world: int, tile: int, row: int, column0: int, column1: int, k: int):
    """Copy a part of a row of a tile back, from node k on. Returns the sum of the rises of its surface [m]."""
    rise = real(0.0)
    for j in range(column0, column1):
        rise += scatter_node(g, win, world, tile, row, j, nonnegative(k + j - column0))
    return rise


# ---- one window, in one thread ----------------------------------------------------------------------------


@wp.func
def writes_to_tiles(g: Ground, win: Window, world: int, slot: int):
    """Total number of writes to the tiles under the window. Any write changes it."""
    frame = win.frame[slot]
    count = int(0)
    for i in range(frame.row0 // TILE, (frame.row0 + frame.rows - 1) // TILE + 1):
        for j in range(frame.column0 // TILE, (frame.column0 + frame.columns - 1) // TILE + 1):
            count += g.stamp[world, g.table[world, i, j]]
    return count


@wp.func
def fill_window(g: Ground, win: Window, world: int, slot: int):
    """Copy the whole window from its tiles."""
    r0 = win.frame[slot].row0
    c0 = win.frame[slot].column0
    c1 = c0 + win.frame[slot].columns
    for i in range(r0, r0 + win.frame[slot].rows):
        k0 = slot * win.nodes + (i - r0) * win.side - c0  # such that k0 + j is the node in grid column j
        # Tile by tile along the row: one table lookup per tile.
        for tj in range(c0 // TILE, (c1 - 1) // TILE + 1):
            tile = g.table[world, i // TILE, tj]
            for j in range(wp.max(c0, tj * TILE), wp.min(c1, tj * TILE + TILE)):
                gather_node(g, win, world, tile, i, j, k0 + j)
    win.writes_seen[slot] = writes_to_tiles(g, win, world, slot)


@wp.func
def refresh_window(g: Ground, win: Window, world: int, slot: int):
    """Copy the window again if another body has written to its tiles since."""
    if win.writes_seen[slot] != writes_to_tiles(g, win, world, slot):
        fill_window(g, win, world, slot)


@wp.func
def clear_window(g: Ground, win: Window, skin: Skin, world: int, slot: int, stays: bool):
    """Reset the nodes that the last step wrote.

    The whole window is reset if it has moved (`stays` is false) and the ground has several soils.
    """
    frame = win.frame[slot]
    dirty = win.dirty[slot]
    # Only the box that was written: clearing all nodes costs as much time as copying their levels, and most of them
    # have never had a body above them.
    i0 = wp.max(dirty.row0, 0)
    i1 = wp.min(dirty.row1 + 1, win.side)
    j0 = wp.max(dirty.column0, 0)
    j1 = wp.min(dirty.column1 + 1, win.side)
    if not stays and g.base_soil.shape[0] > 1:  # the window holds other grid nodes now: read their soils again
        i0 = 0
        i1 = frame.rows
        j0 = 0
        j1 = frame.columns
    for i in range(i0, i1):
        k0 = nonnegative(slot * win.nodes + i * win.side)
        j = int(j0)
        while j < j1:
            clear_node(g, win, skin, world, frame.row0 + i, frame.column0 + j, nonnegative(k0 + j))
            j += 1
    win.dirty[slot] = boxes.empty_box()


@wp.func
def changed_box(o: Options, win: Window, disp: Displacement, slides: Slides, slot: int):
    """Box of the nodes that a step may have changed: the footprint with its border, and soil that slid."""
    frame = win.frame[slot]
    whole = boxes.Box(0, frame.rows - 1, 0, frame.columns - 1)  # pyright: ignore[reportCallIssue] a device struct
    if o.node_shear == 1:  # the shear state of any node may have been reset
        return whole
    return boxes.common(boxes.spanning(boxes.grown(disp.near[slot], t.RING), slides.moving[slot]), whole)


@wp.func
def stamp_tiles(g: Ground, o: Options, win: Window, disp: Displacement, slides: Slides, world: int, slot: int):
    """Increase the write count of the tiles that a step may have changed, so that other windows copy them again."""
    box = boxes.shifted(changed_box(o, win, disp, slides, slot), win.frame[slot].row0, win.frame[slot].column0)
    for i in range(box.row0 // TILE, box.row1 // TILE + 1):
        for j in range(box.column0 // TILE, box.column1 // TILE + 1):
            tile = g.table[world, i, j]
            g.stamp[world, tile] = g.stamp[world, tile] + 1


@wp.func
def write_back(g: Ground, o: Options, win: Window, disp: Displacement, slides: Slides, world: int, slot: int):
    """Copy the nodes that a step may have changed back into their tiles."""
    r0 = win.frame[slot].row0
    c0 = win.frame[slot].column0
    box = boxes.shifted(changed_box(o, win, disp, slides, slot), r0, c0)
    moved = real(0.0)
    # Only these nodes: writing the whole window would make the windows of other bodies copy again for nothing.
    for i in range(box.row0, box.row1 + 1):
        k0 = slot * win.nodes + (i - r0) * win.side - c0
        for tj in range(box.column0 // TILE, box.column1 // TILE + 1):
            tile = g.table[world, i // TILE, tj]
            j0 = wp.max(box.column0, tj * TILE)
            j1 = wp.min(box.column1 + 1, tj * TILE + TILE)
            moved += scatter_row(g, win, world, tile, i % TILE, j0 - tj * TILE, j1 - tj * TILE, k0 + j0)
    disp.tally[slot].moved = disp.tally[slot].moved + moved
    stamp_tiles(g, o, win, disp, slides, world, slot)
    # The window now agrees with the tiles: its own writes need not make it copy again.
    win.writes_seen[slot] = writes_to_tiles(g, win, world, slot)
