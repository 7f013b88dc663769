"""Soil kernels with one team of lanes per body, see team.py. For many worlds on a GPU.

They call the same device functions in the same order as the kernels of per_world.py. Bodies of a world work at the same
time, unless their windows overlap: then they take turns, in the order of the bodies, as they do in per_world.py.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import (
    boxes,
    erosion,
    grid_error,
    placement,
    prefetch,
    raster,
    step_error,
    team,
    team_displacement,
    team_erosion,
    team_surface,
    team_window,
    window,
)
from grouser.contact.soil import energy as work
from grouser.contact.soil import face_cutting as cutting
from grouser.contact.soil import faces as pushing
from grouser.contact.soil import points as pressing
from grouser.contact.soil import shear as shearing
from grouser.contact.soil import types as t
from grouser.contact.soil.placement import MOST_PARTS
from grouser.contact.soil.team_displacement import nodes_of
from grouser.contact.soil.types import (
    Bodies,
    Displacement,
    Energy,
    Faces,
    MotionArrays,
    Options,
    Placement,
    Points,
    Pushing,
    Skin,
    Slides,
    SmallShapes,
    Vertices,
    Window,
)
from grouser.device import array, array2d, module, nonnegative
from grouser.precision import real, vec6
from grouser.terrain.ground import TILE, claim_tile
from grouser.terrain.ground import GroundArrays as Ground

MODULE = module("grouser.contact.soil.per_team")
MODULE.options["fast_math"] = True  # on CUDA, in float32: half as many instructions, 1e-6 instead of 1e-7 in a power
FAR = wp.constant(real(t.FAR))
SEEN = t.SEEN
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
    g: Ground, o: Options, b: Bodies, place: Placement, win: Window, energy: Energy, motion: MotionArrays,
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
    win.written[slot] = boxes.empty_box()
    for part in range(MOST_PARTS - parts, MOST_PARTS):
        part_needed[part] = 1
    work.book_work(energy, o.step[0], slot, m, place.sinkage[slot], effective[world, body])
    placement.remember_motion(g, o, b, place, body, slot, m)


# ---- place ------------------------------------------------------------------------------------------------


@wp.kernel(module=MODULE, cuda_max_registers=64)
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
    reach = placement.reach_of(g, b, body, m)
    width = reach.column1 - reach.column0
    prefetch.ground_in(g, world, reach.row0, reach.row1, reach.column0, width, lane, lanes)
    top, below = team_surface.highest_soil(g, b, world, body, m, lane, lanes)
    team.sync()
    if lane == 0:
        placement.start_part(place, win, skin, disp, slides, slot, top, below)
    team.sync()
    team_surface.place_vertices(g, b, place, verts, world, body, slot, m, lane, lanes)
    if lane == 0:
        place.area[slot] = boxes.everywhere()
        place.seen[slot] = boxes.everywhere()
        status_out[world, body] = placement.choose_window(g, o, place, win, slides, world, slot, m.position)


@wp.kernel(module=MODULE)
def take_turns(b: Bodies, place: Placement, win: Window, turn_needed: array[int]):
    """Let bodies of a world whose windows overlap work one after another, in their order. One thread per world."""
    world = wp.tid()
    bodies = b.rows.shape[0]
    for body in range(1, bodies):
        slot = nonnegative(world * bodies + body)
        turn = int(0)
        if win.frame[slot].rows > 0:
            own = boxes.grown(team_window.window_box(win, slot), DRIFT)
            for other in range(body):
                before = nonnegative(world * bodies + other)
                if win.frame[before].rows > 0 and place.turn[before] >= turn:
                    if not boxes.is_empty(boxes.common(own, team_window.window_box(win, before))):
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
                    if not claim_tile(g, world, i, j, team_window.UNFILLED):
                        win.frame[slot].rows = 0
                        status_out[world, body] = t.TILES_FULL


# ---- gather, raster ---------------------------------------------------------------------------------------


@wp.kernel(module=MODULE)
def prepare_tiles(
    g: Ground, b: Bodies, place: Placement, win: Window, turn: int, part: int, lanes: int
):  # fmt: skip
    """Set the levels of new tiles. One team per body."""
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    if takes_part(place, slot, turn, part) and win.frame[slot].rows > 0:
        team_window.fill_tiles(g, win, world, slot, lane, lanes)


@wp.kernel(module=MODULE)
def gather(g: Ground, b: Bodies, place: Placement, windows: Window, skin: Skin, turn: int, part: int, lanes: int):
    """Copy the soil into windows that have moved or whose tiles others have written to. One team per body."""
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    win = team_window.packed(windows, slot)
    if not takes_part(place, slot, turn, part) or win.frame[slot].rows == 0:
        return
    stays = team_window.is_same(win.filled[slot], win.frame[slot])
    writes = team_window.writes_to_tiles(g, win, world, slot)
    if not stays or win.writes_seen[slot] != writes:
        team_window.fill_window(g, win, world, slot, lane, lanes)
    team_window.clear_window(g, win, skin, world, slot, stays, lane, lanes)
    team.sync()
    if lane == 0:
        win.filled[slot] = win.frame[slot]
        win.writes_seen[slot] = writes
        win.dirty[slot] = boxes.empty_box()
        frame = win.frame[slot]
        for i in range(frame.row0 // TILE, (frame.row0 + frame.rows - 1) // TILE + 1):
            for j in range(frame.column0 // TILE, (frame.column0 + frame.columns - 1) // TILE + 1):
                wp.atomic_max(g.stamp, world, g.table[world, i, j], 0)  # its levels are set now


@wp.kernel(module=MODULE, cuda_max_registers=64)
def raster_bodies(
    g: Ground, o: Options, b: Bodies, place: Placement, windows: Window, verts: Vertices, skin: Skin,
    motion: MotionArrays, turn: int, part: int, lanes: int,
):  # fmt: skip
    """Find the height of the bodies' lower surfaces over the nodes of their windows. One team per body."""
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    win = team_window.packed(windows, slot)
    if not takes_part(place, slot, turn, part) or win.frame[slot].rows == 0:
        return
    prefetch.vertices_of(b, verts, world, body, lane, lanes)
    m = motion_now(o, b, place, motion, world, body, slot, part)
    # Twice: first heights, then the triangles they belong to. A loop, whose end is not known to the compiler: heights
    # are found again only if both passes run the same instructions.
    hit = boxes.empty_box()
    mode = int(raster.HEIGHTS)
    while mode <= wp.where(lanes > 0, raster.TRIANGLES, raster.HEIGHTS):
        around = team_surface.raster_triangles(g, b, place, win, verts, skin, world, body, slot, m, mode, lane, lanes)
        hit = boxes.spanning(hit, around)
        team.sync()
        mode += 1
    dirty = boxes.empty_box()
    crease = b.first_crease[body] + lane
    while crease < b.first_crease[body + 1]:
        raster.mark_crease(g, b, place, win, verts, skin, world, slot, crease, raster.HEIGHTS)
        dirty = boxes.spanning(dirty, raster.crease_box(g, b, place, win, verts, world, slot, crease))
        crease += lanes
    # Boxes are joined here, once: an atomic operation for every triangle would keep all lanes waiting for one word.
    hit = team_displacement.team_box(hit)
    dirty = team_displacement.team_box(dirty)
    if lane == 0:
        if not boxes.is_empty(hit):  # border nodes get marks too
            dirty = boxes.spanning(dirty, boxes.grown(hit, t.RING))
        win.dirty[slot] = boxes.spanning(win.dirty[slot], dirty)
        skin.hit[slot] = hit
        raster.close_hit(win, skin, slot)


