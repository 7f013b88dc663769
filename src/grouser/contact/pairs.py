"""Pairs of bodies that may touch: where they stand, how their elements stick, and what the bodies get.

Shared by polygonal contact and contact between bodies of revolution. The first of a pair carries the elements, the
second is what they meet; quantities of a pair are in the second's axes.
"""

from functools import cache
from types import SimpleNamespace

import numpy as np
import warp as wp

from grouser.contact import penalty
from grouser.contact.rigid import rigid_stages
from grouser.precision import precision

FREE, STUCK, SLIPPING = 0, 1, 2  # states of an element
# kinds of status in order of severity; a code is kind + KINDS * pair
FINE, KAPPA, DEEP, STIFF, LOST, FULL = range(6)
KINDS = 8
LAW_FIELDS = ("c", "d", "c_t", "d_t", "s_d0", "mu_stick", "mu_slip", "thickness")


@cache
def pair_types(name: str) -> SimpleNamespace:
    """Device structs, for one float type."""
    p = precision(name)
    real, vec3, vec6, mat33, mat66 = p.real, p.vec3, p.vec6, p.mat33, p.mat66

    @wp.struct
    class Contact:
        """Two layers in contact; symbols of penalty.py, per unit of area."""

        c: real  # [Pa/m]
        d: real  # [Pa s/m]
        c_t: real  # [Pa/m]
        d_t: real  # [Pa s/m]
        s_d0: real  # [m]
        mu_stick: real
        mu_slip: real
        thickness: real  # [m] of both layers
        far: wp.int32  # 1: kappa is far from 0

    @wp.struct
    class Ends:
        """Whose bodies the two of a pair are."""

        row: wp.array2d(dtype=wp.int32)  # (pair, 2) in motion, -1 where fixed
        out: wp.array2d(dtype=wp.int32)  # (pair, 2) output row, -1 where fixed
        named: wp.array(dtype=wp.int32)  # (pair,) 0 or 1: which of the two the channels speak of
        both_move: wp.array(dtype=wp.int32)  # (pair,) 1: both move
        stick_speed: wp.array(dtype=real)  # [m/s], (pair,) v_T0
        stiffest: wp.array(dtype=real)  # [N/m], (pair,) for which the step limit was found
        step: wp.array(dtype=real)  # [s], (1,)

    @wp.struct
    class Places:
        """Pose and velocity of the first against the second, in the second's axes, of every pair."""

        position: wp.array2d(dtype=vec3)  # [m], (world, pair)
        rotation: wp.array2d(dtype=mat33)
        velocity: wp.array2d(dtype=vec3)  # [m/s] of the first's origin
        spin: wp.array2d(dtype=vec3)  # [rad/s]
        centre: wp.array2d(dtype=vec3)  # [m] frame origin of the body moments are about
        apart: wp.array2d(dtype=vec3)  # [m] from the second body's frame origin to that of the first, world axes
        world_position: wp.array2d(dtype=vec3)  # [m] of the second
        world_rotation: wp.array2d(dtype=mat33)
        twist: wp.array2d(dtype=vec6)  # of the body that is implicit, world axes, when it was evaluated

    @wp.struct
    class Sums:
        """Of every pair: wrench on the first about `Places.centre`, in the second's axes, and what is shown."""

        wrench: wp.array2d(dtype=vec6)  # (world, pair)
        block: wp.array2d(dtype=mat66)
        depth: wp.array2d(dtype=real)  # [m] greatest
        area: wp.array2d(dtype=real)  # [m^2]
        stiffness: wp.array2d(dtype=real)  # [N/m] normal
        polygons: wp.array2d(dtype=wp.int32)
        touched: wp.array2d(dtype=wp.int32)  # 1: the wrench or the block is not nil
        flags: wp.array2d(dtype=wp.int32)  # kinds of status seen, bits
        said: wp.array2d(dtype=wp.int32)  # 1: kappa has been spoken of
        named_wrench: wp.array2d(dtype=vec6)  # on the named body about its frame origin, world axes, as applied
        named_block: wp.array2d(dtype=mat66)
        effective: wp.array2d(dtype=vec6)  # the same as the body really got it over the last step

    return SimpleNamespace(precision=p, Contact=Contact, Ends=Ends, Places=Places, Sums=Sums)


