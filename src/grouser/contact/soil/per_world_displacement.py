"""Soil displaced by one body, with the loops over its nodes inside one thread: the stage `displace` of per_world.py."""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import boxes, edges, patch, placement, sinkage, spoil
from grouser.contact.soil import types as t
from grouser.contact.soil.elements import Box, Spoil
from grouser.contact.soil.types import (
    Bodies,
    BodyMotion,
    Displacement,
    Options,
    Placement,
    Skin,
    Vertices,
    Window,
)
from grouser.device import nonnegative
from grouser.precision import real, vec2, vec3
from grouser.terrain.ground import GroundArrays as Ground


@wp.func
def touch_nodes(
    g: Ground, o: Options, b: Bodies, place: Placement, skin: Skin, win: Window, disp: Displacement, slot: int
):  # fmt: skip
    """Mark the nodes in contact and near contact. Returns the sum of the plastic sinkage of all nodes [m]."""
    start = nonnegative(slot * win.nodes)
    rows = win.frame[slot].rows
    columns = win.frame[slot].columns
    # Two bounding boxes: nodes in contact (i, j), and nodes near contact (n, m), which `evaluate` looks at.
    contacts = int(0)
    i0 = int(rows)
    i1 = int(-1)
    j0 = int(columns)
    j1 = int(-1)
    n0 = int(rows)
    n1 = int(-1)
    m0 = int(columns)
    m1 = int(-1)
    removed = real(0.0)
    last_column = skin.hit[slot].column1
    for i in range(skin.hit[slot].row0, skin.hit[slot].row1 + 1):
        j = int(skin.hit[slot].column0)
        while j <= last_column:
            k = nonnegative(start + i * win.side + j)
            found = sinkage.touch_node(g, o, b, place, skin, win, disp, slot, k)
            if found > 0:
                n0 = wp.min(n0, i)
                n1 = wp.max(n1, i)
                m0 = wp.min(m0, j)
                m1 = wp.max(m1, j)
            if found == sinkage.IN_SOIL:
                contacts += 1
                i0 = wp.min(i0, i)
                i1 = wp.max(i1, i)
                j0 = wp.min(j0, j)
                j1 = wp.max(j1, j)
                removed += disp.sunk[k]
            j += 1
    disp.contacts[slot].nodes = contacts
    disp.near[slot] = Box(n0, n1, m0, m1)
    disp.touched[slot] = Box(i0, i1, j0, j1)
    return removed


@wp.func
def list_border(win: Window, disp: Displacement, slot: int):
    """List the free nodes next to the footprint, which take the displaced soil. Returns their number."""
    start = nonnegative(slot * win.nodes)
    near = disp.near[slot]
    rows = win.frame[slot].rows
    columns = win.frame[slot].columns
    count = int(0)
    for i in range(wp.max(near.row0 - t.RING, 1), wp.min(near.row1 + t.RING + 1, rows - 1)):
        j = int(wp.max(near.column0 - t.RING, 1))
        while j < wp.min(near.column1 + t.RING + 1, columns - 1):
            k = nonnegative(start + i * win.side + j)
            if sinkage.mark_border(win, k) == 1:
                disp.border[nonnegative(start + count)] = i * win.side + j
                disp.border_place[nonnegative(start + count)] = vec2(real(j), real(i))
                count += 1
            j += 1
    disp.contacts[slot].border = count
    return count


@wp.func
def measure_patch(
    g: Ground, b: Bodies, skin: Skin, win: Window, verts: Vertices, disp: Displacement, world: int, body: int, slot: int
):  # fmt: skip
    """Find the width b of k_c/b from the footprint, for a body without a given width."""
    start = nonnegative(slot * win.nodes)
    touched = disp.touched[slot]
    edges = int(0)
    for i in range(touched.row0, touched.row1 + 1):
        for j in range(touched.column0, touched.column1 + 1):
            k = nonnegative(start + i * win.side + j)
            if sinkage.is_touched(skin, win, k):
                edges += sinkage.count_edges(skin, win, k)
    patch.set_width(g, b, verts, win, disp, world, body, slot, disp.contacts[slot].nodes, edges)


@wp.func
def dig(
    g: Ground, o: Options, b: Bodies, skin: Skin, win: Window, disp: Displacement,
    body: int, slot: int, first_node: vec3, m: BodyMotion,
):  # fmt: skip
    """Find what slip does to each node in contact. Returns the number of nodes that it changes."""
    start = nonnegative(slot * win.nodes)
    touched = disp.touched[slot]
    dug = int(0)
    for i in range(touched.row0, touched.row1 + 1):
        j = int(touched.column0)
        while j <= touched.column1:
            if win.mark[nonnegative(start + i * win.side + j)] == t.CONTACT:
                if spoil.dig_node(g, o, b, skin, win, disp, body, slot, i, j, first_node, m) == 1:
                    dug += 1
            j += 1
    return dug


