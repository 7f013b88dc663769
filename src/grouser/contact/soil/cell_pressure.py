"""Soil pressure on one cell of the grid. Where it varies within the cell it is averaged over sub-cell points."""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import bottom, laws, losses
from grouser.contact.soil.bottom import Bottom
from grouser.contact.soil.elements import CellLoad, NodeEnd, Travel
from grouser.contact.soil.types import SEEN, Constants, Options, Prediction, Window
from grouser.device import nonnegative
from grouser.precision import real, vec4
from grouser.terrain.ground import SURFACE, VIRGIN
from grouser.terrain.ground import GroundArrays as Ground

ALONG = 4.0  # if the depth varies this many times more along one axis, the other axis needs one point only
SOFT = 0.05  # [cells] height over which the rules for the soil between nodes blend into each other
PER_SOFT = wp.constant(real(1.0 / SOFT))
HALF = wp.constant(real(0.5))
TINY = wp.constant(real(1.0e-30))
ONE_AXIS = wp.constant(real(ALONG))


@wp.func
def slope(ahead: real, behind: real, here: real):
    """Rise per cell [m] of the body's lower surface along an axis, one-sided where the body ends."""
    if ahead < SEEN:
        if behind < SEEN:
            return HALF * (ahead - behind)
        return ahead - here
    if behind < SEEN:
        return here - behind
    return real(0.0)


@wp.func
def second_difference(ahead: real, behind: real, here: real):
    """Second difference [m] of the body's lower surface along an axis; zero where the body ends."""
    if ahead < SEEN and behind < SEEN:
        return ahead + behind - here - here
    return real(0.0)


@wp.func
def level_change_towards(share: real, pressed: real, load: real, here: vec4, there: vec4, gap: real, per_soft: real):
    """Change of the four levels [m] from a node to a point `share` of a cell away, towards a neighbour.

    `gap` [m] is the depth of the body in the neighbour's soil, negative where the neighbour is free. Virgin soil
    (`pressed` = 0) is level up to the body. Soil that has been pressed (`pressed` = 1) is linear between nodes. While
    loading (`load` = 1), a higher free neighbour counts as a vertical wall: the side of the rut. While unloading
    (`load` = 0) it does not, because it may be loose soil that fell in behind the body. The rules blend over
    1 / `per_soft` [m]. Without blending the force would jump when a body at rest moves by micrometres.
    """
    zero = real(0.0)
    one = real(1.0)
    change = there - here
    wall = load * wp.clamp(-gap * per_soft, zero, one) * wp.clamp(change[SURFACE] * per_soft - one, zero, one)
    part = share + (one - share) * wall
    return vec4(pressed * part * change[0], part * change[1], part * change[2], part * change[3])


@wp.func
def level_change(
    x: real, pressed: real, load: real, here: vec4, behind: vec4, ahead: vec4, gap_behind: real, gap_ahead: real,
    there_behind: bool, there_ahead: bool, per_soft: real,
):  # fmt: skip
    """Change of the four levels [m] from a node to a point x cells along an axis; zero past the end of the body."""
    if x > real(0.0) and there_ahead:
        return level_change_towards(x, pressed, load, here, ahead, gap_ahead, per_soft)
    if x < real(0.0) and there_behind:
        return level_change_towards(-x, pressed, load, here, behind, gap_behind, per_soft)
    return vec4()


@wp.func
def yields(node: NodeEnd):
    """Whether the soil of a neighbour yields. A neighbour that the body does not cover counts as yielding."""
    return node.height > SEEN or node.yielding > real(0.0)


@wp.func
def all_yields(win: Window, pred: Prediction, k: int):
    """Whether the whole cell of a node yields: the soil of the node and of its neighbours."""
    return (
        pred.end[k].yielding > real(0.0)
        and yields(pred.end[k + 1])
        and yields(pred.end[nonnegative(k - 1)])
        and yields(pred.end[nonnegative(k + win.side)])
        and yields(pred.end[nonnegative(k - win.side)])
    )


