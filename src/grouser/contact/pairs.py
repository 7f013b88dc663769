"""Pairs of bodies that may touch: relative pose, friction of their elements, and the wrench on each body.

Shared by polygonal contact and contact between bodies of revolution. The first surface of a pair carries the contact
elements, the second is what they touch. Quantities of a pair are given in the axes of the second.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from grouser.contact import penalty
from grouser.contact.penalty import FREE, SLIPPING, STUCK, Friction
from grouser.contact.rigid import in_world, rotated, wrench_of
from grouser.device import array, array2d, at, struct
from grouser.precision import mat33, mat66, quat, real, vec3, vec6

# Kinds of status in order of severity. A status code is kind + KINDS * pair.
FINE, KAPPA, DEEP, STIFF, LOST, FULL = range(6)
KINDS = 8

UPRIGHT = wp.constant(mat33(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0))


@struct
class PairBodies:
    """The bodies of every pair. Written by the host."""

    row: array2d[int]  # (pair, 2) row of `Motion`, -1 if fixed
    out: array2d[int]  # (pair, 2) row of `Outputs`, -1 if fixed
    named: array[int]  # (pair,) 0 or 1: which of the two the channels describe
    both_move: array[int]  # (pair,) 1: two moving bodies, explicit forces; 0: body and ground, implicit forces
    stick_speed: array[real]  # [m/s], (pair,) v_T0
    stiffest: array[real]  # [N/m], (pair,) stiffness for which the step limit was computed
    step: array[real]  # [s], (1,)


@struct
class RelativePoses:
    """Pose and velocity of the first surface of every pair relative to the second, in the second's axes.

    Written by `set_relative_pose`: predicted for the end of the step in `evaluate`, present in `commit`.
    """

    position: array2d[vec3]  # [m], (world, pair)
    rotation: array2d[mat33]
    velocity: array2d[vec3]  # [m/s] of the first's origin
    angular_velocity: array2d[vec3]  # [rad/s]
    centre: array2d[vec3]  # [m] frame origin of the body about which moments are taken
    between: array2d[vec3]  # [m] from the second body's frame origin to that of the first, world axes
    world_position: array2d[vec3]  # [m] of the second
    world_rotation: array2d[mat33]  # of the second
    twist: array2d[vec6]  # velocity and angular velocity of the implicit body at the start of the step, world axes


@struct
class PairSums:
    """Sums over the elements of every pair. Written by the module's force kernels, then by `sum_onto_bodies`."""

    wrench: array2d[vec6]  # [N, N m], (world, pair) on the first about `RelativePoses.centre`, the second's axes
    block: array2d[mat66]  # (world, pair) implicit block B, the second's axes
    depth: array2d[real]  # [m] largest penetration
    pressure: array2d[real]  # [Pa] largest elastic pressure of the layers
    area: array2d[real]  # [m^2] contact area
    stiffness: array2d[real]  # [N/m] normal stiffness
    polygons: array2d[int]  # number of contact polygons
    touched: array2d[int]  # 1: the wrench or the block is not zero
    flags: array2d[int]  # kinds of status that occurred, as bits
    kappa_reported: array2d[int]  # 1: the warning about kappa has been given
    named_wrench: array2d[vec6]  # applied wrench on the named body about its frame origin, world axes
    named_block: array2d[mat66]  # its implicit block
    effective: array2d[vec6]  # wrench the named body received over the last step, with the implicit part
    peak_force: array2d[real]  # [N] largest force on the named body over all steps
    peak_depth: array2d[real]  # [m] largest penetration over all steps
    peak_pressure: array2d[real]  # [Pa] largest pressure over all steps


# ---- relative pose --------------------------------------------------------------------------------------


@wp.func
def set_relative_pose(
    bodies: PairBodies, poses: RelativePoses, world: int, pair: int, ahead: real,
    mount1: vec3, turn1: mat33, mount2: vec3, turn2: mat33,
    position: array2d[vec3], rotation: array2d[quat], velocity: array2d[vec3], angular_velocity: array2d[vec3],
):  # fmt: skip
    """Write the relative pose predicted `ahead` [s] from now, and the present relative velocity.

    `mount` [m] and `turn` are position and orientation of each surface on its body. Returns the twist of the implicit
    body.
    """
    # A surface without a body is fixed to the world: these values stay.
    p1 = vec3()
    p2 = vec3()
    v1 = vec3()
    v2 = vec3()
    w1 = vec3()
    w2 = vec3()
    q1 = quat(real(0.0), real(0.0), real(0.0), real(1.0))
    q2 = quat(real(0.0), real(0.0), real(0.0), real(1.0))
    # Contact between two moving bodies is explicit: use the present pose.
    h = ahead
    if bodies.both_move[pair] == 1:
        h = real(0.0)
    one = bodies.row[pair, 0]
    two = bodies.row[pair, 1]
    if one >= 0:
        v1 = velocity[world, one]
        w1 = angular_velocity[world, one]
        p1 = position[world, one] + h * v1
        q1 = rotated(rotation[world, one], h * w1)
    if two >= 0:
        v2 = velocity[world, two]
        w2 = angular_velocity[world, two]
        p2 = position[world, two] + h * v2
        q2 = rotated(rotation[world, two], h * w2)
    arm1 = wp.quat_rotate(q1, mount1)
    arm2 = wp.quat_rotate(q2, mount2)
    R1 = wp.quat_to_matrix(q1) * turn1
    R2 = wp.quat_to_matrix(q2) * turn2
    into = wp.transpose(R2)
    between = p1 - p2
    poses.position[world, pair] = into * (between + arm1 - arm2)
    poses.rotation[world, pair] = into * R1
    # Both velocities are those of material points at the origin of the first surface. Two bodies that move as one then
    # have no relative velocity, also when they turn.
    poses.velocity[world, pair] = into * (v1 - v2 + wp.cross(w1, arm1) - wp.cross(w2, between + arm1))
    poses.angular_velocity[world, pair] = into * (w1 - w2)
    # Moments are taken about the frame origin of the first body, or of the second if the first is fixed.
    poses.centre[world, pair] = into * (wp.where(one >= 0, between, vec3()) - arm2)
    poses.between[world, pair] = between
    poses.world_position[world, pair] = p2 + arm2
    poses.world_rotation[world, pair] = R2
    # The body that moves against the ground is the one with an implicit block.
    v = v1
    w = w1
    if one < 0:
        v = v2
        w = w2
    return wrench_of(v, w)


