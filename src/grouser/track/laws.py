"""Laws of tracks as pure functions: pin in its bushing, back-bend stop, tooth, rail, shoe.

Equation numbers are those of Omar 2014; errata are in docs/theory/track.md. Axes of a link: x along the chain, y along
the pin, z towards the inside of the loop. `ahead` [s] is the time by which positions are extrapolated with their
rates: the substep in the implicit scheme, 0 in the explicit one. An impedance [N s/m] is the loss of force for each m/s
that the link gains over the substep: K ahead + C.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.penalty import damping_share
from grouser.precision import real, vec3


@wp.func
def bushing_force(
    d: vec3, rate: vec3, axis: vec3, radial: real, axial: real, c_radial: real, c_axial: real, ahead: real
):
    """Force [N] on the bushing link at the bushing, from its displacement d [m] from the pin. Eq. 25, rows 4 to 6.

    The stiffness across the pin is the same in both directions. The opposite force acts on the pin link at the same
    point, which makes the pair the gradient of 1/2 K_r |d|^2 + 1/2 (K_a - K_r) (d . axis)^2.
    """
    moved = d + ahead * rate
    along = (axial - radial) * wp.dot(moved, axis) + (c_axial - c_radial) * wp.dot(rate, axis)
    return -radial * moved - c_radial * rate - along * axis


@wp.func
def tilt(leaning: vec3, pin: vec3, turning: vec3, stiffness: real, damping: real, ahead: real):
    """Torque [N m] on the bushing link against one tilt of its pin axis, the axis it acts about, and its impedance.

    The tilt is s = leaning . pin, where `leaning` is an axis of the pin link perpendicular to its pin. The torque is
    the gradient of 1/2 K s^2 at any angle, which eq. 25 with theta u is not.
    """
    about = wp.cross(pin, leaning)
    rate = wp.dot(turning, about)
    torque = -(stiffness * (wp.dot(leaning, pin) + ahead * rate) + damping * rate)
    return torque * about, about, stiffness * ahead + damping


@wp.func
def back_bend(fold: real, rate: real, limit: real, stiffness: real, damping: real, ahead: real):
    """Torque [N m] of the back-bend stop, once two links are bent back by more than `limit` [rad], and its impedance.

    `fold` [rad] is positive around a wheel. The paper names the stop but gives no formula.
    """
    zero = real(0.0)
    beyond = -fold - limit
    if beyond <= zero:
        return zero, zero
    torque = stiffness * (beyond - ahead * rate) - damping * rate
    if torque <= zero:
        return zero, zero
    return torque, stiffness * ahead + damping


@wp.func
def press(depth: real, approach: real, stiffness: real, damping: real, full: real, ahead: real):
    """Linear contact: normal force [N], elastic force [N], impedance. Eq. 34; damping fades in up to depth `full` [m].

    Never negative: an opening contact does not pull.
    """
    zero = real(0.0)
    if depth <= zero:
        return zero, zero, zero
    impedance = stiffness * ahead + damping * damping_share(depth, full)
    force = stiffness * depth + impedance * approach
    if force <= zero:
        return zero, zero, zero
    return force, stiffness * depth, impedance


@wp.func
def press_hertz(depth: real, approach: real, stiffness: real, damping: real, full: real, ahead: real):
    """Contact with depth^1.5: normal force [N], elastic force [N], impedance. Eq. 44."""
    zero = real(0.0)
    if depth <= zero:
        return zero, zero, zero
    root = wp.sqrt(depth)
    elastic = stiffness * depth * root
    impedance = real(1.5) * stiffness * root * ahead + damping * damping_share(depth, full)
    force = elastic + impedance * approach
    if force <= zero:
        return zero, zero, zero
    return force, elastic, impedance


@wp.func
def friction_impedance(sliding: real, most: real, full_speed: real):
    """Friction force over sliding speed [N s/m]: mu F S(xi) / v with S = xi (2 - xi) below 1, else 1. Eq. 35.

    As printed S = min(1, 2 xi - xi^2) is negative for xi > 2.
    """
    if sliding < full_speed:
        return most * (real(2.0) - sliding / full_speed) / full_speed
    return most / sliding


@wp.func
def taper(s: real, half_pitch: real, length: real):
    """Share of a roller's load that the rail carries at s [m] from the middle of the link; kappa of eq. 44 at the ends.

    Rails overlap by `length` [m] on both sides of the pins. On a straight chain the shares of two neighbours sum to 1.
    """
    zero = real(0.0)
    one = real(1.0)
    half = real(0.5)
    return wp.clamp(half + half * (half_pitch - wp.abs(s)) / length, zero, one)


@wp.func
def shear_strength(pressure: real, cohesion: real, tan_phi: real):
    """Shear strength c + p tan(phi) [Pa], or [N] if both arguments are multiplied by an area. Eq. 49."""
    return cohesion + pressure * tan_phi


@wp.func
def passive_force(depth: real, width: real, cohesion: real, tan_phi: real, weight: real):
    """Rankine's passive earth force [N] on a grouser of `width` [m] that is `depth` [m] in the ground.

    w (1/2 gamma z^2 N + 2 c z sqrt(N)), N = tan^2(45 deg + phi/2); the paper has no law for grousers.
    """
    one = real(1.0)
    root = wp.sqrt(one + tan_phi * tan_phi) + tan_phi
    return width * (real(0.5) * weight * depth * root + real(2.0) * cohesion) * depth * root


@wp.func
def face_before_plate(face: real, depth: real, height: real, gap: real, cohesion: real, tan_phi: real, weight: real):
    """Share of the passive `face` force [N] of a grouser that counts where the lesser of tip plane and face does.

    `depth` [m] of the tip in the ground, `gap` [m^2] of the ground between two grousers. A block of soil between them
    shears off along the plane of the tips, (c + gamma z tan(phi)) gap, before the face finds more. Once the plate
    presses on the soil, its own strength is that of the tip plane and the face adds nothing. The last tenth of the
    grouser's `height` [m] leads over (assumed), so that the force does not jump.
    """
    bare = wp.clamp(real(10.0) * (real(1.0) - depth / height), real(0.0), real(1.0))
    return bare * wp.min(face, gap * (cohesion + weight * depth * tan_phi))


@wp.func
def shear(slip: real, strength: real, rate: real):
    """Shear force over slip [N/m]: T tanh(k_T s) / s. Eq. 52.

    Up to k_T s = 3, tanh(x) / x is computed by Lambert's continued fraction to the twelfth term, right to 5e-15. The
    library's tanh took a tenth of a track's time, and zero slip would need a case of its own.
    """
    x = rate * slip
    if x > real(3.0):
        return strength * wp.tanh(x) / slip
    t = x * x
    over = t * real(78.0) + real(75075.0)
    over = t * over + real(18378360.0)
    over = t * over + real(1571349780.0)
    over = t * over + real(45831035250.0)
    over = t * over + real(316234143225.0)
    under = t + real(3003.0)
    under = t * under + real(1351350.0)
    under = t * under + real(192972780.0)
    under = t * under + real(9820936125.0)
    under = t * under + real(151242416325.0)
    under = t * under + real(316234143225.0)
    return strength * rate * over / under


@wp.func
def slip_damping(speed: real, strength_left: real, damping: real, full_speed: real):
    """Damping force over slip speed [N s/m]: C (1 - exp(-v / v_s)), limited by the remaining strength. Eq. 55."""
    c = damping * (real(1.0) - wp.exp(-speed / full_speed))
    if c * speed > strength_left:
        return wp.max(strength_left, real(0.0)) / speed
    return c


CLOSE = 1.0e-6  # last step of Newton's method over the sinkage: the error is about its square


@wp.func
def rebound(pressed: real, sinkage: real, bears: real, elastic: real, modulus: real, n: real):
    """Elastic rebound e [m] of soil that yields below a plate, and the pressure's slope [Pa/m].

    Solves K_e e = k (h - e)^n by Newton's method: below a plate that is `sinkage` h [m] below the virgin surface,
    soil has a plastic sinkage h - e by Bekker's law, and an elastic compression e on top of it. It stands `pressed`
    [m] above the plate and has borne the pressure `bears` [Pa] < K_e pressed before, so the first step begins there
    and needs no power. Below a plate that stands, it is the only one.
    """
    e = pressed
    pressure = bears
    for _step in range(5):
        left = wp.max(sinkage - e, real(1.0e-9))
        if _step > 0:
            pressure = modulus * wp.pow(left, n)  # pyright: ignore[reportArgumentType]  # max of numbers is one
        before = e
        e = wp.clamp(e - (elastic * e - pressure) / (elastic + n * pressure / left), real(0.0), sinkage)
        if wp.abs(e - before) <= real(CLOSE) * sinkage:
            break
    slope = n * elastic * e / wp.max(sinkage - e, real(1.0e-9))
    return e, elastic * slope / (elastic + slope)


@wp.func
def yield_pressure(sunk: real, modulus: real, n: real):
    """Pressure [Pa] k z^n above which soil yields that has sunk by z [m] before; Bekker's law."""
    return modulus * wp.pow(wp.max(sunk, real(0.0)), n)  # pyright: ignore[reportArgumentType]  # max of numbers is one


@wp.func
def kept_slip(path: vec3, most: real):
    """Path [m] from the anchor, shortened to at most `most` [m], and its length.

    A longer path drags the anchor along, so that the force reverses at once when the slip reverses.
    """
    size = wp.length(path)
    if size <= most:
        return path, size
    return (most / size) * path, most


@wp.func
def barycentric(x: real, y: real, a: vec3, b: vec3, c: vec3):
    """Barycentric coordinates of (x, y) in the triangle a, b, c; eq. 47, where "facets" means vertices."""
    double_area = (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])
    v = ((x - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (y - a[1])) / double_area
    w = ((b[0] - a[0]) * (y - a[1]) - (x - a[0]) * (b[1] - a[1])) / double_area
    return real(1.0) - v - w, v, w