@wp.func
def change_of_depth(second: real, depth: real, behind: NodeEnd, ahead: NodeEnd):
    """Variation [m] of the depth along one axis of a cell. Neighbours past the end of the body are ignored."""
    zero = real(0.0)
    return wp.abs(second) + wp.max(
        wp.where(ahead.height < SEEN, wp.abs(ahead.depth - depth), zero),
        wp.where(behind.height < SEEN, wp.abs(behind.depth - depth), zero),
    )


@wp.func
def rate_change(behind: NodeEnd, here: NodeEnd, ahead: NodeEnd):
    """Change per cell [m/s] of the speed at which the body's surface rises; one-sided where the body ends."""
    return slope(
        wp.where(ahead.height < SEEN, ahead.rise, ahead.height),
        wp.where(behind.height < SEEN, behind.rise, behind.height),
        here.rise,
    )


@wp.func
def sample_points(samples: int, steep_x: real, steep_y: real):
    """Number of sub-cell points along both axes, and their relative spacing: 1 evenly spread, 0 all in the middle.

    If the depth varies along one axis only, points lie along that axis only, which saves time. Near this limit the
    points of the other axis gradually move together. Without this the force on a body at rest would jump when the
    number of points changes.
    """
    columns = int(samples)
    rows = int(samples)
    apart_x = real(1.0)
    apart_y = real(1.0)
    if steep_x > ONE_AXIS * steep_y:
        rows = 1
    elif steep_y > ONE_AXIS * steep_x:
        columns = 1
    else:
        apart_x = wp.min(ONE_AXIS * (steep_x + TINY) / (steep_y + TINY) - real(1.0), real(1.0))
        apart_y = wp.min(ONE_AXIS * (steep_y + TINY) / (steep_x + TINY) - real(1.0), real(1.0))
    return columns, rows, apart_x, apart_y


