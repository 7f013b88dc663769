"""Normal force and friction of elements, summed over a pair, and stick points after a step."""

from __future__ import annotations

import warp as wp

from grouser.contact import penalty
from grouser.contact.pairs import DEEP, FREE, KAPPA, LOST, PairSums, RelativePoses, element_friction, next_stick_point
from grouser.contact.penalty import Constants
from grouser.contact.revolution import laws
from grouser.contact.revolution.mapping import frame_of, map_middle, map_part
from grouser.contact.revolution.types import (
    Elements,
    Frame,
    Line,
    Lists,
    Near,
    Pairs,
    Part,
    Rounds,
    Sections,
    Totals,
    Touch,
)
from grouser.contact.rigid import Block, add_normal, add_tangential, assemble, wrench_of
from grouser.device import array, array2d, nonnegative
from grouser.precision import real, vec2, vec3, vec4

NEARLY_LOST = 0.95  # share of the reach; deeper than this the next step may find no contact


@wp.func(inline=True)
def press_part(law: Constants, centre: vec3, ahead: real, reach: real, part: Part, touch: Touch):
    """Add the normal force of a part of an element, and set its weight in B. Krenn and Hirzinger 2009, eq. 1.

    Against the ground a part that moves away still counts if it is in contact now: the implicit step then finds the
    remaining force, which may be zero. Friction uses the smaller of the loads now and at the end of the step.
    """
    zero = real(0.0)
    out = wp.dot(part.velocity, part.normal)
    elastic = law.c * part.depth * part.area
    outgoing = out * part.area
    damping = law.d * penalty.damping_share(part.depth, law.s_d0)
    damping = penalty.release_damping(elastic, damping, outgoing)
    N = part.facing * (elastic - damping * outgoing)
    touch.weight = zero
    if N <= zero and ahead <= zero:  # explicit contact has no block: a part without force has no effect
        return touch
    touch.touched = 1
    push = N * part.normal
    touch.force += push
    touch.moment += wp.cross(part.point - centre, push)
    touch.weight = part.facing * ahead * (ahead * law.c + damping) * part.area
    # `part.depth` is that at the end of the step. In an impact it is too large, because the step has not braked the
    # body yet, and so would friction be. The second load is that at the present depth.
    friction_load = wp.min(N, N + part.facing * law.c * ahead * outgoing)
    if friction_load <= zero:
        return touch
    touch.polygons += part.counts
    touch.load += friction_load
    touch.pressed += friction_load * part.normal
    touch.carried += friction_load * part.surface_velocity
    touch.area += part.area
    touch.middle += part.area * part.point
    touch.stiffness += part.facing * law.c * part.area
    touch.friction.stiffness += law.c_t * part.area
    touch.friction.damping += law.d_t * part.area
    touch.friction.stick_limit += law.mu_stick * friction_load
    touch.friction.slip_limit += law.mu_slip * friction_load
    # Report the present depth: in an impact the bodies do not get as deep as predicted.
    deep = part.peak + ahead * out
    touch.deepest = wp.max(touch.deepest, deep)
    touch.pressure = wp.max(touch.pressure, law.c * deep)
    if deep > law.thickness:
        touch.flags = touch.flags | (1 << DEEP)
    if deep > real(NEARLY_LOST) * reach:
        touch.flags = touch.flags | (1 << LOST)
    if law.far == 1:
        touch.flags = touch.flags | (1 << KAPPA)
    return touch


@wp.func(inline=True)
def press_parts(
    lines: array2d[Line], angles: array[vec2], contacts: array[Constants], world: int, F: Frame, line: Line, near: Near,
    table: int, refine: int, passes: int, share: real, touch: Touch, block: Block,
):  # fmt: skip
    """Add an element at the border of the contact. `share` is the weight of this refined evaluation, 0 to 1.

    Krenn and Hirzinger 2009, section II.B.2: faces that the border may cut are divided, and their parts are tested
    again, `passes` times. Each pass divides a part into refine x refine. Parts that lie inside count as a whole, parts
    outside are dropped, and of those that remain after the last pass the polygon inside is cut out.
    """
    half = real(0.5)
    part = Part()
    # Depth first through the tree of parts: part (i, j) of count x count in this pass.
    level = int(1)
    count = int(refine)
    first = int(table + 1)  # angles of this pass
    i = int(0)
    j = int(0)
    weight = vec4(share, real(0.0), real(0.0), real(0.0))  # of the parts of each pass
    while level > 0:
        a = angles[nonnegative(first + i)]
        e_r = a[0] * F.Rx + a[1] * F.Ry
        e_p = a[0] * F.Ry - a[1] * F.Rx
        f = (real(j) + half) / real(count)
        part = map_part(lines, world, F, line, near, e_r, e_p, f, count, level == passes)
        touch.mapped += 1
        own = weight[level - 1]
        divide = bool(False)
        if level < passes:
            divide = part.open == 1 and part.deep < real(1.0)
            if divide:
                # Blended like whole elements: the force would jump if a part were divided from one step to the next.
                weight[level] = own * (real(1.0) - part.deep)
                own = own * part.deep
        part.area = own * part.area
        if part.area > real(0.0):
            law = contacts[nonnegative(F.first_contact + line.layer * F.layers + part.layer)]
            touch = press_part(law, F.centre, F.ahead, F.reach, part, touch)
            if touch.weight > real(0.0):
                block = add_normal(block, part.point - F.centre, part.normal, touch.weight)
        if divide:  # to the first of its parts
            first += count
            level += 1
            count *= refine
            i *= refine
            j *= refine
        else:  # to the next part, or up while there is none
            while level > 0 and i % refine == refine - 1 and j % refine == refine - 1:
                i = i / refine
                j = j / refine
                level -= 1
                count = count / refine
                first -= count
            j += 1
            if j % refine == 0:
                j -= refine
                i += 1
    return touch, block


