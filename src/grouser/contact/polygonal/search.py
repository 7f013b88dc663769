"""Where pairs stand and which faces may meet: relative poses, trees, lists that last while a pair moves little.

Elements come from a walk down the first shape's tree; every box of it asks Warp's tree over the second shape. Lists
are made with some slack and kept until the relative motion has used it up.
"""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact.pairs import pair_stages
from grouser.contact.polygonal import laws
from grouser.contact.polygonal import types as t
from grouser.terrain.ground import natural

NOTHING, BEHIND, EITHER, REVERSED, BEYOND = 0, 1, 2, 3, 4  # what a face can be to an element
BOX_ROUND_OFF = 1e-6  # of a box's coordinates: Warp's trees are float32


@cache
def search_stages(name: str) -> SimpleNamespace:
    ty = t.polygonal_types(name)
    p = ty.precision
    real, vec3, mat33 = p.real, p.vec3, p.mat33
    Ends, Shapes, Pairs, Places, Lists, Sums = ty.Ends, ty.Shapes, ty.Pairs, ty.Places, ty.Lists, ty.Sums
    shared = pair_stages(name)
    place, clear, settle, moved_since = shared.place, shared.clear, shared.settle, shared.moved_since
    poses, turns = shared.poses, shared.turns
    module = wp.get_module(f"grouser.contact.polygonal.{name}")
    module.options["enable_backward"] = False
    upright = wp.constant(mat33(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0))
    round_off = wp.constant(real(BOX_ROUND_OFF))

    @wp.kernel(module=module)
    def place_ahead(
        ends: Ends, places: Places, sums: Sums, position: poses, rotation: turns, velocity: poses, spinning: poses
    ):
        """Poses at the end of the step; sums start at nil."""
        world, pair = wp.tid()
        places.twist[world, pair] = place(
            ends, places, world, pair, ends.step[0], vec3(), upright, vec3(), upright,
            position, rotation, velocity, spinning,
        )  # fmt: skip
        clear(sums, world, pair)

    @wp.kernel(module=module)
    def place_now(
        ends: Ends, places: Places, sums: Sums, position: poses, rotation: turns, velocity: poses, spinning: poses
    ):
        """Poses after the step, and what it gave the named body."""
        world, pair = wp.tid()
        twist = place(
            ends, places, world, pair, real(0.0), vec3(), upright, vec3(), upright,
            position, rotation, velocity, spinning,
        )  # fmt: skip
        settle(ends, places, sums, world, pair, twist)

    @wp.kernel(module=module)
    def check_lists(pairs: Pairs, places: Places, lists: Lists, sums: Sums):
        """Whether a pair has moved, or may move in this step, further than its list allows; then empty the list.

        A pair that did not touch and cannot have closed the gap since is quiet: nobody looks at its list."""
        world, pair = wp.tid()
        radius = pairs.radius[pair]
        moved = moved_since(places, world, pair, lists.position[world, pair], lists.rotation[world, pair], radius)
        ahead = wp.length(places.velocity[world, pair]) + radius * wp.length(places.spin[world, pair])
        ahead = pairs.ends.step[0] * ahead
        lists.counts[world, pair, t.QUIET] = 0
        if moved + ahead < lists.slack[world, pair]:
            lists.counts[world, pair, t.STALE] = 0
            if moved + ahead < lists.gap[world, pair] and sums.touched[world, pair] == 0:
                lists.counts[world, pair, t.QUIET] = 1
        else:
            lists.slack[world, pair] = pairs.margin[pair] + ahead
            lists.gap[world, pair] = lists.slack[world, pair]
            lists.position[world, pair] = places.position[world, pair]
            lists.rotation[world, pair] = places.rotation[world, pair]
            lists.counts[world, pair, t.STALE] = 1
            lists.counts[world, pair, t.SEARCHES] = lists.counts[world, pair, t.SEARCHES] + 1
            lists.counts[world, pair, t.ELEMENTS] = 0
            lists.counts[world, pair, t.CANDIDATES] = 0
            lists.counts[world, pair, t.TESTS] = 0
            lists.counts[world, pair, t.OVERFLOW] = 0

    @wp.func
    def element_frame(s: Shapes, face: int, at: vec3, R: mat33):
        """A face in the other's axes: corner, first edge's direction, normal, and L, a, b of its plane."""
        A = s.corners[face, 0]
        B = s.corners[face, 1] - A
        C = s.corners[face, 2] - A
        n = s.normal[face]
        L = wp.length(B)
        e1 = B / L
        flat = vec3(L, wp.dot(C, e1), wp.dot(C, wp.cross(n, e1)))
        return at + R * A, R * e1, R * n, flat

    @wp.func
    def beside(xa: real, ya: real, xb: real, yb: real, flat: vec3, wide: real):
        """Whether an element lies left of a face's edge, which is its outside there, by more than `wide` [m]."""
        a = yb - ya
        b = xa - xb
        c = xb * ya - xa * yb
        most = wp.max(c, wp.max(c + a * flat[0], c + a * flat[1] + b * flat[2]))
        return most < -wide * wp.sqrt(a * a + b * b)

    @wp.func
    def may_meet(
        x: vec3, e1: vec3, e2: vec3, n: vec3, flat: vec3,
        A: vec3, B: vec3, C: vec3, m: vec3, slack: real, reach: real, turn: real, lift: real,
    ):  # fmt: skip
        """What a face can come to be to an element, within `slack` [m] of motion and `turn` [rad]: one it lies behind,
        one that looks the other way and may hide others, one of both, or nothing; and how deep it lies behind it.

        With a `lift` [m] also one that it lies in front of, up to that far: its corners may.
        """
        facing = wp.dot(n, m)
        d = wp.dot(A - x, m)
        dx = -wp.dot(e1, m)
        dy = -wp.dot(e2, m)
        deep = wp.max(d, wp.max(d + dx * flat[0], d + dx * flat[1] + dy * flat[2]))
        front = deep < -slack
        if front and (lift <= real(0.0) or facing > -turn) and facing < turn:
            return NOTHING, deep
        a = A - x
        b = B - x
        c = C - x
        ua = -wp.dot(a, n)
        ub = -wp.dot(b, n)
        uc = -wp.dot(c, n)
        farthest = wp.max(ua, wp.max(ub, uc))
        if farthest < -slack - lift or wp.min(ua, wp.min(ub, uc)) > reach + slack:
            return NOTHING, deep
        if farthest < -slack and facing > -turn:
            return NOTHING, deep
        wide = slack + turn * reach
        ya = wp.dot(a, e2)
        yb = wp.dot(b, e2)
        yc = wp.dot(c, e2)
        if wp.max(ya, wp.max(yb, yc)) < -wide or wp.min(ya, wp.min(yb, yc)) > flat[2] + wide:
            return NOTHING, deep
        xa = wp.dot(a, e1)
        xb = wp.dot(b, e1)
        xc = wp.dot(c, e1)
        low = wp.min(real(0.0), flat[1])
        high = wp.max(flat[0], flat[1])
        if wp.max(xa, wp.max(xb, xc)) < low - wide or wp.min(xa, wp.min(xb, xc)) > high + wide:
            return NOTHING, deep
        if facing >= turn:
            return REVERSED, deep
        if facing > -turn:
            return EITHER, slack
        if beside(xa, ya, xb, yb, flat, wide) or beside(xb, yb, xc, yc, flat, wide):
            return NOTHING, deep
        if beside(xc, yc, xa, ya, flat, wide):
            return NOTHING, deep
        if front or farthest < -slack:
            return BEYOND, deep
        return BEHIND, deep

    @wp.func
    def single(v: vec3, outward: real):
        """A corner of a box for Warp's float32 tree, moved outward by round-off."""
        size = round_off * wp.max(wp.abs(v[0]), wp.max(wp.abs(v[1]), wp.abs(v[2]))) * outward
        return wp.vec3(wp.float32(v[0] + size), wp.float32(v[1] + size), wp.float32(v[2] + size))

    @wp.func
    def box_is_near(pairs: Pairs, bvh: wp.uint64, node: int, at: vec3, R: mat33, grow: real):
        """Whether a box of the first shape's tree, grown, overlaps any face of the second."""
        c = at + R * pairs.box[node]
        half = pairs.half[node]
        e = vec3()
        for k in range(3):
            e[k] = wp.abs(R[k, 0]) * half[0] + wp.abs(R[k, 1]) * half[1] + wp.abs(R[k, 2]) * half[2] + grow
        query = wp.bvh_query_aabb(bvh, single(c - e, real(-1.0)), single(c + e, real(1.0)))
        face = wp.int32(0)
        return wp.bvh_query_next(query, face)

    @wp.func
    def search_face(
        s: Shapes, pairs: Pairs, lists: Lists, world: int, pair: int, face: int, other: int, at: vec3, R: mat33,
    ):  # fmt: skip
        """Put a face with all it may meet on the list, its candidates side by side.

        One thread alone writes them as it finds them; of several each counts first, so as to know where they go.
        """
        slack = lists.slack[world, pair]
        reach = pairs.reach[pair]
        turn = slack / pairs.radius[pair]
        x, e1, n, flat = element_frame(s, face, at, R)
        e2 = wp.cross(n, e1)
        lift = real(0.0)
        if pairs.linear[pair] == 1:
            lift = laws.corner_lift(flat[0], flat[1], flat[2])
        b = x + flat[0] * e1
        c = x + flat[1] * e1 + flat[2] * e2
        low = wp.min(x, wp.min(b, c))
        high = wp.max(x, wp.max(b, c))
        down = reach * n
        up = lift * n
        grow = vec3(slack, slack, slack)
        low = wp.min(low + up, low - down) - grow
        high = wp.max(high + up, high - down) + grow
        first = s.first_face[other]
        bvh = s.bvh[other]
        room = pairs.first_candidate[pair + 1]
        start = int(-1)  # where its candidates go, once that is known
        if pairs.lanes == 1:
            start = pairs.first_candidate[pair] + lists.counts[world, pair, t.CANDIDATES]
        found = int(0)
        behind = int(0)
        doubtful = int(0)
        tests = int(0)
        deepest = -slack
        k = wp.int32(0)
        query = wp.bvh_query_aabb(bvh, single(low, real(-1.0)), single(high, real(1.0)))
        while wp.bvh_query_next(query, k):
            f = natural(first + k)
            tests += 1
            kind, deep = may_meet(
                x, e1, e2, n, flat, s.corners[f, 0], s.corners[f, 1], s.corners[f, 2], s.normal[f],
                slack, reach, turn, lift,
            )  # fmt: skip
            if kind != NOTHING:
                if start >= 0 and start + found < room:
                    lists.other[world, start + found] = wp.where(kind == BEHIND or kind == BEYOND, f, -1 - f)
                found += 1
                if kind == REVERSED or kind == EITHER:
                    doubtful = 1
                if kind == BEHIND or kind == EITHER:
                    behind += 1
                    deepest = wp.max(deepest, deep)
        wp.atomic_add(lists.counts, world, pair, t.TESTS, tests)
        if behind == 0:
            return
        wp.atomic_min(lists.gap, world, pair, -deepest)
        written = start >= 0
        start = pairs.first_candidate[pair] + wp.atomic_add(lists.counts, world, pair, t.CANDIDATES, found)
        if start + found > room:
            lists.counts[world, pair, t.OVERFLOW] = 1
            return
        slot = pairs.first_element[pair] + wp.atomic_add(lists.counts, world, pair, t.ELEMENTS, 1)
        lists.face[world, slot] = face
        lists.first[world, slot] = start
        lists.count[world, slot] = found
        lists.doubtful[world, slot] = doubtful
        if written:
            return
        again = wp.bvh_query_aabb(bvh, single(low, real(-1.0)), single(high, real(1.0)))
        while wp.bvh_query_next(again, k):
            f = natural(first + k)
            kind, deep = may_meet(
                x, e1, e2, n, flat, s.corners[f, 0], s.corners[f, 1], s.corners[f, 2], s.normal[f],
                slack, reach, turn, lift,
            )  # fmt: skip
            if kind != NOTHING:
                lists.other[world, start] = wp.where(kind == BEHIND or kind == BEYOND, f, -1 - f)
                start += 1

    @wp.kernel(module=module)
    def search(s: Shapes, pairs: Pairs, lists: Lists):
        """Walk down the first shape's tree of every pair whose list is stale; each lane takes some branches."""
        world, pair, lane = wp.tid()
        if lists.counts[world, pair, t.STALE] == 0:
            return
        one = pairs.shape[pair, 0]
        other = pairs.shape[pair, 1]
        bvh = s.bvh[other]
        at = lists.position[world, pair]
        R = lists.rotation[world, pair]
        slack = lists.slack[world, pair]
        depth = pairs.depth[pair]
        first = pairs.first_node[pair]
        faces = wp.int64(s.first_face[one + 1] - s.first_face[one])
        split = int(0)
        while (1 << split) < pairs.lanes and split < depth:
            split += 1
        for branch in range(lane, 1 << split, pairs.lanes):
            top = (1 << split) - 1 + branch
            node = int(top)
            level = int(split)
            walking = int(1)
            while walking == 1:
                near = box_is_near(pairs, bvh, first + node, at, R, slack)
                if near and level < depth:
                    node = 2 * node + 1
                    level += 1
                else:
                    if near:
                        leaf = wp.int64(node - (1 << depth) + 1)
                        start = int((faces * leaf) >> wp.int64(depth))
                        end = int((faces * (leaf + wp.int64(1))) >> wp.int64(depth))
                        for face in range(start, end):
                            search_face(s, pairs, lists, world, pair, s.first_face[one] + face, other, at, R)
                    while node != top and (node & 1) == 0:
                        node = (node - 1) / 2
                        level -= 1
                    if node == top:
                        walking = 0
                    else:
                        node += 1

    return SimpleNamespace(
        module=module, types=ty, element_frame=element_frame, place_ahead=place_ahead, place_now=place_now,
        check_lists=check_lists, search=search,
    )  # fmt: skip
