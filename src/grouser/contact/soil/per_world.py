"""Soil kernels with one thread per world and the loops inside: two launches per step. For few worlds on a CPU.

They call the same device functions in the same order as the kernels of per_node.py; on the CPU both agree bit for bit.
Inner loops are `while`: a Warp `for` loop also carries its step, which costs as much time as a whole light body.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import (
    body_wrench,
    boxes,
    edges,
    erosion,
    implicit,
    patch,
    placement,
    raster,
    sinkage,
    spoil,
    stages,
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
    BodyMotion,
    Box,
    Displacement,
    Energy,
    Extent,
    Faces,
    Frame,
    MotionArrays,
    Options,
    Placement,
    Points,
    Prediction,
    Pushing,
    Skin,
    Slides,
    SmallShapes,
    Spoil,
    Vertices,
    Window,
)
from grouser.device import array2d, module, nonnegative
from grouser.precision import mat66, real, vec2, vec3, vec6
from grouser.terrain.ground import GroundArrays as Ground

MODULE = module("grouser.contact.soil.per_world")
EVALUATE_STAGES = len(stages.EVALUATE)
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
    lean = placement.ground_slope(g, m.position)
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
    window.clear_window(g, win, skin, slot, stays)


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


# ---- displace ---------------------------------------------------------------------------------------------


@wp.func
def touch_nodes(
    g: Ground, o: Options, b: Bodies, place: Placement, skin: Skin, win: Window, disp: Displacement, slot: int
):  # fmt: skip
    """Mark the nodes in contact and near contact. Returns the sum of the plastic sinkage of all nodes [m]."""
    start = nonnegative(slot * win.side * win.side)
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
    start = nonnegative(slot * win.side * win.side)
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
    start = nonnegative(slot * win.side * win.side)
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
    start = nonnegative(slot * win.side * win.side)
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
    start = nonnegative(slot * win.side * win.side)
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
    start = nonnegative(slot * win.side * win.side)
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
    start = nonnegative(slot * win.side * win.side)
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
    g: Ground, o: Options, b: Bodies, shapes: SmallShapes, faces: Faces, push: Pushing, place: Placement, skin: Skin,
    points: Points, win: Window, verts: Vertices, disp: Displacement, world: int, body: int, slot: int, m: BodyMotion,
):  # fmt: skip
    """Sink the soil under the footprint plastically and move the displaced soil to its border."""
    if pushing.has_faces(faces, body):
        cutting.sweep_faces(g, o, faces, push, place, skin, win, disp, world, body, slot, m)
    removed = touch_nodes(g, o, b, place, skin, win, disp, slot)
    if pressing.has_shapes(shapes, body):
        removed += pressing.press_shapes(g, o, shapes, place, win, points, disp, world, body, slot, m)
    if pushing.has_faces(faces, body):
        cutting.include_swept(push, disp, slot)
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


# ---- shear ------------------------------------------------------------------------------------------------


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
    last = b.first_vertex[body + 1]
    for c in range(b.first_vertex_chunk[body], b.first_vertex_chunk[body + 1]):
        if verts.near_soil[world, c] == 1:
            first = b.first_vertex[body] + (c - b.first_vertex_chunk[body]) * CHUNK
            for v in range(first, wp.min(first + CHUNK, last)):
                if verts.place[world, v][2] < place.top[slot]:  # else the vertex is above all soil: reset its shear
                    shearing.shear_vertex(g, o, b, skin, win, verts, world, body, slot, v, m)
                else:
                    verts.shear[world, v] = vec3()


# ---- evaluate ---------------------------------------------------------------------------------------------


@wp.func
def predict(
    g: Ground, o: Options, place: Placement, win: Window, skin: Skin, disp: Displacement, pred: Prediction,
    slot: int, first_node: vec3, m: BodyMotion,
):  # fmt: skip
    """Predict the end of the step at all nodes near the body and one row around them, which slopes need."""
    near = disp.near[slot]
    frame = win.frame[slot]
    for i in range(near.row0 - 1, near.row1 + 2):
        j = int(near.column0 - 1)
        while j <= near.column1 + 1:
            traction.predict_node(g, o, place, win, skin, disp, pred, slot, frame, i, j, first_node, m)
            j += 1


@wp.func
def force(
    g: Ground, o: Options, b: Bodies, shapes: SmallShapes, points: Points, faces: Faces, push: Pushing,
    place: Placement, win: Window, skin: Skin, verts: Vertices, disp: Displacement, pred: Prediction, energy: Energy,
    world: int, body: int, slot: int, first_node: vec3, m: BodyMotion,
    wrench_out: array2d[vec6], implicit_out: array2d[mat66],
):  # fmt: skip
    """Sum the forces of all loaded nodes and points. A body without a window gets no force."""
    wrench = vec6()
    sums = BlockSums()
    nodes = int(0)
    if win.frame[slot].rows > 0:
        start = nonnegative(slot * win.side * win.side)
        near = disp.near[slot]
        for i in range(near.row0, near.row1 + 1):
            j = int(near.column0)
            while j <= near.column1:
                # Most nodes near a body carry nothing: this test is cheap, the force is not.
                if traction.loaded(pred, win.side, nonnegative(start + i * win.side + j), g.spacing):
                    part, share = traction.node_force(
                        g, o, b, place, win, skin, verts, disp, pred, world, body, slot, i, j, first_node, m
                    )
                    wrench += part
                    sums = implicit.plus(sums, share)
                    nodes += 1
                j += 1
    # Also for a body without a window: the wrench of the last step must be cleared, and its account goes on.
    body_wrench.write_wrench(
        g, o, shapes, points, faces, push, place, win, pred, energy, world, body, slot, m, wrench, sums, nodes,
        wrench_out, implicit_out,
    )  # fmt: skip


# ---- kernels ----------------------------------------------------------------------------------------------


@wp.kernel(module=MODULE)
def commit_world(
    g: Ground, o: Options, b: Bodies, shapes: SmallShapes, points: Points, faces: Faces, push: Pushing,
    place: Placement, win: Window, skin: Skin, verts: Vertices, disp: Displacement, slides: Slides, pred: Prediction,
    energy: Energy,
    motion: MotionArrays, effective: array2d[vec6], status_out: array2d[int],
):  # fmt: skip
    """Run the stages of `stages.COMMIT` for every body of one world, body by body. One thread per world."""
    assume_packed(g, o, b, shapes, points, faces, push, place, win, skin, verts, disp, slides, pred, energy)
    world = nonnegative(wp.tid())
    bodies = b.rows.shape[0]
    for body in range(bodies):
        slot = nonnegative(world * bodies + body)
        end = t.body_motion(motion, world, nonnegative(b.rows[body]))
        work.book_work(energy, o.step[0], slot, end, effective[world, body])
        placement.remember_motion(o, place, slot, end.velocity)
        status = int(t.FINE)
        parts = placement.parts_of_step(o, b, body, end)
        for part in range(parts):
            m = placement.motion_in_part(o, motion, world, nonnegative(b.rows[body]), part, parts)
            before = win.frame[slot]  # a window that has not moved need not be filled again
            stays = bool(False)
            for stage in range(stages.PLACE, o.stages[0]):
                if stage == stages.PLACE:
                    placement.begin(g, o, b, place, win, skin, disp, slides, world, body, slot, m)
                    place_vertices(g, b, place, verts, world, body, slot, m)
                    status = placement.open_window(g, o, place, win, slides, world, slot, m.position)
                    stays = is_same(before, win.frame[slot])
                elif win.frame[slot].rows > 0:  # else the body is far from the soil: skip the other stages
                    if stage == stages.GATHER:
                        gather(g, win, skin, world, slot, stays)
                    elif stage == stages.RASTER:
                        raster_body(g, b, place, win, verts, skin, world, body, slot, m)
                    elif stage == stages.DISPLACE:
                        displace(
                            g, o, b, shapes, faces, push, place, skin, points, win, verts, disp, world, body, slot, m
                        )
                    elif stage == stages.SHEAR:
                        shear(g, o, b, place, skin, win, verts, world, body, slot, m)
                    elif stage == stages.ERODE and o.sweeps > 0:
                        erosion.erode(g, o, skin, disp, win, slides, slot)
                    elif stage == stages.WRITE_BACK and win.changed[slot] == 1:
                        window.write_back(g, o, win, disp, slides, world, slot)
                    elif stage == stages.PUSH and pushing.has_faces(faces, body):
                        pushing.move_faces(g, o, faces, push, place, world, body, slot, m)
        touching = disp.contacts[slot].nodes + disp.contacts[slot].pressed > 0
        if win.frame[slot].rows > 0 and status == t.FINE and touching:
            status = step_error.judge_step(g, o, place, disp, energy, slot)
        status_out[world, body] = status


@wp.kernel(module=MODULE)
def evaluate_world(
    g: Ground, o: Options, b: Bodies, shapes: SmallShapes, points: Points, faces: Faces, push: Pushing,
    place: Placement, win: Window, skin: Skin, verts: Vertices, disp: Displacement, slides: Slides, pred: Prediction,
    energy: Energy,
    motion: MotionArrays, wrench_out: array2d[vec6], implicit_out: array2d[mat66],
):  # fmt: skip
    """Run the stages of `stages.EVALUATE` for every body of one world. Does not change the ground."""
    assume_packed(g, o, b, shapes, points, faces, push, place, win, skin, verts, disp, slides, pred, energy)
    world = nonnegative(wp.tid())
    bodies = b.rows.shape[0]
    for body in range(bodies):
        slot = nonnegative(world * bodies + body)
        m = t.body_motion(motion, world, nonnegative(b.rows[body]))
        first_node = placement.first_node(g, win, slot, m.position)
        for stage in range(EVALUATE_STAGES):
            if stage == stages.REFRESH and o.shared_ground == 1 and win.frame[slot].rows > 0:
                window.refresh_window(g, win, world, slot)
            elif stage == stages.PREDICT and win.frame[slot].rows > 0:
                predict(g, o, place, win, skin, disp, pred, slot, first_node, m)
            elif stage == stages.FORCE:
                force(
                    g, o, b, shapes, points, faces, push, place, win, skin, verts, disp, pred, energy,
                    world, body, slot, first_node, m, wrench_out, implicit_out,
                )  # fmt: skip
