"""Geometry and pressure of one contact polygon: pure functions.

An element is a triangle of one surface, with corners (0, 0), (L, 0), (a, b) in its own plane and outward normal n. A
point of it lies at the depth d below a face of the other surface, whose outward normal is m; d is linear in the plane.
The contact polygon is the part of the element that lies behind that face, seen along n.

Krenn et al. 2008, eq. 1-5, but the depth is measured along m, and acts on the projected area g dA with g = -m.n. On
smooth bodies m = -n, with an error of the order of the square root of depth over radius. If the depth were measured
along n, the side wall of a slightly tilted box would press with depth / sin(tilt).
"""

from __future__ import annotations

import warp as wp

from grouser.contact.clipping import coordinates
from grouser.precision import real, vec3

FACING = 0.95  # from this g on a face counts as directly facing the element
SLANT = 0.15  # range of g below FACING over which the rule for oblique faces fades in
SLOPE = 0.34  # tangent of the angle whose cosine is FACING, rounded up


@wp.func
def deepest(x: coordinates, y: coordinates, count: int, d0: real, dx: real, dy: real):
    """Largest depth [m] of a polygon, where the depth is d0 + dx x + dy y."""
    most = d0 + dx * x[0] + dy * y[0]
    for k in range(1, count):
        most = wp.max(most, d0 + dx * x[k] + dy * y[k])
    return most


@wp.func
def facing_share(g: real, depth: real, nearest: real):
    """Share of a polygon's depth that counts: 1 on a face that directly faces the element (g near 1).

    On an oblique face the depth is limited to the distance to the nearest surface. Without this a stone that has
    entered the tread of a wheel by a little would press with its large depth behind the wheel's side wall. Between the
    two cases the share is interpolated linearly.
    """
    zero = real(0.0)
    one = real(1.0)
    slanted = wp.clamp((real(FACING) - g) / real(SLANT), zero, one)
    if depth <= zero or nearest >= depth:
        return one
    return one - slanted * (one - nearest / depth)


@wp.func
def corner_lift(L: real, a: real, b: real):
    """Largest distance [m] by which a corner of an element in contact may lie in front of the other surface.

    With linear depth the surface over an element is a plane through points over its corners, inclined by at most SLOPE.
    If it touches the element anywhere, it is at most SLOPE times the longest edge away from a corner. Faces that far in
    front of a corner must be searched too, or the plane is not found.
    """
    longest = wp.max(L * L, wp.max(a * a, (L - a) * (L - a)) + b * b)
    return real(SLOPE) * wp.sqrt(longest)


@wp.func
def corner_plane(L: real, a: real, b: real, u0: real, u1: real, u2: real):
    """Plane through the points that lie u0, u1, u2 [m] behind an element's corners along its normal n.

    Returns g = -m.n, where m = -g n - dx e1 - dy e2 is the outward normal of the plane, and the coefficients d, dx, dy
    of the depth below it, d + dx x + dy y.
    """
    one = real(1.0)
    slope_x = (u1 - u0) / L
    slope_y = (u2 - u0 - slope_x * a) / b
    g = one / wp.sqrt(one + slope_x * slope_x + slope_y * slope_y)
    return g, g * u0, g * slope_x, g * slope_y


@wp.func
def segment_distance(x: vec3, A: vec3, B: vec3):
    """Distance [m] of a point x from the segment A B."""
    edge = B - A
    along = wp.clamp(wp.dot(x - A, edge) / wp.dot(edge, edge), real(0.0), real(1.0))
    return wp.length(x - A - along * edge)


@wp.func
def triangle_distance(x: vec3, A: vec3, B: vec3, C: vec3, m: vec3):
    """Distance [m] of a point x from the triangle A B C with normal m."""
    a = wp.dot(wp.cross(B - A, x - A), m)
    b = wp.dot(wp.cross(C - B, x - B), m)
    c = wp.dot(wp.cross(A - C, x - C), m)
    zero = real(0.0)
    if a >= zero and b >= zero and c >= zero:
        return wp.abs(wp.dot(x - A, m))
    return wp.min(segment_distance(x, A, B), wp.min(segment_distance(x, B, C), segment_distance(x, C, A)))
