"""Stage `displace` in lanes: eight nodes at once, by the same laws as one by one.

The laws of a node are those of `sinkage.py`, `spoil.py` and `edges.py`, translated by `grouser.lanes`. Sums add up in
another order than one by one; their round-off differs.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from grouser.contact.soil import edges, per_world_displacement, sinkage, spoil
from grouser.contact.soil import types as t
from grouser.contact.soil.lane_text import declared, text_of
from grouser.contact.soil.types import Bodies, BodyMotion, Displacement, Options, Placement, Skin, Window
from grouser.precision import real, vec3
from grouser.terrain.ground import GroundArrays as Ground

TOUCH = """
const auto hit = skin.hit.data[slot];
const auto frame = win.frame.data[slot];
int contacts = 0;
int i0 = frame.rows, i1 = -1, j0 = frame.columns, j1 = -1;  // nodes in contact
int n0 = frame.rows, n1 = -1, m0 = frame.columns, m1 = -1;  // and near it
Reals removed = (Reals)(real(0));
for (int i = hit.row0; i <= hit.row1; ++i)
    for (int j = hit.column0; j <= hit.column1; j += LANES) {
        const Run k = {slot * win.nodes + i * win.side + j};
        const Ints on = Ahead(hit.column1 + 1 - j);
        const Ints found = Up(touch_node(on, g, o, b, place, skin, win, disp, slot, k));
        const unsigned near = Mask(on & (found > 0)), in_soil = Mask(on & (found == IN_SOIL));
        if (!near) continue;
        const int first = j + __builtin_ctz(near), last = j + 31 - __builtin_clz(near);
        n0 = i < n0 ? i : n0;
        n1 = i;
        m0 = first < m0 ? first : m0;
        m1 = last > m1 ? last : m1;
        if (!in_soil) continue;
        const int first_in = j + __builtin_ctz(in_soil), last_in = j + 31 - __builtin_clz(in_soil);
        contacts += __builtin_popcount(in_soil);
        i0 = i < i0 ? i : i0;
        i1 = i;
        j0 = first_in < j0 ? first_in : j0;
        j1 = last_in > j1 ? last_in : j1;
        removed += (on & (found == IN_SOIL)) ? Load(disp.sunk, k) : (Reals)(real(0));
    }
disp.contacts.data[slot].nodes = contacts;
auto& near = disp.near.data[slot];
near.row0 = n0; near.row1 = n1; near.column0 = m0; near.column1 = m1;
auto& touched = disp.touched.data[slot];
touched.row0 = i0; touched.row1 = i1; touched.column0 = j0; touched.column1 = j1;
return Sum(removed);
"""

BORDER = """
const auto near = disp.near.data[slot];
const auto frame = win.frame.data[slot];
const int start = slot * win.nodes;
const int row0 = near.row0 > RING ? near.row0 - RING : 1, column0 = near.column0 > RING ? near.column0 - RING : 1;
const int row1 = near.row1 + RING < frame.rows - 2 ? near.row1 + RING : frame.rows - 2;
const int column1 = near.column1 + RING < frame.columns - 2 ? near.column1 + RING : frame.columns - 2;
int count = 0;
for (int i = row0; i <= row1; ++i)
    for (int j = column0; j <= column1; j += LANES) {
        const Ints on = Ahead(column1 + 1 - j);
        unsigned found = Mask(on & (Up(mark_border(on, win, Run{start + i * win.side + j})) == 1));
        for (; found; found &= found - 1) {
            const int column = j + __builtin_ctz(found);
            disp.border.data[start + count] = i * win.side + column;
            disp.border_place.data[start + count].c[0] = real(column);
            disp.border_place.data[start + count].c[1] = real(i);
            ++count;
        }
    }
