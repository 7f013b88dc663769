"""Stage `displace`, second half: move the soil that sinkage and slip displace (spoil) to the border of the footprint.

Krenn and Hirzinger 2009, eq. 6-10. Spoil is first summed over blocks of the footprint and then distributed. Visiting
every pair of a contact node and a border node would cost more time than the rest of the step.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import bottom, laws, pressure
from grouser.contact.soil import types as t
from grouser.contact.soil.elements import Box, Deposit, Spoil
from grouser.contact.soil.shear import central
from grouser.contact.soil.types import SEEN, Bodies, BodyMotion, Displacement, Options, Skin, Window
from grouser.device import nonnegative
from grouser.precision import real, vec2, vec3
from grouser.terrain.ground import SURFACE
from grouser.terrain.ground import GroundArrays as Ground

SHEAR_BAND = wp.constant(real(laws.SHEAR_BAND))
TINY = wp.constant(real(1.0e-30))
WIDEST = 1024  # [nodes] of a block along an axis: displacement_lanes.py has room for as many columns


@wp.func
def node_velocity(g: Ground, skin: Skin, win: Window, k: int, i: int, j: int, first_node: vec3, m: BodyMotion):
    """Normal and tangential velocity [m/s] of the body's surface over a node, shares of sinkage and bulldozing.

    Krenn and Hirzinger 2009, eq. 6-7.
    """
    z = wp.where(skin.height[k] < SEEN, skin.height[k], win.levels[k][SURFACE])  # small shapes have no `skin.height`
    dx = central(skin.height[k + 1], skin.height[nonnegative(k - 1)], z)
    dy = central(skin.height[nonnegative(k + win.side)], skin.height[nonnegative(k - win.side)], z)
    v = m.velocity + wp.cross(m.angular_velocity, first_node + vec3(real(j) * g.spacing, real(i) * g.spacing, z))
    v_n, sinkage, bulldozing = laws.displacement_parts(v, vec3(-dx, -dy, g.spacing))
    return v_n, v - v_n, sinkage, bulldozing


@wp.func
def dig_node(
    g: Ground, o: Options, b: Bodies, skin: Skin, win: Window, disp: Displacement,
    body: int, slot: int, i: int, j: int, first_node: vec3, m: BodyMotion,
):  # fmt: skip
    """Find what slip does to a node: soil dragged off at the upstream edge of the footprint, fall of the virgin level.

    Returns 1 if any of the two is above 0.
    """
    k = nonnegative(slot * win.nodes + i * win.side + j)
    disp.dug[k] = real(0.0)
    if b.slip_sinkage[body] > real(0.0):
        disp.weakened[k] = real(0.0)
    # Only points of a small shape press here, and they cover just part of the cell; or slip shall not dig.
    if skin.height[k] >= SEEN or o.digs == 0:
        return 0
    east = win.mark[k + 1] != t.CONTACT
    west = win.mark[nonnegative(k - 1)] != t.CONTACT
    north = win.mark[nonnegative(k + win.side)] != t.CONTACT
    south = win.mark[nonnegative(k - win.side)] != t.CONTACT
    inner = not (east or west or north or south)  # inside the footprint as much soil arrives as leaves
    if inner and b.slip_sinkage[body] == real(0.0):
        return 0
    v_n, v_t, sinkage, bulldozing = node_velocity(g, skin, win, k, i, j, first_node, m)
    soil = o.soils[nonnegative(win.soil[k])]
    layer = SHEAR_BAND + b.carried[body]
    changes = int(0)
    if b.slip_sinkage[body] > real(0.0):
        travel = wp.sqrt(m.velocity[0] * m.velocity[0] + m.velocity[1] * m.velocity[1])
        layer = SHEAR_BAND * laws.spinning_share(travel) + b.carried[body]
        z = skin.height[k]
        y = pressure.yield_at(o, win.soil[k], pressure.modulus_of(soil, disp.per_width[slot]), z, win.levels[k])
        p = wp.min(soil.k_e * (win.levels[k][SURFACE] - z), y)
        part = (real(1.0) - soil.chi) * laws.frictional_share(p, soil.cohesion, soil.tan_phi)
        disp.weakened[k] = b.slip_sinkage[body] * part * laws.slip_sinkage(v_t, travel, m.duration)
        changes = wp.where(disp.weakened[k] > real(0.0), 1, 0)
    if inner:
        return changes
    # Soil is dragged along v_t. A node loses soil if there is no contact behind it that would supply it. "Behind" is
    # taken along the larger component of v_t.
    upstream = wp.where(v_t[1] > real(0.0), south, north)
    if wp.abs(v_t[0]) > wp.abs(v_t[1]):
        upstream = wp.where(v_t[0] > real(0.0), west, east)
    if not upstream:
        return changes
    disp.dug[k] = laws.dug_height(v_t, soil.chi, layer, m.duration * g.per_spacing)
    if bottom.is_limited(g, o):  # what the sinkage of this step leaves above the hard ground
        left = bottom.soil_left(g, win, k) - disp.sunk[k]
        disp.dug[k] = wp.clamp(disp.dug[k], real(0.0), wp.max(left, real(0.0)))
    return wp.where(disp.dug[k] > real(0.0), 1, changes)


# ---- blocks of the footprint ------------------------------------------------------------------------------


@wp.func
def blocks_along(o: Options, first: int, last: int):
    """Number of blocks of nearly equal width that the nodes from `first` to `last` are divided into."""
    return (last - first + o.block) // o.block


@wp.func
def block_count(o: Options, touched: Box):
    """Number of blocks that a footprint is divided into."""
    return blocks_along(o, touched.row0, touched.row1) * blocks_along(o, touched.column0, touched.column1)


@wp.func
def block_start(first: int, last: int, block: int, blocks: int):
    """First node of a block along an axis. Rounded, so that a footprint and its mirror image are divided alike."""
    nodes = last - first + 1
    return first + (2 * nodes * block + blocks) // (2 * blocks)


@wp.func(inline=True)
def spoil_of_node(
    g: Ground, o: Options, skin: Skin, win: Window, disp: Displacement, k: int, i: int, j: int, first_node: vec3,
    m: BodyMotion,
):  # fmt: skip
    """Soil that one node displaces. Also writes its `share` of sinkage, eq. 6."""
    # Nodes of the box that are not in contact hold values of an earlier step.
    d = real(0.0)
    dug = real(0.0)
    if win.mark[k] == t.CONTACT:
        d = disp.sunk[k] - disp.excess[k][0]
        dug = disp.dug[k] - disp.excess[k][1]
        disp.share[k] = real(0.0)
    if d + dug <= real(0.0):
        return Spoil()
    v_n, v_t, sinkage, bulldozing = node_velocity(g, skin, win, k, i, j, first_node, m)
    disp.share[k] = sinkage
    f = (real(1.0) - o.soils[nonnegative(win.soil[k])].chi) * d  # the rest is compressed in place
    # The sinkage part goes to all sides, bulldozing goes ahead, shear and dug soil go along the slip.
    push = f * bulldozing
    drag = f * (real(1.0) - sinkage - bulldozing) + dug
    # Weight directions by the amount of soil that moves, not by its speed.
    per_push = push / (wp.sqrt(v_n[0] * v_n[0] + v_n[1] * v_n[1]) + TINY)
    per_drag = drag / (wp.sqrt(v_t[0] * v_t[0] + v_t[1] * v_t[1]) + TINY)
    much = f + dug
    return Spoil(
        much, much * real(j), much * real(i), f * sinkage, push, drag,
        vec2(per_push * v_n[0], per_push * v_n[1]), vec2(per_drag * v_t[0], per_drag * v_t[1]),
    )  # fmt: skip


@wp.func(inline=True)
def both_spoils(a: Spoil, b: Spoil):
    """Sum of two amounts of spoil."""
    return Spoil(
        a.volume + b.volume, a.moment_column + b.moment_column, a.moment_row + b.moment_row, a.sunk + b.sunk,
        a.pushed + b.pushed, a.dragged + b.dragged, a.push + b.push, a.drag + b.drag,
    )  # fmt: skip


@wp.func
def gather_spoil(
    g: Ground, o: Options, skin: Skin, win: Window, disp: Displacement,
    slot: int, block: int, first_node: vec3, m: BodyMotion,
):  # fmt: skip
    """Sum the soil that a block of the footprint displaces: volume, its first moments, its parts and directions."""
    # Blocks are numbered row by row over the box of the nodes in contact.
    touched = disp.touched[slot]
    across = blocks_along(o, touched.row0, touched.row1)
    along = blocks_along(o, touched.column0, touched.column1)
    row = block // along
    column = block % along
    last_row = block_start(touched.row0, touched.row1, row + 1, across)
    last_column = block_start(touched.column0, touched.column1, column + 1, along)
    sums = Spoil()
    i = int(block_start(touched.row0, touched.row1, row, across))
    while i < last_row:
        j = int(block_start(touched.column0, touched.column1, column, along))
        while j < last_column:
            k = nonnegative(slot * win.nodes + i * win.side + j)
            sums = both_spoils(sums, spoil_of_node(g, o, skin, win, disp, k, i, j, first_node, m))
            j += 1
        i += 1
    return sums


# ---- the border -------------------------------------------------------------------------------------------


@wp.func
def deposit_of(spoil: Spoil):
    """Centroid and directions of a block's spoil. `complete_deposit` adds the heights per unit weight."""
    zero = real(0.0)
    column = spoil.moment_column / spoil.volume
    row = spoil.moment_row / spoil.volume
    return Deposit(column, row, spoil.push, spoil.drag, zero, zero, zero)


