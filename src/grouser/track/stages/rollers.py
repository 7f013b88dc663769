"""Contact of rails with rollers, carrier rollers and idlers: points of a rail's section on a surface of revolution.

Omar 2014, eq. 38 to 46. The profile of a wheel is a polyline with the coordinates along the axle and radius.
"""

from __future__ import annotations

import warp as wp

from grouser.precision import real, vec2, vec3
from grouser.track import laws
from grouser.track.stages.contacts import add_contact, add_friction
from grouser.track.types import Contact, Contacts, Links, Results, State, Tables, Track, Wheels

FAR = wp.constant(real(0.6))  # share of the pitch; a rail reaches no farther from the middle of its link


@wp.func
def segment_at(c: Tables, first: int, last: int, along: real):
    """Segment of a profile at the position `along` [m] of the axle."""
    k = first
    while k < last - 1 and along > c.profile[k + 1][0]:
        k += 1
    return k


@wp.func
def depth_in_profile(c: Tables, first: int, last: int, segment: int, along: real, radius: real, below: real):
    """Depth [m] of a point (along the axle, radius) in a profile, and the direction out of it.

    The point is `below` [m] under the surface of `segment` in radial direction, so the nearest segment is no farther.
    """
    zero = real(0.0)
    depth = below
    out = vec2(zero, real(1.0))
    for j in range(first, last):
        a = c.profile[j]
        q = c.segment[j]
        f = along - a[0]
        if j == segment or (f > -depth and f < q.length * q.direction[0] + depth):  # else it is farther
            g = radius - a[1]
            s = f * q.direction[0] + g * q.direction[1]
            near = wp.clamp(s, zero, q.length)
            gap = wp.abs(f * q.direction[1] - g * q.direction[0])
            if near != s:
                gap = wp.length(vec2(f - near * q.direction[0], g - near * q.direction[1]))
            if gap <= depth:
                depth = gap
                out = vec2(-q.direction[1], q.direction[0])
    return depth, out


@wp.func(inline=True)
def rail_contacts(
    world: int, which: int, tr: Track, c: Tables, s: State, links: Links, wheels: Wheels, contacts: Contacts,
    results: Results, k: int, i: int, h: real, ahead: real,
):  # fmt: skip
    """Add the contacts of the rails of link i with wheel k.

    Each rail is tested where it is nearest to the axle, with all points of its section there.
    """
    zero, one, half = real(0.0), real(1.0), real(0.5)
    axle = wheels.axle[world, k]
    to_link = s.position[world, i] - wheels.centre[world, k]
    off = wp.dot(to_link, axle)
    reach = c.reach[k]
    far = reach + tr.rail_height + FAR * tr.pitch
    if wp.length_sq(to_link) - off * off > far * far:
        return

    R = links.axes[world, i]
    x = vec3(R[0, 0], R[1, 0], R[2, 0])
    y = vec3(R[0, 1], R[1, 1], R[2, 1])
    z = vec3(R[0, 2], R[1, 2], R[2, 2])
    # In the plane of the wheel a rail is a line along e. Its point nearest to the axle is at `place` [m].
    e = x - wp.dot(x, axle) * axle
    middle = wp.dot(to_link + tr.rail_height * z, e)
    aside = c.section[tr.first_station, 0][0] * wp.dot(y, e)
    per_ee = one / wp.length_sq(e)
    v = s.velocity[world, i]
    omega = s.angular_velocity[world, i]
    wheel_v = wheels.velocity[world, k]
    wheel_omega = wheels.angular_velocity[world, k]
    first = c.first_point[k]
    last = c.first_point[k + 1] - 1
    least = half * tr.rail_height  # [m] radius; a point closer to the axle has passed through the wheel: ignore it
    sides = int(2)  # a variable, so that the loop is not unrolled and its body is inlined only once
    for side in range(sides):
        sign = real(1 - 2 * side)
        place = -(middle + sign * aside) * per_ee
        share = laws.taper(place, half * tr.pitch, tr.rail_overlap)
        if share > zero:
            # Interpolate the section between two stations of the rail.
            m = tr.first_station
            end = tr.first_station + tr.stations - 1
            while m < end - 1 and place > c.station[m + 1]:
                m += 1
            after = wp.min(m + 1, end)
            f = wp.clamp((place - c.station[m]) * c.per_station[m], zero, one)
            for point in range(tr.section_points):
                a = c.section[m, point]
                b = c.section[after, point]
                q = a + f * (b - a)
                arm = place * x + sign * q[0] * y + q[1] * z
                wheel_arm = to_link + arm
                along = wp.dot(wheel_arm, axle)
                radial = wheel_arm - along * axle
                radius_sq = wp.length_sq(radial)
                if along >= c.profile[first][0] and along <= c.profile[last][0] and radius_sq < reach * reach:
                    segment = segment_at(c, first, last, along)
                    corner = c.profile[segment]
                    surface = corner[1] + c.segment[segment].slope * (along - corner[0])
                    if radius_sq < surface * surface and radius_sq > least * least:
                        radius = wp.sqrt(radius_sq)
                        depth, out = depth_in_profile(c, first, last, segment, along, radius, surface - radius)
                        n = out[0] * axle + (out[1] / radius) * radial
                        u = v + wp.cross(omega, arm) - wheel_v - wp.cross(wheel_omega, wheel_arm)
                        part = c.share[m, point]
                        amount = share * (part + f * (c.share[after, point] - part))
                        size, elastic, impedance = laws.press_hertz(
                            depth, -wp.dot(u, n), amount * tr.roller_stiffness, amount * tr.roller_damping,
                            tr.full_damping_depth, ahead,
                        )  # fmt: skip
                        if size > zero:
                            force, across, sliding = add_friction(
                                u, n, size, tr.friction * elastic, tr.full_friction_speed
                            )
                            contact = Contact(i, k, arm, wheel_arm, n, force, impedance, across, sliding)
                            add_contact(
                                world, which, tr.first_contact, tr.contacts, tr.implicit, h, contact,
                                contacts.found, contacts.contact, results.status, links.force, links.torque,
                                links.diagonal, links.effective_mass, links.effective_moment, links.effective_inertia,
                            )  # fmt: skip
