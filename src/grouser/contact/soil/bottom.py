"""Soil of finite depth: the pressure of a layer over hard ground or over a second soil, and what soil is left of it.

A layer of thickness H that is squeezed by z has the natural strain e = ln(H / (H - z)). Its pressure is Bekker's at the
depth H e: that of unlimited soil for z << H, more the nearer the body comes to the bottom. For n = 1 this is
p = p_w (-ln(1 - z/z_w)), which Wong and Preston-Thomas 1983 fitted to snow over ice, with z_w = H and p_w = k H; for
other n it is assumed. Where the pressure would rise faster than K_e the hard ground carries the body, a spring of K_e.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import laws, pressure
from grouser.contact.soil.types import Constants, Options, Window
from grouser.device import nonnegative, struct
from grouser.precision import real, vec2, vec4
from grouser.terrain.ground import PACKED, PACKED_VIRGIN, SURFACE, VIRGIN, bottom_height
from grouser.terrain.ground import GroundArrays as Ground

UNLIMITED, HARD, SECOND_SOIL = range(3)  # what is below the soil
NO_SECOND_SOIL = -1  # value of Options.below
SMALL_STRAIN = 0.03  # z / H below which the strain is a series: 1 - z/H would lose digits in float32
NEWTON_STEPS = 4  # right to 1e-6 for layers of up to 2 m
THINNEST = 1e-6  # [m] a thinner layer is bare ground
THIRD = wp.constant(real(1.0 / 3.0))
FILM = 1e-3  # [m] thinner soil does not slide off the hard ground (assumed: some ten grains)


@struct
class Bottom:
    """What lies below the soil at a place."""

    kind: int  # UNLIMITED, HARD or SECOND_SOIL
    height: real  # [m]
    modulus: real  # [N/m^(n+2)] k = k_c/b + k_phi of the second soil


# ---- where the bottom is ----------------------------------------------------------------------------------


@wp.func
def has_bottom(g: Ground):
    """Whether the soil has a bottom. Without one the map of depths has one element."""
    return g.depth.shape[1] > 1


@wp.func
def bottom_at(g: Ground, o: Options, at: vec2, per_width: real):
    """Bottom of the soil at a place (column, row) [cells] of the grid, under a body with 1/b = `per_width` [1/m]."""
    zero = real(0.0)
    if not has_bottom(g):
        return Bottom(UNLIMITED, zero, zero)  # pyright: ignore[reportCallIssue] a device struct
    height = bottom_height(g, at[1], at[0])
    if o.below < 0:
        return Bottom(HARD, height, zero)  # pyright: ignore[reportCallIssue]
    modulus = pressure.modulus_of(o.soils[nonnegative(o.below)], per_width)
    return Bottom(SECOND_SOIL, height, modulus)  # pyright: ignore[reportCallIssue]


@wp.func
def place_of_node(win: Window, k: int):
    """Column and row of a node of a window in the grid."""
    slot = k // win.nodes
    node = k - slot * win.nodes
    return vec2(real(win.frame[slot].column0 + node % win.side), real(win.frame[slot].row0 + node // win.side))


@wp.func
def bottom_of_node(g: Ground, o: Options, win: Window, k: int, per_width: real):
    """Bottom of the soil at a node of the window."""
    at = vec2()
    if has_bottom(g):
        at = place_of_node(win, k)
    return bottom_at(g, o, at, per_width)


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
        return share * (one + share * (real(0.5) + share * (THIRD + share * (real(0.25) + share * real(0.2)))))
    return -wp.log(one - share)


@wp.func
def stiffest_strain(soil: Constants, modulus: real, thickness: real):
    """Strain e of a layer at which its pressure k (H e)^n rises with K_e: n k (H e)^(n-1) exp(e) = K_e.

    Newton's method on the logarithm of both sides. A layer that is stiffer from the start has the least strain allowed:
    for n < 1 that of its smallest stiffness, 1 - n.
    """
    one = real(1.0)
    least = wp.max(one - soil.n, real(1.0e-6))
    wanted = wp.log(soil.k_e / (soil.n * modulus))
    strain = wp.max(wp.max(wanted, one), least)
    for _step in range(NEWTON_STEPS):
        excess = strain + (soil.n - one) * wp.log(thickness * strain) - wanted
        strain = wp.max(strain - excess / (one + (soil.n - one) / strain), least)
    return strain


@wp.func
def squeezed_pressure(o: Options, soil: int, modulus: real, depth: real, thickness: real):
    """Pressure [Pa] of a layer of the given thickness H [m] on hard ground, under a body at `depth` z [m].

    k (H e)^n with e = ln(H / (H - z)), until it rises with K_e. From there on the hard ground is a spring of K_e.
    """
    one = real(1.0)
    constants = o.soils[nonnegative(soil)]
    if thickness <= real(THINNEST):
        return constants.k_e * depth
    share = depth / thickness
    if share < one:
        strain = natural_strain(share)
        p = pressure.bekker(o, soil, modulus, thickness * strain)
        # For n < 1 the slope also exceeds K_e at the surface, as that of unlimited soil does.
        soft = constants.n * p <= constants.k_e * thickness * strain * (one - share)  # dp/dz <= K_e
        if soft or strain <= one - constants.n:
            return p
    strain = stiffest_strain(constants, modulus, thickness)
    yielded = thickness * (one - wp.exp(-strain))  # pyright: ignore[reportOperatorIssue] [m] depth at which the spring begins
    return pressure.bekker(o, soil, modulus, thickness * strain) + constants.k_e * (depth - yielded)


@wp.func
def layer_pressure(o: Options, soil: int, modulus: real, virgin: real, z: real, bottom: Bottom):
    """Pressure [Pa] of virgin soil over a bottom, under a body at height z [m]; `virgin` [m] is its virgin level.

    Over hard ground: `squeezed_pressure`. Over a second soil (assumed): Bekker's law down to the bottom; below it the
    second soil's own curve, from the depth on at which it carries the same pressure.
    """
    zero = real(0.0)
    depth = virgin - z
    if depth <= zero:
        return zero
    thickness = wp.max(virgin - bottom.height, zero)
    if bottom.kind == HARD:
        return squeezed_pressure(o, soil, modulus, depth, thickness)
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
