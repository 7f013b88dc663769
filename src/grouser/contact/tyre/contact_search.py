"""Find the contact of a wheel with the ground (largest suspension travel over the rim) and with walls."""

from __future__ import annotations

import math

import warp as wp

from grouser.contact.tyre.types import Bound, Crest, GroundContact, Sample, Terrain, WallContact
from grouser.device import nonnegative
from grouser.precision import length_slack, real, vec2, vec3
from grouser.terrain.ground import GroundArrays, surface_at

# Angles [rad] from the suspension's axis (assumed): beyond 70 degrees a contact is always with a wall; within 45
# degrees never, however far the suspension must travel.
STEEPEST = 1.2217304763960306
FLATTEST = 0.7853981633974483
STEEPEST_SINE = wp.constant(real(math.sin(STEEPEST)))
FLATTEST_SINE = wp.constant(real(math.sin(FLATTEST)))
STEEPEST_SIDE = 2.0  # largest sideways slope that counts; steeper ground would meet the tyre's shoulder (assumed)
CLOSER_STEPS, WALL_STEPS = 8, 24  # largest number of Newton steps on eq. 8; number of bisections at a wall
LEAPS, HALVINGS = 5, 40  # largest number of tangent-plane steps to a crest; of bisections if these fail
NOWHERE = -1.0e9  # [m] travel that means "no contact"
PI = math.pi


@wp.func
def node_height(t: Terrain, ground: GroundArrays, world: int, row: int, column: int):
    """Height [m] of a node of terrain that does not change."""
    return t.heights[nonnegative(row), nonnegative(column)]


@wp.func
def changing_node_height(t: Terrain, ground: GroundArrays, world: int, row: int, column: int):
    """Height [m] of a node of ground that bodies change. It replaces `node_height`, see ON_CHANGING_GROUND."""
    return surface_at(ground, world, row, column)


@wp.func
def sample(t: Terrain, ground: GroundArrays, world: int, x: real, y: real):
    """Bilinear height, gradient and twist of the ground (Morrot et al., eq. 3-5). Outside: nearest point of the border.

    The twist is the change of the gradient over the cell; it is zero if the cell is a plane.
    """
    fx = wp.clamp((x - t.x0) * t.per_spacing, real(0.0), real(t.columns - 1))
    fy = wp.clamp((y - t.y0) * t.per_spacing, real(0.0), real(t.rows - 1))
    j = wp.min(int(fx), t.columns - 2)
    i = wp.min(int(fy), t.rows - 2)
    u = fx - real(j)
    v = fy - real(i)
    a = node_height(t, ground, world, i, j)
    b = node_height(t, ground, world, i, j + 1)
    c = node_height(t, ground, world, i + 1, j)
    d = node_height(t, ground, world, i + 1, j + 1)
    low = a + u * (b - a)
    high = c + u * (d - c)
    twist = (d - c) - (b - a)
    slope_x = ((b - a) + v * twist) * t.per_spacing
    slope_y = (high - low) * t.per_spacing
    return Sample(low + v * (high - low), slope_x, slope_y, twist * t.per_spacing)


@wp.func
def travel_at(
    t: Terrain, ground: GroundArrays, world: int, centre: vec3, ahead: vec3, up: vec3, radius: real, turn: vec2,
    guess: real,
):  # fmt: skip
    """Suspension travel h [m] that puts the rim's point at an angle (`turn`: its sine and cosine) on the ground.

    Morrot et al., eq. 6-8, solved by Newton's method inside a bracket.
    """
    rim = centre + radius * (turn[0] * ahead - turn[1] * up)
    h = guess
    near = length_slack * radius
    low = real(-1.0e9)  # bracket: at `low` the point is below the ground, at `high` above it
    high = real(1.0e9)
    for _ in range(CLOSER_STEPS):
        z = sample(t, ground, world, rim[0] + h * up[0], rim[1] + h * up[1])
        error = rim[2] + h * up[2] - z.height  # eq. 8
        if error < real(0.0):
            low = h
        else:
            high = h
        rate = wp.max(up[2] - z.slope_x * up[0] - z.slope_y * up[1], real(0.1) * up[2])
        change = error / rate
        h = h - change
        if wp.abs(change) < near:
            return h
        if h <= low or h >= high:
            h = real(0.5) * (low + high)
    return h


