"""Kernels of resistive force theory, one thread per body: forces of its face elements, then their state."""

from __future__ import annotations

import warp as wp

from grouser.contact.rft.laws import flow_stress
from grouser.contact.rft.wetted import wetted
from grouser.contact.rigid import Block, assemble, wrench_of
from grouser.device import array, array2d, module, struct
from grouser.precision import mat33, mat66, quat, real, vec2, vec3, vec6
from grouser.terrain.ground import SURFACE, TILE, VIRGIN, GroundArrays, base_height, between

OUTSIDE, FREE, ELASTIC, FLOWING = 0, 1, 2, 3  # what a face element does in a step: FREE carries nothing
SLOWEST, FASTEST = 0.5, 2.0  # factors on the speed of flow that a step may expect (assumed)
rft = module("grouser.contact.rft.kernels")


@struct
class Face:
    """A face element of a body, in the body's axes."""

    centre: vec3  # [m]
    normal: vec3  # outward, length 1
    area: real  # [m^2]
    reach: real  # [m] of the farthest corner from the centre
    corners: mat33  # [m] a corner in each row


@struct
class Medium:
    """The granular medium of a world."""

    scale: real  # [N/m^3]
    stiffness: real  # [Pa/m] of the elastic part
    friction: real  # between body and medium


@struct
class FaceStates:
    """State of the face elements, (world, face); what `evaluate` leaves for `commit` below it."""

    strain: array2d[vec3]  # [m] elastic displacement
    area: array2d[real]  # [m^2] of the part below the ground
    path: array2d[vec3]  # [m] recent path, whose direction is that of the flow
    mode: array2d[int]  # OUTSIDE, FREE, ELASTIC or FLOWING
    start: array2d[vec3]  # [m] elastic displacement at the start of the step, on the area at its end
    wet: array2d[real]  # [m^2] area at the end of the step
    stress: array2d[vec3]  # [Pa] of the flow
    power: array2d[real]  # [W/m^2] that the flow takes at the speed expected at the end of the step
    trend: array2d[real]  # speed along the flow at the end of the last step over that at its start; 0: not flowing
    arm: array2d[vec3]  # [m] of the centre of pressure from the frame origin


@wp.func
def initial_level(g: GroundArrays, world: int, x: vec3):
    """Height [m] of the initial ground below or above a point; beyond its border that of the border."""
    row = wp.clamp((x[1] - g.y0) * g.per_spacing, real(0.0), real(g.rows - 1))
    column = wp.clamp((x[0] - g.x0) * g.per_spacing, real(0.0), real(g.columns - 1))
    return between(g.base, g.terrain[world], row * g.ratio, column * g.ratio)


