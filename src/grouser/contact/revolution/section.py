"""Device functions on sections: lines and curves through samples, and the nearest point of a section.

Arrays are passed one by one, not as a struct: Warp passes structs by value, and copying a struct with many arrays costs
more time than the work done here.
"""

from __future__ import annotations

import math

import warp as wp

from grouser.contact.revolution import laws
from grouser.contact.revolution import types as t
from grouser.contact.revolution.types import Box, Line, Sections
from grouser.device import array2d, nonnegative
from grouser.precision import real, vec2

SHARP = math.cos(0.35)  # a sample where the normal turns by more than this angle [rad] is a corner (assumed)
MOST_BULGE = 4.0 / 27.0  # maximum of t (1 - t)^2
WITHIN = -1e30  # [m] value of `past` if no edge is near
FAR = 1e30  # [m^2] squared distance that means "no line found yet"


@wp.func
def has_changed(s: Sections, world: int, first: int, last: int):
    """Whether samples or their velocities have changed since the lines were computed, and the largest motion [m]."""
    moved = real(0.0)
    changed = int(0)
    for k in range(first, last + 1):
        moved = wp.max(moved, wp.length(s.point[world, k] - s.before[world, k]))
        if wp.length(s.speed[world, k] - s.before_speed[world, k]) > real(0.0):
            changed = 1
        s.before[world, k] = s.point[world, k]
        s.before_speed[world, k] = s.speed[world, k]
    if moved > real(0.0):
        changed = 1
    return changed, moved


@wp.func
def find_corners(s: Sections, world: int, surface: int, first: int, last: int):
    """Find the kind of each sample and the normal there: on a curve that of the parabola through three samples."""
    sign = s.sign[surface]
    ring = s.edge[surface, 0] < 0
    for k in range(first, last + 1):
        i = wp.max(k - 1, first)
        j = wp.min(k, last - 1)
        if ring and (k == first or k == last):
            i = last - 1
            j = first
        before = laws.outward(s.line[world, i].along, sign)
        after = laws.outward(s.line[world, j].along, sign)
        smooth = s.curved[i] == 1 and s.curved[j] == 1
        if k == first and not ring:
            smooth = smooth and s.edge[surface, 0] == 0
            before = wp.where(smooth, vec2(-after[0], after[1]), after)  # mirror image on the other side of the axis
        if k == last and not ring:
            smooth = smooth and s.edge[surface, 1] == 0
            after = wp.where(smooth, vec2(-before[0], before[1]), before)
        s.kind[world, k] = wp.where(smooth, int(t.SMOOTH), int(t.JOINT))
        if wp.dot(before, after) < real(SHARP):
            s.kind[world, k] = int(t.HARD)
        weight = s.line[world, j].length
        weight_after = s.line[world, i].length
        if s.curved[i] != s.curved[j]:  # a curve that continues as a straight line takes the line's normal
            weight = real(1 - s.curved[i])
            weight_after = real(1 - s.curved[j])
        s.corner[world, k] = wp.normalize(weight * before + weight_after * after)


