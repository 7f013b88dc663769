"""Overlap of an element with the other surface: its part behind a face, the plane over its corners, occlusion."""

from __future__ import annotations

import warp as wp

from grouser.contact import clipping
from grouser.contact.polygonal import laws
from grouser.contact.polygonal.types import Element, Elements, Lists, Plane, Shapes
from grouser.device import array2d
from grouser.precision import area_slack, mat33, real, vec3

MISSED = wp.constant(real(1e30))  # [m] distance to a face that a line does not hit


@wp.func
def element_of(s: Shapes, face: int, position: vec3, R: mat33):
    """A face of the first shape as an element in the second's axes."""
    A = s.corners[face, 0]
    B = s.corners[face, 1] - A
    C = s.corners[face, 2] - A
    n = s.normal[face]
    L = wp.length(B)
    along = B / L
    e1 = R * along
    normal = R * n
    a = wp.dot(C, along)
    b = wp.dot(C, wp.cross(n, along))
    return Element(position + R * A, e1, wp.cross(normal, e1), normal, L, a, b)


@wp.func
def at_corners(el: Element, value: real, slope_x: real, slope_y: real):
    """Values of value + slope_x x + slope_y y at the corners of an element."""
    return vec3(value, value + slope_x * el.L, value + slope_x * el.a + slope_y * el.b)


@wp.func
def corners(el: Element):
    """Coordinates [m] of the three corners of an element in its own plane, the first at the origin."""
    x = clipping.coordinates()
    y = clipping.coordinates()
    x[1] = el.L
    x[2] = el.a
    y[2] = el.b
    return x, y


@wp.func
def behind_plane(el: Element, d: real, dx: real, dy: real, limit: real):
    """Clip an element to where its depth d + dx x + dy y is between 0 and `limit` [m].

    Returns the corners in the plane of the element and their number.
    """
    x, y = corners(el)
    count = int(3)
    x, y, count = clipping.cut(x, y, count, dx, dy, d)
    if count > 2:
        x, y, count = clipping.cut(x, y, count, -dx, -dy, limit - d)
    return x, y, count


@wp.func
def behind_face(el: Element, A: vec3, B: vec3, C: vec3, d: real, dx: real, dy: real, limit: real):
    """Clip an element as `behind_plane` does, and to the triangle A B C seen along the element's normal."""
    x, y = corners(el)
    count = int(3)
    a = A - el.corner
    b = B - el.corner
    c = C - el.corner
    xa = wp.dot(a, el.e1)
    xb = wp.dot(b, el.e1)
    xc = wp.dot(c, el.e1)
    ya = wp.dot(a, el.e2)
    yb = wp.dot(b, el.e2)
    yc = wp.dot(c, el.e2)
    # Most listed faces lie next to the element. A test of bounding boxes shows it without clipping.
    if wp.max(ya, wp.max(yb, yc)) <= real(0.0) or wp.min(ya, wp.min(yb, yc)) >= el.b:
        return x, y, 0
    if wp.max(xa, wp.max(xb, xc)) <= wp.min(real(0.0), el.a):
        return x, y, 0
    if wp.min(xa, wp.min(xb, xc)) >= wp.max(el.L, el.a):
        return x, y, 0
    # The two face each other, so the face is clockwise in the element's plane: its inside is right of every edge.
    x, y, count = clipping.cut(x, y, count, yb - ya, xa - xb, xb * ya - xa * yb)
    if count > 2:
        x, y, count = clipping.cut(x, y, count, yc - yb, xb - xc, xc * yb - xb * yc)
    if count > 2:
        x, y, count = clipping.cut(x, y, count, ya - yc, xc - xa, xa * yc - xc * ya)
    if count > 2:
        x, y, count = clipping.cut(x, y, count, dx, dy, d)
    if count > 2:
        x, y, count = clipping.cut(x, y, count, -dx, -dy, limit - d)
    return x, y, count


# ---- faces that others occlude --------------------------------------------------------------------------


@wp.func
def ray_enters(s: Shapes, face: int, x: vec3, n: vec3, distance: real):
    """Whether the ray from x along -n passes through this face, which faces away, within `distance` [m]."""
    A = s.corners[face, 0]
    B = s.corners[face, 1]
    C = s.corners[face, 2]
    m = s.normal[face]
    away = wp.dot(n, m)
    if away <= real(0.0):
        return False
    u = wp.dot(x - A, m) / away
    y = x - u * n
    return (
        u > real(0.0)
        and u < distance
        and wp.dot(wp.cross(B - A, y - A), m) >= real(0.0)
        and wp.dot(wp.cross(C - B, y - B), m) >= real(0.0)
        and wp.dot(wp.cross(A - C, y - C), m) >= real(0.0)
    )


