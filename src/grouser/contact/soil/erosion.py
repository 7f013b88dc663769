"""Stage `erode`: slopes slide until they rest, so that no step ends with a slope steeper than the soil can stand.

One thread a body, in sweeps over the pairs of neighbours that are too steep. Every sweep first finds what slides
between all pairs and then moves it: no direction comes before another. A sweep looks only beside what the last one
moved, so soil at rest costs nothing.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import boxes, laws
from grouser.contact.soil import types as t
from grouser.contact.soil.types import SEEN, Box, Displacement, Options, Skin, Slides, Window
from grouser.device import nonnegative
from grouser.precision import real
from grouser.terrain.ground import SURFACE
from grouser.terrain.ground import GroundArrays as Ground

REACH = 2  # nodes round a footprint that a step may have made steep
GIVES, TAKES = 1, 8  # how a pair counts in `steep` for its higher and for its lower node; a node has four pairs at most
TO_EAST, TO_NORTH = 0, 1  # where the second node of a pair lies
HOLD = wp.constant(real(laws.HOLD))
HALF = wp.constant(real(0.5))


# ---- nodes and pairs by number ----------------------------------------------------------------------------


@wp.func
def node_code(i: int, j: int):
    """Row and column of a node in one number."""
    return (i << 15) + j


@wp.func
def pair_code(i: int, j: int, side: int):
    """Row and column of the first node of a pair, and where the second lies, in one number."""
    return (node_code(i, j) << 1) + side


@wp.func
def decoded(code: int):
    """Row, column and side of a pair."""
    return code >> 16, (code >> 1) & 0x7FFF, code & 1


@wp.func
def second_node(win: Window, k: int, side: int):
    """Number of the second node of a pair whose first is k."""
    return nonnegative(k + wp.where(side == TO_EAST, 1, win.side))


# ---- what may slide ---------------------------------------------------------------------------------------


@wp.func
def hold_node(g: Ground, skin: Skin, win: Window, k: int):
    """Mark soil just under a body: it cannot slide."""
    if skin.height[k] < SEEN and win.mark[k] != t.BARE_NODE:
        if win.levels[k][SURFACE] > skin.height[k] - HOLD * g.spacing:
            win.mark[k] = t.HELD


@wp.func
def may_slide(win: Window, k: int):
    """Whether nothing holds the soil of a node."""
    return win.mark[k] <= t.CLOSE


@wp.func
def pair_limit(g: Ground, o: Options, win: Window, k: int, n: int):
    """Difference of height [m] that two neighbours stand at; the weaker soil decides."""
    if o.soils.shape[0] == 1:
        return o.weakest * g.spacing
    return (
        wp.min(o.soils[nonnegative(win.soil[k])].tan_repose, o.soils[nonnegative(win.soil[n])].tan_repose) * g.spacing
    )


@wp.func
def room_below(skin: Skin, win: Window, k: int):
    """Height [m] that a node may gain before it reaches the body above it."""
    return skin.height[k] - win.levels[k][SURFACE]


@wp.func
def loose_nodes(win: Window, disp: Displacement, slides: Slides, slot: int):
    """Nodes to look at first: round the body where it is and was, and where sliding did not end last time."""
    frame = win.frame[slot]
    loose = boxes.grown(disp.near[slot], REACH)
    if slides.restless[slot].row1 >= slides.restless[slot].row0:
        loose = boxes.spanning(loose, boxes.shifted(slides.restless[slot], -frame.row0, -frame.column0))
    return boxes.common(loose, boxes.inside_rim(frame.rows, frame.columns))


# ---- lists of steep pairs ---------------------------------------------------------------------------------


@wp.func
def add_pair(
    g: Ground, o: Options, skin: Skin, win: Window, slides: Slides,
    slot: int, start: int, i: int, j: int, side: int, pairs: int,
):  # fmt: skip
    """List a steep pair whose first node is in row i and column j; returns how many are listed.

    Not where the body holds one of them or leaves no room, soil is missing, or one lies on the window's rim.
    """
    k = nonnegative(start + i * win.side + j)
    n = second_node(win, k, side)
    if i < 1 or j < 1 or i + side > win.frame[slot].rows - 2 or j + 1 - side > win.frame[slot].columns - 2:
        return pairs
    if not may_slide(win, k) or not may_slide(win, n):
        return pairs
    lower = wp.where(win.levels[n][SURFACE] > win.levels[k][SURFACE], k, n)
    if room_below(skin, win, lower) <= HOLD * g.spacing:
        return pairs
    # Candidates were chosen by the weakest soil of all; here the two soils of the pair decide.
    if o.soils.shape[0] > 1:
        difference = win.levels[n][SURFACE] - win.levels[k][SURFACE]
        if laws.erosion_flux(difference, pair_limit(g, o, win, k, n)) == real(0.0):
            return pairs
    slides.steep[lower] = slides.steep[lower] + TAKES
    slides.steep[k + n - lower] = slides.steep[k + n - lower] + GIVES
    slides.pairs[nonnegative(2 * start + pairs)] = pair_code(i, j, side)
    return pairs + 1


@wp.func
def first_pairs(g: Ground, o: Options, skin: Skin, win: Window, slides: Slides, slot: int, start: int, steep: real):
    """List what is too steep among the loose nodes; returns how many pairs."""
    last_column = slides.loose[slot].column1
    pairs = int(0)
    for i in range(slides.loose[slot].row0, slides.loose[slot].row1 + 1):
        j = int(slides.loose[slot].column0)
        while j <= last_column:
            k = start + i * win.side + j
            z = win.levels[nonnegative(k)][SURFACE]
            east = wp.abs(win.levels[nonnegative(k + 1)][SURFACE] - z)
            north = wp.abs(win.levels[nonnegative(k + win.side)][SURFACE] - z)
            # One test for both: nearly all nodes are at rest.
            if wp.where(east > north, east, north) > steep:
                if east > steep:
                    pairs = add_pair(g, o, skin, win, slides, slot, start, i, j, TO_EAST, pairs)
                if north > steep:
                    pairs = add_pair(g, o, skin, win, slides, slot, start, i, j, TO_NORTH, pairs)
            j += 1
    return pairs


@wp.func
def next_pairs(
    g: Ground, o: Options, skin: Skin, win: Window, slides: Slides,
    slot: int, start: int, moved: int, stamp: int, steep: real,
):  # fmt: skip
    """List what is too steep beside nodes that have moved, each pair once; returns how many pairs."""
    pairs = int(0)
    q = int(0)
    while q < moved:
        code = slides.moved[nonnegative(start + q)]
        i = code >> 15
        j = code & 0x7FFF
        k = nonnegative(start + i * win.side + j)
        west = nonnegative(k - 1)
        south = nonnegative(k - win.side)
        z = win.levels[k][SURFACE]
        if wp.abs(win.levels[k + 1][SURFACE] - z) > steep:
            pairs = add_pair(g, o, skin, win, slides, slot, start, i, j, TO_EAST, pairs)
        if wp.abs(win.levels[nonnegative(k + win.side)][SURFACE] - z) > steep:
            pairs = add_pair(g, o, skin, win, slides, slot, start, i, j, TO_NORTH, pairs)
        # A neighbour west or south that has moved too lists the pair itself.
        if wp.abs(win.levels[west][SURFACE] - z) > steep:
            if slides.queued[west] != stamp:
                pairs = add_pair(g, o, skin, win, slides, slot, start, i, j - 1, TO_EAST, pairs)
        if wp.abs(win.levels[south][SURFACE] - z) > steep:
            if slides.queued[south] != stamp:
                pairs = add_pair(g, o, skin, win, slides, slot, start, i - 1, j, TO_NORTH, pairs)
        q += 1
    return pairs


# ---- one sweep --------------------------------------------------------------------------------------------


@wp.func
def crowd(steep: int):
    """Twice how many pairs a node shares its flow among: all it gives to or takes from, half of the others."""
    gives = steep % TAKES
    takes = steep // TAKES
    return gives + takes + wp.max(gives, takes)


@wp.func
def hand_over(g: Ground, o: Options, skin: Skin, win: Window, slides: Slides, k: int, n: int):
    """Add what slides between two neighbours in a sweep to their flows, at most the room below a body.

    Krenn and Hirzinger 2009, eq. 11-12. Of the excess over the height at which sliding ends each pair takes a share
    that leaves no node lower, or higher, than it should be, in however many pairs it is.
    """
    difference = win.levels[n][SURFACE] - win.levels[k][SURFACE]
    lower = wp.where(difference > real(0.0), k, n)
    sharing = wp.max(crowd(slides.steep[k]), crowd(slides.steep[n]))
    flow = laws.erosion_flux(difference, pair_limit(g, o, win, k, n)) / (real(1.0) + HALF * real(sharing))
    room = room_below(skin, win, lower) / real(slides.steep[lower] // TAKES)  # shared by all pairs it takes from
    flow = wp.clamp(flow, -room, room)
    slides.flow[k] = slides.flow[k] + flow
    slides.flow[n] = slides.flow[n] - flow


@wp.func
def settle(
    g: Ground, o: Options, skin: Skin, win: Window, slides: Slides,
    start: int, i: int, j: int, stamp: int, moved: int,
):  # fmt: skip
    """Apply what slid to a node, once; returns how many have moved."""
    k = nonnegative(start + i * win.side + j)
    if slides.steep[k] == 0:  # done already, as a node of another pair
        return moved
    slides.steep[k] = 0
    win.levels[k] = laws.cover(win.levels[k], slides.flow[k], o.loose)
    slides.flow[k] = real(0.0)
    hold_node(g, skin, win, k)  # soil that has slid up to the body stops there
    slides.queued[k] = stamp
    slides.moved[nonnegative(start + moved)] = node_code(i, j)
    return moved + 1


@wp.func
def forget_pairs(win: Window, slides: Slides, start: int, pairs: int):
    """Unmark the nodes of pairs that a bound on the sweeps leaves over."""
    for q in range(pairs):
        i, j, side = decoded(slides.pairs[nonnegative(2 * start + q)])
        k = nonnegative(start + i * win.side + j)
        slides.steep[k] = 0
        slides.steep[second_node(win, k, side)] = 0


# ---- one body ---------------------------------------------------------------------------------------------


@wp.func
def kept_edge(edge: int, moved: int, spare: int):
    """First row or column the window keeps for slides: set anew where soil moves close to it, or far from it.

    Only then: a window that changes with every slide would be filled from the tiles in every step.
    """
    if edge > moved - spare // 2 or edge < moved - 2 * spare:
        return moved - spare
    return edge


@wp.func
def remember_slides(o: Options, win: Window, disp: Displacement, slides: Slides, slot: int, ended: bool):
    """Keep what the next step's window holds and looks at first: all that moved, if some still may."""
    frame = win.frame[slot]
    moving = slides.moving[slot]
    restless = boxes.grown(disp.near[slot], REACH)
    if not ended:
        restless = boxes.spanning(restless, boxes.grown(moving, REACH))
    slides.restless[slot] = boxes.shifted(restless, frame.row0, frame.column0)
    if moving.row1 >= moving.row0:
        slid = slides.slid[slot]
        here = boxes.shifted(moving, frame.row0, frame.column0)
        slides.slid[slot] = Box(
            kept_edge(slid.row0, here.row0, o.spare), -kept_edge(-slid.row1, -here.row1, o.spare),
            kept_edge(slid.column0, here.column0, o.spare), -kept_edge(-slid.column1, -here.column1, o.spare),
        )  # fmt: skip


