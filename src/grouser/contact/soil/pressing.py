"""Stages of small shapes: points of their skin press the soil between the nodes.

Each point keeps how deep the soil below it has been pressed, as a vertex keeps its shear: a print smaller than a cell
has no place on the grid. The grid gets its volume, shared among the four nodes round the point.
"""

import math
from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact.soil import laws
from grouser.contact.soil import types as t
from grouser.contact.soil.bekker import bekker_stages
from grouser.contact.soil.footprint import footprint_stages
from grouser.contact.soil.surface import CHUNK, UPRIGHT
from grouser.contact.soil.traction import traction_stages
from grouser.terrain.ground import natural

WIDTHS = 8  # directions in which a patch is measured


@cache
def pressing_stages(name: str) -> SimpleNamespace:
    ty = t.soil_types(name)
    p = ty.precision
    real, vec2, vec3, vec4, vec6, mat33 = p.real, p.vec2, p.vec3, p.vec4, p.vec6, p.mat33
    Ground, Options, Bodies, Window, sums = ty.ground.Arrays, ty.Options, ty.Bodies, ty.Window, ty.sums
    yield_at = bekker_stages(name).yield_at
    f, block_sums = footprint_stages(name), traction_stages(name).block_sums
    sphere_bottom, widen_box = f.sphere_bottom, f.widen_box
    widths = wp.types.vector(WIDTHS, real)
    far = wp.constant(real(t.FAR))
    seen = wp.constant(real(0.1 * t.FAR))
    upright = wp.constant(real(UPRIGHT))
    hold = wp.constant(real(laws.HOLD))
    stuck = wp.constant(real(laws.STUCK_SPEED))
    falling = wp.constant(real(laws.FALLING))
    pi = wp.constant(real(math.pi))
    angles = [math.pi * (q + 0.5) / WIDTHS for q in range(WIDTHS)]
    cosines = wp.constant(widths(*map(math.cos, angles)))
    sines = wp.constant(widths(*map(math.sin, angles)))
    chunk = wp.constant(CHUNK)
    each = wp.constant(real(1 / WIDTHS))

    @wp.func
    def node_below(g: Ground, win: Window, slot: int, at: vec2):
        """Node at the lower corner of the cell a place [cells] lies in, -1 outside the window; place in that cell."""
        x = at[0] - real(win.box[slot, t.COLUMN0])
        y = at[1] - real(win.box[slot, t.ROW0])
        i = int(wp.floor(y))
        j = int(wp.floor(x))
        k = int(-1)
        if i >= 1 and j >= 1 and i < win.box[slot, t.ROWS] - 2 and j < win.box[slot, t.COLUMNS] - 2:
            k = (slot * win.side + i) * win.side + j
        return k, vec2(x - real(j), y - real(i))

    @wp.func
    def corner_node(win: Window, k: int, c: int):
        return natural(k + (c / 2) * win.side + c % 2)

    @wp.func
    def corner_weight(inside: vec2, c: int):
        """Bilinear weight of one of the four nodes round a place."""
        one = real(1.0)
        return wp.where(c % 2 == 0, one - inside[0], inside[0]) * wp.where(c / 2 == 0, one - inside[1], inside[1])

    @wp.func
    def nearest_node(win: Window, k: int, inside: vec2):
        half = real(0.5)
        return natural(k + wp.where(inside[1] < half, 0, win.side) + wp.where(inside[0] < half, 0, 1))

    @wp.func
    def levels_at(win: Window, k: int, inside: vec2):
        """The four levels of the soil [m] at a place; nodes without soil do not count.

        They are straight between nodes, but for the surface: it is as far below the virgin level as at the node that
        has been pressed least. A print has upright walls, and the soil beside it is where it was.
        """
        levels = vec4()
        weight = real(0.0)
        pressed = real(far)
        for c in range(4):
            n = corner_node(win, k, c)
            if win.soil[n] >= 0:
                w = corner_weight(inside, c) + real(1.0e-12)
                levels += w * win.levels[n]
                weight += w
                pressed = wp.min(pressed, win.levels[n][1] - win.levels[n][0])
        levels = levels / weight
        levels[0] = levels[1] - pressed
        return levels

    @wp.func
    def pressed_level(level: real, pressed: real):
        """Of the soil below a point: that of the grid, lower where the point has pressed it."""
        return wp.where(pressed < level, pressed, level)

    @wp.func
    def place_point(g: Ground, b: Bodies, e: int, pos: vec3, R: mat33):
        """Arm [m], area [m^2] along the normal and place [cells] of a point."""
        arm = R * b.points[natural(e)]
        at = vec2((arm[0] + pos[0] - g.x0) * g.per_spacing, (arm[1] + pos[1] - g.y0) * g.per_spacing)
        return arm, R * b.areas[natural(e)], at

    @wp.func
    def looks_down(area: vec3):
        return area[2] < real(0.0) and area[2] * area[2] > upright * upright * wp.dot(area, area)

    @wp.func
    def forget_point(b: Bodies, world: int, e: int):
        b.pressed[world, e] = far
        b.point_shear[world, e] = vec3()

    @wp.func
    def settle_point(
        g: Ground, o: Options, b: Bodies, win: Window,
        world: int, slot: int, shape: int, e: int, pos: vec3, R: mat33, vel: vec3, spin: vec3,
    ):  # fmt: skip
        """Level [m] of the soil below a point before it gives way, how deep [m] the point is in it, and the nodes.

        A point that leaves its print upwards forgets it. One that slides over the ground meets fresh soil, all of it
        once it has gone as far as its shape is wide.
        """
        arm, area, at = place_point(g, b, e, pos, R)
        z = arm[2] + pos[2]
        k, inside = node_below(g, win, slot, at)
        u = real(-far)
        if k < 0 or z > win.top[slot] + g.spacing or not looks_down(area):
            forget_point(b, world, e)
            return -1, inside, u
        if win.soil[nearest_node(win, k, inside)] < 0:
            forget_point(b, world, e)
            return -1, inside, u
        level = levels_at(win, k, inside)[0]
        pressed = pressed_level(level, b.pressed[world, e])
        if z > level:
            pressed = level
            b.pressed[world, e] = far
        else:
            v = vel + wp.cross(spin, arm)
            n = wp.normalize(area)
            v_t = v - wp.dot(v, n) * n
            travel = wp.max(wp.sqrt(v_t[0] * v_t[0] + v_t[1] * v_t[1]) - stuck, real(0.0)) * o.step[0]
            pressed += (level - pressed) * wp.min(travel / b.shape_across[shape], real(1.0))
            b.pressed[world, e] = pressed
        return k, inside, pressed - z

    @wp.func
    def mark_nodes(win: Window, slot: int, k: int, inside: vec2, mark: int):
        """Mark the nodes round a point; those in contact get no sinkage yet. Returns how many are new in contact."""
        count = int(0)
        node = k - slot * win.side * win.side
        i = node / win.side
        j = node % win.side
        widen_box(win, slot, t.NEAR, i, i + 1, j, j + 1, 0)
        widen_box(win, slot, t.DIRTY, i - 1, i + 2, j - 1, j + 2, 0)
        if mark == t.CONTACT:
            widen_box(win, slot, t.TOUCHED, i, i + 1, j, j + 1, 0)
        for c in range(4):
            n = corner_node(win, k, c)
            before = win.mark[n]
            if before != t.BARE_NODE and before != t.CONTACT:
                win.mark[n] = mark
                if mark == t.CONTACT:
                    win.sunk[n] = real(0.0)
                    count += 1
        return count

    @wp.func
    def patch_per_width(g: Ground, b: Bodies, win: Window, slot: int, shape: int, pos: vec3, R: mat33, area: real):
        """1/b = perimeter / (2 area) of the patch [1/m].

        The perimeter of a convex patch is pi times its mean width (Cauchy), here of the corners that are in the soil;
        no patch has a shorter one than a disc.
        """
        low = widths(far)
        high = widths(-far)
        for v in range(b.first_rim[shape], b.first_rim[shape + 1]):
            r = R * b.rims[natural(v)]
            if r[2] + pos[2] < win.top[slot]:
                at = vec2((r[0] + pos[0] - g.x0) * g.per_spacing, (r[1] + pos[1] - g.y0) * g.per_spacing)
                k, inside = node_below(g, win, slot, at)
                if k >= 0:
                    if r[2] + pos[2] < levels_at(win, k, inside)[0]:
                        out = r[0] * cosines + r[1] * sines
                        low = wp.min(low, out)
                        high = wp.max(high, out)
        across = wp.dot(high - low, widths(each))  # far below 0 where no corner is in the soil
        perimeter = wp.max(real(2.0) * wp.sqrt(pi * area), pi * across)
        return wp.min(perimeter / (real(2.0) * area), real(1.0) / b.shape_least[shape])

    @wp.func
    def points_of(b: Bodies, shape: int, c: int):
        """First point of a chunk and the one behind its last."""
        first = b.first_point[shape] + (c - b.first_point_chunk[shape]) * chunk
        return first, wp.min(first + chunk, b.first_point[shape + 1])

    @wp.func
    def press_point(
        g: Ground, o: Options, b: Bodies, win: Window,
        world: int, slot: int, shape: int, e: int, pos: vec3, R: mat33, vel: vec3, spin: vec3,
    ):  # fmt: skip
        """Plastic sinkage below a point as sinkage of the nodes round it, whose sum [m] it returns, and its shear."""
        zero = real(0.0)
        lost = zero
        pressed = b.pressed[world, e]
        arm, area, at = place_point(g, b, e, pos, R)
        k, inside = node_below(g, win, slot, at)
        if pressed < seen and k >= 0:
            z = arm[2] + pos[2]
            u = pressed - z
            material = win.soil[nearest_node(win, k, inside)]
            soil = o.soils[natural(material)]
            if u > zero:
                modulus = soil.k_c * b.shape_per_width[world, shape] + soil.k_phi
                y = yield_at(o, material, modulus, z, levels_at(win, k, inside))
                d = wp.max(u - y * soil.per_k_e, zero)
                b.pressed[world, e] = pressed - d
                lost = -area[2] * d * g.per_spacing * g.per_spacing
                whole = real(1.0e-30)
                for c in range(4):
                    if win.soil[corner_node(win, k, c)] >= 0:
                        whole += corner_weight(inside, c)
                for c in range(4):
                    n = corner_node(win, k, c)
                    if win.soil[n] >= 0:
                        win.sunk[n] = win.sunk[n] + corner_weight(inside, c) * lost / whole
            if u > -hold * g.spacing:
                v = wp.transpose(R) * (vel + wp.cross(spin, arm))
                n_body = wp.normalize(b.areas[natural(e)])
                v_t = v - wp.dot(v, n_body) * n_body
                b.point_shear[world, e] = laws.advance_shear(b.point_shear[world, e], v_t, o.step[0] / soil.shear_k)
            else:
                b.point_shear[world, e] = vec3()
        return lost

    @wp.func
    def press_shape(
        g: Ground, o: Options, b: Bodies, win: Window,
        world: int, slot: int, shape: int, pos: vec3, R: mat33, vel: vec3, spin: vec3,
    ):  # fmt: skip
        """All points of a shape; returns the sum [m] of the sinkage of nodes."""
        zero = real(0.0)
        area = zero
        cut = win.top[slot] + g.spacing
        fall = wp.max(-win.motion[slot, 0][2], zero)
        beside = hold * g.spacing + wp.max(o.step[0], falling) * fall  # soil this close below it takes no spoil
        for c in range(b.first_point_chunk[shape], b.first_point_chunk[shape + 1]):
            first, end = points_of(b, shape, c)
            if sphere_bottom(b.point_spheres[c], pos, R) < cut:
                b.point_near[world, c] = 1
                for e in range(first, end):
                    k, inside, u = settle_point(g, o, b, win, world, slot, shape, e, pos, R, vel, spin)
                    if k >= 0 and u > -beside:
                        win.box[slot, t.PRESSED] = win.box[slot, t.PRESSED] + mark_nodes(
                            win, slot, k, inside, wp.where(u > zero, t.CONTACT, t.HELD)
                        )
                        if u > zero:
                            area -= (R * b.areas[natural(e)])[2]
            elif b.point_near[world, c] == 1:
                b.point_near[world, c] = 0
                for e in range(first, end):
                    forget_point(b, world, e)
        if area > zero and b.shape_from_patch[shape] == 1:
            b.shape_per_width[world, shape] = patch_per_width(g, b, win, slot, shape, pos, R, area)
        removed = zero
        for c in range(b.first_point_chunk[shape], b.first_point_chunk[shape + 1]):
            if b.point_near[world, c] == 1:
                first, end = points_of(b, shape, c)
                for e in range(first, end):
                    removed += press_point(g, o, b, win, world, slot, shape, e, pos, R, vel, spin)
        return removed

    @wp.func
    def press_shapes(
        g: Ground, o: Options, b: Bodies, win: Window,
        world: int, body: int, slot: int, pos: vec3, R: mat33, vel: vec3, spin: vec3,
    ):  # fmt: skip
        """All small shapes of a body, in commit; returns the sum [m] of the sinkage of nodes."""
        removed = real(0.0)
        for shape in range(b.first_shape[body], b.first_shape[body + 1]):
            removed += press_shape(g, o, b, win, world, slot, shape, pos, R, vel, spin)
        return removed

    @wp.func
    def point_force(
        g: Ground, o: Options, b: Bodies, win: Window,
        world: int, slot: int, shape: int, e: int, pos: vec3, R: mat33, vel: vec3, spin: vec3,
    ):  # fmt: skip
        """Wrench, sums of the implicit block and loaded area [m^2] of a point: `node_force` of traction.py on its own
        patch of skin."""
        zero = real(0.0)
        one = real(1.0)
        h = o.step[0]
        arm, area, at = place_point(g, b, e, pos, R)
        if not looks_down(area):
            return vec6(), sums(), zero
        size = wp.length(area)
        normal = (-one / size) * area
        v = vel + wp.cross(spin, arm)
        rise = wp.dot(v, normal) / normal[2]
        z = arm[2] + pos[2] + h * rise
        k, inside = node_below(g, win, slot, at)
        if k < 0 or z > win.top[slot] + real(0.5) * g.spacing:  # spoil may lie higher than when `top` was found
            return vec6(), sums(), zero
        material = win.soil[nearest_node(win, k, inside)]
        if material < 0:
            return vec6(), sums(), zero
        levels = levels_at(win, k, inside)
        u = pressed_level(levels[0], b.pressed[world, e]) - z
        if u <= zero:
            return vec6(), sums(), zero
        soil = o.soils[natural(material)]
        modulus = soil.k_c * b.shape_per_width[world, shape] + soil.k_phi
        y = yield_at(o, material, modulus, z + win.motion[slot, 4][0], levels)
        pressure = wp.min(soil.k_e * wp.max(u - soil.damping_time * rise, zero), y)
        stiffness = laws.yielding_stiffness(soil.k_e, u - y * soil.per_k_e, win.motion[slot, 4][1])
        v_t = v - wp.dot(v, normal) * normal
        s = vec3()
        grip = zero
        if o.shear_law == t.JANOSI:
            s = R * b.point_shear[world, e]
            s = s - wp.dot(s, normal) * normal
            per_k = h / soil.shear_k
            viscous = laws.rest_damping(s, v_t)
            s = laws.advance_shear(s, v_t, per_k) + viscous * v_t
            grip = per_k * (one / (one + per_k * wp.length(v_t))) + viscous
        elif o.shear_law == t.LIMIT:
            grip = one / (wp.length(v_t) + o.creep_speed)
            s = grip * v_t
        shear = size * laws.shear_limit(pressure, one, soil.cohesion, soil.tan_phi, soil.mu)
        force = -pressure * area - shear * s
        moment = wp.cross(arm, force)
        cn = size / normal[2] * h * (h + soil.damping_time) * stiffness
        ct = shear * grip * h
        wrench = vec6(force[0], force[1], force[2], moment[0], moment[1], moment[2])
        return wrench, block_sums(cn - ct, normal, wp.cross(arm, normal), ct, arm), -area[2]

    @wp.func
    def shape_forces(
        g: Ground, o: Options, b: Bodies, win: Window,
        world: int, body: int, slot: int, pos: vec3, R: mat33, vel: vec3, spin: vec3,
    ):  # fmt: skip
        """Of all small shapes of a body, in evaluate."""
        wrench = vec6()
        block = sums()
        area = real(0.0)
        for shape in range(b.first_shape[body], b.first_shape[body + 1]):
            for c in range(b.first_point_chunk[shape], b.first_point_chunk[shape + 1]):
                if b.point_near[world, c] == 1 and win.box[slot, t.ROWS] > 0:
                    first, end = points_of(b, shape, c)
                    for e in range(first, end):
                        part, share, loaded = point_force(g, o, b, win, world, slot, shape, e, pos, R, vel, spin)
                        if loaded > real(0.0):
                            wrench += part
                            block += share
                            area += loaded
        return wrench, block, area

    return SimpleNamespace(press_shapes=press_shapes, shape_forces=shape_forces)