@wp.func(inline=True)
def middle_on(line: Line):
    """Middle (r, z) [m] of the curve over a line."""
    half = real(0.5)
    return line.point + half * line.chord + laws.bulge(line.tilt, half) * line.normal


@wp.func(inline=True)
def add_friction(
    pairs: Pairs, e: Elements, world: int, pair: int, element: int, F: Frame, line: Line, e_r: vec3, touch: Touch,
    totals: Totals,
):  # fmt: skip
    """Add the friction of an element, at the centre of its contact area. Also writes what `stick` needs in `commit`."""
    base = pairs.first_element[pair]
    own = nonnegative(base + element)
    # An element that was not in contact in the last step has no stick point.
    state = int(FREE)
    if e.seen[world, own] == e.tick[world]:
        state = e.state[world, own]
    normal = wp.normalize(touch.pressed)
    point = (real(1.0) / touch.area) * touch.middle
    other_velocity = (real(1.0) / touch.load) * touch.carried
    middle = middle_on(line)
    grow = line.speed + real(0.5) * line.more_speed
    arm = middle[1] * F.Rz + middle[0] * e_r
    carried = F.velocity + grow[0] * e_r + grow[1] * F.Rz - other_velocity
    drag, weight = element_friction(
        normal, touch.friction, F.at + arm - e.anchor[world, own], carried + wp.cross(F.angular_velocity, arm),
        carried + wp.cross(F.angular_velocity, point - F.at), state, pairs.bodies.stick_speed[pair], F.ahead,
    )  # fmt: skip
    lever = point - F.centre
    totals.force += drag
    totals.moment += wp.cross(lever, drag)
    if weight > real(0.0):
        totals.block = add_tangential(totals.block, lever, normal, weight)
    slot = nonnegative(base + wp.atomic_add(e.active_count, world, pair, 1))
    e.active[world, slot] = element
    e.area[world, slot] = touch.area
    e.load[world, slot] = touch.load
    e.normal[world, slot] = normal
    e.centre[world, slot] = point
    e.surface_velocity[world, slot] = other_velocity
    e.friction[world, slot] = touch.friction
    return totals


@wp.func(inline=True)
def press_element(
    s: Sections, rounds: Rounds, pairs: Pairs, lists: Lists, e: Elements, world: int, pair: int, slot: int, F: Frame,
    totals: Totals,
):  # fmt: skip
    """Add normal force and friction of one listed element: as a whole inside the contact, in parts at its border."""
    zero = real(0.0)
    gap = lists.gap[world, slot] - lists.moved[world, pair]
    if gap > F.slack:  # it cannot have come close enough since the list was built
        totals.clear = wp.min(totals.clear, gap)
        return totals
    sectors = rounds.sectors[F.one]
    element = nonnegative(lists.element[world, slot])
    near = Near()
    near.first = lists.first[world, slot]
    near.last = lists.last[world, slot]
    k = element / sectors
    table = rounds.first_angle[F.one] + (element - k * sectors) * rounds.stride[F.one]
    a = rounds.angle[nonnegative(table)]
    e_r = a[0] * F.Rx + a[1] * F.Ry
    e_p = a[0] * F.Ry - a[1] * F.Rx
    line = s.line[world, nonnegative(s.first[F.one] + k)]
    near, part = map_middle(s.line, world, F, line, near, e_r, e_p)
    totals.mapped += 1
    # `clear` is the motion that the pair must make before anything can touch. Until then the whole pair is skipped.
    if near.touches == 0:
        totals.clear = wp.min(totals.clear, near.gap)
        return totals
    totals.clear = zero
    # At the border of the contact the element is evaluated in parts, well inside as a whole. In between both results
    # count, with weights whose sum is 1: if one replaced the other at once, the force would jump.
    touch = Touch()
    if near.deep < real(1.0):
        touch, block = press_parts(
            s.line, rounds.angle, pairs.contacts, world, F, line, near, table, rounds.refine[F.one],
            rounds.passes[F.one], real(1.0) - near.deep, touch, totals.block,
        )  # fmt: skip
        totals.block = block
        totals.mapped += touch.mapped
    if near.deep > zero:
        part.area = near.deep * part.area
        law = pairs.contacts[nonnegative(F.first_contact + line.layer * F.layers + part.layer)]
        touch = press_part(law, F.centre, F.ahead, F.reach, part, touch)
        if touch.weight > zero:
            totals.block = add_normal(totals.block, part.point - F.centre, part.normal, touch.weight)
    # One friction force for the element, after its parts: its limit is their load together.
    if touch.load > zero:
        totals = add_friction(pairs, e, world, pair, element, F, line, e_r, touch, totals)
    if touch.touched == 1:  # also without load: against the ground a part that opens still adds to the block
        totals.touched = 1
        totals.force += touch.force
        totals.moment += touch.moment
        totals.area += touch.area
        totals.stiffness += touch.stiffness
        totals.polygons += touch.polygons
        totals.depth = wp.max(totals.depth, touch.deepest)
        totals.pressure = wp.max(totals.pressure, touch.pressure)
        totals.flags = totals.flags | touch.flags
    return totals