@wp.func
def node_changes(g: GroundArrays, world: int, row: int, column: int):
    """How far [m] the level from which depth counts, and the surface, are above the initial ground at a node.

    Soil that is pressed down leaves that level where it was, so a body never measures its depth from its own rut. Spoil
    does not raise it above the initial ground: the coefficients were measured with the heap that a body makes.
    """
    tile = g.table[world, row // TILE, column // TILE]
    if tile < 0:
        return vec2()
    initial = base_height(g, world, row, column)
    levels = g.levels[world, tile, row % TILE, column % TILE]
    return vec2(wp.min(levels[VIRGIN] - initial, real(0.0)), levels[SURFACE] - initial)


@wp.func
def levels_at(g: GroundArrays, world: int, x: vec3, n: vec3):
    """Level [m] from which depth counts at a point of a face with the normal n, and the surface [m] there.

    Changes of the ground are those one cell outward: beside a wall, not below the body. They are bilinear.
    """
    v = wp.clamp((x[1] - g.y0) * g.per_spacing + n[1], real(0.0), real(g.rows - 1))
    u = wp.clamp((x[0] - g.x0) * g.per_spacing + n[0], real(0.0), real(g.columns - 1))
    i = wp.clamp(int(wp.floor(v)), 0, g.rows - 2)
    j = wp.clamp(int(wp.floor(u)), 0, g.columns - 2)
    v -= real(i)
    u -= real(j)
    west = node_changes(g, world, i, j)
    low = west + u * (node_changes(g, world, i, j + 1) - west)
    west = node_changes(g, world, i + 1, j)
    high = west + u * (node_changes(g, world, i + 1, j + 1) - west)
    changes = low + v * (high - low)
    initial = initial_level(g, world, x)
    return vec2(initial + changes[0], initial + changes[1])


@wp.func
def shortened(path: vec3, most: real):
    """A vector cut to a length of at most `most`."""
    return path * wp.min(real(1.0), most / wp.max(wp.length(path), real(1.0e-30)))


@wp.func
def add_point(block: Block, arm: vec3, weight: mat33):
    """Add a point at `arm` [m] with a symmetric `weight` [kg]."""
    cross = wp.skew(arm)
    block.push += weight
    block.mixed = block.mixed - weight * cross
    block.turn = block.turn - cross * (weight * cross)
    return block


@wp.kernel(module=rft)
def evaluate(
    faces: array[Face], first: array[int], media: array[Medium], g: GroundArrays, rows: array[int],
    step: array[real], highest: real, memory: real, form: int,
    position: array2d[vec3], rotation: array2d[quat], velocity: array2d[vec3], angular_velocity: array2d[vec3],
    state: FaceStates, wrench_out: array2d[vec6], implicit_out: array2d[mat66],
    sinkage_out: array2d[wp.float64], area_out: array2d[wp.float64],
):  # fmt: skip
    """Force at the end of the step and implicit block of every body."""
    world, body = wp.tid()
    row = rows[body]
    h = step[0]
    medium = media[world]
    q = rotation[world, row]
    origin = position[world, row]
    v_origin = velocity[world, row]
    omega = angular_velocity[world, row]
    zero = real(0.0)
    force = vec3()
    moment = vec3()
    block = Block(mat33(), mat33(), mat33())
    sinkage = zero
    area = zero
    for k in range(first[body], first[body + 1]):
        face = faces[k]
        state.mode[world, k] = OUTSIDE
        state.wet[world, k] = zero
        arm = wp.quat_rotate(q, face.centre)
        v = v_origin + wp.cross(omega, arm)
        x = origin + arm
        # Faces above the initial ground, by far the most, are left out. `highest` [m] is its highest point. Twice the
        # reach: the ground may rise as far as a corner reaches down.
        low = x[2] + h * v[2] - real(2.0) * face.reach
        near = low < highest
        if near:
            near = low < initial_level(g, world, x)
        if near:
            n = wp.quat_rotate(q, face.normal)
            corners = mat33()
            depths = vec3()
            # Speed expected at the end of the step over that now.
            trend = state.trend[world, k]
            share = wp.where(trend > zero, trend, real(1.0))
            for c in range(3):
                corner = wp.quat_rotate(q, face.corners[c])
                fall = share * h * (v_origin + wp.cross(omega, corner))[2]
                corners[c] = corner
                # Depth grows during the step. Its mean is that at half the way, and so is the mean of the stress.
                depth = levels_at(g, world, origin + corner, n)[0] - origin[2] - corner[2]
                depths[c] = depth - real(0.5) * fall
                sinkage = wp.max(sinkage, depth - fall)
            part = wetted(face.area, corners, depths)
            if part.volume > zero:
                state.mode[world, k] = FREE
                arm = part.moment / part.volume  # centre of pressure
                v = v_origin + wp.cross(omega, arm)
                # The strain of a larger part is smaller, so that the energy does not grow with the part.
                grown = wp.sqrt(wp.min(state.area[world, k] / part.area, real(1.0)))
                old = grown * state.strain[world, k]
                strain = old + h * v
                path = shortened(state.path[world, k] + h * v, memory)
                stress = vec3()
                # An open rut carries nothing. A face under load has soil before it, which it has pressed down.
                end = origin + arm + h * v
                if wp.length(old) > zero or levels_at(g, world, end, n)[1] > end[2]:
                    if wp.length(path) > zero:
                        alpha = flow_stress(n, wp.normalize(path), medium.friction, form)
                        stress = (medium.scale * part.volume / part.area) * alpha
                    most = wp.length(stress)
                    power = -wp.dot(stress, v)
                    pull = vec3()
                    if medium.stiffness * wp.length(strain) > most and power > zero:
                        # Rank one and positive: f = s (s.v) / (s.v_e) takes power at any velocity v. v_e is that
                        # expected at the end of the step, where f is the stress of the flow: with the velocity now
                        # instead, a body that slows down would get less than that in every step and sink too deep.
                        state.mode[world, k] = FLOWING
                        weight = wp.outer((h * part.area / (power * share)) * stress, stress)
                        block = add_point(block, arm, weight)
                        pull = (part.area / share) * stress
                        power *= share
                        area += part.area
                    elif wp.dot(strain, n) >= zero and most > zero:
                        state.mode[world, k] = ELASTIC
                        spring = part.area * medium.stiffness
                        block = add_point(block, arm, wp.diag(vec3(h * h * spring, h * h * spring, h * h * spring)))
                        pull = -spring * strain
                        area += part.area
                    force += pull
                    moment += wp.cross(arm, pull)
                    state.power[world, k] = power
                state.start[world, k] = old
                state.wet[world, k] = part.area
                state.stress[world, k] = stress
                state.arm[world, k] = arm
    wrench_out[world, body] = wrench_of(force, moment)
    implicit_out[world, body] = assemble(block)
    sinkage_out[world, body] = wp.float64(sinkage)
    area_out[world, body] = wp.float64(area)


@wp.kernel(module=rft)
def commit(
    first: array[int], media: array[Medium], active: array[int], rows: array[int], step: array[real], memory: real,
    velocity: array2d[vec3], angular_velocity: array2d[vec3], state: FaceStates, status_out: array2d[int],
):  # fmt: skip
    """Move the strain and the path of every face element on with the velocity at the end of the step."""
    world, body = wp.tid()
    if active[world] == 0:
        return
    row = rows[body]
    h = step[0]
    stiffness = media[world].stiffness
    status_out[world, body] = 0
    for k in range(first[body], first[body + 1]):
        mode = state.mode[world, k]
        strain = vec3()
        path = vec3()
        trend = real(0.0)
        if mode != OUTSIDE:
            v = velocity[world, row] + wp.cross(angular_velocity[world, row], state.arm[world, k])
            old = state.start[world, k]
            path = shortened(state.path[world, k] + h * v, memory)
            if mode == ELASTIC:
                strain = old + h * v
            if mode == FLOWING:
                # The strain is that of the stress which acted, if the work of the step pays for its energy.
                stress = state.stress[world, k]
                before = wp.where(state.trend[world, k] > real(0.0), state.trend[world, k], real(1.0))
                trend = wp.clamp(-wp.dot(stress, v) * before / state.power[world, k], real(SLOWEST), real(FASTEST))
                acted = wp.max(-wp.dot(stress, v) / state.power[world, k], real(0.0))
                work = acted * -wp.dot(stress, v) * h
                most = wp.sqrt(wp.dot(old, old) + real(2.0) * wp.max(work, real(0.0)) / stiffness)
                strain = shortened(-(wp.min(acted, real(1.0)) / stiffness) * stress, most)
        state.strain[world, k] = strain
        state.area[world, k] = state.wet[world, k]
        state.path[world, k] = path
        state.trend[world, k] = trend