@cache
def pair_stages(name: str) -> SimpleNamespace:
    """Device functions of one pair, of one element, and of one world."""
    ty = pair_types(name)
    p = ty.precision
    real, vec3, vec4, vec6, quat, mat33, mat66 = p.real, p.vec3, p.vec4, p.vec6, p.quat, p.mat33, p.mat66
    Ends, Places, Sums = ty.Ends, ty.Places, ty.Sums
    turned, in_world = rigid_stages(name).turned, rigid_stages(name).in_world
    poses = wp.array2d(dtype=vec3)
    turns = wp.array2d(dtype=quat)
    wrenches = wp.array2d(dtype=vec6)
    blocks = wp.array2d(dtype=mat66)
    statuses = wp.array2d(dtype=wp.int32)

    # ---- where the two stand --------------------------------------------------------------------------

    @wp.func
    def place(
        ends: Ends, places: Places, world: int, pair: int, ahead: real,
        mount1: vec3, turn1: mat33, mount2: vec3, turn2: mat33,
        position: poses, rotation: turns, velocity: poses, spinning: poses,
    ):  # fmt: skip
        """Relative pose `ahead` [s] from now (of pairs with the ground) and relative velocity now.

        Mounts [m] and turns are how the two sit on their bodies. Gives the velocity of the body that is implicit.
        """
        p1 = vec3()
        p2 = vec3()
        v1 = vec3()
        v2 = vec3()
        w1 = vec3()
        w2 = vec3()
        q1 = quat(real(0.0), real(0.0), real(0.0), real(1.0))
        q2 = quat(real(0.0), real(0.0), real(0.0), real(1.0))
        h = ahead
        if ends.both_move[pair] == 1:
            h = real(0.0)
        one = ends.row[pair, 0]
        two = ends.row[pair, 1]
        if one >= 0:
            v1 = velocity[world, one]
            w1 = spinning[world, one]
            p1 = position[world, one] + h * v1
            q1 = turned(rotation[world, one], h * w1)
        if two >= 0:
            v2 = velocity[world, two]
            w2 = spinning[world, two]
            p2 = position[world, two] + h * v2
            q2 = turned(rotation[world, two], h * w2)
        arm1 = wp.quat_rotate(q1, mount1)
        arm2 = wp.quat_rotate(q2, mount2)
        R1 = wp.quat_to_matrix(q1) * turn1
        R2 = wp.quat_to_matrix(q2) * turn2
        into = wp.transpose(R2)
        between = p1 - p2
        places.position[world, pair] = into * (between + arm1 - arm2)
        places.rotation[world, pair] = into * R1
        places.velocity[world, pair] = into * (v1 - v2 + wp.cross(w1, arm1) - wp.cross(w2, between + arm1))
        places.spin[world, pair] = into * (w1 - w2)
        places.centre[world, pair] = into * (wp.where(one >= 0, between, vec3()) - arm2)
        places.apart[world, pair] = between
        places.world_position[world, pair] = p2 + arm2
        places.world_rotation[world, pair] = R2
        v = v1
        w = w1
        if one < 0:
            v = v2
            w = w2
        return vec6(v[0], v[1], v[2], w[0], w[1], w[2])

    @wp.func
    def clear(sums: Sums, world: int, pair: int):
        """Sums start at nil."""
        sums.wrench[world, pair] = vec6()
        sums.block[world, pair] = mat66()
        sums.depth[world, pair] = real(0.0)
        sums.area[world, pair] = real(0.0)
        sums.stiffness[world, pair] = real(0.0)
        sums.polygons[world, pair] = 0
        sums.flags[world, pair] = 0
        sums.touched[world, pair] = 0

    @wp.func
    def settle(ends: Ends, places: Places, sums: Sums, world: int, pair: int, twist: vec6):
        """What a step that ends with `twist` gave the named body: f - B (v+ - v) / h."""
        gained = (real(1.0) / ends.step[0]) * (twist - places.twist[world, pair])
        sums.effective[world, pair] = sums.named_wrench[world, pair] - sums.named_block[world, pair] * gained
        if (sums.flags[world, pair] & (1 << KAPPA)) != 0:
            sums.said[world, pair] = 1

    @wp.func
    def moved_since(places: Places, world: int, pair: int, position: vec3, rotation: mat33, radius: real):
        """How far [m] a point of the first, `radius` [m] from its origin at most, has moved since a pose."""
        change = places.rotation[world, pair] - rotation
        turn = real(0.0)
        for k in range(3):
            row = vec3(change[k, 0], change[k, 1], change[k, 2])
            turn += wp.dot(row, row)
        return wp.length(places.position[world, pair] - position) + wp.sqrt(real(0.5) * turn) * radius

    # ---- friction of an element -----------------------------------------------------------------------

    @wp.func
    def rub(
        normal: vec3, law: vec4, way: vec3, mid_velocity: vec3, velocity: vec3, state: int, stick_speed: real,
        ahead: real,
    ):  # fmt: skip
        """Friction of an element and its weight in B, 000 eq. 2; `way` from the point where it sticks, if it does.

        `law`: c_T A, d_T A, mu_stick F_N, mu_slip F_N.
        """
        xi = way
        if state == FREE:
            xi = ahead * mid_velocity
        xi = xi - wp.dot(xi, normal) * normal
        v = velocity - wp.dot(velocity, normal) * normal
        speed = wp.length(v)
        slipping = wp.where(state == SLIPPING, 1, 0)
        limit = penalty.friction_limit(slipping, speed, stick_speed, law[2], law[3])
        drag, slips = penalty.friction(law[0] * xi + law[1] * v, limit, law[3])
        weight = ahead * law[0] + law[1]
        if slips == 1:
            weight = penalty.grip(weight, law[3], speed)
        return drag, ahead * weight

    @wp.func
    def hold(
        normal: vec3, law: vec4, mid: vec3, anchor: vec3, velocity: vec3, carry: vec3, state: int, stick_speed: real,
        h: real,
    ):  # fmt: skip
        """Where an element sticks after the step, and its state: it stays, follows the slip, or begins.

        000 eq. 2 with return mapping; `carry` [m/s] is what moves the place it sticks to.
        """
        v = velocity - wp.dot(velocity, normal) * normal
        way = h * v
        if state != FREE:
            way = mid - anchor - h * carry
            way = way - wp.dot(way, normal) * normal
        trial = law[0] * way + law[1] * v
        slipping = wp.where(state == SLIPPING, 1, 0)
        limit = penalty.friction_limit(slipping, wp.length(v), stick_speed, law[2], law[3])
        kept, slips = penalty.elastic_way(way, trial, limit, law[3], law[0])
        return mid - kept, wp.where(slips == 1, int(SLIPPING), int(STUCK))

    # ---- what bodies get ------------------------------------------------------------------------------

    @wp.func
    def worse(status: statuses, world: int, row: int, kind: int, pair: int):
        """Keep the gravest status of a body."""
        if row >= 0 and kind > status[world, row] % KINDS:
            status[world, row] = kind + KINDS * pair

    @wp.func
    def gather(
        ends: Ends, places: Places, sums: Sums, world: int,
        wrench_out: wrenches, implicit_out: blocks, status_out: statuses,
    ):  # fmt: skip
        """Pair sums to the bodies of one world: exactly opposite wrenches, blocks for pairs with the ground."""
        for row in range(wrench_out.shape[1]):
            wrench_out[world, row] = vec6()
            implicit_out[world, row] = mat66()
            status_out[world, row] = 0
        for pair in range(ends.named.shape[0]):
            one = ends.out[pair, 0]
            two = ends.out[pair, 1]
            named = vec6()
            block = mat66()
            if sums.touched[world, pair] == 1:
                R = places.world_rotation[world, pair]
                f = sums.wrench[world, pair]
                force = R * vec3(f[0], f[1], f[2])
                moment = R * vec3(f[3], f[4], f[5])
                here = vec6(force[0], force[1], force[2], moment[0], moment[1], moment[2])
                there = -here
                if ends.both_move[pair] == 1:
                    shifted = moment + wp.cross(places.apart[world, pair], force)
                    there = -vec6(force[0], force[1], force[2], shifted[0], shifted[1], shifted[2])
                else:
                    block = in_world(R, sums.block[world, pair])
                if one >= 0:
                    wrench_out[world, one] = wrench_out[world, one] + here
                    implicit_out[world, one] = implicit_out[world, one] + block
                if two >= 0:
                    wrench_out[world, two] = wrench_out[world, two] + there
                    implicit_out[world, two] = implicit_out[world, two] + block
                named = wp.where(ends.named[pair] == 0, here, there)
            sums.named_wrench[world, pair] = named
            sums.named_block[world, pair] = block
            flags = sums.flags[world, pair]
            kind = int(FINE)
            if (flags & (1 << KAPPA)) != 0 and sums.said[world, pair] == 0:
                kind = int(KAPPA)
            if (flags & (1 << DEEP)) != 0:
                kind = int(DEEP)
            if ends.both_move[pair] == 1 and sums.stiffness[world, pair] > ends.stiffest[pair]:
                kind = int(STIFF)
            if (flags & (1 << LOST)) != 0:
                kind = int(LOST)
            if (flags & (1 << FULL)) != 0:
                kind = int(FULL)
            worse(status_out, world, one, kind, pair)
            worse(status_out, world, two, kind, pair)

    return SimpleNamespace(
        poses=poses, turns=turns, wrenches=wrenches, blocks=blocks, statuses=statuses, place=place, clear=clear,
        settle=settle, moved_since=moved_since, rub=rub, hold=hold, gather=gather,
    )  # fmt: skip


