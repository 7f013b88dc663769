"""Stage `raster`: find the height of a body's lower surface over the nodes of its window, triangle by triangle."""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import boxes, laws
from grouser.contact.soil import types as t
from grouser.contact.soil.elements import Box
from grouser.contact.soil.surface import UPRIGHT as UPRIGHT_COSINE
from grouser.contact.soil.types import SEEN, Bodies, Placement, Skin, Vertices, Window
from grouser.device import array, nonnegative
from grouser.precision import cell_slack, flat_slack, real, vec4
from grouser.terrain.ground import SURFACE
from grouser.terrain.ground import GroundArrays as Ground

# SERIAL: one thread does both; else two passes of many threads: heights, then the triangles they belong to.
SERIAL, HEIGHTS, TRIANGLES = range(3)
FAR = wp.constant(real(t.FAR))
HALF = wp.constant(real(0.5))
HOLD = wp.constant(real(laws.HOLD))
UPRIGHT = wp.constant(real(-UPRIGHT_COSINE))


@wp.func
def least(a: real, b: real):
    """Minimum of a, b and 0. Faster than wp.min, which also handles NaN."""
    c = wp.where(a < b, a, b)
    return wp.where(c < real(0.0), c, real(0.0))


@wp.func
def greatest(a: real, b: real):
    """Maximum of a, b and 0. Faster than wp.max, which also handles NaN."""
    c = wp.where(a > b, a, b)
    return wp.where(c > real(0.0), c, real(0.0))


# Floats of one sign are ordered as the integers of the same bits. So these are single instructions that wait for
# nothing, where Warp's minimum and maximum of floats read, compare and swap in a loop.
LOWER = """
#if defined(__CUDA_ARCH__)
    const auto v = z + 0;  // not -0
    if (sizeof(v) == 4) {
        if (v >= 0) atomicMin((int*)&heights.data[k], __float_as_int((float)v));
        else atomicMax((unsigned*)&heights.data[k], __float_as_uint((float)v));
    } else {
        if (v >= 0) atomicMin((long long*)&heights.data[k], __double_as_longlong((double)v));
        else atomicMax((unsigned long long*)&heights.data[k], (unsigned long long)__double_as_longlong((double)v));
    }
#else
    if (z < heights.data[k]) heights.data[k] = z;
#endif
"""
RAISE = """
    for (int c = 0; c < 4; ++c) {
        if (much[c] > 0) {
#if defined(__CUDA_ARCH__)
            if (sizeof(much[c]) == 4) atomicMax((int*)&reaches.data[k][c], __float_as_int((float)much[c]));
            else atomicMax((long long*)&reaches.data[k][c], __double_as_longlong((double)much[c]));
#else
            if (much[c] > reaches.data[k][c]) reaches.data[k][c] = much[c];
#endif
        }
    }
"""


@wp.func_native(LOWER)
def lower(heights: array[real], k: int, z: real):
    """Lower an element of an array to z, if it is higher. Many lanes may do this at once."""
    ...


@wp.func_native(RAISE)
def raise_reach(reaches: array[vec4], k: int, much: vec4):
    """Raise the components of an element to those of `much`, which are not negative. Many lanes may do this at once."""
    ...


