"""Device functions for rigid motion and implicit blocks, shared by all contact modules of pairs."""

from __future__ import annotations

import warp as wp

from grouser.device import struct
from grouser.precision import mat33, mat66, quat, real, vec3, vec6


@struct
class Block:
    """The 3 x 3 parts of the implicit matrix B of a pair. B is symmetric."""

    push: mat33  # [kg] upper left: force due to velocity
    mixed: mat33  # [kg m] upper right: force due to angular velocity
    turn: mat33  # [kg m^2] lower right: torque due to angular velocity


@wp.func
def rotated(q: quat, angle_vector: vec3):
    """Orientation q rotated by a rotation vector [rad] given in world axes."""
    angle = wp.length(angle_vector)
    if angle == real(0.0):
        return q
    return wp.normalize(wp.quat_from_axis_angle(angle_vector / angle, angle) * q)


@wp.func
def wrench_of(force: vec3, moment: vec3):
    """Join force and moment, or velocity and angular velocity, into one vector."""
    return vec6(force[0], force[1], force[2], moment[0], moment[1], moment[2])


@wp.func
def add_normal(block: Block, arm: vec3, normal: vec3, weight: real):
    """Add a point at `arm` [m] that resists motion along `normal` with `weight` [kg]."""
    lever = wp.cross(arm, normal)
    block.push += wp.outer(weight * normal, normal)
    block.mixed += wp.outer(weight * normal, lever)
    block.turn += wp.outer(weight * lever, lever)
    return block


@wp.func
def add_tangential(block: Block, arm: vec3, normal: vec3, weight: real):
    """Add a point at `arm` [m] that resists motion perpendicular to `normal` with `weight` [kg]."""
    tangent = wp.diag(vec3(weight, weight, weight)) - wp.outer(weight * normal, normal)
    cross = wp.skew(arm)
    block.push += tangent
    block.mixed = block.mixed - tangent * cross
    block.turn = block.turn - cross * (tangent * cross)
    return block


@wp.func
def assemble(block: Block):
    """Build the 6 x 6 matrix B from its parts."""
    B = mat66()
    for r in range(3):
        for c in range(3):
            B[r, c] = block.push[r, c]
            B[r, 3 + c] = block.mixed[r, c]
            B[3 + c, r] = block.mixed[r, c]
            B[3 + r, 3 + c] = block.turn[r, c]
    return B


@wp.func
def in_world(R: mat33, B: mat66):
    """Rotate B into world axes; the columns of R are the axes in which B is given."""
    push = mat33()
    mixed = mat33()
    turn = mat33()
    for r in range(3):
        for c in range(3):
            push[r, c] = B[r, c]
            mixed[r, c] = B[r, 3 + c]
            turn[r, c] = B[3 + r, 3 + c]
    back = wp.transpose(R)
    return assemble(Block(R * push * back, R * mixed * back, R * turn * back))