@wp.func
def moved_since(poses: RelativePoses, world: int, pair: int, position: vec3, rotation: mat33, radius: real):
    """Upper bound [m] of the motion of a point within `radius` [m] of the first's origin since an earlier pose."""
    shifted = wp.length(poses.position[world, pair] - position)
    return shifted + turned_since(poses, world, pair, rotation) * radius


@wp.func
def turned_since(poses: RelativePoses, world: int, pair: int, rotation: mat33):
    """Largest motion of a point over its distance from the centre of the rotation since an earlier pose.

    A rotation by the angle f changes the rotation matrix by 2 sqrt(2) sin(f / 2) (Frobenius norm), and moves a point by
    at most 2 sin(f / 2) times its distance.
    """
    change = poses.rotation[world, pair] - rotation
    turn = real(0.0)
    for k in range(3):
        row = vec3(change[k, 0], change[k, 1], change[k, 2])
        turn += wp.dot(row, row)
    return wp.sqrt(real(0.5) * turn)


# ---- friction of an element -----------------------------------------------------------------------------


@wp.func
def element_friction(
    normal: vec3, law: Friction, displacement: vec3, middle_velocity: vec3, velocity: vec3, state: int,
    stick_speed: real, ahead: real,
):  # fmt: skip
    """Friction force [N] of an element and its weight [kg] in B. Krenn and Hirzinger 2009, eq. 2.

    `displacement` [m] is that of its centroid from its stick point; a FREE element has no stick point yet.
    `middle_velocity` and `velocity` [m/s] are those of its centroid and of the centre of its contact area.
    """
    xi = displacement
    if state == FREE:
        xi = ahead * middle_velocity  # it starts to stick at the beginning of this step
    xi = xi - wp.dot(xi, normal) * normal
    v = velocity - wp.dot(velocity, normal) * normal
    speed = wp.length(v)
    slipping = wp.where(state == SLIPPING, 1, 0)
    limit = penalty.friction_limit(slipping, speed, stick_speed, law.stick_limit, law.slip_limit)
    drag, slips = penalty.friction(law.stiffness * xi + law.damping * v, limit, law.slip_limit)
    weight = ahead * law.stiffness + law.damping
    if slips == 1:
        weight = penalty.friction_impedance(weight, law.slip_limit, speed)
    return drag, ahead * weight


@wp.func
def next_stick_point(
    normal: vec3, law: Friction, middle: vec3, anchor: vec3, velocity: vec3, anchor_velocity: vec3, state: int,
    stick_speed: real, h: real,
):  # fmt: skip
    """Stick point [m] of an element after the step, and its state. Krenn and Hirzinger 2009, eq. 2, return mapping.

    The stick point stays if the element sticks, follows it if it slips, and is set when contact begins.
    `anchor_velocity` [m/s] is the velocity of the surface at the stick point, if the surface itself deforms.
    """
    v = velocity - wp.dot(velocity, normal) * normal
    xi = h * v
    if state != FREE:
        xi = middle - anchor - h * anchor_velocity
        xi = xi - wp.dot(xi, normal) * normal
    trial = law.stiffness * xi + law.damping * v
    slipping = wp.where(state == SLIPPING, 1, 0)
    limit = penalty.friction_limit(slipping, wp.length(v), stick_speed, law.stick_limit, law.slip_limit)
    kept, slips = penalty.elastic_displacement(xi, trial, limit, law.slip_limit, law.stiffness)
    return middle - kept, wp.where(slips == 1, int(SLIPPING), int(STUCK))


# ---- wrenches on the bodies -----------------------------------------------------------------------------


