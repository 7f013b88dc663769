"""Shoes on the ground: a plane, a grid, triangles or soil that ruts, marker by marker; eq. 47 to 56."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact.penalty import damping_share
from grouser.terrain.ground import TILE, ground_types
from grouser.track import laws
from grouser.track import types as t
from grouser.track.stages.contacts import contact_stage

LEAST_SLOPE = 0.1  # of heaps of soil without friction; assumed
SLIP_KEPT = 3.0  # over k_T: longer ways drag the anchor along; tanh(3) = 0.995


@cache
def shoe_stage(name: str, implicit: bool) -> SimpleNamespace:
    ty = t.track_types(name)
    p = ty.precision
    real, vec2, vec3, vec4, mat33 = p.real, p.vec2, p.vec3, p.vec4, p.mat33
    Contact, Track, Tables, State, Scratch, Ground = ty.Contact, ty.Track, ty.Tables, ty.State, ty.Scratch, ty.Ground
    add_contact = contact_stage(name, implicit).add_contact
    deformable = ground_types(name)
    Tiles, touch, base_height = deformable.Arrays, deformable.touch, deformable.base_height
    tile = wp.constant(TILE)
    zero, one, half = wp.constant(real(0.0)), wp.constant(real(1.0)), wp.constant(real(0.5))
    kept, least_slope = wp.constant(real(SLIP_KEPT)), wp.constant(real(LEAST_SLOPE))

    @wp.func
    def in_triangle(g: Ground, k: int, x: real, y: real):
        """Whether (x, y) lies over a triangle, and its weights there."""
        v = g.triangle[k]
        a, b, c = laws.barycentric(x, y, g.vertex[v[0]], g.vertex[v[1]], g.vertex[v[2]])
        slack = real(-1.0e-9)
        return a >= slack and b >= slack and c >= slack, vec3(a, b, c)

    @wp.func
    def node_levels(g: Tiles, world: int, row: int, column: int):
        """Surface and virgin level [m] of a node of the deformable grid."""
        slot = g.table[world, row / tile, column / tile]
        if slot >= 0:
            levels = g.levels[world, slot, row % tile, column % tile]
            return vec2(levels[0], levels[1])
        z = base_height(g, row, column)
        return vec2(z, z)

    @wp.func
    def soil_levels(g: Tiles, world: int, x: real, y: real):
        """Whether there is soil at (x, y); surface and virgin level, bilinear."""
        u = (x - g.x0) * g.per_spacing
        v = (y - g.y0) * g.per_spacing
        i = int(wp.floor(v))
        j = int(wp.floor(u))
        if i < 0 or j < 0 or i > g.rows - 2 or j > g.columns - 2:
            return False, vec2()
        u = u - real(j)
        v = v - real(i)
        low = (one - u) * node_levels(g, world, i, j) + u * node_levels(g, world, i, j + 1)
        high = (one - u) * node_levels(g, world, i + 1, j) + u * node_levels(g, world, i + 1, j + 1)
        return True, (one - v) * low + v * high

    @wp.func
    def ground_at(g: Ground, x: real, y: real):
        """Whether there is ground at (x, y), its height [m], normal and soil values; not for deformable soil."""
        up = vec3(zero, zero, one)
        if g.kind == wp.static(t.FLAT):
            return True, g.height, up, g.soil[0]
        u = (x - g.x0) * g.per_spacing
        v = (y - g.y0) * g.per_spacing
        i = int(wp.floor(v))
        j = int(wp.floor(u))
        if g.kind == wp.static(t.GRID):
            if i < 0 or j < 0 or i > g.heights.shape[0] - 2 or j > g.heights.shape[1] - 2:
                return False, zero, up, g.soil[0]
            u = u - real(j)
            v = v - real(i)
            low = g.heights[i, j] + u * (g.heights[i, j + 1] - g.heights[i, j])
            high = g.heights[i + 1, j] + u * (g.heights[i + 1, j + 1] - g.heights[i + 1, j])
            near = g.heights[i, j + 1] - g.heights[i, j]
            gx = near + v * (g.heights[i + 1, j + 1] - g.heights[i + 1, j] - near)
            n = wp.normalize(vec3(-gx * g.per_spacing, -(high - low) * g.per_spacing, one))
            return True, low + v * (high - low), n, g.soil[0]
        if i >= 0 and j >= 0 and i < g.first.shape[0] and j < g.first.shape[1]:
            for at in range(g.first[i, j], g.first[i, j] + g.count[i, j]):
                k = g.listed[at]
                inside, b = in_triangle(g, k, x, y)
                if inside:
                    t3 = g.triangle[k]
                    v0 = g.vertex[t3[0]]
                    v1 = g.vertex[t3[1]]
                    v2 = g.vertex[t3[2]]
                    n = wp.normalize(wp.cross(v1 - v0, v2 - v0))
                    soil = b[0] * g.soil[t3[0]] + b[1] * g.soil[t3[1]] + b[2] * g.soil[t3[2]]
                    return True, b[0] * v0[2] + b[1] * v1[2] + b[2] * v2[2], n, soil
        return False, zero, up, g.soil[0]

    @wp.func
    def list_grounded(world: int, which: int, tr: Track, g: Ground, tiles: Tiles, s: State, w: Scratch):
        """Links whose shoes may touch the ground in this step; the others let go of it."""
        count = int(0)
        for i in range(tr.first_link, tr.first_link + tr.links):
            x = s.position[world, i]
            there = True
            height = zero
            if g.kind == wp.static(t.SOIL):
                there, levels = soil_levels(tiles, world, x[0], x[1])
                height = levels[1]
            else:
                there, height, n, soil = ground_at(g, x[0], x[1])
            if tr.lists == 0 or (there and x[2] - height < tr.low) or (not there and g.kind != wp.static(t.FLAT)):
                w.grounded[world, tr.first_link + count] = i
                count += 1
            else:
                row = tr.first_grip + (i - tr.first_link) * tr.markers
                for m in range(row, row + tr.markers):
                    s.gripped[world, m] = 0
        w.low[world, which] = count

    @wp.func
    def stand(
        world: int, which: int, tr: Track, c: Tables, g: Ground, tiles: Tiles, s: State, w: Scratch, i: int,
        h: real, ahead: real,
    ):  # fmt: skip
        """Shoe of link i on the ground, marker by marker; eq. 47 to 56 with the slip anchored at first touch."""
        R = w.R[world, i]
        x = vec3(R[0, 0], R[1, 0], R[2, 0])
        row = tr.first_grip + (i - tr.first_link) * tr.markers
        for m in range(tr.markers):
            q = tr.first_marker + m
            arm = R * c.marker[q]
            at = s.position[world, i] + arm
            there = True
            height = zero
            n = vec3(zero, zero, one)
            soil = g.soil[0]
            virgin = zero
            if g.kind == wp.static(t.SOIL):
                there, levels = soil_levels(tiles, world, at[0], at[1])
                height = levels[0]
                virgin = levels[1]
            elif g.kind == wp.static(t.FLAT):
                height = g.height
            else:
                there, height, n, soil = ground_at(g, at[0], at[1])
            if not there:
                w.status[world, which] = wp.static(t.OUTSIDE)
            depth = (height - at[2]) * n[2]
            if not there or depth <= zero:
                s.gripped[world, row + m] = 0
            else:
                if s.gripped[world, row + m] == 0:
                    s.gripped[world, row + m] = 1
                    s.anchor[world, row + m] = at
                u = s.velocity[world, i] + wp.cross(s.spin[world, i], arm)
                un = wp.dot(u, n)
                area = c.area[q]
                stiff = soil[0]
                pressed = depth
                if g.kind == wp.static(t.SOIL):
                    spring, slope = laws.rebound(virgin - at[2], soil[0], g.modulus, g.exponent)
                    if spring < depth:  # the soil yields
                        pressed = spring
                        stiff = slope
                along = area * (stiff * ahead + soil[1] * damping_share(depth, tr.full_depth))
                elastic = area * soil[0] * pressed
                size = wp.max(elastic - along * un, zero)
                if size == zero:
                    along = zero
                way = at - s.anchor[world, row + m]
                way, slip = laws.kept_slip(way - wp.dot(way, n) * n, kept / soil[4])
                s.anchor[world, row + m] = at - way
                strength = laws.shear_strength(elastic, area * soil[2], soil[3])
                if c.blade[q] > zero and slip > zero:
                    straight = wp.dot(way, x) / slip
                    strength = strength + straight * straight * laws.passive_force(
                        depth, c.blade[q], soil[2], soil[3], soil[7]
                    )
                stiffness = laws.shear(slip, strength, soil[4])
                ut = u - un * n
                sliding = wp.length(ut)
                damping = laws.slip_damping(sliding, strength - stiffness * slip, soil[5] * area, soil[6])
                across = stiffness * ahead + damping
                push = size * n - stiffness * way - across * ut
                one_contact = Contact(i, wp.static(t.GROUND), arm, vec3(), n, push, along, across, sliding)
                add_contact(
                    world, which, tr.first_contact, tr.contacts, h, one_contact,
                    w.found, w.status, w.contact, w.force, w.torque, w.D, w.size, w.lean, w.turn,
                )  # fmt: skip

    @wp.func
    def nodes_of(tiles: Tiles, middle: real, reach: real, begin: real, count: int):
        """First and last row or column within reach [m]."""
        first = int(wp.ceil((middle - reach - begin) * tiles.per_spacing))
        last = int(wp.floor((middle + reach - begin) * tiles.per_spacing))
        return wp.max(first, 0), wp.min(last, count - 1)

    @wp.func
    def on_plate(tr: Track, tiles: Tiles, R: mat33, x: vec3, row: int, column: int):
        """Of a node: height [m] of the plate's plane above or below it, place along and across the link."""
        dx = tiles.x0 + real(column) * tiles.spacing - x[0]
        dy = tiles.y0 + real(row) * tiles.spacing - x[1]
        z = (tr.edge_z - R[0, 2] * dx - R[1, 2] * dy) / R[2, 2]
        at = wp.transpose(R) * vec3(dx, dy, z)
        return x[2] + z, at[0], at[1]

    @wp.func
    def set_levels(tiles: Tiles, world: int, row: int, column: int, now: vec4):
        slot = tiles.table[world, row / tile, column / tile]
        tiles.levels[world, slot, row % tile, column % tile] = now
        tiles.stamp[world, slot] = tiles.stamp[world, slot] + 1

    @wp.func
    def leave_rut(world: int, tr: Track, g: Ground, tiles: Tiles, s: State, i: int):
        """Nodes below the plate of link i go down to where the soil springs back to; part of it goes aside."""
        R = wp.quat_to_matrix(s.rotation[world, i])
        x = s.position[world, i]
        if R[2, 2] < half:
            return
        wide = half * tr.shoe_width
        reach_x = wp.abs(R[0, 0]) * half * tr.pitch + wp.abs(R[0, 1]) * wide
        reach_y = wp.abs(R[1, 0]) * half * tr.pitch + wp.abs(R[1, 1]) * wide
        i0, i1 = nodes_of(tiles, x[1], reach_y, tiles.y0, tiles.rows)
        j0, j1 = nodes_of(tiles, x[0], reach_x, tiles.x0, tiles.columns)
        stiffness = g.soil[0][0]
        dug = real(0.0)
        for row in range(i0, i1 + 1):
            for column in range(j0, j1 + 1):
                plate, along, across = on_plate(tr, tiles, R, x, row, column)
                if wp.abs(along) <= half * tr.pitch and wp.abs(across) <= wide:
                    levels = node_levels(tiles, world, row, column)
                    pressed = levels[0] - plate
                    if pressed > zero:
                        bears = g.modulus * wp.pow(wp.max(levels[1] - levels[0], zero), g.exponent)
                        if stiffness * pressed > bears:  # it yields
                            spring, slope = laws.rebound(levels[1] - plate, stiffness, g.modulus, g.exponent)
                            if pressed > spring and touch(tiles, world, row / tile, column / tile):
                                slot = tiles.table[world, row / tile, column / tile]
                                old = tiles.levels[world, slot, row % tile, column % tile]
                                now = plate + spring
                                set_levels(tiles, world, row, column, vec4(now, old[1], wp.min(old[2], now), old[3]))
                                dug = dug + old[0] - now
        if dug > zero and g.displaced > zero:
            push_aside(world, tr, g, tiles, R, x, g.displaced * dug)

    @wp.func
    def push_aside(world: int, tr: Track, g: Ground, tiles: Tiles, R: mat33, x: vec3, dug: real):
        """Soil from below a plate lies beside it, where a heap at the angle of friction is lowest.

        `dug` [m] is the sum of heights of nodes; what is laid down adds up to it. It is loose: never pressed yet.
        The heap is as wide as the plate at most (assumed), on either side.
        """
        wide = half * tr.shoe_width
        reach_x = wp.abs(R[0, 0]) * half * tr.pitch + wp.abs(R[0, 1]) * real(3.0) * wide
        reach_y = wp.abs(R[1, 0]) * half * tr.pitch + wp.abs(R[1, 1]) * real(3.0) * wide
        i0, i1 = nodes_of(tiles, x[1], reach_y, tiles.y0, tiles.rows)
        j0, j1 = nodes_of(tiles, x[0], reach_x, tiles.x0, tiles.columns)
        steep = wp.max(g.soil[0][3], least_slope)
        lowest = real(1.0e9)
        weights = real(0.0)
        rounds = int(3)  # find the lowest, weigh, lay down
        for turn in range(rounds):
            for row in range(i0, i1 + 1):
                for column in range(j0, j1 + 1):
                    plate, along, across = on_plate(tr, tiles, R, x, row, column)
                    beside = wp.abs(across) - wide
                    if wp.abs(along) <= half * tr.pitch and beside > zero and beside < tr.shoe_width:
                        if touch(tiles, world, row / tile, column / tile):
                            slot = tiles.table[world, row / tile, column / tile]
                            old = tiles.levels[world, slot, row % tile, column % tile]
                            level = old[0] + steep * beside  # even on a heap
                            weight = wp.max(lowest + steep * wide - level, zero)
                            if turn == 0:
                                lowest = wp.min(lowest, level)
                            elif turn == 1:
                                weights = weights + weight
                            elif weight > zero:
                                more = dug * weight / weights
                                set_levels(
                                    tiles, world, row, column, vec4(old[0] + more, old[1] + more, old[2], old[3])
                                )

    return SimpleNamespace(list_grounded=list_grounded, stand=stand, leave_rut=leave_rut, Tiles=Tiles)
