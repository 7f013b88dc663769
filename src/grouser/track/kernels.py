"""Kernels of tracks: one thread a track runs all its substeps; links, wheels and ground meet in stages.

A substep: carriers and wheels move on, joints, wheels and ground push on the links, the links get their change of
velocity (explicit, or the ring solve), wheels get the opposite of what the links got, links move.
"""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.track import types as t
from grouser.track.stages.contacts import contact_stage
from grouser.track.stages.links import link_stage
from grouser.track.stages.pins import pin_stage
from grouser.track.stages.rollers import roller_stage
from grouser.track.stages.shoes import shoe_stage
from grouser.track.stages.teeth import tooth_stage
from grouser.track.stages.wheels import wheel_stage


@cache
def track_kernels(name: str, implicit: bool) -> SimpleNamespace:
    """For a float type and a scheme; what the other scheme needs is not compiled."""
    ty = t.track_types(name)
    p = ty.precision
    module = wp.get_module(f"grouser.track.{'implicit' if implicit else 'explicit'}.{name}")
    module.options["enable_backward"] = False
    real, vec3, quat, vec6 = p.real, p.vec3, p.quat, p.vec6
    Tables, State, Scratch, Ground = ty.Tables, ty.State, ty.Scratch, ty.Ground
    wheels, links, shoes = wheel_stage(name, implicit), link_stage(name, implicit), shoe_stage(name, implicit)
    take_carriers, place_wheels, move_carriers = wheels.take_carriers, wheels.place_wheels, wheels.move_carriers
    list_candidates, push_carriers = wheels.list_candidates, wheels.push_carriers
    begin_links, change_velocities = links.begin_links, links.change_velocities
    move_links, copy_state = links.move_links, links.copy_state
    list_grounded, stand, leave_rut, Tiles = shoes.list_grounded, shoes.stand, shoes.leave_rut, shoes.Tiles
    join, read_tensions = pin_stage(name, implicit).join, pin_stage(name, implicit).read_tensions
    roll, mesh_teeth = roller_stage(name, implicit).roll, tooth_stage(name, implicit).mesh_teeth
    share_contacts = contact_stage(name, implicit).share_contacts
    zero = wp.constant(real(0.0))

    @wp.kernel(module=module)
    def run_tracks(
        c: Tables, g: Ground, tiles: Tiles, committed: State, s: State, w: Scratch,
        gate: wp.array(dtype=wp.int32), first: int,
        step: wp.array(dtype=real),
        position: wp.array2d(dtype=vec3), rotation: wp.array2d(dtype=quat),
        velocity: wp.array2d(dtype=vec3), spin: wp.array2d(dtype=vec3),
    ):  # fmt: skip
        world, k = wp.tid()
        if gate[0] == 0:  # nobody called, or somebody else does it: worker.py
            return
        which = first + k
        tr = c.track[which]
        h = step[0] / real(tr.substeps)
        ahead = zero
        if wp.static(implicit):
            ahead = h
        copy_state(world, which, tr, committed, s)
        take_carriers(world, tr, c, w, position, rotation, velocity, spin)
        place_wheels(world, tr, c, s, w)
        list_candidates(world, tr, c, s, w)
        list_grounded(world, which, tr, g, tiles, s, w)
        w.ground[world, which] = vec3()
        w.status[world, which] = wp.static(t.FINE)
        for i in range(tr.first_link, tr.first_link + tr.links):
            w.tooth_load[world, i] = zero
            w.shoe_load[world, i] = vec3()
        for sub in range(tr.substeps):
            place_wheels(world, tr, c, s, w)
            begin_links(world, which, tr, s, w, sub)
            for i in range(tr.first_link, tr.first_link + tr.links):
                join(world, tr, s, w, i, h, ahead)
            for m in range(tr.first_wheel, tr.first_wheel + tr.wheels):
                at = tr.first_candidate + (m - tr.first_wheel) * tr.links
                for q in range(at, at + w.near[world, m]):
                    if c.teeth[m] > 0:
                        mesh_teeth(world, which, tr, c, s, w, m, w.candidate[world, q], h, ahead)
                    else:
                        roll(world, which, tr, c, s, w, m, w.candidate[world, q], h, ahead)
            for q in range(tr.first_link, tr.first_link + w.low[world, which]):
                stand(world, which, tr, c, g, tiles, s, w, w.grounded[world, q], h, ahead)
            change_velocities(world, tr, s, w, h)
            last = int(0)
            if sub == tr.substeps - 1:
                last = 1
            share_contacts(world, which, tr, c, s, w, h, last)
            push_carriers(world, which, tr, c, s, w, h)
            move_links(world, which, tr, s, w, h, last)
            move_carriers(world, tr, w, h)
        read_tensions(world, tr, s, w)

    @wp.kernel(module=module)
    def push_bodies(c: Tables, w: Scratch, wrench_out: wp.array2d(dtype=vec6), status_out: wp.array2d(dtype=wp.int32)):
        """Sums over tracks that share a body."""
        world = wp.tid()
        for row in range(wrench_out.shape[1]):
            wrench_out[world, row] = vec6()
            status_out[world, row] = 0
        for which in range(c.track.shape[0]):
            tr = c.track[which]
            for k in range(tr.first_carrier, tr.first_carrier + tr.carriers):
                row = c.out[k]
                wrench_out[world, row] = wrench_out[world, row] + w.carrier_wrench[world, k]
            if w.status[world, which] != 0:
                status_out[world, c.out[tr.first_carrier + tr.frame]] = w.status[world, which]

    @wp.kernel(module=module)
    def commit_tracks(
        c: Tables, g: Ground, tiles: Tiles, committed: State, s: State, w: Scratch,
        position: wp.array2d(dtype=vec3), rotation: wp.array2d(dtype=quat),
        velocity: wp.array2d(dtype=vec3), spin: wp.array2d(dtype=vec3),
    ):  # fmt: skip
        """The trial links become the links; at the start they are put where they were assembled, moving as one."""
        world, which = wp.tid()
        tr = c.track[which]
        if committed.placed[world, which] == 1:
            copy_state(world, which, tr, s, committed)
            if g.kind == wp.static(t.SOIL):
                for i in range(tr.first_link, tr.first_link + w.low[world, which]):
                    leave_rut(world, tr, g, tiles, s, w.grounded[world, i])
            return
        row = c.row[tr.first_carrier + tr.frame]
        q = rotation[world, row]
        for i in range(tr.first_link, tr.first_link + tr.links):
            arm = wp.quat_rotate(q, c.start_position[i])
            committed.position[world, i] = position[world, row] + arm
            committed.rotation[world, i] = wp.normalize(q * c.start_rotation[i])
            committed.velocity[world, i] = velocity[world, row] + wp.cross(spin[world, row], arm)
            committed.spin[world, i] = spin[world, row]
            grip = tr.first_grip + (i - tr.first_link) * tr.markers
            for m in range(grip, grip + tr.markers):
                committed.gripped[world, m] = 0
        for k in range(tr.first_wheel, tr.first_wheel + tr.wheels):
            committed.turning[world, k] = zero
        committed.impulse[world, which] = vec3()
        committed.placed[world, which] = 1
        copy_state(world, which, tr, committed, s)

    return SimpleNamespace(
        run_tracks=run_tracks, push_bodies=push_bodies, commit_tracks=commit_tracks, types=ty, module=module
    )


