"""Soil kernels with one team of lanes per body, see team.py. For many worlds on a GPU.

They call the same device functions in the same order as the kernels of per_world.py. Bodies of a world work at the same
time, unless their windows overlap: then they take turns, in the order of the bodies, as they do in per_world.py.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import (
    body_wrench,
    boxes,
    grid_error,
    implicit,
    losses,
    placement,
    raster,
    step_error,
    team,
    team_displacement,
    team_erosion,
    traction,
    window,
)
from grouser.contact.soil import energy as work
from grouser.contact.soil import face_cutting as cutting
from grouser.contact.soil import faces as pushing
from grouser.contact.soil import points as pressing
from grouser.contact.soil import shear as shearing
from grouser.contact.soil import types as t
from grouser.contact.soil.elements import MANY, BlockSums, Box, Extent, Frame, Losses
from grouser.contact.soil.placement import MOST_PARTS
from grouser.contact.soil.surface import CHUNK
from grouser.contact.soil.team_displacement import nodes_of
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
from grouser.device import array, array2d, module, nonnegative
from grouser.precision import mat66, real, vec3, vec6
from grouser.terrain.ground import TILE, base_height, claim_tile, surface_at, untouched
from grouser.terrain.ground import GroundArrays as Ground

MODULE = module("grouser.contact.soil.per_team")
FAR = wp.constant(real(t.FAR))
SEEN = t.SEEN
UNFILLED = -1  # stamp of a tile whose levels are not set yet
DRIFT = 2  # [nodes] farther than a window moves while the bodies of a world take turns


# ---- who works --------------------------------------------------------------------------------------------


@wp.func
def takes_part(place: Placement, slot: int, turn: int, part: int):
    """Whether a body works now: in its turn. A body that needs fewer parts of a step leaves out the first ones."""
    return place.turn[slot] == turn and part >= MOST_PARTS - place.parts[slot]


@wp.func
def motion_now(
    o: Options, b: Bodies, place: Placement, motion: MotionArrays, world: int, body: int, slot: int, part: int
):  # fmt: skip
    """Motion of a body at the end of a part of the step, counted from the most parts a step may have."""
    parts = place.parts[slot]
    return placement.motion_in_part(o, motion, world, b.rows[body], part - (MOST_PARTS - parts), parts)


@wp.kernel(module=MODULE)
def book(
    g: Ground, o: Options, b: Bodies, place: Placement, energy: Energy, motion: MotionArrays,
    effective: array2d[vec6], part_needed: array[int],
):  # fmt: skip
    """Book the work of the finished step and remember its motion; mark the parts that some body needs.

    One thread per body.
    """
    world, body = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    place.parts[slot] = 0  # no part: commit leaves this world as it is
    if o.active[world] == 0:
        return
    m = t.body_motion(motion, world, b.rows[body])
    parts = placement.parts_of_step(g, o, b, place, body, slot, m)
    place.parts[slot] = parts
    place.turn[slot] = 0
    for part in range(MOST_PARTS - parts, MOST_PARTS):
        part_needed[part] = 1
    work.book_work(energy, o.step[0], slot, m, place.sinkage[slot], effective[world, body])
    placement.remember_motion(g, o, b, place, body, slot, m)


# ---- place ------------------------------------------------------------------------------------------------


@wp.func
def highest_soil(g: Ground, b: Bodies, world: int, body: int, m: BodyMotion, lane: int, lanes: int):
    """See `placement.highest_soil`."""
    reach = placement.reach_of(g, b, body, m)
    width = wp.max(reach.column1 - reach.column0, 1)
    nodes = width * (reach.row1 - reach.row0)
    top = real(-FAR)
    below = real(-FAR)
    q = int(lane)
    while q < nodes:
        i = reach.row0 + q // width
        j = reach.column0 + q % width
        z = surface_at(g, world, i, j)
        top = wp.where(z > top, z, top)
        if real(i) >= reach.south and real(i) <= reach.north and real(j) >= reach.west and real(j) <= reach.east:
            below = wp.where(z > below, z, below)
        q += lanes
    top = team.most(top)
    below = team.most(below)
    return top, wp.where(below > -SEEN, below, top)


@wp.func
def next_chunk(left: int, lane: int, lanes: int):
    """Chunk that a lane works on next, negative for none, and the chunks that are `left` then, as bits.

    A chunk has half as many elements as a team has lanes, so a team works on two chunks at a time.
    """
    chunk = team.lowest_lane(left)
    left = left & (left - 1)
    if lanes > CHUNK:
        second = int(-1)
        if left != 0:
            second = team.lowest_lane(left)
            left = left & (left - 1)
        chunk = wp.where(lane < CHUNK, chunk, second)
    return chunk, left


@wp.func
def place_vertices(
    g: Ground, b: Bodies, place: Placement, verts: Vertices, world: int, body: int, slot: int, m: BodyMotion,
    lane: int, lanes: int,
):  # fmt: skip
    """Place the vertices that may reach the soil. Find the area they span and the deepest vertex."""
    cut = place.top[slot] + g.spacing + b.tip_reach[body]
    lean = placement.ground_slope(g, world, m.position)
    first = b.first_vertex[body]
    last = b.first_vertex[body + 1]
    first_chunk = b.first_vertex_chunk[body]
    chunks = b.first_vertex_chunk[body + 1] - first_chunk
    x0 = real(FAR)
    x1 = real(-FAR)
    y0 = real(FAR)
    y1 = real(-FAR)
    low = vec3(real(0.0), real(0.0), FAR)
    depth = real(FAR)
    deepest = int(MANY)
    base = int(0)
    while base < chunks:
        # Each lane looks at one chunk; then the lanes share the vertices of the chunks that are near.
        near = int(0)
        leaves = int(0)
        if base + lane < chunks:
            chunk = first_chunk + base + lane
            if placement.chunk_is_near(g, b, place, body, slot, chunk, m):
                near = 1
            elif verts.near_soil[world, chunk] == 1:  # the chunk has just left the soil
                leaves = 1
            if near != verts.near_soil[world, chunk]:
                verts.near_soil[world, chunk] = near
        left = team.lanes_where(near)
        while left != 0:
            chunk, left = next_chunk(left, lane, lanes)
            number = lane % CHUNK
            while chunk >= 0 and number < CHUNK:
                v = first + (base + chunk) * CHUNK + number
                if v < last:
                    spot = placement.place_vertex(g, b, verts, world, v, m)
                    # The footprint comes from the low part of the body only, the sinkage from the deepest vertex.
                    if spot[2] < cut:
                        x0 = wp.where(spot[0] < x0, spot[0], x0)
                        x1 = wp.where(spot[0] > x1, spot[0], x1)
                        y0 = wp.where(spot[1] < y0, spot[1], y0)
                        y1 = wp.where(spot[1] > y1, spot[1], y1)
                    below_ground = spot[2] - lean[0] * spot[0] - lean[1] * spot[1]
                    if below_ground < depth:
                        low = spot
                        depth = below_ground
                        deepest = v
                number += lanes
        left = team.lanes_where(leaves)
        while left != 0:
            chunk, left = next_chunk(left, lane, lanes)
            number = lane % CHUNK
            while chunk >= 0 and number < CHUNK:
                v = first + (base + chunk) * CHUNK + number
                if v < last:
                    placement.forget_vertex(verts, world, v)
                number += lanes
        base += lanes
    # Of equally deep vertices the first counts, as in per_world.py.
    least = team.least(depth)
    first_deepest = team.least_int(wp.where(depth == least, deepest, MANY))
    x0 = team.least(x0)
    x1 = team.most(x1)
    y0 = team.least(y0)
    y1 = team.most(y1)
    if lane == 0:
        place.extent[slot] = Extent(x0, x1, y0, y1)
    if deepest == first_deepest and deepest < MANY:
        place.lowest[slot] = low
    team.sync()


@wp.kernel(module=MODULE)
def place_bodies(
    g: Ground, o: Options, b: Bodies, place: Placement, win: Window, skin: Skin, verts: Vertices, disp: Displacement,
    slides: Slides, motion: MotionArrays, status_out: array2d[int], turn: int, part: int, ahead: int, lanes: int,
):  # fmt: skip
    """Find the soil that bodies can reach, place their vertices and choose their windows. One team per body.

    Launched once `ahead` of all turns, which follow from these windows, and then in each turn: other bodies may have
    changed the ground. A body that is the first to work and does so once need not be placed again.
    """
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    if not takes_part(place, slot, turn, part) or (ahead == 0 and turn == 0 and place.parts[slot] == 1):
        return
    m = motion_now(o, b, place, motion, world, body, slot, part)
    top, below = highest_soil(g, b, world, body, m, lane, lanes)
    team.sync()
    if lane == 0:
        placement.start_part(place, win, skin, disp, slides, slot, top, below)
    team.sync()
    place_vertices(g, b, place, verts, world, body, slot, m, lane, lanes)
    if lane == 0:
        status_out[world, body] = placement.choose_window(g, o, place, win, slides, world, slot, m.position)


@wp.func
def window_box(win: Window, slot: int):
    """The nodes of a window in the grid."""
    frame = win.frame[slot]
    return Box(frame.row0, frame.row0 + frame.rows - 1, frame.column0, frame.column0 + frame.columns - 1)


@wp.kernel(module=MODULE)
def take_turns(b: Bodies, place: Placement, win: Window, turn_needed: array[int]):
    """Let bodies of a world whose windows overlap work one after another, in their order. One thread per world."""
    world = wp.tid()
    bodies = b.rows.shape[0]
    for body in range(1, bodies):
        slot = nonnegative(world * bodies + body)
        turn = int(0)
        if win.frame[slot].rows > 0:
            own = boxes.grown(window_box(win, slot), DRIFT)
            for other in range(body):
                before = nonnegative(world * bodies + other)
                if win.frame[before].rows > 0 and place.turn[before] >= turn:
                    if not boxes.is_empty(boxes.common(own, window_box(win, before))):
                        turn = place.turn[before] + 1
        place.turn[slot] = turn
        if turn > 0:
            turn_needed[turn] = 1


@wp.kernel(module=MODULE)
def claim_tiles(
    g: Ground, b: Bodies, place: Placement, win: Window, status_out: array2d[int], turn: int, part: int
):  # fmt: skip
    """Number the tiles that windows need for the first time, in the order of the bodies. One thread per world."""
    world = wp.tid()
    bodies = b.rows.shape[0]
    for body in range(bodies):
        slot = nonnegative(world * bodies + body)
        frame = win.frame[slot]
        if takes_part(place, slot, turn, part) and frame.rows > 0:
            for i in range(frame.row0 // TILE, (frame.row0 + frame.rows - 1) // TILE + 1):
                for j in range(frame.column0 // TILE, (frame.column0 + frame.columns - 1) // TILE + 1):
                    if not claim_tile(g, world, i, j, UNFILLED):
                        win.frame[slot].rows = 0
                        status_out[world, body] = t.TILES_FULL


# ---- gather, raster ---------------------------------------------------------------------------------------


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


@wp.kernel(module=MODULE)
def prepare_tiles(
    g: Ground, b: Bodies, place: Placement, win: Window, turn: int, part: int, lanes: int
):  # fmt: skip
    """Set the levels of new tiles. One team per body."""
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    if takes_part(place, slot, turn, part) and win.frame[slot].rows > 0:
        fill_tiles(g, win, world, slot, lane, lanes)


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
    start = nonnegative(slot * win.side * win.side)
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
    """Reset the nodes that the last step wrote; all, if the window has moved and the ground has several soils."""
    frame = win.frame[slot]
    start = nonnegative(slot * win.side * win.side)
    box = boxes.common(win.dirty[slot], Box(0, win.side - 1, 0, win.side - 1))
    if not stays and g.base_soil.shape[0] > 1:  # the window holds other grid nodes now: read their soils again
        box = Box(0, frame.rows - 1, 0, frame.columns - 1)
    nodes, width = nodes_of(box)
    q = int(lane)
    while q < nodes:
        i = box.row0 + q // width
        j = box.column0 + q % width
        k = nonnegative(start + i * win.side + j)
        window.clear_node(g, win, skin, world, frame.row0 + i, frame.column0 + j, k)
        q += lanes


@wp.kernel(module=MODULE)
def gather(g: Ground, b: Bodies, place: Placement, win: Window, skin: Skin, turn: int, part: int, lanes: int):
    """Copy the soil into windows that have moved or whose tiles others have written to. One team per body."""
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    if not takes_part(place, slot, turn, part) or win.frame[slot].rows == 0:
        return
    stays = is_same(win.filled[slot], win.frame[slot])
    writes = writes_to_tiles(g, win, world, slot)
    if not stays or win.writes_seen[slot] != writes:
        fill_window(g, win, world, slot, lane, lanes)
    clear_window(g, win, skin, world, slot, stays, lane, lanes)
    team.sync()
    if lane == 0:
        win.filled[slot] = win.frame[slot]
        win.writes_seen[slot] = writes
        win.dirty[slot] = boxes.empty_box()
        frame = win.frame[slot]
        for i in range(frame.row0 // TILE, (frame.row0 + frame.rows - 1) // TILE + 1):
            for j in range(frame.column0 // TILE, (frame.column0 + frame.columns - 1) // TILE + 1):
                wp.atomic_max(g.stamp, world, g.table[world, i, j], 0)  # its levels are set now


@wp.func
def raster_triangles(
    g: Ground, b: Bodies, place: Placement, win: Window, verts: Vertices, skin: Skin,
    world: int, body: int, slot: int, m: BodyMotion, mode: int, lane: int, lanes: int,
):  # fmt: skip
    """Rasterise those triangles of a body that may reach the soil."""
    cut = place.below[slot] + g.spacing
    first = b.first_triangle[body]
    last = b.first_triangle[body + 1]
    first_chunk = b.first_triangle_chunk[body]
    chunks = b.first_triangle_chunk[body + 1] - first_chunk
    base = int(0)
    while base < chunks:
        # Two tests skip a whole chunk whose triangles are too high or all face upwards.
        near = int(0)
        if base + lane < chunks:
            c = first_chunk + base + lane
            low = placement.sphere_bottom(b.triangle_spheres[c], m.position, m.R) <= cut
            if low and not placement.faces_up(b.triangle_cones[c], m.R):
                near = 1
        left = team.lanes_where(near)
        while left != 0:
            chunk, left = next_chunk(left, lane, lanes)
            number = lane % CHUNK
            while chunk >= 0 and number < CHUNK:
                triangle = first + (base + chunk) * CHUNK + number
                if triangle < last:
                    raster.raster_triangle(g, b, place, win, verts, skin, world, slot, triangle, mode)
                number += lanes
        base += lanes


@wp.kernel(module=MODULE)
def raster_bodies(
    g: Ground, o: Options, b: Bodies, place: Placement, win: Window, verts: Vertices, skin: Skin,
    motion: MotionArrays, turn: int, part: int, lanes: int,
):  # fmt: skip
    """Find the height of the bodies' lower surfaces over the nodes of their windows. One team per body."""
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    if not takes_part(place, slot, turn, part) or win.frame[slot].rows == 0:
        return
    m = motion_now(o, b, place, motion, world, body, slot, part)
    # Twice: first heights, then the triangles they belong to.
    raster_triangles(g, b, place, win, verts, skin, world, body, slot, m, raster.HEIGHTS, lane, lanes)
    team.sync()
    raster_triangles(g, b, place, win, verts, skin, world, body, slot, m, raster.TRIANGLES, lane, lanes)
    team.sync()
    crease = b.first_crease[body] + lane
    while crease < b.first_crease[body + 1]:
        raster.mark_crease(g, b, place, win, verts, skin, world, slot, crease, raster.HEIGHTS)
        crease += lanes
    team.sync()
    if lane == 0:
        if skin.hit[slot].row1 >= skin.hit[slot].row0:  # border nodes get marks too
            win.dirty[slot] = boxes.spanning(win.dirty[slot], boxes.grown(skin.hit[slot], t.RING))
        raster.close_hit(win, skin, slot)


