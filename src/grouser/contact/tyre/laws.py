"""Suspension, Magic Formula and the tread's deflection, pure and scalar.

001_ac5d14c10b944e50.txt eq. 9-13; Pacejka, Tire and Vehicle Dynamics (2006), sections 4.3 and 7.2.
"""

from typing import Any

import warp as wp

LEAST_LEVER = 0.2  # of F_susp over N: a wheel jammed under an edge presses with five times its load, no more (assumed)


@wp.func
def spring_force(h: Any, stiffness: Any, saturation: Any, progression: Any):
    """Spring [N] at travel h [m]: linear up to H_sat, stiffening beyond; and its slope [N/m].

    F = k h, and + q (h - H_sat)^2 beyond (001 section 2.2.4 says linear, then nonlinear; the square is assumed).
    """
    over = wp.max(h - saturation, type(h)(0.0))
    if h <= type(h)(0.0):
        return type(h)(0.0), type(h)(0.0)
    return stiffness * h + progression * over * over, stiffness + type(h)(2.0) * progression * over


@wp.func
def magic_secant(x: Any, B: Any, C: Any, D: Any, E: Any):
    """y / x of y = D sin(C atan(B x - E (B x - atan(B x)))). 001 eq. 11; S_H and S_V (eq. 12, 13) are the caller's."""
    s = B * x
    if E != type(x)(0.0):
        s = s - E * (s - wp.atan(s))
    return D * wp.sin(C * wp.atan(s)) / x


@wp.func
def normal_load(suspension: Any, traction: Any, cosine: Any, sine: Any):
    """N from the force along the suspension. 001 eq. 10, N = (F_susp - F_x sin g) / cos g, with F_x = traction N.

    g > 0: the contact lies ahead of the axle. Never negative.
    """
    lever = wp.max(cosine + traction * sine, type(cosine)(LEAST_LEVER))
    return wp.max(suspension, type(cosine)(0.0)) / lever


@wp.func
def deflected(u: Any, slip_velocity: Any, travel_speed: Any, length: Any, h: Any):
    """Deflection of the tread [m] a step later: u' + |V| u / length = -V_s, backward Euler (Pacejka 2006 section 7.2).

    Rolling on it is the slip u / length, behind by `length` [m]; at a standstill it is a spring.
    """
    return (u - h * slip_velocity) / (type(u)(1.0) + h * wp.abs(travel_speed) / length)


@wp.func
def held(kappa: Any, tangent: Any, bound: Any):
    """Factor on both slips that keeps their resultant within `bound`."""
    size = wp.sqrt(kappa * kappa + tangent * tangent)
    if size > bound:
        return bound / size
    return type(kappa)(1.0)


@wp.func
def low_speed(travel_speed: Any, speed: Any):
    """1 at a standstill, 0 from `speed` [m/s] on: (1 - (V / speed)^2)^2 (assumed)."""
    ratio = travel_speed / speed
    left = wp.max(type(speed)(1.0) - ratio * ratio, type(speed)(0.0))
    return left * left
