"""Stage `erode` in lanes: eight pairs of nodes at once, without branches that depend on the soil.

The laws of nodes and pairs are those of `erosion.py`, translated by `grouser.lanes`. Here is only how pairs and nodes
are listed. Lists and sums have the order of one by one, so the flows of a node add up to the same number.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from grouser.contact.soil import erosion
from grouser.contact.soil.lane_text import declared, text_of
from grouser.contact.soil.types import Displacement, Options, Skin, Slides, Window
from grouser.precision import real
from grouser.terrain.ground import GroundArrays as Ground

HOLD = """
const auto near = disp.near.data[slot];
for (int i = near.row0; i <= near.row1; ++i)
    for (int j = near.column0; j <= near.column1; j += LANES)
        hold_node(Ahead(near.column1 + 1 - j), g, skin, win, Run{slot * win.nodes + i * win.side + j});
"""

# A pair is a number: row and column of its first node, and the side of the second, see `erosion.pair_code`.
SLIDE = """
enum { EAST_STEP = 1, NORTH_STEP = 1 << 15, GIVES = 1, TAKES = 8 };
const int side = win.side;
int* const pair_list = slides.pairs.data + 2 * start;
int* const moved_list = slides.moved.data + start;
int* const steep_of = slides.steep.data;
real* const flow_of = slides.flow.data;
int pairs = 0, waiting = 0;
int wait[6 * LANES];  // pairs that are steep; it is not yet known whether they slide
const auto First = LAMBDA(Ints pair) { return (Ints)(start) + (pair >> 16) * (Ints)(side) + ((pair >> 1) & 0x7fff); };

// Add those of some pairs that slide to the list, and count the pairs of each node.
const auto add_pairs = LAMBDA(int first, int count) {
    const Ints pair = Listed(wait + first, count);
    const Ints way = pair & 1, k = First(pair), n = Up(second_node(Everywhere, win, k, way));
    const Ints goes = Ahead(count) & Up(Up(pair_slides(
        Everywhere, g, o, skin, win, slot, start, pair >> 16, (pair >> 1) & 0x7fff, way)) != 0);
    const Ints low = Up(lower_node(Everywhere, win, k, n)), high = k + n - low;
    pairs += Append(goes, pair, pair_list + pairs);
    const Ints takes = goes & (Ints)(TAKES), gives = goes & (Ints)(GIVES);
    for (int l = 0; l < LANES; ++l) {
        steep_of[low[l]] += (int)takes[l];
        steep_of[high[l]] += (int)gives[l];
    }
};
const auto add_full = LAMBDA() {  // all groups that fill the lanes
    int first = 0;
    for (; waiting - first >= LANES; first += LANES) add_pairs(first, LANES);
    if (first == 0) return;
    waiting -= first;
    __builtin_memcpy(wait, wait + first, LANES * sizeof(int));
};
const auto add_rest = LAMBDA() {
    if (waiting > 0) add_pairs(0, waiting);
    waiting = 0;
};
// Four numbers of each node beside each other.
const auto ByNode = LAMBDA(Ints x0, Ints x1, Ints x2, Ints x3, Ints* to) {
    const Ints a = FIRST(x0, x1), b = SECOND(x0, x1), c = FIRST(x2, x3), d = SECOND(x2, x3);
    to[0] = JOINED(UNSORTED(a, c, 0), UNSORTED(a, c, 1));
    to[1] = JOINED(UNSORTED(a, c, 2), UNSORTED(a, c, 3));
    to[2] = JOINED(UNSORTED(b, d, 0), UNSORTED(b, d, 1));
    to[3] = JOINED(UNSORTED(b, d, 2), UNSORTED(b, d, 3));
};
// Let the pairs of up to eight nodes with their neighbours wait: node by node, to the east, north, west and south.
const auto add_waiting = LAMBDA(Ints node, Ints east, Ints north, Ints west, Ints south) {
    const Ints pair = node << 1;
    Ints pairs[4], which[4];
    ByNode(pair, pair + 1, pair - (EAST_STEP << 1), pair + 1 - (NORTH_STEP << 1), pairs);
    ByNode(east, north, west, south, which);
    for (int q = 0; q < 4; ++q) waiting += Append(which[q], pairs[q], wait + waiting);
};
const auto rises = LAMBDA(auto k, auto n) { return Up(step_between(Everywhere, win, k, n)) > steep; };

