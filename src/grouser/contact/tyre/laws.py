"""Laws of suspension, Magic Formula and tread deflection: pure functions.

Morrot et al., eq. 9-13; Pacejka, Tire and Vehicle Dynamics (2006), sections 4.3 and 7.2.
"""

from __future__ import annotations

import warp as wp

from grouser.precision import real

LEAST_LEVER = 0.2  # smallest F_susp / N: a wheel jammed under an edge presses with at most five times F_susp (assumed)


@wp.func
def spring_force(h: real, stiffness: real, saturation: real, progression: real, travel: real, stop: real):
    """Spring force [N] at travel h [m] and its slope [N/m]: linear up to H_sat, stiffer beyond, then the bump stop.

    F = k h, plus q (h - H_sat)^2 beyond H_sat, plus k_stop (h - H_end) beyond the end of the travel. Morrot et al.,
    section 2.2.4, only say linear, then nonlinear; the square and the stop are assumed.
    """
    over = wp.max(h - saturation, real(0.0))
    if h <= real(0.0):
        return real(0.0), real(0.0)
    force = stiffness * h + progression * over * over
    slope = stiffness + real(2.0) * progression * over
    if h > travel:
        force += stop * (h - travel)
        slope += stop
    return force, slope


@wp.func
def magic_secant(x: real, B: real, C: real, D: real, E: real):
    """Secant y / x of the Magic Formula y = D sin(C atan(B x - E (B x - atan(B x)))).

    Morrot et al., eq. 11. The caller applies the shifts S_H and S_V (eq. 12, 13).
    """
    s = B * x
    if E != real(0.0):
        s = s - E * (s - wp.atan(s))
    return D * wp.sin(C * wp.atan(s)) / x


@wp.func
def normal_load(suspension: real, traction: real, cosine: real, sine: real):
    """Normal force N from the force along the suspension; never negative. Morrot et al., eq. 10.

    N = (F_susp - F_x sin g) / cos g with F_x = traction N. g > 0 if the contact lies ahead of the axle.
    """
    lever = wp.max(cosine + traction * sine, real(LEAST_LEVER))
    return wp.max(suspension, real(0.0)) / lever


@wp.func
def next_deflection(u: real, slip_velocity: real, travel_speed: real, length: real, h: real):
    """Deflection of the tread [m] a step later: u' + |V| u / length = -V_s, backward Euler (Pacejka 2006, section 7.2).

    While the wheel rolls, u / length is the slip, delayed by the relaxation `length` [m]. At a standstill the tread is
    a spring.
    """
    return (u - h * slip_velocity) / (real(1.0) + h * wp.abs(travel_speed) / length)


@wp.func
def limit_slip(kappa: real, tangent: real, bound: real):
    """Factor on both slips that limits their resultant to `bound`."""
    size = wp.sqrt(kappa * kappa + tangent * tangent)
    if size > bound:
        return bound / size
    return real(1.0)


@wp.func
def low_speed(travel_speed: real, speed: real):
    """Standstill factor: 1 at rest, 0 from `speed` [m/s] on; (1 - (V / speed)^2)^2 (assumed)."""
    ratio = travel_speed / speed
    left = wp.max(real(1.0) - ratio * ratio, real(0.0))
    return left * left
