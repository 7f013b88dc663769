"""Pressure laws of convex contact at one point. Friction and damping are in contact/penalty.py.

A law takes the depth s [m] of a point and the constants of the material, and returns pressure [Pa], stiffness [Pa/m]
and damping [Pa s/m] per unit area. Any `wp.func` with these arguments can be used instead: Stadukhin asks for richer
laws at each point, such as Bekker's.
"""

from __future__ import annotations

import warp as wp

from grouser.contact import penalty
from grouser.contact.penalty import Constants
from grouser.precision import real


@wp.func
def penalty_pressure(s: real, m: Constants):
    """Elastic layer: pressure c s, damping d min(1, s / s_d0). Krenn and Hirzinger 2009, eq. 1."""
    return m.c * s, m.c, m.d * penalty.damping_share(s, m.s_d0)


@wp.func
def bekker_pressure(s: real, m: Constants):
    """Bekker's p = k s^n with k = k_c / b + k_phi, and a damper. k and n are the two parameters of `Constants.law`.

    The law is elastic: it has no ruts and no shear as the soil module has. Below a depth of a tenth of a millimetre,
    and out of the ground, the pressure is linear, because the slope of the power is zero or infinite at s = 0.
    """
    least = real(1.0e-4)
    at = wp.max(s, least)
    stiffness = m.law[0] * m.law[1] * wp.pow(at, m.law[1] - real(1.0))
    pressure = m.law[0] * wp.pow(at, m.law[1])
    if s < least:
        stiffness = pressure / least
        pressure = stiffness * s
    return pressure, stiffness, m.d * penalty.damping_share(s, m.s_d0)
