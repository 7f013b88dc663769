"""Normal force and friction of elements, summed to their pair; stick points after a step."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact import penalty
from grouser.contact.pairs import DEEP, FREE, KAPPA, LOST, pair_stages
from grouser.contact.revolution import laws
from grouser.contact.revolution import types as t
from grouser.contact.revolution.mapping import mapping_stages
from grouser.contact.rigid import rigid_stages
from grouser.terrain.ground import natural

NEARLY_LOST = 0.95  # of the reach: deeper than this and the next step may find nothing


@cache
def pressing_stages(name: str) -> SimpleNamespace:
    stages = mapping_stages(name)
    frame, map_middle, map_part, lines_of = stages.frame, stages.map_middle, stages.map_part, stages.lines_of
    assemble = rigid_stages(name).assemble
    rub, hold = pair_stages(name).rub, pair_stages(name).hold
    ty = t.revolution_types(name)
    p = ty.precision
    real, vec3, vec4, vec6 = p.real, p.vec3, p.vec4, p.vec6
    Sections, Rounds, Pairs, Places = ty.Sections, ty.Rounds, ty.Pairs, ty.Places
    Lists, Elements, Sums = ty.Lists, ty.Elements, ty.Sums
    Frame, Line, Near, Part = ty.Frame, ty.Line, ty.Near, ty.Part
    Contact, Touch, Block = ty.Contact, ty.Touch, ty.Block
    angles_of = wp.array(dtype=p.vec2)
    contacts_of = wp.array(dtype=ty.Contact)

    @wp.func
    def press_part(law: Contact, centre: vec3, ahead: real, reach: real, part: Part, touch: Touch):
        """Normal force of a part of an element, 000 eq. 1, and its weight in the implicit block.

        Against the ground a part that moves away is held for as long as it is in contact now: the step then finds the
        force that is left, which may be none. Friction rests on the smaller of the load now and at the end of the step.
        """
        zero = real(0.0)
        out = wp.dot(part.velocity, part.normal)
        elastic = law.c * part.depth * part.area
        outgoing = out * part.area
        damping = law.d * penalty.damping_share(part.depth, law.s_d0)
        damping = penalty.release_damping(elastic, damping, outgoing)
        N = part.facing * (elastic - damping * outgoing)
        touch.weight = zero
        if N <= zero and ahead <= zero:
            return touch
        touch.pushed = 1
        push = N * part.normal
        touch.force += push
        touch.moment += wp.cross(part.point - centre, push)
        touch.weight = part.facing * ahead * (ahead * law.c + damping) * part.area
        held = wp.min(N, N + part.facing * law.c * ahead * outgoing)
        if held <= zero:
            return touch
        touch.polygons += part.counts
        touch.load += held
        touch.pressed += held * part.normal
        touch.carried += held * part.drift
        touch.area += part.area
        touch.middle += part.area * part.point
        touch.stiffness += part.facing * law.c * part.area
        touch.tangential += vec4(law.c_t * part.area, law.d_t * part.area, law.mu_stick * held, law.mu_slip * held)
        deep = part.peak + ahead * out
        touch.deepest = wp.max(touch.deepest, deep)
        if deep > law.thickness:
            touch.flags = touch.flags | (1 << DEEP)
        if deep > real(NEARLY_LOST) * reach:
            touch.flags = touch.flags | (1 << LOST)
        if law.far == 1:
            touch.flags = touch.flags | (1 << KAPPA)
        return touch

    @wp.func
    def stiffen(block: Block, arm: vec3, normal: vec3, weight: real):
        """The share of a part in B: it resists along its normal."""
        lever = wp.cross(arm, normal)
        block.push += wp.outer(weight * normal, normal)
        block.mixed += wp.outer(weight * normal, lever)
        block.turn += wp.outer(weight * lever, lever)
        return block

    @wp.func
    def grip(block: Block, arm: vec3, normal: vec3, weight: real):
        """The share of an element's friction in B: it resists across its normal."""
        tangent = wp.diag(vec3(weight, weight, weight)) - wp.outer(weight * normal, normal)
        cross = wp.skew(arm)
        block.push += tangent
        block.mixed = block.mixed - tangent * cross
        block.turn = block.turn - cross * (tangent * cross)
        return block

    @wp.func
    def press_parts(
        lines: lines_of, angles: angles_of, contacts: contacts_of, world: int, F: Frame, line: Line, near: Near,
        table: int, count: int, share: real, touch: Touch, block: Block,
    ):  # fmt: skip
        """An element in count x count parts, for the `share` of it that goes this way."""
        half = real(0.5)
        part = Part()
        for i in range(count):
            a = angles[natural(table + 1 + i)]
            e_r = a[0] * F.Rx + a[1] * F.Ry
            e_p = a[0] * F.Ry - a[1] * F.Rx
            for j in range(count):
                f = (real(j) + half) / real(count)
                part = map_part(lines, world, F, line, near, e_r, e_p, f, count)
                if part.area > real(0.0):
                    part.area = share * part.area
                    law = contacts[natural(F.first_contact + line.layer * F.layers + part.layer)]
                    touch = press_part(law, F.centre, F.ahead, F.reach, part, touch)
                    if touch.weight > real(0.0):
                        block = stiffen(block, part.point - F.centre, part.normal, touch.weight)
        return touch, block

    @wp.func
    def press(
        s: Sections, rounds: Rounds, pairs: Pairs, places: Places, lists: Lists, e: Elements, sums: Sums,
        world: int, pair: int, lane: int,
    ):  # fmt: skip
        """Normal force and friction of every listed element, implicit block of the pair."""
        if lists.counts[world, pair, t.ASLEEP] == 1:
            return
        zero = real(0.0)
        half = real(0.5)
        F = frame(s, rounds, pairs, places, world, pair)
        clear = pairs.margin[pair]
        moved = lists.moved[world, pair]
        start = s.first[F.one]
        sectors = rounds.sectors[F.one]
        refine = rounds.refine[F.one]
        base = pairs.first_element[pair]
        near = Near()
        block = Block()
        force = vec3()
        moment = vec3()
        area = zero
        stiffness = zero
        deepest = zero
        polygons = int(0)
        flags = int(0)
        pushed = int(0)
        mapped = int(0)
        for index in range(lane, lists.counts[world, pair, t.LISTED], pairs.lanes):
            slot = natural(base + index)
            gap = lists.gap[world, slot] - moved
            if gap > F.slack:
                clear = wp.min(clear, gap)
                continue
            element = natural(lists.element[world, slot])
            near.first = lists.first[world, slot]
            near.last = lists.last[world, slot]
            k = element / sectors
            table = rounds.first_angle[F.one] + (element - k * sectors) * (1 + refine)
            a = rounds.angle[natural(table)]
            e_r = a[0] * F.Rx + a[1] * F.Ry
            e_p = a[0] * F.Ry - a[1] * F.Rx
            line = s.line[world, natural(start + k)]
            near, part = map_middle(s.line, world, F, line, near, e_r, e_p)
            mapped += 1
            if near.touches == 0:
                clear = wp.min(clear, near.gap)
                continue
            clear = zero
            touch = Touch()
            if near.deep < real(1.0):
                mapped += refine * refine
                share = real(1.0) - near.deep
                touch, block = press_parts(
                    s.line, rounds.angle, pairs.contacts, world, F, line, near, table, refine, share, touch, block
                )
            if near.deep > zero:
                part.area = near.deep * part.area
                law = pairs.contacts[natural(F.first_contact + line.layer * F.layers + part.layer)]
                touch = press_part(law, F.centre, F.ahead, F.reach, part, touch)
                if touch.weight > zero:
                    block = stiffen(block, part.point - F.centre, part.normal, touch.weight)
            if touch.load > zero:
                own = natural(base + element)
                state = int(FREE)
                if e.seen[world, own] == e.tick[world]:
                    state = e.state[world, own]
                normal = wp.normalize(touch.pressed)
                point = (real(1.0) / touch.area) * touch.middle
                drift = (real(1.0) / touch.load) * touch.carried
                middle = line.point + half * line.way + laws.bulge(line.tilt, half) * line.normal
                grow = line.speed + half * line.more_speed
                arm = middle[1] * F.Rz + middle[0] * e_r
                carried = F.velocity + grow[0] * e_r + grow[1] * F.Rz - drift
                drag, weight = rub(
                    normal, touch.tangential, F.at + arm - e.anchor[world, own], carried + wp.cross(F.spin, arm),
                    carried + wp.cross(F.spin, point - F.at), state, pairs.ends.stick_speed[pair], F.ahead,
                )  # fmt: skip
                lever = point - F.centre
                force += drag
                moment += wp.cross(lever, drag)
                if weight > zero:
                    block = grip(block, lever, normal, weight)
                slot = natural(base + wp.atomic_add(e.counts, world, pair, t.ACTIVE, 1))
                e.active[world, slot] = element
                e.area[world, slot] = touch.area
                e.load[world, slot] = touch.load
                e.normal[world, slot] = normal
                e.centre[world, slot] = point
                e.carry[world, slot] = drift
                e.tangential[world, slot] = touch.tangential
            if touch.pushed == 1:
                pushed = 1
                force += touch.force
                moment += touch.moment
                area += touch.area
                stiffness += touch.stiffness
                polygons += touch.polygons
                deepest = wp.max(deepest, touch.deepest)
                flags = flags | touch.flags
        wp.atomic_min(lists.clear, world, pair, clear)
        wp.atomic_add(e.counts, world, pair, t.MAPPED, mapped)
        if pushed == 1:
            wrench = vec6(force[0], force[1], force[2], moment[0], moment[1], moment[2])
            wp.atomic_add(sums.wrench, world, pair, wrench)
            if F.ahead > zero:
                wp.atomic_add(sums.block, world, pair, assemble(block.push, block.mixed, block.turn))
            wp.atomic_max(sums.depth, world, pair, deepest)
            wp.atomic_add(sums.area, world, pair, area)
            wp.atomic_add(sums.stiffness, world, pair, stiffness)
            wp.atomic_add(sums.polygons, world, pair, polygons)
            wp.atomic_or(sums.flags, world, pair, flags)
            sums.touched[world, pair] = 1

    @wp.func
    def stick(s: Sections, rounds: Rounds, pairs: Pairs, places: Places, e: Elements, world: int, pair: int, lane: int):
        """Stick points after the step: stay, follow the slip, or begin; 000 eq. 2 with return mapping."""
        h = pairs.ends.step[0]
        at = places.position[world, pair]
        R = places.rotation[world, pair]
        velocity = places.velocity[world, pair]
        spin = places.spin[world, pair]
        base = pairs.first_element[pair]
        one = pairs.surface[pair, 0]
        sectors = rounds.sectors[one]
        stride = 1 + rounds.refine[one]
        tick = e.tick[world]
        for slot in range(base + lane, base + e.counts[world, pair, t.ACTIVE], pairs.lanes):
            element = e.active[world, slot]
            own = base + element
            line = s.line[world, s.first[one] + element / sectors]
            a = rounds.angle[rounds.first_angle[one] + (element % sectors) * stride]
            half = real(0.5)
            middle = line.point + half * line.way + laws.bulge(line.tilt, half) * line.normal
            grow = line.speed + half * line.more_speed
            arm = R * vec3(middle[0] * a[0], middle[0] * a[1], middle[1])
            mid = at + arm
            carry = e.carry[world, slot]
            v = velocity + wp.cross(spin, arm) + R * vec3(grow[0] * a[0], grow[0] * a[1], grow[1]) - carry
            state = int(FREE)
            if e.seen[world, own] == tick:
                state = e.state[world, own]
            anchor, state = hold(
                e.normal[world, slot], e.tangential[world, slot], mid, e.anchor[world, own], v, carry, state,
                pairs.ends.stick_speed[pair], h,
            )  # fmt: skip
            e.anchor[world, own] = anchor
            e.state[world, own] = state
            e.seen[world, own] = tick + 1

    return SimpleNamespace(press=press, stick=stick)
