"""Normal force and stick-slip friction of one contact element, for polygonal, revolution and convex contact.

Krenn and Hirzinger 2009, eq. 1 and 2; the elastic layers are those of Krenn, Gibbesch and Hirzinger 2008, eq. 1-5. The
laws hold for a whole element [N, N/m] as well as per unit area [Pa, Pa/m].
"""

from __future__ import annotations

import math
from typing import Any

import warp as wp

from grouser.device import struct
from grouser.precision import real, vec2, vec3

POISSON_LIMIT = 0.45  # Krenn et al. 2008, after eq. 2: above it a layer that cannot expand sideways is too stiff
KAPPA_LIMIT = 0.05  # |kappa| (at most 1/4) above which two materials are not quasi-identical (assumed)
FREE, STUCK, SLIPPING = 0, 1, 2  # states of a contact element


@struct
class Constants:
    """Constants of two surfaces in contact, per unit area. Written by the host, see `layers.contact_constants`."""

    c: real  # [Pa/m] normal stiffness
    d: real  # [Pa s/m] normal damping
    c_t: real  # [Pa/m] tangential stiffness
    d_t: real  # [Pa s/m] tangential damping
    s_d0: real  # [m] penetration over which the damping fades in
    mu_stick: real  # static friction coefficient
    mu_slip: real  # sliding friction coefficient
    thickness: real  # [m] of both layers together; the theory does not hold for a larger penetration
    far: int  # 1: kappa is far from 0, so the layer model is doubtful for tangential contact
    law: vec2  # parameters of a user-defined pressure law (convex contact only)


@struct
class Friction:
    """Friction parameters of one element: tangential spring and damper, and the largest friction forces."""

    stiffness: real  # [N/m] c_T A
    damping: real  # [N s/m] d_T A
    stick_limit: real  # [N] mu_stick F_N
    slip_limit: real  # [N] mu_slip F_N


@wp.func
def damping_share(s: Any, s_d0: Any):
    """Share of the damping that acts at penetration s [m]: min(1, s / s_d0). Krenn and Hirzinger 2009, eq. 1.

    The paper's "0 > |s|" is a misprint for 0 < |s|. With s_d0 = 0 the full damping acts at once. Works for any float
    type, because the laws of tracks call it too.
    """
    zero = type(s)(0.0)
    if s >= s_d0 or s_d0 <= zero:
        return type(s)(1.0)
    return wp.max(s, zero) / s_d0


@wp.func
def normal_force(s: real, rate: real, c: real, d: real, s_d0: real):
    """Normal force F_N = c s + d min(1, s / s_d0) v_N, never negative. Krenn and Hirzinger 2009, eq. 1.

    `rate` is v_N, the rate of penetration [m/s].
    """
    zero = real(0.0)
    if s <= zero:
        return zero
    return wp.max(c * s + d * damping_share(s, s_d0) * rate, zero)


@wp.func
def release_damping(elastic: real, damping: real, outward: real):
    """Damping of an opening contact, reduced so that the total force never pulls. Krenn and Hirzinger 2009, eq. 1.

    The force is elastic - damping * outward, where `outward` is the opening speed [m/s] on the same area.
    """
    zero = real(0.0)
    if outward <= zero or elastic >= damping * outward:
        return damping
    return wp.max(elastic, zero) / outward


@wp.func
def friction_limit(slipping: int, speed: real, v_t0: real, stick: real, slip: real):
    """Largest friction force before an element slips. Krenn and Hirzinger 2009, eq. 2.

    `slip` = mu_slip F_N while the element slips faster than v_T0, else `stick` = mu_stick F_N. Norms are compared, not
    components.
    """
    if slipping == 1 and speed >= v_t0:
        return slip
    return stick


@wp.func
def friction(trial: vec3, limit: real, slip: real):
    """Friction force from the trial force c_T xi + d_T v_T, and 1 if the element slips.

    Krenn and Hirzinger 2009, eq. 2. xi is the displacement [m] from the stick point, v_T the tangential velocity. Both
    cases of the paper act against the motion (the stick case is printed without its minus sign). A frictionless element
    always slips, even at rest where the trial force is zero.
    """
    size = wp.length(trial)
    zero = real(0.0)
    if size <= limit and limit > zero:
        return -trial, 0
    if size <= zero:
        return -trial, 1
    return -(slip / size) * trial, 1


@wp.func
def elastic_displacement(xi: vec3, trial: vec3, limit: real, slip: real, c_t: real):
    """Displacement xi [m] of the tangential spring after the step, and 1 if the element slips (return mapping).

    Krenn and Hirzinger 2009 set r_0 = r while slipping, so the force would drop to zero when an element sticks again.
    Here the spring keeps the slip force, |c_T xi| = slip, in the direction of the trial force.
    """
    size = wp.length(trial)
    zero = real(0.0)
    if size <= limit and limit > zero:
        return xi, 0
    if size <= zero:
        return xi - xi, 1
    return (slip / (size * c_t)) * trial, 1


@wp.func
def friction_impedance(stick: real, force: real, speed: real):
    """Tangential impedance [N s/m] of the implicit step: `stick` (spring and damper), or the secant force / |v_T|.

    The tangent of the slip law is not used, because it is zero or negative. Returns zero for a zero friction force.
    """
    if force <= real(0.0):
        return real(0.0)
    if force < stick * speed:
        return force / speed
    return stick


def layer_modulus(young: float, poisson: float) -> float:
    """K = E (1 - nu) / ((1 + nu) (1 - 2 nu)) [Pa] of an elastic layer on a rigid core; Krenn et al. 2008, eq. 2."""
    return young * (1 - poisson) / ((1 + poisson) * (1 - 2 * poisson))


def shear_modulus(young: float, poisson: float) -> float:
    """G = E / (2 (1 + nu)) [Pa]."""
    return young / (2 * (1 + poisson))


def in_series(*stiffness: float) -> float:
    """Stiffness of springs in series, 1/c = sum of 1/c_i. A rigid one (infinite) has no effect."""
    return 1 / sum(1 / c for c in stiffness)


def damping_in_series(c: float, stiffness: tuple[float, ...], damping: tuple[float, ...]) -> float:
    """Damping of layers in series: sum of d_i (c / c_i)^2, as layer i takes the share c / c_i of the penetration.

    Exact if all layers have the same relaxation time d_i / c_i; otherwise for slow motion only.
    """
    return sum(d * (c / k) ** 2 for k, d in zip(stiffness, damping, strict=True) if math.isfinite(k))


def kappa(young: tuple[float, float], poisson: tuple[float, float]) -> float:
    """Elastic deviation of two materials, Krenn et al. 2008, eq. 3-4: ((1 - 2 nu_1)/G_1 - (1 - 2 nu_2)/G_2) G* / 4.

    It is at most 1/4. For tangential contact the layer model holds only if kappa is near 0.
    """
    give = [1 / shear_modulus(e, nu) for e, nu in zip(young, poisson, strict=True)]  # 1/G [1/Pa], 0 if rigid
    return ((1 - 2 * poisson[0]) * give[0] - (1 - 2 * poisson[1]) * give[1]) / (4 * (give[0] + give[1]))
