"""Links through a substep: forces begin with gravity, velocities change, links move."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.track import types as t
from grouser.track.cyclic import cyclic_solver
from grouser.track.stages.contacts import contact_stage
from grouser.track.stages.wheels import wheel_stage


@cache
def link_stage(name: str, implicit: bool) -> SimpleNamespace:
    ty = t.track_types(name)
    p = ty.precision
    real, vec3, mat68 = p.real, p.vec3, ty.mat68
    Track, State, Scratch = ty.Track, ty.State, ty.Scratch
    wrench_of, arms_block = contact_stage(name, implicit).wrench_of, contact_stage(name, implicit).arms_block
    moved = wheel_stage(name, implicit).moved
    solve_ring = cyclic_solver(name).solve_ring

    @wp.func
    def begin_links(world: int, which: int, tr: Track, s: State, w: Scratch, sub: int):
        weight = tr.mass * tr.gravity
        for i in range(tr.first_link, tr.first_link + tr.links):
            if sub == 0:
                w.R[world, i] = wp.quat_to_matrix(s.rotation[world, i])
            w.force[world, i] = weight
            w.torque[world, i] = vec3()
            if wp.static(implicit):
                R = w.R[world, i]
                w.size[world, i] = tr.mass
                w.lean[world, i] = vec3()
                w.turn[world, i] = R * wp.diag(tr.inertia) * wp.transpose(R)
                w.D[world, i] = mat68()
        w.found[world, which, 0] = 0

    @wp.func
    def change_velocities(world: int, tr: Track, s: State, w: Scratch, h: real):
        for i in range(tr.first_link, tr.first_link + tr.links):
            f = w.force[world, i]
            m = w.torque[world, i]
            if wp.static(implicit):
                w.change[world, i] = h * wrench_of(f, m)
                a = w.lean[world, i]
                w.D[world, i] = w.D[world, i] + arms_block(w.size[world, i], a, a, w.turn[world, i])
            else:
                R = w.R[world, i]
                turn = R * wp.cw_mul(wp.transpose(R) * m, tr.per_inertia)
                w.change[world, i] = h * wrench_of(f / tr.mass, turn)
        if wp.static(implicit):
            solve_ring(world, tr.first_link, tr.links, w.D, w.U, w.Z, w.change)

    @wp.func
    def move_links(world: int, which: int, tr: Track, s: State, w: Scratch, h: real, last: int):
        """Positions with the new velocities; spins follow from the angular momentum, which turning does not change."""
        for i in range(tr.first_link, tr.first_link + tr.links):
            b = w.change[world, i]
            v = s.velocity[world, i] + vec3(b[0], b[1], b[2])
            spin = s.spin[world, i] + vec3(b[3], b[4], b[5])
            R = w.R[world, i]
            momentum = R * wp.cw_mul(tr.inertia, wp.transpose(R) * spin)
            q = moved(s.rotation[world, i], spin, h)
            R = wp.quat_to_matrix(q)
            s.velocity[world, i] = v
            s.position[world, i] = s.position[world, i] + h * v
            s.rotation[world, i] = q
            s.spin[world, i] = R * wp.cw_mul(wp.transpose(R) * momentum, tr.per_inertia)
            if last == 0:  # the contacts of the last substep are read with the matrices they were found with
                w.R[world, i] = R
            if not (wp.length_sq(v) < real(1.0e6)):
                w.status[world, which] = wp.static(t.BROKEN)

    @wp.func
    def copy_state(world: int, which: int, tr: Track, a: State, b: State):
        for i in range(tr.first_link, tr.first_link + tr.links):
            b.position[world, i] = a.position[world, i]
            b.rotation[world, i] = a.rotation[world, i]
            b.velocity[world, i] = a.velocity[world, i]
            b.spin[world, i] = a.spin[world, i]
            row = tr.first_grip + (i - tr.first_link) * tr.markers
            for m in range(row, row + tr.markers):
                b.anchor[world, m] = a.anchor[world, m]
                b.gripped[world, m] = a.gripped[world, m]
        for k in range(tr.first_wheel, tr.first_wheel + tr.wheels):
            b.turning[world, k] = a.turning[world, k]
        b.impulse[world, which] = a.impulse[world, which]
        b.placed[world, which] = a.placed[world, which]

    return SimpleNamespace(
        begin_links=begin_links, change_velocities=change_velocities, move_links=move_links, copy_state=copy_state
    )
