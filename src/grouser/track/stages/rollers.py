"""Rails on rollers, carriers and idlers: surfaces of revolution met by the points of a rail's section; eq. 38 to 46."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.track import laws
from grouser.track import types as t
from grouser.track.stages.contacts import contact_stage


@cache
def roller_stage(name: str, implicit: bool) -> SimpleNamespace:
    ty = t.track_types(name)
    p = ty.precision
    real, vec2, vec3 = p.real, p.vec2, p.vec3
    Contact, Track, Tables, State, Scratch = ty.Contact, ty.Track, ty.Tables, ty.State, ty.Scratch
    contacts = contact_stage(name, implicit)
    add_contact, rub = contacts.add_contact, contacts.rub
    zero, one, half = wp.constant(real(0.0)), wp.constant(real(1.0)), wp.constant(real(0.5))

    @wp.func
    def surface_piece(c: Tables, first: int, last: int, along: real):
        """Piece of a profile over a place along the axle."""
        k = first
        while k < last - 1 and along > c.profile[k + 1][0]:
            k += 1
        return k

    @wp.func
    def depth_in_profile(c: Tables, first: int, last: int, piece: int, along: real, radius: real, below: real):
        """Depth [m] of a point (along the axle, radius) `below` the surface over it, and the way out."""
        depth = below
        way = vec2(zero, one)
        for j in range(first, last):
            a = c.profile[j]
            q = c.piece[j]  # direction, length, slope
            f = along - a[0]
            if j == piece or (f > -depth and f < q[2] * q[0] + depth):  # else it is farther off
                g = radius - a[1]
                s = f * q[0] + g * q[1]
                near = wp.clamp(s, zero, q[2])
                gap = wp.abs(f * q[1] - g * q[0])
                if near != s:
                    gap = wp.length(vec2(f - near * q[0], g - near * q[1]))
                if gap <= depth:
                    depth = gap
                    way = vec2(-q[1], q[0])
        return depth, way

    @wp.func
    def roll(world: int, which: int, tr: Track, c: Tables, s: State, w: Scratch, k: int, i: int, h: real, ahead: real):
        """Rails of link i against wheel k: the place on each rail nearest to the axle, there the section's points."""
        axle = w.axle[world, k]
        to_link = s.position[world, i] - w.centre[world, k]
        off = wp.dot(to_link, axle)
        reach = c.reach[k]
        far = reach + tr.rail_height + real(0.6) * tr.pitch
        if wp.length_sq(to_link) - off * off > far * far:
            return
        R = w.R[world, i]
        x = vec3(R[0, 0], R[1, 0], R[2, 0])
        y = vec3(R[0, 1], R[1, 1], R[2, 1])
        z = vec3(R[0, 2], R[1, 2], R[2, 2])
        e = x - wp.dot(x, axle) * axle
        middle = wp.dot(to_link + tr.rail_height * z, e)
        aside = c.section[tr.first_station, 0][0] * wp.dot(y, e)
        per_ee = one / wp.length_sq(e)
        v = s.velocity[world, i]
        turn = s.spin[world, i]
        wheel_v = w.speed[world, k]
        wheel_turn = w.spin[world, k]
        first = c.first_point[k]
        last = c.first_point[k + 1] - 1
        least = half * tr.rail_height
        sides = int(2)  # a variable: the loop is not unrolled, what it calls has one place and is inlined
        for side in range(sides):
            sign = real(1 - 2 * side)
            place = -(middle + sign * aside) * per_ee
            share = laws.taper(place, half * tr.pitch, tr.taper)
            if share > zero:
                m = tr.first_station
                end = tr.first_station + tr.stations - 1
                while m < end - 1 and place > c.station[m + 1]:
                    m += 1
                after = wp.min(m + 1, end)
                f = wp.clamp((place - c.station[m]) * c.per_station[m], zero, one)
                for point in range(tr.section):
                    a = c.section[m, point]
                    b = c.section[after, point]
                    q = a + f * (b - a)
                    arm = place * x + sign * q[0] * y + q[1] * z
                    lever = to_link + arm
                    along = wp.dot(lever, axle)
                    radial = lever - along * axle
                    radius_sq = wp.length_sq(radial)
                    if along >= c.profile[first][0] and along <= c.profile[last][0] and radius_sq < reach * reach:
                        piece = surface_piece(c, first, last, along)
                        corner = c.profile[piece]
                        surface = corner[1] + c.piece[piece][3] * (along - corner[0])
                        if radius_sq < surface * surface and radius_sq > least * least:
                            radius = wp.sqrt(radius_sq)
                            depth, way = depth_in_profile(c, first, last, piece, along, radius, surface - radius)
                            n = way[0] * axle + (way[1] / radius) * radial
                            u = v + wp.cross(turn, arm) - wheel_v - wp.cross(wheel_turn, lever)
                            part = c.share[m, point]
                            amount = share * (part + f * (c.share[after, point] - part))
                            size, elastic, along_n = laws.press_hertz(
                                depth, -wp.dot(u, n), amount * tr.roller, amount * tr.c_roller, tr.full_depth, ahead
                            )
                            if size > zero:
                                push, across, sliding = rub(u, n, size, tr.friction * elastic, tr.full_speed)
                                one_contact = Contact(i, k, arm, lever, n, push, along_n, across, sliding)
                                add_contact(
                                    world, which, tr.first_contact, tr.contacts, h, one_contact,
                                    w.found, w.status, w.contact, w.force, w.torque, w.D, w.size, w.lean, w.turn,
                                )  # fmt: skip

    return SimpleNamespace(roll=roll)
