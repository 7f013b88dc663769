"""Soil kernels with one thread per vertex, triangle, node or block. For many worlds on a GPU.

They call the same device functions in the same order as the kernels of per_world.py; on the CPU both agree bit for bit.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import (
    body_wrench,
    boxes,
    erosion,
    grid_error,
    placement,
    raster,
    step_error,
    traction,
    window,
)
from grouser.contact.soil import energy as work
from grouser.contact.soil import faces as pushing
from grouser.contact.soil import shear as shearing
from grouser.contact.soil import types as t
from grouser.contact.soil.elements import BlockSums, Losses, Tally
from grouser.contact.soil.node_threads import in_frame, slot_of, tile_of, within
from grouser.contact.soil.surface import CHUNK
from grouser.contact.soil.types import (
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
    Vertices,
    Window,
)
from grouser.device import array, array2d, module, nonnegative
from grouser.precision import mat66, real, vec3, vec6
from grouser.terrain.ground import GroundArrays as Ground

MODULE = module("grouser.contact.soil.per_node")

# ---- book -------------------------------------------------------------------------------------------------


@wp.kernel(module=MODULE)
def book(
    g: Ground, o: Options, b: Bodies, place: Placement, energy: Energy, motion: MotionArrays, body: int,
    effective: array2d[vec6], needed_out: array[int],
):  # fmt: skip
    """Book the work of the finished step and remember its motion; mark the parts of the step that some world needs.

    One thread per world.
    """
    world = wp.tid()
    m = t.body_motion(motion, world, b.rows[body])
    slot = slot_of(b, world, body)
    most = placement.most_parts(b, body)
    parts = placement.parts_of_step(g, o, b, place, body, slot, m)
    place.parts[slot] = parts
    for part in range(most - parts, most):
        needed_out[part] = 1
    work.book_work(energy, o.step[0], slot, m, place.sinkage[slot], effective[world, body])
    placement.remember_motion(g, o, b, place, body, slot, m)


@wp.kernel(module=MODULE)
def move_to_part(
    o: Options, b: Bodies, place: Placement, motion: MotionArrays, between: MotionArrays, body: int, part: int
):  # fmt: skip
    """Write the motion at the end of a part of the step. A body with fewer parts leaves out the first ones."""
    world = wp.tid()
    row = b.rows[body]
    parts = place.parts[slot_of(b, world, body)]
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
    lean = placement.ground_slope(g, world, position)
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
        window.clear_node(g, win, skin, world, row, column, k)


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
    g: Ground, o: Options, b: Bodies, place: Placement, disp: Displacement, energy: Energy, win: Window,
    motion: MotionArrays, body: int, status_out: array2d[int], needed_out: array[int],
):  # fmt: skip
    """Write the status of the step, and clear the marks of `book`. One thread per world."""
    world = wp.tid()
    if world == 0:
        for part in range(needed_out.shape[0]):
            needed_out[part] = 0
    slot = slot_of(b, world, body)
    if win.frame[slot].rows > 0 and status_out[world, body] == t.FINE and step_error.is_loaded(disp, energy, slot):
        v = placement.contact_velocity(g, b, place, body, slot, t.body_motion(motion, world, b.rows[body]))
        status_out[world, body] = grid_error.with_grid(
            step_error.judge_step(g, o, b, disp, energy, body, slot, v),
            grid_error.judge_grid(g, o, b, place, disp, energy, body, slot, v),
        )


# ---- push ---------------------------------------------------------------------------------------------------


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
        pred.losses[slot] = Losses()
        pred.loaded[slot] = 0
    if within(win, slot, node, disp.near[slot], 1):
        m = t.body_motion(motion, world, b.rows[body])
        first_node = placement.first_node(g, win, slot, m.position)
        i = node // win.side
        j = node % win.side
        traction.predict_node(g, o, b, place, win, skin, disp, pred, body, slot, win.frame[slot], i, j, first_node, m)


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
            part, share, worn = traction.node_force(
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
            pred.losses[slot].stored += worn.stored
            pred.losses[slot].sinkage += worn.sinkage
            pred.losses[slot].spoil += worn.spoil
            pred.losses[slot].damping += worn.damping
            pred.losses[slot].shear += worn.shear
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
        t.body_motion(motion, world, b.rows[body]), pred.wrench[slot], pred.sums[slot], pred.losses[slot],
        pred.loaded[slot], wrench_out, implicit_out,
    )  # fmt: skip


KERNELS = [value for value in list(globals().values()) if isinstance(value, wp.Kernel)]
