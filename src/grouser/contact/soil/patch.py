"""Width b of a contact patch for Bekker's k_c / b, where the body has no given width: b = 2 area / perimeter.

The perimeter of a convex patch is pi times its mean width (Cauchy), in any orientation on the grid.
"""

from __future__ import annotations

import math

import warp as wp

from grouser.contact.soil.between_nodes import levels_at, node_below
from grouser.contact.soil.surface import CHUNK
from grouser.contact.soil.types import FAR as FAR_AWAY
from grouser.contact.soil.types import Bodies, Displacement, Vertices, Window
from grouser.device import nonnegative
from grouser.precision import real, vec2
from grouser.terrain.ground import SURFACE
from grouser.terrain.ground import GroundArrays as Ground

WIDTHS = 8  # number of directions in which a patch is measured; perimeters are then right to 0.7 %
ANGLES = [math.pi * (q + 0.5) / WIDTHS for q in range(WIDTHS)]
widths = wp.types.vector(WIDTHS, real)
COSINES = wp.constant(widths(*map(math.cos, ANGLES)))
SINES = wp.constant(widths(*map(math.sin, ANGLES)))
EACH = wp.constant(real(1 / WIDTHS))
FAR = wp.constant(real(FAR_AWAY))
PI = wp.constant(real(math.pi))


@wp.func
def along_directions(x: real, y: real):
    """Coordinate of the point (x, y) along each of the WIDTHS directions."""
    return x * COSINES + y * SINES


@wp.func
def mean_width(low: widths, high: widths):
    """Mean width of a patch that spans `low` to `high` along each direction; far below 0 for an empty patch."""
    return wp.dot(high - low, widths(EACH))


@wp.func
def outline(area: real, across: real):
    """Perimeter of a patch with the given area and mean width (`across`), at least that of a disc of this area."""
    return wp.max(real(2.0) * wp.sqrt(PI * area), PI * across)


@wp.func
def staircase(b: Bodies, verts: Vertices, win: Window, world: int, body: int, slot: int):
    """Correction factor, at most 1, for a perimeter that is counted in sides of cells.

    Sides of cells turn an oblique edge into a staircase: a convex patch then has the perimeter of its bounding box,
    which is up to 4 / pi too long. The factor is the true perimeter over that of the bounding box, both for the
    vertices of the body that are below the surface.
    """
    low = widths(FAR)
    high = widths(-FAR)
    first_corner = vec2(FAR, FAR)
    last_corner = vec2(-FAR, -FAR)
    for c in range(b.first_vertex_chunk[body], b.first_vertex_chunk[body + 1]):
        if verts.near_soil[world, c] == 1:
            first = b.first_vertex[body] + (c - b.first_vertex_chunk[body]) * CHUNK
            for v in range(first, wp.min(first + CHUNK, b.first_vertex[body + 1])):
                spot = verts.place[world, nonnegative(v)]
                at = vec2(spot[0], spot[1])
                k, inside = node_below(win, slot, at)
                if k >= 0:
                    if spot[2] < levels_at(win, k, inside)[SURFACE]:
                        out = along_directions(spot[0], spot[1])
                        low = wp.min(low, out)
                        high = wp.max(high, out)
                        first_corner = wp.min(first_corner, at)
                        last_corner = wp.max(last_corner, at)
    box = last_corner - first_corner
    if box[0] + box[1] <= real(0.0):  # one vertex or none: nothing is known of the outline
        return real(1.0)
    return wp.min(PI * mean_width(low, high) / (real(2.0) * (box[0] + box[1])), real(1.0))


@wp.func
def set_width(
    g: Ground, b: Bodies, verts: Vertices, win: Window, disp: Displacement, world: int, body: int, slot: int,
    nodes: int, edges: int,
):  # fmt: skip
    """Set 1/b = perimeter / (2 area) of a footprint.

    `nodes` is the number of its cells, `edges` the number of cell sides on its border.
    """
    if b.from_patch[body] == 1 and nodes > 0:
        # Cells are counted for area and perimeter alike: what they add at the rim is in both and cancels.
        perimeter = real(edges) * staircase(b, verts, win, world, body, slot)
        perimeter = wp.max(perimeter, outline(real(nodes), real(0.0)))
        disp.per_width[slot] = perimeter / (real(2 * nodes) * g.spacing)
