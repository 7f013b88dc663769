"""Stages `place` and `write back` in lanes: the highest soil around a body, and nodes on their way into the tiles.

There is no law here but a maximum, a copy and a sum; `placement.highest_soil` and `window.write_back` say of what.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from grouser.contact.soil import placement, window
from grouser.contact.soil.lane_text import declared, text_of
from grouser.contact.soil.types import Window
from grouser.precision import real, vec2
from grouser.terrain.ground import TILE
from grouser.terrain.ground import GroundArrays as Ground

HIGHEST = """
const auto* nodes = &g.levels.data[(((long long)world * (int)g.levels.shape[1] + tile) * TILE + row) * TILE];
Reals top = (Reals)(highest), below = (Reals)(highest_inside);
for (int j = column0; j < column1; j += LANES) {
    // The last lanes end with the row of the tile: some nodes are seen twice.
    const int first = j < TILE - LANES ? j : TILE - LANES;
    const Ints column = Numbers(Run{first}) + (Ints)(grid_column);
    const Ints on = (Numbers(Run{first}) >= column0) & (Numbers(Run{first}) < column1);
    const Reals z = LoadRun((const real*)(nodes + first)).x0;
    const Ints inside = on & (ToReal(column) >= west) & (ToReal(column) <= east);
    top = (on & (z > top)) ? z : top;
    below = (inside & (z > below)) ? z : below;
}
return wp::vec_t<2, real>(Most(top), Most(below));
"""

SCATTER = """
const long long to = (((long long)world * (int)g.levels.shape[1] + tile) * TILE + row) * TILE;
real* const levels = (real*)(g.levels.data + to + column0);
const real* const from = (const real*)(win.levels.data + k);
const int count = column1 - column0;
Reals rise = (Reals)(real(0));
int j = 0;
for (; j + LANES <= count; j += LANES) rise += LoadRun(from + 4 * j).x0 - LoadRun(levels + 4 * j).x0;
real sum = Sum(rise);
for (; j < count; ++j) sum += from[4 * j] - levels[4 * j];
__builtin_memcpy(levels, from, 4 * sizeof(real) * count);
if (g.shear.shape[2] > 1) {
    for (int n = 0; n < count; ++n) g.shear.data[to + column0 + n] = win.node_shear.data[k + n];
}
return sum;
"""


@declared.func_native()
def highest_lanes(
    g: Ground, world: int, tile: int, row: int, column0: int, column1: int, grid_column: int,
    west: real, east: real, highest: real, highest_inside: real,
) -> vec2:  # fmt: skip
    """`placement.highest_of_row` in lanes."""
    ...


@declared.func_native()
def scatter_lanes(
    g: Ground, win: Window, world: int, tile: int, row: int, column0: int, column1: int, k: int
) -> real:  # fmt: skip
    """`window.scatter_row` in lanes."""
    ...


def window_stages() -> dict[Any, Any]:
    """Functions of `placement` and `window` and what replaces them."""

    def native(stage: str, stub: Any) -> Any:
        return wp.func_native(text_of(stage.replace("TILE", str(TILE))))(stub)

    return {
        placement.highest_of_row: native(HIGHEST, highest_lanes),
        window.scatter_row: native(SCATTER, scatter_lanes),
    }