# ---- displace, shear, erode -------------------------------------------------------------------------------


@wp.kernel(module=MODULE, cuda_max_registers=128)
def cut_soil(
    g: Ground, o: Options, b: Bodies, faces: Faces, push: Pushing, place: Placement, skin: Skin, win: Window,
    disp: Displacement, motion: MotionArrays, turn: int, part: int,
):  # fmt: skip
    """Cut the soil ahead of steep faces. One thread per body: faces may share nodes."""
    world, body = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    works = takes_part(place, slot, turn, part) and win.frame[slot].rows > 0
    if works and pushing.has_faces(faces, body):
        m = motion_now(o, b, place, motion, world, body, slot, part)
        cutting.sweep_faces(g, o, faces, push, place, skin, win, disp, world, body, slot, m)


@wp.kernel(module=MODULE)
def touch(
    g: Ground, o: Options, b: Bodies, place: Placement, skin: Skin, win: Window, disp: Displacement,
    turn: int, part: int, lanes: int,
):  # fmt: skip
    """Find the nodes in contact and their plastic sinkage. One team per body."""
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    if takes_part(place, slot, turn, part) and win.frame[slot].rows > 0:
        team_displacement.touch_nodes(g, o, b, place, skin, win, disp, slot, lane, lanes)


@wp.kernel(module=MODULE)
def press_points(
    g: Ground, o: Options, b: Bodies, shapes: SmallShapes, points: Points, place: Placement, win: Window,
    disp: Displacement, motion: MotionArrays, turn: int, part: int,
):  # fmt: skip
    """Press the small shapes of bodies. One thread per body: they have few points, several may press on one node."""
    world, body = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    works = takes_part(place, slot, turn, part) and win.frame[slot].rows > 0
    if works and pressing.has_shapes(shapes, body):
        m = motion_now(o, b, place, motion, world, body, slot, part)
        sunk = pressing.press_shapes(g, o, shapes, place, win, points, disp, world, body, slot, m)
        disp.step_tally[slot].removed = disp.step_tally[slot].removed + sunk


