"""Stage `place`: locate a body, find the soil it can reach, and choose the nodes of its window."""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import boxes, laws
from grouser.contact.soil import types as t
from grouser.contact.soil.elements import Extent, Frame, Travel
from grouser.contact.soil.types import (
    SEEN,
    Bodies,
    BodyMotion,
    Cone,
    Displacement,
    MotionArrays,
    Options,
    Placement,
    Skin,
    Slides,
    Sphere,
    Vertices,
    Window,
)
from grouser.device import nonnegative, struct
from grouser.precision import cell_slack, mat33, real, vec2, vec3
from grouser.terrain.ground import SURFACE, TILE, allocate_tile, base_height, surface_at
from grouser.terrain.ground import GroundArrays as Ground

MOST_PARTS = 8  # largest number of parts of a step in which the soil follows a body
FAR = wp.constant(real(t.FAR))


# ---- motion ---------------------------------------------------------------------------------------------


@wp.func
def level_speed(velocity: vec3):
    """Speed [m/s] along the ground."""
    return wp.sqrt(velocity[0] * velocity[0] + velocity[1] * velocity[1])


@wp.func
def contact_velocity(g: Ground, b: Bodies, place: Placement, body: int, slot: int, m: BodyMotion):
    """Velocity [m/s] with which the contact of a body moves over the ground.

    That of the axle for a wheel, else that of the body where it is deepest: the tip of a shovel on a hinge, or a foot,
    moves though its frame may not. The contact of a ball that rolls moves on with its centre, and the ball does not
    move where it touches: of a round body the faster of frame and contact counts.
    """
    low = place.lowest[slot]
    if b.rolls[body] > real(0.0) or place.sinkage[slot] <= real(0.0) or low[2] > SEEN:
        return m.velocity
    arm = vec3(g.x0 + low[0] * g.spacing, g.y0 + low[1] * g.spacing, low[2]) - m.position
    at = m.velocity + wp.cross(m.angular_velocity, arm)
    if b.rounded[body] == 1 and level_speed(m.velocity) > level_speed(at):
        return m.velocity
    return at


@wp.func
def remember_motion(g: Ground, o: Options, b: Bodies, place: Placement, body: int, slot: int, m: BodyMotion):
    """Store the velocity at the end of the step, and what `types.Travel` derives from them."""
    h = o.step[0]
    velocity = m.velocity
    last = place.travel[slot].velocity
    change = velocity[2] - last[2]  # distinguishes a fall from a body that is driven down at constant speed
    yield_offset = laws.yield_offset(h, velocity[2], change)
    per_prediction_error = real(1.0) / laws.prediction_error(h, change)
    travel = h * level_speed(contact_velocity(g, b, place, body, slot, m))
    far = wp.clamp(real(2.0) * travel / o.part_travel - real(1.0), real(0.0), real(1.0))
    place.travel[slot] = Travel(velocity, yield_offset, per_prediction_error, far)


@wp.func
def most_parts(b: Bodies, body: int):
    """Largest number of parts of a step of a body. Small shapes have one: their points are not bound to nodes."""
    return wp.where(b.first_triangle[body + 1] == b.first_triangle[body], 1, MOST_PARTS)


@wp.func
def parts_of_step(g: Ground, o: Options, b: Bodies, place: Placement, body: int, slot: int, m: BodyMotion):
    """Number of parts in which the soil follows a body through a step. `place` is that of the step before.

    The footprint of a body that travels moves on by whole nodes, and its spoil goes ahead of it. In one step of half a
    cell it would be put too far ahead, and the body would meet it too late.
    """
    travel = o.step[0] * level_speed(contact_velocity(g, b, place, body, slot, m))
    return wp.clamp(int(wp.ceil(travel / o.part_travel)), 1, most_parts(b, body))


