"""Neighbour lists: which faces may touch while a pair moves little.

The search walks down the tree of the first shape and queries Warp's tree of the second shape with each box. Lists are
built with some slack and stay valid until the relative motion has used it up.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.pairs import PairSums, RelativePoses, moved_since, turned_since
from grouser.contact.polygonal import laws
from grouser.contact.polygonal.overlap import at_corners, element_of
from grouser.contact.polygonal.types import Element, Lists, Pairs, Shapes
from grouser.device import nonnegative
from grouser.precision import mat33, real, vec3

# Classes of a face of the second shape against an element, while the list is valid; see `may_touch`.
NOTHING = 0  # they cannot interact
BEHIND = 1  # the element may lie behind the face
EITHER = 2  # the element may lie behind it, or the face may turn away and hide other faces
REVERSED = 3  # the face points away and may hide other faces
BEYOND = 4  # the element lies in front of it; it is needed for the plane over the element's corners only
BOX_ROUND_OFF = wp.constant(real(1e-6))  # relative round-off of a box's coordinates: Warp's trees are float32


@wp.func
def relative_motion(pairs: Pairs, poses: RelativePoses, lists: Lists, world: int, pair: int):
    """Upper bound [m] of the relative motion of the two surfaces, where they may touch, since the list was built.

    Surfaces touch near the origin of each shape that is small. Motion is measured about that origin: what a rotation
    moves far away from it does not matter.
    """
    radius = pairs.radius[pair]
    position = lists.position[world, pair]
    R = lists.rotation[world, pair]
    if pairs.about_second[pair] == 0:
        return moved_since(poses, world, pair, position, R, radius)
    # The second's origin in the axes of the first, now and then.
    now = wp.transpose(poses.rotation[world, pair]) * poses.position[world, pair]
    then = wp.transpose(R) * position
    return wp.length(now - then) + radius * turned_since(poses, world, pair, R)


@wp.func
def relative_speed(pairs: Pairs, poses: RelativePoses, world: int, pair: int):
    """Upper bound [m/s] of the relative speed of the two surfaces where they may touch."""
    v = poses.velocity[world, pair]
    w = poses.angular_velocity[world, pair]
    if pairs.about_second[pair] == 1:
        v = v - wp.cross(w, poses.position[world, pair])  # of the first shape at the second's origin
    return wp.length(v) + pairs.radius[pair] * wp.length(w)


@wp.func
def check_list(pairs: Pairs, poses: RelativePoses, lists: Lists, sums: PairSums, world: int, pair: int):
    """Mark the list of a pair as stale, and empty it, if the pair may move farther in this step than it allows.

    A pair that did not touch and cannot close its gap in this step is marked out of reach: the force kernel skips it.
    """
    moved = relative_motion(pairs, poses, lists, world, pair)
    # The list is used at the predicted end of the coming step: it must hold until there.
    ahead = pairs.bodies.step[0] * relative_speed(pairs, poses, world, pair)
    lists.state[world, pair].out_of_reach = 0
    if moved + ahead < lists.slack[world, pair]:
        lists.state[world, pair].stale = 0
        # A pair that touched in the last step is evaluated once more, so that its elements lose their stick points.
        if moved + ahead < lists.gap[world, pair] and sums.touched[world, pair] == 0:
            lists.state[world, pair].out_of_reach = 1
    else:
        # A fast pair gets a longer list. With the margin alone it would need a new one in every step.
        lists.slack[world, pair] = pairs.margin[pair] + ahead
        lists.gap[world, pair] = lists.slack[world, pair]
        lists.position[world, pair] = poses.position[world, pair]
        lists.rotation[world, pair] = poses.rotation[world, pair]
        lists.state[world, pair].stale = 1
        lists.state[world, pair].searches = lists.state[world, pair].searches + 1
        lists.state[world, pair].tests = 0
        lists.state[world, pair].overflow = 0
        lists.elements[world, pair] = 0
        lists.candidates[world, pair] = 0


# ---- one face against one element -----------------------------------------------------------------------


@wp.func
def is_beside(xa: real, ya: real, xb: real, yb: real, el: Element, wide: real):
    """Whether an element lies outside a face's edge (on its left, in the element's plane) by more than `wide` [m]."""
    a = yb - ya
    b = xa - xb
    c = xb * ya - xa * yb
    most = wp.max(c, wp.max(c + a * el.L, c + a * el.a + b * el.b))
    return most < -wide * wp.sqrt(a * a + b * b)


@wp.func
def may_touch(el: Element, A: vec3, B: vec3, C: vec3, m: vec3, slack: real, reach: real, turn: real, lift: real):
    """Classify a face (corners A, B, C, normal m) against an element: NOTHING, BEHIND, EITHER, REVERSED or BEYOND.

    The class holds as long as the list is valid, that is while the pair moves by up to `slack` [m] and turns by up to
    `turn` [rad]. Faces deeper than `reach` [m] behind the element are ignored. If `lift` [m] is not zero, the element's
    corners may lie in front of a face by up to this much; such faces are BEYOND.

    Also returns the largest depth [m] of the element behind the face; `slack` for EITHER, which may touch at once.
    """
    facing = wp.dot(el.n, m)
    depths = at_corners(el, wp.dot(A - el.corner, m), -wp.dot(el.e1, m), -wp.dot(el.e2, m))
    deep = wp.max(depths[0], wp.max(depths[1], depths[2]))
    front = deep < -slack
    if front and (lift <= real(0.0) or facing > -turn) and facing < turn:
        return NOTHING, deep
    # Along the element's normal: reject faces in front of it, or deeper than `reach`.
    a = A - el.corner
    b = B - el.corner
    c = C - el.corner
    ua = -wp.dot(a, el.n)
    ub = -wp.dot(b, el.n)
    uc = -wp.dot(c, el.n)
    farthest = wp.max(ua, wp.max(ub, uc))
    if farthest < -slack - lift or wp.min(ua, wp.min(ub, uc)) > reach + slack:
        return NOTHING, deep
    if farthest < -slack and facing > -turn:
        return NOTHING, deep
    # In the element's plane: reject faces whose bounding boxes do not overlap the element's.
    wide = slack + turn * reach
    ya = wp.dot(a, el.e2)
    yb = wp.dot(b, el.e2)
    yc = wp.dot(c, el.e2)
    if wp.max(ya, wp.max(yb, yc)) < -wide or wp.min(ya, wp.min(yb, yc)) > el.b + wide:
        return NOTHING, deep
    xa = wp.dot(a, el.e1)
    xb = wp.dot(b, el.e1)
    xc = wp.dot(c, el.e1)
    low = wp.min(real(0.0), el.a)
    high = wp.max(el.L, el.a)
    if wp.max(xa, wp.max(xb, xc)) < low - wide or wp.min(xa, wp.min(xb, xc)) > high + wide:
        return NOTHING, deep
    if facing >= turn:
        return REVERSED, deep
    if facing > -turn:
        return EITHER, slack
    # In the element's plane: reject faces with an edge that separates the two.
    if is_beside(xa, ya, xb, yb, el, wide) or is_beside(xb, yb, xc, yc, el, wide):
        return NOTHING, deep
    if is_beside(xc, yc, xa, ya, el, wide):
        return NOTHING, deep
    if front or farthest < -slack:
        return BEYOND, deep
    return BEHIND, deep


@wp.func
def listed(kind: int, face: int):
    """Entry of a candidate in `Lists.other`: a face that may face away is marked by its sign."""
    return wp.where(kind == BEHIND or kind == BEYOND, face, -1 - face)


# ---- trees ----------------------------------------------------------------------------------------------


@wp.func
def float32_corner(v: vec3, outward: real):
    """Corner of a box in float32 for Warp's tree, moved outward by the round-off."""
    size = BOX_ROUND_OFF * wp.max(wp.abs(v[0]), wp.max(wp.abs(v[1]), wp.abs(v[2]))) * outward
    return wp.vec3(wp.float32(v[0] + size), wp.float32(v[1] + size), wp.float32(v[2] + size))


