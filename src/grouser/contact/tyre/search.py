"""Where a wheel touches the ground: the largest suspension travel over the rim, and walls it cannot be lifted over."""

import math
from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.precision import precision
from grouser.terrain.ground import ground_types

STEEPEST = 1.2217304763960306  # [rad] 70 deg: contact farther from the suspension's axis is with a wall (assumed)
FLATTEST = 0.7853981633974483  # [rad] 45 deg: nearer to it never, however far the suspension must go (assumed)
STEEPEST_SIDE = 2.0  # slope across a wheel above which a tyre's shoulder would meet it (assumed)
CLOSER_STEPS, WALL_STEPS = 8, 24  # Newton steps on eq. 8 at most; bisections at a wall
LEAPS, HALVINGS = 5, 40  # towards a crest at most; bisections where they do not lead there
CLOSE = {"float64": 1e-9, "float32": 1e-6}  # of the radius: two travels this near are one; [rad] two angles
NOWHERE = -1.0e9  # [m]
PI = math.pi


@cache
def search_functions(name: str, deep: bool) -> SimpleNamespace:
    """Struct and device functions for one float type; `deep`: on ground that bodies change."""
    p = precision(name)
    real, vec2, vec3, vec4 = p.real, p.vec2, p.vec3, p.vec4
    floor = ground_types(name)
    Arrays, surface_at = floor.Arrays, floor.surface_at
    close, flattest, steepest = CLOSE[name], math.sin(FLATTEST), math.sin(STEEPEST)

    @wp.struct
    class Terrain:
        """Heights on a grid."""

        heights: wp.array2d(dtype=real)  # [m], (row, column)
        swell: wp.array2d(dtype=real)  # [m], (row, column) that ground around rises at most over the tangent
        rows: wp.int32
        columns: wp.int32
        spacing: real
        per_spacing: real
        x0: real
        y0: real
        reach: real  # [m] that the suspension's travel may take a wheel aside where `swell` is to hold
        turns: wp.array(dtype=vec2)  # (slices + 1,) sine and cosine of their angles
        half: vec2  # sine and cosine of half a slice
        slices: wp.int32
        refine: wp.int32

    @wp.func
    def changing(t: Terrain, ground: Arrays, world: int, row: int, column: int):
        return surface_at(ground, world, row, column)

    @wp.func
    def lasting(t: Terrain, ground: Arrays, world: int, row: int, column: int):
        return t.heights[row & 0x7FFFFFFF, column & 0x7FFFFFFF]

    node = changing if deep else lasting

    @wp.func
    def sample(t: Terrain, ground: Arrays, world: int, x: real, y: real):
        """Bilinear height, gradient and twist (001 eq. 3-5); outside those of the nearest point of the border.

        The twist is by how much the gradient changes over the cell: nothing where it is a plane.
        """
        fx = wp.clamp((x - t.x0) * t.per_spacing, real(0.0), real(t.columns - 1))
        fy = wp.clamp((y - t.y0) * t.per_spacing, real(0.0), real(t.rows - 1))
        j = wp.min(int(fx), t.columns - 2)
        i = wp.min(int(fy), t.rows - 2)
        u = fx - real(j)
        v = fy - real(i)
        a = node(t, ground, world, i, j)
        b = node(t, ground, world, i, j + 1)
        c = node(t, ground, world, i + 1, j)
        d = node(t, ground, world, i + 1, j + 1)
        low = a + u * (b - a)
        high = c + u * (d - c)
        twist = (d - c) - (b - a)
        slope_x = ((b - a) + v * twist) * t.per_spacing
        slope_y = (high - low) * t.per_spacing
        return vec4(low + v * (high - low), slope_x, slope_y, twist * t.per_spacing)

    @wp.func
    def travel_at(
        t: Terrain, ground: Arrays, world: int, centre: vec3, ahead: vec3, up: vec3, radius: real, turn: vec2,
        guess: real,
    ):  # fmt: skip
        """Suspension travel h that puts the rim's point at an angle (`turn`: its sine and cosine) on the ground.

        001 eq. 6-8 by Newton's method inside a bracket.
        """
        rim = centre + radius * (turn[0] * ahead - turn[1] * up)
        h = guess
        near = real(close) * radius
        low = real(-1.0e9)  # at this travel the point is under the ground, at `high` over it
        high = real(1.0e9)
        for _ in range(CLOSER_STEPS):
            z = sample(t, ground, world, rim[0] + h * up[0], rim[1] + h * up[1])
            error = rim[2] + h * up[2] - z[0]  # eq. 8
            if error < real(0.0):
                low = h
            else:
                high = h
            rate = wp.max(up[2] - z[1] * up[0] - z[2] * up[1], real(0.1) * up[2])
            change = error / rate
            h = h - change
            if wp.abs(change) < near:
                return h
            if h <= low or h >= high:
                h = real(0.5) * (low + high)
        return h

    @wp.func
    def is_ground(h: real, sine: real, limit: real):
        """Whether the suspension carries a contact; else it is a wall's."""
        size = wp.abs(sine)
        return size <= real(flattest) or (h <= limit and size <= real(steepest))

    @wp.func
    def halfway(a: vec2, b: vec2):
        """Sine and cosine of the angle midway."""
        s = a + b
        return s / wp.sqrt(s[0] * s[0] + s[1] * s[1])

    @wp.func
    def is_one_cell(t: Terrain, a: vec3, x: real, y: real):
        """Whether two points are inside one cell of the grid."""
        ax = (a[0] - t.x0) * t.per_spacing
        ay = (a[1] - t.y0) * t.per_spacing
        bx = (x - t.x0) * t.per_spacing
        by = (y - t.y0) * t.per_spacing
        least = wp.min(wp.min(ax, ay), wp.min(bx, by))
        inside = least > real(0.0) and ax < real(t.columns - 1) and ay < real(t.rows - 1)
        return inside and int(ax) == int(bx) and int(ay) == int(by)

    @wp.func
    def leap(
        t: Terrain, ground: Arrays, world: int, centre: vec3, ahead: vec3, up: vec3, radius: real, turn: vec2, h: real,
    ):  # fmt: skip
        """Sine and cosine where the ground's tangent plane at a point of the rim has its crest, and the travel there.

        And 1 where the ground there is still that plane: then it is the crest of the ground itself. At a crest the rim
        lies along the ground: tan(gamma) = -(ahead . n) / (up . n), n the ground's normal.
        """
        rim = centre + radius * (turn[0] * ahead - turn[1] * up) + h * up
        z = sample(t, ground, world, rim[0], rim[1])
        rate = wp.max(up[2] - z[1] * up[0] - z[2] * up[1], real(0.1) * up[2])
        tilt = ahead[2] - z[1] * ahead[0] - z[2] * ahead[1]
        size = wp.length(vec2(tilt, rate))
        lifted = h - (rim[2] - z[0] - radius * (size + tilt * turn[0] - rate * turn[1])) / rate
        sine = -tilt / size
        cosine = rate / size
        x = centre[0] + radius * (sine * ahead[0] - cosine * up[0]) + lifted * up[0]
        y = centre[1] + radius * (sine * ahead[1] - cosine * up[1]) + lifted * up[1]
        is_plane = wp.abs(z[3]) < real(close) and is_one_cell(t, rim, x, y)
        return vec4(sine, cosine, lifted, wp.where(is_plane, real(1.0), real(0.0)))

    @wp.func
    def creep(
        t: Terrain, ground: Arrays, world: int, centre: vec3, ahead: vec3, up: vec3, radius: real, limit: real,
        start: vec2, guess: real,
    ):  # fmt: skip
        """Sine, cosine and travel of the ground uphill of `start` by small steps: for edges, and ground before walls.

        In halves of slices as long as travel rises, then bisection of the angles between which it rises and falls.
        """
        turn = start
        h = travel_at(t, ground, world, centre, ahead, up, radius, start, guess)
        low = start
        high = start
        for _ in range(t.slices):
            low = vec2(turn[0] * t.half[1] - turn[1] * t.half[0], turn[1] * t.half[1] + turn[0] * t.half[0])
            high = vec2(turn[0] * t.half[1] + turn[1] * t.half[0], turn[1] * t.half[1] - turn[0] * t.half[0])
            left = travel_at(t, ground, world, centre, ahead, up, radius, low, h)
            right = travel_at(t, ground, world, centre, ahead, up, radius, high, h)
            if left > h and left >= right and is_ground(left, low[0], limit):
                turn = low
                h = left
            elif right > h and is_ground(right, high[0], limit):
                turn = high
                h = right
            else:
                break
        middle = turn
        top = vec3(turn[0], turn[1], h)
        for _ in range(HALVINGS):
            h = travel_at(t, ground, world, centre, ahead, up, radius, turn, h)
            to = leap(t, ground, world, centre, ahead, up, radius, turn, h)
            aside = to[0] * turn[1] - to[1] * turn[0]
            if is_ground(h, turn[0], limit):
                if h > top[2]:
                    top = vec3(turn[0], turn[1], h)
            else:
                aside = middle[0] * turn[1] - middle[1] * turn[0]
            if aside > real(0.0):
                low = turn
            else:
                high = turn
            if high[0] * low[1] - high[1] * low[0] < real(close):
                break
            turn = halfway(low, high)
        return top

    @wp.func
    def climb(
        t: Terrain, ground: Arrays, world: int, centre: vec3, ahead: vec3, up: vec3, radius: real, limit: real,
        start: vec2, least: real, guess: real,
    ):  # fmt: skip
        """Sine, cosine and travel of a crest uphill of `start` that is not below `least`: a few leaps, or creep."""
        at = vec3(start[0], start[1], guess)
        for _ in range(LEAPS):
            to = leap(t, ground, world, centre, ahead, up, radius, vec2(at[0], at[1]), at[2])
            settled = wp.abs(to[0] - at[0]) < real(close) and wp.abs(to[2] - at[2]) < real(close) * radius
            at = vec3(to[0], to[1], to[2])
            if settled or to[3] == real(1.0):
                if at[2] >= least and is_ground(at[2], at[0], limit):
                    return at
                break
        return creep(t, ground, world, centre, ahead, up, radius, limit, start, guess)

    @wp.func
    def no_bound(t: Terrain, centre: vec3, ahead: vec3, up: vec3, radius: real):
        """Nothing is known of ground that changes: every slice is looked at."""
        return vec4(real(0.0), real(0.0), real(-1.0), real(0.0))

    @wp.func
    def tangent_bound(t: Terrain, centre: vec3, ahead: vec3, up: vec3, radius: real):
        """(a, b, c, d): at travel h the rim is over all ground where a sin + b cos <= c + d h.

        Ground near the wheel is below the tangent at the nearest node, raised by its swell.
        """
        column = wp.clamp(int((centre[0] - t.x0) * t.per_spacing + real(0.5)), 1, t.columns - 2) & 0x7FFFFFFF
        row = wp.clamp(int((centre[1] - t.y0) * t.per_spacing + real(0.5)), 1, t.rows - 2) & 0x7FFFFFFF
        half = real(0.5) * t.per_spacing
        slope_x = (t.heights[row, column + 1] - t.heights[row, column - 1]) * half
        slope_y = (t.heights[row + 1, column] - t.heights[row - 1, column]) * half
        x = centre[0] - t.x0 - t.spacing * real(column)
        y = centre[1] - t.y0 - t.spacing * real(row)
        over = centre[2] - t.heights[row, column] - slope_x * x - slope_y * y - t.swell[row, column]
        rate = up[2] - slope_x * up[0] - slope_y * up[1]
        tilt = ahead[2] - slope_x * ahead[0] - slope_y * ahead[1]
        per_radius = real(1.0) / radius
        return vec4(-tilt, rate, over * per_radius, rate * per_radius)

    bound_at = no_bound if deep else tangent_bound

    @wp.func
    def promising(z: vec4, error: real, start: vec2, turn: vec2, ahead: vec3, up: vec3, radius: real):
        """Whether a higher contact than the best, at `turn`, may hide beside a slice that is `error` over the ground.

        It may where the ground steepens from there to here, and its tangent here has a crest above the best travel.
        """
        rate = up[2] - z[1] * up[0] - z[2] * up[1]
        tilt = ahead[2] - z[1] * ahead[0] - z[2] * ahead[1]
        steepens = (tilt * turn[1] + rate * turn[0]) * (start[0] * turn[1] - start[1] * turn[0]) < real(0.0)
        foot = error + radius * (start[1] * rate - start[0] * tilt)
        higher = foot * foot < radius * radius * (rate * rate + tilt * tilt) * real(1.0 - close)
        return steepens and higher and wp.abs(tilt) <= rate

    @wp.func
    def is_near(turn: vec2, bound: vec4, level: real):
        """Whether the rim may be under the ground there at travel `level` [m]."""
        return turn[0] * bound[0] + turn[1] * bound[1] > bound[2] + level * bound[3]

    @wp.func
    def slices_near(t: Terrain, bound: vec4, level: real):
        """First and last slice where that may be: they lie round the one that is deepest in the bound."""
        across = real(t.slices) * (wp.atan2(bound[0], bound[1]) / real(PI) + real(0.5))
        deepest = wp.clamp(int(across + real(0.5)), 0, t.slices)
        first = int(deepest)
        last = int(deepest)
        while first > 0:
            if not is_near(t.turns[(first - 1) & 0x7FFFFFFF], bound, level):
                break
            first -= 1
        while last < t.slices:
            if not is_near(t.turns[(last + 1) & 0x7FFFFFFF], bound, level):
                break
            last += 1
        return wp.vec2i(first, last)

    @wp.func
    def find_contact(
        t: Terrain, ground: Arrays, world: int, centre: vec3, ahead: vec3, up: vec3, radius: real, limit: real,
    ):  # fmt: skip
        """Largest travel over the lower half circle, sine and cosine of its angle, largest travel a wall asks for.

        Slices alone: the best of them (001 section 2.2.4). Refined: the crest uphill of the lowest point, unless the
        rim so lifted is under the ground in some slice, or nearly: then the best of the crests uphill of these.
        """
        best = real(NOWHERE)
        wall = real(NOWHERE)
        turn = vec2(real(0.0), real(1.0))
        level = real(0.0)
        bound = bound_at(t, centre, ahead, up, radius)
        slant = wp.sqrt(up[0] * up[0] + up[1] * up[1])
        k = int(-1)  # the lowest point comes first
        last = int(-1)
        while k <= last:
            start = t.turns[wp.where(k < 0, t.slices / 2, k) & 0x7FFFFFFF]
            worth = k < 0
            if k >= 0:
                if is_near(start, bound, level) or level * slant > t.reach:
                    rim = centre + radius * (start[0] * ahead - start[1] * up) + level * up
                    z = sample(t, ground, world, rim[0], rim[1])
                    error = rim[2] - z[0]
                    worth = error < -real(close) * radius
                    if t.refine == 1 and not worth:
                        worth = promising(z, error, start, turn, ahead, up, radius)
            if worth:
                h = real(NOWHERE)
                if k >= 0 or t.refine == 0:
                    h = travel_at(t, ground, world, centre, ahead, up, radius, start, level)
                if not is_ground(h, start[0], limit):
                    wall = wp.max(wall, h)
                else:
                    top = vec3(start[0], start[1], h)
                    if t.refine == 1:
                        guess = wp.max(h, level)
                        top = climb(t, ground, world, centre, ahead, up, radius, limit, start, h, guess)
                    if top[2] > best:
                        best = top[2]
                        turn = vec2(top[0], top[1])
                        level = wp.max(best, real(0.0))
            if k < 0:
                last = t.slices
                if level * slant <= t.reach:
                    span = slices_near(t, bound, level)
                    k = span[0] - 1
                    last = span[1]
            k += 1
        return vec4(best, turn[0], turn[1], wall)

    @wp.func
    def find_wall(
        t: Terrain, ground: Arrays, world: int, axle: vec3, centre: vec3, ahead: vec3, up: vec3, radius: real,
        limit: real,
    ):  # fmt: skip
        """Depth of the rim, along its radius, where the suspension cannot lift it out; sine and cosine of the angle."""
        depth = real(0.0)
        found = vec2(real(0.0), real(1.0))
        for k in range(t.slices + 1):
            turn = t.turns[k]
            out = turn[0] * ahead - turn[1] * up
            rim = axle + radius * out
            z = sample(t, ground, world, rim[0], rim[1])
            if rim[2] < z[0]:
                h = travel_at(t, ground, world, centre, ahead, up, radius, turn, real(0.0))
                if not is_ground(h, turn[0], limit):
                    outer = real(0.0)  # under the ground
                    inner = radius
                    for _ in range(WALL_STEPS):
                        middle = real(0.5) * (outer + inner)
                        at = rim - middle * out
                        z = sample(t, ground, world, at[0], at[1])
                        if at[2] < z[0]:
                            outer = middle
                        else:
                            inner = middle
                    if inner > depth:
                        depth = inner
                        found = turn
        return vec3(depth, found[0], found[1])

    @wp.func
    def side_slope(t: Terrain, ground: Arrays, world: int, at: vec3, across: vec3):
        """n . across over the length of n in the wheel's plane, n the ground's normal: how it leans to a side."""
        z = sample(t, ground, world, at[0], at[1])
        lean = across[2] - z[1] * across[0] - z[2] * across[1]
        upright = real(1.0) + z[1] * z[1] + z[2] * z[2] - lean * lean
        most = real(STEEPEST_SIDE)
        return wp.clamp(lean / wp.sqrt(wp.max(upright, real(1.0e-9))), -most, most)

    @wp.func
    def is_beyond(t: Terrain, at: vec3):
        """Whether a point is beyond the terrain's border."""
        x = (at[0] - t.x0) * t.per_spacing
        y = (at[1] - t.y0) * t.per_spacing
        return x < real(0.0) or y < real(0.0) or x > real(t.columns - 1) or y > real(t.rows - 1)

    return SimpleNamespace(
        Terrain=Terrain, Arrays=Arrays, find_contact=find_contact, find_wall=find_wall, side_slope=side_slope,
        is_beyond=is_beyond,
    )  # fmt: skip