@wp.func
def is_ground(h: real, sine: real, limit: real):
    """Whether the suspension carries a contact with travel h; otherwise it is a contact with a wall."""
    size = wp.abs(sine)
    return size <= FLATTEST_SINE or (h <= limit and size <= STEEPEST_SINE)


@wp.func
def halfway(a: vec2, b: vec2):
    """Sine and cosine of the angle midway between a and b."""
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
def tangent_plane_crest(
    t: Terrain, ground: GroundArrays, world: int, centre: vec3, ahead: vec3, up: vec3, radius: real, turn: vec2,
    h: real,
):  # fmt: skip
    """Crest on the tangent plane of the ground at a point of the rim.

    At a crest the rim is tangent to the ground: tan(gamma) = -(ahead . n) / (up . n), where n is the ground's normal.
    """
    rim = centre + radius * (turn[0] * ahead - turn[1] * up) + h * up
    z = sample(t, ground, world, rim[0], rim[1])
    rate = wp.max(up[2] - z.slope_x * up[0] - z.slope_y * up[1], real(0.1) * up[2])
    tilt = ahead[2] - z.slope_x * ahead[0] - z.slope_y * ahead[1]
    size = wp.length(vec2(tilt, rate))
    lifted = h - (rim[2] - z.height - radius * (size + tilt * turn[0] - rate * turn[1])) / rate
    sine = -tilt / size
    cosine = rate / size
    x = centre[0] + radius * (sine * ahead[0] - cosine * up[0]) + lifted * up[0]
    y = centre[1] + radius * (sine * ahead[1] - cosine * up[1]) + lifted * up[1]
    is_plane = wp.abs(z.twist) < length_slack and is_one_cell(t, rim, x, y)
    return Crest(vec2(sine, cosine), lifted, is_plane)


@wp.func
def step_uphill(
    t: Terrain, ground: GroundArrays, world: int, centre: vec3, ahead: vec3, up: vec3, radius: real, limit: real,
    start: vec2, guess: real,
):  # fmt: skip
    """Find the crest uphill of `start` in small steps. For edges, and for ground in front of walls.

    Steps of half a slice as long as the travel rises, then bisection between the angles where it rises and falls.
    """
    turn = start
    h = travel_at(t, ground, world, centre, ahead, up, radius, start, guess)
    low = start
    high = start
    # Climb to whichever side is higher, but never to an angle that is a wall: the suspension does not carry that.
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
    # The crest lies between `low` and `high`. The tangent plane at an angle shows on which side of it. This also works
    # at an edge, where steps from one tangent plane's crest to the next would go to and fro.
    middle = turn
    top = Crest(turn, h, False)
    for _ in range(HALVINGS):
        h = travel_at(t, ground, world, centre, ahead, up, radius, turn, h)
        to = tangent_plane_crest(t, ground, world, centre, ahead, up, radius, turn, h)
        aside = to.turn[0] * turn[1] - to.turn[1] * turn[0]
        if is_ground(h, turn[0], limit):
            if h > top.travel:  # keep the highest: at an edge the last angle may lie just beyond it
                top.turn = turn
                top.travel = h
        else:  # a wall: go back towards where the climb ended
            aside = middle[0] * turn[1] - middle[1] * turn[0]
        if aside > real(0.0):
            low = turn
        else:
            high = turn
        if high[0] * low[1] - high[1] * low[0] < length_slack:
            break
        turn = halfway(low, high)
    return top


@wp.func
def find_crest(
    t: Terrain, ground: GroundArrays, world: int, centre: vec3, ahead: vec3, up: vec3, radius: real, limit: real,
    start: vec2, least: real, guess: real,
):  # fmt: skip
    """Find a crest uphill of `start` that is not below `least` [m].

    A few steps to crests of tangent planes are tried first, because they converge fast on smooth ground. If they fail,
    `step_uphill` is used.
    """
    turn = start
    travel = guess
    for _ in range(LEAPS):
        to = tangent_plane_crest(t, ground, world, centre, ahead, up, radius, turn, travel)
        settled = wp.abs(to.turn[0] - turn[0]) < length_slack and wp.abs(to.travel - travel) < length_slack * radius
        turn = to.turn
        travel = to.travel
        if settled or to.is_plane:
            if travel >= least and is_ground(travel, turn[0], limit):
                return to
            break
    return step_uphill(t, ground, world, centre, ahead, up, radius, limit, start, guess)


