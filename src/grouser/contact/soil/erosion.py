"""Stage `erode`: slopes steeper than the soil can stand slide within the step until they rest.

One thread per body, in sweeps over the pairs of neighbouring nodes that are too steep. A sweep first computes the flow
of all pairs and then moves the soil, so that no direction is preferred. The next sweep looks only next to nodes that
moved, so soil at rest costs nothing.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import bottom, boxes, laws
from grouser.contact.soil import types as t
from grouser.contact.soil.elements import MANY, Box
from grouser.contact.soil.types import SEEN, Displacement, Options, Skin, Slides, Window
from grouser.device import nonnegative
from grouser.precision import real
from grouser.terrain.ground import SURFACE
from grouser.terrain.ground import GroundArrays as Ground

REACH = 3  # [nodes] distance from a footprint within which a step may have made slopes too steep
GIVES, TAKES = 1, 8  # added to `steep` of the higher and the lower node of a pair; a node is in at most four pairs
TO_EAST, TO_NORTH = 0, 1  # side: where the second node of a pair lies
HOLD = wp.constant(real(laws.HOLD))
HALF = wp.constant(real(0.5))
FILM = wp.constant(real(bottom.FILM))


# ---- nodes and pairs by number ----------------------------------------------------------------------------


@wp.func
def node_code(i: int, j: int):
    """Pack row and column of a node into one number."""
    return (i << 15) + j


@wp.func
def pair_code(i: int, j: int, side: int):
    """Pack row and column of the first node of a pair, and the side of the second, into one number."""
    return (node_code(i, j) << 1) + side


@wp.func
def decoded(code: int):
    """Row, column and side of a pair, from `pair_code`."""
    return code >> 16, (code >> 1) & 0x7FFF, code & 1


@wp.func
def second_node(win: Window, k: int, side: int):
    """Index of the second node of a pair whose first node is k."""
    return nonnegative(k + wp.where(side == TO_EAST, 1, win.side))


# ---- what may slide ---------------------------------------------------------------------------------------


@wp.func
def hold_node(g: Ground, skin: Skin, win: Window, k: int):
    """Mark a node whose soil touches the body above it, or nearly: it cannot slide."""
    if skin.height[k] < SEEN and win.mark[k] != t.BARE_NODE:
        if win.levels[k][SURFACE] > skin.height[k] - HOLD * g.spacing:
            win.mark[k] = t.HELD


@wp.func
def may_slide(win: Window, k: int):
    """Whether the soil of a node is free to slide: not in contact, held or bare."""
    return win.mark[k] <= t.CLOSE


@wp.func
def pair_limit(g: Ground, o: Options, win: Window, k: int, n: int):
    """Largest height difference [m] at which two neighbours stand, by the weaker of their soils."""
    if o.soils.shape[0] == 1:
        return o.soils[0].tan_repose * g.spacing
    return (
        wp.min(o.soils[nonnegative(win.soil[k])].tan_repose, o.soils[nonnegative(win.soil[n])].tan_repose) * g.spacing
    )


@wp.func
def lower_node(win: Window, k: int, n: int):
    """The lower of two nodes; the second if they are level."""
    return wp.where(win.levels[n][SURFACE] > win.levels[k][SURFACE], k, n)


@wp.func
def step_between(win: Window, k: int, n: int):
    """Height difference [m] of two nodes."""
    return wp.abs(win.levels[n][SURFACE] - win.levels[k][SURFACE])


@wp.func
def room_below(skin: Skin, win: Window, k: int):
    """Height [m] that a node may gain before it reaches the body above it."""
    return skin.height[k] - win.levels[k][SURFACE]


@wp.func
def loose_nodes(win: Window, disp: Displacement, slides: Slides, slot: int):
    """Box of the nodes to check first: around the body now and a step ago, and where sliding did not end last time."""
    frame = win.frame[slot]
    loose = boxes.grown(disp.near[slot], REACH)
    if slides.recheck[slot].row1 >= slides.recheck[slot].row0:
        loose = boxes.spanning(loose, boxes.shifted(slides.recheck[slot], -frame.row0, -frame.column0))
    return boxes.common(loose, boxes.inside_rim(frame.rows, frame.columns))


# ---- lists of steep pairs ---------------------------------------------------------------------------------


@wp.func
def pair_slides(g: Ground, o: Options, skin: Skin, win: Window, slot: int, start: int, i: int, j: int, side: int):
    """Whether a steep pair, whose first node is in row i and column j, slides: 1 or 0.

    It does not if the body holds one of its nodes or leaves no room above the lower one, if a node is bare, or if one
    lies on the rim of the window.
    """
    k = nonnegative(start + i * win.side + j)
    n = second_node(win, k, side)
    if i < 1 or j < 1 or i + side > win.frame[slot].rows - 2 or j + 1 - side > win.frame[slot].columns - 2:
        return 0
    if not may_slide(win, k) or not may_slide(win, n):
        return 0
    lower = lower_node(win, k, n)
    if room_below(skin, win, lower) <= HOLD * g.spacing:
        return 0
    # Hard ground may be as steep as it is.
    if bottom.is_limited(g, o):
        if bottom.soil_left(g, win, k + n - lower) <= FILM:
            return 0
    # Candidates were chosen by the weakest soil of the world. Check again with the two soils of this pair.
    if o.soils.shape[0] > 1:
        difference = win.levels[n][SURFACE] - win.levels[k][SURFACE]
        if laws.erosion_flux(difference, pair_limit(g, o, win, k, n)) == real(0.0):
            return 0
    return 1


@wp.func
def add_pair(
    g: Ground, o: Options, skin: Skin, win: Window, slides: Slides,
    slot: int, start: int, i: int, j: int, side: int, pairs: int,
):  # fmt: skip
    """Add a steep pair, whose first node is in row i and column j, to the list. Returns the new length of the list."""
    if pair_slides(g, o, skin, win, slot, start, i, j, side) == 0:
        return pairs
    k = nonnegative(start + i * win.side + j)
    n = second_node(win, k, side)
    lower = lower_node(win, k, n)
    slides.steep[lower] = slides.steep[lower] + TAKES
    slides.steep[k + n - lower] = slides.steep[k + n - lower] + GIVES
    slides.pairs[nonnegative(2 * start + pairs)] = pair_code(i, j, side)
    return pairs + 1


@wp.func
def first_pairs(g: Ground, o: Options, skin: Skin, win: Window, slides: Slides, slot: int, start: int, steep: real):
    """List the steep pairs among the nodes of `slides.loose`. Returns their number."""
    last_column = slides.loose[slot].column1
    pairs = int(0)
    for i in range(slides.loose[slot].row0, slides.loose[slot].row1 + 1):
        j = int(slides.loose[slot].column0)
        while j <= last_column:
            k = start + i * win.side + j
            z = win.levels[nonnegative(k)][SURFACE]
            east = wp.abs(win.levels[nonnegative(k + 1)][SURFACE] - z)
            north = wp.abs(win.levels[nonnegative(k + win.side)][SURFACE] - z)
            # One test for both neighbours: nearly all nodes are at rest.
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
    """List the steep pairs next to nodes that moved in the last sweep, each pair once. Returns their number."""
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
        # A western or southern neighbour that moved too lists the pair itself.
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
def shared_pairs(steep: int):
    """Twice the number n of pairs among which a node shares its flow; twice, to stay an integer.

    A pair moves 1 / (1 + n) of its excess height. n counts the steep pairs that the node gives soil to or those that it
    takes soil from, whichever are more, plus half of the others. So 2 n = gives + takes + max(gives, takes).
    """
    gives = steep % TAKES
    takes = steep // TAKES
    return gives + takes + wp.max(gives, takes)


@wp.func
def pair_flow(g: Ground, o: Options, skin: Skin, win: Window, slides: Slides, k: int, n: int):
    """Height [m] that slides from the second of two neighbours to the first in a sweep.

    Krenn and Hirzinger 2009, eq. 11-12. A pair moves only a share of its excess height, depending on how many pairs its
    nodes are in. Otherwise a node in several pairs would overshoot and the slope oscillate. Soil never rises into a
    body above it.
    """
    difference = win.levels[n][SURFACE] - win.levels[k][SURFACE]
    lower = wp.where(difference > real(0.0), k, n)
    sharing = wp.max(shared_pairs(slides.steep[k]), shared_pairs(slides.steep[n]))
    flow = laws.erosion_flux(difference, pair_limit(g, o, win, k, n)) / (real(1.0) + HALF * real(sharing))
    room = room_below(skin, win, lower) / real(slides.steep[lower] // TAKES)  # shared by all pairs that feed it
    flow = wp.clamp(flow, -room, room)
    if bottom.is_limited(g, o):
        upper = k + n - lower
        left = bottom.soil_left(g, win, upper) / real(slides.steep[upper] % TAKES)  # shared by all pairs it feeds
        flow = wp.clamp(flow, -left, left)
    return flow


@wp.func
def add_flow(g: Ground, o: Options, skin: Skin, win: Window, slides: Slides, k: int, n: int):
    """Add the height that slides between two neighbours in a sweep to their flows."""
    flow = pair_flow(g, o, skin, win, slides, k, n)
    slides.flow[k] = slides.flow[k] + flow
    slides.flow[n] = slides.flow[n] - flow


@wp.func
def settle_node(g: Ground, o: Options, skin: Skin, win: Window, slides: Slides, k: int, stamp: int):
    """Apply the flow of a sweep to a node."""
    win.levels[k] = laws.add_loose_soil(win.levels[k], slides.flow[k], o.loose)
    slides.flow[k] = real(0.0)
    hold_node(g, skin, win, k)  # soil that has risen to the body stops there
    slides.queued[k] = stamp


@wp.func
def settle(
    g: Ground, o: Options, skin: Skin, win: Window, slides: Slides,
    start: int, i: int, j: int, stamp: int, moved: int,
):  # fmt: skip
    """Apply the flow of a sweep to a node and list it as moved. Returns the new number of moved nodes."""
    k = nonnegative(start + i * win.side + j)
    if slides.steep[k] == 0:  # already done as a node of another pair
        return moved
    slides.steep[k] = 0
    settle_node(g, o, skin, win, slides, k, stamp)
    slides.moved[nonnegative(start + moved)] = node_code(i, j)
    return moved + 1


@wp.func
def forget_pairs(win: Window, slides: Slides, start: int, pairs: int):
    """Reset `steep` of the pairs that are left when the maximum number of sweeps is reached."""
    for q in range(pairs):
        i, j, side = decoded(slides.pairs[nonnegative(2 * start + q)])
        k = nonnegative(start + i * win.side + j)
        slides.steep[k] = 0
        slides.steep[second_node(win, k, side)] = 0


# ---- one body ---------------------------------------------------------------------------------------------


@wp.func
def kept_edge(edge: int, moved: int, spare: int):
    """First row or column that the window keeps for slides.

    It changes only if soil moves close to it or far away from it. If it followed every slide, the window would have to
    be copied from the tiles in every step.
    """
    if edge > moved - spare // 2 or edge < moved - 2 * spare:
        return moved - spare
    return edge


@wp.func
def remember_slides(o: Options, win: Window, disp: Displacement, slides: Slides, slot: int, ended: bool):
    """Store the boxes for the next step: `recheck`, the nodes to check first, and `slid`, the nodes the window holds.

    If sliding has not ended, `recheck` includes all nodes that moved.
    """
    frame = win.frame[slot]
    moving = slides.moving[slot]
    recheck = boxes.grown(disp.near[slot], REACH)
    if not ended:
        recheck = boxes.spanning(recheck, boxes.grown(moving, REACH))
    slides.recheck[slot] = boxes.shifted(recheck, frame.row0, frame.column0)
    if moving.row1 >= moving.row0:
        slid = slides.slid[slot]
        here = boxes.shifted(moving, frame.row0, frame.column0)
        slides.slid[slot] = Box(
            kept_edge(slid.row0, here.row0, o.spare), -kept_edge(-slid.row1, -here.row1, o.spare),
            kept_edge(slid.column0, here.column0, o.spare), -kept_edge(-slid.column1, -here.column1, o.spare),
        )  # fmt: skip


@wp.func
def end_slides(
    o: Options, win: Window, disp: Displacement, slides: Slides, slot: int, moving: Box, stamp: int, at_rest: bool
):  # fmt: skip
    """Store what the slides of a step leave for the next: the box of nodes that moved, and where to look again."""
    slides.sweeps[slot] = stamp
    if moving.row1 >= 0:
        win.changed[slot] = 1
        slides.moving[slot] = moving
    # A slide that reaches the rim has not ended: nodes there cannot move in this window. The next window is larger.
    at_rim = (
        moving.row0 <= 1
        or moving.column0 <= 1
        or moving.row1 >= win.frame[slot].rows - 2
        or moving.column1 >= win.frame[slot].columns - 2
    )
    remember_slides(o, win, disp, slides, slot, at_rest and not at_rim)


@wp.func
def hold_nodes(g: Ground, skin: Skin, disp: Displacement, win: Window, slot: int):
    """Mark the nodes near the body that cannot slide."""
    start = nonnegative(slot * win.nodes)
    for i in range(disp.near[slot].row0, disp.near[slot].row1 + 1):
        for j in range(disp.near[slot].column0, disp.near[slot].column1 + 1):
            hold_node(g, skin, win, nonnegative(start + i * win.side + j))


@wp.func
def slide(g: Ground, o: Options, skin: Skin, win: Window, slides: Slides, slot: int, start: int, steep: real):
    """Sweep until nothing slides any more. Returns the number of pairs left by the maximum number of sweeps.

    Writes `moving`, the box of the nodes that moved, and the stamp `sweeps`.
    """
    stamp = int(slides.sweeps[slot])  # continues from the last step, so that `queued` need not be cleared
    pairs = first_pairs(g, o, skin, win, slides, slot, start, steep)
    i0 = int(MANY)
    i1 = int(-1)
    j0 = int(MANY)
    j1 = int(-1)
    sweep = int(0)
    while pairs > 0 and sweep < o.sweeps:
        # First compute all flows, from levels that no pair has changed yet ...
        q = int(0)
        while q < pairs:
            i, j, side = decoded(slides.pairs[nonnegative(2 * start + q)])
            k = nonnegative(start + i * win.side + j)
            add_flow(g, o, skin, win, slides, k, second_node(win, k, side))
            q += 1
        stamp += 1
        moved = int(0)
        # ... then change all levels.
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
    slides.moving[slot] = Box(i0, i1, j0, j1)
    slides.sweeps[slot] = stamp
    return pairs


@wp.func
def erode(g: Ground, o: Options, skin: Skin, disp: Displacement, win: Window, slides: Slides, slot: int):
    """Let soil slide until it rests.

    Slopes left over because of the maximum number of sweeps or the rim of the window slide in the next step.
    """
    start = nonnegative(slot * win.nodes)
    hold_nodes(g, skin, disp, win, slot)
    slides.loose[slot] = loose_nodes(win, disp, slides, slot)
    # Limit of the weakest soil of the world: a pair below it stands in any of its soils.
    steep = o.weakest[slot] * g.spacing * real(laws.EROSION_START)
    pairs = slide(g, o, skin, win, slides, slot, start, steep)
    forget_pairs(win, slides, start, pairs)
    end_slides(o, win, disp, slides, slot, slides.moving[slot], slides.sweeps[slot], pairs == 0)
