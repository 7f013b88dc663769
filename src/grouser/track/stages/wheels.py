"""Wheels and the bodies that carry them: where they are through the substeps, which links are near, what they get."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.track import types as t
from grouser.track.stages.contacts import contact_stage

LIST_MARGIN = 0.05  # [m] links may come nearer within a step than when the lists were made


@cache
def wheel_stage(name: str, implicit: bool) -> SimpleNamespace:
    ty = t.track_types(name)
    p = ty.precision
    real, vec3, quat, vec6 = p.real, p.vec3, p.quat, p.vec6
    Track, Tables, State, Scratch = ty.Track, ty.Tables, ty.State, ty.Scratch
    wrench_of = contact_stage(name, implicit).wrench_of
    zero, half = wp.constant(real(0.0)), wp.constant(real(0.5))
    margin = wp.constant(real(LIST_MARGIN))

    @wp.func
    def moved(q: quat, spin: vec3, h: real):
        """Orientation after h [s] with a constant spin; renormalised whole (eq. 18 to 20 correct a part of it only)."""
        return wp.normalize(q + half * h * (quat(spin[0], spin[1], spin[2], zero) * q))

    @wp.func
    def take_carriers(
        world: int, tr: Track, c: Tables, w: Scratch,
        position: wp.array2d(dtype=vec3), rotation: wp.array2d(dtype=quat),
        velocity: wp.array2d(dtype=vec3), spin: wp.array2d(dtype=vec3),
    ):  # fmt: skip
        for k in range(tr.first_carrier, tr.first_carrier + tr.carriers):
            row = c.row[k]
            w.carrier_position[world, k] = position[world, row]
            w.carrier_rotation[world, k] = rotation[world, row]
            w.carrier_velocity[world, k] = velocity[world, row]
            w.carrier_spin[world, k] = spin[world, row]
            w.carrier_wrench[world, k] = vec6()
        for k in range(tr.first_wheel, tr.first_wheel + tr.wheels):
            w.wheel_mean[world, k] = vec6()

    @wp.func
    def place_wheels(world: int, tr: Track, c: Tables, s: State, w: Scratch):
        for k in range(tr.first_wheel, tr.first_wheel + tr.wheels):
            b = tr.first_carrier + c.carrier[k]
            q = w.carrier_rotation[world, b]
            spin = w.carrier_spin[world, b]
            arm = wp.quat_rotate(q, c.place[k])
            axle = wp.quat_rotate(q, c.axis[k])
            w.centre[world, k] = w.carrier_position[world, b] + arm
            w.axle[world, k] = axle
            w.speed[world, k] = w.carrier_velocity[world, b] + wp.cross(spin, arm)
            if c.turns[k] == wp.static(t.FREE):
                spin = spin + s.turning[world, k] * axle
            else:
                w.gap[world, k] = wp.quat_rotate(q, c.start[k])
            w.spin[world, k] = spin
            w.wheel_wrench[world, k] = vec6()
            w.wheel_grip[world, k] = zero

    @wp.func
    def move_carriers(world: int, tr: Track, w: Scratch, h: real):
        for k in range(tr.first_carrier, tr.first_carrier + tr.carriers):
            w.carrier_position[world, k] = w.carrier_position[world, k] + h * w.carrier_velocity[world, k]
            w.carrier_rotation[world, k] = moved(w.carrier_rotation[world, k], w.carrier_spin[world, k], h)

    @wp.func
    def list_candidates(world: int, tr: Track, c: Tables, s: State, w: Scratch):
        """Links within reach of each wheel, for all substeps of a step."""
        for k in range(tr.first_wheel, tr.first_wheel + tr.wheels):
            count = int(0)
            at = tr.first_candidate + (k - tr.first_wheel) * tr.links
            far = c.reach[k] + tr.rail_height + tr.pitch + margin
            for i in range(tr.first_link, tr.first_link + tr.links):
                near = wp.length_sq(s.position[world, i] - w.centre[world, k]) < far * far
                if tr.lists == 0 or near:
                    w.candidate[world, at + count] = i
                    count += 1
            w.near[world, k] = count

    @wp.func
    def push_carriers(world: int, which: int, tr: Track, c: Tables, s: State, w: Scratch, h: real):
        """Wheels turn with what acts about their axles; all else goes through the bearings to the carriers."""
        total = vec6()
        for k in range(tr.first_wheel, tr.first_wheel + tr.wheels):
            f = w.wheel_wrench[world, k]
            F = vec3(f[0], f[1], f[2])
            T = vec3(f[3], f[4], f[5])
            total = total + wrench_of(F, T + wp.cross(w.centre[world, k], F))
            w.wheel_mean[world, k] = w.wheel_mean[world, k] + f / real(tr.substeps)
            if c.turns[k] == wp.static(t.FREE):
                axle = w.axle[world, k]
                about = wp.dot(T, axle)
                drag = c.drag[k]
                turning = s.turning[world, k]
                change = h * (about - drag * turning) / (c.inertia[k] + h * (w.wheel_grip[world, k] + drag))
                s.turning[world, k] = turning + change
                T = T + (drag * turning - about) * axle
            b = tr.first_carrier + c.carrier[k]
            T = T + wp.cross(w.centre[world, k] - w.carrier_position[world, b], F)
            w.carrier_wrench[world, b] = w.carrier_wrench[world, b] + wrench_of(F, T) / real(tr.substeps)
        w.wheels_side[world, which] = total

    return SimpleNamespace(
        moved=moved, take_carriers=take_carriers, place_wheels=place_wheels, move_carriers=move_carriers,
        list_candidates=list_candidates, push_carriers=push_carriers,
    )  # fmt: skip
