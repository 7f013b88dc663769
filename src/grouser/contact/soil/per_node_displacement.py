"""Kernels of the stage `displace` with one thread per node, block or world, see per_node.py."""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import boxes, edges, patch, placement, sinkage, spoil
from grouser.contact.soil import face_cutting as cutting
from grouser.contact.soil import points as pressing
from grouser.contact.soil import types as t
from grouser.contact.soil.node_threads import inside, moves_soil, slot_of, within
from grouser.contact.soil.types import (
    Bodies,
    Displacement,
    Faces,
    MotionArrays,
    Options,
    Placement,
    Points,
    Pushing,
    Skin,
    SmallShapes,
    Vertices,
    Window,
)
from grouser.device import module, nonnegative
from grouser.precision import real
from grouser.terrain.ground import GroundArrays as Ground

MODULE = module("grouser.contact.soil.per_node_displacement")


@wp.kernel(module=MODULE)
def sweep_faces(
    g: Ground, o: Options, b: Bodies, faces: Faces, push: Pushing, place: Placement, skin: Skin, win: Window,
    disp: Displacement, motion: MotionArrays, body: int,
):  # fmt: skip
    """Cut the soil ahead of steep faces. One thread per world: faces may share nodes."""
    world = wp.tid()
    slot = slot_of(b, world, body)
    if win.frame[slot].rows > 0:
        m = t.body_motion(motion, world, b.rows[body])
        cutting.sweep_faces(g, o, faces, push, place, skin, win, disp, world, body, slot, m)


@wp.kernel(module=MODULE)
def include_swept(b: Bodies, push: Pushing, win: Window, disp: Displacement, body: int):
    """Add the nodes that faces have cut to the nodes near the body. One thread per world."""
    world = wp.tid()
    slot = slot_of(b, world, body)
    if win.frame[slot].rows > 0:
        cutting.include_swept(push, disp, slot)


@wp.kernel(module=MODULE)
def touch_nodes(
    g: Ground, o: Options, b: Bodies, place: Placement, skin: Skin, win: Window, disp: Displacement, body: int
):  # fmt: skip
    """Mark the nodes in contact and near contact, and find their plastic sinkage. One thread per node."""
    world, node = wp.tid()
    slot = slot_of(b, world, body)
    if within(win, slot, node, skin.hit[slot], 0):
        k = nonnegative(slot * win.side * win.side + node)
        i = node // win.side
        j = node % win.side
        found = sinkage.touch_node(g, o, b, place, skin, win, disp, slot, k)
        if found > 0:
            boxes.widen_atomically(disp.near, slot, i, i, j, j)
        if found == sinkage.IN_SOIL:
            boxes.widen_atomically(disp.touched, slot, i, i, j, j)
            disp.contacts[slot].nodes += 1
            disp.step_tally[slot].removed += disp.sunk[k]


@wp.kernel(module=MODULE)
def press_shapes(
    g: Ground, o: Options, b: Bodies, shapes: SmallShapes, place: Placement, win: Window, points: Points,
    disp: Displacement, motion: MotionArrays, body: int,
):  # fmt: skip
    """Press the small shapes. One thread per world: they have few points, and several may press on one node."""
    world = wp.tid()
    slot = slot_of(b, world, body)
    if win.frame[slot].rows > 0:
        m = t.body_motion(motion, world, b.rows[body])
        sunk = pressing.press_shapes(g, o, shapes, place, win, points, disp, world, body, slot, m)
        disp.step_tally[slot].removed = disp.step_tally[slot].removed + sunk


@wp.kernel(module=MODULE)
def mark_borders(b: Bodies, skin: Skin, win: Window, disp: Displacement, body: int):
    """Mark the nodes next to the footprint and count the cell sides on its border. One thread per node."""
    world, node = wp.tid()
    slot = slot_of(b, world, body)
    if inside(win, slot, node) and disp.contacts[slot].nodes + disp.contacts[slot].pressed > 0:
        k = nonnegative(slot * win.side * win.side + node)
        if sinkage.mark_border(win, k) == 1:
            disp.contacts[slot].border += 1
        elif b.from_patch[body] == 1 and sinkage.is_touched(skin, win, k):
            disp.contacts[slot].edges += sinkage.count_edges(skin, win, k)


@wp.kernel(module=MODULE)
def measure_patch(g: Ground, b: Bodies, verts: Vertices, win: Window, disp: Displacement, body: int):
    """Find the width b of k_c/b from the footprint. One thread per world."""
    world = wp.tid()
    slot = slot_of(b, world, body)
    if win.frame[slot].rows > 0:
        contacts = disp.contacts[slot]
        patch.set_width(g, b, verts, win, disp, world, body, slot, contacts.nodes, contacts.edges)


