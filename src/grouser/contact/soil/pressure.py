"""Pressure-sinkage laws of soil: the table of laws to choose from, and Bekker's law with tabulated powers.

A law is a device function `law(o, soil, modulus, depth)`. It returns the pressure [Pa] of virgin soil at a depth [m]
below its virgin level: zero above that level and increasing with depth. `modulus` is k = k_c/b + k_phi. A law in
`PRESSURE_LAWS` is chosen with `SoilOptions(pressure=...)`; yield, sinkage, forces and the implicit block then use it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from grouser.contact.soil import laws
from grouser.contact.soil.types import Constants, Options
from grouser.device import nonnegative
from grouser.precision import real, vec4
from grouser.terrain.ground import PACKED, PACKED_VIRGIN, VIRGIN

CELLS = 512  # intervals of the table of powers
DEEPEST = 1.0  # [m] depth at the end of the table
FIRST = 3  # first interval that is used; the ones before it are too curved to interpolate
PER_CELL = wp.constant(real(CELLS / np.sqrt(DEEPEST)))


def power_table(exponents: list[float]) -> np.ndarray:
    """Table of z^n = x^(2 n) by intervals of x = sqrt(z): (soil, CELLS, 4).

    The four are coefficients of the cubic Hermite polynomial in the share of an interval, the constant first.
    """
    width = np.sqrt(DEEPEST) / CELLS
    x = width * np.arange(CELLS + 1)
    out = np.zeros((len(exponents), CELLS, 4))
    for row, n in zip(out, exponents, strict=True):
        value, slope = x ** (2 * n), np.zeros(CELLS + 1)
        slope[1:] = 2 * n * x[1:] ** (2 * n - 1) * width
        rise = np.diff(value)
        cubic = slope[:-1] + slope[1:] - rise - rise
        row[:] = np.stack((value[:-1], slope[:-1], rise - slope[:-1] - cubic, cubic), axis=1)
    return out


@wp.func
def modulus_of(soil: Constants, per_width: real):
    """Modulus k = k_c/b + k_phi [N/m^(n+2)] of a soil under a body with 1/b = `per_width` [1/m]."""
    return soil.k_c * per_width + soil.k_phi


@wp.func
def bekker(o: Options, soil: int, modulus: real, depth: real):
    """Pressure modulus * z^n [Pa] at the depth z [m]: `laws.bekker`, interpolated in a table.

    The table exists because one call of pow takes longer than all other work at a node. Cubic Hermite interpolation in
    sqrt(z); the relative error is below 1e-5 for depths above a tenth of a millimetre.
    """
    if depth <= real(0.0):
        return real(0.0)
    x = wp.sqrt(depth) * PER_CELL
    i = int(x)
    if i < FIRST or i >= CELLS:  # outside the table: compute the power
        return laws.bekker(depth, modulus, o.soils[soil].n)
    f = x - real(i)
    a = o.powers[nonnegative(soil), nonnegative(i)]
    return modulus * (a[0] + f * (a[1] + f * (a[2] + f * a[3])))


PRESSURE_LAWS: dict[str, Any] = {"bekker": bekker}  # to add a law, write its function above and one entry here


def chosen_law(name: str) -> dict[Any, Any]:
    """Map from `bekker` to the device function the kernels call instead, for `device.at`; empty for Bekker's law."""
    return {} if PRESSURE_LAWS[name] is bekker else {bekker: PRESSURE_LAWS[name]}


@wp.func
def yield_at(o: Options, soil: int, modulus: real, z: real, levels: vec4):
    """Yield pressure [Pa] of a node's soil under a body at height z [m]; see `laws.yield_pressure`.

    `bekker` stands for the law chosen from `PRESSURE_LAWS`: `chosen_law` replaces it when the kernel is built.
    """
    loose = bekker(o, soil, modulus, levels[VIRGIN] - z)
    # Above the compacted soil, or if that is no firmer than its cover, only the cover matters.
    if z >= levels[PACKED] or levels[PACKED_VIRGIN] <= levels[VIRGIN]:
        return loose
    packed = bekker(o, soil, modulus, levels[PACKED_VIRGIN] - z)
    return laws.yield_pressure(loose, packed, o.soils[soil].k_e * (levels[PACKED] - z))
