"""Soil kernels with one thread per world and the loops inside: two launches per step. For few worlds on a CPU.

They call the same device functions in the same order as the kernels of per_team.py; on the CPU both agree to round-off.
Inner loops are `while`: a Warp `for` loop also carries its step, which costs as much time as a whole light body.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import (
    body_groups,
    body_wrench,
    boxes,
    erosion,
    grid_error,
    implicit,
    losses,
    placement,
    raster,
    stage_clock,
    stages,
    step_error,
    traction,
    window,
)
from grouser.contact.soil import energy as work
from grouser.contact.soil import face_cutting as cutting
from grouser.contact.soil import faces as pushing
from grouser.contact.soil import per_world_displacement as displacement
from grouser.contact.soil import points as pressing
from grouser.contact.soil import shear as shearing
from grouser.contact.soil import types as t
from grouser.contact.soil.body_groups import BodyGroups
from grouser.contact.soil.elements import BlockSums, Extent, Frame, Losses
from grouser.contact.soil.surface import CHUNK
from grouser.contact.soil.types import (
    Bodies,
    BodyMotion,
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
from grouser.device import array2d, module, nonnegative
from grouser.precision import mat66, real, vec3, vec6
from grouser.terrain.ground import GroundArrays as Ground

MODULE = module("grouser.contact.soil.per_world")
GROUPS = {
    "g": Ground, "o": Options, "b": Bodies, "shapes": SmallShapes, "points": Points, "faces": Faces, "push": Pushing,
    "place": Placement, "win": Window, "skin": Skin, "verts": Vertices, "disp": Displacement, "slides": Slides,
    "pred": Prediction, "energy": Energy,
}  # fmt: skip


@wp.func_native(t.without_gaps(**GROUPS))
def assume_packed(
    g: Ground, o: Options, b: Bodies, shapes: SmallShapes, points: Points, faces: Faces, push: Pushing,
    place: Placement, win: Window, skin: Skin, verts: Vertices, disp: Displacement, slides: Slides, pred: Prediction,
    energy: Energy,
):  # fmt: skip
    """Tell the compiler that these arrays are contiguous, see `types.without_gaps`."""
    ...


# ---- place ------------------------------------------------------------------------------------------------


@wp.func
def place_vertices(
    g: Ground, b: Bodies, place: Placement, verts: Vertices, world: int, body: int, slot: int, m: BodyMotion
):  # fmt: skip
    """Place the vertices that may reach the soil. Find the area they span and the deepest vertex."""
    cut = place.top[slot] + g.spacing + b.tip_reach[body]
    lean = placement.ground_slope(g, world, m.position)
    last = b.first_vertex[body + 1]
    extent = place.extent[slot]
    # Local variables: the compiler keeps them in registers during the loop.
    x0 = real(extent.column0)
    x1 = real(extent.column1)
    y0 = real(extent.row0)
    y1 = real(extent.row1)
    low = place.lowest[slot]
    for c in range(b.first_vertex_chunk[body], b.first_vertex_chunk[body + 1]):
        first = b.first_vertex[body] + (c - b.first_vertex_chunk[body]) * CHUNK
        end = wp.min(first + CHUNK, last)
        if placement.chunk_is_near(g, b, place, body, slot, c, m):
            verts.near_soil[world, c] = 1
            v = int(first)
            while v < end:
                spot = placement.place_vertex(g, b, verts, world, v, m)
                # The footprint comes from the low part of the body only, the sinkage from the deepest vertex.
                if spot[2] < cut:
                    x0 = wp.where(spot[0] < x0, spot[0], x0)
                    x1 = wp.where(spot[0] > x1, spot[0], x1)
                    y0 = wp.where(spot[1] < y0, spot[1], y0)
                    y1 = wp.where(spot[1] > y1, spot[1], y1)
                if placement.lies_deeper(spot, low, lean):
                    low = spot
                v += 1
        elif verts.near_soil[world, c] == 1:  # the chunk has just left the soil; later steps skip it at no cost
            verts.near_soil[world, c] = 0
            for v in range(first, end):
                placement.forget_vertex(verts, world, v)
    place.extent[slot] = Extent(x0, x1, y0, y1)
    place.lowest[slot] = low


@wp.func
def is_same(a: Frame, b: Frame):
    return a.row0 == b.row0 and a.column0 == b.column0 and a.rows == b.rows and a.columns == b.columns


# ---- gather, raster ---------------------------------------------------------------------------------------


@wp.func
def gather(g: Ground, win: Window, skin: Skin, world: int, slot: int, stays: bool):
    """Copy the soil into the window if it has moved or others have written to its tiles. Clear the body heights."""
    if not stays or win.writes_seen[slot] != window.writes_to_tiles(g, win, world, slot):
        window.fill_window(g, win, world, slot)
    window.clear_window(g, win, skin, world, slot, stays)


@wp.func
def raster_body(
    g: Ground, b: Bodies, place: Placement, win: Window, verts: Vertices, skin: Skin,
    world: int, body: int, slot: int, m: BodyMotion,
):  # fmt: skip
    """Rasterise those triangles and creases of a body that may reach the soil."""
    cut = place.below[slot] + g.spacing
    last = b.first_triangle[body + 1]
    for c in range(b.first_triangle_chunk[body], b.first_triangle_chunk[body + 1]):
        low = placement.sphere_bottom(b.triangle_spheres[c], m.position, m.R) <= cut
        # Two tests skip a whole chunk whose triangles are too high or all face upwards.
        if low and not placement.faces_up(b.triangle_cones[c], m.R):
            first = b.first_triangle[body] + (c - b.first_triangle_chunk[body]) * CHUNK
            for triangle in range(first, wp.min(first + CHUNK, last)):
                raster.raster_triangle(g, b, place, win, verts, skin, world, slot, triangle, raster.SERIAL)
    for crease in range(b.first_crease[body], b.first_crease[body + 1]):
        raster.mark_crease(g, b, place, win, verts, skin, world, slot, crease, raster.SERIAL)
    if skin.hit[slot].row1 >= skin.hit[slot].row0:  # border nodes get marks too
        win.dirty[slot] = boxes.spanning(win.dirty[slot], boxes.grown(skin.hit[slot], t.RING))
    raster.close_hit(win, skin, slot)


# ---- shear ------------------------------------------------------------------------------------------------


@wp.func
def shear_vertices(
    g: Ground, o: Options, b: Bodies, place: Placement, skin: Skin, win: Window, verts: Vertices,
    world: int, body: int, slot: int, m: BodyMotion,
):  # fmt: skip
    """Advance the shear state of the body's vertices near the soil."""
    last = b.first_vertex[body + 1]
    for c in range(b.first_vertex_chunk[body], b.first_vertex_chunk[body + 1]):
        if verts.near_soil[world, c] == 1:
            first = b.first_vertex[body] + (c - b.first_vertex_chunk[body]) * CHUNK
            for v in range(first, wp.min(first + CHUNK, last)):
                if verts.place[world, v][2] < place.top[slot]:  # else the vertex is above all soil: reset its shear
                    shearing.shear_vertex(g, o, b, skin, win, verts, world, body, slot, v, m)
                else:
                    verts.shear[world, v] = vec3()