@wp.kernel(module=MODULE)
def dig(
    g: Ground, o: Options, b: Bodies, skin: Skin, win: Window, disp: Displacement, motion: MotionArrays, body: int
):  # fmt: skip
    """Find what slip does to each node in contact. One thread per node."""
    world, node = wp.tid()
    slot = slot_of(b, world, body)
    k = nonnegative(slot * win.side * win.side + node)
    if inside(win, slot, node) and win.mark[k] == t.CONTACT and disp.contacts[slot].border > 0:
        m = t.body_motion(motion, world, b.rows[body])
        first_node = placement.first_node(g, win, slot, m.position)
        if spoil.dig_node(g, o, b, skin, win, disp, body, slot, node // win.side, node % win.side, first_node, m) == 1:
            disp.contacts[slot].dug += 1


@wp.kernel(module=MODULE)
def share_sinkage(
    g: Ground, o: Options, b: Bodies, skin: Skin, win: Window, disp: Displacement, motion: MotionArrays, body: int
):  # fmt: skip
    """Find what cells that are covered in part sink too much. One thread per node."""
    world, node = wp.tid()
    slot = slot_of(b, world, body)
    if inside(win, slot, node):
        k = nonnegative(slot * win.side * win.side + node)
        if win.mark[k] == t.CONTACT:
            keeps = wp.where(disp.contacts[slot].border == 0, 1, 0)
            m = t.body_motion(motion, world, b.rows[body])
            first_node = placement.first_node(g, win, slot, m.position)
            disp.step_tally[slot].removed -= edges.share_sinkage(
                g, o, skin, win, disp, k, node // win.side, node % win.side, keeps, first_node, m
            )


@wp.kernel(module=MODULE)
def collect_spoil(
    g: Ground, o: Options, b: Bodies, skin: Skin, win: Window, disp: Displacement, motion: MotionArrays, body: int
):  # fmt: skip
    """Sum the displaced soil of a block and find how the border nodes share it. One thread per block."""
    world, block = wp.tid()
    slot = slot_of(b, world, body)
    entry = slot * disp.blocks * disp.blocks + block
    disp.displaces[entry] = 0
    displaces = win.frame[slot].rows > 0 and disp.contacts[slot].border > 0
    if displaces and block < spoil.block_count(o, disp.touched[slot]) and moves_soil(disp, slot):
        m = t.body_motion(motion, world, b.rows[body])
        first_node = placement.first_node(g, win, slot, m.position)
        sums = spoil.gather_spoil(g, o, skin, win, disp, slot, block, first_node, m)
        if sums.volume > real(0.0):
            deposit = spoil.deposit_of(sums)
            even = real(0.0)
            ahead = real(0.0)
            along = real(0.0)
            start = nonnegative(slot * win.side * win.side)
            # The same order as in per_world.py, so that the sums agree bit for bit.
            for i in range(1, win.frame[slot].rows - 1):
                for j in range(1, win.frame[slot].columns - 1):
                    if win.mark[start + i * win.side + j] == t.BORDER:
                        w, w_ahead, w_along = spoil.border_weights(deposit, real(j), real(i))
                        even += w
                        ahead += w_ahead
                        along += w_along
            disp.deposit[entry] = spoil.complete_deposit(sums, deposit, even, ahead, along)
            disp.displaces[entry] = 1


@wp.kernel(module=MODULE)
def pile_spoil(o: Options, b: Bodies, win: Window, disp: Displacement, body: int):
    """Put the soil that a border node receives from all blocks, in their order, on the node. One thread per node."""
    world, node = wp.tid()
    slot = slot_of(b, world, body)
    if inside(win, slot, node):
        k = nonnegative(slot * win.side * win.side + node)
        if win.mark[k] == t.BORDER:
            first = slot * disp.blocks * disp.blocks
            got = real(0.0)
            for e in range(disp.blocks * disp.blocks):
                if disp.displaces[first + e] == 1:
                    deposit = disp.deposit[first + e]
                    w, ahead, along = spoil.border_weights(deposit, real(node % win.side), real(node // win.side))
                    got += spoil.received_from(deposit, w, ahead, along)
            if got > real(0.0):
                spoil.pile_up(o, win, k, got)


@wp.kernel(module=MODULE)
def sink_nodes(o: Options, b: Bodies, skin: Skin, win: Window, disp: Displacement, body: int):
    """Lower the nodes in contact by their sinkage and level out those beside them. One thread per node."""
    world, node = wp.tid()
    slot = slot_of(b, world, body)
    if inside(win, slot, node) and moves_soil(disp, slot):
        k = nonnegative(slot * win.side * win.side + node)
        keeps = wp.where(disp.contacts[slot].border == 0, 1, 0)
        if win.mark[k] == t.CONTACT:
            disp.step_tally[slot].compressed += sinkage.compressed_height(o, win, disp, k, keeps)
            sinkage.sink_node(o, b, win, disp, body, k, keeps)
            win.changed[slot] = 1
        elif edges.takes_excess(skin, win, k):
            edges.level_out(o, b, skin, win, disp, body, k, keeps)


KERNELS = [value for value in list(globals().values()) if isinstance(value, wp.Kernel)]