@wp.func
def cell_pressure(
    g: Ground, o: Options, win: Window, pred: Prediction, soil: Constants, k: int, modulus: real,
    under: Bottom, sinking: real, fall: real, travel: Travel,
):  # fmt: skip
    """Load of a cell at the end of the step: mean of the elastic trial pressure K_e (Z - Zp), capped by the yield.

    Where all of the cell yields, the node's value is used. Where part of it unloads or is free, the mean is taken over
    sub-cell points. `sinking` [m] is the depth that damping adds, `fall` [m] by how much the surface sinks in the step.
    """
    zero = real(0.0)
    h = o.step[0]
    cell = g.spacing
    per = g.per_spacing
    here = pred.end[k]
    at_east = pred.end[k + 1]
    at_west = pred.end[nonnegative(k - 1)]
    at_north = pred.end[nonnegative(k + win.side)]
    at_south = pred.end[nonnegative(k - win.side)]
    z = here.height
    u = here.depth
    east = at_east.height
    west = at_west.height
    north = at_north.height
    south = at_south.height
    zx = slope(east, west, z) * per
    zy = slope(north, south, z) * per
    # How much higher the yield pressure is by depth and levels of `commit`, which limits the elastic depth there.
    above = travel.yield_offset + here.given_way
    more = losses.yield_growth(here.yield_pressure, soil.n, win.levels[k][VIRGIN] - z, above)
    # The whole cell yields: the pressure varies little within it, so the value at the node is enough.
    if all_yields(win, pred, k):
        y = here.yield_pressure
        give = laws.yielding_stiffness(soil.k_e, u - y * soil.per_k_e, travel.per_prediction_error)
        elastic = wp.min(soil.k_e * u, y + more)
        worn = losses.plastic_work(y, u - (y + more) * soil.per_k_e, fall)
        # Damping may make soil yield that is pressed less than its elastic limit.
        damped = wp.max(y - elastic, zero) * fall
        half = HALF * soil.per_k_e
        return CellLoad(y, give, y * zx, y * zy, real(1.0), zx, zy, half * elastic * elastic, worn, damped)
    u_east = at_east.depth
    u_west = at_west.depth
    u_north = at_north.depth
    u_south = at_south.depth
    levels = win.levels[k]
    per_soft = PER_SOFT * per
    # Blend factor: 0 for virgin soil, 1 for soil that has been pressed by SOFT cells or more.
    pressed = wp.min((levels[VIRGIN] - levels[SURFACE] + wp.max(u, zero)) * per_soft, real(1.0))
    if pressed <= zero and u + HALF * cell * (wp.abs(zx) + wp.abs(zy)) <= zero:  # no corner of the cell is in the soil
        return CellLoad(zero, zero, zero, zero, zero, zx, zy, zero, zero, zero)
    second_x = second_difference(east, west, z)
    second_y = second_difference(north, south, z)
    steep_x = change_of_depth(second_x, u, at_west, at_east)
    steep_y = change_of_depth(second_y, u, at_south, at_north)
    columns, rows, apart_x, apart_y = sample_points(o.samples, steep_x, steep_y)
    to_east = win.levels[k + 1]
    to_west = win.levels[nonnegative(k - 1)]
    to_north = win.levels[nonnegative(k + win.side)]
    to_south = win.levels[nonnegative(k - win.side)]
    # Degree of loading at the node: 1 where its soil yields, 0 where the body just lets go of it.
    load = zero
    if u > zero:
        load = pressed * wp.min(soil.k_e * u / wp.max(here.yield_pressure, real(1.0e-9)), real(1.0))
    start = z + above  # height at which the yield pressure is evaluated, as at the node
    rise_x = zx * cell
    rise_y = zy * cell
    # Change per cell of the height [m] by which the surface rises in the step.
    lift_x = rate_change(at_west, here, at_east) * h
    lift_y = rate_change(at_south, here, at_north) * h
    per_column = real(1.0) / real(columns)
    per_row = real(1.0) / real(rows)
    column_step = HALF * per_column * apart_x
    row_step = HALF * per_row * apart_y
    total = zero
    px = zero
    py = zero
    stiffness = zero
    squares = zero
    plastic = zero
    elastic_sum = zero
    inside = int(0)
    for c in range(rows):
        y = real(2 * c + 1 - rows) * row_step  # symmetric, and exactly 0 for the middle point
        row = level_change(
            y, pressed, load, levels, to_south, to_north, u_south, u_north, south < SEEN, north < SEEN, per_soft
        )
        skin = y * (rise_y + HALF * second_y * y)  # height of the body above that at the node, to second order
        for a in range(columns):
            x = real(2 * a + 1 - columns) * column_step
            change = row + level_change(
                x, pressed, load, levels, to_west, to_east, u_west, u_east, west < SEEN, east < SEEN, per_soft
            )
            rise = skin + x * (rise_x + HALF * second_x * x)
            deep = u - rise + change[SURFACE]
            if deep > zero:
                cap = bottom.yield_at(o, win.soil[k], modulus, start + rise, levels + change, under)
                # Soil that a body leaves in this step was pressed by it before, to its elastic limit. Between nodes it
                # followed the body's round shape, not the straight line between their levels.
                sunk = fall - x * lift_x - y * lift_y
                if sunk < zero:
                    deep -= travel.far * wp.max(deep - cap * soil.per_k_e - sunk, zero)
                if deep > zero:
                    # The law of a node, applied at the point. Damping never pulls (max) and never exceeds the yield
                    # (min).
                    q = wp.min(soil.k_e * wp.max(deep + sinking, zero), cap)
                    total += q
                    spare = deep - cap * soil.per_k_e
                    stiffness += laws.yielding_stiffness(soil.k_e, spare, travel.per_prediction_error)
                    p = wp.min(soil.k_e * deep, cap + more)  # without damping
                    squares += p * p
                    elastic_sum += wp.min(p, cap)
                    plastic += losses.plastic_work(q, spare - more * soil.per_k_e, fall)
                    inside += 1
                    px += q * (rise_x + second_x * x)
                    py += q * (rise_y + second_y * y)
    # Divide by all points: those outside the soil count as zero pressure.
    mean = per_row * per_column
    covered = real(inside) * mean
    damped = (total - elastic_sum) * fall * mean
    stored = HALF * soil.per_k_e * squares * mean
    return CellLoad(
        total * mean, stiffness * mean, px * mean * per, py * mean * per, covered, zx, zy, stored,
        plastic * mean, damped,
    )  # fmt: skip
