"""Suspension, Magic Formula and the tread's deflection, pure and scalar.

Morrot et al., eq. 9-13; Pacejka, Tire and Vehicle Dynamics (2006), sections 4.3 and 7.2.
"""

from __future__ import annotations

import warp as wp

from grouser.precision import real

LEAST_LEVER = 0.2  # of F_susp over N: a wheel jammed under an edge presses with five times its load, no more (assumed)


@wp.func
def spring_force(h: real, stiffness: real, saturation: real, progression: real):
    """Spring [N] at travel h [m]: linear up to H_sat, stiffening beyond; and its slope [N/m].

    F = k h, and + q (h - H_sat)^2 beyond. Morrot et al., section 2.2.4, say linear, then nonlinear; the square is
    assumed.
    """
    over = wp.max(h - saturation, real(0.0))
    if h <= real(0.0):
        return real(0.0), real(0.0)
    return stiffness * h + progression * over * over, stiffness + real(2.0) * progression * over


@wp.func
def magic_secant(x: real, B: real, C: real, D: real, E: real):
    """y / x of y = D sin(C atan(B x - E (B x - atan(B x)))).

    Morrot et al., eq. 11; the shifts S_H and S_V (eq. 12, 13) are the caller's.
    """
    s = B * x
    if E != real(0.0):
        s = s - E * (s - wp.atan(s))
    return D * wp.sin(C * wp.atan(s)) / x


@wp.func
def normal_load(suspension: real, traction: real, cosine: real, sine: real):
    """N from the force along the suspension. Morrot et al., eq. 10.

    N = (F_susp - F_x sin g) / cos g, with F_x = traction N. g > 0: the contact lies ahead of the axle. Never negative.
    """
    lever = wp.max(cosine + traction * sine, real(LEAST_LEVER))
    return wp.max(suspension, real(0.0)) / lever


@wp.func
def deflected(u: real, slip_velocity: real, travel_speed: real, length: real, h: real):
    """Deflection of the tread [m] a step later: u' + |V| u / length = -V_s, backward Euler (Pacejka 2006 section 7.2).

    Rolling on it is the slip u / length, behind by `length` [m]; at a standstill it is a spring.
    """
    return (u - h * slip_velocity) / (real(1.0) + h * wp.abs(travel_speed) / length)


@wp.func
def held(kappa: real, tangent: real, bound: real):
    """Factor on both slips that keeps their resultant within `bound`."""
    size = wp.sqrt(kappa * kappa + tangent * tangent)
    if size > bound:
        return bound / size
    return real(1.0)


@wp.func
def low_speed(travel_speed: real, speed: real):
    """1 at a standstill, 0 from `speed` [m/s] on: (1 - (V / speed)^2)^2 (assumed)."""
    ratio = travel_speed / speed
    left = wp.max(real(1.0) - ratio * ratio, real(0.0))
    return left * left