@wp.func
def find_curve(s: Sections, world: int, surface: int, first: int, last: int, k: int):
    """Find the cubic over a line from the normals at its ends. Returns a bound of its distance from the line [m]."""
    line = s.line[world, k]
    n = line.normal
    # Normals at the two ends. A straight line has its own at both.
    a = n
    b = n
    if s.curved[k] == 1:
        from_smooth = s.kind[world, k] == t.SMOOTH
        to_smooth = s.kind[world, k + 1] == t.SMOOTH
        if from_smooth:
            a = s.corner[world, k]
        if to_smooth:
            b = s.corner[world, k + 1]
        # At a corner, an edge or a straight neighbour there is no normal of the curve. The line is then an arc, with
        # the turn of its other end. With the chord's normal the curve would flatten towards this end.
        if from_smooth and not to_smooth:
            b = laws.mirrored(a, n)
        if to_smooth and not from_smooth:
            a = laws.mirrored(b, n)
    line.start = a
    line.end = b
    line.tilt = line.length * vec2(laws.rise(a, line.along, n), laws.rise(b, line.along, n))
    line.curvature = wp.dot(b - a, line.along) / line.length
    # For points that are nearest to a sample, and for points past an end of the surface, see `depth_below`.
    line.corner = s.corner[world, k]
    line.far_corner = s.corner[world, k + 1]
    line.hard = wp.where(s.kind[world, k] == t.HARD, 1, 0)
    line.far_hard = wp.where(s.kind[world, k + 1] == t.HARD, 1, 0)
    line.edge = wp.where(k == first and s.edge[surface, 0] == 1, 1, 0)
    line.far_edge = wp.where(k + 1 == last and s.edge[surface, 1] == 1, 1, 0)
    s.line[world, k] = line
    return real(MOST_BULGE) * (wp.abs(line.tilt[0]) + wp.abs(line.tilt[1]))


@wp.func
def update_section(s: Sections, world: int, surface: int):
    """Recompute lines, curves and bounding boxes of a section if its samples have changed."""
    first = s.first[surface]
    last = s.first[surface + 1] - 1
    changed, moved = has_changed(s, world, first, last)
    if changed == 0:
        return
    # Neighbour lists are valid for a limited motion; that of the shape itself counts too.
    s.path[world, surface] = s.path[world, surface] + moved
    # Three passes: the normal at a sample needs the lines on both sides, a curve the normals at both of its ends.
    line = Line()
    for k in range(first, last):
        line.point = s.point[world, k]
        line.chord = s.point[world, k + 1] - line.point
        line.length = wp.length(line.chord)
        line.along = line.chord / line.length
        line.sign = s.sign[surface]
        line.normal = laws.outward(line.along, line.sign)
        line.speed = s.speed[world, k]
        line.more_speed = s.speed[world, k + 1] - line.speed
        line.layer = s.layer[k]
        s.line[world, k] = line
    find_corners(s, world, surface, first, last)
    height = real(0.0)
    for k in range(first, last):
        height = wp.max(height, find_curve(s, world, surface, first, last, k))
    # Searches and boxes use straight lines. `height` is how far the curves may leave them, and is added to their slack.
    s.height[world, surface] = height
    for b in range(s.first_block[surface], s.first_block[surface + 1]):
        start = first + (b - s.first_block[surface]) * t.BLOCK
        low = s.point[world, start]
        high = low
        for k in range(start + 1, wp.min(start + t.BLOCK, last) + 1):
            low = wp.min(low, s.point[world, k])
            high = wp.max(high, s.point[world, k])
        s.box[world, b] = Box(low, high)


@wp.func
def line_gap2(lines: array2d[Line], world: int, i: int, q: vec2):
    """Squared distance [m^2] of a point from a line, and the point's coordinate along the line [m]."""
    u = lines[world, i].along
    a = q - lines[world, i].point
    x = wp.dot(a, u)
    miss = x - wp.clamp(x, real(0.0), lines[world, i].length)
    y = a[0] * u[1] - a[1] * u[0]
    return miss * miss + y * y, x


@wp.func
def nearest(
    lines: array2d[Line], boxes: array2d[Box], world: int, first: int, last: int, first_block: int, q: vec2, bound: real
):
    """Line nearest to a point within `bound` [m], -1 if there is none; coordinate along it [m]; squared distance."""
    best = bound * bound
    line = int(-1)
    along = real(0.0)
    block = int(first_block)
    for start in range(first, last, t.BLOCK):
        if laws.box_gap2(q, boxes[world, nonnegative(block)]) < best:
            for k in range(start, wp.min(start + t.BLOCK, last)):
                i = nonnegative(k)
                gap2, x = line_gap2(lines, world, i, q)
                if gap2 < best:
                    best = gap2
                    along = x
                    line = i
        block += 1
    return line, along, best