@wp.func
def tangent_bound(t: Terrain, centre: vec3, ahead: vec3, up: vec3, radius: real):
    """Bound on the angles at which the rim can be below the ground.

    The ground near the wheel lies below the tangent plane at the nearest node, raised by its `rise_bound`.
    """
    column = nonnegative(wp.clamp(int((centre[0] - t.x0) * t.per_spacing + real(0.5)), 1, t.columns - 2))
    row = nonnegative(wp.clamp(int((centre[1] - t.y0) * t.per_spacing + real(0.5)), 1, t.rows - 2))
    half = real(0.5) * t.per_spacing
    slope_x = (t.heights[row, column + 1] - t.heights[row, column - 1]) * half
    slope_y = (t.heights[row + 1, column] - t.heights[row - 1, column]) * half
    x = centre[0] - t.x0 - t.spacing * real(column)
    y = centre[1] - t.y0 - t.spacing * real(row)
    over = centre[2] - t.heights[row, column] - slope_x * x - slope_y * y - t.rise_bound[row, column]
    rate = up[2] - slope_x * up[0] - slope_y * up[1]
    tilt = ahead[2] - slope_x * ahead[0] - slope_y * ahead[1]
    per_radius = real(1.0) / radius
    return Bound(-tilt, rate, over * per_radius, rate * per_radius)


@wp.func
def no_bound(t: Terrain, centre: vec3, ahead: vec3, up: vec3, radius: real):
    """A bound that excludes nothing, for ground that changes: every slice is examined. Replaces `tangent_bound`."""
    return Bound(real(0.0), real(0.0), real(-1.0), real(0.0))


@wp.func
def may_hide_higher(z: Sample, error: real, start: vec2, turn: vec2, ahead: vec3, up: vec3, radius: real):
    """Whether there may be a higher contact than the best one, at `turn`, next to a slice `error` [m] above the ground.

    This is possible if the ground gets steeper from the best contact to this slice, and the tangent plane here has a
    crest above the best travel.
    """
    rate = up[2] - z.slope_x * up[0] - z.slope_y * up[1]
    tilt = ahead[2] - z.slope_x * ahead[0] - z.slope_y * ahead[1]
    steepens = (tilt * turn[1] + rate * turn[0]) * (start[0] * turn[1] - start[1] * turn[0]) < real(0.0)
    foot = error + radius * (start[1] * rate - start[0] * tilt)
    higher = foot * foot < radius * radius * (rate * rate + tilt * tilt) * (real(1.0) - real(length_slack))
    return steepens and higher and wp.abs(tilt) <= rate


@wp.func
def is_near(turn: vec2, bound: Bound, level: real):
    """Whether the rim may be below the ground at an angle, at travel `level` [m]."""
    return turn[0] * bound.a + turn[1] * bound.b > bound.c + level * bound.d


@wp.func
def slices_near(t: Terrain, bound: Bound, level: real):
    """First and last slice in which the rim may be below the ground. They lie around the deepest one of the bound."""
    across = real(t.slices) * (wp.atan2(bound.a, bound.b) / real(PI) + real(0.5))
    deepest = wp.clamp(int(across + real(0.5)), 0, t.slices)
    first = int(deepest)
    last = int(deepest)
    while first > 0:
        if not is_near(t.turns[nonnegative(first - 1)], bound, level):
            break
        first -= 1
    while last < t.slices:
        if not is_near(t.turns[nonnegative(last + 1)], bound, level):
            break
        last += 1
    return first, last


