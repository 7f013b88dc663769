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
struct List { int count; int i[2 * LANES + 1]; int j[2 * LANES + 1]; } lists[2];  // cells that yield, and others
lists[0].count = lists[1].count = 0;
const auto add_listed = [&](List& list, int count) {
    Ints i, j;
    for (int l = 0; l < LANES; ++l) {
        i[l] = list.i[l < count ? l : 0];
        j[l] = list.j[l < count ? l : 0];
    }
    const Ints on = Numbers(Run{0}) < count;
    const auto node = node_force(
        on, g, o, b, place, win, skin, verts, disp, pred, world, body, slot, i, j, first, m);
    const Reals* parts[3] = {(const Reals*)&node.x0, (const Reals*)&node.x1, (const Reals*)&node.x2};
    int q = 0;
    for (int k = 0; k < 6; ++k, ++q) sums[q] += on ? parts[0][k] : (Reals)(real(0));
    for (int k = 0; k < 31; ++k, ++q) sums[q] += on ? parts[1][k] : (Reals)(real(0));
    for (int k = 0; k < 6; ++k, ++q) sums[q] += on ? parts[2][k] : (Reals)(real(0));
};
int nodes = 0;
for (int i = near.row0; i <= near.row1; ++i)
    for (int j0 = near.column0; j0 <= last; j0 += LANES) {
        const Ints inside = Numbers(Run{j0}) <= last;
        const Run k = {start + i * win.side + j0};
        const Ints on = inside & loaded(inside, pred, win.side, k, g.spacing);
        if (!Any(on)) continue;
        const Ints simple = Up(all_yields(on, win, pred, k));
        // Each lane is written to the ends of both lists, and stays in the one to whose length it adds: no branches.
        const unsigned some = Mask(on), easy = Mask(simple) & some, hard = some & ~easy;
        int ends[2] = {lists[0].count, lists[1].count};
        for (int l = 0; l < LANES; ++l) {
            lists[0].j[ends[0]] = lists[1].j[ends[1]] = j0 + l;
            lists[0].i[ends[0]] = lists[1].i[ends[1]] = i;
            ends[0] += easy >> l & 1;
            ends[1] += hard >> l & 1;
        }
        lists[0].count = ends[0];
        lists[1].count = ends[1];
        nodes += __builtin_popcount(some);
        for (int c = 0; c < 2; ++c)
            if (lists[c].count >= LANES) {
                add_listed(lists[c], LANES);
                lists[c].count -= LANES;
                for (int l = 0; l < lists[c].count; ++l) {
                    lists[c].i[l] = lists[c].i[l + LANES];
                    lists[c].j[l] = lists[c].j[l + LANES];
                }
            }
    }
for (int c = 0; c < 2; ++c)
    if (lists[c].count > 0) add_listed(lists[c], lists[c].count);
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
    of_node = {"node_force": traction.node_force, "loaded": traction.loaded, "all_yields": cell_pressure.all_yields}
    return {
        **surface_stages(),
        **displacement_stages(),
        **shear_stages(),
        **erosion_stages(),
        **window_stages(),
        per_world.predict: wp.func_native(text_of(PREDICT, predict_node=traction.predict_node))(predict_lanes),
        per_world.force: wp.func_native(text_of(FORCE, **of_node))(force_lanes),
    }