@wp.func
def nearest_and_hidden(
    s: Shapes, other: array2d[int], world: int, first: int, last: int, x: vec3, n: vec3, depth: real, g: real
):
    """Distance [m] of a polygon's centroid x from the nearest listed face, and whether the polygon's face is hidden.

    A face is hidden if another part of the second shape lies between it and x: the ray from x to the face then first
    leaves that part. Hidden faces must not push. The distance is needed, and computed, for oblique faces only.
    """
    nearest = depth
    for c in range(first, last):
        f = other[world, c]
        if f < 0:
            f = -1 - f
            if ray_enters(s, f, x, n, depth / g):
                return nearest, True
        if g < real(laws.FACING):
            A = s.corners[f, 0]
            nearest = wp.min(nearest, laws.triangle_distance(x, A, s.corners[f, 1], s.corners[f, 2], s.normal[f]))
    return nearest, False


# ---- depth that is linear between an element's corners --------------------------------------------------


@wp.func
def distance_to(s: Shapes, face: int, x: vec3, n: vec3, lift: real, reach: real):
    """Distance [m] from x along -n to a facing face, if it is between -lift and reach; else MISSED."""
    A = s.corners[face, 0]
    B = s.corners[face, 1]
    C = s.corners[face, 2]
    m = s.normal[face]
    g = -wp.dot(n, m)
    if g <= real(0.0):
        return MISSED
    u = wp.dot(A - x, m) / g
    y = x - u * n
    a = wp.dot(wp.cross(B - A, y - A), m)
    b = wp.dot(wp.cross(C - B, y - B), m)
    c = wp.dot(wp.cross(A - C, y - C), m)
    # Some slack, so that a line through a common edge hits at least one of the two faces in spite of round-off.
    beside = -area_slack * (a + b + c)
    if wp.min(a, wp.min(b, c)) < beside or u < -lift or u > reach:
        return MISSED
    return u


@wp.func
def corner_distance(
    s: Shapes, lists: Lists, e: Elements, world: int, own: int, corner: int, first: int, last: int,
    x: vec3, n: vec3, lift: real, reach: real,
):  # fmt: skip
    """Distance [m] from a corner at x to the face over it, and that face.

    The face of the last step is tried first, because it is usually still the right one.
    """
    face = e.over[world, own, corner] - 1
    if face >= 0:
        u = distance_to(s, face, x, n, lift, reach)
        if u < MISSED:
            return u, face
    for c in range(first, last):
        face = lists.other[world, c]
        if face >= 0:
            u = distance_to(s, face, x, n, lift, reach)
            if u < MISSED:
                e.over[world, own, corner] = 1 + face
                return u, face
    return MISSED, -1


@wp.func
def corner_plane_of(
    s: Shapes, lists: Lists, e: Elements, world: int, own: int, first: int, last: int, el: Element, reach: real,
):  # fmt: skip
    """Plane through the points of the other surface over an element's corners.

    There is no plane (face = -1) if a corner finds no face, if the faces have different layers, or if the plane is
    oblique to the element. Exact polygons are clipped in these cases.
    """
    plane = Plane()
    plane.face = -1
    lift = laws.corner_lift(el.L, el.a, el.b)
    u0, f0 = corner_distance(s, lists, e, world, own, 0, first, last, el.corner, el.n, lift, reach)
    if f0 < 0:
        return plane
    u1, f1 = corner_distance(s, lists, e, world, own, 1, first, last, el.corner + el.L * el.e1, el.n, lift, reach)
    if f1 < 0:
        return plane
    top = el.corner + el.a * el.e1 + el.b * el.e2
    u2, f2 = corner_distance(s, lists, e, world, own, 2, first, last, top, el.n, lift, reach)
    if f2 < 0:
        return plane
    g, d, dx, dy = laws.corner_plane(el.L, el.a, el.b, u0, u1, u2)
    if g < real(laws.FACING) or s.layer[f0] != s.layer[f1] or s.layer[f0] != s.layer[f2]:
        return plane
    return Plane(f0, g, d, dx, dy)