@wp.func
def shear(
    g: Ground, o: Options, b: Bodies, place: Placement, skin: Skin, win: Window, verts: Vertices,
    world: int, body: int, slot: int, m: BodyMotion,
):  # fmt: skip
    """Advance the shear state of the body's vertices, or of the soil nodes below it."""
    if o.node_shear == 1:
        first_node = placement.first_node(g, win, slot, m.position)
        for i in range(skin.hit[slot].row0, skin.hit[slot].row1 + 1):
            for j in range(skin.hit[slot].column0, skin.hit[slot].column1 + 1):
                shearing.shear_node(g, o, skin, win, slot, i, j, first_node, m)
        return
    if b.first_triangle[body + 1] == b.first_triangle[body]:  # small shapes only: their points keep the shear
        return
    shear_vertices(g, o, b, place, skin, win, verts, world, body, slot, m)


# ---- evaluate ---------------------------------------------------------------------------------------------


@wp.func
def predict(
    g: Ground, o: Options, b: Bodies, place: Placement, win: Window, skin: Skin, disp: Displacement, pred: Prediction,
    body: int, slot: int, first_node: vec3, m: BodyMotion,
):  # fmt: skip
    """Predict the end of the step at all nodes near the body and one row around them, which slopes need."""
    near = disp.near[slot]
    frame = win.frame[slot]
    for i in range(near.row0 - 1, near.row1 + 2):
        j = int(near.column0 - 1)
        while j <= near.column1 + 1:
            traction.predict_node(g, o, b, place, win, skin, disp, pred, body, slot, frame, i, j, first_node, m)
            j += 1