# ---- displace, shear, erode -------------------------------------------------------------------------------


@wp.kernel(module=MODULE, cuda_max_registers=128)
def cut_soil(
    g: Ground, o: Options, b: Bodies, faces: Faces, push: Pushing, place: Placement, skin: Skin, windows: Window,
    disp: Displacement, motion: MotionArrays, turn: int, part: int,
):  # fmt: skip
    """Cut the soil ahead of steep faces. One thread per body: faces may share nodes."""
    world, body = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    win = team_window.packed(windows, slot)
    works = takes_part(place, slot, turn, part) and win.frame[slot].rows > 0
    if works and pushing.has_faces(faces, body):
        m = motion_now(o, b, place, motion, world, body, slot, part)
        cutting.sweep_faces(g, o, faces, push, place, skin, win, disp, world, body, slot, m)


@wp.kernel(module=MODULE, cuda_max_registers=64)
def touch(
    g: Ground, o: Options, b: Bodies, place: Placement, skin: Skin, windows: Window, disp: Displacement,
    turn: int, part: int, lanes: int,
):  # fmt: skip
    """Find the nodes in contact and their plastic sinkage. One team per body."""
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    win = team_window.packed(windows, slot)
    if takes_part(place, slot, turn, part) and win.frame[slot].rows > 0:
        prefetch.soil_of(win, skin, slot, skin.hit[slot], lane, lanes)
        team_displacement.touch_nodes(g, o, b, place, skin, win, disp, slot, lane, lanes)


@wp.kernel(module=MODULE)
def press_points(
    g: Ground, o: Options, b: Bodies, shapes: SmallShapes, points: Points, place: Placement, windows: Window,
    disp: Displacement, motion: MotionArrays, turn: int, part: int,
):  # fmt: skip
    """Press the small shapes of bodies. One thread per body: they have few points, several may press on one node."""
    world, body = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    win = team_window.packed(windows, slot)
    works = takes_part(place, slot, turn, part) and win.frame[slot].rows > 0
    if works and pressing.has_shapes(shapes, body):
        m = motion_now(o, b, place, motion, world, body, slot, part)
        sunk = pressing.press_shapes(g, o, shapes, place, win, points, disp, world, body, slot, m)
        disp.step_tally[slot].removed = disp.step_tally[slot].removed + sunk


