"""Pins in bushings and back-bend stops: what neighbours of a chain do to each other; eq. 21 to 25."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.track import laws
from grouser.track import types as t
from grouser.track.stages.contacts import contact_stage


@cache
def pin_stage(name: str, implicit: bool) -> SimpleNamespace:
    ty = t.track_types(name)
    p = ty.precision
    real, vec3 = p.real, p.vec3
    Track, State, Scratch = ty.Track, ty.State, ty.Scratch
    blocks = contact_stage(name, implicit)
    arms_block, line_block, turned = blocks.arms_block, blocks.line_block, blocks.turned
    zero, one, half = wp.constant(real(0.0)), wp.constant(real(1.0)), wp.constant(real(0.5))

    @wp.func
    def next_link(first: int, count: int, i: int):
        j = i + 1
        if j == first + count:
            j = first
        return j

    @wp.func
    def join(world: int, tr: Track, s: State, w: Scratch, i: int, h: real, ahead: real):
        """Pin of link i in the bushing of the next; eq. 21 to 25 as corrected in laws.py."""
        j = next_link(tr.first_link, tr.links, i)
        Ri = w.R[world, i]
        Rj = w.R[world, j]
        x = vec3(Ri[0, 0], Ri[1, 0], Ri[2, 0])
        y = vec3(Ri[0, 1], Ri[1, 1], Ri[2, 1])
        z = vec3(Ri[0, 2], Ri[1, 2], Ri[2, 2])
        xj = vec3(Rj[0, 0], Rj[1, 0], Rj[2, 0])
        yj = vec3(Rj[0, 1], Rj[1, 1], Rj[2, 1])
        arm_j = -half * tr.pitch * xj
        arm_i = s.position[world, j] + arm_j - s.position[world, i]
        d = arm_i - half * tr.pitch * x
        wi = s.spin[world, i]
        wj = s.spin[world, j]
        rate = s.velocity[world, j] + wp.cross(wj, arm_j) - s.velocity[world, i] - wp.cross(wi, arm_i)
        turning = wj - wi
        F = laws.bushing_force(d, rate, y, tr.radial, tr.axial, tr.c_radial, tr.c_axial, ahead)
        roll, about_roll, k_roll = laws.tilt(z, yj, turning, tr.roll, tr.c_tilt, ahead)
        yaw, about_yaw, k_yaw = laws.tilt(x, yj, turning, tr.yaw, tr.c_tilt, ahead)
        T = roll + yaw - tr.c_pin * wp.dot(turning, y) * y
        k_pin = tr.c_pin
        if tr.by_shoes == 0:
            leaning = wp.dot(xj, z)
            if leaning < -half * tr.bend_limit:  # well before the stop
                fold = wp.atan2(leaning, wp.dot(xj, x))
                stop, k_stop = laws.back_bend(fold, -wp.dot(turning, y), tr.bend_limit, tr.bend, tr.c_bend, ahead)
                T = T - stop * y
                k_pin = k_pin + k_stop
        w.force[world, i] = w.force[world, i] - F
        w.force[world, j] = w.force[world, j] + F
        w.torque[world, i] = w.torque[world, i] - T - wp.cross(arm_i, F)
        w.torque[world, j] = w.torque[world, j] + T + wp.cross(arm_j, F)
        if wp.static(implicit):
            across = h * (tr.radial * ahead + tr.c_radial)
            along = h * (tr.axial * ahead + tr.c_axial) - across
            turn = (
                (h * k_roll) * wp.outer(about_roll, about_roll)
                + (h * k_yaw) * wp.outer(about_yaw, about_yaw)
                + (h * k_pin) * wp.outer(y, y)
            )
            w.size[world, i] = w.size[world, i] + across
            w.lean[world, i] = w.lean[world, i] + across * arm_i
            w.turn[world, i] = w.turn[world, i] + turn + across * turned(arm_i, arm_i)
            w.D[world, i] = w.D[world, i] + line_block(y, arm_i, arm_i, along)
            w.size[world, j] = w.size[world, j] + across
            w.lean[world, j] = w.lean[world, j] + across * arm_j
            w.turn[world, j] = w.turn[world, j] + turn + across * turned(arm_j, arm_j)
            w.D[world, j] = w.D[world, j] + line_block(y, arm_j, arm_j, along)
            w.U[world, i] = arms_block(
                -across, -across * arm_i, -across * arm_j, -turn - across * turned(arm_i, arm_j)
            ) + line_block(y, arm_i, arm_j, -along)
        if tr.by_shoes == 1:
            sides = int(2)
            for side in range(sides):
                edge_of_shoes(world, tr, s, w, i, j, x, real(2 * side - 1), h, ahead)

    @wp.func
    def edge_of_shoes(
        world: int, tr: Track, s: State, w: Scratch, i: int, j: int, x: vec3, side: real, h: real, ahead: real
    ):
        """Rear edge of the next shoe against the front face of this one: the back-bend stop by geometry."""
        arm_j = w.R[world, j] * vec3(-tr.edge_x, side * tr.edge_y, tr.edge_z)
        arm_i = s.position[world, j] + arm_j - s.position[world, i]
        depth = tr.edge_x - wp.dot(arm_i, x)
        rate = (
            s.velocity[world, j] + wp.cross(s.spin[world, j], arm_j)
            - s.velocity[world, i] - wp.cross(s.spin[world, i], arm_i)
        )  # fmt: skip
        size, elastic, k = laws.press(depth, -wp.dot(rate, x), tr.edge, tr.c_edge, tr.full_depth, ahead)
        if size > zero:
            F = size * x
            w.force[world, i] = w.force[world, i] - F
            w.force[world, j] = w.force[world, j] + F
            w.torque[world, i] = w.torque[world, i] - wp.cross(arm_i, F)
            w.torque[world, j] = w.torque[world, j] + wp.cross(arm_j, F)
            if wp.static(implicit):
                w.D[world, i] = w.D[world, i] + line_block(x, arm_i, arm_i, h * k)
                w.D[world, j] = w.D[world, j] + line_block(x, arm_j, arm_j, h * k)
                w.U[world, i] = w.U[world, i] + line_block(x, arm_i, arm_j, -h * k)

    @wp.func
    def read_tensions(world: int, tr: Track, s: State, w: Scratch):
        for i in range(tr.first_link, tr.first_link + tr.links):
            j = next_link(tr.first_link, tr.links, i)
            x = wp.quat_rotate(s.rotation[world, i], vec3(one, zero, zero))
            y = wp.quat_rotate(s.rotation[world, i], vec3(zero, one, zero))
            arm_j = wp.quat_rotate(s.rotation[world, j], vec3(-half * tr.pitch, zero, zero))
            arm_i = s.position[world, j] + arm_j - s.position[world, i]
            rate = (
                s.velocity[world, j] + wp.cross(s.spin[world, j], arm_j)
                - s.velocity[world, i] - wp.cross(s.spin[world, i], arm_i)
            )  # fmt: skip
            d = arm_i - half * tr.pitch * x
            F = laws.bushing_force(d, rate, y, tr.radial, tr.axial, tr.c_radial, tr.c_axial, zero)
            w.tension[world, i] = -wp.dot(F, x)

    return SimpleNamespace(join=join, read_tensions=read_tensions)
