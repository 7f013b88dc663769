"""Stages that move the soil on: plastic sinkage, shear state, spoil to the border."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact.soil import laws
from grouser.contact.soil import types as t
from grouser.contact.soil.bekker import bekker_stages
from grouser.terrain.ground import TILE, natural


@cache
def plasticity_stages(name: str) -> SimpleNamespace:
    ty = t.soil_types(name)
    p = ty.precision
    real, vec2, vec3, mat33 = p.real, p.vec2, p.vec3, p.mat33
    Ground, Options, Bodies, Window = ty.ground.Arrays, ty.Options, ty.Bodies, ty.Window
    parts, yield_at = ty.parts, bekker_stages(name).yield_at
    seen = wp.constant(real(0.1 * t.FAR))
    tile = wp.constant(TILE)
    hold = wp.constant(real(laws.HOLD))
    falling = wp.constant(real(laws.FALLING))
    tiny = wp.constant(real(1.0e-30))

    @wp.func
    def bow(ahead: real, behind: real, here: real):
        """Second difference [m] of the body's lower surface along an axis where it bows down."""
        if ahead < seen and behind < seen:
            return wp.max(ahead + behind - here - here, real(0.0))
        return real(0.0)

    @wp.func
    def bow_below(win: Window, k: int):
        """How far [m] above a node's soil the body may be and yet press between nodes, where it bows down; see `loaded`
        in traction.py."""
        z = win.under[k]
        down = bow(win.under[k + 1], win.under[natural(k - 1)], z)
        down += bow(win.under[natural(k + win.side)], win.under[natural(k - win.side)], z)
        return real(1.0 / 3.0) * down

    @wp.func
    def touch_node(g: Ground, o: Options, b: Bodies, win: Window, world: int, body: int, k: int):
        """Mark a node in contact and find what of its sinkage is beyond the elastic trial; Krenn et al. 2008, eq. 10.

        2 in contact, 1 less than a cell above the soil, 0 elsewhere. Soil the body almost touches, or falls on in the
        next step, is held: spoil put there would stand in the body and brake it. None is put either on what the body
        falls on within FALLING, whatever the step, or where it may press between nodes: that would lift one that rocks.
        """
        z = win.under[k]
        if z >= seen or win.mark[k] == t.BARE_NODE:
            return 0
        u = win.levels[k][0] - z
        if u <= -g.spacing:
            return 0
        if u <= real(0.0):
            fall = wp.max(-win.motion[world * b.rows.shape[0] + body, 0][2], real(0.0))
            if u > -hold * g.spacing - o.step[0] * fall:
                win.mark[k] = t.HELD
            elif u > -wp.max(hold * g.spacing + falling * fall, bow_below(win, k)):
                win.mark[k] = t.CLOSE
            return 1
        win.mark[k] = t.CONTACT
        soil = o.soils[natural(win.soil[k])]
        modulus = soil.k_c * b.per_width[world, body] + soil.k_phi
        y = yield_at(o, win.soil[k], modulus, z, win.levels[k])
        win.sunk[k] = wp.max(u - y * soil.per_k_e, real(0.0))
        return 2

    @wp.func
    def shear_vertex(
        g: Ground, o: Options, b: Bodies, win: Window,
        world: int, body: int, slot: int, v: int, pos: vec3, R: mat33, vel: vec3, spin: vec3,
    ):  # fmt: skip
        """Advance the shear state of a vertex in the soil with the velocity at the end of the step."""
        at = b.placed[world, v]
        s = b.shear[world, v]
        sheared = s[0] != real(0.0) or s[1] != real(0.0) or s[2] != real(0.0)
        x = at[0] - real(win.box[slot, t.COLUMN0])
        y = at[1] - real(win.box[slot, t.ROW0])
        i = int(wp.floor(y))
        j = int(wp.floor(x))
        touching = bool(False)
        k = int(0)
        if i >= 0 and j >= 0 and i < win.box[slot, t.ROWS] - 1 and j < win.box[slot, t.COLUMNS] - 1:
            k = natural((slot * win.side + i) * win.side + j)
            fx = x - real(j)
            fy = y - real(i)
            one = real(1.0)
            weight = real(0.0)
            height = real(0.0)
            for corner in range(4):
                n = k + (corner / 2) * win.side + corner % 2
                if win.mark[n] != t.CONTACT:
                    w = wp.where(corner % 2 == 0, one - fx, fx) * wp.where(corner / 2 == 0, one - fy, fy)
                    w += real(1.0e-12)
                    weight += w
                    height += w * win.levels[n][0]
            if weight == real(0.0):
                touching = True
            else:
                level = height / weight
                if at[2] < level or (sheared and at[2] < level + hold * g.spacing):
                    touching = True
        if touching:
            normal = b.normals[v]
            arm = R * (b.vertices[v] + b.grouser[body] * normal)
            u = wp.transpose(R) * (vel + wp.cross(spin, arm))
            u = u - wp.dot(u, normal) * normal
            soil = o.soils[wp.max(win.soil[k], 0)]
            b.shear[world, v] = laws.advance_shear(s, u, o.step[0] / soil.shear_k)
        elif sheared:
            b.shear[world, v] = vec3()

    @wp.func
    def central(ahead: real, behind: real, here: real):
        """Half the difference of two neighbours [m], one-sided where the body ends."""
        return real(0.5) * (wp.where(ahead < seen, ahead, here) - wp.where(behind < seen, behind, here))

    @wp.func
    def shear_node(
        g: Ground, o: Options, win: Window, slot: int, i: int, j: int, first_node: vec3, vel: vec3, spin: vec3
    ):  # fmt: skip
        """Advance the shear state of a node in contact; it forgets when the body leaves it."""
        k = natural((slot * win.side + i) * win.side + j)
        if win.mark[k] != t.CONTACT:
            win.node_shear[k] = vec3()
            return
        z = win.under[k]
        dx = central(win.under[k + 1], win.under[natural(k - 1)], z)
        dy = central(win.under[natural(k + win.side)], win.under[natural(k - win.side)], z)
        n = wp.normalize(vec3(-dx, -dy, g.spacing))
        v = vel + wp.cross(spin, first_node + vec3(real(j) * g.spacing, real(i) * g.spacing, z))
        step = o.step[0] / o.soils[natural(win.soil[k])].shear_k
        win.node_shear[k] = laws.advance_shear(win.node_shear[k], v - wp.dot(v, n) * n, step)
        win.box[slot, t.CHANGED] = 1

    @wp.func
    def is_under(win: Window, k: int):
        """Whether a node is in the footprint: in contact, or so near that the body leaves no room for more soil."""
        return win.mark[k] >= t.CLOSE and win.mark[k] <= t.HELD

    @wp.func
    def is_touched(win: Window, k: int):
        """Whether the body itself is in the soil over a node, not points of its small shapes beside it."""
        return win.mark[k] == t.CONTACT and win.under[k] < seen

    @wp.func
    def mark_border(win: Window, k: int):
        """A free node beside the footprint: displaced soil goes there."""
        if win.mark[k] == t.FREE:
            if (
                is_under(win, natural(k - 1))
                or is_under(win, k + 1)
                or is_under(win, natural(k - win.side))
                or is_under(win, natural(k + win.side))
            ):
                win.mark[k] = t.BORDER
                return 1
        return 0

    @wp.func
    def node_velocity(g: Ground, win: Window, slot: int, i: int, j: int, first_node: vec3, vel: vec3, spin: vec3):
        """Velocity of the body's surface over a node along its normal and its tangent, and their shares.

        Krenn and Hirzinger 2009, eq. 6-7.
        """
        k = natural((slot * win.side + i) * win.side + j)
        z = wp.where(win.under[k] < seen, win.under[k], win.levels[k][0])  # the latter below points of small shapes
        dx = central(win.under[k + 1], win.under[natural(k - 1)], z)
        dy = central(win.under[natural(k + win.side)], win.under[natural(k - win.side)], z)
        v = vel + wp.cross(spin, first_node + vec3(real(j) * g.spacing, real(i) * g.spacing, z))
        v_n, sinkage, bulldozing = laws.displacement_parts(v, vec3(-dx, -dy, g.spacing))
        return v_n, v - v_n, sinkage, bulldozing

    @wp.func
    def dig_node(
        g: Ground, o: Options, win: Window, slot: int, i: int, j: int, first_node: vec3, vel: vec3, spin: vec3
    ):  # fmt: skip
        """What slip drags off a node at the upstream edge of the footprint; 1 where it is any."""
        k = natural((slot * win.side + i) * win.side + j)
        win.dug[k] = real(0.0)
        if win.under[k] >= seen:  # below points of a small shape: it covers part of the cell only
            return 0
        east = win.mark[k + 1] != t.CONTACT
        west = win.mark[natural(k - 1)] != t.CONTACT
        north = win.mark[natural(k + win.side)] != t.CONTACT
        south = win.mark[natural(k - win.side)] != t.CONTACT
        if not (east or west or north or south):
            return 0
        v_n, v_t, sinkage, bulldozing = node_velocity(g, win, slot, i, j, first_node, vel, spin)
        upstream = wp.where(v_t[1] > real(0.0), south, north)
        if wp.abs(v_t[0]) > wp.abs(v_t[1]):
            upstream = wp.where(v_t[0] > real(0.0), west, east)
        if not upstream:
            return 0
        chi = o.soils[natural(win.soil[k])].chi
        win.dug[k] = laws.dug_height(v_t, chi, o.step[0] * g.per_spacing)
        return wp.where(win.dug[k] > real(0.0), 1, 0)

    @wp.func
    def blocks_along(o: Options, win: Window, slot: int, side: int):
        """Blocks the footprint is cut into along an axis, of nearly equal width."""
        return (win.box[slot, side + 1] - win.box[slot, side] + o.block) / o.block

    @wp.func
    def block_start(win: Window, slot: int, side: int, block: int, blocks: int):
        """First node of a block along an axis; rounded, so that a footprint and its mirror image are cut alike."""
        nodes = win.box[slot, side + 1] - win.box[slot, side] + 1
        return win.box[slot, side] + (2 * nodes * block + blocks) / (2 * blocks)

    @wp.func
    def gather_spoil(
        g: Ground, o: Options, win: Window, slot: int, block: int, first_node: vec3, vel: vec3, spin: vec3
    ):
        """Soil a block of the footprint displaces: volume, centroid, the parts of Krenn and Hirzinger 2009, eq. 6-8 and
        their directions.

        0 volume [m per node], 1-2 column and row times volume, 3-5 sinkage, bulldozing, shear, 6-9 directions.
        """
        across = blocks_along(o, win, slot, t.TOUCHED)
        along = blocks_along(o, win, slot, t.TOUCHED + 2)
        row = block / along
        column = block % along
        last_row = block_start(win, slot, t.TOUCHED, row + 1, across)
        last_column = block_start(win, slot, t.TOUCHED + 2, column + 1, along)
        volume = real(0.0)
        moment_x = real(0.0)
        moment_y = real(0.0)
        sunk = real(0.0)
        pushed = real(0.0)
        dragged = real(0.0)
        push_x = real(0.0)
        push_y = real(0.0)
        drag_x = real(0.0)
        drag_y = real(0.0)
        i = int(block_start(win, slot, t.TOUCHED, row, across))
        while i < last_row:
            j = int(block_start(win, slot, t.TOUCHED + 2, column, along))
            while j < last_column:
                k = natural((slot * win.side + i) * win.side + j)
                d = real(0.0)
                dug = real(0.0)
                if win.mark[k] == t.CONTACT:
                    d = win.sunk[k]
                    dug = win.dug[k]
                if d + dug > real(0.0):
                    v_n, v_t, sinkage, bulldozing = node_velocity(g, win, slot, i, j, first_node, vel, spin)
                    win.share[k] = sinkage
                    f = (real(1.0) - o.soils[natural(win.soil[k])].chi) * d
                    push = f * bulldozing
                    drag = f * (real(1.0) - sinkage - bulldozing) + dug
                    per_push = push / (wp.sqrt(v_n[0] * v_n[0] + v_n[1] * v_n[1]) + tiny)
                    per_drag = drag / (wp.sqrt(v_t[0] * v_t[0] + v_t[1] * v_t[1]) + tiny)
                    volume = volume + f + dug
                    moment_x += (f + dug) * real(j)
                    moment_y += (f + dug) * real(i)
                    sunk += f * sinkage
                    pushed += push
                    dragged += drag
                    push_x += per_push * v_n[0]
                    push_y += per_push * v_n[1]
                    drag_x += per_drag * v_t[0]
                    drag_y += per_drag * v_t[1]
                j += 1
            i += 1
        return parts(volume, moment_x, moment_y, sunk, pushed, dragged, push_x, push_y, drag_x, drag_y)

    @wp.func
    def border_weights(spoil: parts, at: vec2):
        """Weights of the border node in a column and row of the window for the three parts of a block's spoil."""
        dx = at[0] - spoil[1]
        dy = at[1] - spoil[2]
        w = laws.deposit_weight(dx, dy)
        push = laws.directed_weight(dx, dy, spoil[6], spoil[7], w)
        drag = laws.directed_weight(dx, dy, spoil[8], spoil[9], w)
        return w, push, drag

    @wp.func
    def share_out(spoil: parts, even: real, push: real, drag: real):
        """Turn a block's parts into amounts per unit weight; what no node lies ahead of goes all round."""
        zero = real(0.0)
        rest = spoil[3]
        per_push = zero
        per_drag = zero
        if push > zero:
            per_push = spoil[4] / push
        else:
            rest += spoil[4]
        if drag > zero:
            per_drag = spoil[5] / drag
        else:
            rest += spoil[5]
        return parts(
            spoil[0], spoil[1], spoil[2], rest / even, per_push, per_drag, spoil[6], spoil[7], spoil[8], spoil[9]
        )

    @wp.func
    def centre_spoil(spoil: parts):
        """Centroid from first moments."""
        return parts(
            spoil[0], spoil[1] / spoil[0], spoil[2] / spoil[0], spoil[3], spoil[4], spoil[5],
            spoil[6], spoil[7], spoil[8], spoil[9],
        )  # fmt: skip

    @wp.func
    def receive(spoil: parts, weights: vec3):
        """Height [m] a border node gets from one block."""
        return spoil[3] * weights[0] + spoil[4] * weights[1] + spoil[5] * weights[2]

    @wp.func
    def pile_up(o: Options, win: Window, k: int, f: real):
        win.levels[k] = laws.cover(win.levels[k], f, o.loose)

    @wp.func
    def sink_node(o: Options, win: Window, k: int, kept: int):
        """Lower a node by its plastic sinkage; `kept` = 1 where no border node could take the spoil.

        To the letter of Krenn et al. 2008, eq. 29 all sinkage adds to z_0; with loose cover what is carried off does
        not.
        """
        d = win.sunk[k]
        chi = o.soils[natural(win.soil[k])].chi
        a = chi + (real(1.0) - chi) * win.share[k]
        if kept == 1 or o.loose == 0:
            a = real(1.0)
        win.levels[k] = laws.sink(win.levels[k], d, a)
        if kept == 0 and o.spoil == 1 and win.dug[k] > real(0.0):
            win.levels[k] = laws.cover(win.levels[k], -win.dug[k], o.loose)

    @wp.func
    def changed_box(o: Options, win: Window, slot: int):
        """Rows and columns of the window that a step may have changed: the footprint with its border, what slid."""
        last_row = win.box[slot, t.ROWS] - 1
        last_column = win.box[slot, t.COLUMNS] - 1
        if o.node_shear == 1:
            return 0, last_row, 0, last_column
        i0 = wp.max(wp.min(win.box[slot, t.NEAR] - 1, win.box[slot, t.MOVED_BOX]), 0)
        i1 = wp.min(wp.max(win.box[slot, t.NEAR + 1] + 1, win.box[slot, t.MOVED_BOX + 1]), last_row)
        j0 = wp.max(wp.min(win.box[slot, t.NEAR + 2] - 1, win.box[slot, t.MOVED_BOX + 2]), 0)
        j1 = wp.min(wp.max(win.box[slot, t.NEAR + 3] + 1, win.box[slot, t.MOVED_BOX + 3]), last_column)
        return i0, i1, j0, j1

    @wp.func
    def stamp_tiles(g: Ground, o: Options, win: Window, world: int, slot: int):
        """Count a write to the tiles that a step may have changed."""
        i0, i1, j0, j1 = changed_box(o, win, slot)
        r0 = win.box[slot, t.ROW0]
        c0 = win.box[slot, t.COLUMN0]
        for i in range((r0 + i0) / tile, (r0 + i1) / tile + 1):
            for j in range((c0 + j0) / tile, (c0 + j1) / tile + 1):
                index = g.table[world, i, j]
                g.stamp[world, index] = g.stamp[world, index] + 1

    @wp.func
    def scatter_node(g: Ground, win: Window, world: int, index: int, row: int, column: int, k: int):
        """Copy a node back into its tile; returns how much its surface moved [m]."""
        levels = win.levels[k]
        moved = levels[0] - g.levels[world, index, row % tile, column % tile][0]
        g.levels[world, index, row % tile, column % tile] = levels
        if g.shear.shape[2] > 1:
            g.shear[world, index, row % tile, column % tile] = win.node_shear[k]
        return moved

    return SimpleNamespace(
        is_touched=is_touched,
        touch_node=touch_node, shear_vertex=shear_vertex, shear_node=shear_node, mark_border=mark_border,
        gather_spoil=gather_spoil, blocks_along=blocks_along, dig_node=dig_node, border_weights=border_weights,
        share_out=share_out, centre_spoil=centre_spoil, receive=receive, pile_up=pile_up, sink_node=sink_node,
        scatter_node=scatter_node, changed_box=changed_box, stamp_tiles=stamp_tiles,
    )  # fmt: skip
