"""Blocks of the implicit equations of motion, added by springs and dampers between points of two links.

J of a point at the arm a from the centre of mass: J (v, w) = v + w x a.
"""

from __future__ import annotations

import warp as wp

from grouser.precision import mat33, real, vec3, vec6
from grouser.track.types import mat68, row8


@wp.func
def wrench(force: vec3, torque: vec3):
    """Join force [N] and torque [N m] into one vector."""
    return vec6(force[0], force[1], force[2], torque[0], torque[1], torque[2])


@wp.func
def linear(twist: vec6):
    """Linear part [m/s] of a twist."""
    return vec3(twist[0], twist[1], twist[2])


@wp.func
def angular(twist: vec6):
    """Angular part [rad/s] of a twist."""
    return vec3(twist[3], twist[4], twist[5])


@wp.func
def isotropic_block(size: real, a: vec3, b: vec3, rotation: mat33):
    """Sum of size J_a^T J_b: impedances that act equally in all directions.

    a and b are the sums of size times arm, `rotation` is the sum of size times `rotation_block`.
    """
    zero = real(0.0)
    return mat68(
        size, zero, zero, zero, b[2], -b[1], zero, zero,
        zero, size, zero, -b[2], zero, b[0], zero, zero,
        zero, zero, size, b[1], -b[0], zero, zero, zero,
        zero, -a[2], a[1], rotation[0, 0], rotation[0, 1], rotation[0, 2], zero, zero,
        a[2], zero, -a[0], rotation[1, 0], rotation[1, 1], rotation[1, 2], zero, zero,
        -a[1], a[0], zero, rotation[2, 0], rotation[2, 1], rotation[2, 2], zero, zero,
    )  # fmt: skip


@wp.func
def rotation_block(a: vec3, b: vec3):
    """The rotational part of J_a^T J_b: (a . b) I - b a^T."""
    return wp.identity(n=3, dtype=real) * wp.dot(a, b) - wp.outer(b, a)


@wp.func
def directed_block(n: vec3, a: vec3, b: vec3, size: real):
    """size (J_a^T n) (J_b^T n)^T: an impedance that acts along n only."""
    zero = real(0.0)
    f = wp.cross(a, n)
    g = wp.cross(b, n)
    left = vec6(n[0], n[1], n[2], f[0], f[1], f[2])
    return wp.outer(size * left, row8(n[0], n[1], n[2], g[0], g[1], g[2], zero, zero))
