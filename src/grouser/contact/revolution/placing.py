"""Where pairs stand: relative poses and velocities, and whether what was found near before is still good."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact.revolution import types as t
from grouser.contact.revolution.mapping import mapping_stages
from grouser.contact.rigid import rigid_stages


@cache
def placing_stages(name: str) -> SimpleNamespace:
    frame, turned = mapping_stages(name).frame, rigid_stages(name).turned
    ty = t.revolution_types(name)
    p = ty.precision
    real, vec3, vec6, quat, mat33, mat66 = p.real, p.vec3, p.vec6, p.quat, p.mat33, p.mat66
    Sections, Rounds, Pairs, Places = ty.Sections, ty.Rounds, ty.Pairs, ty.Places
    Lists, Elements, Sums = ty.Lists, ty.Elements, ty.Sums
    poses = wp.array2d(dtype=vec3)
    turns = wp.array2d(dtype=quat)

    @wp.func
    def place(
        rounds: Rounds, pairs: Pairs, places: Places, world: int, pair: int, ahead: real,
        position: poses, rotation: turns, velocity: poses, spinning: poses,
    ):  # fmt: skip
        """Relative pose `ahead` [s] from now (of pairs with the ground) and relative velocity now."""
        p1 = vec3()
        p2 = vec3()
        v1 = vec3()
        v2 = vec3()
        w1 = vec3()
        w2 = vec3()
        q1 = quat(real(0.0), real(0.0), real(0.0), real(1.0))
        q2 = quat(real(0.0), real(0.0), real(0.0), real(1.0))
        h = ahead
        if pairs.both_move[pair] == 1:
            h = real(0.0)
        one = pairs.row[pair, 0]
        two = pairs.row[pair, 1]
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
        first = pairs.surface[pair, 0]
        second = pairs.surface[pair, 1]
        arm1 = wp.quat_rotate(q1, rounds.mount[first])
        arm2 = wp.quat_rotate(q2, rounds.mount[second])
        R1 = wp.quat_to_matrix(q1) * rounds.mount_turn[first]
        R2 = wp.quat_to_matrix(q2) * rounds.mount_turn[second]
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
    def way_from(pairs: Pairs, places: Places, world: int, pair: int, position: vec3, rotation: mat33):
        """How far [m] a point of the first surface has moved at most since a pose."""
        change = places.rotation[world, pair] - rotation
        turn = real(0.0)
        for k in range(3):
            row = vec3(change[k, 0], change[k, 1], change[k, 2])
            turn += wp.dot(row, row)
        return wp.length(places.position[world, pair] - position) + wp.sqrt(real(0.5) * turn) * pairs.radius[pair]

    @wp.func
    def check_list(
        s: Sections, rounds: Rounds, pairs: Pairs, places: Places, lists: Lists, world: int, pair: int,
    ):  # fmt: skip
        """Whether a pair that was apart still must be, and whether the list of near elements is still good.

        Motion is that of the pair and of its shapes.
        """
        lists.counts[world, pair, t.STALE] = 0
        position = places.position[world, pair]
        rotation = places.rotation[world, pair]
        wander = s.wander[world, pairs.surface[pair, 0]] + s.wander[world, pairs.surface[pair, 1]]
        cleared = lists.clear_position[world, pair]
        moved = way_from(pairs, places, world, pair, cleared, lists.clear_rotation[world, pair])
        moved += wander - lists.clear_wander[world, pair] + frame(s, rounds, pairs, places, world, pair).slack
        lists.counts[world, pair, t.ASLEEP] = wp.where(moved < lists.clear[world, pair], 1, 0)
        if moved < lists.clear[world, pair]:
            return
        lists.clear[world, pair] = pairs.margin[pair]
        lists.clear_position[world, pair] = position
        lists.clear_rotation[world, pair] = rotation
        lists.clear_wander[world, pair] = wander
        moved = way_from(pairs, places, world, pair, lists.position[world, pair], lists.rotation[world, pair])
        moved += wander - lists.wander[world, pair]
        if moved >= pairs.margin[pair] or lists.counts[world, pair, t.SEARCHES] == 0:
            lists.position[world, pair] = position
            lists.rotation[world, pair] = rotation
            lists.wander[world, pair] = wander
            moved = real(0.0)
            lists.counts[world, pair, t.STALE] = 1
            lists.counts[world, pair, t.SEARCHES] = lists.counts[world, pair, t.SEARCHES] + 1
            lists.counts[world, pair, t.LISTED] = 0
            lists.counts[world, pair, t.TESTS] = 0
        lists.moved[world, pair] = moved

    @wp.func
    def place_ahead(
        s: Sections, rounds: Rounds, pairs: Pairs, places: Places, lists: Lists, e: Elements, sums: Sums,
        world: int, pair: int, position: poses, rotation: turns, velocity: poses, spinning: poses,
    ):  # fmt: skip
        """Poses at the end of the step; sums start at nil."""
        places.twist[world, pair] = place(
            rounds, pairs, places, world, pair, pairs.step[0], position, rotation, velocity, spinning
        )
        sums.wrench[world, pair] = vec6()
        sums.block[world, pair] = mat66()
        sums.depth[world, pair] = real(0.0)
        sums.area[world, pair] = real(0.0)
        sums.stiffness[world, pair] = real(0.0)
        sums.polygons[world, pair] = 0
        sums.flags[world, pair] = 0
        sums.touched[world, pair] = 0
        e.counts[world, pair, t.ACTIVE] = 0
        e.counts[world, pair, t.MAPPED] = 0
        check_list(s, rounds, pairs, places, lists, world, pair)

    @wp.func
    def place_now(
        rounds: Rounds, pairs: Pairs, places: Places, sums: Sums, world: int, pair: int,
        position: poses, rotation: turns, velocity: poses, spinning: poses,
    ):  # fmt: skip
        """Poses after the step, and what it gave the named body: f - B (v+ - v) / h."""
        twist = place(rounds, pairs, places, world, pair, real(0.0), position, rotation, velocity, spinning)
        gained = (real(1.0) / pairs.step[0]) * (twist - places.twist[world, pair])
        sums.effective[world, pair] = sums.named_wrench[world, pair] - sums.named_block[world, pair] * gained
        if (sums.flags[world, pair] & (1 << t.KAPPA)) != 0:
            sums.said[world, pair] = 1

    return SimpleNamespace(poses=poses, turns=turns, place_ahead=place_ahead, place_now=place_now)