@wp.func
def raster_triangle(
    g: Ground, b: Bodies, place: Placement, win: Window, verts: Vertices, skin: Skin,
    world: int, slot: int, triangle: int, mode: int,
):  # fmt: skip
    """Lower `skin.height` to the height of a triangle at each node inside it. Triangles that face upwards are skipped.

    Krenn et al. 2008, eq. 9 takes the lowest vertex over a node instead, which gives too low a height on slopes. `mode`
    is SERIAL, HEIGHTS or TRIANGLES. Returns a box of nodes around the triangle, by which SERIAL widens `skin.hit`.
    """
    box = boxes.empty_box()
    corners = b.triangles[nonnegative(triangle)]
    A = verts.place[world, nonnegative(corners[0])]
    B = verts.place[world, nonnegative(corners[1])]
    C = verts.place[world, nonnegative(corners[2])]
    cut = place.below[slot] + g.spacing
    # Skip triangles more than a cell above all soil, and those with a corner that was not placed.
    if wp.min(A[2], wp.min(B[2], C[2])) <= cut and wp.max(A[2], wp.max(B[2], C[2])) < SEEN:
        frame = win.frame[slot]
        x = A[0] - real(frame.column0)
        y = A[1] - real(frame.row0)
        xb = B[0] - A[0]
        yb = B[1] - A[1]
        xc = C[0] - A[0]
        yc = C[1] - A[1]
        area = xb * yc - xc * yb  # [cells^2] twice the signed area in plan view, negative if it faces down
        one = real(1.0)
        if area < -flat_slack:
            bulge = b.bulge[triangle]
            down = area * g.spacing * g.spacing * bulge.per_area  # vertical component of the unit outward normal
            if down > UPRIGHT:  # skip walls: they do not press, and nodes would get a height from anywhere along them
                return box
            # With the slack both neighbours take a node on their common edge. Without it a node could fall between.
            j0 = wp.max(int(wp.ceil(x + least(xb, xc) - cell_slack)), 0)
            j1 = wp.min(int(wp.floor(x + greatest(xb, xc) + cell_slack)), frame.columns - 1)
            i0 = wp.max(int(wp.ceil(y + least(yb, yc) - cell_slack)), 0)
            i1 = wp.min(int(wp.floor(y + greatest(yb, yc) + cell_slack)), frame.rows - 1)
            if i0 > i1 or j0 > j1:
                return box
            box = Box(i0, i1, j0, j1)
            if mode == SERIAL:
                skin.hit[slot] = boxes.widened(skin.hit[slot], i0, i1, j0, j1)
            per = one / area
            zb = B[2] - A[2]
            zc = C[2] - A[2]
            i = int(i0)
            j = int(j0)
            while i <= i1:  # rows and columns in one loop: its end is the only branch the processor must predict
                # Barycentric coordinates of the node: w at A, u at B, v at C.
                dx = real(j) - x
                dy = real(i) - y
                u = (dx * yc - dy * xc) * per
                v = (dy * xb - dx * yb) * per
                w = one - u - v
                z = A[2] + u * zb + v * zc
                # Add the curvature of a rounded surface. Without it a wheel would be a polygon: its corners would press
                # and its flats carry nothing.
                z += down * (bulge.sag_ab * w * u + bulge.sag_bc * u * v + bulge.sag_ca * v * w)
                z = wp.where(u >= -cell_slack, z, FAR)
                z = wp.where(v >= -cell_slack, z, FAR)
                z = wp.where(u + v <= one + cell_slack, z, FAR)
                k = nonnegative(slot * win.nodes + i * win.side + j)
                if mode == SERIAL:
                    before = skin.height[k]
                    skin.height[k] = wp.where(z < before, z, before)
                    skin.triangle[k] = wp.where(z < before, triangle, skin.triangle[k])
                elif z < SEEN:
                    if mode == HEIGHTS:
                        lower(skin.height, k, z)
                        skin.triangle[k] = b.triangles.shape[0]
                    elif z == skin.height[k]:  # at equal heights take the first triangle, independent of thread order
                        wp.atomic_min(skin.triangle, k, triangle)
                i = wp.where(j < j1, i, i + 1)
                j = wp.where(j < j1, j + 1, j0)
    return box


@wp.func
def extend_reach(win: Window, skin: Skin, slot: int, i: int, j: int, much: vec4, mode: int):
    """Record that the body extends past a node by at least `much` [cells] to the east, west, north, south."""
    k = nonnegative(slot * win.nodes + i * win.side + j)
    if mode == SERIAL:
        skin.reach[k] = wp.max(skin.reach[k], much)
        win.dirty[slot] = boxes.widened(win.dirty[slot], i, i, j, j)
    else:
        raise_reach(skin.reach, k, much)


@wp.func
def mark_beside(g: Ground, win: Window, skin: Skin, slot: int, i: int, j: int, i_next: int, j_next: int, z: real):
    """Mark a node outside the footprint whose cell the body covers in part. The body's edge is at the height z [m].

    (i, j) is the node next to the edge and (i_next, j_next) the one across it. Soil that slides to such a node, or is
    put there, would be pressed down once the edge moves by less than half a cell. At an edge right at a row of nodes
    this would happen again and again, as the body sways by micrometres.
    """
    k = nonnegative(slot * win.nodes + i * win.side + j)
    n = nonnegative(slot * win.nodes + i_next * win.side + j_next)
    if skin.height[k] >= SEEN and skin.height[n] < SEEN and win.mark[k] != t.BARE_NODE:
        if z < win.levels[n][SURFACE] + HOLD * g.spacing:  # in the soil, or as close to it as soil that is HELD
            win.mark[k] = t.BESIDE


