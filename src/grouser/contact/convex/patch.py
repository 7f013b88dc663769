"""Contact patch of two solids: clipped corners, and points with their depths.

coal finds whether two solids touch, and in which direction. Its own contact patch lies in one plane and has a single
depth, so the reference face, the clipped points and their individual depths are found here.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.convex.clipping import clip, cut, face_towards, quadrature, reference
from grouser.contact.convex.types import EDGE, FACE, VERTEX, Candidates, Contacts, Overlap, Poses, Solids, Sticks
from grouser.precision import real, vec3

EDGE_ON = 1e-6  # cosine below which a face is seen edge-on and carries nothing
SHALLOW = 1e-5  # [m] tolerance: a contact may be deeper than the part has moved by this much


@wp.func
def pose_of(s: Solids, poses: Poses, solid: int, ahead: bool):
    """Pose of a solid, for a part either at the end of the step (`ahead`) or now. The course stands still."""
    if solid >= s.parts:
        return vec3(), wp.identity(n=3, dtype=real)
    if ahead:
        return poses.ahead_position[solid], poses.ahead_rotation[solid]
    return poses.position[solid], poses.rotation[solid]


@wp.func
def overlap_of(s: Solids, poses: Poses, a: int, b: int):
    """Poses and velocities of two solids: at the end of the step against the course, now between two parts."""
    q = Overlap()
    q.a = a
    q.b = b
    q.ground = b >= s.parts
    xa, Ra = pose_of(s, poses, a, q.ground)
    xb, Rb = pose_of(s, poses, b, False)
    q.xa = xa
    q.Ra = Ra
    q.xb = xb
    q.Rb = Rb
    q.va = poses.velocity[a]
    q.wa = poses.angular_velocity[a]
    if q.ground:
        q.now = s.step[0]
    else:
        q.vb = poses.velocity[b]
        q.wb = poses.angular_velocity[b]
    return q


@wp.func
def velocity_at(q: Overlap, x: vec3):
    """Velocity of a relative to b at the point x."""
    return q.va + wp.cross(q.wa, x - q.xa) - q.vb - wp.cross(q.wb, x - q.xb)


@wp.func
def plane(s: Solids, q: Overlap, face: int, of_part: int):
    """Set the plane from which depths are measured: the reference face, of the part or of the other solid."""
    if of_part == 1:
        q.origin = q.xa + q.Ra * s.vertex[s.corner[s.first_corner[face]]]
        q.steep = -(q.Ra * s.normal[face])
        q.steep = q.steep / wp.dot(q.steep, q.n)
    else:
        q.origin = q.xb + q.Rb * s.vertex[s.corner[s.first_corner[face]]]
        q.steep = q.Rb * s.normal[face]
        q.steep = -q.steep / wp.dot(q.steep, q.n)
    return q


@wp.func
def clipped(s: Solids, e: Contacts, q: Overlap, face: int, of_part: int, incident: int, share: real):
    """Clip a face of one solid by the reference face of the other.

    Returns the polygon's buffer in `Contacts.polygon`, and its number of corners.
    """
    if of_part == 1:
        return clip(s, e, face, q.xa, q.Ra, incident, q.xb, q.Rb, -q.n, share)
    return clip(s, e, face, q.xb, q.Rb, incident, q.xa, q.Ra, q.n, share)


@wp.func
def patch(s: Solids, found: Candidates, old: Sticks, e: Contacts, q: Overlap, k: int, slot: int, alone: bool):
    """Find the reference face, the clipped corners with their depths, and the points with their areas.

    If the result has no points, there is no contact. `alone`: no other contact holds the part, see `reference`.
    """
    zero = real(0.0)
    # In one step a contact gets no deeper than the part moves. A deeper face belongs to a piece the part is not in.
    most = found.reach[k] + real(SHALLOW)
    for j in range(old.count[0]):
        if old.pair[j, 0] == q.a:
            most = wp.max(most, old.deepest[j] + found.reach[k] + real(SHALLOW))
    ref = reference(s, q.a, q.b, q.xa, q.Ra, q.xb, q.Rb, -found.normal[k], found.distance[k], most, alone)
    if ref.face < 0:
        return q
    n = ref.out
    deepest = ref.depth
    q.n = n
    q.deepest = deepest
    q = plane(s, q, ref.face, ref.of_part)
    # The other solid, and the direction in its axes towards the reference face.
    other = q.a
    towards = -(wp.transpose(q.Ra) * n)
    if ref.of_part == 1:
        other = q.b
        towards = wp.transpose(q.Rb) * n
    incident = face_towards(s, other, towards)
    side, count = clipped(s, e, q, ref.face, ref.of_part, incident, real(1.0))
    first_corner = e.first_corner[slot]
    corners = int(0)
    for i in range(count):
        x = e.polygon[side, i]
        depth = wp.dot(x - q.origin, q.steep)
        if depth > zero and first_corner + corners < e.depth.shape[0]:
            e.corner[first_corner + corners] = x
            e.depth[first_corner + corners] = depth
            corners += 1
    # [s] A contact that opens during the step still counts if the solids overlap now: bound it by the present depth
    # instead of that at the end of the step.
    held_on = zero
    if corners == 0 and deepest <= zero:
        held_on = q.now
    q.kind = FACE
    if ref.crossing == 1 or corners == 2:
        q.kind = EDGE
    elif corners == 1:
        q.kind = VERTEX
    points = int(0)
    # The bounding depth is linear in position: level + gradient . x.
    gradient = q.steep + held_on * wp.cross(n, q.wa - q.wb)
    level = held_on * wp.dot(velocity_at(q, vec3()), n) - wp.dot(q.origin, q.steep)
    size2 = wp.dot(gradient, gradient)
    for f in range(s.first_face[other], s.first_face[other + 1]):
        facing = wp.dot(s.normal[f], towards)
        if s.covered[f] == 0 and facing > real(EDGE_ON):
            side, count = clipped(s, e, q, ref.face, ref.of_part, f, facing * facing)
            if count >= 3:
                side, count = cut(e, side, count, (-level / size2) * gradient, gradient, zero)
            if count >= 3:
                more = quadrature(e, side, count, q.first + points, n, s.spread)
                if more == 0:
                    found.counts[0].overflow = 1
                    return q
                points += more
    if points == 0:  # corners or edges that barely touch leave no polygon: use coal's contact point
        x = found.point[k]
        bound = deepest + held_on * wp.dot(velocity_at(q, x), n)
        if bound <= zero or found.distance[k] > zero or q.first >= e.area.shape[0]:
            return q
        e.at[q.first] = x
        e.area[q.first] = real(0.25) * real(wp.pi) * s.spread * s.spread
        points = 1
        q.kind = EDGE
        q.origin = x - (deepest / wp.dot(q.steep, q.steep)) * q.steep
    if corners == 0 and deepest > zero and first_corner < e.depth.shape[0]:
        e.corner[first_corner] = found.point[k]
        e.depth[first_corner] = deepest
        corners = 1
    q.points = points
    q.corners = corners
    return q
