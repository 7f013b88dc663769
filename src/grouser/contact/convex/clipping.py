"""Choose the reference face of two solids, clip the contact polygon, and place quadrature points on it."""

from __future__ import annotations

import warp as wp

from grouser.contact.convex.types import Contacts, Reference, Solids
from grouser.precision import mat33, real, vec3

ALIGNED = 0.7  # smallest cosine between coal's direction and the normal of a face that may replace it
PREFERENCE = 1e-3  # relative; a face of the part replaces one of the other only if its depth is smaller by this much
CLOSE = 1e-7  # [m] depths that differ by less count as equal
SUPPORT = 1e-5  # [m] corners this close to the farthest one count as equally far


@wp.func
def farthest(s: Solids, solid: int, direction: vec3):
    """Largest v . direction over the vertices v of a solid; direction in the solid's axes."""
    best = real(-1.0e30)
    for k in range(s.first_vertex[solid], s.first_vertex[solid + 1]):
        best = wp.max(best, wp.dot(s.vertex[k], direction))
    return best


@wp.func
def may_push(s: Solids, solid: int, direction: vec3, far: real):
    """Whether a solid can push along `direction`: its farthest corners are not hidden by a neighbouring piece.

    The pieces of a course share faces. A face that a neighbour covers must not push, or a part would bump against the
    seam inside flat ground.
    """
    cover = wp.int64(-1)
    ridge = wp.int64(-1)
    count = int(0)
    for k in range(s.first_vertex[solid], s.first_vertex[solid + 1]):
        if wp.dot(s.vertex[k], direction) >= far - real(SUPPORT):
            cover = cover & s.cover[k]
            ridge = ridge & s.ridge[k]
            count += 1
    if count == 1 and ridge != wp.int64(0):
        return True  # a peak, or a corner on a ridge, is free
    if count == 2:  # an edge: faces along a ridge do not hide it
        cover = cover & (ridge ^ wp.int64(-1))
    return cover == wp.int64(0)


@wp.func
def face_towards(s: Solids, solid: int, direction: vec3):
    """The uncovered face whose normal is closest to `direction`; -1 if all faces are covered."""
    best = int(-1)
    most = real(-2.0)
    for f in range(s.first_face[solid], s.first_face[solid + 1]):
        if s.covered[f] == 0:
            along = wp.dot(s.normal[f], direction)
            if along > most:
                most = along
                best = f
    return best


@wp.func
def reference(
    s: Solids, a: int, b: int, xa: vec3, Ra: mat33, xb: vec3, Rb: mat33, away: vec3, distance: real, most: real,
    alone: bool,
):  # fmt: skip
    """Choose the reference face of the contact of part a with solid b. `away` is coal's direction out of b.

    Normally this is the face with the smallest depth, of b or of a. If coal's direction is hidden by a neighbouring
    piece, a face with a depth above `most` [m] is rejected: the part would be pushed through a piece it is not in. If
    two edges cross, coal's direction is kept, and the face closest to it becomes the reference. `alone`: no other
    contact holds the part, so that faces count though they are hidden.
    """
    back_b = wp.transpose(Rb)
    back_a = wp.transpose(Ra)
    local = back_b * away
    trusted = alone or may_push(s, b, local, farthest(s, b, local))
    aligned = real(ALIGNED)
    if not trusted:
        aligned = real(-0.1)
    face = int(-1)
    of_part = int(0)
    crossing = int(0)
    out = away
    depth = real(1.0e30)
    # Faces of b: take the one with the smallest depth.
    for f in range(s.first_face[b], s.first_face[b + 1]):
        if s.covered[f] == 0:
            m = Rb * s.normal[f]
            if wp.dot(m, away) > aligned:
                # Depth of the part's farthest corner behind this face.
                d = s.offset[f] + wp.dot(m, xb) - wp.dot(m, xa) + farthest(s, a, -(back_a * m))
                if d < depth:
                    depth = d
                    face = f
                    out = m
    # Faces of the part, but only if clearly less deep. Otherwise two equal faces could alternate from step to step.
    limit = depth - real(PREFERENCE) * wp.abs(depth) - real(CLOSE)
    for f in range(s.first_face[a], s.first_face[a + 1]):
        m = -(Ra * s.normal[f])
        if wp.dot(m, away) > aligned:
            local = back_b * m
            far = farthest(s, b, local)
            d = s.offset[f] - wp.dot(m, xa) + wp.dot(m, xb) + far
            if d < limit:
                if alone or may_push(s, b, local, far):
                    depth = d
                    limit = d
                    face = f
                    of_part = 1
                    out = m
    # If coal finds a smaller depth than any face, two edges cross.
    edges = -distance < depth - real(PREFERENCE) * wp.abs(depth) - real(CLOSE)
    if not trusted:
        if depth > most:
            face = -1
    elif face < 0 or (edges and not alone):
        crossing = 1
        depth = -distance
        out = away
        face = face_towards(s, b, back_b * away)
        of_part = 0
        own = face_towards(s, a, -(back_a * away))
        along = real(0.0)
        if face >= 0:
            along = wp.dot(Rb * s.normal[face], away)
        if -wp.dot(Ra * s.normal[own], away) > along + real(PREFERENCE):
            face = own
            of_part = 1
    return Reference(face, of_part, crossing, out, depth)


