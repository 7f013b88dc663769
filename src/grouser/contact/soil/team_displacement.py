"""Soil displaced by one body, by a team of lanes: the stage `displace` of per_team.py.

The order is that of per_world_displacement.py, with the nodes shared among the lanes.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import boxes, edges, patch, placement, sinkage, spoil, team
from grouser.contact.soil import types as t
from grouser.contact.soil.elements import MANY, Box
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
from grouser.precision import real, vec3
from grouser.terrain.ground import GroundArrays as Ground


@wp.func
def nodes_of(box: Box):
    """Number of nodes of a box, and its width."""
    width = box.column1 - box.column0 + 1
    if width <= 0 or box.row1 < box.row0:
        return 0, 1
    return width * (box.row1 - box.row0 + 1), width


@wp.func
def touch_nodes(
    g: Ground, o: Options, b: Bodies, place: Placement, skin: Skin, win: Window, disp: Displacement,
    slot: int, lane: int, lanes: int,
):  # fmt: skip
    """Mark the nodes in contact and near contact, and sum up the plastic sinkage of all nodes."""
    start = nonnegative(slot * win.nodes)
    hit = skin.hit[slot]
    nodes, width = nodes_of(hit)
    contacts = int(0)
    removed = real(0.0)
    near = Box(MANY, -1, MANY, -1)
    touched = Box(MANY, -1, MANY, -1)
    q = int(lane)
    while q < nodes:
        i = hit.row0 + q // width
        j = hit.column0 + q % width
        k = nonnegative(start + i * win.side + j)
        found = sinkage.touch_node(g, o, b, place, skin, win, disp, slot, k)
        if found > 0:
            near = boxes.widened(near, i, i, j, j)
        if found == sinkage.IN_SOIL:
            contacts += 1
            touched = boxes.widened(touched, i, i, j, j)
            removed += disp.sunk[k]
        q += lanes
    contacts = team.total_int(contacts)
    removed = team.total(removed)
    near = team_box(near)
    touched = team_box(touched)
    if lane == 0:
        disp.contacts[slot].nodes = contacts
        disp.contacts[slot].moves = 0
        disp.near[slot] = near
        disp.touched[slot] = touched
        disp.step_tally[slot].removed = removed


@wp.func
def team_box(box: Box):
    """The smallest box that contains the boxes of all lanes."""
    return Box(
        team.least_int(box.row0), team.most_int(box.row1), team.least_int(box.column0), team.most_int(box.column1)
    )


@wp.func
def list_border(win: Window, disp: Displacement, slot: int, lane: int, lanes: int):
    """List the free nodes next to the footprint, which take the displaced soil, row by row. Returns their number."""
    start = nonnegative(slot * win.nodes)
    frame = win.frame[slot]
    ring = boxes.common(boxes.grown(disp.near[slot], t.RING), boxes.inside_rim(frame.rows, frame.columns))
    nodes, width = nodes_of(ring)
    border = int(0)
    base = int(0)
    while base < nodes:
        q = base + lane
        node = int(0)
        marked = int(0)
        if q < nodes:
            node = (ring.row0 + q // width) * win.side + ring.column0 + q % width
            marked = sinkage.mark_border(win, nonnegative(start + node))
        at = border + team.rank(marked)
        if marked == 1:
            disp.border[nonnegative(start + at)] = node
        border += team.count(marked)
        base += lanes
    if lane == 0:
        disp.contacts[slot].border = border
    team.sync()
    return border


@wp.func
def measure_patch(
    g: Ground, b: Bodies, skin: Skin, win: Window, verts: Vertices, disp: Displacement,
    world: int, body: int, slot: int, lane: int, lanes: int,
):  # fmt: skip
    """Find the width b of k_c/b from the footprint, for a body without a given width."""
    start = nonnegative(slot * win.nodes)
    touched = disp.touched[slot]
    nodes, width = nodes_of(touched)
    sides = int(0)
    q = int(lane)
    while q < nodes:
        k = nonnegative(start + (touched.row0 + q // width) * win.side + touched.column0 + q % width)
        if sinkage.is_touched(skin, win, k):
            sides += sinkage.count_edges(skin, win, k)
        q += lanes
    sides = team.total_int(sides)
    if lane == 0:
        patch.set_width(g, b, verts, win, disp, world, body, slot, disp.contacts[slot].nodes, sides)
    team.sync()


@wp.func
def dig(
    g: Ground, o: Options, b: Bodies, skin: Skin, win: Window, disp: Displacement,
    body: int, slot: int, first_node: vec3, m: BodyMotion, lane: int, lanes: int,
):  # fmt: skip
    """Find what slip does to each node in contact. Returns the number of nodes that it changes."""
    start = nonnegative(slot * win.nodes)
    touched = disp.touched[slot]
    nodes, width = nodes_of(touched)
    dug = int(0)
    q = int(lane)
    while q < nodes:
        i = touched.row0 + q // width
        j = touched.column0 + q % width
        if win.mark[nonnegative(start + i * win.side + j)] == t.CONTACT:
            dug += spoil.dig_node(g, o, b, skin, win, disp, body, slot, i, j, first_node, m)
        q += lanes
    return team.total_int(dug)


@wp.func
def share_sinkage(
    g: Ground, o: Options, skin: Skin, win: Window, disp: Displacement, slot: int, keeps: int, removed: real,
    first_node: vec3, m: BodyMotion, lane: int, lanes: int,
):  # fmt: skip
    """Find what cells that are covered in part sink too much. Returns the sum of sinkage `removed` [m] without it."""
    start = nonnegative(slot * win.nodes)
    touched = disp.touched[slot]
    nodes, width = nodes_of(touched)
    left = wp.where(lane == 0, removed, real(0.0))
    q = int(lane)
    while q < nodes:
        i = touched.row0 + q // width
        j = touched.column0 + q % width
        k = nonnegative(start + i * win.side + j)
        if win.mark[k] == t.CONTACT:
            left -= edges.share_sinkage(g, o, skin, win, disp, k, i, j, keeps, first_node, m)
        q += lanes
    return team.total(left)


@wp.func
def move_spoil(
    g: Ground, o: Options, skin: Skin, win: Window, disp: Displacement, slot: int, border: int, first_node: vec3,
    m: BodyMotion, lane: int, lanes: int,
):  # fmt: skip
    """Move the displaced soil to the border nodes, block by block."""
    start = nonnegative(slot * win.nodes)
    first = slot * disp.blocks
    blocks = spoil.block_count(o, disp.touched[slot])
    # Each lane sums up blocks of its own ...
    block = int(lane)
    while block < blocks:
        sums = spoil.gather_spoil(g, o, skin, win, disp, slot, block, first_node, m)
        disp.spoil[nonnegative(first + block)] = sums
        if sums.volume > real(0.0):
            disp.deposit[nonnegative(first + block)] = spoil.deposit_of(sums)
        block += lanes
    team.sync()
    # ... then all lanes weigh the border nodes for one block after another ...
    for one in range(blocks):
        entry = nonnegative(first + one)
        if disp.spoil[entry].volume > real(0.0):
            deposit = disp.deposit[entry]
            even = real(0.0)
            ahead = real(0.0)
            along = real(0.0)
            q = int(lane)
            while q < border:
                node = disp.border[nonnegative(start + q)]
                w, w_ahead, w_along = spoil.border_weights(deposit, real(node % win.side), real(node // win.side))
                even += w
                ahead += w_ahead
                along += w_along
                q += lanes
            even = team.total(even)
            ahead = team.total(ahead)
            along = team.total(along)
            if lane == 0:
                disp.deposit[entry] = spoil.complete_deposit(disp.spoil[entry], deposit, even, ahead, along)
    team.sync()
    # ... and each border node gets its soil from all blocks in one go.
    q = int(lane)
    while q < border:
        node = disp.border[nonnegative(start + q)]
        got = real(0.0)
        for one in range(blocks):
            if disp.spoil[nonnegative(first + one)].volume > real(0.0):
                deposit = disp.deposit[nonnegative(first + one)]
                w, ahead, along = spoil.border_weights(deposit, real(node % win.side), real(node // win.side))
                got += spoil.received_from(deposit, w, ahead, along)
        if got > real(0.0):
            spoil.pile_up(o, win, nonnegative(start + node), got)
        q += lanes
    team.sync()


@wp.func
def sink(
    o: Options, b: Bodies, skin: Skin, win: Window, disp: Displacement, body: int, slot: int, keeps: int,
    lane: int, lanes: int,
):  # fmt: skip
    """Lower the nodes in contact and level out those beside them. Returns the sum of the compressed sinkage [m]."""
    start = nonnegative(slot * win.nodes)
    frame = win.frame[slot]
    box = boxes.common(boxes.grown(disp.touched[slot], 1), boxes.inside_rim(frame.rows, frame.columns))
    nodes, width = nodes_of(box)
    compressed = real(0.0)
    q = int(lane)
    while q < nodes:
        k = nonnegative(start + (box.row0 + q // width) * win.side + box.column0 + q % width)
        if win.mark[k] == t.CONTACT:
            compressed += sinkage.compressed_height(o, win, disp, k, keeps)
            sinkage.sink_node(o, b, win, disp, body, k, keeps)
        elif edges.takes_excess(skin, win, k):
            edges.level_out(o, b, skin, win, disp, body, k, keeps)
        q += lanes
    return team.total(compressed)


@wp.func
def find_spoil(
    g: Ground, o: Options, b: Bodies, skin: Skin, win: Window, verts: Vertices, disp: Displacement,
    world: int, body: int, slot: int, m: BodyMotion, lane: int, lanes: int,
):  # fmt: skip
    """List the border of the footprint and find what sinks there. Sets `changed` if soil moves in this step."""
    if disp.contacts[slot].nodes + disp.contacts[slot].pressed == 0:
        return
    border = list_border(win, disp, slot, lane, lanes)  # 0 if bare nodes or the window's rim surround the footprint
    if b.from_patch[body] == 1:
        measure_patch(g, b, skin, win, verts, disp, world, body, slot, lane, lanes)
    first_node = placement.first_node(g, win, slot, m.position)
    dug = int(0)
    if carries_off(o, border):
        dug = dig(g, o, b, skin, win, disp, body, slot, first_node, m, lane, lanes)
    removed = disp.step_tally[slot].removed
    if removed == real(0.0) and dug == 0:  # a body at rest: no soil moves
        return
    team.sync()
    removed = share_sinkage(
        g, o, skin, win, disp, slot, wp.where(border == 0, 1, 0), removed, first_node, m, lane, lanes
    )  # fmt: skip
    if lane == 0:
        win.changed[slot] = 1
        disp.contacts[slot].moves = 1
        disp.tally[slot].removed = disp.tally[slot].removed + removed


@wp.func
def carries_off(o: Options, border: int):
    """Whether soil is displaced: soil that only compacts is not, and without border nodes all of it is compressed."""
    return o.spoil == 1 and border > 0


@wp.func
def move_soil(
    g: Ground, o: Options, b: Bodies, skin: Skin, win: Window, disp: Displacement,
    body: int, slot: int, m: BodyMotion, lane: int, lanes: int,
):  # fmt: skip
    """Move the displaced soil to the border and sink the nodes in contact."""
    border = disp.contacts[slot].border
    if carries_off(o, border):
        first_node = placement.first_node(g, win, slot, m.position)
        move_spoil(g, o, skin, win, disp, slot, border, first_node, m, lane, lanes)
    compressed = sink(o, b, skin, win, disp, body, slot, wp.where(border == 0, 1, 0), lane, lanes)
    if lane == 0:
        disp.tally[slot].compressed = disp.tally[slot].compressed + compressed
