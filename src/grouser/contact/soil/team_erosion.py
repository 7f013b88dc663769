"""Stage `erode` by a team of lanes: the sweeps of erosion.py with the same laws.

Each pair of a sweep writes its flow where only this pair writes; each node then gathers the flows of its four pairs. So
no sum depends on the order of lanes. With one lane the sums of a node are those of erosion.py in another order.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import erosion, laws, team
from grouser.contact.soil.elements import MANY, Box
from grouser.contact.soil.erosion import GIVES, TAKES, TO_EAST, TO_NORTH
from grouser.contact.soil.types import Displacement, Options, Skin, Slides, Window
from grouser.device import nonnegative
from grouser.precision import real
from grouser.terrain.ground import SURFACE
from grouser.terrain.ground import GroundArrays as Ground


@wp.func
def is_steep(win: Window, k: int, n: int, steep: real):
    """Whether two nodes differ in height by more than `steep` [m]."""
    return wp.abs(win.levels[nonnegative(n)][SURFACE] - win.levels[nonnegative(k)][SURFACE]) > steep


@wp.func
def forget_flows(win: Window, slides: Slides, k: int):
    """Set the flows of the four pairs of a node to zero: `gathered_flow` adds them all, but not all may slide."""
    slides.pair_flow[nonnegative(2 * k)] = real(0.0)
    slides.pair_flow[nonnegative(2 * k + 1)] = real(0.0)
    slides.pair_flow[nonnegative(2 * (k - 1))] = real(0.0)
    slides.pair_flow[nonnegative(2 * (k - win.side) + 1)] = real(0.0)


@wp.func
def list_pair(win: Window, slides: Slides, start: int, i: int, j: int, side: int, place: int):
    """Write a pair that slides to its `place` in the list, and count it at both of its nodes."""
    k = nonnegative(start + i * win.side + j)
    n = erosion.second_node(win, k, side)
    forget_flows(win, slides, k)
    forget_flows(win, slides, n)
    lower = wp.where(win.levels[n][SURFACE] > win.levels[k][SURFACE], k, n)
    wp.atomic_add(slides.steep, lower, TAKES)
    wp.atomic_add(slides.steep, k + n - lower, GIVES)
    slides.pairs[nonnegative(2 * start + place)] = erosion.pair_code(i, j, side)


@wp.func
def first_pairs(
    g: Ground, o: Options, skin: Skin, win: Window, slides: Slides, slot: int, start: int, steep: real, box: Box,
    lane: int, lanes: int,
):  # fmt: skip
    """List the steep pairs among the nodes of a box. Returns their number."""
    width = box.column1 - box.column0 + 1
    nodes = wp.where(width > 0, width * (box.row1 - box.row0 + 1), 0)
    pairs = int(0)
    base = int(0)
    while base < nodes:
        q = base + lane
        east = int(0)
        north = int(0)
        i = int(0)
        j = int(0)
        if q < nodes:
            i = box.row0 + q // width
            j = box.column0 + q % width
            k = start + i * win.side + j
            if is_steep(win, k, k + 1, steep):
                east = erosion.pair_slides(g, o, skin, win, slot, start, i, j, TO_EAST)
            if is_steep(win, k, k + win.side, steep):
                north = erosion.pair_slides(g, o, skin, win, slot, start, i, j, TO_NORTH)
        at = pairs + team.rank(east) + team.rank(north)
        if east == 1:
            list_pair(win, slides, start, i, j, TO_EAST, at)
        if north == 1:
            list_pair(win, slides, start, i, j, TO_NORTH, at + east)
        pairs += team.count(east) + team.count(north)
        base += lanes
    return pairs


@wp.func
def next_pairs(
    g: Ground, o: Options, skin: Skin, win: Window, slides: Slides, slot: int, start: int, moved: int, stamp: int,
    steep: real, lane: int, lanes: int,
):  # fmt: skip
    """List the steep pairs next to nodes that moved in the last sweep, each pair once. Returns their number."""
    pairs = int(0)
    base = int(0)
    while base < moved:
        q = base + lane
        east = int(0)
        north = int(0)
        west = int(0)
        south = int(0)
        i = int(0)
        j = int(0)
        if q < moved:
            code = slides.moved[nonnegative(start + q)]
            i = code >> 15
            j = code & 0x7FFF
            k = nonnegative(start + i * win.side + j)
            if is_steep(win, k, k + 1, steep):
                east = erosion.pair_slides(g, o, skin, win, slot, start, i, j, TO_EAST)
            if is_steep(win, k, k + win.side, steep):
                north = erosion.pair_slides(g, o, skin, win, slot, start, i, j, TO_NORTH)
            # A western or southern neighbour that moved too lists the pair itself.
            if is_steep(win, k, k - 1, steep) and slides.queued[nonnegative(k - 1)] != stamp:
                west = erosion.pair_slides(g, o, skin, win, slot, start, i, j - 1, TO_EAST)
            if is_steep(win, k, k - win.side, steep) and slides.queued[nonnegative(k - win.side)] != stamp:
                south = erosion.pair_slides(g, o, skin, win, slot, start, i - 1, j, TO_NORTH)
        at = pairs + team.rank(east) + team.rank(north) + team.rank(west) + team.rank(south)
        if east == 1:
            list_pair(win, slides, start, i, j, TO_EAST, at)
        if north == 1:
            list_pair(win, slides, start, i, j, TO_NORTH, at + east)
        if west == 1:
            list_pair(win, slides, start, i, j - 1, TO_EAST, at + east + north)
        if south == 1:
            list_pair(win, slides, start, i - 1, j, TO_NORTH, at + east + north + west)
        pairs += team.count(east) + team.count(north) + team.count(west) + team.count(south)
        base += lanes
    return pairs


@wp.func
def gathered_flow(win: Window, slides: Slides, k: int):
    """Height [m] that a node gains in a sweep: the flows of its pairs to the east, north, west and south."""
    return (
        slides.pair_flow[nonnegative(2 * k)] + slides.pair_flow[nonnegative(2 * k + 1)]
        - slides.pair_flow[nonnegative(2 * (k - 1))] - slides.pair_flow[nonnegative(2 * (k - win.side) + 1)]
    )  # fmt: skip


@wp.func
def settle(
    g: Ground, o: Options, skin: Skin, win: Window, slides: Slides,
    start: int, i: int, j: int, stamp: int, moved: int, active: int,
):  # fmt: skip
    """Apply the flows of a sweep to one node of each `active` lane and list it as moved. Returns the new count."""
    claimed = int(0)
    k = nonnegative(start + i * win.side + j)
    if active == 1:
        if wp.atomic_exch(slides.steep, k, 0) != 0:  # else done already as a node of another pair
            claimed = 1
    place = moved + team.rank(claimed)
    if claimed == 1:
        win.levels[k] = laws.add_loose_soil(win.levels[k], gathered_flow(win, slides, k), o.loose)
        erosion.hold_node(g, skin, win, k)  # soil that has risen to the body stops there
        slides.queued[k] = stamp
        slides.moved[nonnegative(start + place)] = erosion.node_code(i, j)
    return moved + team.count(claimed)


@wp.func
def erode(
    g: Ground, o: Options, skin: Skin, disp: Displacement, win: Window, slides: Slides, slot: int, lane: int, lanes: int
):  # fmt: skip
    """Sweep until nothing slides any more; see `erosion.erode`."""
    start = nonnegative(slot * win.nodes)
    near = disp.near[slot]
    width = near.column1 - near.column0 + 1
    nodes = wp.where(width > 0, width * (near.row1 - near.row0 + 1), 0)
    q = int(lane)
    while q < nodes:
        erosion.hold_node(
            g, skin, win, nonnegative(start + (near.row0 + q // width) * win.side + near.column0 + q % width)
        )
        q += lanes
    team.sync()
    loose = erosion.loose_nodes(win, disp, slides, slot)
    steep = o.weakest[slot] * g.spacing * real(laws.EROSION_START)  # a pair below it stands in any soil
    stamp = int(slides.sweeps[slot])
    pairs = first_pairs(g, o, skin, win, slides, slot, start, steep, loose, lane, lanes)
    i0 = int(MANY)
    i1 = int(-1)
    j0 = int(MANY)
    j1 = int(-1)
    sweep = int(0)
    while pairs > 0 and sweep < o.sweeps:
        team.sync()
        # First compute all flows, from levels that no pair has changed yet ...
        q = int(lane)
        while q < pairs:
            i, j, side = erosion.decoded(slides.pairs[nonnegative(2 * start + q)])
            k = nonnegative(start + i * win.side + j)
            n = erosion.second_node(win, k, side)
            slides.pair_flow[nonnegative(2 * k + side)] = erosion.pair_flow(g, o, skin, win, slides, k, n)
            i0 = wp.min(i0, i)
            i1 = wp.max(i1, i + side)
            j0 = wp.min(j0, j)
            j1 = wp.max(j1, j + 1 - side)
            q += lanes
        team.sync()
        stamp += 1
        moved = int(0)
        # ... then change all levels.
        base = int(0)
        while base < pairs:
            active = wp.where(base + lane < pairs, 1, 0)
            i = int(0)
            j = int(0)
            side = int(0)
            if active == 1:
                i, j, side = erosion.decoded(slides.pairs[nonnegative(2 * start + base + lane)])
            moved = settle(g, o, skin, win, slides, start, i, j, stamp, moved, active)
            moved = settle(g, o, skin, win, slides, start, i + side, j + 1 - side, stamp, moved, active)
            base += lanes
        team.sync()
        pairs = next_pairs(g, o, skin, win, slides, slot, start, moved, stamp, steep, lane, lanes)
        sweep += 1
    team.sync()
    q = int(lane)
    while q < pairs:  # pairs that are left when the maximum number of sweeps is reached
        i, j, side = erosion.decoded(slides.pairs[nonnegative(2 * start + q)])
        k = nonnegative(start + i * win.side + j)
        slides.steep[k] = 0
        slides.steep[erosion.second_node(win, k, side)] = 0
        q += lanes
    i0 = team.least_int(i0)
    i1 = team.most_int(i1)
    j0 = team.least_int(j0)
    j1 = team.most_int(j1)
    if lane == 0:
        erosion.end_slides(o, win, disp, slides, slot, Box(i0, i1, j0, j1), stamp, pairs == 0)
