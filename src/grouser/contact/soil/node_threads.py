"""What a thread of per-node kernels needs to know: its body, its node, and whether there is work for it."""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import boxes
from grouser.contact.soil.types import Bodies, Displacement, Window
from grouser.device import nonnegative
from grouser.precision import real
from grouser.terrain.ground import TILE
from grouser.terrain.ground import GroundArrays as Ground


@wp.func
def slot_of(b: Bodies, world: int, body: int):
    """Index of a body of one world among the bodies of all worlds."""
    return nonnegative(world * b.rows.shape[0] + body)


@wp.func
def within(win: Window, slot: int, node: int, box: boxes.Box, ring: int):
    """Whether a node of the window lies in a box grown by `ring` nodes on every side."""
    return win.frame[slot].rows > 0 and boxes.holds(boxes.grown(box, ring), node // win.side, node % win.side)


@wp.func
def inside(win: Window, slot: int, node: int):
    """Whether a node of the window lies inside its rim, so that it has four neighbours."""
    rim = boxes.inside_rim(win.frame[slot].rows, win.frame[slot].columns)
    return boxes.holds(rim, node // win.side, node % win.side)


@wp.func
def in_frame(win: Window, slot: int, node: int):
    """Whether a node is in the part of the window that this step uses."""
    return node // win.side < win.frame[slot].rows and node % win.side < win.frame[slot].columns


@wp.func
def tile_of(g: Ground, win: Window, world: int, slot: int, node: int):
    """Tile of a node of the window, and the node's row and column in the grid."""
    row = win.frame[slot].row0 + node // win.side
    column = win.frame[slot].column0 + node % win.side
    return g.table[world, row // TILE, column // TILE], row, column


@wp.func
def moves_soil(disp: Displacement, slot: int):
    """Whether a body displaces soil in this step. A body at rest does not."""
    return disp.step_tally[slot].removed > real(0.0) or disp.contacts[slot].dug > 0
