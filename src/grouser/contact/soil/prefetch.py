"""Ask a GPU for memory before it is needed. On a CPU these functions do nothing.

A stage finds nearly all of its nodes in device memory: the windows of thousands of worlds are larger than any cache. A
team goes through its nodes 32 at a time and would wait for memory each time. It asks for all of them at the start and
waits about once. Nothing is computed here: results do not depend on it.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil.elements import Box
from grouser.contact.soil.types import Bodies, Displacement, Prediction, Skin, Vertices, Window
from grouser.device import nonnegative
from grouser.terrain.ground import TILE
from grouser.terrain.ground import GroundArrays as Ground

IN_LINE = 5  # vertices whose places lie in one cache line of 128 bytes, in float64


def _asks_for(*addresses: str) -> str:
    """Native code that asks for the lines at these addresses."""
    lines = "".join(f'asm volatile("prefetch.global.L1 [%0];" :: "l"({address}));\n' for address in addresses)
    return f"#if defined(__CUDA_ARCH__)\n{lines}#endif\n"


@wp.func_native(_asks_for("&win.levels.data[k]", "&win.mark.data[k]", "&skin.height.data[k]"))
def ask_for_node(win: Window, skin: Skin, k: int):
    """Ask for the soil of a node and the body above it."""
    ...


@wp.func_native(_asks_for("&disp.sunk.data[k]", "&disp.dug.data[k]", "&disp.excess.data[k]"))
def ask_for_displaced(disp: Displacement, k: int):
    """Ask for the soil that a node displaces."""
    ...


@wp.func_native(
    _asks_for("&pred.end.data[k]", "&win.levels.data[k]", "&skin.height.data[k]", "&skin.reach.data[k]",
              "&skin.triangle.data[k]")
)  # fmt: skip
def ask_for_load(win: Window, skin: Skin, pred: Prediction, k: int):
    """Ask for what the force of a node depends on."""
    ...


@wp.func_native(
    _asks_for("(const char*)verts.place.data + verts.place.strides[0] * (size_t)world + verts.place.strides[1] * v",
              "(const char*)verts.shear.data + verts.shear.strides[0] * (size_t)world + verts.shear.strides[1] * v")
)  # fmt: skip
def ask_for_vertex(verts: Vertices, world: int, v: int):
    """Ask for the place and the shear state of a vertex, and of those in the same lines."""
    ...


@wp.func_native(
    _asks_for(
        "(const char*)g.levels.data + g.levels.strides[0] * (size_t)world + g.levels.strides[1] * (size_t)tile"
        " + g.levels.strides[2] * row + g.levels.strides[3] * column"
    )
)
def ask_for_ground(g: Ground, world: int, tile: int, row: int, column: int):
    """Ask for a node of a tile."""
    ...


@wp.func
def soil_of(win: Window, skin: Skin, slot: int, box: Box, lane: int, lanes: int):
    """Ask for the nodes of a box in a window. The box may reach beyond the window."""
    frame = win.frame[slot]
    row0 = wp.max(box.row0, 0)
    column0 = wp.max(box.column0, 0)
    width = wp.min(box.column1, frame.columns - 1) - column0 + 1
    count = width * (wp.min(box.row1, frame.rows - 1) - row0 + 1)
    start = slot * win.nodes
    if lanes > 1 and width > 0:
        q = int(lane)
        while q < count:
            ask_for_node(win, skin, nonnegative(start + (row0 + q // width) * win.side + column0 + q % width))
            q += lanes


@wp.func
def displaced_by(win: Window, disp: Displacement, slot: int, box: Box, lane: int, lanes: int):
    """Ask for the soil that the nodes of a box displace."""
    width = box.column1 - box.column0 + 1
    count = width * (box.row1 - box.row0 + 1)
    if lanes > 1 and width > 0:
        q = int(lane)
        while q < count:
            i = box.row0 + q // width
            ask_for_displaced(disp, nonnegative(slot * win.nodes + i * win.side + box.column0 + q % width))
            q += lanes


@wp.func
def vertices_of(b: Bodies, verts: Vertices, world: int, body: int, lane: int, lanes: int):
    """Ask for the vertices of a body."""
    if lanes > 1:
        v = int(b.first_vertex[body] + lane * IN_LINE)
        while v < b.first_vertex[body + 1]:
            ask_for_vertex(verts, world, v)
            v += lanes * IN_LINE


@wp.func
def ground_in(g: Ground, world: int, row0: int, row1: int, column0: int, width: int, lane: int, lanes: int):
    """Ask for the nodes of the ground from one row up to another, `width` nodes each, where there are tiles."""
    if lanes > 1 and width > 0:
        q = int(lane)
        while q < width * (row1 - row0):
            row = row0 + q // width
            column = column0 + q % width
            tile = g.table[world, row // TILE, column // TILE]
            if tile >= 0:
                ask_for_ground(g, world, tile, row % TILE, column % TILE)
            q += lanes


@wp.func
def loads_of(win: Window, skin: Skin, pred: Prediction, slot: int, box: Box, lane: int, lanes: int):
    """Ask for what the forces of the nodes of a box depend on."""
    width = box.column1 - box.column0 + 1
    count = width * (box.row1 - box.row0 + 1)
    if lanes > 1 and width > 0:
        q = int(lane)
        while q < count:
            i = box.row0 + q // width
            ask_for_load(win, skin, pred, nonnegative(slot * win.nodes + i * win.side + box.column0 + q % width))
            q += lanes
