"""Stages that find where a body is in the soil: place its vertices, open a window, rasterise its lower skin."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact.soil import laws
from grouser.contact.soil import types as t
from grouser.contact.soil.surface import UPRIGHT
from grouser.terrain.elevation import BARE
from grouser.terrain.ground import TILE, natural

SHALLOW = 1e-3  # [m] the least depth an impact is measured against


@cache
def footprint_stages(name: str) -> SimpleNamespace:
    ty = t.soil_types(name)
    p, ground = ty.precision, ty.ground
    real, vec2, vec3, vec4, mat33 = p.real, p.vec2, p.vec3, p.vec4, p.mat33
    Ground, Options, Bodies, Window = ground.Arrays, ty.Options, ty.Bodies, ty.Window
    soil_at, touch, base_height = ground.soil_at, ground.touch, ground.base_height
    far = wp.constant(real(t.FAR))
    seen = wp.constant(real(0.1 * t.FAR))
    slack = wp.constant(real(p.slack))
    flat = wp.constant(real(-1e-3 * p.slack))
    upright = wp.constant(real(-UPRIGHT))
    tile = wp.constant(TILE)

    @wp.func
    def empty_box(win: Window, slot: int, box: int):
        win.box[slot, box] = 1 << 20
        win.box[slot, box + 1] = -1
        win.box[slot, box + 2] = 1 << 20
        win.box[slot, box + 3] = -1

    @wp.func
    def find_top(g: Ground, b: Bodies, win: Window, world: int, body: int, slot: int, pos: vec3, R: mat33):
        """Highest soil within the body's reach; empties the slot's extent."""
        x = (pos[0] - g.x0) * g.per_spacing
        y = (pos[1] - g.y0) * g.per_spacing
        half = b.half[body]
        along = (wp.abs(R[0, 0]) * half[0] + wp.abs(R[0, 1]) * half[1] + wp.abs(R[0, 2]) * half[2]) * g.per_spacing
        across = (wp.abs(R[1, 0]) * half[0] + wp.abs(R[1, 1]) * half[1] + wp.abs(R[1, 2]) * half[2]) * g.per_spacing
        r0 = wp.max(int(wp.floor(y - across)), 0)
        r1 = wp.min(int(wp.ceil(y + across)), g.rows - 1) + 1
        c0 = wp.max(int(wp.floor(x - along)), 0)
        c1 = wp.min(int(wp.ceil(x + along)), g.columns - 1) + 1
        top = real(-far)
        for ti in range(r0 / tile, (r1 - 1) / tile + 1):
            for tj in range(c0 / tile, (c1 - 1) / tile + 1):
                index = g.table[world, ti, tj]
                i1 = wp.min(r1, (ti + 1) * tile)
                j1 = wp.min(c1, (tj + 1) * tile)
                i = int(wp.max(r0, ti * tile))
                while i < i1:
                    j = int(wp.max(c0, tj * tile))
                    while j < j1:
                        if index >= 0:
                            z = g.levels[world, index, natural(i - ti * tile), natural(j - tj * tile)][0]
                            top = wp.where(z > top, z, top)
                        else:
                            top = wp.max(top, base_height(g, i, j))
                        j += 1
                    i += 1
        win.top[slot] = top
        win.lowest[slot] = vec3(real(0.0), real(0.0), far)
        win.extent[slot, 0] = far
        win.extent[slot, 1] = -far
        win.extent[slot, 2] = far
        win.extent[slot, 3] = -far
        win.box[slot, t.ROWS] = 0
        win.box[slot, t.COLUMNS] = 0
        win.box[slot, t.CONTACTS] = 0
        win.box[slot, t.PRESSED] = 0
        win.box[slot, t.BORDERS] = 0
        win.box[slot, t.CHANGED] = 0
        empty_box(win, slot, t.HIT)
        empty_box(win, slot, t.NEAR)
        empty_box(win, slot, t.TOUCHED)
        empty_box(win, slot, t.MOVED_BOX)

    @wp.func
    def ground_lean(g: Ground, pos: vec3):
        """Rise of the undisturbed ground under a body along columns and rows [m per cell]."""
        row = wp.clamp(int(wp.floor((pos[1] - g.y0) * g.per_spacing)), 0, g.rows - 2)
        column = wp.clamp(int(wp.floor((pos[0] - g.x0) * g.per_spacing)), 0, g.columns - 2)
        z = base_height(g, row, column)
        return vec2(base_height(g, row, column + 1) - z, base_height(g, row + 1, column) - z)

    @wp.func
    def lies_deeper(at: vec3, low: vec3, lean: vec2):
        """Whether a vertex lies deeper below ground of that lean than the deepest so far."""
        return at[2] - lean[0] * at[0] - lean[1] * at[1] < low[2] - lean[0] * low[0] - lean[1] * low[1]

    @wp.func
    def ground_above(g: Ground, at: vec3):
        """Height [m] of the undisturbed ground over a vertex."""
        row = wp.clamp(int(wp.floor(at[1])), 0, g.rows - 2)
        column = wp.clamp(int(wp.floor(at[0])), 0, g.columns - 2)
        v = at[1] - real(row)
        u = at[0] - real(column)
        low = base_height(g, row, column) + u * (base_height(g, row, column + 1) - base_height(g, row, column))
        row += 1
        high = base_height(g, row, column) + u * (base_height(g, row, column + 1) - base_height(g, row, column))
        return low + v * (high - low)

    @wp.func
    def remember_motion(o: Options, win: Window, slot: int, vel: vec3, spin: vec3):
        """Velocities at the end of a step, beside those at its start, and what the next step makes of them."""
        h = o.step[0]
        change = vel[2] - win.motion[slot, 0][2]
        ahead = vec3(laws.left_out(h, vel[2], change), real(1.0) / laws.unforeseen(h, change), real(0.0))
        win.motion[slot, 4] = ahead
        win.motion[slot, 2] = win.motion[slot, 0]
        win.motion[slot, 3] = win.motion[slot, 1]
        win.motion[slot, 0] = vel
        win.motion[slot, 1] = spin

    @wp.func
    def roughness(o: Options, win: Window, slot: int):
        """Status of a body on soil: fine, too fast along the ground, or stopped within too few steps."""
        h = o.step[0]
        vel = win.motion[slot, 0]
        if h * wp.sqrt(vel[0] * vel[0] + vel[1] * vel[1]) > o.fast:
            return t.FAST
        deep = wp.max(win.sinkage[slot], real(SHALLOW))
        if h * (vel[2] - win.motion[slot, 2][2]) > o.blow * deep or h * wp.abs(vel[2]) > o.hard:
            return t.BLOW
        return t.FINE

    @wp.func
    def sphere_bottom(sphere: vec4, pos: vec3, R: mat33):
        return R[2, 0] * sphere[0] + R[2, 1] * sphere[1] + R[2, 2] * sphere[2] + pos[2] - sphere[3]

    @wp.func
    def faces_up(cone: vec4, R: mat33):
        """Whether no triangle of a chunk looks down more than a wall does."""
        return R[2, 0] * cone[0] + R[2, 1] * cone[1] + R[2, 2] * cone[2] >= cone[3]

    @wp.func
    def chunk_is_near(g: Ground, b: Bodies, win: Window, body: int, slot: int, k: int, pos: vec3, R: mat33):
        """Whether a vertex chunk may hold corners of triangles that reach the soil."""
        limit = win.top[slot] + g.spacing + b.edge[body]
        return sphere_bottom(b.vertex_spheres[k], pos, R) <= limit

    @wp.func
    def place_vertex(g: Ground, b: Bodies, world: int, v: int, pos: vec3, R: mat33):
        """Column, row [cells] and height [m] of a vertex."""
        r = R * b.vertices[v]
        per = g.per_spacing
        at = vec3((r[0] + pos[0] - g.x0) * per, (r[1] + pos[1] - g.y0) * per, r[2] + pos[2])
        b.placed[world, v] = at
        return at

    @wp.func
    def forget_vertex(b: Bodies, world: int, v: int):
        """A vertex far above the soil: no shear state, no place."""
        b.shear[world, v] = vec3()
        b.placed[world, v] = vec3(real(0.0), real(0.0), far)

    @wp.func
    def open_window(g: Ground, o: Options, win: Window, world: int, slot: int, pos: vec3):
        """Nodes round the footprint; makes their tiles exist. Returns a status code."""
        x = (pos[0] - g.x0) * g.per_spacing
        y = (pos[1] - g.y0) * g.per_spacing
        win.sinkage[slot] = real(0.0)
        if not (x == x and y == y and pos[2] == pos[2]):
            return t.NOT_FINITE
        if x < real(0.0) or y < real(0.0) or x > real(g.columns - 1) or y > real(g.rows - 1):
            return t.LEFT
        status = int(t.FINE)
        first_row = int(win.box[slot, t.RESTLESS])
        last_row = int(win.box[slot, t.RESTLESS + 1])
        first_column = int(win.box[slot, t.RESTLESS + 2])
        last_column = int(win.box[slot, t.RESTLESS + 3])
        if win.extent[slot, 0] > win.extent[slot, 1]:  # in the air; soil it has just left may still slide
            if last_row < first_row:
                return t.FINE
        else:
            first_column = int(wp.floor(win.extent[slot, 0]))
            last_column = int(wp.ceil(win.extent[slot, 1]))
            first_row = int(wp.floor(win.extent[slot, 2]))
            last_row = int(wp.ceil(win.extent[slot, 3]))
        if first_column < 1 or first_row < 1 or last_column > g.columns - 2 or last_row > g.rows - 2:
            status = int(t.EDGE)
        c0 = first_column - o.spare
        c1 = last_column + o.spare
        r0 = first_row - o.spare
        r1 = last_row + o.spare
        if win.box[slot, t.SLID + 1] >= win.box[slot, t.SLID]:
            win.box[slot, t.SLID] = wp.max(win.box[slot, t.SLID], first_row - o.margin)
            win.box[slot, t.SLID + 1] = wp.min(win.box[slot, t.SLID + 1], last_row + o.margin)
            win.box[slot, t.SLID + 2] = wp.max(win.box[slot, t.SLID + 2], first_column - o.margin)
            win.box[slot, t.SLID + 3] = wp.min(win.box[slot, t.SLID + 3], last_column + o.margin)
            if (
                win.box[slot, t.SLID + 1] < win.box[slot, t.SLID]
                or win.box[slot, t.SLID + 3] < win.box[slot, t.SLID + 2]
            ):
                empty_box(win, slot, t.SLID)
            r0 = wp.min(r0, win.box[slot, t.SLID] - 1)
            r1 = wp.max(r1, win.box[slot, t.SLID + 1] + 1)
            c0 = wp.min(c0, win.box[slot, t.SLID + 2] - 1)
            c1 = wp.max(c1, win.box[slot, t.SLID + 3] + 1)
        c0 = wp.max(c0, 0)
        r0 = wp.max(r0, 0)
        columns = wp.min(c1, g.columns - 1) - c0 + 1
        rows = wp.min(r1, g.rows - 1) - r0 + 1
        if rows < 3 or columns < 3:
            return t.EDGE
        if rows > win.side or columns > win.side:
            return t.WINDOW_FULL
        for i in range(r0 / tile, (r0 + rows - 1) / tile + 1):
            for j in range(c0 / tile, (c0 + columns - 1) / tile + 1):
                if not touch(g, world, i, j):
                    return t.TILES_FULL
        win.box[slot, t.ROW0] = r0
        win.box[slot, t.COLUMN0] = c0
        win.box[slot, t.ROWS] = rows
        win.box[slot, t.COLUMNS] = columns
        low = win.lowest[slot]
        if low[2] < seen and win.extent[slot, 0] <= win.extent[slot, 1]:
            win.sinkage[slot] = ground_above(g, low) - low[2]
        return status

    @wp.func
    def corner(g: Ground, win: Window, slot: int, pos: vec3):
        """First node of the window, at height 0, as seen from the body's frame origin [m]."""
        return vec3(
            g.x0 + real(win.box[slot, t.COLUMN0]) * g.spacing - pos[0],
            g.y0 + real(win.box[slot, t.ROW0]) * g.spacing - pos[1],
            -pos[2],
        )

    @wp.func
    def gather_node(g: Ground, win: Window, world: int, index: int, row: int, column: int, k: int):
        """Copy a node from its tile into the window."""
        win.levels[k] = g.levels[world, index, row % tile, column % tile]
        if g.shear.shape[2] > 1:
            win.node_shear[k] = g.shear[world, index, row % tile, column % tile]

    @wp.func
    def clear_node(g: Ground, win: Window, row: int, column: int, k: int):
        """Nothing above a node yet."""
        win.under[k] = far
        win.reach[k] = vec4()
        mark = int(t.FREE)
        if g.base_soil.shape[0] > 1:
            soil = soil_at(g, row, column)
            win.soil[k] = soil
            if soil == BARE:
                mark = int(t.BARE_NODE)
        win.mark[k] = mark

    @wp.func
    def widen_box(win: Window, slot: int, box: int, i0: int, i1: int, j0: int, j1: int, mode: int):
        if mode == 0:
            win.box[slot, box] = wp.min(win.box[slot, box], i0)
            win.box[slot, box + 1] = wp.max(win.box[slot, box + 1], i1)
            win.box[slot, box + 2] = wp.min(win.box[slot, box + 2], j0)
            win.box[slot, box + 3] = wp.max(win.box[slot, box + 3], j1)
        else:
            wp.atomic_min(win.box, slot, box, i0)
            wp.atomic_max(win.box, slot, box + 1, i1)
            wp.atomic_min(win.box, slot, box + 2, j0)
            wp.atomic_max(win.box, slot, box + 3, j1)

    @wp.func
    def close_hit_box(win: Window, slot: int):
        """Keep the nodes below the body off the window's rim, where they have no neighbours."""
        win.box[slot, t.HIT] = wp.max(win.box[slot, t.HIT], 1)
        win.box[slot, t.HIT + 1] = wp.min(win.box[slot, t.HIT + 1], win.box[slot, t.ROWS] - 2)
        win.box[slot, t.HIT + 2] = wp.max(win.box[slot, t.HIT + 2], 1)
        win.box[slot, t.HIT + 3] = wp.min(win.box[slot, t.HIT + 3], win.box[slot, t.COLUMNS] - 2)

    @wp.func
    def least(a: real, b: real):
        """The least of a, b and 0, without the care wp.min takes of what is not a number."""
        c = wp.where(a < b, a, b)
        return wp.where(c < real(0.0), c, real(0.0))

    @wp.func
    def greatest(a: real, b: real):
        c = wp.where(a > b, a, b)
        return wp.where(c > real(0.0), c, real(0.0))

    @wp.func
    def raster_triangle(g: Ground, b: Bodies, win: Window, world: int, slot: int, triangle: int, mode: int):
        """Lowest point of a downward triangle over each node inside it (not Krenn et al. 2008, eq. 9: vertices are
        biased).

        mode 0: serial, height and triangle together; 1: heights, safe in parallel; 2: then triangles.
        """
        corners = b.triangles[natural(triangle)]
        A = b.placed[world, natural(corners[0])]
        B = b.placed[world, natural(corners[1])]
        C = b.placed[world, natural(corners[2])]
        cut = win.top[slot] + g.spacing
        if wp.min(A[2], wp.min(B[2], C[2])) <= cut and wp.max(A[2], wp.max(B[2], C[2])) < seen:
            x = A[0] - real(win.box[slot, t.COLUMN0])
            y = A[1] - real(win.box[slot, t.ROW0])
            xb = B[0] - A[0]
            yb = B[1] - A[1]
            xc = C[0] - A[0]
            yc = C[1] - A[1]
            area = xb * yc - xc * yb
            one = real(1.0)
            if area < flat:
                bow = b.bulge[triangle]
                down = area * g.spacing * g.spacing * bow[3]  # vertical part of the outward normal
                if down > upright:
                    return
                j0 = wp.max(int(wp.ceil(x + least(xb, xc) - slack)), 0)
                j1 = wp.min(int(wp.floor(x + greatest(xb, xc) + slack)), win.box[slot, t.COLUMNS] - 1)
                i0 = wp.max(int(wp.ceil(y + least(yb, yc) - slack)), 0)
                i1 = wp.min(int(wp.floor(y + greatest(yb, yc) + slack)), win.box[slot, t.ROWS] - 1)
                if i0 > i1 or j0 > j1:
                    return
                widen_box(win, slot, t.HIT, i0, i1, j0, j1, mode)
                per = one / area
                zb = B[2] - A[2]
                zc = C[2] - A[2]
                i = int(i0)
                j = int(j0)
                while i <= i1:  # rows and columns in one loop with nothing to guess but its end
                    dx = real(j) - x
                    dy = real(i) - y
                    u = (dx * yc - dy * xc) * per
                    v = (dy * xb - dx * yb) * per
                    w = one - u - v
                    z = A[2] + u * zb + v * zc
                    z += down * (bow[0] * w * u + bow[1] * u * v + bow[2] * v * w)
                    z = wp.where(u >= -slack, z, far)
                    z = wp.where(v >= -slack, z, far)
                    z = wp.where(u + v <= one + slack, z, far)
                    k = natural((slot * win.side + i) * win.side + j)
                    if mode == 0:
                        before = win.under[k]
                        win.under[k] = wp.where(z < before, z, before)
                        win.triangle[k] = wp.where(z < before, triangle, win.triangle[k])
                    elif z < seen:
                        if mode == 1:
                            wp.atomic_min(win.under, k, z)
                            win.triangle[k] = b.triangles.shape[0]
                        elif z == win.under[k]:
                            wp.atomic_min(win.triangle, k, triangle)
                    i = wp.where(j < j1, i, i + 1)
                    j = wp.where(j < j1, j + 1, j0)

    @wp.func
    def reach_out(win: Window, slot: int, i: int, j: int, much: vec4, mode: int):
        k = natural((slot * win.side + i) * win.side + j)
        if mode == 0:
            win.reach[k] = wp.max(win.reach[k], much)
            widen_box(win, slot, t.DIRTY, i, i, j, j, 0)
        else:
            wp.atomic_max(win.reach, k, much)

    @wp.func
    def mark_crease(g: Ground, b: Bodies, win: Window, world: int, slot: int, crease: int, mode: int):
        """Where a sharp edge crosses a grid line, the node before it learns how far the body reaches on."""
        ends = b.creases[crease]
        A = b.placed[world, natural(ends[0])]
        B = b.placed[world, natural(ends[1])]
        if wp.max(A[2], B[2]) <= win.top[slot] + g.spacing:
            xa = A[0] - real(win.box[slot, t.COLUMN0])
            ya = A[1] - real(win.box[slot, t.ROW0])
            xb = B[0] - real(win.box[slot, t.COLUMN0])
            yb = B[1] - real(win.box[slot, t.ROW0])
            rows = win.box[slot, t.ROWS]
            columns = win.box[slot, t.COLUMNS]
            one = real(1.0)
            zero = real(0.0)
            if xa != xb:
                j0 = wp.max(int(wp.ceil(wp.min(xa, xb) - slack)), 0)
                j1 = wp.min(int(wp.floor(wp.max(xa, xb) + slack)), columns - 1)
                for j in range(j0, j1 + 1):
                    y = ya + (real(j) - xa) / (xb - xa) * (yb - ya)
                    i = int(wp.floor(y))
                    if i >= 0 and i < rows - 1:
                        reach_out(win, slot, i, j, vec4(zero, zero, y - real(i), zero), mode)
                        reach_out(win, slot, i + 1, j, vec4(zero, zero, zero, one - (y - real(i))), mode)
            if ya != yb:
                i0 = wp.max(int(wp.ceil(wp.min(ya, yb) - slack)), 0)
                i1 = wp.min(int(wp.floor(wp.max(ya, yb) + slack)), rows - 1)
                for i in range(i0, i1 + 1):
                    x = xa + (real(i) - ya) / (yb - ya) * (xb - xa)
                    j = int(wp.floor(x))
                    if j >= 0 and j < columns - 1:
                        reach_out(win, slot, i, j, vec4(x - real(j), zero, zero, zero), mode)
                        reach_out(win, slot, i, j + 1, vec4(zero, one - (x - real(j)), zero, zero), mode)

    return SimpleNamespace(
        faces_up=faces_up, find_top=find_top, ground_lean=ground_lean, lies_deeper=lies_deeper,
        sphere_bottom=sphere_bottom, chunk_is_near=chunk_is_near,
        place_vertex=place_vertex, remember_motion=remember_motion, roughness=roughness,
        forget_vertex=forget_vertex, open_window=open_window, corner=corner,
        gather_node=gather_node, clear_node=clear_node,
        raster_triangle=raster_triangle, mark_crease=mark_crease, empty_box=empty_box, widen_box=widen_box,
        close_hit_box=close_hit_box,
    )  # fmt: skip