disp.contacts.data[slot].border = count;
return count;
"""

# Nodes of the footprint row by row: each lane one node in contact.
ROWS = """
const auto first = VectorUp(first_node);
const auto touched = disp.touched.data[slot];
for (int i = touched.row0; i <= touched.row1; ++i)
    for (int j = touched.column0; j <= touched.column1; j += LANES) {
        const Run k = {slot * win.nodes + i * win.side + j};
        const Ints on = Ahead(touched.column1 + 1 - j) & (Load(win.mark, k) == CONTACT);
        if (!Any(on)) continue;
"""
DIG = (
    "int dug = 0;\n"
    + ROWS
    + """
        dug += __builtin_popcount(Mask(on & (Up(dig_node(
            on, g, o, b, skin, win, disp, body, slot, i, Run{j}, first, m)) == 1)));
    }
return dug;
"""
)
SHARE = (
    "Reals less = (Reals)(real(0));\n"
    + ROWS
    + """
        less += on ? Up(share_sinkage(on, g, o, skin, win, disp, k, i, Run{j}, keeps, first, m)) : (Reals)(real(0));
    }
return removed - Sum(less);
"""
)

SPOIL = """
const auto first = VectorUp(first_node);
const auto touched = disp.touched.data[slot];
const int start = slot * win.nodes, border = disp.contacts.data[slot].border, groups = (border + LANES - 1) / LANES;
const int across = blocks_along(Everywhere, o, touched.row0, touched.row1);
const int along = blocks_along(Everywhere, o, touched.column0, touched.column1);
enum { SUMS = 10, WIDE = WIDEST };  // sums of `Spoil`; columns at once, of which a block has no more
// Columns and rows of the border nodes and their weights lie in lanes here.
real* const places = (real*)(disp.border_place.data + start);
real* const weights = (real*)(disp.weights.data + start);
real* const received = disp.received.data + start;
for (int q = 0; q < groups; ++q) {
    const Ints on = Ahead(border - q * LANES);
    const auto spot = Load(disp.border_place, on ? Numbers(Run{start + q * LANES}) : (Ints)(start));
    Reals column = spot.c[0], row = spot.c[1];
    __builtin_memcpy(places + 2 * q * LANES, &column, sizeof(column));
    __builtin_memcpy(places + (2 * q + 1) * LANES, &row, sizeof(row));
    const Reals none = (Reals)(real(0));
    __builtin_memcpy(received + q * LANES, &none, sizeof(none));
}
Reals columns[SUMS][WIDE / LANES];  // sums over the rows of a block
const auto distribute = LAMBDA(const auto& spoil) {  // the spoil of one block over the border
    auto deposit = deposit_of(Everywhere, spoil);
    Reals even = (Reals)(real(0)), ahead = even, side = even;
    for (int q = 0; q < groups; ++q) {
        const Ints on = Ahead(border - q * LANES);
        Reals column, row;
        __builtin_memcpy(&column, places + 2 * q * LANES, sizeof(column));
        __builtin_memcpy(&row, places + (2 * q + 1) * LANES, sizeof(row));
        const auto w = border_weights(Everywhere, deposit, column, row);
        const Reals w0 = on ? Up(w.x0) : (Reals)(real(0)), w1 = on ? Up(w.x1) : (Reals)(real(0));
        const Reals w2 = on ? Up(w.x2) : (Reals)(real(0));
        even += w0;
        ahead += w1;
        side += w2;
        __builtin_memcpy(weights + 3 * q * LANES, &w0, sizeof(w0));
        __builtin_memcpy(weights + (3 * q + 1) * LANES, &w1, sizeof(w1));
        __builtin_memcpy(weights + (3 * q + 2) * LANES, &w2, sizeof(w2));
    }
    deposit = complete_deposit(
        Everywhere, spoil, deposit, (Reals)(Sum(even)), (Reals)(Sum(ahead)), (Reals)(Sum(side)));
    for (int q = 0; q < groups; ++q) {
        Reals w0, w1, w2, got;
        __builtin_memcpy(&w0, weights + 3 * q * LANES, sizeof(w0));
        __builtin_memcpy(&w1, weights + (3 * q + 1) * LANES, sizeof(w1));
        __builtin_memcpy(&w2, weights + (3 * q + 2) * LANES, sizeof(w2));
        __builtin_memcpy(&got, received + q * LANES, sizeof(got));
        got += Up(received_from(Everywhere, deposit, w0, w1, w2));
        __builtin_memcpy(received + q * LANES, &got, sizeof(got));
    }
};
for (int row = 0; row < across; ++row) {
    const int last_row = block_start(Everywhere, touched.row0, touched.row1, row + 1, across);
    const int first_row = block_start(Everywhere, touched.row0, touched.row1, row, across);
    for (int block = 0; block < along;) {
        // As many blocks side by side as there is room for.
        const int begin = block_start(Everywhere, touched.column0, touched.column1, block, along);
        int next = block + 1;
        while (next < along
            && block_start(Everywhere, touched.column0, touched.column1, next + 1, along) - begin <= WIDE) ++next;
        const int end = block_start(Everywhere, touched.column0, touched.column1, next, along);
        const int vectors = (end - begin + LANES - 1) / LANES;
        for (int c = 0; c < SUMS; ++c)
            for (int v = 0; v < vectors; ++v) columns[c][v] = (Reals)(real(0));
        for (int i = first_row; i < last_row; ++i)
            for (int v = 0; v < vectors; ++v) {
                const int j = begin + v * LANES;
                const Run k = {start + i * win.side + j};
                const Ints on = Ahead(end - j) & (Load(win.mark, k) == CONTACT);
                if (!Any(on)) continue;
                const auto one = spoil_of_node(on, g, o, skin, win, disp, k, i, Run{j}, first, m);
                const Reals* parts = (const Reals*)&one;
                for (int c = 0; c < SUMS; ++c) columns[c][v] += on ? parts[c] : (Reals)(real(0));
            }
        for (; block < next; ++block) {
            const int j0 = block_start(Everywhere, touched.column0, touched.column1, block, along) - begin;
            const int j1 = block_start(Everywhere, touched.column0, touched.column1, block + 1, along) - begin;
            real sums[SUMS];
            for (int c = 0; c < SUMS; ++c) {
                const real* list = (const real*)columns[c];
                sums[c] = real(0);
                for (int j = j0; j < j1; ++j) sums[c] += list[j];
            }
            if (sums[0] <= real(0)) continue;
            decltype(spoil_of_node(Everywhere, g, o, skin, win, disp, Run{0}, 0, Run{0}, first, m)) spoil;
            for (int c = 0; c < SUMS; ++c) ((Reals*)&spoil)[c] = (Reals)(sums[c]);
            distribute(spoil);
        }
    }
}
// Only after all blocks: a node that gets soil from two blocks must be covered in one go.
for (int q = 0; q < border; q += LANES) {
    Reals much;
    __builtin_memcpy(&much, received + q, sizeof(much));
    const Ints on = Ahead(border - q) & (much > real(0));
    if (Any(on)) pile_up(on, o, win, (Ints)(start) + Listed(disp.border.data + start + q, border - q), much);
}
"""

SINK = """
const auto touched = disp.touched.data[slot];
const auto frame = win.frame.data[slot];
const int row0 = touched.row0 > 2 ? touched.row0 - 1 : 1, column0 = touched.column0 > 2 ? touched.column0 - 1 : 1;
const int row1 = touched.row1 + 1 < frame.rows - 2 ? touched.row1 + 1 : frame.rows - 2;
const int column1 = touched.column1 + 1 < frame.columns - 2 ? touched.column1 + 1 : frame.columns - 2;
Reals compressed = (Reals)(real(0));
for (int i = row0; i <= row1; ++i)
    for (int j = column0; j <= column1; j += LANES) {
        const Run k = {slot * win.nodes + i * win.side + j};
        const Ints inside = Ahead(column1 + 1 - j), on = inside & (Load(win.mark, k) == CONTACT);
        if (Any(on)) {
            compressed += on ? Up(compressed_height(on, o, win, disp, k, keeps)) : (Reals)(real(0));
            sink_node(on, o, b, win, disp, body, k, keeps);
        }
        const Ints beside = inside & ~on & Up(takes_excess(inside, skin, win, k));
        if (Any(beside)) level_out(beside, o, b, skin, win, disp, body, k, keeps);
    }
