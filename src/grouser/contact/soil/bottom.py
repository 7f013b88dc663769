"""Soil of finite depth: the pressure of a layer over hard ground or over a second soil, and what soil is left of it.

A layer of thickness H that is squeezed by z has the natural strain e = ln(H / (H - z)). Its pressure is Bekker's at the
depth H e: that of unlimited soil for z << H, more the nearer the body comes to the bottom. For n = 1 this is
p = p_w (-ln(1 - z/z_w)), which Wong and Preston-Thomas 1983 fitted to snow over ice, with z_w = H and p_w = k H; for
other n it is assumed. The pressure never exceeds the elastic K_e times the depth: K_e is the stiffness of the bottom.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import laws, pressure
from grouser.contact.soil.types import Options, Window
from grouser.device import nonnegative, struct
from grouser.precision import real, vec2, vec4
from grouser.terrain.ground import PACKED, PACKED_VIRGIN, SURFACE, VIRGIN, bottom_height
from grouser.terrain.ground import GroundArrays as Ground

UNLIMITED, HARD, SECOND_SOIL = range(3)  # what is below the soil
NO_SECOND_SOIL = -1  # value of Options.below
SMALL_STRAIN = 0.03  # z / H below which the strain is a series: 1 - z/H would lose digits in float32
FILM = 1e-3  # [m] thinner soil does not slide off the hard ground (assumed: some ten grains)


@struct
class Bottom:
    """What lies below the soil at a place."""

    kind: int  # UNLIMITED, HARD or SECOND_SOIL
    height: real  # [m]
    per_column: real  # [m] rise per cell along columns
    per_row: real  # [m] along rows
    modulus: real  # [N/m^(n+2)] k = k_c/b + k_phi of the second soil


# ---- where the bottom is ----------------------------------------------------------------------------------


@wp.func
def has_bottom(g: Ground):
    """Whether the soil has a bottom. Without one the map of depths has one element."""
    return g.depth.shape[0] > 1


@wp.func
def bottom_at(g: Ground, o: Options, at: vec2, per_width: real):
    """Bottom of the soil at a place (column, row) [cells] of the grid, under a body with 1/b = `per_width` [1/m]."""
    zero = real(0.0)
    if not has_bottom(g):
        return Bottom(UNLIMITED, zero, zero, zero, zero)  # pyright: ignore[reportCallIssue] a device struct
    height = bottom_height(g, at[1], at[0])
    if o.below < 0:
        return Bottom(HARD, height, zero, zero, zero)  # pyright: ignore[reportCallIssue]
    modulus = pressure.modulus_of(o.soils[nonnegative(o.below)], per_width)
    return Bottom(SECOND_SOIL, height, zero, zero, modulus)  # pyright: ignore[reportCallIssue]


@wp.func
def place_of_node(win: Window, k: int):
    """Column and row of a node of a window in the grid."""
    slot = k // (win.side * win.side)
    node = k - slot * win.side * win.side
    return vec2(real(win.frame[slot].column0 + node % win.side), real(win.frame[slot].row0 + node // win.side))


@wp.func
def bottom_of_node(g: Ground, o: Options, win: Window, k: int, per_width: real):
    """Bottom of the soil at a node of the window."""
    at = vec2()
    if has_bottom(g):
        at = place_of_node(win, k)
    return bottom_at(g, o, at, per_width)


@wp.func
def bottom_around_node(g: Ground, o: Options, win: Window, k: int, per_width: real):
    """Bottom of the soil at a node of the window and its slopes, for `towards`."""
    bottom = bottom_of_node(g, o, win, k, per_width)
    if bottom.kind != UNLIMITED:
        half = real(0.5)
        at = place_of_node(win, k)
        bottom.per_column = bottom_height(g, at[1], at[0] + half) - bottom_height(g, at[1], at[0] - half)
        bottom.per_row = bottom_height(g, at[1] + half, at[0]) - bottom_height(g, at[1] - half, at[0])
    return bottom


@wp.func
def towards(bottom: Bottom, x: real, y: real):
    """Bottom at a point x cells along columns and y along rows from the node that `bottom` belongs to."""
    moved = bottom
    moved.height = bottom.height + x * bottom.per_column + y * bottom.per_row
    return moved


@wp.func
def soil_left(g: Ground, win: Window, k: int):
    """Height [m] of the soil above hard ground at a node, all that can be taken from there."""
    at = place_of_node(win, k)
    return wp.max(win.levels[k][SURFACE] - bottom_height(g, at[1], at[0]), real(0.0))


@wp.func
def is_limited(g: Ground, o: Options):
    """Whether soil can be used up: it lies on hard ground. Below a second soil there is always more."""
    return has_bottom(g) and o.below < 0


# ---- pressure ---------------------------------------------------------------------------------------------


@wp.func
def natural_strain(share: real):
    """Natural strain -ln(1 - z/H) of a layer squeezed by the share z/H below 1 of its thickness."""
    one = real(1.0)
    if share < real(SMALL_STRAIN):  # error below share^6 / 6: a part of 4e-9
        return share * (
            one + share * (real(0.5) + share * (real(1.0 / 3.0) + share * (real(0.25) + share * real(0.2))))
        )
    return -wp.log(one - share)


@wp.func
def layer_pressure(o: Options, soil: int, modulus: real, virgin: real, z: real, bottom: Bottom):
    """Pressure [Pa] of virgin soil over a bottom, under a body at height z [m]; `virgin` [m] is its virgin level.

    Over hard ground: k (H ln(H / (H - depth)))^n with H the thickness of the soil, at most K_e times the depth. Over a
    second soil (assumed): Bekker's law down to the bottom; below it the second soil's own curve, from the depth on at
    which it carries the same pressure.
    """
    zero = real(0.0)
    depth = virgin - z
    if depth <= zero:
        return zero
    thickness = wp.max(virgin - bottom.height, zero)
    if bottom.kind == HARD:
        # No spring of stiffness K_e carries more, as the soil's surface is never above its virgin level.
        most = o.soils[nonnegative(soil)].k_e * depth
        if depth >= thickness:
            return most
        return wp.min(pressure.bekker(o, soil, modulus, thickness * natural_strain(depth / thickness)), most)
    if depth <= thickness:
        return pressure.bekker(o, soil, modulus, depth)
    # The modulus of the second soil is above zero: k_phi is.
    carried = pressure.bekker(o, soil, modulus, thickness)
    start = wp.pow(carried / bottom.modulus, real(1.0) / o.soils[nonnegative(o.below)].n)
    return pressure.bekker(o, o.below, bottom.modulus, depth - thickness + start)


@wp.func
def yield_at(o: Options, soil: int, modulus: real, z: real, levels: vec4, bottom: Bottom):
    """Yield pressure [Pa] of soil under a body at height z [m]: `pressure.yield_at`, or that of a layer on its bottom.

    Loose cover and compacted soil yield by the same law, each with its own virgin level above the bottom.
    """
    if bottom.kind == UNLIMITED:
        return pressure.yield_at(o, soil, modulus, z, levels)
    loose = layer_pressure(o, soil, modulus, levels[VIRGIN], z, bottom)
    if z >= levels[PACKED] or levels[PACKED_VIRGIN] <= levels[VIRGIN]:
        return loose
    packed = layer_pressure(o, soil, modulus, levels[PACKED_VIRGIN], z, bottom)
    return laws.yield_pressure(loose, packed, o.soils[nonnegative(soil)].k_e * (levels[PACKED] - z))
