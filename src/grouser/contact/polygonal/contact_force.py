"""Normal forces of contact polygons and friction of elements, summed over a pair."""

from __future__ import annotations

import warp as wp

from grouser.contact import clipping, penalty
from grouser.contact.clipping import Moments
from grouser.contact.pairs import DEEP, FREE, KAPPA, LOST, RelativePoses, element_friction, next_stick_point
from grouser.contact.penalty import Constants
from grouser.contact.polygonal import laws
from grouser.contact.polygonal.neighbour_search import relative_speed
from grouser.contact.polygonal.overlap import (
    at_corners,
    behind_face,
    behind_plane,
    corner_plane_of,
    element_of,
    nearest_and_hidden,
)
from grouser.contact.polygonal.types import (
    Element,
    Elements,
    Lists,
    PairMotion,
    Pairs,
    Patch,
    Plane,
    Shapes,
    Totals,
)
from grouser.contact.rigid import add_tangential
from grouser.precision import area_slack, real, vec3

MEASURED = 0.5  # from this g on a polygon counts for the largest depth; the corner of a cube has 0.58
NEARLY_LOST = 0.95  # share of the reach; deeper than this the next step may find no face


@wp.func(inline=True)
def pair_motion(pairs: Pairs, poses: RelativePoses, world: int, pair: int):
    """Pose of the first shape of a pair at the end of the step, and its velocity."""
    m = PairMotion()
    m.h = pairs.bodies.step[0]
    m.position = poses.position[world, pair]
    m.rotation = poses.rotation[world, pair]
    m.velocity = poses.velocity[world, pair]
    m.angular_velocity = poses.angular_velocity[world, pair]
    m.centre = poses.centre[world, pair]
    m.implicit = pairs.bodies.both_move[pair] == 0
    m.now = real(0.0)
    m.reach = pairs.reach[pair]
    if m.implicit:
        # Elements in contact now may be deeper at the end of the step: search that much farther.
        m.now = m.h
        m.reach = m.reach + m.h * relative_speed(pairs, poses, world, pair)
    return m


@wp.func(inline=True)
def add_normal_block(totals: Totals, el: Element, arm: vec3, m: vec3, area: Moments, weight: real):
    """Add a polygon to B: `weight` [kg/m^2] times the integral of J^T J, where J maps a twist to the speed along m."""
    j0 = wp.cross(arm, m)
    jx = wp.cross(el.e1, m)
    jy = wp.cross(el.e2, m)
    totals.block.push += wp.outer((weight * area.area) * m, m)
    totals.block.mixed += wp.outer(weight * m, area.area * j0 + area.x * jx + area.y * jy)
    totals.block.turn += wp.outer(weight * j0, area.area * j0 + area.x * jx + area.y * jy)
    totals.block.turn += wp.outer(weight * jx, area.x * j0 + area.xx * jx + area.xy * jy)
    totals.block.turn += wp.outer(weight * jy, area.y * j0 + area.xy * jx + area.yy * jy)
    return totals