@wp.func
def clear_sums(sums: PairSums, world: int, pair: int):
    """Set the sums of a pair to zero before its elements are added."""
    sums.wrench[world, pair] = vec6()
    sums.block[world, pair] = mat66()
    sums.depth[world, pair] = real(0.0)
    sums.pressure[world, pair] = real(0.0)
    sums.area[world, pair] = real(0.0)
    sums.stiffness[world, pair] = real(0.0)
    sums.polygons[world, pair] = 0
    sums.flags[world, pair] = 0
    sums.touched[world, pair] = 0


@wp.func
def record_effective(bodies: PairBodies, poses: RelativePoses, sums: PairSums, world: int, pair: int, twist: vec6):
    """Write the wrench the named body received in a step that ends with `twist`, f - B (v+ - v) / h, and the peaks."""
    gained = (real(1.0) / bodies.step[0]) * (twist - poses.twist[world, pair])
    f = sums.named_wrench[world, pair] - sums.named_block[world, pair] * gained
    sums.effective[world, pair] = f
    # Peaks are kept here, over all steps: a recording has only some of them, and an impact lasts a few.
    force = wp.length(vec3(f[0], f[1], f[2]))
    sums.peak_force[world, pair] = wp.max(sums.peak_force[world, pair], force)
    sums.peak_depth[world, pair] = wp.max(sums.peak_depth[world, pair], sums.depth[world, pair])
    sums.peak_pressure[world, pair] = wp.max(sums.peak_pressure[world, pair], sums.pressure[world, pair])
    if (sums.flags[world, pair] & (1 << KAPPA)) != 0:
        sums.kappa_reported[world, pair] = 1


@wp.func
def raise_status(status: array2d[int], world: int, row: int, kind: int, pair: int):
    """Replace the status of a body if `kind` is more severe."""
    if row >= 0 and kind > status[world, row] % KINDS:
        status[world, row] = kind + KINDS * pair


@wp.func
def status_kind(bodies: PairBodies, sums: PairSums, world: int, pair: int):
    """Most severe kind of status of a pair."""
    flags = sums.flags[world, pair]
    kind = int(FINE)
    if (flags & (1 << KAPPA)) != 0 and sums.kappa_reported[world, pair] == 0:
        kind = int(KAPPA)
    if (flags & (1 << DEEP)) != 0:
        kind = int(DEEP)
    if bodies.both_move[pair] == 1 and sums.stiffness[world, pair] > bodies.stiffest[pair]:
        kind = int(STIFF)
    if (flags & (1 << LOST)) != 0:
        kind = int(LOST)
    if (flags & (1 << FULL)) != 0:
        kind = int(FULL)
    return kind


@wp.func
def sum_onto_bodies(
    bodies: PairBodies, poses: RelativePoses, sums: PairSums, world: int,
    wrench_out: array2d[vec6], implicit_out: array2d[mat66], status_out: array2d[int],
):  # fmt: skip
    """Add the sums of all pairs of one world to their bodies.

    The two bodies of a pair get opposite wrenches. Only pairs with the ground add an implicit block.
    """
    for row in range(wrench_out.shape[1]):
        wrench_out[world, row] = vec6()
        implicit_out[world, row] = mat66()
        status_out[world, row] = 0
    for pair in range(bodies.named.shape[0]):
        one = bodies.out[pair, 0]
        two = bodies.out[pair, 1]
        named = vec6()
        block = mat66()
        if sums.touched[world, pair] == 1:
            R = poses.world_rotation[world, pair]
            f = sums.wrench[world, pair]
            force = R * vec3(f[0], f[1], f[2])
            moment = R * vec3(f[3], f[4], f[5])
            on_first = wrench_of(force, moment)
            on_second = -on_first
            if bodies.both_move[pair] == 1:
                # The same force, but its moment is about the second body's origin.
                on_second = -wrench_of(force, moment + wp.cross(poses.between[world, pair], force))
            else:
                block = in_world(R, sums.block[world, pair])
            if one >= 0:
                wrench_out[world, one] = wrench_out[world, one] + on_first
                implicit_out[world, one] = implicit_out[world, one] + block
            if two >= 0:
                wrench_out[world, two] = wrench_out[world, two] + on_second
                implicit_out[world, two] = implicit_out[world, two] + block
            named = wp.where(bodies.named[pair] == 0, on_first, on_second)
        sums.named_wrench[world, pair] = named
        sums.named_block[world, pair] = block
        kind = status_kind(bodies, sums, world, pair)
        raise_status(status_out, world, one, kind, pair)
        raise_status(status_out, world, two, kind, pair)


# ---- host -----------------------------------------------------------------------------------------------


def contact_table(name: str, laws, device) -> wp.array:
    """Device array of `penalty.Constants` of float type `name`, one for each of `laws` (`layers.contact_constants`)."""
    kind = at(penalty.Constants, name)
    table: Any = np.zeros(len(laws), dtype=kind.numpy_dtype())
    for k, law in enumerate(laws):
        for key in law.keys() - {"kappa"}:
            table[key][k] = law[key]
        table["far"][k] = abs(law["kappa"]) > penalty.KAPPA_LIMIT
    return wp.array(table, dtype=kind, device=device)
