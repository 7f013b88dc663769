"""Vertices and triangles of one body, by a team of lanes: parts of the stages `place`, `raster` and `shear`."""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import boxes, placement, raster, team
from grouser.contact.soil import shear as shearing
from grouser.contact.soil import types as t
from grouser.contact.soil.elements import MANY, Extent
from grouser.contact.soil.surface import CHUNK
from grouser.contact.soil.types import Bodies, BodyMotion, Options, Placement, Skin, Vertices, Window
from grouser.precision import real, vec3
from grouser.terrain.ground import GroundArrays as Ground
from grouser.terrain.ground import surface_at

FAR = wp.constant(real(t.FAR))
SEEN = t.SEEN


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


@wp.func
def raster_triangles(
    g: Ground, b: Bodies, place: Placement, win: Window, verts: Vertices, skin: Skin,
    world: int, body: int, slot: int, m: BodyMotion, mode: int, lane: int, lanes: int,
):  # fmt: skip
    """Rasterise those triangles of a body that may reach the soil. Returns a box of nodes around those of a lane."""
    hit = boxes.empty_box()
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
                    around = raster.raster_triangle(g, b, place, win, verts, skin, world, slot, triangle, mode)
                    hit = boxes.spanning(hit, around)
                number += lanes
        base += lanes
    return hit


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