@wp.func
def box_is_near(pairs: Pairs, bvh: wp.uint64, node: int, position: vec3, R: mat33, grow: real):
    """Whether a box of the first shape's tree, grown by `grow` [m], overlaps the box of any face of the second."""
    c = position + R * pairs.box[node]
    half = pairs.half[node]
    e = vec3()
    for k in range(3):
        e[k] = wp.abs(R[k, 0]) * half[0] + wp.abs(R[k, 1]) * half[1] + wp.abs(R[k, 2]) * half[2] + grow
    query = wp.bvh_query_aabb(bvh, float32_corner(c - e, real(-1.0)), float32_corner(c + e, real(1.0)))
    face = wp.int32(0)
    return wp.bvh_query_next(query, face)


@wp.func
def search_face(
    s: Shapes, pairs: Pairs, lists: Lists, world: int, pair: int, face: int, other: int, position: vec3, R: mat33,
):  # fmt: skip
    """Add a face to the list, with all faces it may touch next to each other.

    A single thread writes candidates as it finds them. If several threads share the pair, each one first counts its
    candidates to reserve room, then searches again to write them.
    """
    slack = lists.slack[world, pair]
    reach = pairs.reach[pair]
    # A rotation moves points by angle x radius, which counts as motion of the pair.
    turn = slack / pairs.radius[pair]
    el = element_of(s, face, position, R)
    lift = real(0.0)
    if pairs.linear[pair] == 1:
        lift = laws.corner_lift(el.L, el.a, el.b)
    # Bounding box of the element, extended by `reach` inward and `lift` outward and grown by the slack.
    b = el.corner + el.L * el.e1
    c = el.corner + el.a * el.e1 + el.b * el.e2
    low = wp.min(el.corner, wp.min(b, c))
    high = wp.max(el.corner, wp.max(b, c))
    down = reach * el.n
    up = lift * el.n
    grow = vec3(slack, slack, slack)
    low = wp.min(low + up, low - down) - grow
    high = wp.max(high + up, high - down) + grow
    first = s.first_face[other]
    bvh = s.bvh[other]
    room = pairs.first_candidate[pair + 1]
    start = int(-1)  # where its candidates go, once that is known
    if pairs.lanes == 1:
        start = pairs.first_candidate[pair] + lists.candidates[world, pair]
    found = int(0)
    behind = int(0)
    may_face_away = int(0)
    tests = int(0)
    deepest = -slack
    k = wp.int32(0)
    query = wp.bvh_query_aabb(bvh, float32_corner(low, real(-1.0)), float32_corner(high, real(1.0)))
    while wp.bvh_query_next(query, k):
        f = nonnegative(first + k)
        tests += 1
        kind, deep = may_touch(
            el, s.corners[f, 0], s.corners[f, 1], s.corners[f, 2], s.normal[f], slack, reach, turn, lift
        )
        if kind != NOTHING:
            if start >= 0 and start + found < room:
                lists.other[world, start + found] = listed(kind, f)
            found += 1
            if kind == REVERSED or kind == EITHER:  # it may hide other faces: the force stage must check that
                may_face_away = 1
            if kind == BEHIND or kind == EITHER:
                behind += 1
                deepest = wp.max(deepest, deep)
    lists.state[world, pair].tests += tests
    # The other classes only hide faces or help to find the plane over the corners: alone they cannot push. Candidates
    # written so far are overwritten by the next element, as they were not counted.
    if behind == 0:
        return
    wp.atomic_min(lists.gap, world, pair, -deepest)
    written = start >= 0
    start = pairs.first_candidate[pair] + wp.atomic_add(lists.candidates, world, pair, found)
    # No room: the run stops. With a part of its faces an element would be pushed in a wrong direction.
    if start + found > room:
        lists.state[world, pair].overflow = 1
        return
    slot = pairs.first_slot[pair] + wp.atomic_add(lists.elements, world, pair, 1)
    if slot >= pairs.first_slot[pair + 1]:
        wp.atomic_sub(lists.elements, world, pair, 1)
        lists.state[world, pair].overflow = 1
        return
    lists.face[world, slot] = face
    lists.first[world, slot] = start
    lists.count[world, slot] = found
    lists.may_face_away[world, slot] = may_face_away
    if written:
        return
    again = wp.bvh_query_aabb(bvh, float32_corner(low, real(-1.0)), float32_corner(high, real(1.0)))
    while wp.bvh_query_next(again, k):
        f = nonnegative(first + k)
        kind, deep = may_touch(
            el, s.corners[f, 0], s.corners[f, 1], s.corners[f, 2], s.normal[f], slack, reach, turn, lift
        )
        if kind != NOTHING:
            lists.other[world, start] = listed(kind, f)
            start += 1


