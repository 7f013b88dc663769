"""Laws of resistive force theory: the stress per depth on a face element that moves through a granular medium.

A face element has the outward unit normal n and moves in the direction of the unit vector d; z is up. The stress on it
is `scale * alpha * depth`, with a dimensionless vector alpha(n, d) and the scale [N/m^3] of the medium.
"""

from __future__ import annotations

import warp as wp

from grouser.precision import real, vec3

# Li, Zhang and Goldman 2013, generic coefficients of the Fourier series.
A00, A10, B11, B01, BM11 = 0.206, 0.169, 0.212, 0.358, 0.055
C11, C01, CM11, D10 = -0.124, 0.253, 0.007, 0.088
PLATE_DOWN = 0.87504  # alpha_z of `agarwal` for a level plate that moves down: minus the sum of its coefficients
EDGE_ON = 1e-6  # n . d up to which a face moves along itself and does not lead: round-off, not a slant
SMALL = 1e-9  # length of a horizontal part below which it has no direction


@wp.func
def li_z(beta: real, gamma: real):
    """alpha_z of Li et al. 2013, positive up. `beta` [rad]: tilt; `gamma` [rad]: of the motion, pi/2 is down."""
    two = real(2.0) * beta
    even = real(A00) + real(A10) * wp.cos(two)
    return even + real(B11) * wp.sin(two + gamma) + real(B01) * wp.sin(gamma) + real(BM11) * wp.sin(gamma - two)


@wp.func
def li_x(beta: real, gamma: real):
    """alpha_x of Li et al. 2013, positive against the motion. Angles as in `li_z`."""
    two = real(2.0) * beta
    odd = real(C11) * wp.cos(two + gamma) + real(C01) * wp.cos(gamma) + real(CM11) * wp.cos(gamma - two)
    return odd + real(D10) * wp.sin(two)


@wp.func
def li(n: vec3, d: vec3):
    """alpha of a face element by the plane law of Li et al. 2013, in the vertical plane of its motion.

    The face counts with its area projected along the normal of that plane (assumed: the paper has plane bodies only).
    """
    across = vec3(d[0], d[1], real(0.0))
    if wp.length(across) < real(SMALL):  # straight up or down: the plane of its normal
        across = vec3(n[0], n[1], real(0.0))
        if wp.length(across) < real(SMALL):
            across = vec3(real(1.0), real(0.0), real(0.0))
    x = wp.normalize(across)
    along = wp.dot(n, x)
    share = wp.sqrt(along * along + n[2] * n[2])
    sign = wp.where(n[2] < real(0.0), real(1.0), real(-1.0))  # a plate has two sides; beta is that of the lower one
    beta = wp.atan2(sign * along, -sign * n[2])
    gamma = wp.atan2(-d[2], wp.dot(d, x))
    return share * (vec3(real(0.0), real(0.0), li_z(beta, gamma)) - li_x(beta, gamma) * x)


@wp.func
def agarwal(n: vec3, d: vec3):
    """alpha = f1 m + f2 d + f3 g of Agarwal et al. 2023, m the normal of the lower side, g down, each of length 1.

    f1, f2, f3 are polynomials of degree 3 in the invariants x1 = g.d, x2 = g.m, x3 = m.d.
    """
    m = wp.where(n[2] < real(0.0), n, -n)
    a = -d[2]
    b = -m[2]
    c = wp.dot(m, d)
    f1 = real(0.00212) - real(0.02320) * a - real(0.20890) * b - real(0.43083) * c - real(0.00259) * a * a
    f1 += real(0.48872) * b * b - real(0.00415) * c * c + real(0.07204) * a * b - real(0.02750) * b * c
    f1 += -real(0.08772) * c * a + real(0.01992) * a * a * a - real(0.45961) * b * b * b + real(0.40799) * c * c * c
    f1 += -real(0.10107) * a * b * b - real(0.06576) * b * a * a + real(0.05664) * b * c * c
    f1 += -real(0.09269) * c * b * b + real(0.01892) * c * a * a + real(0.01033) * a * c * c + real(0.15120) * a * b * c
    f2 = -real(0.06796) - real(0.10941) * a + real(0.04725) * b - real(0.06914) * c - real(0.05835) * a * a
    f2 += -real(0.65880) * b * b - real(0.11985) * c * c - real(0.25739) * a * b - real(0.26834) * b * c
    f2 += real(0.02692) * c * a - real(0.00736) * a * a * a + real(0.63758) * b * b * b + real(0.08997) * c * c * c
    f2 += real(0.21069) * a * b * b + real(0.04748) * b * a * a + real(0.20406) * b * c * c
    f2 += real(0.18589) * c * b * b + real(0.04934) * c * a * a + real(0.13527) * a * c * c - real(0.33207) * a * b * c
    f3 = -real(0.02634) - real(0.03436) * a + real(0.45256) * b + real(0.00835) * c + real(0.02553) * a * a
    f3 += -real(1.31290) * b * b - real(0.05532) * c * c + real(0.06790) * a * b - real(0.16404) * b * c
    f3 += real(0.02287) * c * a + real(0.02927) * a * a * a + real(0.95406) * b * b * b - real(0.00131) * c * c * c
    f3 += -real(0.11028) * a * b * b + real(0.01487) * b * a * a - real(0.02730) * b * c * c
    f3 += real(0.10911) * c * b * b - real(0.04097) * c * a * a + real(0.07881) * a * c * c - real(0.27519) * a * b * c
    return f1 * m + f2 * d - vec3(real(0.0), real(0.0), f3)


@wp.func
def flow_stress(n: vec3, d: vec3, friction: real, form: int):
    """alpha of a leading face element, zero on others: no tension, limited friction, never along the motion.

    Friction on the face is at most `friction` times the normal part (Agarwal et al. 2023). `form`: 0 li, 1 agarwal.
    """
    if wp.dot(n, d) <= real(EDGE_ON):
        return vec3()
    alpha = vec3()
    if form == 0:
        alpha = li(n, d)
    else:
        alpha = agarwal(n, d)
    normal = wp.dot(alpha, n)
    if normal >= real(0.0):
        return vec3()
    tangent = alpha - normal * n
    most = -friction * normal
    alpha = normal * n + tangent * wp.min(real(1.0), most / wp.max(wp.length(tangent), real(1.0e-30)))
    return alpha - wp.max(wp.dot(alpha, d), real(0.0)) * d


def medium_scale(density: float, gravity: float, friction: float) -> float:
    """Scale xi [N/m^3] = rho g (894 mu^3 - 386 mu^2 + 89 mu) of a medium. Agarwal et al. 2023."""
    return density * gravity * (894 * friction**3 - 386 * friction**2 + 89 * friction)