@wp.kernel(module=MODULE, cuda_max_registers=80)
def find_spoil(
    g: Ground, o: Options, b: Bodies, faces: Faces, push: Pushing, place: Placement, win: Window, skin: Skin,
    verts: Vertices, disp: Displacement, motion: MotionArrays, turn: int, part: int, lanes: int,
):  # fmt: skip
    """List the borders of the footprints and find how much soil the bodies displace. One team per body."""
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    if not takes_part(place, slot, turn, part) or win.frame[slot].rows == 0:
        return
    if pushing.has_faces(faces, body):
        if lane == 0:
            cutting.include_swept(push, disp, slot)
        team.sync()
    m = motion_now(o, b, place, motion, world, body, slot, part)
    team_displacement.find_spoil(g, o, b, skin, win, verts, disp, world, body, slot, m, lane, lanes)


@wp.kernel(module=MODULE, cuda_max_registers=80)
def move_soil(
    g: Ground, o: Options, b: Bodies, place: Placement, win: Window, skin: Skin, disp: Displacement,
    motion: MotionArrays, turn: int, part: int, lanes: int,
):  # fmt: skip
    """Sink the soil under the bodies and put what they displace beside them. One team per body."""
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    works = takes_part(place, slot, turn, part) and win.frame[slot].rows > 0
    if works and disp.contacts[slot].moves == 1:
        m = motion_now(o, b, place, motion, world, body, slot, part)
        team_displacement.move_soil(g, o, b, skin, win, disp, body, slot, m, lane, lanes)


