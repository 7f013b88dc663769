"""Bekker's power z^n from a table: a call of pow in the middle of a kernel costs more than the rest of the node.

The table holds x^(2 n) over x = sqrt(z) with its slope, for cubic Hermite interpolation; off by less than 1e-5 of the
value beyond a tenth of a millimetre. Shallower and deeper than the table the power itself is taken.
"""

from functools import cache
from types import SimpleNamespace

import numpy as np
import warp as wp

from grouser.contact.soil import laws
from grouser.contact.soil import types as t
from grouser.terrain.ground import natural

CELLS = 512
DEEPEST = 1.0  # [m] end of the table
FIRST = 3  # cells below it are too curved to interpolate


def power_table(exponents: list[float]) -> np.ndarray:
    """(soil, CELLS + 1, 2) value of x^(2 n) and its slope per cell."""
    width = np.sqrt(DEEPEST) / CELLS
    x = width * np.arange(CELLS + 1)
    out = np.zeros((len(exponents), CELLS + 1, 2))
    for row, n in zip(out, exponents, strict=True):
        row[:, 0] = x ** (2 * n)
        row[1:, 1] = 2 * n * x[1:] ** (2 * n - 1) * width
    return out


@cache
def bekker_stages(name: str) -> SimpleNamespace:
    ty = t.soil_types(name)
    real, vec4, Options = ty.precision.real, ty.precision.vec4, ty.Options
    per_cell = wp.constant(real(CELLS / np.sqrt(DEEPEST)))

    @wp.func
    def bekker(o: Options, soil: int, modulus: real, depth: real):
        """Pressure [Pa] at a depth [m]: modulus z^n, `laws.bekker` by table."""
        if depth <= real(0.0):
            return real(0.0)
        x = wp.sqrt(depth) * per_cell
        i = int(x)
        if i < FIRST or i >= CELLS:
            return laws.bekker(depth, modulus, o.soils[soil].n)
        f = x - real(i)
        a = o.powers[natural(soil), natural(i)]
        b = o.powers[natural(soil), natural(i) + 1]
        rise = b[0] - a[0]
        bend = a[1] + b[1] - rise - rise
        return modulus * (a[0] + f * (a[1] + f * (rise - a[1] - bend + f * bend)))

    @wp.func
    def yield_at(o: Options, soil: int, modulus: real, z: real, levels: vec4):
        """Pressure [Pa] at which the soil of a node gives way under a body at height z [m]."""
        loose = bekker(o, soil, modulus, levels[1] - z)
        if z >= levels[2] or levels[3] <= levels[1]:
            return loose
        packed = bekker(o, soil, modulus, levels[3] - z)
        return laws.yield_pressure(loose, packed, o.soils[soil].k_e * (levels[2] - z))

    return SimpleNamespace(bekker=bekker, yield_at=yield_at)
