"""Kernel of Hill's equations: apparent forces on bodies near a circular orbit."""

from __future__ import annotations

import warp as wp

from grouser import device
from grouser.device import array, array2d
from grouser.precision import mat33, quat, real, vec3, vec6

MODULE = device.module("grouser.robots.orbit")


@wp.func
def hill(position: vec3, velocity: vec3, n: real):
    """Acceleration [m/s^2] in the orbiting frame (x radial, y along the orbit, z across it); n [rad/s]: orbital rate.

    x'' = 3 n^2 x + 2 n y', y'' = -2 n x', z'' = -n^2 z: Clohessy and Wiltshire (1960), eq. 4 without thrust.
    """
    two, three = real(2.0), real(3.0)
    return vec3(three * n * n * position[0] + two * n * velocity[1], -two * n * velocity[0], -n * n * position[2])


@wp.kernel(module=MODULE)
def push(
    n: real, axes: mat33, mass: array[real], centre: array[vec3], rows: array[int],
    position: array2d[vec3], rotation: array2d[quat], velocity: array2d[vec3], angular_velocity: array2d[vec3],
    wrench_out: array2d[vec6],
):  # fmt: skip
    """Apparent force on every body at its centre of mass, as a wrench about its frame origin."""
    world, b = wp.tid()
    k = rows[b]
    arm = wp.quat_rotate(rotation[world, k], centre[b])
    x = axes * (position[world, k] + arm)
    v = axes * (velocity[world, k] + wp.cross(angular_velocity[world, k], arm))
    force = mass[b] * (wp.transpose(axes) * hill(x, v, n))
    torque = wp.cross(arm, force)
    wrench_out[world, b] = vec6(force[0], force[1], force[2], torque[0], torque[1], torque[2])
