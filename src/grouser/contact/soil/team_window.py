"""The window of one body, by a team of lanes: parts of the stages `gather` and `refresh`."""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import boxes, window
from grouser.contact.soil.elements import Box, Frame
from grouser.contact.soil.team_displacement import nodes_of
from grouser.contact.soil.types import Skin, Window
from grouser.device import nonnegative
from grouser.precision import vec3
from grouser.terrain.ground import TILE, base_height, untouched
from grouser.terrain.ground import GroundArrays as Ground

UNFILLED = -1  # stamp of a tile whose levels are not set yet


@wp.func
def packed(win: Window, slot: int):
    """The windows as seen by one body: the rows of its window follow each other without gaps.

    Most windows are much smaller than the largest, so they take less memory, and fewer cache lines.
    """
    return Window(  # pyright: ignore[reportCallIssue] a device struct
        win.frame[slot].columns, win.nodes, win.frame, win.filled, win.changed, win.writes_seen, win.written, win.dirty,
        win.soil, win.mark, win.levels, win.node_shear,
    )  # fmt: skip


@wp.func
def fill_tiles(g: Ground, win: Window, world: int, slot: int, lane: int, lanes: int):
    """Set the levels of tiles that were claimed in this step. Bodies that share one write the same values."""
    frame = win.frame[slot]
    for i in range(frame.row0 // TILE, (frame.row0 + frame.rows - 1) // TILE + 1):
        for j in range(frame.column0 // TILE, (frame.column0 + frame.columns - 1) // TILE + 1):
            tile = g.table[world, i, j]
            if g.stamp[world, tile] == UNFILLED:
                q = int(lane)
                while q < TILE * TILE:
                    z = base_height(g, world, i * TILE + q // TILE, j * TILE + q % TILE)
                    g.levels[world, tile, q // TILE, q % TILE] = untouched(z)
                    if g.shear.shape[2] > 1:
                        g.shear[world, tile, q // TILE, q % TILE] = vec3()
                    q += lanes


@wp.func
def window_box(win: Window, slot: int):
    """The nodes of a window in the grid."""
    frame = win.frame[slot]
    return Box(frame.row0, frame.row0 + frame.rows - 1, frame.column0, frame.column0 + frame.columns - 1)


@wp.func
def others_wrote(win: Window, slot: int, bodies: int):
    """Whether another body of the world has written to nodes of the window in the last commit.

    Bodies often write to other nodes of the same tile: copying the window again for that would be in vain.
    """
    own = window_box(win, slot)
    first = slot - slot % bodies
    wrote = bool(False)
    for other in range(first, first + bodies):
        if other != slot and not boxes.is_empty(boxes.common(own, win.written[other])):
            wrote = True
    return wrote


@wp.func
def is_same(a: Frame, b: Frame):
    return a.row0 == b.row0 and a.column0 == b.column0 and a.rows == b.rows and a.columns == b.columns


@wp.func
def writes_to_tiles(g: Ground, win: Window, world: int, slot: int):
    """Total number of writes to the tiles under the window. Tiles that are new count as written before."""
    frame = win.frame[slot]
    writes = int(0)
    for i in range(frame.row0 // TILE, (frame.row0 + frame.rows - 1) // TILE + 1):
        for j in range(frame.column0 // TILE, (frame.column0 + frame.columns - 1) // TILE + 1):
            writes += wp.max(g.stamp[world, g.table[world, i, j]], 0)
    return writes


@wp.func
def fill_window(g: Ground, win: Window, world: int, slot: int, lane: int, lanes: int):
    """Copy the whole window from its tiles."""
    frame = win.frame[slot]
    nodes = frame.rows * frame.columns
    start = nonnegative(slot * win.nodes)
    q = int(lane)
    while q < nodes:
        i = q // frame.columns
        j = q % frame.columns
        row = frame.row0 + i
        column = frame.column0 + j
        tile = g.table[world, row // TILE, column // TILE]
        window.gather_node(g, win, world, tile, row, column, nonnegative(start + i * win.side + j))
        q += lanes


@wp.func
def clear_window(
    g: Ground, win: Window, skin: Skin, world: int, slot: int, stays: bool, lane: int, lanes: int
):  # fmt: skip
    """Reset the nodes that the last step wrote; all, if the window has moved: its rows may have another length now."""
    frame = win.frame[slot]
    start = nonnegative(slot * win.nodes)
    box = Box(0, frame.rows - 1, 0, frame.columns - 1)
    if stays:
        box = boxes.common(win.dirty[slot], box)
    nodes, width = nodes_of(box)
    q = int(lane)
    while q < nodes:
        i = box.row0 + q // width
        j = box.column0 + q % width
        k = nonnegative(start + i * win.side + j)
        window.clear_node(g, win, skin, world, frame.row0 + i, frame.column0 + j, k)
        q += lanes