@wp.func(inline=True)
def press_face(
    s: Shapes, pairs: Pairs, lists: Lists, world: int, pair: int, face: int, other: int, first: int, last: int,
    may_face_away: bool, motion: PairMotion, el: Element, plane: Plane, totals: Totals, patch: Patch,
):  # fmt: skip
    """Add the normal force of the part of an element that lies behind a face, or behind the plane over its corners.

    Against the ground the polygon is taken at the end of the step. A polygon that moves away still counts if it is in
    contact now: the implicit step then finds the remaining force, which may be zero. Friction uses the smaller of the
    loads now and at the end of the step, because the latter is unreliable in an impact.
    """
    zero = real(0.0)
    one_plane = plane.face >= 0
    m = s.normal[other]
    if one_plane:
        m = -(plane.g * el.n + plane.dx * el.e1 + plane.dy * el.e2)
    g = -wp.dot(el.n, m)
    if g <= zero:  # the face points away
        return totals, patch
    A = s.corners[other, 0]
    arm = el.corner - motion.centre
    velocity = motion.velocity + wp.cross(motion.angular_velocity, el.corner - motion.position)
    # Linear in the element's plane: depth d + dx x + dy y, speed away from the face out + out_x x + out_y y.
    d = wp.where(one_plane, plane.d, wp.dot(A - el.corner, m))
    dx = -wp.dot(el.e1, m)
    dy = -wp.dot(el.e2, m)
    out = wp.dot(velocity, m)
    out_x = wp.dot(wp.cross(motion.angular_velocity, el.e1), m)
    out_y = wp.dot(wp.cross(motion.angular_velocity, el.e2), m)
    # The polygon is bounded by the larger of the depths now and at the end of the step: if the element moves away on
    # average, by the depth now.
    ahead = zero
    if motion.implicit and out + (out_x * (el.L + el.a) + out_y * el.b) / real(3.0) > zero:
        ahead = motion.h
    b = d + ahead * out
    bx = dx + ahead * out_x
    by = dy + ahead * out_y
    bounds = at_corners(el, b, bx, by)
    if wp.max(bounds[0], wp.max(bounds[1], bounds[2])) <= zero:
        return totals, patch
    px = clipping.coordinates()
    py = clipping.coordinates()
    count = int(0)
    if one_plane:
        px, py, count = behind_plane(el, b, bx, by, motion.reach * g)
    else:
        px, py, count = behind_face(el, A, s.corners[other, 1], s.corners[other, 2], b, bx, by, motion.reach * g)
    if count < 3:
        return totals, patch
    area = clipping.moments(px, py, count)
    M = area.area
    if M <= area_slack * el.L * el.b:
        return totals, patch
    law = pairs.contacts[pairs.first_contact[pair] + s.layer[face] * pairs.layers[pair] + s.layer[other]]
    depth = (d * M + dx * area.x + dy * area.y) / M
    share = real(1.0)
    if may_face_away or g < real(laws.FACING):
        middle = el.corner + (area.x * el.e1 + area.y * el.e2) / M
        nearest, hidden = nearest_and_hidden(s, lists.other, world, first, last, middle, el.n, depth, g)
        if hidden:
            return totals, patch
        share = laws.facing_share(g, depth, nearest)
    # Pressure of the elastic layers in series and their damping, on the projected area.
    stiff = law.c * share
    elastic = stiff * depth * M
    outward = out * M + out_x * area.x + out_y * area.y
    damping = law.d * penalty.damping_share(depth, law.s_d0)
    damping = penalty.release_damping(elastic, damping, outward)
    N = g * (elastic - damping * outward)
    if N <= zero and not motion.implicit:
        return totals, patch
    totals.touched = 1
    # The pressure q0 + qx x + qy y acts at its own centre, not at the centroid of the polygon.
    q0 = g * (stiff * d - damping * out)
    qx = g * (stiff * dx - damping * out_x)
    qy = g * (stiff * dy - damping * out_y)
    along_x = q0 * area.x + qx * area.xx + qy * area.xy
    along_y = q0 * area.y + qx * area.xy + qy * area.yy
    totals.force += N * m
    totals.moment += wp.cross(N * arm + along_x * el.e1 + along_y * el.e2, m)
    friction_load = wp.min(N, N + g * stiff * motion.now * outward)  # the present load, if it is smaller
    if motion.implicit:
        totals = add_normal_block(totals, el, arm, m, area, g * motion.h * (motion.h * stiff + damping))
    if friction_load <= zero:
        return totals, patch
    patch = add_to_patch(patch, el, m, area, friction_load, law)
    totals.polygons += 1
    totals.stiffness += g * stiff * M
    if g > real(MEASURED):
        now = motion.now
        deep = share * laws.deepest(px, py, count, d + now * out, dx + now * out_x, dy + now * out_y)
        totals.depth = wp.max(totals.depth, deep)
        totals.pressure = wp.max(totals.pressure, law.c * deep)
        if deep > law.thickness:
            totals.flags = totals.flags | (1 << DEEP)
        if deep > real(NEARLY_LOST) * pairs.reach[pair]:
            totals.flags = totals.flags | (1 << LOST)
    if law.far == 1:
        totals.flags = totals.flags | (1 << KAPPA)
    return totals, patch


@wp.func(inline=True)
def add_to_patch(patch: Patch, el: Element, m: vec3, area: Moments, load: real, law: Constants):
    """Add a polygon to the friction sums of its element."""
    patch.load += load
    patch.pressed += load * m
    patch.area += area.area
    patch.middle += area.area * el.corner + area.x * el.e1 + area.y * el.e2
    patch.friction.stiffness += law.c_t * area.area
    patch.friction.damping += law.d_t * area.area
    patch.friction.stick_limit += law.mu_stick * load
    patch.friction.slip_limit += law.mu_slip * load
    return patch