@wp.func
def force(
    g: Ground, o: Options, b: Bodies, place: Placement, win: Window, skin: Skin, verts: Vertices, disp: Displacement,
    pred: Prediction, world: int, body: int, slot: int, first_node: vec3, m: BodyMotion,
):  # fmt: skip
    """Sum wrench, block and losses of all loaded nodes, and count them."""
    wrench = vec6()
    sums = BlockSums()
    lost = Losses()
    nodes = int(0)
    start = nonnegative(slot * win.nodes)
    near = disp.near[slot]
    for i in range(near.row0, near.row1 + 1):
        j = int(near.column0)
        while j <= near.column1:
            # Most nodes near a body carry nothing: this test is cheap, the force is not.
            if traction.loaded(pred, win.side, nonnegative(start + i * win.side + j), g.spacing):
                part, share, worn = traction.node_force(
                    g, o, b, place, win, skin, verts, disp, pred, world, body, slot, i, j, first_node, m
                )
                wrench += part
                sums = implicit.plus(sums, share)
                lost = losses.plus(lost, worn)
                nodes += 1
            j += 1
    pred.wrench[slot] = wrench
    pred.sums[slot] = sums
    pred.losses[slot] = lost
    pred.loaded[slot] = nodes


@wp.func
def no_force(pred: Prediction, slot: int):
    """Clear the sums of a body without a window."""
    pred.wrench[slot] = vec6()
    pred.sums[slot] = BlockSums()
    pred.losses[slot] = Losses()
    pred.loaded[slot] = 0


# ---- kernels ----------------------------------------------------------------------------------------------


@wp.kernel(module=MODULE)
def plan_world(
    g: Ground, o: Options, b: Bodies, faces: Faces, push: Pushing, place: Placement, win: Window, slides: Slides,
    motion: MotionArrays, groups: BodyGroups,
):  # fmt: skip
    """Find where every body of one world may work in this step, and which bodies overlap. One thread per world."""
    world = nonnegative(wp.tid())
    if o.active[world] == 0:
        return
    bodies = b.rows.shape[0]
    stage_clock.begin_lap(o)
    for body in range(bodies):
        slot = nonnegative(world * bodies + body)
        body_groups.find_area(g, o, b, faces, push, place, win, slides, motion, world, body, slot)
    if groups.shared == 1:
        body_groups.find_groups(groups, place, bodies)
    stage_clock.end_lap(o, stages.PLACE)


@wp.kernel(module=MODULE)
def take_up_waiting(groups: BodyGroups):
    """Prepare a second run of `commit_world` by one thread, for the bodies that wait."""
    body_groups.collect_waiting(groups, groups.order.shape[0])


@wp.kernel(module=MODULE)
def commit_world(
    g: Ground, o: Options, b: Bodies, shapes: SmallShapes, points: Points, faces: Faces, push: Pushing,
    place: Placement, win: Window, skin: Skin, verts: Vertices, disp: Displacement, slides: Slides, pred: Prediction,
    energy: Energy,
    motion: MotionArrays, effective: array2d[vec6], status_out: array2d[int], groups: BodyGroups,
):  # fmt: skip
    """Run the stages of `stages.COMMIT` for every body of one world, body by body, after `plan_world`.

    One thread per world, or threads that share the bodies of one world.
    """
    assume_packed(g, o, b, shapes, points, faces, push, place, win, skin, verts, disp, slides, pred, energy)
    world = nonnegative(wp.tid())
    if o.active[world] == 0:
        return
    bodies = b.rows.shape[0]
    stage_clock.begin_lap(o)
    own_end = body_groups.own_end(groups)
    at = body_groups.first_place(groups, own_end)
    while at >= 0:
        body = nonnegative(body_groups.body_at(groups, at))
        slot = nonnegative(world * bodies + body)
        end = t.body_motion(motion, world, nonnegative(b.rows[body]))
        where = body_groups.begun(groups, body)
        if where < body_groups.IN_PART:
            work.book_work(energy, o.step[0], slot, end, place.sinkage[slot], effective[world, body])
            placement.remember_motion(g, o, b, place, body, slot, end)
        status = int(t.FINE)
        parts = place.parts[slot]
        waits = bool(False)
        stage_clock.end_lap(o, stages.BOOK)
        for part in range(wp.max(where - body_groups.IN_PART, 0), parts):
            m = placement.motion_in_part(o, motion, world, nonnegative(b.rows[body]), part, parts)
            before = win.frame[slot]  # a window that has not moved need not be filled again
            stays = bool(False)
            for stage in range(stages.PLACE, o.stages[0]):
                if stage == stages.PLACE:
                    placement.begin(g, o, b, place, win, skin, disp, slides, world, body, slot, m)
                    place_vertices(g, b, place, verts, world, body, slot, m)
                    status = placement.choose_window(g, o, place, win, slides, world, slot, m.position)
                    if groups.waits[0] == 1 and placement.lacks_tiles(g, win, world, slot):
                        waits = True
                        win.frame[slot].rows = 0
                    else:
                        status = placement.create_tiles(g, win, world, slot, status)
                    stays = is_same(before, win.frame[slot])
                elif win.frame[slot].rows > 0:  # else the body is far from the soil: skip the other stages
                    if stage == stages.GATHER:
                        gather(g, win, skin, world, slot, stays)
                    elif stage == stages.RASTER:
                        raster_body(g, b, place, win, verts, skin, world, body, slot, m)
                    elif stage == stages.DISPLACE:
                        # One call each, not one around them: a function that grows too large is not inlined in the
                        # kernel, and then does not know that arrays are contiguous.
                        if pushing.has_faces(faces, body):
                            cutting.sweep_faces(g, o, faces, push, place, skin, win, disp, world, body, slot, m)
                        removed = displacement.touch_nodes(g, o, b, place, skin, win, disp, slot)
                        if pressing.has_shapes(shapes, body):
                            removed += pressing.press_shapes(
                                g, o, shapes, place, win, points, disp, world, body, slot, m
                            )
                        if pushing.has_faces(faces, body):
                            cutting.include_swept(push, disp, slot)
                        displacement.displace(g, o, b, skin, win, verts, disp, world, body, slot, removed, m)
                    elif stage == stages.SHEAR:
                        shear(g, o, b, place, skin, win, verts, world, body, slot, m)
                    elif stage == stages.ERODE and o.sweeps > 0:
                        erosion.erode(g, o, skin, disp, win, slides, slot)
                    elif stage == stages.WRITE_BACK and win.changed[slot] == 1:
                        window.write_back(g, o, win, disp, slides, world, slot)
                    elif stage == stages.PUSH and pushing.has_faces(faces, body):
                        pushing.move_faces(g, o, faces, push, place, world, body, slot, m)
                stage_clock.end_lap(o, stage)
            if waits:  # nothing of this part is done: it begins again when the others have ended
                win.frame[slot] = before
                at = body_groups.put_off(groups, at, part)
                break
        if waits:
            at = body_groups.next_place(groups, at, bodies, own_end)
            continue
        if win.frame[slot].rows > 0 and status == t.FINE and step_error.is_loaded(disp, energy, slot):
            v = placement.contact_velocity(g, b, place, body, slot, end)
            status = grid_error.with_grid(
                step_error.judge_step(g, o, b, disp, energy, body, slot, v),
                grid_error.judge_grid(g, o, b, place, disp, energy, body, slot, v),
            )
        status_out[world, body] = status
        stage_clock.end_lap(o, stages.BOOK)
        at = body_groups.next_place(groups, at, bodies, own_end)