@wp.func
def distribute_spoil(disp: Displacement, sums: Spoil, start: int, border: int):
    """Distribute the displaced soil of one block over the border nodes."""
    deposit = spoil.deposit_of(sums)
    even = real(0.0)
    ahead = real(0.0)
    along = real(0.0)
    end = start + border
    # Compute all weights first: the share of a node depends on their sum.
    q = int(start)
    while q < end:
        spot = disp.border_place[nonnegative(q)]
        w, w_ahead, w_along = spoil.border_weights(deposit, spot[0], spot[1])
        disp.weights[nonnegative(q)] = vec3(w, w_ahead, w_along)
        even += w
        ahead += w_ahead
        along += w_along
        q += 1
    deposit = spoil.complete_deposit(sums, deposit, even, ahead, along)
    q = int(start)
    while q < end:
        w3 = disp.weights[nonnegative(q)]
        got = spoil.received_from(deposit, w3[0], w3[1], w3[2])
        disp.received[nonnegative(q)] = disp.received[nonnegative(q)] + got
        q += 1


@wp.func
def move_spoil(
    g: Ground, o: Options, skin: Skin, win: Window, disp: Displacement, slot: int, first_node: vec3, m: BodyMotion
):  # fmt: skip
    """Move the displaced soil to the border nodes, block by block."""
    start = nonnegative(slot * win.nodes)
    border = disp.contacts[slot].border
    for q in range(border):
        disp.received[start + q] = real(0.0)
    for block in range(spoil.block_count(o, disp.touched[slot])):
        sums = spoil.gather_spoil(g, o, skin, win, disp, slot, block, first_node, m)
        if sums.volume > real(0.0):
            distribute_spoil(disp, sums, start, border)
    # Only after all blocks: a node that gets soil from two blocks must be covered in one go.
    for q in range(border):
        if disp.received[start + q] > real(0.0):
            spoil.pile_up(o, win, start + disp.border[start + q], disp.received[start + q])


@wp.func
def share_sinkage(
    g: Ground, o: Options, skin: Skin, win: Window, disp: Displacement, slot: int, keeps: int, removed: real,
    first_node: vec3, m: BodyMotion,
):  # fmt: skip
    """Find what cells that are covered in part sink too much. Returns the sum of sinkage `removed` [m] without it."""
    start = nonnegative(slot * win.nodes)
    touched = disp.touched[slot]
    for i in range(touched.row0, touched.row1 + 1):
        j = int(touched.column0)
        while j <= touched.column1:
            k = nonnegative(start + i * win.side + j)
            if win.mark[k] == t.CONTACT:
                removed -= edges.share_sinkage(g, o, skin, win, disp, k, i, j, keeps, first_node, m)
            j += 1
    return removed


@wp.func
def sink(o: Options, b: Bodies, skin: Skin, win: Window, disp: Displacement, body: int, slot: int, keeps: int):
    """Lower the nodes in contact and level out those beside them. Returns the sum of the compressed sinkage [m]."""
    start = nonnegative(slot * win.nodes)
    frame = win.frame[slot]
    box = boxes.common(boxes.grown(disp.touched[slot], 1), boxes.inside_rim(frame.rows, frame.columns))
    compressed = real(0.0)
    for i in range(box.row0, box.row1 + 1):
        j = int(box.column0)
        while j <= box.column1:
            k = nonnegative(start + i * win.side + j)
            if win.mark[k] == t.CONTACT:
                compressed += sinkage.compressed_height(o, win, disp, k, keeps)
                sinkage.sink_node(o, b, win, disp, body, k, keeps)
            elif edges.takes_excess(skin, win, k):
                edges.level_out(o, b, skin, win, disp, body, k, keeps)
            j += 1
    return compressed


@wp.func
def displace(
    g: Ground, o: Options, b: Bodies, skin: Skin, win: Window, verts: Vertices, disp: Displacement,
    world: int, body: int, slot: int, removed: real, m: BodyMotion,
):  # fmt: skip
    """Sink the soil under the footprint by what it must give way, `removed` [m] in sum, and move it to the border."""
    if disp.contacts[slot].nodes + disp.contacts[slot].pressed == 0:
        return
    border = list_border(win, disp, slot)  # 0 if the footprint is surrounded by bare nodes or the window's rim
    if b.from_patch[body] == 1:
        measure_patch(g, b, skin, win, verts, disp, world, body, slot)
    first_node = placement.first_node(g, win, slot, m.position)
    # Soil that only compacts displaces no volume. Without border nodes to take the spoil, all of it is compressed.
    carries_off = o.spoil == 1 and border > 0
    dug = int(0)
    if carries_off:
        dug = dig(g, o, b, skin, win, disp, body, slot, first_node, m)
    if removed == real(0.0) and dug == 0:  # a body at rest: no soil moves
        return
    win.changed[slot] = 1
    keeps = wp.where(border == 0, 1, 0)
    removed = share_sinkage(g, o, skin, win, disp, slot, keeps, removed, first_node, m)
    if carries_off:
        move_spoil(g, o, skin, win, disp, slot, first_node, m)
    compressed = sink(o, b, skin, win, disp, body, slot, keeps)
    disp.tally[slot].removed = disp.tally[slot].removed + removed
    disp.tally[slot].compressed = disp.tally[slot].compressed + compressed
