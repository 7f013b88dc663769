"""Convex polygons in a plane: the part on one side of a line, and integrals over it. Pure and scalar."""

from typing import Any

import warp as wp

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
