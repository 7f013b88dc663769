"""What an element meets: the part of it behind a face, the plane over its corners, and what hides a face from it."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact import clipping
from grouser.contact.polygonal import laws
from grouser.contact.polygonal import types as t

MISSED = 1e30  # [m] way to a face that a line does not meet


@cache
def meeting_stages(name: str) -> SimpleNamespace:
    ty = t.polygonal_types(name)
    p = ty.precision
    real, vec3 = p.real, p.vec3
    Shapes, Lists, Elements = ty.Shapes, ty.Lists, ty.Elements
    polygon = ty.polygon
    round_off = wp.constant(real(p.slack * p.slack))  # of a face's area: a line this far beside it meets it
    missed = wp.constant(real(MISSED))

    @wp.func
    def overlap(
        x: vec3, e1: vec3, e2: vec3, flat: vec3, A: vec3, B: vec3, C: vec3,
        d: real, dx: real, dy: real, limit: real, whole: bool,
    ):  # fmt: skip
        """Part of an element behind a face, seen along the element's normal: corners in its plane, their number.

        The depth d + dx x + dy y lies between 0 and `limit` in it. `whole`: behind the plane of the face.
        """
        px = polygon()
        py = polygon()
        px[1] = flat[0]
        px[2] = flat[1]
        py[2] = flat[2]
        count = int(3)
        if whole:
            px, py, count = clipping.cut(px, py, count, dx, dy, d)
            if count > 2:
                px, py, count = clipping.cut(px, py, count, -dx, -dy, limit - d)
            return px, py, count
        a = A - x
        b = B - x
        c = C - x
        xa = wp.dot(a, e1)
        xb = wp.dot(b, e1)
        xc = wp.dot(c, e1)
        ya = wp.dot(a, e2)
        yb = wp.dot(b, e2)
        yc = wp.dot(c, e2)
        if wp.max(ya, wp.max(yb, yc)) <= real(0.0) or wp.min(ya, wp.min(yb, yc)) >= flat[2]:
            return px, py, 0
        if wp.max(xa, wp.max(xb, xc)) <= wp.min(real(0.0), flat[1]):
            return px, py, 0
        if wp.min(xa, wp.min(xb, xc)) >= wp.max(flat[0], flat[1]):
            return px, py, 0
        # the face is clockwise in the element's plane: its inside is right of every edge
        px, py, count = clipping.cut(px, py, count, yb - ya, xa - xb, xb * ya - xa * yb)
        if count > 2:
            px, py, count = clipping.cut(px, py, count, yc - yb, xb - xc, xc * yb - xb * yc)
        if count > 2:
            px, py, count = clipping.cut(px, py, count, ya - yc, xc - xa, xa * yc - xc * ya)
        if count > 2:
            px, py, count = clipping.cut(px, py, count, dx, dy, d)
        if count > 2:
            px, py, count = clipping.cut(px, py, count, -dx, -dy, limit - d)
        return px, py, count

    @wp.func
    def leads_in(s: Shapes, face: int, x: vec3, n: vec3, way: real):
        """Whether the ray from x against n meets, within `way` [m], a face that leads into the other body."""
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
            and u < way
            and wp.dot(wp.cross(B - A, y - A), m) >= real(0.0)
            and wp.dot(wp.cross(C - B, y - B), m) >= real(0.0)
            and wp.dot(wp.cross(A - C, y - C), m) >= real(0.0)
        )

    @wp.func
    def look_round(s: Shapes, lists: Lists, world: int, first: int, last: int, x: vec3, n: vec3, depth: real, g: real):
        """Distance [m] of a polygon's middle from the nearest listed face, where its own is seen at a slant, and
        whether another part of the other body hides that face: the far side of something else says nothing."""
        nearest = depth
        for c in range(first, last):
            f = lists.other[world, c]
            if f < 0:
                f = -1 - f
                if leads_in(s, f, x, n, depth / g):
                    return nearest, True
            if g < real(laws.FACING):
                A = s.corners[f, 0]
                nearest = wp.min(nearest, laws.triangle_distance(x, A, s.corners[f, 1], s.corners[f, 2], s.normal[f]))
        return nearest, False

    @wp.func
    def way_to(s: Shapes, face: int, x: vec3, n: vec3, lift: real, reach: real):
        """Way [m] from x against n to a face that looks there, -lift to reach, or MISSED."""
        A = s.corners[face, 0]
        B = s.corners[face, 1]
        C = s.corners[face, 2]
        m = s.normal[face]
        g = -wp.dot(n, m)
        if g <= real(0.0):
            return missed
        u = wp.dot(A - x, m) / g
        y = x - u * n
        a = wp.dot(wp.cross(B - A, y - A), m)
        b = wp.dot(wp.cross(C - B, y - B), m)
        c = wp.dot(wp.cross(A - C, y - C), m)
        beside = -round_off * (a + b + c)
        if wp.min(a, wp.min(b, c)) < beside or u < -lift or u > reach:
            return missed
        return u

    @wp.func
    def corner_way(
        s: Shapes, lists: Lists, e: Elements, world: int, own: int, corner: int, first: int, last: int,
        x: vec3, n: vec3, lift: real, reach: real,
    ):  # fmt: skip
        """Way [m] from a corner to the face over it, the one it last met or another on the list, and that face."""
        face = e.over[world, own, corner] - 1
        if face >= 0:
            u = way_to(s, face, x, n, lift, reach)
            if u < missed:
                return u, face
        for c in range(first, last):
            face = lists.other[world, c]
            if face >= 0:
                u = way_to(s, face, x, n, lift, reach)
                if u < missed:
                    e.over[world, own, corner] = 1 + face
                    return u, face
        return missed, -1

    @wp.func
    def spanned(
        s: Shapes, lists: Lists, e: Elements, world: int, own: int, first: int, last: int,
        x: vec3, e1: vec3, e2: vec3, n: vec3, flat: vec3, reach: real,
    ):  # fmt: skip
        """Plane over an element's corners: a face of it, or -1 where there is none, g, and the depth below it.

        There is none where a corner meets no face, where it meets another layer, and where the plane lies at a slant.
        """
        zero = real(0.0)
        lift = laws.corner_lift(flat[0], flat[1], flat[2])
        u0, f0 = corner_way(s, lists, e, world, own, 0, first, last, x, n, lift, reach)
        if f0 < 0:
            return -1, zero, zero, zero, zero
        u1, f1 = corner_way(s, lists, e, world, own, 1, first, last, x + flat[0] * e1, n, lift, reach)
        if f1 < 0:
            return -1, zero, zero, zero, zero
        top = x + flat[1] * e1 + flat[2] * e2
        u2, f2 = corner_way(s, lists, e, world, own, 2, first, last, top, n, lift, reach)
        if f2 < 0:
            return -1, zero, zero, zero, zero
        g, d, dx, dy = laws.corner_plane(flat[0], flat[1], flat[2], u0, u1, u2)
        if g < real(laws.FACING) or s.layer[f0] != s.layer[f1] or s.layer[f0] != s.layer[f2]:
            return -1, zero, zero, zero, zero
        return f0, g, d, dx, dy

    return SimpleNamespace(overlap=overlap, look_round=look_round, spanned=spanned)
