"""Kernels that press, stick and gather: contact polygons to pair sums, stick points on, pair sums to bodies."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact import clipping, penalty
from grouser.contact.pairs import DEEP, FREE, FULL, KAPPA, LOST, pair_stages
from grouser.contact.polygonal import laws
from grouser.contact.polygonal import types as t
from grouser.contact.polygonal.meeting import meeting_stages
from grouser.contact.polygonal.search import search_stages
from grouser.contact.rigid import rigid_stages

MEASURED = 0.5  # g from which a polygon's depth counts for the greatest: the corner of a cube has 0.58
NEARLY_LOST = 0.95  # of the reach: deeper than this and the next step may find no face


@cache
def polygonal_kernels(name: str) -> SimpleNamespace:
    stages = search_stages(name)
    ty, module = stages.types, stages.module
    p = ty.precision
    real, vec3, vec4, vec6, mat33 = p.real, p.vec3, p.vec4, p.vec6, p.mat33
    Ends, Shapes, Pairs, Places = ty.Ends, ty.Shapes, ty.Pairs, ty.Places
    Lists, Elements, Sums = ty.Lists, ty.Elements, ty.Sums
    element_frame = stages.element_frame
    meeting = meeting_stages(name)
    overlap, look_round, spanned = meeting.overlap, meeting.look_round, meeting.spanned
    assemble = rigid_stages(name).assemble
    shared = pair_stages(name)
    rub, hold, gather = shared.rub, shared.hold, shared.gather
    sliver = wp.constant(real(p.slack * p.slack))  # of an element's area: less is round-off

    @wp.kernel(module=module)
    def press(s: Shapes, pairs: Pairs, places: Places, lists: Lists, e: Elements, sums: Sums):
        """Normal force of every contact polygon, friction of every element, implicit block of the pair.

        Against the ground the polygons are those at the end of the step, while what moves away is held for as long
        as it is in contact now: the step then finds the force that is left, which may be none. Friction rests on the
        smaller of the load now and at the end of the step, since the second is a guess in an impact.
        """
        world, pair, lane = wp.tid()
        if lists.counts[world, pair, t.OVERFLOW] == 1:
            wp.atomic_or(sums.flags, world, pair, 1 << FULL)
        if lists.counts[world, pair, t.QUIET] == 1:
            return
        zero = real(0.0)
        h = pairs.ends.step[0]
        at = places.position[world, pair]
        R = places.rotation[world, pair]
        velocity = places.velocity[world, pair]
        spin = places.spin[world, pair]
        centre = places.centre[world, pair]
        implicit = pairs.ends.both_move[pair] == 0
        now = zero  # from the depth at the end of the step to the depth now
        reach = pairs.reach[pair]
        if implicit:
            now = h
            reach += h * (wp.length(velocity) + pairs.radius[pair] * wp.length(spin))
        linear = pairs.linear[pair] == 1
        base = pairs.first_element[pair]
        start_face = s.first_face[pairs.shape[pair, 0]]
        force = vec3()
        moment = vec3()
        push = mat33()
        mixed = mat33()
        turn = mat33()
        deepest = zero
        whole = zero
        stiffness = zero
        polygons = int(0)
        touched = int(0)
        flags = int(0)
        for k in range(lane, lists.counts[world, pair, t.ELEMENTS], pairs.lanes):
            slot = base + k
            face = lists.face[world, slot]
            x, e1, n, flat = element_frame(s, face, at, R)
            e2 = wp.cross(n, e1)
            arm = x - centre
            v = velocity + wp.cross(spin, x - at)
            area = zero
            middle = vec3()
            load = zero
            pressed = vec3()
            tangential = vec4()
            first = lists.first[world, slot]
            last = first + lists.count[world, slot]
            doubtful = lists.doubtful[world, slot] == 1
            own = base + face - start_face
            over = int(-1)  # a face of the plane over the corners, where depth is linear between them
            over_g = zero
            over_d = zero
            over_x = zero
            over_y = zero
            if linear and not doubtful:
                over, over_g, over_d, over_x, over_y = spanned(
                    s, lists, e, world, own, first, last, x, e1, e2, n, flat, reach
                )
            one_plane = over >= 0
            over_m = -(over_g * n + over_x * e1 + over_y * e2)
            if one_plane:
                last = first + 1
            for c in range(first, last):
                listed = lists.other[world, c]
                other = wp.where(one_plane, over, wp.where(listed < 0, -1 - listed, listed))
                m = wp.where(one_plane, over_m, s.normal[other])
                g = -wp.dot(n, m)
                if g <= zero:
                    continue
                A = s.corners[other, 0]
                d = wp.where(one_plane, over_d, wp.dot(A - x, m))
                dx = -wp.dot(e1, m)
                dy = -wp.dot(e2, m)
                out = wp.dot(v, m)  # speed away from the face, linear in the plane
                out_x = wp.dot(wp.cross(spin, e1), m)
                out_y = wp.dot(wp.cross(spin, e2), m)
                ahead = zero  # from the depth that bounds the contact to the depth that presses
                if implicit and out + (out_x * (flat[0] + flat[1]) + out_y * flat[2]) / real(3.0) > zero:
                    ahead = h
                b = d + ahead * out
                bx = dx + ahead * out_x
                by = dy + ahead * out_y
                if wp.max(b, wp.max(b + bx * flat[0], b + bx * flat[1] + by * flat[2])) <= zero:
                    continue
                px, py, count = overlap(
                    x, e1, e2, flat, A, s.corners[other, 1], s.corners[other, 2], b, bx, by, reach * g, one_plane
                )
                if count < 3:
                    continue
                M, Mx, My, Mxx, Mxy, Myy = clipping.moments(px, py, count)
                if M <= sliver * flat[0] * flat[2]:
                    continue
                law = pairs.contacts[pairs.first_contact[pair] + s.layer[face] * pairs.layers[pair] + s.layer[other]]
                depth = (d * M + dx * Mx + dy * My) / M
                share = real(1.0)
                if doubtful or g < real(laws.FACING):
                    nearest, hidden = look_round(s, lists, world, first, last, x + (Mx * e1 + My * e2) / M, n, depth, g)
                    if hidden:
                        continue
                    share = laws.facing_share(g, depth, nearest)
                stiff = law.c * share
                elastic = stiff * depth * M
                outward = out * M + out_x * Mx + out_y * My
                damping = law.d * penalty.damping_share(depth, law.s_d0)
                damping = penalty.release_damping(elastic, damping, outward)
                N = g * (elastic - damping * outward)
                if N <= zero and not implicit:
                    continue
                touched = 1
                q0 = g * (stiff * d - damping * out)
                qx = g * (stiff * dx - damping * out_x)
                qy = g * (stiff * dy - damping * out_y)
                along_x = q0 * Mx + qx * Mxx + qy * Mxy
                along_y = q0 * My + qx * Mxy + qy * Myy
                force += N * m
                moment += wp.cross(N * arm + along_x * e1 + along_y * e2, m)
                held = wp.min(N, N + g * stiff * now * outward)
                if implicit:
                    weight = g * h * (h * stiff + damping)
                    j0 = wp.cross(arm, m)
                    jx = wp.cross(e1, m)
                    jy = wp.cross(e2, m)
                    push += wp.outer((weight * M) * m, m)
                    mixed += wp.outer(weight * m, M * j0 + Mx * jx + My * jy)
                    turn += wp.outer(weight * j0, M * j0 + Mx * jx + My * jy)
                    turn += wp.outer(weight * jx, Mx * j0 + Mxx * jx + Mxy * jy)
                    turn += wp.outer(weight * jy, My * j0 + Mxy * jx + Myy * jy)
                if held <= zero:
                    continue
                polygons += 1
                load += held
                pressed += held * m
                area += M
                middle += M * x + Mx * e1 + My * e2
                stiffness += g * stiff * M
                tangential = tangential + vec4(law.c_t * M, law.d_t * M, law.mu_stick * held, law.mu_slip * held)
                if g > real(MEASURED):
                    deep = share * laws.deepest(px, py, count, d + now * out, dx + now * out_x, dy + now * out_y)
                    deepest = wp.max(deepest, deep)
                    if deep > law.thickness:
                        flags = flags | (1 << DEEP)
                    if deep > real(NEARLY_LOST) * pairs.reach[pair]:
                        flags = flags | (1 << LOST)
                if law.far == 1:
                    flags = flags | (1 << KAPPA)
            e.area[world, slot] = area
            e.load[world, slot] = load
            if load > zero:
                whole += area
                point = middle / area
                normal = wp.normalize(pressed)
                mid = x + ((flat[0] + flat[1]) * e1 + flat[2] * e2) / real(3.0)
                drag, weight = rub(
                    normal, tangential, mid - e.anchor[world, own], velocity + wp.cross(spin, mid - at),
                    velocity + wp.cross(spin, point - at), e.state[world, own], pairs.ends.stick_speed[pair], now,
                )  # fmt: skip
                lever = point - centre
                force += drag
                moment += wp.cross(lever, drag)
                e.normal[world, slot] = normal
                e.centre[world, slot] = point
                e.tangential[world, slot] = tangential
                if implicit:
                    along = wp.diag(vec3(weight, weight, weight)) - wp.outer(weight * normal, normal)
                    cross = wp.skew(lever)
                    push += along
                    mixed = mixed - along * cross
                    turn = turn - cross * (along * cross)
        if touched == 1:
            wp.atomic_add(sums.wrench, world, pair, vec6(force[0], force[1], force[2], moment[0], moment[1], moment[2]))
            wp.atomic_add(sums.block, world, pair, assemble(push, mixed, turn))
            wp.atomic_max(sums.depth, world, pair, deepest)
            wp.atomic_add(sums.area, world, pair, whole)
            wp.atomic_add(sums.stiffness, world, pair, stiffness)
            wp.atomic_add(sums.polygons, world, pair, polygons)
            wp.atomic_or(sums.flags, world, pair, flags)
            sums.touched[world, pair] = 1

    @wp.kernel(module=module)
    def stick(s: Shapes, pairs: Pairs, places: Places, lists: Lists, e: Elements):
        """Stick points after the step: stay, follow the slip, or are let go; 000 eq. 2 with return mapping."""
        world, pair, lane = wp.tid()
        if lists.counts[world, pair, t.QUIET] == 1:
            return
        h = pairs.ends.step[0]
        at = places.position[world, pair]
        R = places.rotation[world, pair]
        velocity = places.velocity[world, pair]
        spin = places.spin[world, pair]
        base = pairs.first_element[pair]
        start_face = s.first_face[pairs.shape[pair, 0]]
        for k in range(lane, lists.counts[world, pair, t.ELEMENTS], pairs.lanes):
            slot = base + k
            face = lists.face[world, slot]
            own = base + face - start_face
            if e.load[world, slot] <= real(0.0):
                e.state[world, own] = FREE
            else:
                third = real(1.0) / real(3.0)
                mid = at + R * (third * (s.corners[face, 0] + s.corners[face, 1] + s.corners[face, 2]))
                anchor, state = hold(
                    e.normal[world, slot], e.tangential[world, slot], mid, e.anchor[world, own],
                    velocity + wp.cross(spin, mid - at), vec3(), e.state[world, own], pairs.ends.stick_speed[pair], h,
                )  # fmt: skip
                e.anchor[world, own] = anchor
                e.state[world, own] = state

    @wp.kernel(module=module)
    def gather_worlds(
        ends: Ends, places: Places, sums: Sums,
        wrench_out: shared.wrenches, implicit_out: shared.blocks, status_out: shared.statuses,
    ):  # fmt: skip
        gather(ends, places, sums, wp.tid(), wrench_out, implicit_out, status_out)

    return SimpleNamespace(
        module=module, types=ty, place_ahead=stages.place_ahead, place_now=stages.place_now,
        check_lists=stages.check_lists, search=stages.search, press=press, stick=stick, gather=gather_worlds,
    )  # fmt: skip
