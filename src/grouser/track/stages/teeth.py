"""Bushings in the teeth of a sprocket: both flanks, the root, and along the axle; eq. 26 to 37."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.track import laws
from grouser.track import types as t
from grouser.track.stages.contacts import contact_stage


@cache
def tooth_stage(name: str, implicit: bool) -> SimpleNamespace:
    ty = t.track_types(name)
    p = ty.precision
    real, vec2, vec3 = p.real, p.vec2, p.vec3
    Contact, Track, Tables, State, Scratch = ty.Contact, ty.Track, ty.Tables, ty.State, ty.Scratch
    contacts = contact_stage(name, implicit)
    add_contact, rub = contacts.add_contact, contacts.rub
    zero, one, half = wp.constant(real(0.0)), wp.constant(real(1.0)), wp.constant(real(0.5))
    tau = wp.constant(real(6.283185307179586))

    @wp.func
    def tooth_depth(c: Tables, j: int, last: int, at: vec2, radius: real):
        """Depth of the bushing's circle in one segment of the tooth profile, or in the corner it ends in."""
        q = c.piece[j]
        e = vec2(q[0], q[1])
        n = vec2(-q[1], q[0])
        f = at - c.profile[j]
        s = wp.dot(f, e)
        if s >= zero and s <= q[2]:
            depth = radius - wp.dot(f, n)
            if depth < radius:
                return depth, n
            return real(-1.0), n
        if s > q[2] and j + 1 < last:  # only a corner that bulges
            q2 = c.piece[j + 1]
            if q[0] * q2[1] - q[1] * q2[0] < zero:
                g = at - c.profile[j + 1]
                if g[0] * q2[0] + g[1] * q2[1] < zero:
                    away = wp.length(g)
                    return radius - away, g / away
        return real(-1.0), n

    @wp.func
    def mesh_teeth(
        world: int, which: int, tr: Track, c: Tables, s: State, w: Scratch, k: int, i: int, h: real, ahead: real
    ):
        """Bushing of link i in the nearest gap of sprocket k."""
        R = w.R[world, i]
        axle = w.axle[world, k]
        bushing = -half * tr.pitch * vec3(R[0, 0], R[1, 0], R[2, 0])
        b = s.position[world, i] + bushing - w.centre[world, k]
        along = wp.dot(b, axle)
        b = b - along * axle
        far = c.reach[k] + tr.bushing_radius
        if wp.length_sq(b) > far * far:
            return
        start = w.gap[world, k]
        across = wp.cross(start, axle)
        pitch_angle = tau / real(c.teeth[k])
        angle = wp.atan2(wp.dot(b, across), wp.dot(b, start))
        nearest = wp.floor(angle / pitch_angle + half) * pitch_angle
        cosine = wp.cos(nearest)
        sine = wp.sin(nearest)
        outward = cosine * start + sine * across
        sideways = cosine * across - sine * start
        at = vec2(wp.dot(b, sideways), wp.dot(b, outward))
        v = s.velocity[world, i]
        turn = s.spin[world, i]
        wheel_v = w.speed[world, k]
        wheel_turn = w.spin[world, k]
        first = c.first_point[k]
        last = c.first_point[k + 1] - 1
        deepest = zero
        way = vec2(zero, one)
        for j in range(first, last + 1):  # the last turn is for the sides
            n = axle
            lever = b
            arm = bushing
            depth = zero
            stiffness = tr.tooth
            damping = tr.c_tooth
            friction = tr.friction
            if j < last:
                piece, out = tooth_depth(c, j, last, at, tr.bushing_radius)
                if piece > deepest:
                    deepest = piece
                    way = out
                if c.group[j + 1] != c.group[j]:
                    n = way[0] * sideways + way[1] * outward
                    lever = b - tr.bushing_radius * n
                    arm = bushing - along * axle - tr.bushing_radius * n
                    depth = deepest
                    deepest = zero
            else:
                n = -wp.sign(along) * axle
                lever = b + along * axle
                depth = wp.abs(along) - tr.side_gap
                stiffness = tr.side
                damping = tr.c_side
                friction = zero
            if depth > zero:
                u = v + wp.cross(turn, arm) - wheel_v - wp.cross(wheel_turn, lever)
                size, elastic, along_n = laws.press(depth, -wp.dot(u, n), stiffness, damping, tr.full_depth, ahead)
                if size > zero:
                    push, across_n, sliding = rub(u, n, size, friction * elastic, tr.full_speed)
                    one_contact = Contact(i, k, arm, lever, n, push, along_n, across_n, sliding)
                    add_contact(
                        world, which, tr.first_contact, tr.contacts, h, one_contact,
                        w.found, w.status, w.contact, w.force, w.torque, w.D, w.size, w.lean, w.turn,
                    )  # fmt: skip

    return SimpleNamespace(mesh_teeth=mesh_teeth)