@wp.func
def pose_in_part(o: Options, motion: MotionArrays, world: int, row: int, part: int, parts: int):
    """Position and rotation of a body at the end of one of several parts of a step: back from its end by velocity."""
    position = motion.position[world, row]
    rotation = motion.rotation[world, row]
    back = o.step[0] * real(parts - 1 - part) / real(parts)
    speed = wp.length(motion.angular_velocity[world, row])
    if back > real(0.0):
        position -= back * motion.velocity[world, row]
        if speed > real(0.0):
            axis = motion.angular_velocity[world, row] / speed
            rotation = wp.quat_from_axis_angle(axis, -speed * back) * rotation
    return position, rotation


@wp.func
def motion_in_part(o: Options, motion: MotionArrays, world: int, row: int, part: int, parts: int):
    """Motion of a body at the end of one of several parts of a step."""
    position, rotation = pose_in_part(o, motion, world, row, part, parts)
    velocity = motion.velocity[world, row]
    omega = motion.angular_velocity[world, row]
    return BodyMotion(position, wp.quat_to_matrix(rotation), velocity, omega, o.step[0] / real(parts))


# ---- begin ----------------------------------------------------------------------------------------------


@struct
class Reach:
    """Nodes around the bounding box of a body in plan view, and the sides of that box [cells]."""

    row0: int
    row1: int  # one past the last
    column0: int
    column1: int  # one past the last
    south: real
    north: real
    west: real
    east: real


@wp.func(inline=True)
def reach_of(g: Ground, b: Bodies, body: int, m: BodyMotion):
    """Nodes around the bounding box of a body in plan view."""
    x = (m.position[0] - g.x0) * g.per_spacing
    y = (m.position[1] - g.y0) * g.per_spacing
    R = m.R
    # Half sides [cells] of the axis-aligned box around the body's own box as it is turned now.
    half = b.half[body]
    along = (wp.abs(R[0, 0]) * half[0] + wp.abs(R[0, 1]) * half[1] + wp.abs(R[0, 2]) * half[2]) * g.per_spacing
    across = (wp.abs(R[1, 0]) * half[0] + wp.abs(R[1, 1]) * half[1] + wp.abs(R[1, 2]) * half[2]) * g.per_spacing
    return Reach(
        wp.max(int(wp.floor(y - across)), 0), wp.min(int(wp.ceil(y + across)), g.rows - 1) + 1,
        wp.max(int(wp.floor(x - along)), 0), wp.min(int(wp.ceil(x + along)), g.columns - 1) + 1,
        y - across - cell_slack, y + across + cell_slack, x - along - cell_slack, x + along + cell_slack,
    )  # fmt: skip


@wp.func
def highest_of_row(
    g: Ground, world: int, tile: int, row: int, column0: int, column1: int, grid_column: int,
    west: real, east: real, highest: real, highest_inside: real,
):  # fmt: skip
    """Heights [m] of the highest node in part of a row of a tile, and of the highest between two columns [cells].

    Each is at least the value given. `grid_column` is the column of the tile in the grid.
    """
    top = real(highest)
    below = real(highest_inside)
    j = int(column0)
    while j < column1:
        z = g.levels[world, tile, row, nonnegative(j)][SURFACE]
        top = wp.where(z > top, z, top)
        if real(grid_column + j) >= west and real(grid_column + j) <= east:
            below = wp.where(z > below, z, below)
        j += 1
    return vec2(top, below)


