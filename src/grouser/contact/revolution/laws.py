"""Geometry of sections in the (radial, axial) half plane and of elements on surfaces of revolution; pure, scalar.

A point in space lies as far from a surface of revolution as its image (r, z) from the section: the nearest point is in
the same half plane through the axis. So the gap found in the plane is normal to the surface, and no slope has to be
taken out of it (000_03880735ba32ca08.txt compares radii). The image of a ball lies in a disk of the same radius,
which is what the tests of whole patches rest on.
"""

from typing import Any

import warp as wp

GAUSS = 0.28867513459481287  # 1 / (2 sqrt 3): points of Gauss's rule, of an element's side from its middle


@wp.func
def box_gap2(p: Any, low: Any, high: Any):
    """Square of the distance [m^2] of a point from a box in the plane."""
    zero = p[0] - p[0]
    x = wp.max(wp.max(low[0] - p[0], p[0] - high[0]), zero)
    y = wp.max(wp.max(low[1] - p[1], p[1] - high[1]), zero)
    return x * x + y * y


@wp.func
def outward(along: Any, sign: Any):
    """Normal (r, z) of a line of the section: right of its way where sign is 1, left where it is -1."""
    return type(along)(sign * along[1], -sign * along[0])


@wp.func
def blend(a: Any, b: Any, t: Any):
    """Direction between two, of length 1."""
    return wp.normalize(a + t * (b - a))


@wp.func
def mirrored(n: Any, about: Any):
    """Normal at one end of an arc from that at the other end and that of its chord."""
    return (wp.dot(n, about) + wp.dot(n, about)) * about - n


@wp.func
def rise(n: Any, along: Any, straight: Any):
    """Slope of a curve against its chord where its normal is n; the chord has the normal `straight`."""
    return -wp.dot(n, along) / wp.dot(n, straight)


@wp.func
def bulge(tilt: Any, t: Any):
    """Height [m] of the curve over its chord at the share t: cubic with the slopes tilt / length at both ends."""
    one = t - t + type(t)(1.0)
    return t * (one - t) * (tilt[0] * (one - t) - tilt[1] * t)


@wp.func
def ring_bounds(at: Any, axis: Any, low: Any, high: Any):
    """Where a band of one body, r and z from `low` to `high`, can lie in the half plane of the other: a box.

    `at` is its origin and `axis` its axis in the other's axes. A point is at + z axis + r e with e normal to the axis:
    e has an axial part of at most sin(tilt) and a radial part of at least cos(tilt).
    """
    zero = low[0] - low[0]
    one = zero + type(zero)(1.0)
    tilt = wp.sqrt(wp.max(one - axis[2] * axis[2], zero))
    near = at + low[1] * axis
    far = at + high[1] * axis
    off_near = wp.sqrt(near[0] * near[0] + near[1] * near[1])
    off_far = wp.sqrt(far[0] * far[0] + far[1] * far[1])
    off = wp.max(off_near, off_far)
    least = wp.max(low[0] * wp.abs(axis[2]) - off, off - tilt * (high[1] - low[1]) - high[0])
    return (
        type(low)(wp.max(least, zero), wp.min(near[2], far[2]) - high[0] * tilt),
        type(low)(off + high[0], wp.max(near[2], far[2]) + high[0] * tilt),
    )


@wp.func
def inner_share(depth: Any, spread: Any):
    """How far an element counts as inside: 0 where its border may cut it, 1 where it lies deep, straight between.

    `spread` [m] is how much less the depth may be at its rim than in its middle. Passing over by degrees keeps the
    force free of jumps when an element is no longer refined.
    """
    zero = depth - depth
    one = zero + type(depth)(1.0)
    if spread <= zero:
        return wp.where(depth > zero, one, zero)
    return wp.clamp(depth / spread - one, zero, one)
