"""Geometry of sections in the (radial, axial) half plane and of elements on surfaces of revolution; pure, scalar.

A point in space lies as far from a surface of revolution as its image (r, z) from the section: the nearest point is in
the same half plane through the axis. So the gap found in the plane is normal to the surface, and no slope has to be
taken out of it (000_03880735ba32ca08.txt compares radii). The image of a ball lies in a disk of the same radius,
which is what the tests of whole patches rest on.
"""

from typing import Any

import warp as wp

PASSAGE = 0.25  # of the spread of an element's depth: over which it passes from the border to the inside


@wp.func
def box_gap2(p: Any, box: Any):
    """Square of the distance [m^2] of a point from a box in the plane: least r, z, greatest r, z."""
    zero = p[0] - p[0]
    x = wp.max(wp.max(box[0] - p[0], p[0] - box[2]), zero)
    y = wp.max(wp.max(box[1] - p[1], p[1] - box[3]), zero)
    return x * x + y * y


@wp.func
def boxes_gap(a: Any, b: Any):
    """At least this far [m] are two boxes apart; below 0 where they overlap."""
    return wp.max(wp.max(a[0] - b[2], b[0] - a[2]), wp.max(a[1] - b[3], b[1] - a[3]))


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
def ring_box(at: Any, axis: Any, box: Any):
    """Where a band of one body, r and z within a box, can lie in the half plane of the other: a box.

    `at` is its origin and `axis` its axis in the other's axes. A point is at + z axis + r e with e normal to the axis:
    e has an axial part of at most sin(tilt) and a radial part of at least cos(tilt).
    """
    zero = box[0] - box[0]
    one = zero + type(zero)(1.0)
    tilt = wp.sqrt(wp.max(one - axis[2] * axis[2], zero))
    near = at + box[1] * axis
    far = at + box[3] * axis
    off = wp.max(wp.sqrt(near[0] * near[0] + near[1] * near[1]), wp.sqrt(far[0] * far[0] + far[1] * far[1]))
    least = wp.max(box[0] * wp.abs(axis[2]) - off, off - tilt * (box[3] - box[1]) - box[2])
    return type(box)(
        wp.max(least, zero),
        wp.min(near[2], far[2]) - box[2] * tilt,
        off + box[2],
        wp.max(near[2], far[2]) + box[2] * tilt,
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
    return wp.clamp((depth / spread - one) / type(depth)(PASSAGE), zero, one)


@wp.func
def climb(slope: Any, curvature: Any, half_side: Any):
    """Most that g x - k x^2 / 2 comes to between -l and l [m]."""
    zero = slope - slope
    x = half_side
    if curvature * half_side > wp.abs(slope):
        x = wp.abs(slope) / curvature
    return wp.max(wp.abs(slope) * x - type(slope)(0.5) * curvature * x * x, zero)
