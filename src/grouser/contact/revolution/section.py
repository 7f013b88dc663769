"""Device functions on sections: what follows from samples that have changed, and the point of a section nearest to
another.

Arrays are handed over one by one: Warp passes a struct of many by value, which costs more than the work done here.
"""

import math
from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact.revolution import laws
from grouser.contact.revolution import types as t
from grouser.terrain.ground import natural

SHARP = math.cos(0.35)  # cosine of the turn [rad] from which a sample is a corner, not part of a curve (assumed)
MOST_BULGE = 4.0 / 27.0  # greatest t (1 - t)^2
WITHIN = -1e30  # "past" where no edge is near
FAR = 1e30


@cache
def section_stages(name: str) -> SimpleNamespace:
    ty = t.revolution_types(name)
    p = ty.precision
    real, vec2, vec4 = p.real, p.vec2, p.vec4
    Sections, Line = ty.Sections, ty.Line
    lines_of = wp.array2d(dtype=Line)
    boxes_of = wp.array2d(dtype=vec4)

    @wp.func
    def has_changed(s: Sections, world: int, first: int, last: int):
        """Whether samples or their speeds differ from those the lines were found for, and by how much [m]."""
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
        """Normals at samples: on a curve that of the parabola through three of them."""
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
                before = wp.where(smooth, vec2(-after[0], after[1]), after)  # the other side of the axis
            if k == last and not ring:
                smooth = smooth and s.edge[surface, 1] == 0
                after = wp.where(smooth, vec2(-before[0], before[1]), before)
            s.kind[world, k] = wp.where(smooth, int(t.SMOOTH), int(t.JOINT))
            if wp.dot(before, after) < real(SHARP):
                s.kind[world, k] = int(t.HARD)
            weight = s.line[world, j].length
            weight_after = s.line[world, i].length
            if s.curved[i] != s.curved[j]:  # a curve that goes on straight
                weight = real(1 - s.curved[i])
                weight_after = real(1 - s.curved[j])
            s.corner[world, k] = wp.normalize(weight * before + weight_after * after)

    @wp.func
    def find_curve(s: Sections, world: int, surface: int, first: int, last: int, k: int):
        """The cubic over a line with the normals of its ends; returns how far it may be from the line [m]."""
        line = s.line[world, k]
        n = line.normal
        a = n
        b = n
        if s.curved[k] == 1:
            from_smooth = s.kind[world, k] == t.SMOOTH
            to_smooth = s.kind[world, k + 1] == t.SMOOTH
            if from_smooth:
                a = s.corner[world, k]
            if to_smooth:
                b = s.corner[world, k + 1]
            if from_smooth and not to_smooth:
                b = laws.mirrored(a, n)
            if to_smooth and not from_smooth:
                a = laws.mirrored(b, n)
        line.start = a
        line.end = b
        line.tilt = line.length * vec2(laws.rise(a, line.along, n), laws.rise(b, line.along, n))
        line.bend = wp.dot(b - a, line.along) / line.length
        line.corner = s.corner[world, k]
        line.far_corner = s.corner[world, k + 1]
        line.hard = wp.where(s.kind[world, k] == t.HARD, 1, 0)
        line.far_hard = wp.where(s.kind[world, k + 1] == t.HARD, 1, 0)
        line.edge = wp.where(k == first and s.edge[surface, 0] == 1, 1, 0)
        line.far_edge = wp.where(k + 1 == last and s.edge[surface, 1] == 1, 1, 0)
        s.line[world, k] = line
        return real(MOST_BULGE) * (wp.abs(line.tilt[0]) + wp.abs(line.tilt[1]))

    @wp.func
    def shape_up(s: Sections, world: int, surface: int):
        """Lines, curves over them and boxes of a section whose samples have changed."""
        first = s.first[surface]
        last = s.first[surface + 1] - 1
        changed, moved = has_changed(s, world, first, last)
        if changed == 0:
            return
        s.wander[world, surface] = s.wander[world, surface] + moved
        line = Line()
        for k in range(first, last):
            line.point = s.point[world, k]
            line.way = s.point[world, k + 1] - line.point
            line.length = wp.length(line.way)
            line.along = line.way / line.length
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
        s.height[world, surface] = height
        for b in range(s.first_block[surface], s.first_block[surface + 1]):
            start = first + (b - s.first_block[surface]) * t.BLOCK
            low = s.point[world, start]
            high = low
            for k in range(start + 1, wp.min(start + t.BLOCK, last) + 1):
                low = wp.min(low, s.point[world, k])
                high = wp.max(high, s.point[world, k])
            s.box[world, b] = vec4(low[0], low[1], high[0], high[1])

    @wp.func
    def line_gap2(lines: lines_of, world: int, i: int, q: vec2):
        """Square of the distance [m^2] of a point from a line, and how far along the line it lies [m]."""
        u = lines[world, i].along
        a = q - lines[world, i].point
        x = wp.dot(a, u)
        miss = x - wp.clamp(x, real(0.0), lines[world, i].length)
        y = a[0] * u[1] - a[1] * u[0]
        return vec2(miss * miss + y * y, x)

    @wp.func
    def nearest(
        lines: lines_of, boxes: boxes_of, world: int, first: int, last: int, first_block: int, q: vec2, bound: real
    ):
        """Line nearest to a point and within `bound` [m] of it, -1 if none is; how far along it; distance squared."""
        best = bound * bound
        line = int(-1)
        along = real(0.0)
        block = int(first_block)
        for start in range(first, last, t.BLOCK):
            if laws.box_gap2(q, boxes[world, natural(block)]) < best:
                for k in range(start, wp.min(start + t.BLOCK, last)):
                    i = natural(k)
                    found = line_gap2(lines, world, i, q)
                    if found[0] < best:
                        best = found[0]
                        along = found[1]
                        line = i
            block += 1
        return line, along, best

    @wp.func
    def window(
        lines: lines_of, boxes: boxes_of, world: int, first: int, last: int, first_block: int, q: vec2, bound: real
    ):
        """First and last line that come within `bound` [m] of a point."""
        low = int(last)
        high = int(-1)
        block = int(first_block)
        for start in range(first, last, t.BLOCK):
            if laws.box_gap2(q, boxes[world, natural(block)]) <= bound * bound:
                for k in range(start, wp.min(start + t.BLOCK, last)):
                    if line_gap2(lines, world, natural(k), q)[0] <= bound * bound:
                        low = wp.min(low, k)
                        high = k
            block += 1
        return low, high

    @wp.func
    def roughness(lines: lines_of, world: int, low: int, high: int, q: vec2, bound: real, size: real):
        """Greatest curvature [1/m] among lines from `low` to `high` that come within `bound` [m] of a point, and how
        far a corner does, from 0 to 1; lines and corners count by degrees over the last `size` [m]."""
        bend = real(0.0)
        corner = real(0.0)
        for k in range(low, high + 1):
            i = natural(k)
            gap = wp.sqrt(line_gap2(lines, world, i, q)[0])
            bend = wp.max(bend, wp.abs(lines[world, i].bend) * wp.clamp((bound - gap) / size, real(0.0), real(1.0)))
            if k > low and lines[world, i].hard == 1:
                gap = wp.length(q - lines[world, i].point)
                corner = wp.max(corner, wp.clamp((bound - gap) / size, real(0.0), real(1.0)))
        return bend, corner

    @wp.func
    def nearest_of(lines: lines_of, world: int, low: int, high: int, q: vec2):
        """Line nearest to a point of those from `low` to `high`, how far along it, distance squared."""
        best = real(FAR)
        line = natural(low)
        along = real(0.0)
        for k in range(low, high + 1):
            i = natural(k)
            found = line_gap2(lines, world, i, q)
            if found[0] < best:
                best = found[0]
                along = found[1]
                line = i
        return line, along, best

    @wp.func
    def below(lines: lines_of, world: int, q: vec2, i: int, x: real):
        """Depth [m] of a point below the section at its nearest line, the normal there, and how far past the section's
        edge the point lies (WITHIN: there is none); beyond an edge the line goes on.

        Depth and normal are those of the smooth curve that was sampled, where there is one.
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
        if (x > zero and x < size) or past > zero:
            if lines[world, i].bend != zero:
                share = wp.clamp(x / size, zero, real(1.0))
                depth += laws.bulge(lines[world, i].tilt, share)
                m = laws.blend(lines[world, i].start, lines[world, i].end, share)
            return depth, m, past
        hard = lines[world, i].hard
        m = lines[world, i].corner
        if x > zero:
            hard = lines[world, i].far_hard
            m = lines[world, i].far_corner
            away = away - lines[world, i].way
        depth = wp.length(away)
        if wp.dot(away, m) > zero:
            depth = -depth
        if hard == 1 and depth != zero:
            m = away / (-depth)
        return depth, m, past

    return SimpleNamespace(
        types=ty, lines_of=lines_of, boxes_of=boxes_of, shape_up=shape_up, nearest=nearest, window=window,
        nearest_of=nearest_of, roughness=roughness, below=below,
    )  # fmt: skip
