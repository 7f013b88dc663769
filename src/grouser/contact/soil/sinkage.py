"""Stage `displace`, first half: find the nodes in contact, their plastic sinkage, and the border of the footprint."""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import bottom, laws, pressure
from grouser.contact.soil import types as t
from grouser.contact.soil.cell_pressure import second_difference
from grouser.contact.soil.types import SEEN, Bodies, Displacement, Options, Placement, Skin, Window
from grouser.device import nonnegative
from grouser.precision import real
from grouser.terrain.ground import SURFACE
from grouser.terrain.ground import GroundArrays as Ground

ABOVE, IN_SOIL = 1, 2  # results of `touch_node`: body less than a cell above the soil; body in the soil
THIRD = wp.constant(real(1.0 / 3.0))
HOLD = wp.constant(real(laws.HOLD))
FALLING = wp.constant(real(laws.FALLING))


@wp.func
def bulge_between_nodes(win: Window, skin: Skin, k: int):
    """Clearance [m] over a node below which a convex body may still press the soil between this node and the next.

    Between two nodes the body bulges below the straight line by up to a share of the second difference of its lower
    surface. Soil that was pressed follows that line, so the body can touch it there. The bound is that of
    `traction.loaded`: a third of the second differences along both axes.
    """
    z = skin.height[k]
    along_x = second_difference(skin.height[k + 1], skin.height[nonnegative(k - 1)], z)
    along_y = second_difference(skin.height[nonnegative(k + win.side)], skin.height[nonnegative(k - win.side)], z)
    return THIRD * (wp.max(along_x, real(0.0)) + wp.max(along_y, real(0.0)))


@wp.func
def touch_node(
    g: Ground, o: Options, b: Bodies, place: Placement, skin: Skin, win: Window, disp: Displacement, slot: int, k: int
):
    """Mark a node that the body touches or nearly touches, and find its plastic sinkage; Krenn et al. 2008, eq. 10.

    Returns IN_SOIL, ABOVE if the body is less than a cell above the soil, or 0. Writes `mark` and `sunk`.
    """
    z = skin.height[k]
    if z >= SEEN or win.mark[k] == t.BARE_NODE:
        return 0
    u = win.levels[k][SURFACE] - z  # how deep the body is in the soil
    if u <= -g.spacing:
        return 0
    if u <= real(0.0):
        fall = wp.max(-place.travel[slot].velocity[2], real(0.0))
        # HELD: soil that the body almost touches, or hits in the next step. Spoil put there would stick into the body
        # and brake it.
        # CLOSE: soil that takes no spoil but may slide. That is soil the body hits within FALLING, independent of the
        # step size (otherwise the depth of a fall would depend on the step), and soil the body may press between
        # nodes (spoil there would lift a rocking body).
        if u > -HOLD * g.spacing - o.step[0] * fall:
            win.mark[k] = t.HELD
        elif u > -wp.max(HOLD * g.spacing + FALLING * fall, bulge_between_nodes(win, skin, k)):
            win.mark[k] = t.CLOSE
        return ABOVE
    win.mark[k] = t.CONTACT
    soil = o.soils[nonnegative(win.soil[k])]
    modulus = pressure.modulus_of(soil, disp.per_width[slot])
    under = bottom.bottom_of_node(g, o, win, k, disp.per_width[slot])
    y = bottom.yield_at(o, win.soil[k], modulus, z, win.levels[k], under)
    disp.sunk[k] = wp.max(u - y * soil.per_k_e, real(0.0))  # the depth beyond the elastic compression y / K_e
    return IN_SOIL


@wp.func
def is_under(win: Window, k: int):
    """Whether a node is in the footprint: in contact, or so close to the body that no spoil may be put there."""
    return win.mark[k] >= t.CLOSE and win.mark[k] <= t.HELD


@wp.func
def is_touched(skin: Skin, win: Window, k: int):
    """Whether the body's own surface is in the soil at a node, not just points of its small shapes."""
    return win.mark[k] == t.CONTACT and skin.height[k] < SEEN


@wp.func
def bounds_border(win: Window, k: int):
    """Whether free soil next to a node takes displaced soil: the node or part of its cell is in the footprint."""
    return win.mark[k] >= t.CLOSE and win.mark[k] <= t.BESIDE


@wp.func
def mark_border(win: Window, k: int):
    """Mark a node as BORDER if it is free and next to the footprint; displaced soil goes there. Returns 1 if it is."""
    # Not diagonal neighbours: a node at a corner of the footprint would take soil around the corner.
    if win.mark[k] == t.FREE:
        if (
            bounds_border(win, nonnegative(k - 1))
            or bounds_border(win, k + 1)
            or bounds_border(win, nonnegative(k - win.side))
            or bounds_border(win, nonnegative(k + win.side))
        ):
            win.mark[k] = t.BORDER
            return 1
    return 0


@wp.func
def count_edges(skin: Skin, win: Window, k: int):
    """Number of sides of a node's cell that lie on the border of the footprint."""
    edges = int(0)
    for e in range(4):
        n = k + wp.where(e == 0, 1, wp.where(e == 1, -1, wp.where(e == 2, win.side, -win.side)))
        if not is_touched(skin, win, n):
            edges += 1
    return edges


@wp.func
def compacting_share(o: Options, b: Bodies, win: Window, body: int, k: int, share: real, keeps: int):
    """Share of a node's sinkage that compacts: the compressed part, and soil that sinks straight down, `share`."""
    if keeps == 1 or o.loose == 0 or o.digs == 0 or b.slip_sinkage[body] > real(0.0):
        return real(1.0)
    chi = o.soils[nonnegative(win.soil[k])].chi
    if o.spoil == 0:  # all soils only compact
        return chi
    return chi + (real(1.0) - chi) * share  # pushed and dragged soil leaves


@wp.func
def sink_node(o: Options, b: Bodies, win: Window, disp: Displacement, body: int, k: int, keeps: int):
    """Lower a node by its plastic sinkage. `keeps` = 1 if there is no border node to take the spoil.

    By Krenn et al. 2008, eq. 29 all sinkage adds to z_0. With loose cover, soil that is carried away does not.
    """
    compacting = compacting_share(o, b, win, body, k, disp.share[k], keeps)
    win.levels[k] = laws.sink(win.levels[k], disp.sunk[k], compacting)
    # Slip sinkage along the arc takes the place of the split by velocities above; never both.
    if keeps == 0 and o.spoil == 1 and b.slip_sinkage[body] > real(0.0):
        win.levels[k] = laws.weaken(win.levels[k], disp.weakened[k])
    # Soil dug by slip takes its virgin level along, so a wheel that spins on the spot digs in.
    if keeps == 0 and o.spoil == 1 and disp.dug[k] > real(0.0):
        win.levels[k] = laws.add_loose_soil(win.levels[k], -disp.dug[k], o.loose)


@wp.func
def compressed_height(o: Options, win: Window, disp: Displacement, k: int, keeps: int):
    """Part [m] of a node's sinkage that is compressed and displaces no soil; all of it if no border node exists."""
    d = disp.sunk[k] - disp.excess[k][0]
    return wp.where(keeps == 1, real(1.0), o.soils[nonnegative(win.soil[k])].chi) * d
