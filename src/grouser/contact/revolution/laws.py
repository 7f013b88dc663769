"""Geometry of sections in the (radial, axial) half plane, and of elements on surfaces of revolution: pure functions.

The distance of a point from a surface of revolution equals the distance of its image (r, z) from the section, because
the nearest point lies in the same half plane through the axis. So the gap found in the plane is normal to the surface
and needs no correction for its slope (Krenn and Hirzinger 2009 compare radii instead). The image of a ball lies in a
disk of the same radius; tests of whole patches use this.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.revolution.types import Box
from grouser.precision import real, vec2, vec3

PASSAGE = 0.25  # share of the variation of an element's depth over which it changes from border to inside


@wp.func
def box_gap2(p: vec2, box: Box):
    """Square of the distance [m^2] of a point from a box in the plane."""
    zero = real(0.0)
    x = wp.max(wp.max(box.low[0] - p[0], p[0] - box.high[0]), zero)
    y = wp.max(wp.max(box.low[1] - p[1], p[1] - box.high[1]), zero)
    return x * x + y * y


@wp.func
def boxes_gap(a: Box, b: Box):
    """Lower bound [m] of the distance between two boxes; negative if they overlap."""
    return wp.max(
        wp.max(a.low[0] - b.high[0], b.low[0] - a.high[0]), wp.max(a.low[1] - b.high[1], b.low[1] - a.high[1])
    )


@wp.func
def outward(along: vec2, sign: real):
    """Normal (r, z) of a line of the section: to the right of its direction if sign is 1, to the left if -1."""
    return vec2(sign * along[1], -sign * along[0])


@wp.func
def blend(a: vec2, b: vec2, t: real):
    """Unit vector interpolated between a (t = 0) and b (t = 1)."""
    return wp.normalize(a + t * (b - a))


@wp.func
def mirrored(n: vec2, about: vec2):
    """Normal at one end of an arc, from the normal n at the other end and the normal `about` of its chord."""
    return (wp.dot(n, about) + wp.dot(n, about)) * about - n


@wp.func
def rise(n: vec2, along: vec2, straight: vec2):
    """Slope of a curve against its chord, at a point where the curve has the normal n.

    `along` is the direction of the chord and `straight` its normal. The curve is perpendicular to n, so for each metre
    along the chord it rises above the chord by -(n . along) / (n . straight).
    """
    return -wp.dot(n, along) / wp.dot(n, straight)


@wp.func
def bulge(tilt: vec2, t: real):
    """Height [m] of the curve over its chord at the share t of its length: a cubic with end slopes tilt / length."""
    one = real(1.0)
    return t * (one - t) * (tilt[0] * (one - t) - tilt[1] * t)


@wp.func
def ring_box(at: vec3, axis: vec3, box: Box):
    """Bounding box, in the half plane of the other body, of a band of one body with r and z within `box`.

    `at` is the band's origin and `axis` its axis, in the other's axes. A point of it is at + z axis + r e, where e is
    normal to the axis. The axial part of e is at most sin(tilt), its radial part at least cos(tilt).
    """
    zero = real(0.0)
    one = real(1.0)
    tilt = wp.sqrt(wp.max(one - axis[2] * axis[2], zero))
    near = at + box.low[1] * axis
    far = at + box.high[1] * axis
    off = wp.max(wp.sqrt(near[0] * near[0] + near[1] * near[1]), wp.sqrt(far[0] * far[0] + far[1] * far[1]))
    wide = box.high[0]
    least = wp.max(box.low[0] * wp.abs(axis[2]) - off, off - tilt * (box.high[1] - box.low[1]) - wide)
    return Box(
        vec2(wp.max(least, zero), wp.min(near[2], far[2]) - wide * tilt),
        vec2(off + wide, wp.max(near[2], far[2]) + wide * tilt),
    )


@wp.func
def inner_share(depth: real, spread: real):
    """Degree to which an element lies inside: 0 if the border may cut it, 1 if it lies deep, linear in between.

    `spread` [m] is how much smaller the depth may be at the rim of the element than in its middle. The transition is
    gradual: otherwise the force would jump when an element is no longer refined.
    """
    zero = real(0.0)
    one = real(1.0)
    if spread <= zero:
        return wp.where(depth > zero, one, zero)
    return wp.clamp((depth / spread - one) / real(PASSAGE), zero, one)


@wp.func
def climb(slope: real, curvature: real, half_side: real):
    """How much deeper [m] an element gets along one of its sides than it is in the middle; never negative.

    At the distance x from the middle the depth differs by g x - k x^2 / 2, with slope g and curvature k [1/m]. This is
    the largest value for x between -l and l, where l [m] is half the side.
    """
    zero = real(0.0)
    x = half_side
    if curvature * half_side > wp.abs(slope):
        x = wp.abs(slope) / curvature
    return wp.max(wp.abs(slope) * x - real(0.5) * curvature * x * x, zero)
