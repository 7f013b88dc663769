"""Geometry and pressure of one contact polygon, pure and scalar.

An element is a triangle of one surface, with corners (0, 0), (L, 0), (a, b) in its own plane and outward normal n.
A point of it lies the depth d below a face of the other surface, whose outward normal is m; d is linear in the
plane. The polygon is where the element lies behind that face, seen along n.

003_7975400cf393bbef.txt eq. 1-5 with the depth measured along m, on the area g dA that the face sees, g = -m.n: on
smooth bodies m = -n up to the square root of depth over radius. Measured along n, a wall of a box that is tilted a
little would press with depth / sin(tilt).
"""

from typing import Any

import warp as wp

FACING, SLANT = 0.95, 0.15  # g from which a face looks at an element, and over how much less it passes to a slant
MOST_CORNERS = 9  # of a triangle cut by three edges, the surface and the reach (8), and one to spare


@wp.func
def cut(x: Any, y: Any, count: int, a: Any, b: Any, c: Any):
    """Part of a convex polygon where a x + b y + c >= 0: corners x, y and their number (Sutherland and Hodgman)."""
    zero = type(a)(0.0)
    least = zero
    for k in range(count):
        least = wp.min(least, a * x[k] + b * y[k] + c)
    if least >= zero:
        return x, y, count
    new_x = type(x)()
    new_y = type(x)()
    kept = int(0)
    x0 = x[count - 1]
    y0 = y[count - 1]
    s0 = a * x0 + b * y0 + c
    for k in range(count):
        x1 = x[k]
        y1 = y[k]
        s1 = a * x1 + b * y1 + c
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
def moments(x: Any, y: Any, count: int):
    """Integrals over a polygon, counter-clockwise: 1, x, y, x^2, x y, y^2."""
    zero = x[0] - x[0]
    area = zero
    mx = zero
    my = zero
    mxx = zero
    mxy = zero
    myy = zero
    two = type(zero)(2.0)
    x0 = x[count - 1]
    y0 = y[count - 1]
    for k in range(count):
        x1 = x[k]
        y1 = y[k]
        z = x0 * y1 - x1 * y0
        area += z
        mx += z * (x0 + x1)
        my += z * (y0 + y1)
        mxx += z * (x0 * x0 + x0 * x1 + x1 * x1)
        mxy += z * (x0 * y1 + two * (x0 * y0 + x1 * y1) + x1 * y0)
        myy += z * (y0 * y0 + y0 * y1 + y1 * y1)
        x0 = x1
        y0 = y1
    half = type(zero)(0.5)
    sixth = half / type(zero)(3.0)  # a quotient of literals would be float32
    twelfth = half * sixth
    return half * area, sixth * mx, sixth * my, twelfth * mxx, half * twelfth * mxy, twelfth * myy


@wp.func
def deepest(x: Any, y: Any, count: int, d0: Any, dx: Any, dy: Any):
    """Greatest depth [m] of a polygon, the depth being d0 + dx x + dy y."""
    most = d0 + dx * x[0] + dy * y[0]
    for k in range(1, count):
        most = wp.max(most, d0 + dx * x[k] + dy * y[k])
    return most


@wp.func
def release_damping(elastic: Any, damping: Any, outward: Any):
    """Damping that is left where it would pull: a contact that parts is let go, never held back; 000 eq. 1.

    `elastic` is the elastic force, `outward` the speed of parting on the same area; the force is elastic -
    damping outward.
    """
    zero = type(elastic)(0.0)
    if outward <= zero or elastic >= damping * outward:
        return damping
    return wp.max(elastic, zero) / outward


@wp.func
def facing_share(g: Any, depth: Any, nearest: Any):
    """Part of a polygon's depth that counts: all of it on a face that looks at the element, g = -m.n towards 1.

    On a face seen at a slant the depth is at most the distance to the nearest surface: at the rim of a wheel the side
    wall lies deep behind the flank of a stone that has entered the tread by a little. Between the two a straight
    passage.
    """
    zero = type(g)(0.0)
    one = type(g)(1.0)
    slanted = wp.clamp((type(g)(FACING) - g) / type(g)(SLANT), zero, one)
    if depth <= zero or nearest >= depth:
        return one
    return one - slanted * (one - nearest / depth)


@wp.func
def segment_distance(x: Any, A: Any, B: Any):
    """Distance [m] of a point from the segment A B."""
    way = B - A
    zero = wp.dot(way, way) - wp.dot(way, way)
    along = wp.clamp(wp.dot(x - A, way) / wp.dot(way, way), zero, zero + type(zero)(1.0))
    return wp.length(x - A - along * way)


@wp.func
def triangle_distance(x: Any, A: Any, B: Any, C: Any, m: Any):
    """Distance [m] of a point from a triangle with normal m."""
    a = wp.dot(wp.cross(B - A, x - A), m)
    b = wp.dot(wp.cross(C - B, x - B), m)
    c = wp.dot(wp.cross(A - C, x - C), m)
    zero = a - a
    if a >= zero and b >= zero and c >= zero:
        return wp.abs(wp.dot(x - A, m))
    return wp.min(segment_distance(x, A, B), wp.min(segment_distance(x, B, C), segment_distance(x, C, A)))
