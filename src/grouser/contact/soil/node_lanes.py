"""Stages `predict` and `force` in lanes: eight nodes at once, by the same laws as one by one.

The code of a node is that of `traction.py`, translated by `grouser.lanes`. Here is only how nodes are put into lanes:
`predict` takes them along a row. `force` first lists the nodes that carry load, so that no lane is empty, and nodes of
which the whole cell yields apart from the others, which need many more operations. Sums add up in another order than
one by one; their round-off differs.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import warp as wp

from grouser.contact.soil import cell_pressure, per_world, traction
from grouser.contact.soil.displacement_lanes import displacement_stages
from grouser.contact.soil.erosion_lanes import erosion_stages
from grouser.contact.soil.lane_text import text_of
from grouser.contact.soil.shear_lanes import shear_stages
from grouser.contact.soil.surface_lanes import surface_stages
from grouser.contact.soil.types import (
    Bodies,
    BodyMotion,
    Displacement,
    Options,
    Placement,
    Prediction,
    Skin,
    Vertices,
    Window,
)
from grouser.contact.soil.window_lanes import window_stages
from grouser.precision import vec3
from grouser.terrain.ground import GroundArrays as Ground

PREDICT = """
const auto near = disp.near.data[slot];
const auto frame = win.frame.data[slot];
const auto first = VectorUp(first_node);
const int j_first = near.column0 - 1, j_last = near.column1 + 1;
for (int i = near.row0 - 1; i <= near.row1 + 1; ++i)
    for (int next = j_first; next <= j_last; next += LANES) {
        // The last lanes of a row end with it: some nodes are predicted twice, with the same result.
        const int back = j_last - LANES + 1, j = next <= back ? next : back >= j_first ? back : j_first;
        const Ints on = Numbers(Run{j}) <= j_last;
        predict_node(on, g, o, b, place, win, skin, disp, pred, body, slot, frame, i, Run{j}, first, m);
    }
"""

FORCE = """
const auto near = disp.near.data[slot];
const auto first = VectorUp(first_node);
const int start = slot * win.nodes, last = near.column1;
enum { SUMS = 6 + 31 + 6 };
Reals sums[SUMS];
for (int q = 0; q < SUMS; ++q) sums[q] = (Reals)(real(0));
// Nodes of which the whole cell yields, and others, which need many more operations.
enum { KINDS = 2, ROW = 1 << 15 };
struct List { int count; int node[(KINDS + 1) * LANES]; } lists[KINDS];
for (int c = 0; c < KINDS; ++c) lists[c].count = 0;
const auto add_listed = [&](const int* list, int count) {
    const Ints node = Listed(list, count), i = node >> 15, j = node & (Ints)(ROW - 1), on = Ahead(count);
    const auto part = node_force(
        on, g, o, b, place, win, skin, verts, disp, pred, world, body, slot, i, j, first, m);
    const Reals* parts[3] = {(const Reals*)&part.x0, (const Reals*)&part.x1, (const Reals*)&part.x2};
    int q = 0;
    for (int k = 0; k < 6; ++k, ++q) sums[q] += on ? parts[0][k] : (Reals)(real(0));
    for (int k = 0; k < 31; ++k, ++q) sums[q] += on ? parts[1][k] : (Reals)(real(0));
    for (int k = 0; k < 6; ++k, ++q) sums[q] += on ? parts[2][k] : (Reals)(real(0));
};
int nodes = 0;
for (int i = near.row0; i <= near.row1; ++i)
    for (int j = near.column0; j <= last; j += LANES) {
        const Ints inside = Ahead(last + 1 - j);
        const Run k = {start + i * win.side + j};
        const Ints on = inside & loaded(inside, pred, win.side, k, g.spacing);
        const unsigned some = Mask(on);
        if (!some) continue;
        const Ints kind = Up(all_yields(on, win, pred, k)) + 1, node = Numbers(Run{i * ROW + j});
        nodes += __builtin_popcount(some);
        for (int c = 0; c < KINDS; ++c) {
            List& list = lists[c];
            list.count += Append(on & (kind == c), node, list.node + list.count);
            if (list.count < LANES) continue;
            add_listed(list.node, LANES);
            list.count -= LANES;
            __builtin_memcpy(list.node, list.node + LANES, LANES * sizeof(int));
        }
    }
// What is left of all lists, one after another.
List rest;
rest.count = 0;
for (int c = 0; c < KINDS; ++c) {
    __builtin_memcpy(rest.node + rest.count, lists[c].node, LANES * sizeof(int));
    rest.count += lists[c].count;
}
for (int first = 0; first < rest.count; first += LANES) add_listed(rest.node + first, rest.count - first);
real one[SUMS];
for (int q = 0; q < SUMS; ++q) {
    one[q] = real(0);
    for (int l = 0; l < LANES; ++l) one[q] += sums[q][l];
}
__builtin_memcpy(pred.wrench.data + slot, one, 6 * sizeof(real));
__builtin_memcpy(pred.sums.data + slot, one + 6, 31 * sizeof(real));
__builtin_memcpy(pred.losses.data + slot, one + 37, 6 * sizeof(real));
pred.loaded.data[slot] = nodes;
"""


def predict_lanes(
    g: Ground, o: Options, b: Bodies, place: Placement, win: Window, skin: Skin, disp: Displacement, pred: Prediction,
    body: int, slot: int, first_node: vec3, m: BodyMotion,
):  # fmt: skip
    """`per_world.predict` in lanes."""


def force_lanes(
    g: Ground, o: Options, b: Bodies, place: Placement, win: Window, skin: Skin, verts: Vertices, disp: Displacement,
    pred: Prediction, world: int, body: int, slot: int, first_node: vec3, m: BodyMotion,
):  # fmt: skip
    """`per_world.force` in lanes."""


@cache
def lane_stages() -> dict[Any, Any]:
    """Functions of the stages and what replaces them, for `device.at`: all stages in lanes."""
    of_node = {
        "node_force": traction.node_force,
        "loaded": traction.loaded,
        "all_yields": cell_pressure.all_yields,
    }
    return {
        **surface_stages(),
        **displacement_stages(),
        **shear_stages(),
        **erosion_stages(),
        **window_stages(),
        per_world.predict: wp.func_native(text_of(PREDICT, predict_node=traction.predict_node))(predict_lanes),
        per_world.force: wp.func_native(text_of(FORCE, whole=("k", "corners"), **of_node))(force_lanes),
    }
