"""Which faces of two solids meet, the polygon in which they do, and the points that stand for it."""

from __future__ import annotations

import warp as wp

from grouser.contact.convex.types import Contacts, Reference, Solids
from grouser.precision import mat33, real, vec3

ALIGNED = 0.7  # least cosine between coal's direction and that of a face tried instead
PREFERENCE = 1e-3  # relative: by so much a face of the part must be nearer to be preferred to one of the other
CLOSE = 1e-7  # [m] below this depths count as equal
SUPPORT = 1e-5  # [m] corners this near to the farthest one are as far


@wp.func
def farthest(s: Solids, solid: int, direction: vec3):
    """Greatest v . direction over the corners, direction in the solid's axes."""
    best = real(-1.0e30)
    for k in range(s.first_vertex[solid], s.first_vertex[solid + 1]):
        best = wp.max(best, wp.dot(s.vertex[k], direction))
    return best


@wp.func
def may_push(s: Solids, solid: int, direction: vec3, far: real):
    """Whether the solid can be touched along `direction`: its farthest corners are not hidden by a neighbour."""
    cover = wp.int64(-1)
    ridge = wp.int64(-1)
    count = int(0)
    for k in range(s.first_vertex[solid], s.first_vertex[solid + 1]):
        if wp.dot(s.vertex[k], direction) >= far - real(SUPPORT):
            cover = cover & s.cover[k]
            ridge = ridge & s.ridge[k]
            count += 1
    if count == 1 and ridge != wp.int64(0):
        return True  # a peak, or a corner on a ridge
    if count == 2:
        cover = cover & (ridge ^ wp.int64(-1))
    return cover == wp.int64(0)


@wp.func
def facing(s: Solids, solid: int, direction: vec3):
    """The face that looks most along `direction`, covered ones left out."""
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
    s: Solids, a: int, b: int, xa: vec3, Ra: mat33, xb: vec3, Rb: mat33, away: vec3, distance: real, most: real
):
    """The face that the contact of part a with solid b is measured from; `away` is coal's direction out of b.

    Where coal's direction is hidden by a neighbour, a face whose depth is more than `most` [m] is refused: the part
    would be pushed through a piece it is not in. Where two edges cross the direction is coal's, and the face that looks
    most along it stands for the reference.
    """
    back_b = wp.transpose(Rb)
    back_a = wp.transpose(Ra)
    local = back_b * away
    trusted = may_push(s, b, local, farthest(s, b, local))
    aligned = real(ALIGNED)
    if not trusted:
        aligned = real(-0.1)
    face = int(-1)
    of_part = int(0)
    crossing = int(0)
    out = away
    depth = real(1.0e30)
    # faces of the other: the one in which the part is least deep
    for f in range(s.first_face[b], s.first_face[b + 1]):
        if s.covered[f] == 0:
            m = Rb * s.normal[f]
            if wp.dot(m, away) > aligned:
                # the part's farthest corner against this face
                d = s.offset[f] + wp.dot(m, xb) - wp.dot(m, xa) + farthest(s, a, -(back_a * m))
                if d < depth:
                    depth = d
                    face = f
                    out = m
    # faces of the part, where one is clearly nearer: two that are equal must not alternate
    limit = depth - real(PREFERENCE) * wp.abs(depth) - real(CLOSE)
    for f in range(s.first_face[a], s.first_face[a + 1]):
        m = -(Ra * s.normal[f])
        if wp.dot(m, away) > aligned:
            local = back_b * m
            far = farthest(s, b, local)
            d = s.offset[f] - wp.dot(m, xa) + wp.dot(m, xb) + far
            if d < limit:
                if may_push(s, b, local, far):
                    depth = d
                    limit = d
                    face = f
                    of_part = 1
                    out = m
    # coal finds less depth than any face: two edges cross
    edges = -distance < depth - real(PREFERENCE) * wp.abs(depth) - real(CLOSE)
    if not trusted:
        if depth > most:
            face = -1
    elif face < 0 or edges:
        crossing = 1
        depth = -distance
        out = away
        face = facing(s, b, back_b * away)
        of_part = 0
        own = facing(s, a, -(back_a * away))
        along = real(0.0)
        if face >= 0:
            along = wp.dot(Rb * s.normal[face], away)
        if -wp.dot(Ra * s.normal[own], away) > along + real(PREFERENCE):
            face = own
            of_part = 1
    return Reference(face, of_part, crossing, out, depth)


