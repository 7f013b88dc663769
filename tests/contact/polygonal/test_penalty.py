"""The laws that polygonal, revolution and convex contact share, one element at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from grouser.contact import penalty
from grouser.precision import real, vec3
from tests.device_call import call

ROUND_OFF = 1e-12


def normal(s, rate) -> np.ndarray:
    """c = 1e4 N/m, d = 50 N s/m, s_d0 = 1 mm."""
    s, rate = np.broadcast_arrays(np.atleast_1d(np.asarray(s, float)), np.asarray(rate, float))
    constants = real(1e4), real(50.0), real(1e-3)
    both = zip(s.tolist(), rate.tolist(), strict=True)
    return np.array([call(penalty.normal_force, real(a), real(b), *constants, returns=real) for a, b in both])


def grip(stick, force, speed) -> float:
    return call(penalty.friction_impedance, real(stick), real(force), real(speed), returns=real)


def friction(xi, v, slipping=0, mu=1.0):
    """c_T = 1000 N/m, d_T = 2 N s/m, mu_stick F_N = 6 N, mu_slip F_N = 4 N, times mu; v_T0 = 0.01 m/s."""
    xi, v = np.asarray(xi, float), np.asarray(v, float)
    trial, slip = vec3(*(1000 * xi + 2 * v)), real(4 * mu)
    speed = real(np.linalg.norm(v))
    limit = real(call(penalty.friction_limit, slipping, speed, real(0.01), real(6 * mu), slip, returns=real))
    force, slips = call(penalty.friction, trial, limit, slip, returns=(vec3, int))
    kept, _ = call(penalty.elastic_displacement, vec3(*xi), trial, limit, slip, real(1000.0), returns=(vec3, int))
    return force, kept, slips


def test_normal_force_is_a_spring_and_a_damper():
    np.testing.assert_allclose(normal([2e-3, 5e-3], [0.1, -0.1]), [25.0, 45.0])


def test_000_eq1_damping_comes_in_over_the_transition_depth():
    """Half of it at half the depth; the paper's 0 > |s| would leave none at all."""
    np.testing.assert_allclose(normal([0.5e-3, 1e-3, 0.25e-3], 0.02), [5.5, 11.0, 2.75])
    s = np.linspace(0, 2e-3, 2001)
    assert np.abs(np.diff(normal(s, 0.5))).max() < 1e-3 * normal(2e-3, 0.5)[0] * 2  # no step at 0 or at s_d0


def test_normal_force_never_pulls():
    assert normal([1e-3, -1e-3, 0.0], [-10.0, 5.0, 5.0]).tolist() == [0.0, 0.0, 0.0]


def test_000_eq2_a_stuck_element_is_held_against_both_way_and_velocity():
    """Printed without its minus sign."""
    force, way, slips = friction([0.002, 0.001, 0.0], [0.1, 0.0, 0.0])
    np.testing.assert_allclose(force, [-2.2, -1.0, 0.0])
    np.testing.assert_allclose(way, [0.002, 0.001, 0.0])
    assert slips == 0


def test_a_body_slips_above_the_stick_limit_with_the_slip_force():
    force, way, slips = friction([0.0048, 0.0036, 0.0], [0.0, 0.0, 0.0])  # 6 N: just holds
    assert slips == 0
    force, way, slips = friction([0.00488, 0.00366, 0.0], [0.0, 0.0, 0.0])  # 6.1 N
    assert slips == 1
    np.testing.assert_allclose(force, [-3.2, -2.4, 0.0])
    np.testing.assert_allclose(1000 * way, [3.2, 2.4, 0.0])  # the spring keeps the slip force


def test_a_fast_slip_goes_on_at_the_slip_limit_and_a_slow_one_sticks():
    assert friction([0.005, 0.0, 0.0], [0.02, 0.0, 0.0], slipping=1)[2] == 1  # 5 N > 4 N
    assert friction([0.005, 0.0, 0.0], [0.009, 0.0, 0.0], slipping=1)[2] == 0  # below v_T0 the limit is 6 N again


def test_sticking_again_does_not_drop_the_force():
    """With r_0 = r in slip, as printed, the force would start again at nil."""
    _, way, _ = friction([0.02, 0.0, 0.0], [0.5, 0.0, 0.0], slipping=1)
    force, _, slips = friction(way, [0.005, 0.0, 0.0], slipping=1)
    assert slips == 0
    np.testing.assert_allclose(force, [-4.01, 0.0, 0.0])


def test_without_friction_nothing_is_held_at_rest():
    """No force, and it slips: trial and limit are both nil."""
    force, way, slips = friction([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], mu=0.0)
    assert slips == 1
    assert force.tolist() == way.tolist() == [0.0, 0.0, 0.0]
    force, way, slips = friction([0.002, 0.0, 0.0], [0.1, 0.0, 0.0], mu=0.0)
    assert slips == 1
    assert force.tolist() == way.tolist() == [0.0, 0.0, 0.0]
    assert grip(50.0, 0.0, 0.0) == grip(50.0, 0.0, 0.1) == 0.0


def test_the_grip_of_slip_is_the_secant_and_never_above_that_of_stick():
    assert grip(50.0, 4.0, 0.1) == pytest.approx(40.0)
    assert grip(50.0, 4.0, 0.01) == grip(50.0, 4.0, 0.0) == 50.0


def test_003_eq2_layer_modulus():
    """nu = 0: K = E; nu = 0.3: K = 0.7 / (1.3 0.4) E; it grows without bound towards 0.5."""
    assert penalty.layer_modulus(2e9, 0.0) == 2e9
    assert penalty.layer_modulus(1.0, 0.3) == pytest.approx(0.7 / 0.52)
    assert penalty.layer_modulus(1.0, 0.4999) > 1000


def test_layers_act_in_series():
    assert penalty.in_series(3.0, 6.0) == pytest.approx(2.0)
    assert penalty.in_series(3.0, math.inf) == 3.0


def test_damping_in_series_loses_what_the_layers_lose():
    """Layer i moves at c / c_i of the speed: d v^2 = sum of d_i (v c / c_i)^2. Equal times relax together."""
    assert penalty.damping_in_series(2.0, (3.0, 6.0), (0.3, 0.6)) == pytest.approx(0.1 * 2.0)
    assert penalty.damping_in_series(3.0, (3.0, math.inf), (0.3, 9.0)) == 0.3


def test_003_eq3_kappa():
    """0 for equal materials, antisymmetric, -1/4 (1 - 2 nu) against a rigid body."""
    assert penalty.kappa((1e9, 1e9), (0.3, 0.3)) == 0
    assert penalty.kappa((1e9, 5e9), (0.3, 0.2)) == -penalty.kappa((5e9, 1e9), (0.2, 0.3))
    assert penalty.kappa((math.inf, 1e9), (0.3, 0.3)) == pytest.approx(-0.1)
