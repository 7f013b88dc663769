"""Stage `shear` in lanes: eight vertices at once, by the laws of `shear.py`, translated by `grouser.lanes`."""

from __future__ import annotations

from typing import Any

import warp as wp

from grouser.contact.soil import per_world, shear
from grouser.contact.soil.lane_text import text_of
from grouser.contact.soil.surface import CHUNK
from grouser.contact.soil.types import Bodies, BodyMotion, Options, Placement, Skin, Vertices, Window
from grouser.terrain.ground import GroundArrays as Ground

SHEAR = """
const real top = place.top.data[slot];
const int last = b.first_vertex.data[body + 1], chunks = (int)verts.near_soil.shape[1];
const int row = world * (int)verts.place.shape[1];
int list[2 * LANES + CHUNK], count = 0;  // vertices that may touch the soil: few of a chunk do
const auto shear_listed = LAMBDA(int first, int many) {
    shear_vertex(Ahead(many), g, o, b, skin, win, verts, world, body, slot, Listed(list + first, many), m);
};
for (int c = b.first_vertex_chunk.data[body]; c < b.first_vertex_chunk.data[body + 1]; ++c) {
    if (verts.near_soil.data[world * chunks + c] != 1) continue;
    const int start = b.first_vertex.data[body] + (c - b.first_vertex_chunk.data[body]) * CHUNK;
    const int end = start + CHUNK < last ? start + CHUNK : last;
    for (int v = start; v < end; ++v) {
        list[count] = v;
        if (verts.place.data[row + v].c[2] < top) ++count;
        else verts.shear.data[row + v] = wp::vec_t<3, real>();  // above all soil
    }
    int first = 0;
    for (; count - first >= LANES; first += LANES) shear_listed(first, LANES);
    count -= first;
    if (first > 0) for (int l = 0; l < count; ++l) list[l] = list[first + l];
}
if (count > 0) shear_listed(0, count);
"""


def shear_lanes(
    g: Ground, o: Options, b: Bodies, place: Placement, skin: Skin, win: Window, verts: Vertices,
    world: int, body: int, slot: int, m: BodyMotion,
):  # fmt: skip
    """`per_world.shear_vertices` in lanes."""


def shear_stages() -> dict[Any, Any]:
    """Function of `per_world` and what replaces it."""
    # Lanes that are off repeat a vertex that is on.
    text = text_of(SHEAR.replace("CHUNK", str(CHUNK)), whole=("k", "v"), shear_vertex=shear.shear_vertex)
    return {per_world.shear_vertices: wp.func_native(text)(shear_lanes)}