@wp.func
def highest_soil(g: Ground, b: Bodies, world: int, body: int, m: BodyMotion):
    """Height [m] of the highest soil node around the bounding box of a body in plan view, and of the highest inside it.

    Without a node inside both are the same.
    """
    reach = reach_of(g, b, body, m)
    top = real(-FAR)
    below = real(-FAR)
    # Tile by tile: one table lookup per tile instead of one per node.
    for ti in range(reach.row0 // TILE, (reach.row1 - 1) // TILE + 1):
        for tj in range(reach.column0 // TILE, (reach.column1 - 1) // TILE + 1):
            tile = g.table[world, ti, tj]
            i1 = wp.min(reach.row1, (ti + 1) * TILE)
            j1 = wp.min(reach.column1, (tj + 1) * TILE)
            j0 = wp.max(reach.column0, tj * TILE)
            i = int(wp.max(reach.row0, ti * TILE))
            while i < i1:
                inside = real(i) >= reach.south and real(i) <= reach.north
                if tile >= 0:
                    east = wp.where(inside, reach.east, real(-1.0))  # no column is as far west
                    both = highest_of_row(
                        g, world, tile, nonnegative(i - ti * TILE), j0 - tj * TILE, j1 - tj * TILE, tj * TILE,
                        reach.west, east, top, below,
                    )  # fmt: skip
                    top = both[0]
                    below = both[1]
                else:
                    j = int(j0)
                    while j < j1:
                        z = surface_at(g, world, i, j)
                        top = wp.where(z > top, z, top)
                        if inside and real(j) >= reach.west and real(j) <= reach.east:
                            below = wp.where(z > below, z, below)
                        j += 1
                i += 1
    return top, wp.where(below > -SEEN, below, top)


@wp.func
def begin(
    g: Ground, o: Options, b: Bodies, place: Placement, win: Window, skin: Skin, disp: Displacement, slides: Slides,
    world: int, body: int, slot: int, m: BodyMotion,
):  # fmt: skip
    """Start a step of one body, or a part of it: find the soil it can reach, reset boxes and counts of later stages."""
    top, below = highest_soil(g, b, world, body, m)
    start_part(place, win, skin, disp, slides, slot, top, below)


@wp.func
def start_part(
    place: Placement, win: Window, skin: Skin, disp: Displacement, slides: Slides, slot: int, top: real, below: real
):  # fmt: skip
    """Store the heights of `highest_soil` and reset the boxes and counts of later stages."""
    place.top[slot] = top
    place.below[slot] = below
    # Inverted limits, so that the first vertex sets all of them.
    place.lowest[slot] = vec3(real(0.0), real(0.0), FAR)
    place.extent[slot] = Extent(FAR, -FAR, FAR, -FAR)
    win.frame[slot].rows = 0
    win.frame[slot].columns = 0
    win.changed[slot] = 0
    disp.contacts[slot].nodes = 0
    disp.contacts[slot].pressed = 0
    disp.contacts[slot].border = 0
    skin.hit[slot] = boxes.empty_box()
    disp.near[slot] = boxes.empty_box()
    disp.touched[slot] = boxes.empty_box()
    slides.moving[slot] = boxes.empty_box()


# ---- vertices -------------------------------------------------------------------------------------------


@wp.func
def ground_slope(g: Ground, world: int, position: vec3):
    """Rise of the undisturbed ground below a body per column and per row [m]."""
    row = wp.clamp(int(wp.floor((position[1] - g.y0) * g.per_spacing)), 0, g.rows - 2)
    column = wp.clamp(int(wp.floor((position[0] - g.x0) * g.per_spacing)), 0, g.columns - 2)
    z = base_height(g, world, row, column)
    return vec2(base_height(g, world, row, column + 1) - z, base_height(g, world, row + 1, column) - z)


@wp.func
def lies_deeper(at: vec3, low: vec3, lean: vec2):
    """Whether the vertex `at` lies deeper below the inclined ground than `low`, the deepest one so far."""
    return at[2] - lean[0] * at[0] - lean[1] * at[1] < low[2] - lean[0] * low[0] - lean[1] * low[1]


@wp.func
def ground_above(g: Ground, world: int, at: vec3):
    """Height [m] of the undisturbed ground at the column and row of a vertex, bilinear."""
    row = wp.clamp(int(wp.floor(at[1])), 0, g.rows - 2)
    column = wp.clamp(int(wp.floor(at[0])), 0, g.columns - 2)
    v = at[1] - real(row)
    u = at[0] - real(column)
    west = base_height(g, world, row, column)
    low = west + u * (base_height(g, world, row, column + 1) - west)
    west = base_height(g, world, row + 1, column)
    high = west + u * (base_height(g, world, row + 1, column + 1) - west)
    return low + v * (high - low)


@wp.func
def sphere_bottom(sphere: Sphere, position: vec3, R: mat33):
    """Height [m] of the lowest point of a bounding sphere of a body."""
    c = sphere.centre
    return R[2, 0] * c[0] + R[2, 1] * c[1] + R[2, 2] * c[2] + position[2] - sphere.radius


@wp.func
def faces_up(cone: Cone, R: mat33):
    """Whether all triangles of a chunk face upwards or are walls, so that none of them presses on soil."""
    a = cone.axis
    return R[2, 0] * a[0] + R[2, 1] * a[1] + R[2, 2] * a[2] >= cone.limit


@wp.func
def chunk_is_near(g: Ground, b: Bodies, place: Placement, body: int, slot: int, chunk: int, m: BodyMotion):
    """Whether a chunk of vertices may hold corners of triangles that reach the soil."""
    # A triangle reaches at most its longest edge below a corner. One cell more, because the soil also looks at surfaces
    # just above it.
    limit = place.top[slot] + g.spacing + b.edge[body] + b.tip_reach[body]
    return sphere_bottom(b.vertex_spheres[chunk], m.position, m.R) <= limit


@wp.func
def place_vertex(g: Ground, b: Bodies, verts: Vertices, world: int, v: int, m: BodyMotion):
    """Compute, store and return the column, row [cells] and height [m] of a vertex."""
    r = m.R * b.vertices[v]
    per = g.per_spacing
    at = vec3((r[0] + m.position[0] - g.x0) * per, (r[1] + m.position[1] - g.y0) * per, r[2] + m.position[2])
    verts.place[world, v] = at
    return at


@wp.func
def forget_vertex(verts: Vertices, world: int, v: int):
    """Reset a vertex that is far above the soil: no shear state, no place."""
    verts.shear[world, v] = vec3()
    verts.place[world, v] = vec3(real(0.0), real(0.0), FAR)


# ---- window ---------------------------------------------------------------------------------------------


@wp.func
def clip_slid(o: Options, slides: Slides, slot: int, footprint: boxes.Box):
    """Clip the box of soil that has slid to the margin around the footprint; empty if nothing is left."""
    near = boxes.common(slides.slid[slot], boxes.grown(footprint, o.margin[slot]))
    if boxes.is_empty(near):
        near = boxes.empty_box()
    slides.slid[slot] = near


@wp.func
def fitting(win: Window, wanted: boxes.Box, footprint: boxes.Box):
    """A box around a footprint with no more nodes than a window has room for: slides get less of it on all sides."""
    ring = int(0)
    if boxes.node_count(wanted) > win.nodes:
        ring = wp.max(
            wp.max(footprint.row0 - wanted.row0, wanted.row1 - footprint.row1),
            wp.max(footprint.column0 - wanted.column0, wanted.column1 - footprint.column1),
        )
    while boxes.node_count(wanted) > win.nodes and ring > 1:
        ring -= 1
        wanted = boxes.common(wanted, boxes.grown(footprint, ring))
    return wanted


@wp.func
def choose_window(
    g: Ground, o: Options, place: Placement, win: Window, slides: Slides, world: int, slot: int, position: vec3
):  # fmt: skip
    """Choose the window of nodes around the footprint. Returns a status code.

    The window contains the footprint with spare nodes around it, and soil next to it that has slid before, so that
    slides can continue.
    """
    x = (position[0] - g.x0) * g.per_spacing
    y = (position[1] - g.y0) * g.per_spacing
    place.sinkage[slot] = real(0.0)
    if not (x == x and y == y and position[2] == position[2]):
        return t.NOT_FINITE
    # The frame origin decides: a wheel that is half over the edge still stands on the soil below it.
    if x < real(0.0) or y < real(0.0) or x > real(g.columns - 1) or y > real(g.rows - 1):
        return t.LEFT
    status = int(t.FINE)
    extent = place.extent[slot]
    footprint = slides.recheck[slot]
    if extent.column0 > extent.column1:  # the body is in the air, but soil it has just left may still slide
        if footprint.row1 < footprint.row0:
            return t.FINE
        # On ground steeper than its angle of repose a slide goes on and on: the window follows its middle only.
        most = win.side - 2 * (o.margin[slot] + 1)
        footprint = boxes.shortened(footprint, most, most)
    else:
        footprint = boxes.Box(
            int(wp.floor(extent.row0)), int(wp.ceil(extent.row1)),
            int(wp.floor(extent.column0)), int(wp.ceil(extent.column1)),
        )  # fmt: skip
    if footprint.column0 < 1 or footprint.row0 < 1 or footprint.column1 > g.columns - 2 or footprint.row1 > g.rows - 2:
        status = int(t.EDGE)  # a warning only: no soil carries the part of the body beyond the edge
    wanted = boxes.grown(footprint, o.spare)  # spare nodes: a slide runs no farther in one step
    if slides.slid[slot].row1 >= slides.slid[slot].row0:
        clip_slid(o, slides, slot, footprint)
        wanted = boxes.spanning(wanted, boxes.grown(slides.slid[slot], 1))
    wanted = boxes.common(fitting(win, wanted, footprint), place.area[slot])
    c0 = wp.max(wanted.column0, 0)
    r0 = wp.max(wanted.row0, 0)
    columns = wp.min(wanted.column1, g.columns - 1) - c0 + 1
    rows = wp.min(wanted.row1, g.rows - 1) - r0 + 1
    if rows < 3 or columns < 3:  # no node would have all its neighbours
        return t.EDGE
    if rows > win.side or columns > win.side or rows * columns > win.nodes:
        return t.WINDOW_FULL
    win.frame[slot] = Frame(r0, c0, rows, columns)
    low = place.lowest[slot]
    if low[2] < SEEN and extent.column0 <= extent.column1:
        place.sinkage[slot] = ground_above(g, world, low) - low[2]
    return status


@wp.func
def lacks_tiles(g: Ground, win: Window, world: int, slot: int):
    """Whether a tile of a window is not in use yet."""
    frame = win.frame[slot]
    if frame.rows > 0:
        for i in range(frame.row0 // TILE, (frame.row0 + frame.rows - 1) // TILE + 1):
            for j in range(frame.column0 // TILE, (frame.column0 + frame.columns - 1) // TILE + 1):
                if g.table[world, i, j] < 0:
                    return True
    return False


@wp.func
def create_tiles(g: Ground, win: Window, world: int, slot: int, status: int):
    """Create the tiles of a window. Returns the status code given, or that of a full pool of tiles."""
    frame = win.frame[slot]
    # A tile is created once, or comes back from rest. `Ground.ensure` has made room for all tiles that a step may need.
    if frame.rows > 0:
        for i in range(frame.row0 // TILE, (frame.row0 + frame.rows - 1) // TILE + 1):
            for j in range(frame.column0 // TILE, (frame.column0 + frame.columns - 1) // TILE + 1):
                if not allocate_tile(g, world, i, j):
                    win.frame[slot].rows = 0
                    return t.TILES_FULL
    return status


@wp.func
def first_node(g: Ground, win: Window, slot: int, position: vec3):
    """Vector [m] from the body's frame origin to the first node of the window at height 0."""
    return vec3(
        g.x0 + real(win.frame[slot].column0) * g.spacing - position[0],
        g.y0 + real(win.frame[slot].row0) * g.spacing - position[1],
        -position[2],
    )