# ---- host ---------------------------------------------------------------------------------------------


def contact_table(name: str, laws, device) -> wp.array:
    """Constants of layers in contact, one after another, of float type `name`; `laws` are those of layers.py."""
    kind = pair_types(name).Contact
    table = np.zeros(len(laws), dtype=kind.numpy_dtype())
    for k, law in enumerate(laws):
        for key in LAW_FIELDS:
            table[key][k] = law[key]
        table["far"][k] = abs(law["kappa"]) > penalty.KAPPA_LIMIT
    return wp.array(table, dtype=kind, device=device)


def make_places(name: str, shape: tuple[int, int], device):
    """`shape`: (world, pair)."""
    ty, p = pair_types(name), precision(name)
    a = ty.Places()
    for field in ("position", "velocity", "spin", "centre", "apart", "world_position"):
        setattr(a, field, wp.zeros(shape, dtype=p.vec3, device=device))
    for field in ("rotation", "world_rotation"):
        setattr(a, field, wp.zeros(shape, dtype=p.mat33, device=device))
    a.twist = wp.zeros(shape, dtype=p.vec6, device=device)
    return a


def make_sums(name: str, shape: tuple[int, int], device):
    """`shape`: (world, pair)."""
    ty, p = pair_types(name), precision(name)
    a = ty.Sums()
    kinds = {
        p.vec6: ("wrench", "named_wrench", "effective"), p.mat66: ("block", "named_block"),
        p.real: ("depth", "area", "stiffness"), wp.int32: ("polygons", "touched", "flags", "said"),
    }  # fmt: skip
    for kind, fields in kinds.items():
        for field in fields:
            setattr(a, field, wp.zeros(shape, dtype=kind, device=device))
    return a