return Sum(compressed);
"""


@declared.func_native()
def touch_lanes(
    g: Ground, o: Options, b: Bodies, place: Placement, skin: Skin, win: Window, disp: Displacement, slot: int
) -> real:
    """`per_world_displacement.touch_nodes` in lanes."""
    ...


@declared.func_native()
def border_lanes(win: Window, disp: Displacement, slot: int) -> int:
    """`per_world_displacement.list_border` in lanes."""
    ...


@declared.func_native()
def dig_lanes(
    g: Ground, o: Options, b: Bodies, skin: Skin, win: Window, disp: Displacement,
    body: int, slot: int, first_node: vec3, m: BodyMotion,
) -> int:  # fmt: skip
    """`per_world_displacement.dig` in lanes."""
    ...


@declared.func_native()
def share_lanes(
    g: Ground, o: Options, skin: Skin, win: Window, disp: Displacement, slot: int, keeps: int, removed: real,
    first_node: vec3, m: BodyMotion,
) -> real:  # fmt: skip
    """`per_world_displacement.share_sinkage` in lanes."""
    ...


def spoil_lanes(
    g: Ground, o: Options, skin: Skin, win: Window, disp: Displacement, slot: int, first_node: vec3, m: BodyMotion
):  # fmt: skip
    """`per_world_displacement.move_spoil` in lanes."""
    ...


@declared.func_native()
def sink_lanes(
    o: Options, b: Bodies, skin: Skin, win: Window, disp: Displacement, body: int, slot: int, keeps: int
) -> real:
    """`per_world_displacement.sink` in lanes."""
    ...


def numbered(text: str) -> str:
    """The text with numbers in place of their names."""
    numbers = {"IN_SOIL": sinkage.IN_SOIL, "CONTACT": t.CONTACT, "RING": t.RING, "WIDEST": spoil.WIDEST}
    for name, number in numbers.items():
        text = text.replace(name, str(number))
    return text


def displacement_stages() -> dict[Any, Any]:
    """Functions of `per_world_displacement` and what replaces them."""
    of_block = {
        "spoil_of_node": spoil.spoil_of_node,
        "blocks_along": spoil.blocks_along,
        "block_start": spoil.block_start,
        "deposit_of": spoil.deposit_of,
        "border_weights": spoil.border_weights,
        "complete_deposit": spoil.complete_deposit,
        "received_from": spoil.received_from,
        "pile_up": spoil.pile_up,
    }
    of_sinking = {
        "compressed_height": sinkage.compressed_height,
        "sink_node": sinkage.sink_node,
        "takes_excess": edges.takes_excess,
        "level_out": edges.level_out,
    }

    def native(stage: str, stub: Any, **functions: Any) -> Any:
        return wp.func_native(text_of(numbered(stage), real="disp.tally.data[0].moved", **functions))(stub)

    stages = per_world_displacement
    return {
        stages.touch_nodes: native(TOUCH, touch_lanes, touch_node=sinkage.touch_node),
        stages.list_border: native(BORDER, border_lanes, mark_border=sinkage.mark_border),
        stages.dig: native(DIG, dig_lanes, dig_node=spoil.dig_node),
        stages.share_sinkage: native(SHARE, share_lanes, share_sinkage=edges.share_sinkage),
        stages.move_spoil: native(SPOIL, spoil_lanes, **of_block),
        stages.sink: native(SINK, sink_lanes, **of_sinking),
    }
