"""Contact of bushings with the teeth of a sprocket: flanks, root, and sides; Omar 2014, eq. 26 to 37.

The profile is one gap between two teeth, as a polyline with the coordinates across the gap and radial.
"""

from __future__ import annotations

import warp as wp

from grouser.precision import real, vec2, vec3
from grouser.track import laws
from grouser.track.stages.contacts import add_contact, add_friction
from grouser.track.types import Contact, Contacts, Links, Results, State, Tables, Track, Wheels

TAU = wp.constant(real(6.283185307179586))


@wp.func
def tooth_depth(c: Tables, j: int, last: int, at: vec2, radius: real):
    """Depth [m] of the bushing's circle centred at `at` in segment j of the profile, or in the corner at its end.

    Also returns the direction out of the tooth. The depth is -1 if the circle does not touch the segment.
    """
    zero = real(0.0)
    q = c.segment[j]
    n = vec2(-q.direction[1], q.direction[0])
    f = at - c.profile[j]
    s = wp.dot(f, q.direction)
    if s >= zero and s <= q.length:
        depth = radius - wp.dot(f, n)
        if depth < radius:
            return depth, n
        return real(-1.0), n  # the centre is behind the segment: another segment is in contact
    if s > q.length and j + 1 < last:  # convex corners only: in a concave one the segments touch first
        q2 = c.segment[j + 1]
        if q.direction[0] * q2.direction[1] - q.direction[1] * q2.direction[0] < zero:
            g = at - c.profile[j + 1]
            if g[0] * q2.direction[0] + g[1] * q2.direction[1] < zero:
                distance = wp.length(g)
                return radius - distance, g / distance
    return real(-1.0), n


@wp.func(inline=True)
def tooth_contacts(
    world: int, which: int, tr: Track, c: Tables, s: State, links: Links, wheels: Wheels, contacts: Contacts,
    results: Results, k: int, i: int, h: real, ahead: real,
):  # fmt: skip
    """Add the contacts of the bushing of link i in the nearest gap of sprocket k."""
    zero, one, half = real(0.0), real(1.0), real(0.5)
    R = links.axes[world, i]
    axle = wheels.axle[world, k]
    bushing = -half * tr.pitch * vec3(R[0, 0], R[1, 0], R[2, 0])
    b = s.position[world, i] + bushing - wheels.centre[world, k]
    along = wp.dot(b, axle)
    b = b - along * axle
    far = c.reach[k] + tr.bushing_radius
    if wp.length_sq(b) > far * far:
        return

    # Find the nearest gap, and the position of the bushing in its axes.
    start = wheels.first_gap[world, k]
    across = wp.cross(start, axle)
    pitch_angle = TAU / real(c.teeth[k])
    angle = wp.atan2(wp.dot(b, across), wp.dot(b, start))
    nearest = wp.floor(angle / pitch_angle + half) * pitch_angle
    cosine = wp.cos(nearest)
    sine = wp.sin(nearest)
    outward = cosine * start + sine * across
    sideways = cosine * across - sine * start
    at = vec2(wp.dot(b, sideways), wp.dot(b, outward))
    v = s.velocity[world, i]
    omega = s.angular_velocity[world, i]
    wheel_v = wheels.velocity[world, k]
    wheel_omega = wheels.angular_velocity[world, k]
    first = c.first_point[k]
    last = c.first_point[k + 1] - 1
    deepest = zero
    out = vec2(zero, one)
    # Each group of segments (a flank, the root) gives one contact, where it is deepest. The extra pass after the last
    # segment handles the sides of the sprocket. It is in the same loop so that the called functions are inlined once.
    for j in range(first, last + 1):
        n = axle
        wheel_arm = b
        arm = bushing
        depth = zero
        stiffness = tr.tooth_stiffness
        damping = tr.tooth_damping
        friction = tr.friction
        if j < last:
            segment_depth, segment_out = tooth_depth(c, j, last, at, tr.bushing_radius)
            if segment_depth > deepest:
                deepest = segment_depth
                out = segment_out
            if c.group[j + 1] != c.group[j]:
                n = out[0] * sideways + out[1] * outward
                wheel_arm = b - tr.bushing_radius * n
                arm = bushing - along * axle - tr.bushing_radius * n
                depth = deepest
                deepest = zero
        else:
            n = -wp.sign(along) * axle
            wheel_arm = b + along * axle
            depth = wp.abs(along) - tr.side_gap
            stiffness = tr.side_stiffness
            damping = tr.side_damping
            friction = zero
        if depth > zero:
            u = v + wp.cross(omega, arm) - wheel_v - wp.cross(wheel_omega, wheel_arm)
            size, elastic, impedance = laws.press(
                depth, -wp.dot(u, n), stiffness, damping, tr.full_damping_depth, ahead
            )
            if size > zero:
                force, tangential, sliding = add_friction(u, n, size, friction * elastic, tr.full_friction_speed)
                contact = Contact(i, k, arm, wheel_arm, n, force, impedance, tangential, sliding)
                add_contact(
                    world, which, tr.first_contact, tr.contacts, tr.implicit, h, contact,
                    contacts.found, contacts.contact, results.status, links.force, links.torque,
                    links.diagonal, links.effective_mass, links.effective_moment, links.effective_inertia,
                )  # fmt: skip
