"""Stages that let slopes slide until they rest: every step ends with no slope steeper than the soil can stand.

One thread a body, in sweeps over the pairs of neighbours that are too steep: all of them are looked at first and moved
then, so that no direction comes before another. A sweep looks at what the last one moved; soil at rest costs nothing.
"""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact.soil import laws
from grouser.contact.soil import types as t
from grouser.terrain.ground import natural

REACH = 2  # nodes round a footprint that a step may have made steep
GIVES, TAKES = 1, 8  # how a pair counts for its higher and for its lower node
EAST, NORTH = 0, 1  # where the other node of a pair lies


@cache
def erosion_stages(name: str) -> SimpleNamespace:
    ty = t.soil_types(name)
    real = ty.precision.real
    Ground, Options, Window = ty.ground.Arrays, ty.Options, ty.Window
    seen = wp.constant(real(0.1 * t.FAR))
    hold = wp.constant(real(laws.HOLD))
    half = wp.constant(real(0.5))

    @wp.func
    def hold_node(g: Ground, win: Window, k: int):
        """Soil just under a body cannot slide."""
        if win.under[k] < seen and win.mark[k] != t.BARE_NODE:
            if win.levels[k][0] > win.under[k] - hold * g.spacing:
                win.mark[k] = t.HELD

    @wp.func
    def loosen(win: Window, slot: int):
        """Nodes to look at first: round the body where it is and was, and where sliding did not end last time."""
        i0 = win.box[slot, t.NEAR] - REACH
        i1 = win.box[slot, t.NEAR + 1] + REACH
        j0 = win.box[slot, t.NEAR + 2] - REACH
        j1 = win.box[slot, t.NEAR + 3] + REACH
        if win.box[slot, t.RESTLESS + 1] >= win.box[slot, t.RESTLESS]:
            i0 = wp.min(i0, win.box[slot, t.RESTLESS] - win.box[slot, t.ROW0])
            i1 = wp.max(i1, win.box[slot, t.RESTLESS + 1] - win.box[slot, t.ROW0])
            j0 = wp.min(j0, win.box[slot, t.RESTLESS + 2] - win.box[slot, t.COLUMN0])
            j1 = wp.max(j1, win.box[slot, t.RESTLESS + 3] - win.box[slot, t.COLUMN0])
        win.box[slot, t.LOOSE] = wp.max(i0, 1)
        win.box[slot, t.LOOSE + 1] = wp.min(i1, win.box[slot, t.ROWS] - 2)
        win.box[slot, t.LOOSE + 2] = wp.max(j0, 1)
        win.box[slot, t.LOOSE + 3] = wp.min(j1, win.box[slot, t.COLUMNS] - 2)

    @wp.func
    def may_slide(win: Window, k: int):
        return win.mark[k] <= t.CLOSE

    @wp.func
    def pair_limit(g: Ground, o: Options, win: Window, k: int, n: int):
        """Difference of height [m] that two neighbours stand at; the weaker soil decides."""
        if o.soils.shape[0] == 1:
            return o.weakest * g.spacing
        return wp.min(o.soils[natural(win.soil[k])].tan_repose, o.soils[natural(win.soil[n])].tan_repose) * g.spacing

    @wp.func
    def room_below(win: Window, k: int):
        """Height [m] a node may gain before it reaches the body above it."""
        return win.under[k] - win.levels[k][0]

    @wp.func
    def add_pair(
        g: Ground, o: Options, win: Window, slot: int, start: int, i: int, j: int, side: int, pairs: int
    ):  # fmt: skip
        """Lists a steep pair, the second node east or north of the first; returns how many are listed.

        Not where the body holds one of them or leaves no room, soil is missing, or one lies on the window's rim.
        """
        k = natural(start + i * win.side + j)
        n = natural(k + wp.where(side == EAST, 1, win.side))
        if i < 1 or j < 1 or i + side > win.box[slot, t.ROWS] - 2 or j + 1 - side > win.box[slot, t.COLUMNS] - 2:
            return pairs
        if not may_slide(win, k) or not may_slide(win, n):
            return pairs
        lower = wp.where(win.levels[n][0] > win.levels[k][0], k, n)
        if room_below(win, lower) <= hold * g.spacing:
            return pairs
        if o.soils.shape[0] > 1:
            if laws.erosion_flux(win.levels[n][0] - win.levels[k][0], pair_limit(g, o, win, k, n)) == real(0.0):
                return pairs
        win.steep[lower] = win.steep[lower] + TAKES
        win.steep[k + n - lower] = win.steep[k + n - lower] + GIVES
        win.pairs[natural(2 * start + pairs)] = (((i << 15) + j) << 1) + side
        return pairs + 1

    @wp.func
    def first_pairs(g: Ground, o: Options, win: Window, slot: int, start: int, steep: real):
        """Lists what is too steep among the loose nodes; returns how many pairs."""
        last_column = win.box[slot, t.LOOSE + 3]
        pairs = int(0)
        for i in range(win.box[slot, t.LOOSE], win.box[slot, t.LOOSE + 1] + 1):
            j = int(win.box[slot, t.LOOSE + 2])
            while j <= last_column:
                k = start + i * win.side + j
                z = win.levels[natural(k)][0]
                east = wp.abs(win.levels[natural(k + 1)][0] - z)
                north = wp.abs(win.levels[natural(k + win.side)][0] - z)
                if wp.where(east > north, east, north) > steep:
                    if east > steep:
                        pairs = add_pair(g, o, win, slot, start, i, j, EAST, pairs)
                    if north > steep:
                        pairs = add_pair(g, o, win, slot, start, i, j, NORTH, pairs)
                j += 1
        return pairs

    @wp.func
    def next_pairs(
        g: Ground, o: Options, win: Window, slot: int, start: int, moved: int, stamp: int, steep: real
    ):  # fmt: skip
        """Lists what is too steep beside nodes that have moved, each pair once; returns how many pairs."""
        pairs = int(0)
        q = int(0)
        while q < moved:
            place = win.moved[natural(start + q)]
            i = place >> 15
            j = place & 0x7FFF
            k = natural(start + i * win.side + j)
            west = natural(k - 1)
            south = natural(k - win.side)
            z = win.levels[k][0]
            if wp.abs(win.levels[k + 1][0] - z) > steep:
                pairs = add_pair(g, o, win, slot, start, i, j, EAST, pairs)
            if wp.abs(win.levels[natural(k + win.side)][0] - z) > steep:
                pairs = add_pair(g, o, win, slot, start, i, j, NORTH, pairs)
            if wp.abs(win.levels[west][0] - z) > steep:
                if win.queued[west] != stamp:
                    pairs = add_pair(g, o, win, slot, start, i, j - 1, EAST, pairs)
            if wp.abs(win.levels[south][0] - z) > steep:
                if win.queued[south] != stamp:
                    pairs = add_pair(g, o, win, slot, start, i - 1, j, NORTH, pairs)
            q += 1
        return pairs

    @wp.func
    def crowd(steep: int):
        """Twice how many pairs a node shares its flow among: all it gives to or takes from, half of the others."""
        gives = steep % TAKES
        takes = steep / TAKES
        return gives + takes + wp.max(gives, takes)

    @wp.func
    def hand_over(g: Ground, o: Options, win: Window, k: int, n: int):
        """What slides between two neighbours in a sweep, Krenn and Hirzinger 2009, eq. 11-12, at most the room below a
        body.

        Of the excess over the height at which sliding ends each pair takes a share that leaves no node lower, or
        higher, than it should be, in however many pairs it is.
        """
        difference = win.levels[n][0] - win.levels[k][0]
        lower = wp.where(difference > real(0.0), k, n)
        sharing = wp.max(crowd(win.steep[k]), crowd(win.steep[n]))
        flow = laws.erosion_flux(difference, pair_limit(g, o, win, k, n)) / (real(1.0) + half * real(sharing))
        room = room_below(win, lower) / real(win.steep[lower] / TAKES)
        flow = wp.clamp(flow, -room, room)
        win.flow[k] = win.flow[k] + flow
        win.flow[n] = win.flow[n] - flow

    @wp.func
    def settle(g: Ground, o: Options, win: Window, start: int, i: int, j: int, stamp: int, moved: int):
        """Apply what slid to a node, once; returns how many have moved."""
        k = natural(start + i * win.side + j)
        if win.steep[k] == 0:
            return moved
        win.steep[k] = 0
        win.levels[k] = laws.cover(win.levels[k], win.flow[k], o.loose)
        win.flow[k] = real(0.0)
        hold_node(g, win, k)
        win.queued[k] = stamp
        win.moved[natural(start + moved)] = (i << 15) + j
        return moved + 1

    @wp.func
    def kept_edge(edge: int, moved: int, spare: int):
        """First row or column the window keeps for slides: set anew where soil moves close to it, or far from it."""
        if edge > moved - spare / 2 or edge < moved - 2 * spare:
            return moved - spare
        return edge

    @wp.func
    def remember(o: Options, win: Window, slot: int, ended: bool):
        """What the window holds in the next step, and what is looked at first: all that moved, if some still may."""
        r0 = win.box[slot, t.ROW0]
        c0 = win.box[slot, t.COLUMN0]
        i0 = win.box[slot, t.NEAR] - REACH
        i1 = win.box[slot, t.NEAR + 1] + REACH
        j0 = win.box[slot, t.NEAR + 2] - REACH
        j1 = win.box[slot, t.NEAR + 3] + REACH
        if not ended:
            i0 = wp.min(i0, win.box[slot, t.MOVED_BOX] - REACH)
            i1 = wp.max(i1, win.box[slot, t.MOVED_BOX + 1] + REACH)
            j0 = wp.min(j0, win.box[slot, t.MOVED_BOX + 2] - REACH)
            j1 = wp.max(j1, win.box[slot, t.MOVED_BOX + 3] + REACH)
        win.box[slot, t.RESTLESS] = i0 + r0
        win.box[slot, t.RESTLESS + 1] = i1 + r0
        win.box[slot, t.RESTLESS + 2] = j0 + c0
        win.box[slot, t.RESTLESS + 3] = j1 + c0
        if win.box[slot, t.MOVED_BOX + 1] >= win.box[slot, t.MOVED_BOX]:
            for side in range(2):
                first = t.SLID + 2 * side
                origin = wp.where(side == 0, r0, c0)
                low = win.box[slot, t.MOVED_BOX + 2 * side] + origin
                high = win.box[slot, t.MOVED_BOX + 2 * side + 1] + origin
                win.box[slot, first] = kept_edge(win.box[slot, first], low, o.spare)
                win.box[slot, first + 1] = -kept_edge(-win.box[slot, first + 1], -high, o.spare)

    @wp.func
    def erode(g: Ground, o: Options, win: Window, slot: int):
        """Sweeps until nothing slides; what a bound on them or the window's rim leaves over slides in the next step."""
        start = natural(slot * win.side * win.side)
        for i in range(win.box[slot, t.NEAR], win.box[slot, t.NEAR + 1] + 1):
            for j in range(win.box[slot, t.NEAR + 2], win.box[slot, t.NEAR + 3] + 1):
                hold_node(g, win, natural(start + i * win.side + j))
        loosen(win, slot)
        steep = o.weakest * g.spacing * real(1.0 + laws.EROSION_BAND)
        stamp = int(win.box[slot, t.SWEEP])
        pairs = first_pairs(g, o, win, slot, start, steep)
        i0 = int(1 << 20)
        i1 = int(-1)
        j0 = int(1 << 20)
        j1 = int(-1)
        sweep = int(0)
        while pairs > 0 and sweep < o.sweeps:
            q = int(0)
            while q < pairs:
                code = win.pairs[natural(2 * start + q)]
                k = natural(start + (code >> 16) * win.side + ((code >> 1) & 0x7FFF))
                hand_over(g, o, win, k, natural(k + wp.where((code & 1) == EAST, 1, win.side)))
                q += 1
            stamp += 1
            moved = int(0)
            q = int(0)
            while q < pairs:
                code = win.pairs[natural(2 * start + q)]
                i = code >> 16
                j = (code >> 1) & 0x7FFF
                side = code & 1
                i0 = wp.min(i0, i)
                i1 = wp.max(i1, i + side)
                j0 = wp.min(j0, j)
                j1 = wp.max(j1, j + 1 - side)
                moved = settle(g, o, win, start, i, j, stamp, moved)
                moved = settle(g, o, win, start, i + side, j + 1 - side, stamp, moved)
                q += 1
            pairs = next_pairs(g, o, win, slot, start, moved, stamp, steep)
            sweep += 1
        for q in range(pairs):  # what is left over
            code = win.pairs[natural(2 * start + q)]
            k = natural(start + (code >> 16) * win.side + ((code >> 1) & 0x7FFF))
            win.steep[k] = 0
            win.steep[natural(k + wp.where((code & 1) == EAST, 1, win.side))] = 0
        win.box[slot, t.SWEEP] = stamp
        if i1 >= 0:
            win.box[slot, t.CHANGED] = 1
            win.box[slot, t.MOVED_BOX] = i0
            win.box[slot, t.MOVED_BOX + 1] = i1
            win.box[slot, t.MOVED_BOX + 2] = j0
            win.box[slot, t.MOVED_BOX + 3] = j1
        at_rim = i0 <= 1 or j0 <= 1 or i1 >= win.box[slot, t.ROWS] - 2 or j1 >= win.box[slot, t.COLUMNS] - 2
        remember(o, win, slot, pairs == 0 and not at_rim)

    return SimpleNamespace(erode=erode)
