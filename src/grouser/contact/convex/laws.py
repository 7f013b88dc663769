"""Laws of convex contact for one point; what is shared with polygonal contact is in penalty.py.

A point law takes the depth s [m] of a point and the constants of the material, and gives pressure [Pa], stiffness
[Pa/m] and damping [Pa s/m] of a unit of area. Any `wp.func` with these arguments can stand in its place:
004_9efc820d43f2399a.txt asks for richer laws at each point, Bekker's for one.
"""

from typing import Any

import warp as wp

from grouser.contact import penalty


@wp.func
def penalty_pressure(s: Any, m: Any):
    """Spring c s of an elastic layer, with the damping d min(1, s / s_d0); 000_03880735ba32ca08.txt eq. 1."""
    return m.c * s, m.c, m.d * penalty.damping_share(s, m.s_d0)


@wp.func
def bekker_pressure(s: Any, m: Any):
    """Bekker's p = k s^n with k = k_c / b + k_phi, and a damper; k and n are the law's own two numbers.

    It gives way and comes back the same way: what the soil module has beyond it (ruts, shear) is not here. Out of
    the ground, s <= 0, it goes on as a straight line of the stiffness at a tenth of a millimetre.
    """
    least = type(s)(1.0e-4)
    at = wp.max(s, least)
    stiffness = m.law[0] * m.law[1] * wp.pow(at, m.law[1] - type(s)(1.0))
    pressure = m.law[0] * wp.pow(at, m.law[1])
    if s < least:
        stiffness = pressure / least
        pressure = stiffness * s
    return pressure, stiffness, m.d * penalty.damping_share(s, m.s_d0)


@wp.func
def release_damping(elastic: Any, damping: Any, outward: Any):
    """Damping of a point that moves away: no more than the spring gives, so that it never pulls."""
    zero = type(elastic)(0.0)
    if outward > zero and damping * outward > elastic:
        return wp.max(elastic, zero) / outward
    return damping