@wp.func(inline=True)
def press(
    s: Sections, rounds: Rounds, pairs: Pairs, poses: RelativePoses, lists: Lists, e: Elements, sums: PairSums,
    world: int, pair: int, lane: int,
):  # fmt: skip
    """Sum normal forces, friction and implicit block of all listed elements of a pair. Several lanes share a pair."""
    if lists.state[world, pair].out_of_reach == 1:
        return
    F = frame_of(s, rounds, pairs, poses, world, pair)
    totals = Totals()
    totals.clear = pairs.margin[pair]
    base = pairs.first_element[pair]
    for index in range(lane, lists.listed[world, pair], pairs.lanes):
        totals = press_element(s, rounds, pairs, lists, e, world, pair, nonnegative(base + index), F, totals)
    wp.atomic_min(lists.clear, world, pair, totals.clear)
    wp.atomic_add(e.mapped, world, pair, totals.mapped)
    if totals.touched == 1:
        wp.atomic_add(sums.wrench, world, pair, wrench_of(totals.force, totals.moment))
        if F.ahead > real(0.0):
            wp.atomic_add(sums.block, world, pair, assemble(totals.block))
        wp.atomic_max(sums.depth, world, pair, totals.depth)
        wp.atomic_max(sums.pressure, world, pair, totals.pressure)
        wp.atomic_add(sums.area, world, pair, totals.area)
        wp.atomic_add(sums.stiffness, world, pair, totals.stiffness)
        wp.atomic_add(sums.polygons, world, pair, totals.polygons)
        wp.atomic_or(sums.flags, world, pair, totals.flags)
        sums.touched[world, pair] = 1


@wp.func(inline=True)
def stick(
    s: Sections, rounds: Rounds, pairs: Pairs, poses: RelativePoses, e: Elements, world: int, pair: int, lane: int
):
    """Update stick points and states of all elements in contact after the step. Several lanes share a pair."""
    h = pairs.bodies.step[0]
    at = poses.position[world, pair]
    R = poses.rotation[world, pair]
    velocity = poses.velocity[world, pair]
    angular_velocity = poses.angular_velocity[world, pair]
    base = pairs.first_element[pair]
    one = pairs.surface[pair, 0]
    sectors = rounds.sectors[one]
    stride = rounds.stride[one]
    tick = e.tick[world]
    for slot in range(base + lane, base + e.active_count[world, pair], pairs.lanes):
        element = e.active[world, slot]
        own = base + element
        line = s.line[world, s.first[one] + element / sectors]
        a = rounds.angle[rounds.first_angle[one] + (element % sectors) * stride]
        # Follow the middle of the whole element. The centre of its contact area shifts when the area changes, and would
        # stretch the spring without any sliding.
        middle = middle_on(line)
        grow = line.speed + real(0.5) * line.more_speed
        arm = R * vec3(middle[0] * a[0], middle[0] * a[1], middle[1])
        other_velocity = e.surface_velocity[world, slot]
        # A shape that changes moves its surface, which rubs as if the body moved.
        own_velocity = R * vec3(grow[0] * a[0], grow[0] * a[1], grow[1])
        v = velocity + wp.cross(angular_velocity, arm) + own_velocity - other_velocity
        # A state counts only if the element was in contact in the step before. So elements that leave need no clearing.
        state = int(FREE)
        if e.seen[world, own] == tick:
            state = e.state[world, own]
        anchor, state = next_stick_point(
            e.normal[world, slot], e.friction[world, slot], at + arm, e.anchor[world, own], v, other_velocity, state,
            pairs.bodies.stick_speed[pair], h,
        )  # fmt: skip
        e.anchor[world, own] = anchor
        e.state[world, own] = state
        e.seen[world, own] = tick + 1
