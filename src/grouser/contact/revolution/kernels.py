"""Kernels of contact between bodies of revolution: elements of one surface mapped to the section of the other.

One thread a world does all of a step on a CPU; on a GPU lanes share a pair, with the same functions.
"""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact import penalty
from grouser.contact.revolution import laws
from grouser.contact.revolution import types as t
from grouser.contact.revolution.mapping import mapping_stages
from grouser.terrain.ground import natural

NEARLY_LOST = 0.95  # of the reach: deeper than this and the next step may find nothing


def _module(name: str):
    module = wp.get_module(name)
    module.options["enable_backward"] = False
    return module


@cache
def revolution_kernels(name: str) -> SimpleNamespace:
    stages = mapping_stages(name)
    ty, shape_up, lines_of = stages.types, stages.shape_up, stages.lines_of
    frame, map_middle, map_part = stages.frame, stages.map_middle, stages.map_part
    ring_is_near, patch_is_near, search_element = stages.ring_is_near, stages.patch_is_near, stages.search_element
    p = ty.precision
    real, vec3, vec4, vec6, quat, mat33, mat66 = (
        p.real, p.vec3, p.vec4, p.vec6, p.quat, p.mat33, p.mat66,
    )  # fmt: skip
    Sections, Rounds, Pairs, Places = ty.Sections, ty.Rounds, ty.Pairs, ty.Places
    Lists, Elements, Sums = ty.Lists, ty.Elements, ty.Sums
    Frame, Line, Near, Part = ty.Frame, ty.Line, ty.Near, ty.Part
    Touch, Block, Rubbed = ty.Touch, ty.Block, ty.Rubbed
    module = _module(f"grouser.contact.revolution.{name}")
    lanes_module = _module(f"grouser.contact.revolution.lanes.{name}")  # what runs on a CPU compiles without it
    poses = wp.array2d(dtype=vec3)
    turns = wp.array2d(dtype=quat)
    wrenches = wp.array2d(dtype=vec6)
    blocks = wp.array2d(dtype=mat66)
    statuses = wp.array2d(dtype=wp.int32)
    angles_of = wp.array(dtype=p.vec2)
    contacts_of = wp.array(dtype=ty.Contact)

    @wp.func
    def turned(q: quat, way: vec3):
        """Orientation after a turn by a rotation vector [rad], world axes."""
        angle = wp.length(way)
        if angle == real(0.0):
            return q
        return wp.normalize(wp.quat_from_axis_angle(way / angle, angle) * q)

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
            lists.counts[world, pair, t.STALE] = 1
            lists.counts[world, pair, t.SEARCHES] = lists.counts[world, pair, t.SEARCHES] + 1
            lists.counts[world, pair, t.LISTED] = 0
            lists.counts[world, pair, t.TESTS] = 0

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
    def assemble(push: mat33, mixed: mat33, turn: mat33):
        """B from its blocks: force by velocity, force by spin, torque by spin."""
        B = mat66()
        for r in range(3):
            for c in range(3):
                B[r, c] = push[r, c]
                B[r, 3 + c] = mixed[r, c]
                B[3 + c, r] = mixed[r, c]
                B[3 + r, 3 + c] = turn[r, c]
        return B

    @wp.func
    def add(total: Touch, touch: Touch):
        """An element to its pair."""
        total.pushed = 1
        total.force += touch.force
        total.moment += touch.moment
        total.area += touch.area
        total.stiffness += touch.stiffness
        total.polygons += touch.polygons
        total.deepest = wp.max(total.deepest, touch.deepest)
        total.flags = total.flags | touch.flags
        return total

    @wp.func
    def press_part(contacts: contacts_of, F: Frame, line: Line, part: Part, touch: Touch):
        """Normal force of a part of an element, 000 eq. 1, and its weight in the implicit block.

        Against the ground a part that moves away is held for as long as it is in contact now: the step then finds the
        force that is left, which may be none. Friction rests on the smaller of the load now and at the end of the step.
        """
        zero = real(0.0)
        law = contacts[natural(F.first_contact + line.layer * F.layers + part.layer)]
        out = wp.dot(part.velocity, part.normal)
        elastic = law.c * part.depth * part.area
        outgoing = out * part.area
        damping = law.d * penalty.damping_share(part.depth, law.s_d0)
        damping = penalty.release_damping(elastic, damping, outgoing)
        N = part.facing * (elastic - damping * outgoing)
        touch.weight = zero
        if N <= zero and F.ahead <= zero:
            return touch
        touch.pushed = 1
        push = N * part.normal
        touch.force += push
        touch.moment += wp.cross(part.point - F.centre, push)
        touch.weight = part.facing * F.ahead * (F.ahead * law.c + damping) * part.area
        held = wp.min(N, N + part.facing * law.c * F.ahead * outgoing)
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
        deep = part.peak + F.ahead * out
        touch.deepest = wp.max(touch.deepest, deep)
        if deep > law.thickness:
            touch.flags = touch.flags | (1 << t.DEEP)
        if deep > real(NEARLY_LOST) * F.reach:
            touch.flags = touch.flags | (1 << t.LOST)
        if law.far == 1:
            touch.flags = touch.flags | (1 << t.KAPPA)
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
                    touch = press_part(contacts, F, line, part, touch)
                    if touch.weight > real(0.0):
                        block = stiffen(block, part.point - F.centre, part.normal, touch.weight)
        return touch, block

    @wp.func
    def rub(F: Frame, line: Line, e_r: vec3, touch: Touch, state: int, anchor: vec3, stick_speed: real):
        """Friction of an element that is pressed, from the point where it sticks, if it does; 000 eq. 2."""
        rubbed = Rubbed()
        half = real(0.5)
        normal = wp.normalize(touch.pressed)
        law = touch.tangential
        rubbed.normal = normal
        rubbed.point = touch.middle / touch.area
        rubbed.drift = touch.carried / touch.load
        middle = line.point + half * line.way + laws.bulge(line.tilt, half) * line.normal
        mid = F.at + middle[1] * F.Rz + middle[0] * e_r
        grow = line.speed + half * line.more_speed
        growth = grow[0] * e_r + grow[1] * F.Rz - rubbed.drift
        xi = mid - anchor
        if state == t.FREE:
            xi = F.ahead * (F.velocity + wp.cross(F.spin, mid - F.at) + growth)
        xi = xi - wp.dot(xi, normal) * normal
        v = F.velocity + wp.cross(F.spin, rubbed.point - F.at) + growth
        v = v - wp.dot(v, normal) * normal
        speed = wp.length(v)
        slipping = wp.where(state == t.SLIPPING, 1, 0)
        limit = penalty.friction_limit(slipping, speed, stick_speed, law[2], law[3])
        drag, slips = penalty.friction(law[0] * xi + law[1] * v, limit, law[3])
        weight = F.ahead * law[0] + law[1]
        if slips == 1:
            weight = penalty.grip(weight, law[3], speed)
        if law[2] <= real(0.0):  # no friction, no grip, however slow
            weight = real(0.0)
        rubbed.drag = drag
        rubbed.weight = F.ahead * weight
        return rubbed

    @wp.func
    def search(
        s: Sections, rounds: Rounds, pairs: Pairs, places: Places, lists: Lists, world: int, pair: int, lane: int
    ):
        """Make the list anew where it is stale: blocks of lines, patches and elements that cannot come to touch while
        it lasts are passed over."""
        if lists.counts[world, pair, t.STALE] == 0:
            return
        F = frame(s, rounds, pairs, places, world, pair)
        F.slack += real(2.0) * pairs.margin[pair]  # of motion, and of turning about an element's middle
        start = s.first[F.one]
        end = s.first[F.one + 1] - 1
        start_block = s.first_block[F.one]
        first = s.first[F.two]
        last = s.first[F.two + 1] - 1
        first_block = s.first_block[F.two]
        sectors = rounds.sectors[F.one]
        group = t.ARC * t.ARCS
        arcs = (sectors + group - 1) / group
        stride = 1 + rounds.refine[F.one]
        table = rounds.first_angle[F.one]
        base = pairs.first_element[pair]
        tests = int(0)
        looked_at = int(-1)
        near_ring = bool(False)
        for patch in range(lane, (s.first_block[F.one + 1] - start_block) * arcs, pairs.lanes):
            block = start_block + patch / arcs
            if block != looked_at:
                looked_at = block
                near_ring = ring_is_near(s.box, world, block, first_block, s.first_block[F.two + 1], F)
            if not near_ring:
                continue
            from_sector = (patch % arcs) * group
            tests += 1
            a = rounds.angle[natural(table + ((from_sector + group / 2) % sectors) * stride)]
            wide = real(group / 2 + 1)
            if not patch_is_near(s.line, s.box, world, first, last, first_block, block, a, wide, F):
                continue
            close = bool(False)
            from_line = start + (block - start_block) * t.BLOCK
            for sector in range(from_sector, wp.min(from_sector + group, sectors)):
                if sector % t.ARC == 0:
                    tests += 1
                    a = rounds.angle[natural(table + ((sector + t.ARC / 2) % sectors) * stride)]
                    wide = real(t.ARC / 2 + 1)
                    close = patch_is_near(s.line, s.box, world, first, last, first_block, block, a, wide, F)
                if not close:
                    continue
                a = rounds.angle[natural(table + sector * stride)]
                e_r = a[0] * F.Rx + a[1] * F.Ry
                e_p = a[0] * F.Ry - a[1] * F.Rx
                for k in range(from_line, wp.min(from_line + t.BLOCK, end)):
                    tests += 1
                    line = s.line[world, natural(k)]
                    near = search_element(s.line, s.box, world, first, last, first_block, F, line, e_r, e_p)
                    if near.touches == 1:
                        slot = base + wp.atomic_add(lists.counts, world, pair, t.LISTED, 1)
                        lists.element[world, slot] = (k - start) * sectors + sector
                        lists.first[world, slot] = near.first
                        lists.last[world, slot] = near.last
                        lists.plain[world, slot] = near.plain
        wp.atomic_add(lists.counts, world, pair, t.TESTS, tests)

    @wp.func
    def press(
        s: Sections, rounds: Rounds, pairs: Pairs, places: Places, lists: Lists, e: Elements, sums: Sums,
        world: int, pair: int, lane: int,
    ):  # fmt: skip
        """Normal force and friction of every listed element, implicit block of the pair."""
        if lists.counts[world, pair, t.ASLEEP] == 1:
            return
        zero = real(0.0)
        F = frame(s, rounds, pairs, places, world, pair)
        clear = pairs.margin[pair]
        start = s.first[F.one]
        sectors = rounds.sectors[F.one]
        refine = rounds.refine[F.one]
        base = pairs.first_element[pair]
        total = Touch()
        near = Near()
        block = Block()
        mapped = int(0)
        for index in range(lane, lists.counts[world, pair, t.LISTED], pairs.lanes):
            slot = natural(base + index)
            element = natural(lists.element[world, slot])
            near.first = lists.first[world, slot]
            near.last = lists.last[world, slot]
            near.plain = lists.plain[world, slot]
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
                touch = press_part(pairs.contacts, F, line, part, touch)
                if touch.weight > zero:
                    block = stiffen(block, part.point - F.centre, part.normal, touch.weight)
            if touch.load > zero:
                own = base + element
                state = int(t.FREE)
                if e.seen[world, own] == e.tick[world]:
                    state = e.state[world, own]
                rubbed = rub(F, line, e_r, touch, state, e.anchor[world, own], pairs.stick_speed[pair])
                arm = rubbed.point - F.centre
                touch.force += rubbed.drag
                touch.moment += wp.cross(arm, rubbed.drag)
                if rubbed.weight > zero:
                    block = grip(block, arm, rubbed.normal, rubbed.weight)
                slot = natural(base + wp.atomic_add(e.counts, world, pair, t.ACTIVE, 1))
                e.active[world, slot] = element
                e.area[world, slot] = touch.area
                e.load[world, slot] = touch.load
                e.normal[world, slot] = rubbed.normal
                e.centre[world, slot] = rubbed.point
                e.carry[world, slot] = rubbed.drift
                e.tangential[world, slot] = touch.tangential
            if touch.pushed == 1:
                total = add(total, touch)
        wp.atomic_min(lists.clear, world, pair, clear)
        wp.atomic_add(e.counts, world, pair, t.MAPPED, mapped)
        if total.pushed == 1:
            f = total.force
            m = total.moment
            wp.atomic_add(sums.wrench, world, pair, vec6(f[0], f[1], f[2], m[0], m[1], m[2]))
            if F.ahead > zero:
                wp.atomic_add(sums.block, world, pair, assemble(block.push, block.mixed, block.turn))
            wp.atomic_max(sums.depth, world, pair, total.deepest)
            wp.atomic_add(sums.area, world, pair, total.area)
            wp.atomic_add(sums.stiffness, world, pair, total.stiffness)
            wp.atomic_add(sums.polygons, world, pair, total.polygons)
            wp.atomic_or(sums.flags, world, pair, total.flags)
            sums.touched[world, pair] = 1

    @wp.func
    def worse(status: statuses, world: int, row: int, kind: int, pair: int):
        """Keep the gravest status of a body."""
        if row >= 0 and kind > status[world, row] % t.KINDS:
            status[world, row] = kind + t.KINDS * pair

    @wp.func
    def in_world(R: mat33, B: mat66):
        """A block turned from the second surface's axes into the world's."""
        push = mat33()
        mixed = mat33()
        turn = mat33()
        for r in range(3):
            for c in range(3):
                push[r, c] = B[r, c]
                mixed[r, c] = B[r, 3 + c]
                turn[r, c] = B[3 + r, 3 + c]
        back = wp.transpose(R)
        return assemble(R * push * back, R * mixed * back, R * turn * back)

    @wp.func
    def gather(
        pairs: Pairs, places: Places, sums: Sums, world: int,
        wrench_out: wrenches, implicit_out: blocks, status_out: statuses,
    ):  # fmt: skip
        """Pair sums to the bodies of one world: exactly opposite wrenches, blocks for pairs with the ground."""
        for row in range(wrench_out.shape[1]):
            wrench_out[world, row] = vec6()
            implicit_out[world, row] = mat66()
            status_out[world, row] = 0
        for pair in range(pairs.named.shape[0]):
            one = pairs.out[pair, 0]
            two = pairs.out[pair, 1]
            named = vec6()
            block = mat66()
            if sums.touched[world, pair] == 1:
                R = places.world_rotation[world, pair]
                f = sums.wrench[world, pair]
                force = R * vec3(f[0], f[1], f[2])
                moment = R * vec3(f[3], f[4], f[5])
                here = vec6(force[0], force[1], force[2], moment[0], moment[1], moment[2])
                there = -here
                if pairs.both_move[pair] == 1:
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
                named = wp.where(pairs.named[pair] == 0, here, there)
            sums.named_wrench[world, pair] = named
            sums.named_block[world, pair] = block
            flags = sums.flags[world, pair]
            kind = int(t.FINE)
            if (flags & (1 << t.KAPPA)) != 0 and sums.said[world, pair] == 0:
                kind = int(t.KAPPA)
            if (flags & (1 << t.DEEP)) != 0:
                kind = int(t.DEEP)
            if pairs.both_move[pair] == 1 and sums.stiffness[world, pair] > pairs.stiffest[pair]:
                kind = int(t.STIFF)
            if (flags & (1 << t.LOST)) != 0:
                kind = int(t.LOST)
            worse(status_out, world, one, kind, pair)
            worse(status_out, world, two, kind, pair)

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

    @wp.func
    def stick(s: Sections, rounds: Rounds, pairs: Pairs, places: Places, e: Elements, world: int, pair: int, lane: int):
        """Stick points after the step: stay, follow the slip, or begin; 000 eq. 2 with return mapping."""
        h = pairs.step[0]
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
            normal = e.normal[world, slot]
            v = v - wp.dot(v, normal) * normal
            state = int(t.FREE)
            if e.seen[world, own] == tick:
                state = e.state[world, own]
            way = h * v
            if state != t.FREE:
                way = mid - e.anchor[world, own] - h * carry
                way = way - wp.dot(way, normal) * normal
            law = e.tangential[world, slot]
            trial = law[0] * way + law[1] * v
            slipping = wp.where(state == t.SLIPPING, 1, 0)
            limit = penalty.friction_limit(slipping, wp.length(v), pairs.stick_speed[pair], law[2], law[3])
            kept, slips = penalty.elastic_way(way, trial, limit, law[3], law[0])
            e.anchor[world, own] = mid - kept
            e.state[world, own] = wp.where(slips == 1, int(t.SLIPPING), int(t.STUCK))
            e.seen[world, own] = tick + 1

    # ---- one thread a world ---------------------------------------------------------------------------

    @wp.kernel(module=module)
    def shape_up_world(s: Sections):
        world = wp.tid()
        for surface in range(s.sign.shape[0]):
            shape_up(s, world, surface)

    @wp.kernel(module=module)
    def evaluate_world(
        s: Sections, rounds: Rounds, pairs: Pairs, places: Places, lists: Lists, e: Elements, sums: Sums,
        position: poses, rotation: turns, velocity: poses, spinning: poses,
        wrench_out: wrenches, implicit_out: blocks, status_out: statuses,
    ):  # fmt: skip
        world = wp.tid()
        for surface in range(s.sign.shape[0]):
            shape_up(s, world, surface)
        for pair in range(pairs.named.shape[0]):
            place_ahead(s, rounds, pairs, places, lists, e, sums, world, pair, position, rotation, velocity, spinning)
            search(s, rounds, pairs, places, lists, world, pair, 0)
            press(s, rounds, pairs, places, lists, e, sums, world, pair, 0)
        gather(pairs, places, sums, world, wrench_out, implicit_out, status_out)

    @wp.kernel(module=module)
    def commit_world(
        s: Sections, rounds: Rounds, pairs: Pairs, places: Places, e: Elements, sums: Sums,
        position: poses, rotation: turns, velocity: poses, spinning: poses,
    ):  # fmt: skip
        world = wp.tid()
        for pair in range(pairs.named.shape[0]):
            place_now(rounds, pairs, places, sums, world, pair, position, rotation, velocity, spinning)
            stick(s, rounds, pairs, places, e, world, pair, 0)
        e.tick[world] = e.tick[world] + 1

    # ---- lanes of a pair, for a GPU -------------------------------------------------------------------

    @wp.kernel(module=lanes_module)
    def shape_up_surfaces(s: Sections):
        world, surface = wp.tid()
        shape_up(s, world, surface)

    @wp.kernel(module=lanes_module)
    def place_pairs_ahead(
        s: Sections, rounds: Rounds, pairs: Pairs, places: Places, lists: Lists, e: Elements, sums: Sums,
        position: poses, rotation: turns, velocity: poses, spinning: poses,
    ):  # fmt: skip
        world, pair = wp.tid()
        place_ahead(s, rounds, pairs, places, lists, e, sums, world, pair, position, rotation, velocity, spinning)

    @wp.kernel(module=lanes_module)
    def search_lanes(s: Sections, rounds: Rounds, pairs: Pairs, places: Places, lists: Lists):
        world, pair, lane = wp.tid()
        search(s, rounds, pairs, places, lists, world, pair, lane)

    @wp.kernel(module=lanes_module)
    def press_lanes(s: Sections, rounds: Rounds, pairs: Pairs, places: Places, lists: Lists, e: Elements, sums: Sums):
        world, pair, lane = wp.tid()
        press(s, rounds, pairs, places, lists, e, sums, world, pair, lane)

    @wp.kernel(module=lanes_module)
    def gather_worlds(
        pairs: Pairs, places: Places, sums: Sums, wrench_out: wrenches, implicit_out: blocks, status_out: statuses
    ):
        gather(pairs, places, sums, wp.tid(), wrench_out, implicit_out, status_out)

    @wp.kernel(module=lanes_module)
    def place_pairs_now(
        rounds: Rounds, pairs: Pairs, places: Places, sums: Sums,
        position: poses, rotation: turns, velocity: poses, spinning: poses,
    ):  # fmt: skip
        world, pair = wp.tid()
        place_now(rounds, pairs, places, sums, world, pair, position, rotation, velocity, spinning)

    @wp.kernel(module=lanes_module)
    def stick_lanes(s: Sections, rounds: Rounds, pairs: Pairs, places: Places, e: Elements):
        world, pair, lane = wp.tid()
        stick(s, rounds, pairs, places, e, world, pair, lane)

    @wp.kernel(module=lanes_module)
    def count_steps(e: Elements):
        world = wp.tid()
        e.tick[world] = e.tick[world] + 1

    return SimpleNamespace(
        module=module, lanes_module=lanes_module, types=ty, shape_up_world=shape_up_world, evaluate_world=evaluate_world, commit_world=commit_world,
        shape_up_surfaces=shape_up_surfaces, place_pairs_ahead=place_pairs_ahead, search_lanes=search_lanes,
        press_lanes=press_lanes, gather_worlds=gather_worlds, place_pairs_now=place_pairs_now,
        stick_lanes=stick_lanes, count_steps=count_steps,
    )  # fmt: skip
