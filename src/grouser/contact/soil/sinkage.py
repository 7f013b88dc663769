"""Stage `displace`, first half: which nodes are in contact, how far their soil gives way, and what lies beside them."""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import laws, pressure
from grouser.contact.soil import types as t
from grouser.contact.soil.types import SEEN, Bodies, Displacement, Options, Placement, Skin, Window
from grouser.device import nonnegative
from grouser.precision import real
from grouser.terrain.ground import SURFACE
from grouser.terrain.ground import GroundArrays as Ground

ABOVE, IN_SOIL = 1, 2  # what `touch_node` finds: less than a cell above the soil, in contact
THIRD = wp.constant(real(1.0 / 3.0))
HOLD = wp.constant(real(laws.HOLD))
FALLING = wp.constant(real(laws.FALLING))


@wp.func
def bow(ahead: real, behind: real, here: real):
    """Second difference [m] of the body's lower surface along an axis where it bows down, else 0."""
    if ahead < SEEN and behind < SEEN:
        return wp.max(ahead + behind - here - here, real(0.0))
    return real(0.0)


@wp.func
def bow_below(win: Window, skin: Skin, k: int):
    """How far [m] above a node's soil the body may be and yet press between nodes, where it bows down; see
    `traction.loaded`."""
    z = skin.height[k]
    down = bow(skin.height[k + 1], skin.height[nonnegative(k - 1)], z)
    down += bow(skin.height[nonnegative(k + win.side)], skin.height[nonnegative(k - win.side)], z)
    return THIRD * down


@wp.func
def touch_node(
    g: Ground, o: Options, b: Bodies, place: Placement, skin: Skin, win: Window, disp: Displacement, slot: int, k: int
):
    """Mark a node in contact and find what of its sinkage is beyond the elastic trial; Krenn et al. 2008, eq. 10.

    Returns IN_SOIL, ABOVE where the body is less than a cell above the soil, or 0. Writes `mark` and `sunk`.
    """
    z = skin.height[k]
    if z >= SEEN or win.mark[k] == t.BARE_NODE:
        return 0
    u = win.levels[k][SURFACE] - z  # how deep the body is in the soil
    if u <= -g.spacing:
        return 0
    if u <= real(0.0):
        fall = wp.max(-place.travel[slot].velocity[2], real(0.0))
        # Soil the body almost touches, or falls on in the next step, is held: spoil put there would stand in the body
        # and brake it. None is put either on what the body falls on within FALLING, whatever the step (else a fall
        # would end the deeper the longer the step is), or where it may press between nodes (that would lift one that
        # rocks).
        if u > -HOLD * g.spacing - o.step[0] * fall:
            win.mark[k] = t.HELD
        elif u > -wp.max(HOLD * g.spacing + FALLING * fall, bow_below(win, skin, k)):
            win.mark[k] = t.CLOSE
        return ABOVE
    win.mark[k] = t.CONTACT
    soil = o.soils[nonnegative(win.soil[k])]
    modulus = pressure.modulus_of(soil, disp.per_width[slot])
    y = pressure.yield_at(o, win.soil[k], modulus, z, win.levels[k])
    disp.sunk[k] = wp.max(u - y * soil.per_k_e, real(0.0))  # what an elastic soil of stiffness K_e cannot take
    return IN_SOIL


@wp.func
def is_under(win: Window, k: int):
    """Whether a node is in the footprint: in contact, or so near that the body leaves no room for more soil."""
    return win.mark[k] >= t.CLOSE and win.mark[k] <= t.HELD


@wp.func
def is_touched(skin: Skin, win: Window, k: int):
    """Whether the body itself is in the soil over a node, not points of its small shapes beside it."""
    return win.mark[k] == t.CONTACT and skin.height[k] < SEEN


@wp.func
def mark_border(win: Window, k: int):
    """Mark a free node beside the footprint: displaced soil goes there. Returns 1 where it is one."""
    # Only axial neighbours: a node at a corner of the footprint would take soil round the corner.
    if win.mark[k] == t.FREE:
        if (
            is_under(win, nonnegative(k - 1))
            or is_under(win, k + 1)
            or is_under(win, nonnegative(k - win.side))
            or is_under(win, nonnegative(k + win.side))
        ):
            win.mark[k] = t.BORDER
            return 1
    return 0


@wp.func
def count_edges(skin: Skin, win: Window, k: int):
    """Sides of a node's cell that bound the footprint."""
    edges = int(0)
    for e in range(4):
        n = k + wp.where(e == 0, 1, wp.where(e == 1, -1, wp.where(e == 2, win.side, -win.side)))
        if not is_touched(skin, win, n):
            edges += 1
    return edges


@wp.func
def sink_node(o: Options, win: Window, disp: Displacement, k: int, keeps: int):
    """Lower a node by its plastic sinkage; `keeps` = 1 where no border node could take the spoil.

    To the letter of Krenn et al. 2008, eq. 29, all sinkage adds to z_0; with loose cover what is carried off does not.
    """
    d = disp.sunk[k]
    chi = o.soils[nonnegative(win.soil[k])].chi
    # Compressed soil and what sinks straight down compact; what is pushed or dragged away is carried off.
    a = chi + (real(1.0) - chi) * disp.share[k]
    if keeps == 1 or o.loose == 0:
        a = real(1.0)
    win.levels[k] = laws.sink(win.levels[k], d, a)
    # What slip digs leaves with its virgin level: a wheel that spins on the spot digs in.
    if keeps == 0 and o.spoil == 1 and disp.dug[k] > real(0.0):
        win.levels[k] = laws.cover(win.levels[k], -disp.dug[k], o.loose)


@wp.func
def compressed_height(o: Options, win: Window, disp: Displacement, k: int, keeps: int):
    """Part [m] of a node's sinkage that vanishes: its compressed share, all of it where the spoil finds no place."""
    return wp.where(keeps == 1, real(1.0), o.soils[nonnegative(win.soil[k])].chi) * disp.sunk[k]