@wp.kernel(module=MODULE)
def evaluate_world(
    g: Ground, o: Options, b: Bodies, shapes: SmallShapes, points: Points, faces: Faces, push: Pushing,
    place: Placement, win: Window, skin: Skin, verts: Vertices, disp: Displacement, slides: Slides, pred: Prediction,
    energy: Energy,
    motion: MotionArrays, wrench_out: array2d[vec6], implicit_out: array2d[mat66], groups: BodyGroups,
):  # fmt: skip
    """Run the stages of `stages.EVALUATE` for every body of one world. Does not change the ground.

    One thread per world, or threads that share the bodies of one world.
    """
    assume_packed(g, o, b, shapes, points, faces, push, place, win, skin, verts, disp, slides, pred, energy)
    world = nonnegative(wp.tid())
    bodies = b.rows.shape[0]
    stage_clock.begin_lap(o)
    own_end = body_groups.own_end(groups)
    at = body_groups.first_place(groups, own_end)
    while at >= 0:
        body = nonnegative(body_groups.body_at(groups, at))
        slot = nonnegative(world * bodies + body)
        m = t.body_motion(motion, world, nonnegative(b.rows[body]))
        first_node = placement.first_node(g, win, slot, m.position)
        for stage in range(o.stages[1]):
            if stage == stages.REFRESH and o.shared_ground == 1 and win.frame[slot].rows > 0:
                window.refresh_window(g, win, world, slot)
            elif stage == stages.PREDICT and win.frame[slot].rows > 0:
                predict(g, o, b, place, win, skin, disp, pred, body, slot, first_node, m)
            elif stage == stages.FORCE:
                if win.frame[slot].rows > 0:
                    force(g, o, b, place, win, skin, verts, disp, pred, world, body, slot, first_node, m)
                else:
                    no_force(pred, slot)
                # Also for a body without a window: the wrench of the last step must be cleared, its account goes on.
                body_wrench.write_wrench(
                    g, o, shapes, points, faces, push, place, win, pred, energy, world, body, slot, m,
                    pred.wrench[slot], pred.sums[slot], pred.losses[slot], pred.loaded[slot], wrench_out, implicit_out,
                )  # fmt: skip
            stage_clock.end_lap(o, stages.PUSH + 1 + stage)
        at = body_groups.next_place(groups, at, bodies, own_end)