@wp.func
def cut(e: Contacts, side: int, count: int, origin: vec3, inward: vec3, rim: real):
    """Clip the polygon in buffer `side` by a plane and write it to the other buffer. The new edge gets `rim`.

    Returns the buffer with the result and its number of corners.
    """
    # Sutherland and Hodgman: keep the corners inside, and add one wherever an edge crosses the plane. The rim of a
    # corner belongs to the edge that starts there.
    other = 1 - side
    kept = int(0)
    room = e.rim.shape[1]
    for k in range(count):
        nxt = k + 1
        if nxt == count:
            nxt = 0
        one = e.polygon[side, k]
        two = e.polygon[side, nxt]
        d1 = wp.dot(one - origin, inward)
        d2 = wp.dot(two - origin, inward)
        if d1 >= real(0.0):
            if kept < room:
                e.polygon[other, kept] = one
                e.rim[other, kept] = e.rim[side, k]
                kept += 1
            if d2 < real(0.0) and kept < room:  # leaving: the edge that starts here runs along the plane
                e.polygon[other, kept] = one + (d1 / (d1 - d2)) * (two - one)
                e.rim[other, kept] = rim
                kept += 1
        elif d2 >= real(0.0) and kept < room:  # entering: here starts the rest of edge k
            e.polygon[other, kept] = one + (d1 / (d1 - d2)) * (two - one)
            e.rim[other, kept] = e.rim[side, k]
            kept += 1
    return other, kept


@wp.func
def clip(
    s: Solids, e: Contacts, face: int, x: vec3, R: mat33, incident: int, xo: vec3, Ro: mat33, out: vec3,
    share: real,
):  # fmt: skip
    """Clip the face `incident` of a solid at xo, Ro by the edges of the reference face of one at x, R.

    Both are seen along `out`, which points away from the reference face. `share` is a factor on the rims of edges.
    """
    side = int(0)
    count = int(0)
    for k in range(s.first_corner[incident], s.first_corner[incident + 1]):
        e.polygon[0, count] = xo + Ro * s.vertex[s.corner[k]]
        e.rim[0, count] = share * s.rim[k]
        count += 1
    first = s.first_corner[face]
    last = s.first_corner[face + 1]
    for k in range(first, last):
        nxt = k + 1
        if nxt == last:
            nxt = first
        one = x + R * s.vertex[s.corner[k]]
        two = x + R * s.vertex[s.corner[nxt]]
        # In a valley two faces meet at a seam: each point below it belongs to the face it is less deep behind.
        # With planes along their own normals neither would have those between, and a corner that comes out of the gap
        # would get its stored energy back without work.
        upright = out + R * s.beyond[k]
        side, count = cut(e, side, count, one, wp.cross(upright, two - one), share * s.rim[k])
    return side, count


@wp.func
def quadrature(e: Contacts, side: int, count: int, first: int, normal: vec3, spread: real):
    """Place quadrature points on a polygon, with areas [m^2]. Exact for integrands quadratic in position.

    The pressure reaches beyond edges by `spread` r, so that edges and corners carry load too: a polygon of area A and
    perimeter P presses over A + r P + pi r^2 (Steiner's formula), each edge with the share `rim`. Returns the number of
    points, 0 if there is no room for them.
    """
    n = int(0)
    middle = vec3()
    for k in range(count):
        middle += e.polygon[side, k]
    middle = middle / real(count)
    room = e.area.shape[0]
    if first + 3 * count > room:
        return n
    for k in range(count):
        before = k - 1
        if before < 0:
            before = count - 1
        after = k + 1
        if after == count:
            after = 0
        v0 = e.polygon[side, before]
        v1 = e.polygon[side, k]
        v2 = e.polygon[side, after]
        # Divide the polygon into triangles around its middle. Each puts a third of its area on the midpoint of each
        # side.
        third_before = wp.abs(wp.dot(wp.cross(v0 - middle, v1 - middle), normal)) / real(6.0)
        third = wp.abs(wp.dot(wp.cross(v1 - middle, v2 - middle), normal)) / real(6.0)
        back = v1 - v0
        ahead = v2 - v1
        back = back - wp.dot(back, normal) * normal
        ahead = ahead - wp.dot(ahead, normal) * normal
        length_back = wp.length(back)
        length = wp.length(ahead)
        # Strips along edges: Simpson's rule, 1/6 at both ends and 4/6 in the middle. A sector closes the gap at a
        # corner.
        rim = e.rim[side, k]
        rim_back = e.rim[side, before]
        strip = spread * rim * length
        corner = (strip + spread * rim_back * length_back) / real(6.0)
        if rim * rim_back > real(0.0) and length > real(0.0) and length_back > real(0.0):
            cosine = wp.dot(back, ahead) / (length * length_back)
            angle = wp.acos(wp.clamp(cosine, real(-1.0), real(1.0)))
            corner += wp.min(rim, rim_back) * real(0.5) * angle * spread * spread
        e.at[first + n] = real(0.5) * (middle + v1)
        e.area[first + n] = third_before + third
        e.at[first + n + 1] = real(0.5) * (v1 + v2)
        e.area[first + n + 1] = third + strip * real(4.0) / real(6.0)
        e.at[first + n + 2] = v1
        e.area[first + n + 2] = corner
        n += 3
    return n