@wp.func
def mark_crease(
    g: Ground, b: Bodies, place: Placement, win: Window, verts: Vertices, skin: Skin,
    world: int, slot: int, crease: int, mode: int,
):  # fmt: skip
    """Where a sharp edge crosses a grid line, record in both neighbouring nodes how far the body extends past them.

    A footprint usually ends between two nodes. Without the exact end the force would jump whenever an edge passes a row
    of nodes.
    """
    ends = b.creases[crease]
    A = verts.place[world, nonnegative(ends[0])]
    B = verts.place[world, nonnegative(ends[1])]
    if wp.max(A[2], B[2]) <= place.below[slot] + g.spacing:
        frame = win.frame[slot]
        xa = A[0] - real(frame.column0)
        ya = A[1] - real(frame.row0)
        xb = B[0] - real(frame.column0)
        yb = B[1] - real(frame.row0)
        one = real(1.0)
        zero = real(0.0)
        if xa != xb:  # it crosses columns: each crossing lies between two rows
            j0 = wp.max(int(wp.ceil(wp.min(xa, xb) - cell_slack)), 0)
            j1 = wp.min(int(wp.floor(wp.max(xa, xb) + cell_slack)), frame.columns - 1)
            for j in range(j0, j1 + 1):
                along = (real(j) - xa) / (xb - xa)
                y = ya + along * (yb - ya)
                i = int(wp.floor(y))
                if i >= 1 and i < frame.rows - 2:
                    past = y - real(i)
                    extend_reach(win, skin, slot, i, j, vec4(zero, zero, past, zero), mode)
                    extend_reach(win, skin, slot, i + 1, j, vec4(zero, zero, zero, one - past), mode)
                    # At a node, which both sides of the edge may cover: it may also lie between this node and the last.
                    if past < cell_slack:
                        extend_reach(win, skin, slot, i - 1, j, vec4(zero, zero, one, zero), mode)
                    elif past > one - cell_slack:
                        extend_reach(win, skin, slot, i + 2, j, vec4(zero, zero, zero, one), mode)
                    near = wp.where(past < HALF, i, i + 1)
                    mark_beside(g, win, skin, slot, near, j, 2 * i + 1 - near, j, A[2] + along * (B[2] - A[2]))
        if ya != yb:  # it crosses rows: each crossing lies between two columns
            i0 = wp.max(int(wp.ceil(wp.min(ya, yb) - cell_slack)), 0)
            i1 = wp.min(int(wp.floor(wp.max(ya, yb) + cell_slack)), frame.rows - 1)
            for i in range(i0, i1 + 1):
                along = (real(i) - ya) / (yb - ya)
                x = xa + along * (xb - xa)
                j = int(wp.floor(x))
                if j >= 1 and j < frame.columns - 2:
                    past = x - real(j)
                    extend_reach(win, skin, slot, i, j, vec4(past, zero, zero, zero), mode)
                    extend_reach(win, skin, slot, i, j + 1, vec4(zero, one - past, zero, zero), mode)
                    if past < cell_slack:
                        extend_reach(win, skin, slot, i, j - 1, vec4(one, zero, zero, zero), mode)
                    elif past > one - cell_slack:
                        extend_reach(win, skin, slot, i, j + 2, vec4(zero, one, zero, zero), mode)
                    near = wp.where(past < HALF, j, j + 1)
                    mark_beside(g, win, skin, slot, i, near, i, 2 * j + 1 - near, A[2] + along * (B[2] - A[2]))


@wp.func
def crease_box(
    g: Ground, b: Bodies, place: Placement, win: Window, verts: Vertices, world: int, slot: int, crease: int
):  # fmt: skip
    """Box of the nodes that `mark_crease` may write to; empty if it leaves the crease out."""
    ends = b.creases[crease]
    A = verts.place[world, nonnegative(ends[0])]
    B = verts.place[world, nonnegative(ends[1])]
    if wp.max(A[2], B[2]) > place.below[slot] + g.spacing:
        return boxes.empty_box()
    frame = win.frame[slot]
    row = int(wp.floor(wp.min(A[1], B[1]))) - frame.row0
    column = int(wp.floor(wp.min(A[0], B[0]))) - frame.column0
    around = Box(
        row - 1, int(wp.ceil(wp.max(A[1], B[1]))) - frame.row0 + 2,
        column - 1, int(wp.ceil(wp.max(A[0], B[0]))) - frame.column0 + 2,
    )  # fmt: skip
    around = boxes.common(around, Box(0, frame.rows - 1, 0, frame.columns - 1))
    if boxes.is_empty(around):
        return boxes.empty_box()
    return around


@wp.func
def close_hit(win: Window, skin: Skin, slot: int):
    """Clip the box of nodes below the body to the inside of the window: nodes on its rim lack neighbours."""
    frame = win.frame[slot]
    skin.hit[slot] = boxes.common(skin.hit[slot], boxes.inside_rim(frame.rows, frame.columns))
