"""Kernels of resistive force theory, one thread per body: forces of its face elements, then their state."""

from __future__ import annotations

import warp as wp

from grouser.contact.rft.laws import flow_stress
from grouser.contact.rigid import Block, assemble, wrench_of
from grouser.device import array, array2d, module, struct
from grouser.precision import mat33, mat66, quat, real, vec3, vec6
from grouser.terrain.ground import GroundArrays, between

OUTSIDE, FREE, ELASTIC, FLOWING = 0, 1, 2, 3  # what a face element does in a step: FREE carries nothing
rft = module("grouser.contact.rft.kernels")


@struct
class Face:
    """A face element of a body, in the body's axes."""

    centre: vec3  # [m]
    normal: vec3  # outward, length 1
    area: real  # [m^2]
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
    path: array2d[vec3]  # [m] recent path, whose direction is that of the flow
    mode: array2d[int]  # OUTSIDE, FREE, ELASTIC or FLOWING
    stress: array2d[vec3]  # [Pa] of the flow
    power: array2d[real]  # [W/m^2] that the flow takes
    arm: array2d[vec3]  # [m] from the frame origin


@wp.func
def level_at(g: GroundArrays, world: int, x: vec3):
    """Height [m] of the undisturbed ground below or above a point; beyond its border that of the border."""
    row = wp.clamp((x[1] - g.y0) * g.per_spacing, real(0.0), real(g.rows - 1))
    column = wp.clamp((x[0] - g.x0) * g.per_spacing, real(0.0), real(g.columns - 1))
    return between(g.base, g.terrain[world], row * g.ratio, column * g.ratio)


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
    step: array[real], memory: real, form: int,
    position: array2d[vec3], rotation: array2d[quat], velocity: array2d[vec3], angular_velocity: array2d[vec3],
    state: FaceStates, wrench_out: array2d[vec6], implicit_out: array2d[mat66], status_out: array2d[int],
    sinkage_out: array2d[wp.float64], area_out: array2d[wp.float64],
):  # fmt: skip
    """Force at the end of the step and implicit block of every body."""
    world, body = wp.tid()
    row = rows[body]
    h = step[0]
    medium = media[world]
    q = rotation[world, row]
    force = vec3()
    moment = vec3()
    block = Block(mat33(), mat33(), mat33())
    sinkage = real(0.0)
    area = real(0.0)
    for k in range(first[body], first[body + 1]):
        face = faces[k]
        arm = wp.quat_rotate(q, face.centre)
        n = wp.quat_rotate(q, face.normal)
        x = position[world, row] + arm
        v = velocity[world, row] + wp.cross(angular_velocity[world, row], arm)
        depth = level_at(g, world, x) - x[2] - h * v[2]
        mode = int(OUTSIDE)
        stress = vec3()
        power = real(0.0)
        if depth > real(0.0):
            mode = FREE
            for c in range(3):
                corner = wp.quat_rotate(q, face.corners[c])
                sinkage = wp.max(sinkage, depth + arm[2] - corner[2])
            strain = state.strain[world, k] + h * v
            path = shortened(state.path[world, k] + h * v, memory)
            if wp.length(path) > real(0.0):
                alpha = flow_stress(n, wp.normalize(path), medium.friction, form)
                stress = medium.scale * depth * alpha
            most = wp.length(stress)
            power = -wp.dot(stress, v)
            if medium.stiffness * wp.length(strain) > most and power > real(0.0):
                # Rank one and positive: f = -s (s.v) / (s.v_now) takes power at any velocity v.
                mode = FLOWING
                weight = wp.outer((h * face.area / power) * stress, stress)
                block = add_point(block, arm, weight)
                pull = face.area * stress
                force += pull
                moment += wp.cross(arm, pull)
                area += face.area
            elif wp.dot(strain, n) >= real(0.0) and most > real(0.0):
                mode = ELASTIC
                spring = face.area * medium.stiffness
                block = add_point(block, arm, wp.diag(vec3(h * h * spring, h * h * spring, h * h * spring)))
                pull = -spring * strain
                force += pull
                moment += wp.cross(arm, pull)
                area += face.area
        state.mode[world, k] = mode
        state.stress[world, k] = stress
        state.power[world, k] = power
        state.arm[world, k] = arm
    wrench_out[world, body] = wrench_of(force, moment)
    implicit_out[world, body] = assemble(block)
    status_out[world, body] = 0
    sinkage_out[world, body] = wp.float64(sinkage)
    area_out[world, body] = wp.float64(area)


@wp.kernel(module=rft)
def commit(
    first: array[int], media: array[Medium], rows: array[int], step: array[real], memory: real,
    velocity: array2d[vec3], angular_velocity: array2d[vec3], state: FaceStates,
):  # fmt: skip
    """Move the strain and the path of every face element on with the velocity at the end of the step."""
    world, body = wp.tid()
    row = rows[body]
    h = step[0]
    stiffness = media[world].stiffness
    for k in range(first[body], first[body + 1]):
        mode = state.mode[world, k]
        v = velocity[world, row] + wp.cross(angular_velocity[world, row], state.arm[world, k])
        old = state.strain[world, k]
        strain = vec3()
        if mode == ELASTIC:
            strain = old + h * v
        if mode == FLOWING:
            # The strain is that of the stress which acted, if the work of the step pays for its energy.
            stress = state.stress[world, k]
            acted = wp.max(-wp.dot(stress, v) / state.power[world, k], real(0.0))
            work = acted * -wp.dot(stress, v) * h
            most = wp.sqrt(wp.dot(old, old) + real(2.0) * wp.max(work, real(0.0)) / stiffness)
            strain = shortened(-(wp.min(acted, real(1.0)) / stiffness) * stress, most)
        state.strain[world, k] = strain
        path = shortened(state.path[world, k] + h * v, memory)
        state.path[world, k] = wp.where(mode == OUTSIDE, vec3(), path)
