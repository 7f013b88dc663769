"""Device functions on sections: what follows from samples that have changed, and the point of a section nearest to
another."""

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


@cache
def section_stages(name: str) -> SimpleNamespace:
    ty = t.revolution_types(name)
    p = ty.precision
    real, vec2 = p.real, p.vec2
    Sections = ty.Sections

    @wp.func
    def shape_up(s: Sections, world: int, surface: int):
        """Directions, normals at corners, curvature and boxes of a section whose samples have changed."""
        if s.changed[world, surface] == 0:
            return
        first = s.first[surface]
        last = s.first[surface + 1] - 1
        sign = s.sign[surface]
        for k in range(first, last):
            way = s.point[world, k + 1] - s.point[world, k]
            size = wp.length(way)
            s.length[world, k] = size
            s.along[world, k] = way / size
        ring = s.edge[surface, 0] < 0
        for k in range(first, last + 1):
            i = wp.max(k - 1, first)
            j = wp.min(k, last - 1)
            if ring and (k == first or k == last):
                i = last - 1
                j = first
            before = laws.outward(s.along[world, i], sign)
            after = laws.outward(s.along[world, j], sign)
            smooth = s.curved[i] == 1 and s.curved[j] == 1
            if k == first and not ring:
                smooth = smooth and s.edge[surface, 0] == 0
                before = wp.where(smooth, vec2(-after[0], after[1]), after)  # the other side of the axis
            if k == last and not ring:
                smooth = smooth and s.edge[surface, 1] == 0
                after = wp.where(smooth, vec2(-before[0], before[1]), before)
            kind = wp.where(smooth, int(t.SMOOTH), int(t.JOINT))
            if wp.dot(before, after) < real(SHARP):
                kind = int(t.HARD)
            weight = s.length[world, j]  # slope of the parabola through three samples
            weight_after = s.length[world, i]
            if s.curved[i] != s.curved[j]:  # a curve that goes on straight
                weight = real(1 - s.curved[i])
                weight_after = real(1 - s.curved[j])
            s.corner[world, k] = wp.normalize(weight * before + weight_after * after)
            s.sharp[world, k] = kind
        height = real(0.0)
        for k in range(first, last):
            u = s.along[world, k]
            n = laws.outward(u, sign)
            a = n
            b = n
            if s.curved[k] == 1:
                from_smooth = s.sharp[world, k] == t.SMOOTH
                to_smooth = s.sharp[world, k + 1] == t.SMOOTH
                if from_smooth:
                    a = s.corner[world, k]
                if to_smooth:
                    b = s.corner[world, k + 1]
                if from_smooth and not to_smooth:
                    b = laws.mirrored(a, n)
                if to_smooth and not from_smooth:
                    a = laws.mirrored(b, n)
            size = s.length[world, k]
            s.start[world, k] = a
            s.end[world, k] = b
            s.tilt[world, k] = size * vec2(laws.rise(a, u, n), laws.rise(b, u, n))
            s.bend[world, k] = wp.length(b - a) / size
            height = wp.max(height, wp.abs(s.tilt[world, k][0]) + wp.abs(s.tilt[world, k][1]))
        s.height[world, surface] = real(MOST_BULGE) * height
        for b in range(s.first_block[surface], s.first_block[surface + 1]):
            start = first + (b - s.first_block[surface]) * t.BLOCK
            low = s.point[world, start]
            high = low
            for k in range(start + 1, wp.min(start + t.BLOCK, last) + 1):
                low = wp.min(low, s.point[world, k])
                high = wp.max(high, s.point[world, k])
            s.low[world, b] = low
            s.high[world, b] = high
        s.changed[world, surface] = 0

    @wp.func
    def line_gap2(s: Sections, world: int, line: int, q: vec2):
        """Square of the distance [m^2] of a point from a line, and how far along the line it lies [m]."""
        u = s.along[world, line]
        a = q - s.point[world, line]
        x = wp.dot(a, u)
        miss = x - wp.clamp(x, real(0.0), s.length[world, line])
        y = a[0] * u[1] - a[1] * u[0]
        return vec2(miss * miss + y * y, x)

    @wp.func
    def nearest(s: Sections, world: int, surface: int, q: vec2, bound: real):
        """Line nearest to a point and within `bound` [m] of it, -1 if none is; how far along it; distance squared."""
        best = bound * bound
        line = int(-1)
        along = real(0.0)
        first = s.first[surface]
        last = s.first[surface + 1] - 1
        block = s.first_block[surface]
        for start in range(first, last, t.BLOCK):
            b = natural(block)
            block += 1
            if laws.box_gap2(q, s.low[world, b], s.high[world, b]) < best:
                for k in range(start, wp.min(start + t.BLOCK, last)):
                    i = natural(k)
                    found = line_gap2(s, world, i, q)
                    if found[0] < best:
                        best = found[0]
                        along = found[1]
                        line = i
        return line, along, best

    @wp.func
    def window(s: Sections, world: int, surface: int, q: vec2, bound: real):
        """First and last line that come within `bound` [m] of a point."""
        low = int(s.first[surface + 1])
        high = int(-1)
        first = s.first[surface]
        last = s.first[surface + 1] - 1
        block = s.first_block[surface]
        for start in range(first, last, t.BLOCK):
            b = natural(block)
            block += 1
            if laws.box_gap2(q, s.low[world, b], s.high[world, b]) <= bound * bound:
                for k in range(start, wp.min(start + t.BLOCK, last)):
                    if line_gap2(s, world, natural(k), q)[0] <= bound * bound:
                        low = wp.min(low, k)
                        high = k
        return low, high

    @wp.func
    def nearest_of(s: Sections, world: int, low: int, high: int, q: vec2):
        """Line nearest to a point of those from `low` to `high`, how far along it."""
        best = real(1e30)
        line = int(-1)
        along = real(0.0)
        for k in range(low, high + 1):
            i = natural(k)
            found = line_gap2(s, world, i, q)
            if found[0] < best:
                best = found[0]
                along = found[1]
                line = i
        return line, along

    @wp.func
    def below(s: Sections, world: int, surface: int, q: vec2, line: int, x: real):
        """Depth [m] of a point below the section at its nearest line, the normal there, the share t of the line, and
        how far past the section's edge the point lies (WITHIN: there is none); beyond an edge the line goes on.

        Depth and normal are those of the smooth curve that was sampled, where there is one.
        """
        i = natural(line)
        size = s.length[world, i]
        n = laws.outward(s.along[world, i], s.sign[surface])
        zero = real(0.0)
        one = real(1.0)
        past = real(WITHIN)
        if line == s.first[surface] and s.edge[surface, 0] == 1:
            past = -x
        if line == s.first[surface + 1] - 2 and s.edge[surface, 1] == 1:
            past = wp.max(past, x - size)
        share = wp.clamp(x / size, zero, one)
        depth = -wp.dot(q - s.point[world, i], n) + laws.bulge(s.tilt[world, i], share)
        m = laws.blend(s.start[world, i], s.end[world, i], share)
        if (x <= zero or x >= size) and past <= zero:
            k = natural(line + wp.where(x > zero, 1, 0))
            away = q - s.point[world, k]
            m = s.corner[world, k]
            depth = wp.length(away)
            if wp.dot(away, m) > zero:
                depth = -depth
            if s.sharp[world, k] == t.HARD and depth != zero:
                m = away / (-depth)
        return depth, m, share, past

    return SimpleNamespace(
        types=ty, shape_up=shape_up, nearest=nearest, window=window, nearest_of=nearest_of, below=below
    )