@wp.func
def search_pair(s: Shapes, pairs: Pairs, lists: Lists, world: int, pair: int, lane: int):
    """Walk down the first shape's tree and list its faces near the second shape. Each lane handles some branches."""
    one = pairs.shape[pair, 0]
    other = pairs.shape[pair, 1]
    bvh = s.bvh[other]
    position = lists.position[world, pair]
    R = lists.rotation[world, pair]
    slack = lists.slack[world, pair]
    depth = pairs.depth[pair]
    first = pairs.first_node[pair]
    faces = wp.int64(s.first_face[one + 1] - s.first_face[one])
    # Level of the tree that has at least one branch for every lane.
    split = int(0)
    while (1 << split) < pairs.lanes and split < depth:
        split += 1
    for branch in range(lane, 1 << split, pairs.lanes):
        top = (1 << split) - 1 + branch
        node = int(top)
        level = int(split)
        walking = int(1)
        while walking == 1:
            near = box_is_near(pairs, bvh, first + node, position, R, slack)
            if near and level < depth:
                node = 2 * node + 1  # down to the first child
                level += 1
            else:
                if near:
                    leaf = wp.int64(node - (1 << depth) + 1)
                    start = int((faces * leaf) >> wp.int64(depth))
                    end = int((faces * (leaf + wp.int64(1))) >> wp.int64(depth))
                    for face in range(start, end):
                        search_face(s, pairs, lists, world, pair, s.first_face[one] + face, other, position, R)
                # Go up while this is a second child, then to the sibling. A stack is not needed: the tree is a heap.
                while node != top and (node & 1) == 0:
                    node = (node - 1) / 2
                    level -= 1
                if node == top:
                    walking = 0
                else:
                    node += 1