@wp.func
def window(
    lines: array2d[Line], boxes: array2d[Box], world: int, first: int, last: int, first_block: int, q: vec2, bound: real
):
    """First and last line within `bound` [m] of a point."""
    low = int(last)
    high = int(-1)
    block = int(first_block)
    for start in range(first, last, t.BLOCK):
        if laws.box_gap2(q, boxes[world, nonnegative(block)]) <= bound * bound:
            for k in range(start, wp.min(start + t.BLOCK, last)):
                gap2, x = line_gap2(lines, world, nonnegative(k), q)
                if gap2 <= bound * bound:
                    low = wp.min(low, k)
                    high = k
        block += 1
    return low, high


@wp.func
def roughness(lines: array2d[Line], world: int, low: int, high: int, q: vec2, bound: real, size: real):
    """How uneven the section is near a point q: the largest curvature [1/m], and a weight for a corner, 0 to 1.

    Lines and corners from `low` to `high` count if they are within `bound` [m] of q. From `bound` inward their weight
    grows linearly from 0 to 1 over a distance of `size` [m], so that the force does not jump when one comes near. The
    curvature returned is weighted in this way too.
    """
    curvature = real(0.0)
    corner = real(0.0)
    for k in range(low, high + 1):
        i = nonnegative(k)
        gap2, x = line_gap2(lines, world, i, q)
        gap = wp.sqrt(gap2)
        curvature = wp.max(
            curvature, wp.abs(lines[world, i].curvature) * wp.clamp((bound - gap) / size, real(0.0), real(1.0))
        )
        if k > low and lines[world, i].hard == 1:
            gap = wp.length(q - lines[world, i].point)
            corner = wp.max(corner, wp.clamp((bound - gap) / size, real(0.0), real(1.0)))
    return curvature, corner


@wp.func
def nearest_of(lines: array2d[Line], world: int, low: int, high: int, q: vec2):
    """Nearest of the lines from `low` to `high` to a point, coordinate along it [m], squared distance."""
    best = real(FAR)
    line = nonnegative(low)
    along = real(0.0)
    for k in range(low, high + 1):
        i = nonnegative(k)
        gap2, x = line_gap2(lines, world, i, q)
        if gap2 < best:
            best = gap2
            along = x
            line = i
    return line, along, best


@wp.func
def depth_below(lines: array2d[Line], world: int, q: vec2, i: int, x: real):
    """Depth [m] of a point below the section at its nearest line, the normal there, and the distance past an edge [m].

    The last is WITHIN if no edge is near. Past an edge the line is extended. On a curved line, depth and normal are
    those of the smooth curve.
    """
    zero = real(0.0)
    size = lines[world, i].length
    n = lines[world, i].normal
    away = q - lines[world, i].point
    past = real(WITHIN)
    if lines[world, i].edge == 1:
        past = -x
    if lines[world, i].far_edge == 1:
        past = wp.max(past, x - size)
    depth = -wp.dot(away, n)
    m = n
    # The point projects onto the line itself, or lies past an edge.
    if (x > zero and x < size) or past > zero:
        if lines[world, i].curvature != zero:
            share = wp.clamp(x / size, zero, real(1.0))
            depth += laws.bulge(lines[world, i].tilt, share)
            m = laws.blend(lines[world, i].start, lines[world, i].end, share)
        return depth, m, past
    # The point is nearest to a sample: use the normal there, or at a corner the direction to the point.
    hard = lines[world, i].hard
    m = lines[world, i].corner
    if x > zero:
        hard = lines[world, i].far_hard
        m = lines[world, i].far_corner
        away = away - lines[world, i].chord
    depth = wp.length(away)
    if wp.dot(away, m) > zero:
        depth = -depth
    if hard == 1 and depth != zero:
        m = away / (-depth)
    return depth, m, past