@wp.func
def find_contact(
    t: Terrain, ground: GroundArrays, world: int, centre: vec3, ahead: vec3, up: vec3, radius: real, limit: real,
):  # fmt: skip
    """Find the contact of a wheel with the ground: the largest travel over the lower half circle.

    Without refinement this is the best slice (Morrot et al., section 2.2.4). With refinement it is the crest uphill of
    the lowest point. If the wheel lifted to that crest is below the ground in some slice, or nearly, the best of the
    crests uphill of these slices is taken.
    """
    best = real(NOWHERE)
    wall = real(NOWHERE)
    turn = vec2(real(0.0), real(1.0))
    level = real(0.0)
    bound = tangent_bound(t, centre, ahead, up, radius)
    slant = wp.sqrt(up[0] * up[0] + up[1] * up[1])
    k = int(-1)  # -1 stands for the lowest point, which comes first
    last = int(-1)
    while k <= last:
        start = t.turns[nonnegative(wp.where(k < 0, t.slices / 2, k))]
        worth = k < 0
        if k >= 0:
            if is_near(start, bound, level) or level * slant > t.reach:
                rim = centre + radius * (start[0] * ahead - start[1] * up) + level * up
                z = sample(t, ground, world, rim[0], rim[1])
                error = rim[2] - z.height
                worth = error < -length_slack * radius
                if t.refine == 1 and not worth:
                    worth = may_hide_higher(z, error, start, turn, ahead, up, radius)
        if worth:
            h = real(NOWHERE)
            if k >= 0 or t.refine == 0:
                h = travel_at(t, ground, world, centre, ahead, up, radius, start, level)
            if not is_ground(h, start[0], limit):
                wall = wp.max(wall, h)
            else:
                top = Crest(start, h, False)
                if t.refine == 1:
                    guess = wp.max(h, level)
                    top = find_crest(t, ground, world, centre, ahead, up, radius, limit, start, h, guess)
                if top.travel > best:
                    best = top.travel
                    turn = top.turn
                    level = wp.max(best, real(0.0))
        if k < 0:
            last = t.slices
            if level * slant <= t.reach:
                first, final = slices_near(t, bound, level)
                k = first - 1
                last = final
        k += 1
    return GroundContact(best, turn[0], turn[1], wall)


@wp.func
def find_wall(
    t: Terrain, ground: GroundArrays, world: int, axle: vec3, centre: vec3, ahead: vec3, up: vec3, radius: real,
    limit: real,
):  # fmt: skip
    """Find the contact with a wall: the deepest point of the rim that the suspension cannot lift out of the ground."""
    depth = real(0.0)
    found = vec2(real(0.0), real(1.0))
    for k in range(t.slices + 1):
        turn = t.turns[k]
        out = turn[0] * ahead - turn[1] * up
        rim = axle + radius * out
        z = sample(t, ground, world, rim[0], rim[1])
        if rim[2] < z.height:
            h = travel_at(t, ground, world, centre, ahead, up, radius, turn, real(0.0))
            if not is_ground(h, turn[0], limit):
                outer = real(0.0)  # bisection along the radius: `outer` is below the ground, `inner` above it
                inner = radius
                for _ in range(WALL_STEPS):
                    middle = real(0.5) * (outer + inner)
                    at = rim - middle * out
                    z = sample(t, ground, world, at[0], at[1])
                    if at[2] < z.height:
                        outer = middle
                    else:
                        inner = middle
                if inner > depth:
                    depth = inner
                    found = turn
    return WallContact(depth, found[0], found[1])


@wp.func
def side_slope(t: Terrain, ground: GroundArrays, world: int, at: vec3, across: vec3):
    """Sideways slope of the ground: n . across over the length of n in the wheel's plane, where n is its normal."""
    z = sample(t, ground, world, at[0], at[1])
    lean = across[2] - z.slope_x * across[0] - z.slope_y * across[1]
    upright = real(1.0) + z.slope_x * z.slope_x + z.slope_y * z.slope_y - lean * lean
    most = real(STEEPEST_SIDE)
    return wp.clamp(lean / wp.sqrt(wp.max(upright, real(1.0e-9))), -most, most)


@wp.func
def is_beyond(t: Terrain, at: vec3):
    """Whether a point is outside the terrain."""
    x = (at[0] - t.x0) * t.per_spacing
    y = (at[1] - t.y0) * t.per_spacing
    return x < real(0.0) or y < real(0.0) or x > real(t.columns - 1) or y > real(t.rows - 1)


# Replacements for ground that bodies change, used as `at(kernel, name, ON_CHANGING_GROUND)`.
ON_CHANGING_GROUND = {node_height: changing_node_height, tangent_bound: no_bound}
