"""The normal and stick-slip law that polygonal, revolution and convex contact share; pure, for one contact element.

Papers: 000_03880735ba32ca08.txt eq. 1 and 2 (2009), the layers 003_7975400cf393bbef.txt eq. 1-5 (2008). Forces and
stiffnesses may be of an element [N, N/m] or of a unit of its area [Pa, Pa/m]; the laws are the same.
"""

import math
from typing import Any

import warp as wp

POISSON_LIMIT = 0.45  # 003 after eq. 2: beyond it a layer that cannot give way sideways is too stiff
KAPPA_LIMIT = 0.05  # of at most 1/4: beyond it materials count as far from quasi-identical (assumed)


@wp.func
def damping_share(s: Any, s_d0: Any):
    """Part of the damping that acts at penetration s [m]: min(1, s / s_d0); 000 eq. 1.

    The paper's "0 > |s|" is a misprint for 0 < |s|. Without a transition depth all of it acts at once.
    """
    zero = type(s)(0.0)
    if s >= s_d0 or s_d0 <= zero:
        return type(s)(1.0)
    return wp.max(s, zero) / s_d0


@wp.func
def normal_force(s: Any, rate: Any, c: Any, d: Any, s_d0: Any):
    """F_N = c s + d min(1, s / s_d0) v_N, never negative; v_N is the rate of penetration [m/s]. 000 eq. 1."""
    zero = type(s)(0.0)
    if s <= zero:
        return zero
    return wp.max(c * s + d * damping_share(s, s_d0) * rate, zero)


@wp.func
def release_damping(elastic: Any, damping: Any, outward: Any):
    """Damping that is left where it would pull: a contact that parts is let go, never held back; 000 eq. 1.

    `elastic` is the elastic force, `outward` the speed of parting on the same area; the force is elastic -
    damping outward.
    """
    zero = type(elastic)(0.0)
    if outward <= zero or elastic >= damping * outward:
        return damping
    return wp.max(elastic, zero) / outward


@wp.func
def friction_limit(slipping: int, speed: Any, v_t0: Any, stick: Any, slip: Any):
    """What friction bears before it gives way: `slip` while an element slips faster than v_T0, `stick` otherwise.

    `stick` = mu_stick F_N, `slip` = mu_slip F_N; comparisons are between norms. 000 eq. 2.
    """
    if slipping == 1 and speed >= v_t0:
        return slip
    return stick


@wp.func
def friction(trial: Any, limit: Any, slip: Any):
    """Friction force from the trial force c_T xi + d_T v_T, and whether the element slips. 000 eq. 2.

    xi is the way [m] from the point where sticking began, v_T the tangential velocity. Both lines of the paper act
    against the motion (the stick line is printed without its minus sign). Without friction an element slips even at
    rest, where the trial force is nil.
    """
    size = wp.length(trial)
    zero = size - size
    if size <= limit and limit > zero:
        return -trial, 0
    if size <= zero:
        return -trial, 1
    return -(slip / size) * trial, 1


@wp.func
def elastic_way(xi: Any, trial: Any, limit: Any, slip: Any, c_t: Any):
    """The way xi [m] the tangential spring keeps, and whether the element slips: return mapping.

    000 sets r_0 = r in slip, which drops the force where an element sticks again. Here the spring keeps the slip
    force, |c_T xi| = slip, in the direction of the trial force.
    """
    size = wp.length(trial)
    zero = size - size
    if size <= limit and limit > zero:
        return xi, 0
    if size <= zero:
        return xi - xi, 1
    return (slip / (size * c_t)) * trial, 1


@wp.func
def grip(stick: Any, force: Any, speed: Any):
    """Tangential impedance [N s/m] of the implicit step: the stick spring and damper, or the secant force / |v_T|.

    Never the tangent of the slip line, which is nil or negative. Without friction none, at rest neither.
    """
    if force <= type(force)(0.0):
        return type(force)(0.0)
    if force < stick * speed:
        return force / speed
    return stick


def layer_modulus(young: float, poisson: float) -> float:
    """K = E (1 - nu) / ((1 + nu) (1 - 2 nu)) [Pa] of an elastic layer on a rigid core; 003 eq. 2."""
    return young * (1 - poisson) / ((1 + poisson) * (1 - 2 * poisson))


def shear_modulus(young: float, poisson: float) -> float:
    """G = E / (2 (1 + nu)) [Pa]."""
    return young / (2 * (1 + poisson))


def in_series(*stiffness: float) -> float:
    """1/c = sum of 1/c_i; a rigid one (infinite) adds nothing."""
    return 1 / sum(1 / c for c in stiffness)


def damping_in_series(c: float, stiffness: tuple[float, ...], damping: tuple[float, ...]) -> float:
    """Damping of layers in series, each of which takes the share c / c_i of the penetration: sum of d_i (c / c_i)^2.

    Exact where all relax in the same time d_i / c_i, and for slow motion otherwise.
    """
    return sum(d * (c / k) ** 2 for k, d in zip(stiffness, damping, strict=True) if math.isfinite(k))


def kappa(young: tuple[float, float], poisson: tuple[float, float]) -> float:
    """Elastic deviation of two materials, 003 eq. 3-4: ((1 - 2 nu_1)/G_1 - (1 - 2 nu_2)/G_2) G* / 4.

    The layer model holds for tangential contact near 0 only; it is at most 1/4.
    """
    give = [1 / shear_modulus(e, nu) for e, nu in zip(young, poisson, strict=True)]  # 1/G [1/Pa], 0 where rigid
    return ((1 - 2 * poisson[0]) * give[0] - (1 - 2 * poisson[1]) * give[1]) / (4 * (give[0] + give[1]))
