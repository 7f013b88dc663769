"""Stage `displace`, at the edges of a body: cells that are covered in part displace only the soil below the body.

A node in contact sinks as a whole, because its level carries the force. Its cell may be covered in part only, or the
body may extend beyond it. What it sinks too much or too little goes to the free node across the edge. The volume that a
body presses is then its area times its depth, wherever its edges lie between the nodes.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import bottom, laws
from grouser.contact.soil import types as t
from grouser.contact.soil.sinkage import compacting_share, is_touched
from grouser.contact.soil.spoil import node_velocity
from grouser.contact.soil.types import SEEN, Bodies, BodyMotion, Displacement, Options, Skin, Window
from grouser.device import nonnegative
from grouser.precision import real, vec3, vec6
from grouser.terrain.ground import GroundArrays as Ground

HALF = wp.constant(real(0.5))


@wp.func
def neighbour(win: Window, k: int, way: int):
    """Index of the next node to the east, west, north or south."""
    return nonnegative(
        k + wp.where(way == t.EAST, 1, wp.where(way == t.WEST, -1, wp.where(way == t.NORTH, win.side, -win.side)))
    )


@wp.func
def opposite(way: int):
    """West of east and so on."""
    return way + 1 - 2 * (way % 2)


@wp.func
def missing(skin: Skin, win: Window, k: int, way: int):
    """How much less than half a cell the body extends past a node [cells]; negative where it extends farther.

    Zero where no edge lies between the node and the next: the body goes on, or is round, or is too high to be seen.
    """
    n = neighbour(win, k, way)
    if skin.height[n] < SEEN or skin.reach[n][opposite(way)] == real(0.0):
        return real(0.0)
    return HALF - skin.reach[k][way]


@wp.func
def takes_excess(skin: Skin, win: Window, k: int):
    """Whether a node beside the footprint can make up for a cell that is covered in part."""
    return skin.height[k] >= SEEN and (win.mark[k] == t.BORDER or win.mark[k] == t.BESIDE)


@wp.func
def descent(v_n: vec3):
    """Speed [m/s] at which a surface sinks over a node, from its normal velocity; zero where it rises."""
    if v_n[2] >= real(0.0):
        return real(0.0)
    return -wp.dot(v_n, v_n) / v_n[2]


@wp.func
def givers(skin: Skin, win: Window, k: int):
    """Number of the four nodes next to a node that the body touches."""
    count = int(0)
    for way in range(4):
        if is_touched(skin, win, neighbour(win, k, way)):
            count += 1
    return count


@wp.func
def passed_on(g: Ground, o: Options, skin: Skin, win: Window, k: int, way: int, height: real):
    """Height [m] that a node gives to the next one, out of the wanted `height`; below zero it takes soil from there.

    No soil is taken from below hard ground: each node in contact may take an equal part of what is left above it.
    """
    n = neighbour(win, k, way)
    if height == real(0.0) or not takes_excess(skin, win, n):
        return real(0.0)
    if height < real(0.0) and bottom.is_limited(g, o):
        left = bottom.soil_left(g, win, n) / real(givers(skin, win, n))
        return wp.max(height, real(-1.0) * left)
    return height


@wp.func
def share_sinkage(
    g: Ground, o: Options, skin: Skin, win: Window, disp: Displacement,
    k: int, i: int, j: int, keeps: int, first_node: vec3, m: BodyMotion,
):  # fmt: skip
    """Find the part of a node's sinkage that goes to the nodes across the edge. Returns that of `sunk` [m].

    With the covered lengths w_x and w_y of the cell [cells], 1 - w_x w_y of its height is too much. Written as
    (1 - w_x) (1 + w_y) / 2 + (1 - w_y) (1 + w_x) / 2 it is divided between the nodes along both axes. This holds for
    soil that the body presses down as it sinks. Soil that an edge passes over sideways is displaced with its whole
    cell: on average as much as the edge has swept.
    """
    disp.excess[k] = vec6()
    if not is_touched(skin, win, k):
        return real(0.0)
    east = missing(skin, win, k, t.EAST)
    west = missing(skin, win, k, t.WEST)
    north = missing(skin, win, k, t.NORTH)
    south = missing(skin, win, k, t.SOUTH)
    if east == real(0.0) and west == real(0.0) and north == real(0.0) and south == real(0.0):
        return real(0.0)
    dug = real(0.0)
    if keeps == 0 and o.spoil == 1:
        dug = disp.dug[k]
    v_n, v_t, sinkage, bulldozing = node_velocity(g, skin, win, k, i, j, first_node, m)
    pressed = wp.min(disp.sunk[k], m.duration * descent(v_n))
    both = pressed + dug
    if both <= real(0.0):
        return real(0.0)
    one = real(1.0)
    across_x = HALF * (one + one - north - south)
    across_y = HALF * (one + one - east - west)
    to_east = passed_on(g, o, skin, win, k, t.EAST, east * (across_x * both))
    to_west = passed_on(g, o, skin, win, k, t.WEST, west * (across_x * both))
    to_north = passed_on(g, o, skin, win, k, t.NORTH, north * (across_y * both))
    to_south = passed_on(g, o, skin, win, k, t.SOUTH, south * (across_y * both))
    given = real(0.0)  # share of `both` that is passed on
    if bottom.is_limited(g, o):
        given = (to_east + to_west + to_north + to_south) / both  # pyright: ignore[reportOperatorIssue]
    else:  # what is passed on is what is wanted: no division, which would add round-off
        if to_east != real(0.0):
            given += east * across_x
        if to_west != real(0.0):
            given += west * across_x
        if to_north != real(0.0):
            given += north * across_y
        if to_south != real(0.0):
            given += south * across_y
    disp.excess[k] = vec6(given * pressed, given * dug, to_east, to_west, to_north, to_south)
    return given * pressed


@wp.func
def level_out(
    o: Options, b: Bodies, skin: Skin, win: Window, disp: Displacement, body: int, k: int, keeps: int
):  # fmt: skip
    """Raise or lower a node beside the footprint by what the nodes in contact next to it have sunk too much."""
    change = real(0.0)
    lowered = real(0.0)
    compacted = real(0.0)
    for way in range(4):
        n = neighbour(win, k, way)
        if is_touched(skin, win, n):
            part = disp.excess[n][2 + opposite(way)]
            change += part
            if part < real(0.0):
                lowered += part
                compacted += part * compacting_share(o, b, win, body, n, disp.share[n], keeps)
    if change > real(0.0):
        win.levels[k] = laws.add_loose_soil(win.levels[k], change, o.loose)
    elif change < real(0.0):
        # Compacted by as much as the soil under the body, so that the force is about the same when the edge comes here.
        win.levels[k] = laws.sink(win.levels[k], -change, compacted / lowered)