@wp.func
def shear_vertices(
    g: Ground, o: Options, b: Bodies, place: Placement, skin: Skin, win: Window, verts: Vertices,
    world: int, body: int, slot: int, m: BodyMotion, lane: int, lanes: int,
):  # fmt: skip
    """Advance the shear state of the vertices that may be in the soil."""
    first_chunk = b.first_vertex_chunk[body]
    chunks = b.first_vertex_chunk[body + 1] - first_chunk
    base = int(0)
    while base < chunks:
        near = int(0)
        if base + lane < chunks:
            near = verts.near_soil[world, first_chunk + base + lane]
        left = team.lanes_where(near)
        while left != 0:
            chunk, left = next_chunk(left, lane, lanes)
            number = lane % CHUNK
            while chunk >= 0 and number < CHUNK:
                v = b.first_vertex[body] + (base + chunk) * CHUNK + number
                if v < b.first_vertex[body + 1]:
                    if verts.place[world, v][2] < place.top[slot]:  # else it is above all soil: reset its shear
                        shearing.shear_vertex(g, o, b, skin, win, verts, world, body, slot, v, m)
                    else:
                        verts.shear[world, v] = vec3()
                number += lanes
        base += lanes


@wp.kernel(module=MODULE)
def shear(
    g: Ground, o: Options, b: Bodies, place: Placement, skin: Skin, win: Window, verts: Vertices,
    motion: MotionArrays, turn: int, part: int, lanes: int,
):  # fmt: skip
    """Advance the shear state of the bodies' vertices, or of the soil nodes below them. One team per body."""
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    if not takes_part(place, slot, turn, part) or win.frame[slot].rows == 0:
        return
    m = motion_now(o, b, place, motion, world, body, slot, part)
    if o.node_shear == 1:
        first_node = placement.first_node(g, win, slot, m.position)
        hit = skin.hit[slot]
        nodes, width = nodes_of(hit)
        q = int(lane)
        while q < nodes:
            shearing.shear_node(g, o, skin, win, slot, hit.row0 + q // width, hit.column0 + q % width, first_node, m)
            q += lanes
    elif b.first_triangle[body + 1] > b.first_triangle[body]:  # else small shapes only: their points keep the shear
        shear_vertices(g, o, b, place, skin, win, verts, world, body, slot, m, lane, lanes)


@wp.kernel(module=MODULE, cuda_max_registers=64)
def erode(
    g: Ground, o: Options, b: Bodies, place: Placement, skin: Skin, win: Window, disp: Displacement, slides: Slides,
    turn: int, part: int, lanes: int,
):  # fmt: skip
    """Let steep slopes slide until they rest. One team per body."""
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    if takes_part(place, slot, turn, part) and win.frame[slot].rows > 0:
        team_erosion.erode(g, o, skin, disp, win, slides, slot, lane, lanes)


# ---- write back, push -------------------------------------------------------------------------------------


@wp.kernel(module=MODULE)
def write_back(
    g: Ground, o: Options, b: Bodies, place: Placement, win: Window, disp: Displacement, slides: Slides,
    turn: int, part: int, lanes: int,
):  # fmt: skip
    """Copy the nodes that the step may have changed back into their tiles. One team per body."""
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    works = takes_part(place, slot, turn, part) and win.frame[slot].rows > 0
    if not works or win.changed[slot] == 0:
        return
    frame = win.frame[slot]
    start = nonnegative(slot * win.side * win.side)
    box = window.changed_box(o, win, disp, slides, slot)
    nodes, width = nodes_of(box)
    moved = real(0.0)
    q = int(lane)
    while q < nodes:
        i = box.row0 + q // width
        j = box.column0 + q % width
        row = frame.row0 + i
        column = frame.column0 + j
        tile = g.table[world, row // TILE, column // TILE]
        moved += window.scatter_node(g, win, world, tile, row, column, nonnegative(start + i * win.side + j))
        q += lanes
    moved = team.total(moved)
    if lane == 0:
        disp.tally[slot].moved = disp.tally[slot].moved + moved
        written = boxes.shifted(box, frame.row0, frame.column0)
        count = int(0)
        # Atomic: another body may write to other nodes of the same tile.
        for ti in range(written.row0 // TILE, written.row1 // TILE + 1):
            for tj in range(written.column0 // TILE, written.column1 // TILE + 1):
                wp.atomic_add(g.stamp, world, g.table[world, ti, tj], 1)
                count += 1
        win.writes_seen[slot] = win.writes_seen[slot] + count  # its own writes need not make it copy again


@wp.kernel(module=MODULE, cuda_max_registers=80)
def move_faces(
    g: Ground, o: Options, b: Bodies, faces: Faces, push: Pushing, place: Placement, win: Window,
    motion: MotionArrays, turn: int, part: int, lanes: int,
):  # fmt: skip
    """Advance the state of steep faces. One team per body: a face sums up all soil ahead of it."""
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    if takes_part(place, slot, turn, part) and win.frame[slot].rows > 0:
        m = motion_now(o, b, place, motion, world, body, slot, part)
        for f in range(faces.first_face[body], faces.first_face[body + 1]):
            pushing.move_face(g, o, faces, push, place, world, slot, f, m, lane, lanes)


@wp.kernel(module=MODULE)
def judge(
    g: Ground, o: Options, b: Bodies, place: Placement, disp: Displacement, energy: Energy, win: Window,
    motion: MotionArrays, status_out: array2d[int], part_needed: array[int], turn_needed: array[int],
):  # fmt: skip
    """Write the status of the step, and clear the marks of `book` and `take_turns`. One thread per body."""
    world, body = wp.tid()
    if world == 0 and body == 0:
        for part in range(part_needed.shape[0]):
            part_needed[part] = 0
        for turn in range(turn_needed.shape[0]):
            turn_needed[turn] = 0
    slot = nonnegative(world * b.rows.shape[0] + body)
    if place.parts[slot] == 0 or win.frame[slot].rows == 0 or status_out[world, body] != t.FINE:
        return
    if step_error.is_loaded(disp, energy, slot):
        v = placement.contact_velocity(g, b, place, body, slot, t.body_motion(motion, world, b.rows[body]))
        status_out[world, body] = grid_error.with_grid(
            step_error.judge_step(g, o, b, disp, energy, body, slot, v),
            grid_error.judge_grid(g, o, b, place, disp, energy, body, slot, v),
        )


# ---- evaluate ---------------------------------------------------------------------------------------------


@wp.kernel(module=MODULE)
def predict(
    g: Ground, o: Options, b: Bodies, place: Placement, win: Window, skin: Skin, disp: Displacement, pred: Prediction,
    motion: MotionArrays, lanes: int,
):  # fmt: skip
    """Predict body and soil at the end of the step and list the nodes that carry load. One team per body."""
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    if win.frame[slot].rows == 0:
        if lane == 0:
            pred.loaded[slot] = 0
        return
    # Another body may have changed the soil since this one committed.
    if o.shared_ground == 1:
        writes = writes_to_tiles(g, win, world, slot)
        stale = win.writes_seen[slot] != writes
        team.sync()
        if stale:
            fill_window(g, win, world, slot, lane, lanes)
            if lane == 0:
                win.writes_seen[slot] = writes
        team.sync()
    m = t.body_motion(motion, world, b.rows[body])
    first_node = placement.first_node(g, win, slot, m.position)
    frame = win.frame[slot]
    start = nonnegative(slot * win.side * win.side)
    near = disp.near[slot]
    nodes, width = nodes_of(near)
    # One row more on every side, which slopes need.
    if nodes > 0:
        box = boxes.grown(near, 1)
        wide = width + 2
        count = wide * (box.row1 - box.row0 + 1)
        q = int(lane)
        while q < count:
            i = box.row0 + q // wide
            j = box.column0 + q % wide
            traction.predict_node(g, o, b, place, win, skin, disp, pred, body, slot, frame, i, j, first_node, m)
            q += lanes
    team.sync()
    # Most nodes near a body carry nothing: a list keeps all lanes of the next kernel at work.
    loaded = int(0)
    base = int(0)
    while base < nodes:
        q = base + lane
        node = int(0)
        carries = int(0)
        if q < nodes:
            node = (near.row0 + q // width) * win.side + near.column0 + q % width
            if traction.loaded(pred, win.side, nonnegative(start + node), g.spacing):
                carries = 1
        at = loaded + team.rank(carries)
        if carries == 1:
            pred.nodes[nonnegative(start + at)] = node
        loaded += team.count(carries)
        base += lanes
    if lane == 0:
        pred.loaded[slot] = loaded


@wp.kernel(module=MODULE, cuda_max_registers=128)
def force(
    g: Ground, o: Options, b: Bodies, place: Placement, win: Window, skin: Skin, verts: Vertices, disp: Displacement,
    pred: Prediction, motion: MotionArrays, lanes: int,
):  # fmt: skip
    """Sum wrench, implicit block and losses over the nodes that carry load. One team per body."""
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    wrench = vec6()
    sums = BlockSums()
    lost = Losses()
    loaded = pred.loaded[slot]
    if loaded > 0:
        m = t.body_motion(motion, world, b.rows[body])
        first_node = placement.first_node(g, win, slot, m.position)
        start = nonnegative(slot * win.side * win.side)
        q = int(lane)
        while q < loaded:
            node = pred.nodes[nonnegative(start + q)]
            part, share, worn = traction.node_force(
                g, o, b, place, win, skin, verts, disp, pred, world, body, slot, node // win.side, node % win.side,
                first_node, m,
            )  # fmt: skip
            wrench += part
            sums = implicit.plus(sums, share)
            lost = losses.plus(lost, worn)
            q += lanes
    wrench = team.total_vector(wrench)
    nn = team.total_vector(sums.nn)
    mn = team.total_matrix(sums.mn)
    mm = team.total_vector(sums.mm)
    weight = team.total(sums.weight)
    lever = vec3(team.total(sums.lever[0]), team.total(sums.lever[1]), team.total(sums.lever[2]))
    lever2 = team.total_vector(sums.lever2)
    by_kind = team.total_vector(vec6(lost.stored, lost.sinkage, lost.spoil, lost.damping, lost.shear, lost.faces))
    if lane == 0:
        pred.wrench[slot] = wrench
        pred.sums[slot] = BlockSums(nn, mn, mm, weight, lever, lever2)
        pred.losses[slot] = Losses(by_kind[0], by_kind[1], by_kind[2], by_kind[3], by_kind[4], by_kind[5])


@wp.kernel(module=MODULE)
def sum_up(
    g: Ground, o: Options, b: Bodies, shapes: SmallShapes, points: Points, faces: Faces, push: Pushing,
    place: Placement, win: Window, pred: Prediction, energy: Energy, motion: MotionArrays,
    wrench_out: array2d[vec6], implicit_out: array2d[mat66],
):  # fmt: skip
    """Add small shapes and steep faces, limit the energy given back, write the result. One thread per body."""
    world, body = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    body_wrench.write_wrench(
        g, o, shapes, points, faces, push, place, win, pred, energy, world, body, slot,
        t.body_motion(motion, world, b.rows[body]), pred.wrench[slot], pred.sums[slot], pred.losses[slot],
        pred.loaded[slot], wrench_out, implicit_out,
    )  # fmt: skip


KERNELS = [value for value in list(globals().values()) if isinstance(value, wp.Kernel)]
