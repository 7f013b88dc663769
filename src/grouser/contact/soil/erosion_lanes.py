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
    for (int l = 0; l < count; ++l) {
        const int one = -(int)goes[l];
        pair_list[pairs] = (int)pair[l];
        pairs += one;
        steep_of[low[l]] += TAKES * one;
        steep_of[high[l]] += GIVES * one;
    }
};
const auto add_full = LAMBDA() {  // all groups that fill the lanes
    int first = 0;
    for (; waiting - first >= LANES; first += LANES) add_pairs(first, LANES);
    if (first == 0) return;
    waiting -= first;
    for (int l = 0; l < waiting; ++l) wait[l] = wait[first + l];
};
const auto add_rest = LAMBDA() {
    if (waiting > 0) add_pairs(0, waiting);
    waiting = 0;
};
const auto spread = [](unsigned bits) {  // every fourth bit
    bits = (bits | bits << 12) & 0x000f000f;
    bits = (bits | bits << 6) & 0x03030303;
    return (bits | bits << 3) & 0x11111111;
};
const auto rises = LAMBDA(auto k, auto n) { return Mask(Up(step_between(Everywhere, win, k, n)) > steep); };

// Steep pairs among the nodes that may have changed since the last step.
const auto loose = slides.loose.data[slot];
for (int i = loose.row0; i <= loose.row1; ++i)
    for (int j = loose.column0; j <= loose.column1; j += LANES) {
        const Run k = {start + i * side + j};
        const unsigned inside = Mask(Ahead(loose.column1 + 1 - j));
        const unsigned east = rises(k, Run{k.first + 1}) & inside, north = rises(k, Run{k.first + side}) & inside;
        for (unsigned bits = spread(east) | spread(north) << 1; bits; bits &= bits - 1) {
            const int bit = __builtin_ctz(bits);
            wait[waiting++] = (((i << 15) + j + (bit >> 2)) << 1) + (bit & 1);
        }
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
        const unsigned inside = Mask(Ahead(moved - q));
        const unsigned from_west = Mask(Load(slides.queued, west) != stamp);
        const unsigned from_south = Mask(Load(slides.queued, south) != stamp);
        unsigned bits = spread(rises(k, k + 1) & inside) | spread(rises(k, k + (Ints)(side)) & inside) << 1
            | spread(rises(k, west) & from_west & inside) << 2 | spread(rises(k, south) & from_south & inside) << 3;
        int nodes[LANES];
        for (int l = 0; l < LANES; ++l) nodes[l] = (int)node[l] << 1;
        const int to_pair[4] = {0, 1, -(EAST_STEP << 1), 1 - (NORTH_STEP << 1)};
        for (; bits; bits &= bits - 1) {
            const int bit = __builtin_ctz(bits);
            wait[waiting++] = nodes[bit >> 2] + to_pair[bit & 3];
        }
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
