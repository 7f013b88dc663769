"""Kernel that computes the recorded quantities of tracks that are not stored in the state."""

from __future__ import annotations

import warp as wp

from grouser import device
from grouser.device import array, array2d, struct
from grouser.pose import Pose
from grouser.precision import quat, real, vec3
from grouser.track.types import Results, State, Tables, Track, Wheels

MODULE = device.module("grouser.track.observation")


@struct
class Observed:
    """Channels of tracks, always float64. Written by `observe`."""

    pose: array2d[Pose]  # (world, link)
    lateral: array2d[wp.float64]  # [m], (world, link) offset from the plane of the wheels, to the left
    shoe_pressure: array2d[wp.float64]  # [Pa], (world, link)
    shoe_shear: array2d[wp.float64]  # [Pa], (world, link)
    shoe_force: array2d[wp.vec3d]  # [N], (world, link) of the ground, mean over the step
    shoe_point: array2d[wp.vec3d]  # [m], (world, link) centre of pressure; the link's middle if it does not touch
    wheel_force: array2d[wp.vec3d]  # [N], (world, wheel)
    wheel_load: array2d[wp.float64]  # [N], (world, wheel)
    wheel_torque: array2d[wp.float64]  # [N m], (world, wheel) about the axle
    wheel_spin: array2d[wp.float64]  # [rad/s], (world, wheel) about the axle
    momentum: array2d[wp.vec3d]  # [N s], (world, track) of the links
    chain_speed: array2d[wp.float64]  # [m/s], (world, track) along the chain against the frame
    pair_wrench_sum: array2d[
        wp.float64
    ]  # [1], (world, track) wrenches of links and wheels on each other, over the larger


@wp.func
def forward(s: State, world: int, i: int):
    """The x axis of a link."""
    return wp.quat_rotate(s.rotation[world, i], vec3(real(1.0), real(0.0), real(0.0)))


@wp.func
def observe_wheels(world: int, tr: Track, wheels: Wheels, out: Observed):
    for k in range(tr.first_wheel, tr.first_wheel + tr.wheels):
        f = wheels.mean_wrench[world, k]
        force = vec3(f[0], f[1], f[2])
        axle = wheels.axle[world, k]
        out.wheel_force[world, k] = wp.vec3d(force)
        out.wheel_load[world, k] = wp.float64(wp.length(force))
        out.wheel_torque[world, k] = wp.float64(wp.dot(vec3(f[3], f[4], f[5]), axle))
        out.wheel_spin[world, k] = wp.float64(wp.dot(wheels.angular_velocity[world, k], axle))


@wp.kernel(module=MODULE)
def observe(
    c: Tables, s: State, wheels: Wheels, results: Results, offset: array[real], straight: real,
    position: array2d[vec3], rotation: array2d[quat], velocity: array2d[vec3], angular_velocity: array2d[vec3],
    out: Observed,
):  # fmt: skip
    """Fill `out`. One thread per track. `offset` [m]: lateral position on the frame; `straight`: cosine of STRAIGHT."""
    world, which = wp.tid()
    zero, one = real(0.0), real(1.0)
    tr = c.track[which]
    row = c.row[tr.first_carrier + tr.frame]
    aside = wp.quat_rotate(rotation[world, row], vec3(zero, one, zero))
    first = tr.first_link
    area = tr.pitch * tr.shoe_width
    velocity_sum = vec3()
    speed = real(0.0)
    count = real(0.0)
    # Directions of three neighbours, carried along: a link is on a straight run if neither of its joints is bent.
    before = forward(s, world, first + tr.links - 1)
    here = forward(s, world, first)
    for i in range(first, first + tr.links):
        j = i + 1
        if j == first + tr.links:
            j = first
        after = forward(s, world, j)
        x = s.position[world, i]
        q = s.rotation[world, i]
        v = s.velocity[world, i]
        out.pose[world, i] = Pose(
            wp.vec3d(x), wp.quatd(wp.float64(q[0]), wp.float64(q[1]), wp.float64(q[2]), wp.float64(q[3]))
        )
        out.lateral[world, i] = wp.float64(wp.dot(x - position[world, row], aside) - offset[which])
        # Nominal values: the ground's force over the whole shoe, however much of it touches.
        load = results.shoe_load[world, i]
        out.shoe_pressure[world, i] = wp.float64(load[2] / area)
        out.shoe_shear[world, i] = wp.float64(wp.sqrt(load[0] * load[0] + load[1] * load[1]) / area)
        out.shoe_force[world, i] = wp.vec3d(results.shoe_force[world, i])
        pressing = results.shoe_normal[world, i]
        point = x
        if pressing > zero:
            point = x + results.shoe_lever[world, i] / pressing
        out.shoe_point[world, i] = wp.vec3d(point)
        velocity_sum = velocity_sum + v
        # Only links on straight runs give the speed of the chain: around a wheel the middle of a link is slower.
        if wp.dot(before, here) > straight and wp.dot(here, after) > straight:
            against = v - velocity[world, row] - wp.cross(angular_velocity[world, row], x - position[world, row])
            speed = speed + wp.dot(against, here)
            count = count + one
        before = here
        here = after
    out.momentum[world, which] = wp.vec3d(tr.mass * velocity_sum)
    # If no link is on a straight run, the speed is recorded as 0.
    out.chain_speed[world, which] = wp.float64(speed / wp.max(count, one))
    observe_wheels(world, tr, wheels, out)
    # Links and wheels must push on each other with opposite wrenches. The rest, over the larger one, shows the error.
    a = results.links_wrench[world, which]
    b = results.wheels_wrench[world, which]
    size = wp.max(wp.max(wp.abs(a)), wp.max(wp.abs(b)))
    left = real(0.0)
    if size > zero:
        left = wp.max(wp.abs(a + b)) / size
    out.pair_wrench_sum[world, which] = wp.float64(left)
