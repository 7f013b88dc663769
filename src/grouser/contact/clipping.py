"""Convex polygons in a plane: clip them by a line, integrate over them. Pure functions."""

from __future__ import annotations

import warp as wp

from grouser.device import struct
from grouser.precision import real

MOST_CORNERS = 9  # a triangle cut by three edges, the surface and the reach has at most 8 corners; one spare

coordinates = wp.types.vector(MOST_CORNERS, real)  # x or y of the corners of a polygon, in order


@struct
class Moments:
    """Integrals of 1, x, y, x^2, x y, y^2 over a polygon."""

    area: real  # [m^2]
    x: real  # [m^3]
    y: real
    xx: real  # [m^4]
    xy: real
    yy: real


@wp.func
def cut(x: coordinates, y: coordinates, count: int, a: real, b: real, c: real):
    """Clip a convex polygon to a x + b y + c >= 0 (Sutherland and Hodgman). Returns corners x, y and their number."""
    zero = real(0.0)
    # Most polygons lie entirely inside: return those unchanged.
    least = zero
    for k in range(count):
        least = wp.min(least, a * x[k] + b * y[k] + c)
    if least >= zero:
        return x, y, count
    new_x = coordinates()
    new_y = coordinates()
    kept = int(0)
    x0 = x[count - 1]
    y0 = y[count - 1]
    s0 = a * x0 + b * y0 + c
    for k in range(count):
        x1 = x[k]
        y1 = y[k]
        s1 = a * x1 + b * y1 + c
        # Round-off can make a thin polygon slightly non-convex, with more than two crossings: guard the array bounds.
        if (s0 < zero) != (s1 < zero) and kept < MOST_CORNERS:
            share = s0 / (s0 - s1)
            new_x[kept] = x0 + share * (x1 - x0)
            new_y[kept] = y0 + share * (y1 - y0)
            kept += 1
        if s1 >= zero and kept < MOST_CORNERS:
            new_x[kept] = x1
            new_y[kept] = y1
            kept += 1
        x0 = x1
        y0 = y1
        s0 = s1
    return new_x, new_y, kept


@wp.func
def moments(x: coordinates, y: coordinates, count: int):
    """Moments of a polygon with counter-clockwise corners, summed over triangles with the origin."""
    zero = real(0.0)
    area = zero
    mx = zero
    my = zero
    mxx = zero
    mxy = zero
    myy = zero
    two = real(2.0)
    x0 = x[count - 1]
    y0 = y[count - 1]
    for k in range(count):
        x1 = x[k]
        y1 = y[k]
        z = x0 * y1 - x1 * y0  # twice the area of a triangle
        area += z
        mx += z * (x0 + x1)
        my += z * (y0 + y1)
        mxx += z * (x0 * x0 + x0 * x1 + x1 * x1)
        mxy += z * (x0 * y1 + two * (x0 * y0 + x1 * y1) + x1 * y0)
        myy += z * (y0 * y0 + y0 * y1 + y1 * y1)
        x0 = x1
        y0 = y1
    half = real(0.5)
    sixth = half / real(3.0)  # not real(1.0 / 6.0): Warp would compute the quotient in float32
    twelfth = half * sixth
    return Moments(half * area, sixth * mx, sixth * my, twelfth * mxx, half * twelfth * mxy, twelfth * myy)