@wp.func(inline=True)
def add_friction(
    pairs: Pairs, e: Elements, world: int, pair: int, slot: int, own: int, motion: PairMotion, el: Element,
    patch: Patch, totals: Totals,
):  # fmt: skip
    """Add the friction of an element, at the centre of its contact area. Also writes what `stick` needs in `commit`."""
    # Friction acts at the centre of the contact area, along the mean plane of its polygons. Its spring is measured at
    # the centroid of the whole element: the centre of the area shifts when the area changes, without any sliding.
    point = patch.middle / patch.area
    normal = wp.normalize(patch.pressed)
    middle = el.corner + ((el.L + el.a) * el.e1 + el.b * el.e2) / real(3.0)
    w = motion.angular_velocity
    drag, weight = element_friction(
        normal, patch.friction, middle - e.anchor[world, own],
        motion.velocity + wp.cross(w, middle - motion.position), motion.velocity + wp.cross(w, point - motion.position),
        e.state[world, own], pairs.bodies.stick_speed[pair], motion.now,
    )  # fmt: skip
    lever = point - motion.centre
    totals.area += patch.area
    totals.force += drag
    totals.moment += wp.cross(lever, drag)
    if motion.implicit:
        totals.block = add_tangential(totals.block, lever, normal, weight)
    e.normal[world, slot] = normal
    e.centre[world, slot] = point
    e.friction[world, slot] = patch.friction
    return totals


@wp.func(inline=True)
def press_element(
    s: Shapes, pairs: Pairs, lists: Lists, e: Elements, world: int, pair: int, slot: int, motion: PairMotion,
    totals: Totals,
):  # fmt: skip
    """Add normal force and friction of one listed element."""
    base = pairs.first_element[pair]
    face = lists.face[world, slot]
    own = base + face - s.first_face[pairs.shape[pair, 0]]  # index of its state, which does not depend on the list
    el = element_of(s, face, motion.position, motion.rotation)
    first = lists.first[world, slot]
    last = first + lists.count[world, slot]
    may_face_away = lists.may_face_away[world, slot] == 1
    patch = Patch()
    plane = Plane()
    plane.face = -1
    if pairs.linear[pair] == 1 and not may_face_away:
        plane = corner_plane_of(s, lists, e, world, own, first, last, el, motion.reach)
    if plane.face >= 0:  # the plane replaces all candidates: one pass
        last = first + 1
    for c in range(first, last):
        f = lists.other[world, c]
        other = wp.where(plane.face >= 0, plane.face, wp.where(f < 0, -1 - f, f))
        totals, patch = press_face(
            s, pairs, lists, world, pair, face, other, first, last, may_face_away, motion, el, plane, totals, patch
        )
    e.area[world, slot] = patch.area
    e.load[world, slot] = patch.load
    if patch.load > real(0.0):
        totals = add_friction(pairs, e, world, pair, slot, own, motion, el, patch, totals)
    return totals


@wp.func(inline=True)
def stick_element(
    s: Shapes, pairs: Pairs, poses: RelativePoses, lists: Lists, e: Elements, world: int, pair: int, slot: int
):
    """Update the stick point and state of one listed element after the step."""
    face = lists.face[world, slot]
    own = pairs.first_element[pair] + face - s.first_face[pairs.shape[pair, 0]]
    if e.load[world, slot] <= real(0.0):
        e.state[world, own] = FREE
    else:
        position = poses.position[world, pair]
        R = poses.rotation[world, pair]
        third = real(1.0) / real(3.0)
        middle = position + R * (third * (s.corners[face, 0] + s.corners[face, 1] + s.corners[face, 2]))
        velocity = poses.velocity[world, pair] + wp.cross(poses.angular_velocity[world, pair], middle - position)
        anchor, state = next_stick_point(
            e.normal[world, slot], e.friction[world, slot], middle, e.anchor[world, own], velocity, vec3(),
            e.state[world, own], pairs.bodies.stick_speed[pair], pairs.bodies.step[0],
        )  # fmt: skip
        e.anchor[world, own] = anchor
        e.state[world, own] = state
