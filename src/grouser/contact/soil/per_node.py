"""Soil kernels with one thread per vertex, triangle, node or block. For many worlds on a GPU.

They call the same device functions in the same order as the kernels of per_world.py; on the CPU both agree bit for bit.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import (
    body_wrench,
    boxes,
    edges,
    erosion,
    patch,
    placement,
    raster,
    sinkage,
    spoil,
    step_error,
    traction,
    window,
)
from grouser.contact.soil import energy as work
from grouser.contact.soil import face_cutting as cutting
from grouser.contact.soil import faces as pushing
from grouser.contact.soil import points as pressing
from grouser.contact.soil import shear as shearing
from grouser.contact.soil import types as t
from grouser.contact.soil.surface import CHUNK
from grouser.contact.soil.types import (
    BlockSums,
    Bodies,
    Displacement,
    Energy,
    Faces,
    MotionArrays,
    Options,
    Placement,
    Points,
    Prediction,
    Pushing,
    Skin,
    Slides,
    SmallShapes,
    Tally,
    Vertices,
    Window,
)
from grouser.device import array2d, module, nonnegative
from grouser.precision import mat66, real, vec3, vec6
from grouser.terrain.ground import TILE
from grouser.terrain.ground import GroundArrays as Ground

MODULE = module("grouser.contact.soil.per_node")


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


# ---- book -------------------------------------------------------------------------------------------------


@wp.kernel(module=MODULE)
def book(
    o: Options, b: Bodies, place: Placement, energy: Energy, motion: MotionArrays, body: int, effective: array2d[vec6]
):  # fmt: skip
    """Book the work of the finished step and remember its motion. One thread per world."""
    world = wp.tid()
    m = t.body_motion(motion, world, b.rows[body])
    work.book_work(energy, o.step[0], slot_of(b, world, body), m, effective[world, body])
    placement.remember_motion(o, place, slot_of(b, world, body), m.velocity)


@wp.kernel(module=MODULE)
def move_to_part(o: Options, b: Bodies, motion: MotionArrays, between: MotionArrays, body: int, part: int):
    """Write the motion at the end of a part of the step. A body with fewer parts leaves out the first ones."""
    world = wp.tid()
    row = b.rows[body]
    parts = placement.parts_of_step(o, b, body, t.body_motion(motion, world, row))
    own = part - (placement.most_parts(b, body) - parts)
    position, rotation = placement.pose_in_part(o, motion, world, row, wp.max(own, 0), parts)
    between.position[world, row] = position
    between.rotation[world, row] = rotation
    between.velocity[world, row] = motion.velocity[world, row]
    between.angular_velocity[world, row] = motion.angular_velocity[world, row]
    between.duration[world, row] = wp.where(own < 0, real(0.0), o.step[0] / real(parts))


# ---- place ------------------------------------------------------------------------------------------------


@wp.kernel(module=MODULE)
def begin(
    g: Ground, o: Options, b: Bodies, place: Placement, win: Window, skin: Skin, disp: Displacement, slides: Slides,
    motion: MotionArrays, body: int,
):  # fmt: skip
    """Find the soil a body can reach and reset the arrays of the step. One thread per world."""
    world = wp.tid()
    slot = slot_of(b, world, body)
    m = t.body_motion(motion, world, b.rows[body])
    placement.begin(g, o, b, place, win, skin, disp, slides, world, body, slot, m)
    disp.contacts[slot].edges = 0
    disp.contacts[slot].dug = 0
    disp.step_tally[slot] = Tally()


@wp.kernel(module=MODULE)
def place_vertices(g: Ground, b: Bodies, place: Placement, verts: Vertices, motion: MotionArrays, body: int):
    """Place the vertices that may reach the soil and find the area they span. One thread per vertex."""
    world, number = wp.tid()
    slot = slot_of(b, world, body)
    v = b.first_vertex[body] + number
    m = t.body_motion(motion, world, b.rows[body])
    chunk = b.first_vertex_chunk[body] + number // CHUNK
    near = int(0)
    if placement.chunk_is_near(g, b, place, body, slot, chunk, m):
        near = int(1)
        spot = placement.place_vertex(g, b, verts, world, v, m)
        if spot[2] < place.top[slot] + g.spacing + b.tip_reach[body]:
            boxes.span_atomically(place.extent, slot, spot[0], spot[1])
    else:
        placement.forget_vertex(verts, world, v)
    if number % CHUNK == 0:  # one thread writes for its chunk
        verts.near_soil[world, chunk] = near


@wp.kernel(module=MODULE)
def open_window(
    g: Ground, o: Options, b: Bodies, place: Placement, win: Window, verts: Vertices, slides: Slides,
    motion: MotionArrays, body: int, status_out: array2d[int],
):  # fmt: skip
    """Find the deepest vertex and choose the window of the body. One thread per world."""
    world = wp.tid()
    if motion.duration[world, b.rows[body]] == real(0.0):  # a part that is left out: the window stays closed
        return
    slot = slot_of(b, world, body)
    position = motion.position[world, b.rows[body]]
    # A serial loop: of equally deep vertices it takes the first, as per_world.py does.
    lean = placement.ground_slope(g, position)
    for v in range(b.first_vertex[body], b.first_vertex[body + 1]):
        spot = verts.place[world, v]
        if placement.lies_deeper(spot, place.lowest[slot], lean):
            place.lowest[slot] = spot
    status_out[world, body] = placement.open_window(g, o, place, win, slides, world, slot, position)


# ---- gather, raster ---------------------------------------------------------------------------------------


@wp.kernel(module=MODULE)
def gather(g: Ground, b: Bodies, win: Window, skin: Skin, body: int):
    """Copy the soil into the window and reset its nodes. One thread per node."""
    world, node = wp.tid()
    slot = slot_of(b, world, body)
    if in_frame(win, slot, node):
        k = nonnegative(slot * win.side * win.side + node)
        tile, row, column = tile_of(g, win, world, slot, node)
        window.gather_node(g, win, world, tile, row, column, k)
        window.clear_node(g, win, skin, row, column, k)


@wp.kernel(module=MODULE)
def raster_triangles(
    g: Ground, b: Bodies, place: Placement, win: Window, verts: Vertices, skin: Skin, body: int, mode: int
):  # fmt: skip
    """Rasterise the body. One thread per triangle; launched twice: first heights, then the triangles they belong to."""
    world, number = wp.tid()
    slot = slot_of(b, world, body)
    if win.frame[slot].rows > 0:
        triangle = b.first_triangle[body] + number
        raster.raster_triangle(g, b, place, win, verts, skin, world, slot, triangle, mode)


@wp.kernel(module=MODULE)
def mark_creases(g: Ground, b: Bodies, place: Placement, win: Window, verts: Vertices, skin: Skin, body: int):
    """Record how far the body extends past the nodes next to its sharp edges. One thread per crease."""
    world, number = wp.tid()
    slot = slot_of(b, world, body)
    if win.frame[slot].rows > 0:
        raster.mark_crease(
            g, b, place, win, verts, skin, world, slot, b.first_crease[body] + number, raster.HEIGHTS
        )  # fmt: skip


@wp.kernel(module=MODULE)
def close_hit(b: Bodies, win: Window, skin: Skin, body: int):
    """Clip the nodes below the body to the inside of the window. One thread per world."""
    world = wp.tid()
    raster.close_hit(win, skin, slot_of(b, world, body))


# ---- displace ---------------------------------------------------------------------------------------------


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
def move_faces(
    g: Ground, o: Options, b: Bodies, faces: Faces, push: Pushing, place: Placement, win: Window,
    motion: MotionArrays, body: int,
):  # fmt: skip
    """Advance the state of steep faces. One thread per world: a face sums up all soil ahead of it."""
    world = wp.tid()
    slot = slot_of(b, world, body)
    if win.frame[slot].rows > 0:
        m = t.body_motion(motion, world, b.rows[body])
        pushing.move_faces(g, o, faces, push, place, world, body, slot, m)


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


# ---- shear, erode, write back -----------------------------------------------------------------------------


@wp.kernel(module=MODULE)
def shear_vertices(
    g: Ground, o: Options, b: Bodies, place: Placement, skin: Skin, win: Window, verts: Vertices,
    motion: MotionArrays, body: int,
):  # fmt: skip
    """Advance the shear state of the body's vertices. One thread per vertex."""
    world, number = wp.tid()
    slot = slot_of(b, world, body)
    v = b.first_vertex[body] + number
    if win.frame[slot].rows > 0 and verts.near_soil[world, b.first_vertex_chunk[body] + number // CHUNK] == 1:
        if verts.place[world, v][2] < place.top[slot]:
            m = t.body_motion(motion, world, b.rows[body])
            shearing.shear_vertex(g, o, b, skin, win, verts, world, body, slot, v, m)
        else:
            verts.shear[world, v] = vec3()


@wp.kernel(module=MODULE)
def shear_nodes(g: Ground, o: Options, b: Bodies, skin: Skin, win: Window, motion: MotionArrays, body: int):
    """Advance the shear state of the soil's nodes. One thread per node."""
    world, node = wp.tid()
    slot = slot_of(b, world, body)
    if within(win, slot, node, skin.hit[slot], 0):
        m = t.body_motion(motion, world, b.rows[body])
        first_node = placement.first_node(g, win, slot, m.position)
        shearing.shear_node(g, o, skin, win, slot, node // win.side, node % win.side, first_node, m)


@wp.kernel(module=MODULE)
def erode(g: Ground, o: Options, b: Bodies, skin: Skin, win: Window, disp: Displacement, slides: Slides, body: int):
    """Let steep slopes slide. One thread per world: most slides are short, and each sweep needs the one before."""
    world = wp.tid()
    slot = slot_of(b, world, body)
    if win.frame[slot].rows > 0:
        erosion.erode(g, o, skin, disp, win, slides, slot)


@wp.kernel(module=MODULE)
def scatter(g: Ground, b: Bodies, win: Window, disp: Displacement, body: int):
    """Copy the window back into the tiles. One thread per node."""
    world, node = wp.tid()
    slot = slot_of(b, world, body)
    if win.changed[slot] == 1 and in_frame(win, slot, node):
        tile, row, column = tile_of(g, win, world, slot, node)
        k = slot * win.side * win.side + node
        disp.step_tally[slot].moved += window.scatter_node(g, win, world, tile, row, column, k)


@wp.kernel(module=MODULE)
def finish(
    g: Ground, o: Options, b: Bodies, win: Window, disp: Displacement, slides: Slides, body: int
):  # fmt: skip
    """Add the sums of the step to the totals. One thread per world."""
    world = wp.tid()
    slot = slot_of(b, world, body)
    if win.changed[slot] == 1:
        total = disp.tally[slot]
        step = disp.step_tally[slot]
        disp.tally[slot] = Tally(
            total.removed + step.removed, total.compressed + step.compressed, total.moved + step.moved
        )
        window.stamp_tiles(g, o, win, disp, slides, world, slot)


@wp.kernel(module=MODULE)
def judge(
    g: Ground, o: Options, b: Bodies, place: Placement, disp: Displacement, energy: Energy, body: int,
    status_out: array2d[int],
):  # fmt: skip
    """Write the status of the step. One thread per world."""
    world = wp.tid()
    slot = slot_of(b, world, body)
    if status_out[world, body] == t.FINE and disp.contacts[slot].nodes + disp.contacts[slot].pressed > 0:
        status_out[world, body] = step_error.judge_step(g, o, place, disp, energy, slot)


# ---- evaluate ---------------------------------------------------------------------------------------------


@wp.kernel(module=MODULE)
def refresh(g: Ground, b: Bodies, win: Window, body: int):
    """Copy the soil into the window again: another body may have changed it. One thread per node."""
    world, node = wp.tid()
    slot = slot_of(b, world, body)
    if in_frame(win, slot, node):
        tile, row, column = tile_of(g, win, world, slot, node)
        window.gather_node(g, win, world, tile, row, column, slot * win.side * win.side + node)


@wp.kernel(module=MODULE)
def predict(
    g: Ground, o: Options, b: Bodies, place: Placement, win: Window, skin: Skin, disp: Displacement, pred: Prediction,
    motion: MotionArrays, body: int,
):  # fmt: skip
    """Predict body and soil at the end of the step. One thread per node."""
    world, node = wp.tid()
    slot = slot_of(b, world, body)
    # One thread clears the sums for `force`, which is the next launch.
    if node == 0:
        pred.wrench[slot] = vec6()
        pred.sums[slot] = BlockSums()
        pred.loaded[slot] = 0
    if within(win, slot, node, disp.near[slot], 1):
        m = t.body_motion(motion, world, b.rows[body])
        first_node = placement.first_node(g, win, slot, m.position)
        i = node // win.side
        j = node % win.side
        traction.predict_node(g, o, place, win, skin, disp, pred, slot, win.frame[slot], i, j, first_node, m)


@wp.kernel(module=MODULE)
def force(
    g: Ground, o: Options, b: Bodies, place: Placement, win: Window, skin: Skin, verts: Vertices, disp: Displacement,
    pred: Prediction, motion: MotionArrays, body: int,
):  # fmt: skip
    """Add the force of each loaded node to the sums of its body. One thread per node."""
    world, node = wp.tid()
    slot = slot_of(b, world, body)
    if within(win, slot, node, disp.near[slot], 0):
        if traction.loaded(pred, win.side, slot * win.side * win.side + node, g.spacing):
            m = t.body_motion(motion, world, b.rows[body])
            first_node = placement.first_node(g, win, slot, m.position)
            i = node // win.side
            j = node % win.side
            part, share = traction.node_force(
                g, o, b, place, win, skin, verts, disp, pred, world, body, slot, i, j, first_node, m
            )
            # In Warp `+=` on an array element is atomic.
            wp.atomic_add(pred.wrench, slot, part)
            pred.sums[slot].nn += share.nn
            pred.sums[slot].mn += share.mn
            pred.sums[slot].mm += share.mm
            pred.sums[slot].weight += share.weight
            pred.sums[slot].lever += share.lever
            pred.sums[slot].lever2 += share.lever2
            wp.atomic_add(pred.loaded, slot, 1)


@wp.kernel(module=MODULE)
def sum_up(
    g: Ground, o: Options, b: Bodies, shapes: SmallShapes, points: Points, faces: Faces, push: Pushing,
    place: Placement, win: Window, pred: Prediction, energy: Energy, motion: MotionArrays, body: int,
    wrench_out: array2d[vec6], implicit_out: array2d[mat66],
):  # fmt: skip
    """Add small shapes and steep faces, limit the energy given back, write the result. One thread per world."""
    world = wp.tid()
    slot = slot_of(b, world, body)
    body_wrench.write_wrench(
        g, o, shapes, points, faces, push, place, win, pred, energy, world, body, slot,
        t.body_motion(motion, world, b.rows[body]), pred.wrench[slot], pred.sums[slot], pred.loaded[slot],
        wrench_out, implicit_out,
    )  # fmt: skip


KERNELS = [value for value in list(globals().values()) if isinstance(value, wp.Kernel)]