@wp.func
def cut(e: Contacts, side: int, count: int, origin: vec3, inward: vec3, flag: int):
    """Clip polygon `side` by a plane into the other side; the new edge gets `flag`."""
    other = 1 - side
    kept = int(0)
    room = e.flag.shape[1]
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
                e.flag[other, kept] = e.flag[side, k]
                kept += 1
            if d2 < real(0.0) and kept < room:
                e.polygon[other, kept] = one + (d1 / (d1 - d2)) * (two - one)
                e.flag[other, kept] = flag
                kept += 1
        elif d2 >= real(0.0) and kept < room:
            e.polygon[other, kept] = one + (d1 / (d1 - d2)) * (two - one)
            e.flag[other, kept] = e.flag[side, k]
            kept += 1
    return other, kept


@wp.func
def clip(
    s: Solids, e: Contacts, face: int, solid: int, x: vec3, R: mat33, other: int, xo: vec3, Ro: mat33, out: vec3,
):  # fmt: skip
    """The incident face of `other` within the sides of the reference face of `solid`, both seen along `out`.

    `out` points away from `solid`.
    """
    incident = facing(s, other, -(wp.transpose(Ro) * out))
    side = int(0)
    count = int(0)
    for k in range(s.first_corner[incident], s.first_corner[incident + 1]):
        e.polygon[0, count] = xo + Ro * s.vertex[s.corner[k]]
        e.flag[0, count] = s.seam[k]
        count += 1
    first = s.first_corner[face]
    last = s.first_corner[face + 1]
    for k in range(first, last):
        nxt = k + 1
        if nxt == last:
            nxt = first
        one = x + R * s.vertex[s.corner[k]]
        two = x + R * s.vertex[s.corner[nxt]]
        side, count = cut(e, side, count, one, wp.cross(out, two - one), s.seam[k])
    return side, count


@wp.func
def quadrature(e: Contacts, side: int, count: int, first: int, normal: vec3, spread: real):
    """Points of a polygon with their areas [m^2]: exact for what is quadratic in place, plus a strip along edges.

    Beyond an edge the pressure reaches by `spread` r: a polygon of area A and outline P presses over
    A + r P + pi r^2 (Steiner), so that edges and corners carry too. Along seams there is none of it.
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
        third_before = wp.abs(wp.dot(wp.cross(v0 - middle, v1 - middle), normal)) / real(6.0)
        third = wp.abs(wp.dot(wp.cross(v1 - middle, v2 - middle), normal)) / real(6.0)
        back = v1 - v0
        ahead = v2 - v1
        back = back - wp.dot(back, normal) * normal
        ahead = ahead - wp.dot(ahead, normal) * normal
        length_back = wp.length(back)
        length = wp.length(ahead)
        strip = real(0.0)
        corner = real(0.0)
        if e.flag[side, k] == 0:
            strip = spread * length
            corner += strip / real(6.0)
        if e.flag[side, before] == 0:
            corner += spread * length_back / real(6.0)
            if e.flag[side, k] == 0 and length > real(0.0) and length_back > real(0.0):
                bend = wp.dot(back, ahead) / (length * length_back)
                corner += real(0.5) * wp.acos(wp.clamp(bend, real(-1.0), real(1.0))) * spread * spread
        e.at[first + n] = real(0.5) * (middle + v1)
        e.area[first + n] = third_before + third
        e.at[first + n + 1] = real(0.5) * (v1 + v2)
        e.area[first + n + 1] = third + strip * real(4.0) / real(6.0)
        e.at[first + n + 2] = v1
        e.area[first + n + 2] = corner
        n += 3
    return n