@wp.kernel(module=MODULE, cuda_max_registers=80)
def find_spoil(
    g: Ground, o: Options, b: Bodies, faces: Faces, push: Pushing, place: Placement, windows: Window, skin: Skin,
    verts: Vertices, disp: Displacement, motion: MotionArrays, turn: int, part: int, lanes: int,
):  # fmt: skip
    """List the borders of the footprints and find how much soil the bodies displace. One team per body."""
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    win = team_window.packed(windows, slot)
    if not takes_part(place, slot, turn, part) or win.frame[slot].rows == 0:
        return
    prefetch.soil_of(win, skin, slot, boxes.grown(disp.near[slot], t.RING), lane, lanes)
    if pushing.has_faces(faces, body):
        if lane == 0:
            cutting.include_swept(push, disp, slot)
        team.sync()
    m = motion_now(o, b, place, motion, world, body, slot, part)
    team_displacement.find_spoil(g, o, b, skin, win, verts, disp, world, body, slot, m, lane, lanes)


@wp.kernel(module=MODULE, cuda_max_registers=80)
def move_soil(
    g: Ground, o: Options, b: Bodies, place: Placement, windows: Window, skin: Skin, disp: Displacement,
    motion: MotionArrays, turn: int, part: int, lanes: int,
):  # fmt: skip
    """Sink the soil under the bodies and put what they displace beside them. One team per body."""
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    win = team_window.packed(windows, slot)
    works = takes_part(place, slot, turn, part) and win.frame[slot].rows > 0
    if works and disp.contacts[slot].moves == 1:
        prefetch.soil_of(win, skin, slot, boxes.grown(disp.touched[slot], 1), lane, lanes)
        prefetch.displaced_by(win, disp, slot, disp.touched[slot], lane, lanes)
        m = motion_now(o, b, place, motion, world, body, slot, part)
        team_displacement.move_soil(g, o, b, skin, win, disp, body, slot, m, lane, lanes)


@wp.kernel(module=MODULE, cuda_max_registers=64)
def shear(
    g: Ground, o: Options, b: Bodies, place: Placement, skin: Skin, windows: Window, verts: Vertices,
    motion: MotionArrays, turn: int, part: int, lanes: int,
):  # fmt: skip
    """Advance the shear state of the bodies' vertices, or of the soil nodes below them. One team per body."""
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    win = team_window.packed(windows, slot)
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
        prefetch.vertices_of(b, verts, world, body, lane, lanes)
        prefetch.soil_of(win, skin, slot, skin.hit[slot], lane, lanes)
        team_surface.shear_vertices(g, o, b, place, skin, win, verts, world, body, slot, m, lane, lanes)


@wp.kernel(module=MODULE, cuda_max_registers=64)
def erode(
    g: Ground, o: Options, b: Bodies, place: Placement, skin: Skin, windows: Window, disp: Displacement, slides: Slides,
    turn: int, part: int, lanes: int,
):  # fmt: skip
    """Let steep slopes slide until they rest. One team per body."""
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    win = team_window.packed(windows, slot)
    if takes_part(place, slot, turn, part) and win.frame[slot].rows > 0:
        prefetch.soil_of(win, skin, slot, erosion.loose_nodes(win, disp, slides, slot), lane, lanes)
        team_erosion.erode(g, o, skin, disp, win, slides, slot, lane, lanes)


# ---- write back, push -------------------------------------------------------------------------------------


@wp.kernel(module=MODULE)
def write_back(
    g: Ground, o: Options, b: Bodies, place: Placement, windows: Window, disp: Displacement, slides: Slides,
    turn: int, part: int, lanes: int,
):  # fmt: skip
    """Copy the nodes that the step may have changed back into their tiles. One team per body."""
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    win = team_window.packed(windows, slot)
    works = takes_part(place, slot, turn, part) and win.frame[slot].rows > 0
    if not works or win.changed[slot] == 0:
        return
    frame = win.frame[slot]
    start = nonnegative(slot * win.nodes)
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
        win.written[slot] = boxes.spanning(win.written[slot], written)
        count = int(0)
        # Atomic: another body may write to other nodes of the same tile.
        for ti in range(written.row0 // TILE, written.row1 // TILE + 1):
            for tj in range(written.column0 // TILE, written.column1 // TILE + 1):
                wp.atomic_add(g.stamp, world, g.table[world, ti, tj], 1)
                count += 1
        win.writes_seen[slot] = win.writes_seen[slot] + count  # its own writes need not make it copy again


@wp.kernel(module=MODULE, cuda_max_registers=80)
def move_faces(
    g: Ground, o: Options, b: Bodies, faces: Faces, push: Pushing, place: Placement, windows: Window,
    motion: MotionArrays, turn: int, part: int, lanes: int,
):  # fmt: skip
    """Advance the state of steep faces. One team per body: a face sums up all soil ahead of it."""
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    win = team_window.packed(windows, slot)
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


KERNELS = [value for value in list(globals().values()) if isinstance(value, wp.Kernel)]