@wp.func
def border_weights(deposit: Deposit, column: real, row: real):
    """Weights of a border node for the three parts of a block's spoil: even, ahead, along.

    Krenn et al. 2008, eq. 24; Krenn and Hirzinger 2009, eq. 9-10.
    """
    dx = column - deposit.column
    dy = row - deposit.row
    w = laws.deposit_weight(dx, dy)  # nearer nodes get more
    ahead = laws.directed_weight(dx, dy, deposit.push[0], deposit.push[1], w)
    along = laws.directed_weight(dx, dy, deposit.drag[0], deposit.drag[1], w)
    return w, ahead, along


@wp.func
def complete_deposit(spoil: Spoil, deposit: Deposit, even: real, ahead: real, along: real):
    """Complete a deposit with heights per unit weight, given the sums of the weights of all border nodes.

    If no border node lies in the direction of the pushed or dragged soil, that part goes to all sides.
    """
    zero = real(0.0)
    rest = spoil.sunk
    # Divide by the sums of the weights, so that the shares sum to one and volume is conserved.
    per_ahead = zero
    per_along = zero
    if ahead > zero:
        per_ahead = spoil.pushed / ahead
    else:
        rest += spoil.pushed
    if along > zero:
        per_along = spoil.dragged / along
    else:
        rest += spoil.dragged
    return Deposit(deposit.column, deposit.row, deposit.push, deposit.drag, rest / even, per_ahead, per_along)


@wp.func
def received_from(deposit: Deposit, even: real, ahead: real, along: real):
    """Height [m] that a border node with these weights receives from one block."""
    return deposit.even * even + deposit.ahead * ahead + deposit.along * along


@wp.func
def pile_up(o: Options, win: Window, k: int, f: real):
    """Add loose soil of the height f [m] to a node."""
    win.levels[k] = laws.add_loose_soil(win.levels[k], f, o.loose)