// Steep pairs among the nodes that may have changed since the last step.
const auto loose = slides.loose.data[slot];
for (int i = loose.row0; i <= loose.row1; ++i)
    for (int j = loose.column0; j <= loose.column1; j += LANES) {
        const Run k = {start + i * side + j};
        const Ints inside = Ahead(loose.column1 + 1 - j);
        const Ints east = rises(k, Run{k.first + 1}) & inside, north = rises(k, Run{k.first + side}) & inside;
        if (!Any(east | north)) continue;  // nearly all nodes are at rest
        add_waiting(Numbers(Run{(i << 15) + j}), east, north, (Ints)(0), (Ints)(0));
        add_full();
    }
add_rest();

int stamp = slides.sweeps.data[slot], sweep = 0;
Ints i0 = (Ints)(1 << 20), j0 = i0, i1 = (Ints)(-1), j1 = i1;
for (; pairs > 0 && sweep < o.sweeps; ++sweep) {
    // First compute all flows, from levels that no pair has changed yet ...
    for (int q = 0; q < pairs; q += LANES) {
        const int count = pairs - q < LANES ? pairs - q : LANES;
        const Ints pair = Listed(pair_list + q, count), k = First(pair);
        const Ints n = Up(second_node(Everywhere, win, k, pair & 1));
        const Reals flow = Up(pair_flow(Everywhere, g, o, skin, win, slides, k, n));
        for (int l = 0; l < count; ++l) {
            flow_of[k[l]] += flow[l];
            flow_of[n[l]] -= flow[l];
        }
    }
    // ... then list the nodes of all pairs, each once ...
    int moved = 0;
    for (int q = 0; q < pairs; ++q) {
        const int pair = pair_list[q], node = pair >> 1;
        const int k = start + (pair >> 16) * side + (node & 0x7fff), n = k + (pair & 1 ? side : 1);
        moved_list[moved] = node;
        moved += steep_of[k] != 0;
        steep_of[k] = 0;
        moved_list[moved] = node + (pair & 1 ? NORTH_STEP : EAST_STEP);
        moved += steep_of[n] != 0;
        steep_of[n] = 0;
    }
    // ... and change their levels.
    ++stamp;
    for (int q = 0; q < moved; q += LANES) {
        const Ints node = Listed(moved_list + q, moved - q), i = node >> 15, j = node & 0x7fff;
        settle_node(Everywhere, g, o, skin, win, slides, (Ints)(start) + i * (Ints)(side) + j, stamp);
        i0 = i < i0 ? i : i0;
        i1 = i > i1 ? i : i1;
        j0 = j < j0 ? j : j0;
        j1 = j > j1 ? j : j1;
    }
    // The next sweep looks at the pairs of nodes that moved. A western or southern neighbour that moved too lists the
    // pair itself.
    pairs = 0;
    for (int q = 0; q < moved; q += LANES) {
        const Ints node = Listed(moved_list + q, moved - q);
        const Ints k = (Ints)(start) + (node >> 15) * (Ints)(side) + (node & 0x7fff);
        const Ints west = k - 1, south = k - (Ints)(side);
        const Ints inside = Ahead(moved - q);
        const Ints from_west = inside & (Load(slides.queued, west) != stamp);
        const Ints from_south = inside & (Load(slides.queued, south) != stamp);
        add_waiting(node, rises(k, k + 1) & inside, rises(k, k + (Ints)(side)) & inside,
            rises(k, west) & from_west, rises(k, south) & from_south);
        add_full();
    }
    add_rest();
}
slides.moving.data[slot].row0 = (int)Least(i0);
slides.moving.data[slot].row1 = (int)Most(i1);
slides.moving.data[slot].column0 = (int)Least(j0);
slides.moving.data[slot].column1 = (int)Most(j1);
slides.sweeps.data[slot] = stamp;
return pairs;
"""


def hold_nodes_lanes(g: Ground, skin: Skin, disp: Displacement, win: Window, slot: int):
    """`erosion.hold_nodes` in lanes."""
    ...


@declared.func_native()
def slide_lanes(
    g: Ground, o: Options, skin: Skin, win: Window, slides: Slides, slot: int, start: int, steep: real
) -> int:
    """`erosion.slide` in lanes."""
    ...


def erosion_stages() -> dict[Any, Any]:
    """Functions of `erosion` and what replaces them."""
    of_pair = {
        "second_node": erosion.second_node,
        "lower_node": erosion.lower_node,
        "step_between": erosion.step_between,
        "pair_slides": erosion.pair_slides,
        "pair_flow": erosion.pair_flow,
        "settle_node": erosion.settle_node,
    }
    return {
        erosion.hold_nodes: wp.func_native(text_of(HOLD, hold_node=erosion.hold_node))(hold_nodes_lanes),
        erosion.slide: wp.func_native(text_of(SLIDE, **of_pair))(slide_lanes),
    }
