"""Find the pairs of solids that may touch in this step: parts with course pieces, and parts with each other."""

from __future__ import annotations

import warp as wp

from grouser.contact.convex.types import Candidates, Poses, Solids, Sticks
from grouser.device import array2d
from grouser.precision import quat, real, vec3

FAR = 1.0e30  # [m] larger than any coordinate
CLOSE = 1.0e-6  # [m] padding of bounding boxes


@wp.func
def motion_bound(s: Solids, poses: Poses, part: int):
    """Upper bound [m] of the motion of any point of a part in this step."""
    return s.step[0] * (wp.length(poses.velocity[part]) + s.radius[part] * wp.length(poses.angular_velocity[part]))


@wp.func
def pose_and_box(
    s: Solids, poses: Poses, part: int,
    position: array2d[vec3], rotation: array2d[quat], velocity: array2d[vec3], angular_velocity: array2d[vec3],
):  # fmt: skip
    """Write the pose of a part now and at the end of the step, and its bounding box over the whole step."""
    h = s.step[0]
    row = s.row[part]
    x = position[0, row]
    v = velocity[0, row]
    w = angular_velocity[0, row]
    q = rotation[0, row]
    poses.position[part] = x
    poses.rotation[part] = wp.quat_to_matrix(q)
    poses.velocity[part] = v
    poses.angular_velocity[part] = w
    # Contact with the course is implicit and needs the pose at the end of the step; contact between parts needs the
    # present one.
    x = x + h * v
    angle = h * wp.length(w)
    if angle > real(0.0):
        q = wp.quat_from_axis_angle(wp.normalize(w), angle) * q
    R = wp.quat_to_matrix(q)
    poses.ahead_position[part] = x
    poses.ahead_rotation[part] = R
    low = vec3(real(FAR), real(FAR), real(FAR))
    high = -low
    for k in range(s.first_vertex[part], s.first_vertex[part + 1]):
        at = x + R * s.vertex[k]
        low = wp.min(low, at)
        high = wp.max(high, at)
    # Grown by the motion of the step, the box also contains the present pose: a contact that opens during the step is
    # found too.
    reach = motion_bound(s, poses, part) + real(CLOSE)
    pad = vec3(reach, reach, reach)
    poses.low[part] = low - pad
    poses.high[part] = high + pad


@wp.func
def add_candidate(found: Candidates, count: int, a: int, b: int, reach: real):
    """Write a candidate if there is room. Returns the number of candidates, including those without room."""
    if count < found.reach.shape[0]:
        found.pair[count, 0] = a
        found.pair[count, 1] = b
        found.reach[count] = reach
    return count + 1


@wp.func
def are_apart(poses: Poses, a: int, b: int):
    """Whether the bounding boxes of two parts do not overlap."""
    for i in range(3):
        if poses.low[a][i] > poses.high[b][i] or poses.low[b][i] > poses.high[a][i]:
            return True
    return False


@wp.func
def find_candidates(s: Solids, poses: Poses, found: Candidates):
    """List all pairs whose bounding boxes overlap."""
    count = int(0)
    seen = int(0)
    for part in range(s.parts):
        reach = motion_bound(s, poses, part)
        if s.bvh != wp.uint64(0):
            # The boxes of the tree are float32; they were padded when it was built.
            query = wp.bvh_query_aabb(s.bvh, wp.vec3(poses.low[part]), wp.vec3(poses.high[part]))
            piece = wp.int32(0)
            while wp.bvh_query_next(query, piece):
                seen += 1
                count = add_candidate(found, count, part, s.parts + piece, reach)
    for k in range(s.between.shape[0]):
        seen += 1
        if not are_apart(poses, s.between[k, 0], s.between[k, 1]):
            count = add_candidate(found, count, s.between[k, 0], s.between[k, 1], real(0.0))
    room = found.reach.shape[0]
    found.counts[0].overflow = wp.where(count > room, 1, 0)
    found.counts[0].candidates = wp.min(count, room)
    found.counts[0].seen = seen


@wp.func
def guess_directions(found: Candidates, sticks: Sticks):
    """Give coal the contact direction of the last step as a first guess, which saves iterations."""
    for k in range(found.counts[0].candidates):
        guess = vec3(real(1.0), real(0.0), real(0.0))
        for j in range(sticks.count[0]):
            if sticks.pair[j, 0] == found.pair[k, 0] and sticks.pair[j, 1] == found.pair[k, 1]:
                guess = -sticks.normal[j]
        found.guess[k] = guess
