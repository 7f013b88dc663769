"""Stage `place` in lanes: eight vertices at once, by the laws of `placement.py`, translated by `grouser.lanes`."""

from __future__ import annotations

from typing import Any

import warp as wp

from grouser.contact.soil import per_world, placement
from grouser.contact.soil.lane_text import text_of
from grouser.contact.soil.surface import CHUNK
from grouser.contact.soil.types import (
    Bodies,
    BodyMotion,
    Placement,
    Vertices,
)
from grouser.terrain.ground import GroundArrays as Ground

PLACE = """
const real cut = place.top.data[slot] + g.spacing + b.tip_reach.data[body];
const auto lean = VectorUp(ground_slope(Everywhere, g, world, m.position));
const int last = b.first_vertex.data[body + 1], vertices = (int)verts.place.shape[1];
auto& extent = place.extent.data[slot];
Reals x0 = (Reals)(extent.column0), x1 = (Reals)(extent.column1);
Reals y0 = (Reals)(extent.row0), y1 = (Reals)(extent.row1);
auto low = VectorUp(place.lowest.data[slot]);  // in each lane
Ints lowest = (Ints)(-1);
for (int c = b.first_vertex_chunk.data[body]; c < b.first_vertex_chunk.data[body + 1]; ++c) {
    const int first = b.first_vertex.data[body] + (c - b.first_vertex_chunk.data[body]) * CHUNK;
    const int end = first + CHUNK < last ? first + CHUNK : last;
    int& near = verts.near_soil.data[world * (int)verts.near_soil.shape[1] + c];
    if (Up(chunk_is_near(Everywhere, g, b, place, body, slot, c, m))[0]) {
        near = 1;
        for (int v = first; v < end; v += LANES) {
            const Ints on = Ahead(end - v), vertex = on ? Numbers(Run{v}) : (Ints)(v);
            const auto spot = place_vertex(on, g, b, verts, world, vertex, m);  // of any vertex where a lane is off
            // The footprint comes from the low part of the body only, the sinkage from the deepest vertex.
            const Ints below = on & (spot.c[2] < cut);
            x0 = (below & (spot.c[0] < x0)) ? spot.c[0] : x0;
            x1 = (below & (spot.c[0] > x1)) ? spot.c[0] : x1;
            y0 = (below & (spot.c[1] < y0)) ? spot.c[1] : y0;
            y1 = (below & (spot.c[1] > y1)) ? spot.c[1] : y1;
            const Ints deeper = on & lies_deeper(on, spot, low, lean);
            low = Mix(deeper, spot, low);
            lowest = deeper ? vertex : lowest;
        }
    } else if (near == 1) {  // the chunk has just left the soil; later steps skip it at no cost
        near = 0;
        for (int v = first; v < end; ++v) forget_vertex(Everywhere, verts, world, v);
    }
}
extent.column0 = Least(x0);
extent.column1 = Most(x1);
extent.row0 = Least(y0);
extent.row1 = Most(y1);
// Of all lanes: the first of the deepest vertices.
int best = 0;
for (int l = 1; l < LANES; ++l) {
    const auto of_lane = LAMBDA(int k) { return wp::vec_t<3, real>(low.c[0][k], low.c[1][k], low.c[2][k]); };
    const auto deeper = LAMBDA(int k, int n) {
        return Up(lies_deeper(Everywhere, VectorUp(of_lane(k)), VectorUp(of_lane(n)), lean))[0] != 0;
    };
    if (deeper(l, best) || (lowest[l] >= 0 && lowest[l] < lowest[best] && !deeper(best, l))) best = l;
}
place.lowest.data[slot] = wp::vec_t<3, real>(low.c[0][best], low.c[1][best], low.c[2][best]);
"""


def place_lanes(
    g: Ground, b: Bodies, place: Placement, verts: Vertices, world: int, body: int, slot: int, m: BodyMotion
):  # fmt: skip
    """`per_world.place_vertices` in lanes."""


def surface_stages() -> dict[Any, Any]:
    """Functions of `per_world` and what replaces them."""

    def native(stage: str, stub: Any, **functions: Any) -> Any:
        return wp.func_native(text_of(stage.replace("CHUNK", str(CHUNK)), **functions))(stub)

    of_vertex = {
        "ground_slope": placement.ground_slope,
        "chunk_is_near": placement.chunk_is_near,
        "place_vertex": placement.place_vertex,
        "lies_deeper": placement.lies_deeper,
        "forget_vertex": placement.forget_vertex,
    }
    return {
        per_world.place_vertices: native(PLACE, place_lanes, **of_vertex),
    }
