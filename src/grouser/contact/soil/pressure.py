"""Pressure of soil at a depth: the table of pressure laws, and Bekker's law by a table of powers.

A law is a device function `law(o, soil, modulus, depth)`: pressure [Pa] of virgin soil at a depth [m] below its virgin
level, zero above it, rising with depth. `modulus` is k = k_c/b + k_phi. A law in `PRESSURE_LAWS` can be chosen with
`SoilOptions(pressure=...)`; yield, sinkage, forces and the implicit block follow it.
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

CELLS = 512
DEEPEST = 1.0  # [m] end of the table of powers
FIRST = 3  # cells below it are too curved to interpolate
PER_CELL = wp.constant(real(CELLS / np.sqrt(DEEPEST)))


def power_table(exponents: list[float]) -> np.ndarray:
    """Table of x^(2 n) and its slope per cell, over x = sqrt(z): (soil, CELLS + 1, 2)."""
    width = np.sqrt(DEEPEST) / CELLS
    x = width * np.arange(CELLS + 1)
    out = np.zeros((len(exponents), CELLS + 1, 2))
    for row, n in zip(out, exponents, strict=True):
        row[:, 0] = x ** (2 * n)
        row[1:, 1] = 2 * n * x[1:] ** (2 * n - 1) * width
    return out


@wp.func
def modulus_of(soil: Constants, per_width: real):
    """Modulus k = k_c/b + k_phi [N/m^(n+2)] of a soil under a body with 1/b = `per_width` [1/m]."""
    return soil.k_c * per_width + soil.k_phi


@wp.func
def bekker(o: Options, soil: int, modulus: real, depth: real):
    """Pressure modulus z^n [Pa] at the depth z [m]: `laws.bekker` by table.

    A call of pow in the middle of a kernel costs more than the rest of the node. Cubic Hermite interpolation in
    sqrt(z); off by less than 1e-5 of the value beyond a tenth of a millimetre.
    """
    if depth <= real(0.0):
        return real(0.0)
    x = wp.sqrt(depth) * PER_CELL
    i = int(x)
    if i < FIRST or i >= CELLS:  # shallower or deeper than the table: the power itself
        return laws.bekker(depth, modulus, o.soils[soil].n)
    f = x - real(i)
    a = o.powers[nonnegative(soil), nonnegative(i)]
    b = o.powers[nonnegative(soil), nonnegative(i) + 1]
    rise = b[0] - a[0]
    bend = a[1] + b[1] - rise - rise
    return modulus * (a[0] + f * (a[1] + f * (rise - a[1] - bend + f * bend)))


PRESSURE_LAWS: dict[str, Any] = {"bekker": bekker}  # a new law: its function above, one line here


def chosen_law(name: str) -> dict[Any, Any]:
    """Which function the kernels call in the place of `bekker`, for `device.at`."""
    return {} if PRESSURE_LAWS[name] is bekker else {bekker: PRESSURE_LAWS[name]}


@wp.func
def yield_at(o: Options, soil: int, modulus: real, z: real, levels: vec4):
    """Pressure [Pa] at which the soil of a node gives way under a body at height z [m]; see `laws.yield_pressure`.

    `bekker` here is the law that was chosen from `PRESSURE_LAWS`.
    """
    loose = bekker(o, soil, modulus, levels[VIRGIN] - z)
    # Above the compacted soil, or where it is no firmer than its cover, the cover alone decides.
    if z >= levels[PACKED] or levels[PACKED_VIRGIN] <= levels[VIRGIN]:
        return loose
    packed = bekker(o, soil, modulus, levels[PACKED_VIRGIN] - z)
    return laws.yield_pressure(loose, packed, o.soils[soil].k_e * (levels[PACKED] - z))