@wp.func
def erode(g: Ground, o: Options, skin: Skin, disp: Displacement, win: Window, slides: Slides, slot: int):
    """Sweep until nothing slides.

    What a bound on the sweeps or the window's rim leaves over slides in the next step.
    """
    start = nonnegative(slot * win.side * win.side)
    for i in range(disp.near[slot].row0, disp.near[slot].row1 + 1):
        for j in range(disp.near[slot].column0, disp.near[slot].column1 + 1):
            hold_node(g, skin, win, nonnegative(start + i * win.side + j))
    slides.loose[slot] = loose_nodes(win, disp, slides, slot)
    # By the weakest soil: a pair that stands by this stands in any.
    steep = o.weakest * g.spacing * real(laws.EROSION_START)
    stamp = int(slides.sweeps[slot])  # goes on from the last step, so that `queued` need not be cleared
    pairs = first_pairs(g, o, skin, win, slides, slot, start, steep)
    i0 = int(t.MANY)
    i1 = int(-1)
    j0 = int(t.MANY)
    j1 = int(-1)
    sweep = int(0)
    while pairs > 0 and sweep < o.sweeps:
        # First all flows, from levels that no pair has changed yet ...
        q = int(0)
        while q < pairs:
            i, j, side = decoded(slides.pairs[nonnegative(2 * start + q)])
            k = nonnegative(start + i * win.side + j)
            hand_over(g, o, skin, win, slides, k, second_node(win, k, side))
            q += 1
        stamp += 1
        moved = int(0)
        # ... then all levels.
        q = int(0)
        while q < pairs:
            i, j, side = decoded(slides.pairs[nonnegative(2 * start + q)])
            i0 = wp.min(i0, i)
            i1 = wp.max(i1, i + side)
            j0 = wp.min(j0, j)
            j1 = wp.max(j1, j + 1 - side)
            moved = settle(g, o, skin, win, slides, start, i, j, stamp, moved)
            moved = settle(g, o, skin, win, slides, start, i + side, j + 1 - side, stamp, moved)
            q += 1
        pairs = next_pairs(g, o, skin, win, slides, slot, start, moved, stamp, steep)
        sweep += 1
    forget_pairs(win, slides, start, pairs)
    slides.sweeps[slot] = stamp
    if i1 >= 0:
        win.changed[slot] = 1
        slides.moving[slot] = Box(i0, i1, j0, j1)
    # At the rim a slide meets nodes that cannot move in this window: the next one is larger there.
    at_rim = i0 <= 1 or j0 <= 1 or i1 >= win.frame[slot].rows - 2 or j1 >= win.frame[slot].columns - 2
    remember_slides(o, win, disp, slides, slot, pairs == 0 and not at_rim)