@cache
def observation_kernels(name: str) -> SimpleNamespace:
    """What is recorded of tracks and not at hand as it is."""
    ty = t.track_types(name)
    p = ty.precision
    module = wp.get_module(f"grouser.track.observation.{name}")
    module.options["enable_backward"] = False
    real, vec3, quat = p.real, p.vec3, p.quat
    Tables, State, Scratch = ty.Tables, ty.State, ty.Scratch
    pose_type = wp.types.vector(7, wp.float64)
    zero, one = wp.constant(real(0.0)), wp.constant(real(1.0))

    @wp.func
    def ahead(s: State, world: int, i: int):
        return wp.quat_rotate(s.rotation[world, i], vec3(one, zero, zero))

    @wp.kernel(module=module)
    def look(
        c: Tables, s: State, w: Scratch, offset: wp.array(dtype=real), straight: real,
        position: wp.array2d(dtype=vec3), rotation: wp.array2d(dtype=quat),
        velocity: wp.array2d(dtype=vec3), spin: wp.array2d(dtype=vec3),
        pose_out: wp.array2d(dtype=pose_type), lateral_out: wp.array2d(dtype=wp.float64),
        pressure_out: wp.array2d(dtype=wp.float64), shear_out: wp.array2d(dtype=wp.float64),
        wheel_force_out: wp.array2d(dtype=wp.vec3d), wheel_load_out: wp.array2d(dtype=wp.float64),
        wheel_torque_out: wp.array2d(dtype=wp.float64), wheel_spin_out: wp.array2d(dtype=wp.float64),
        momentum_out: wp.array2d(dtype=wp.vec3d), speed_out: wp.array2d(dtype=wp.float64),
        pair_out: wp.array2d(dtype=wp.float64),
    ):  # fmt: skip
        world, which = wp.tid()
        tr = c.track[which]
        row = c.row[tr.first_carrier + tr.frame]
        aside = wp.quat_rotate(rotation[world, row], vec3(zero, one, zero))
        first = tr.first_link
        area = tr.pitch * tr.shoe_width
        moving = vec3()
        speed = zero
        count = zero
        before = ahead(s, world, first + tr.links - 1)
        here = ahead(s, world, first)
        for i in range(first, first + tr.links):
            j = i + 1
            if j == first + tr.links:
                j = first
            after = ahead(s, world, j)
            x = s.position[world, i]
            q = s.rotation[world, i]
            v = s.velocity[world, i]
            pose_out[world, i] = pose_type(
                wp.float64(x[0]), wp.float64(x[1]), wp.float64(x[2]),
                wp.float64(q[0]), wp.float64(q[1]), wp.float64(q[2]), wp.float64(q[3]),
            )  # fmt: skip
            lateral_out[world, i] = wp.float64(wp.dot(x - position[world, row], aside) - offset[which])
            load = w.shoe_load[world, i]
            pressure_out[world, i] = wp.float64(load[2] / area)
            shear_out[world, i] = wp.float64(wp.sqrt(load[0] * load[0] + load[1] * load[1]) / area)
            moving = moving + v
            if wp.dot(before, here) > straight and wp.dot(here, after) > straight:
                against = v - velocity[world, row] - wp.cross(spin[world, row], x - position[world, row])
                speed = speed + wp.dot(against, here)
                count = count + one
            before = here
            here = after
        momentum_out[world, which] = wp.vec3d(tr.mass * moving)
        speed_out[world, which] = wp.float64(speed / wp.max(count, one))
        for k in range(tr.first_wheel, tr.first_wheel + tr.wheels):
            f = w.wheel_mean[world, k]
            force = vec3(f[0], f[1], f[2])
            axle = w.axle[world, k]
            wheel_force_out[world, k] = wp.vec3d(force)
            wheel_load_out[world, k] = wp.float64(wp.length(force))
            wheel_torque_out[world, k] = wp.float64(wp.dot(vec3(f[3], f[4], f[5]), axle))
            wheel_spin_out[world, k] = wp.float64(wp.dot(w.spin[world, k], axle))
        a = w.links_side[world, which]
        b = w.wheels_side[world, which]
        size = wp.max(wp.max(wp.abs(a)), wp.max(wp.abs(b)))
        left = zero
        if size > zero:
            left = wp.max(wp.abs(a + b)) / size
        pair_out[world, which] = wp.float64(left)

    return SimpleNamespace(look=look, pose_type=pose_type)
