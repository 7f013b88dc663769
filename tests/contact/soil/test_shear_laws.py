"""Shear, lugs and sinkage by slip against their closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
import warp as wp
from hypothesis import assume, given
from hypothesis import strategies as st

from grouser.contact.soil import laws
from grouser.precision import real, vec3
from tests.contact.soil.law_calls import ROUND_OFF, SOILS, array, launch, shares, units

wp.set_module_options({"enable_backward": False})

REST_PEAK = 0.1 * 3 * math.sqrt(3) / 16  # of tau_max: greatest e x / (1 + x^2)^2 for e = 10 %, at x = 1/sqrt(3)


@wp.kernel
def limit_kernel(p: real, covered: real, c: real, tan_phi: real, mu: real, out: wp.array(dtype=real)):
    out[0] = laws.shear_limit(p, covered, c, tan_phi, mu)


@wp.kernel
def shear_kernel(start: vec3, v: wp.array(dtype=vec3), h_over_k: real, out: wp.array(dtype=vec3)):
    s = start
    for q in range(v.shape[0]):
        s = laws.advance_shear(s, v[q], h_over_k)
        out[q] = s


@wp.kernel
def cap_kernel(p: real, covered: real, c: real, tan_phi: real, mu: real, out: wp.array(dtype=real)):
    out[0] = laws.interface_cap(p, covered, c, tan_phi, mu)


@wp.kernel
def end_kernel(s: vec3, v: vec3, h_over_k: real, cap: real, out: wp.array(dtype=vec3), grip: wp.array(dtype=real)):
    state, growth = laws.shear_at_end(s, v, h_over_k, cap)
    out[0] = state
    grip[0] = growth


@wp.kernel
def lug_kernel(h: real, p: real, c: real, tan_phi: real, mu: real, gamma: real, pitch: real, out: wp.array(dtype=real)):
    face = laws.face_force(h, p, c, tan_phi, gamma)
    out[0] = face
    out[1] = laws.lug_limit(p, face / pitch, c, tan_phi, mu)


@wp.kernel
def slip_kernel(v_t: vec3, travel: real, chi: real, layer: real, step: real, cell: real, out: wp.array(dtype=real)):
    out[0] = laws.slip_sinkage(v_t, travel, step)
    out[1] = laws.dug_height(v_t, chi, layer, step / cell)
    out[2] = laws.spinning_share(travel)


@wp.kernel
def friction_kernel(p: real, c: real, tan_phi: real, out: wp.array(dtype=real)):
    out[0] = laws.frictional_share(p, c, tan_phi)


@wp.kernel
def rest_kernel(s: wp.array(dtype=vec3), v: wp.array(dtype=vec3), out: wp.array(dtype=real)):
    i = wp.tid()
    out[i] = laws.rest_damping(s[i], v[i])


def sheared(start, velocity, h_over_k) -> np.ndarray:
    velocity = np.atleast_2d(velocity)
    out = (len(velocity), vec3)
    return launch(shear_kernel, 1, [vec3(*start), array(velocity, vec3), h_over_k], out)[0]


@pytest.mark.parametrize(
    ("mu", "expected"), [(-1.0, 1000 + 5000 * 0.5), (0.9, 1000 + 5000 * 0.5), (0.45, 0.45 * 5000), (0.0, 0.0)]
)
def test_shear_limit_is_the_lower_of_soil_and_wheel(mu, expected):
    """Krenn and Hirzinger 2009, eq. 5 against Krenn et al. 2008, eq. 19; below 0 no friction of the wheel is given."""
    assert launch(limit_kernel, 1, [5000.0, 1.0, 1000.0, 0.5, mu], (1, real))[0][0] == pytest.approx(expected)


def test_cohesion_acts_on_the_covered_share_of_a_cell():
    assert launch(limit_kernel, 1, [5000.0, 0.25, 1000.0, 0.5, -1.0], (1, real))[0][0] == pytest.approx(2750)


@given(st.floats(0, 1e5), shares, st.floats(0, 5e3), st.floats(0, 1.2), st.floats(-1, 1.2))
def test_a_sliding_interface_caps_the_shear_stress(p, covered, cohesion, tan_phi, mu):
    """(c + p tan(phi)) times the largest state is the lesser of the soil's own limit and mu p."""
    cap = launch(cap_kernel, 1, [p, covered, cohesion, tan_phi, mu], (1, real))[0][0]
    own = cohesion * covered + p * tan_phi
    assert own * cap == pytest.approx(own if mu < 0 else min(own, mu * p), rel=ROUND_OFF, abs=1e-300)
    assert 0 <= cap <= 1


def test_a_capped_shear_state_follows_the_soils_own_curve_up_to_the_cap():
    """Not the whole curve scaled: half of the cap takes the slip that the soil alone needs for it."""
    cap, step, steps = 0.6, 1e-3, 2000
    s, path = vec3(), []
    for _ in range(steps):
        (end,), _ = launch(end_kernel, 1, [s, vec3(1.0, 0.0, 0.0), step, cap], (1, vec3), (1, real))
        path.append(end[0])
        s = vec3(*end)
    j = step * np.arange(1, steps + 1)
    assert np.array(path) == pytest.approx(np.minimum(1 - np.exp(-j), cap), abs=step)
    assert path[-1] == pytest.approx(cap, rel=ROUND_OFF)


directions = st.tuples(*[st.floats(-1, 1)] * 3)


@given(directions, directions, st.floats(1e-4, 1e2), shares)
def test_a_capped_state_is_short_enough_and_its_block_does_not_push(s, v, h_over_k, cap):
    (end,), (grip,) = launch(end_kernel, 1, [vec3(*s), vec3(*v), h_over_k, cap], (1, vec3), (1, real))
    if cap < 1:
        assert np.linalg.norm(end) <= cap * (1 + ROUND_OFF)
    assert grip >= 0


@given(
    st.floats(1e-3, 0.1), st.floats(0, 1e5), st.floats(0, 5e3), st.floats(0, 45), st.floats(0, 1), st.floats(0.01, 10)
)
def test_lugs_hold_the_lesser_of_tip_plane_and_faces(h, p, c, phi_deg, mu, pitch):
    """Rankine: 1/2 gamma h^2 K_p + p h K_p + 2 c h sqrt(K_p) with K_p = tan^2(45 deg + phi/2); never the sum."""
    gamma, tan_phi = 1.6e4, math.tan(math.radians(phi_deg))
    root = math.tan(math.pi / 4 + math.radians(phi_deg) / 2)
    expected = 0.5 * gamma * h**2 * root**2 + p * h * root**2 + 2 * c * h * root
    face, limit = launch(lug_kernel, 1, [h, p, c, tan_phi, mu, gamma, pitch], (2, real))[0]
    assert face == pytest.approx(expected, rel=1e-9)
    assert limit == pytest.approx(min(c + p * tan_phi, expected / pitch + mu * p), rel=1e-9)


def test_faces_govern_where_lugs_are_few():
    """10 mm lugs under 10 kPa in dry sand: 30 of them shear a block off, 6 of them plough."""
    sand, h, p, radius = next(s for s in SOILS if s.name == "dry-sand"), 0.01, 1e4, 0.15
    tan_phi, mu = math.tan(math.radians(28)), math.tan(math.radians(28 * 2 / 3))
    plane = sand.cohesion + p * tan_phi
    for count, by_faces in ((30, False), (6, True)):
        pitch = 2 * math.pi * (radius + h) / count
        limit = launch(lug_kernel, 1, [h, p, sand.cohesion, tan_phi, mu, 1.6e4, pitch], (2, real))[0][1]
        assert (limit < 0.99 * plane) == by_faces


@pytest.mark.parametrize("slip", [0.1, 0.5, 0.9])
def test_a_column_of_soil_sinks_with_the_slip_of_the_surface(slip):
    """Below a flat contact of length L a column falls by j = s L, however slowly the wheel gets on."""
    rim, length, steps = 10.0, 0.1, 100  # [m/s] far above STUCK_SPEED
    travel = (1 - slip) * rim
    step = length / travel / steps
    fall = launch(slip_kernel, 1, [vec3(-slip * rim, 0.0, 0.0), travel, 0.3, 1e-3, step, 0.01], (3, real))[0][0]
    assert steps * fall == pytest.approx(slip * length, rel=2e-3)


@pytest.mark.parametrize("slip", [0.1, 0.5, 0.9])
def test_a_layer_that_moves_with_the_wheel_comes_from_the_front(slip):
    """Flux balance: while the edge crosses a cell, (1 - chi) t s / (1 - s) leaves it."""
    rim, cell, chi, layer = 10.0, 0.01, 0.3, 5e-3
    travel = (1 - slip) * rim
    out = launch(slip_kernel, 1, [vec3(-slip * rim, 0.0, 0.0), travel, chi, layer, cell / travel, cell], (3, real))[0]
    assert out[1] == pytest.approx((1 - chi) * layer * slip / (1 - slip), rel=2e-3)


def test_on_the_spot_the_band_digs_and_at_rest_nothing_does():
    spot = launch(slip_kernel, 1, [vec3(0.05, 0.0, 0.0), 0.0, 0.3, 1e-3, 5e-3, 0.01], (3, real))[0]
    assert spot[0] == 0
    assert spot[1] > 0
    assert spot[2] == 1
    rest = launch(slip_kernel, 1, [vec3(laws.STUCK_SPEED / 2, 0.0, 0.0), 0.01, 0.3, 1e-3, 5e-3, 0.01], (3, real))[0]
    assert tuple(rest[:2]) == (0, 0)


@given(st.floats(0, 1e5), st.floats(0, 5e3), st.floats(0, 1.2))
def test_cohesion_does_not_dig(p, c, tan_phi):
    assume(p * tan_phi > 1e-6)
    share = launch(friction_kernel, 1, [p, c, tan_phi], (1, real))[0][0]
    assert share == pytest.approx(p * tan_phi / (c + p * tan_phi), rel=1e-9)


def shear_error(steps: int) -> float:
    """Greatest difference from 1 - exp(-j/K) over a slip of 3 K in `steps` steps."""
    travel = 3.0  # K
    s = sheared([0, 0, 0], np.tile([1.0, 0, 0], (steps, 1)), travel / steps)[:, 0]
    j = travel * np.arange(1, steps + 1) / steps
    return float(np.abs(s - (1 - np.exp(-j))).max())


def test_steady_slip_follows_janosi_to_first_order():
    """Backward Euler: error h/(2K) e^-1 j/K at most, halving with the step."""
    coarse, fine = shear_error(300), shear_error(600)
    assert coarse < 0.01 / 2  # half a step, in units of K
    assert coarse / fine == pytest.approx(2, rel=0.02)


def test_reversal_changes_sign_after_ln_2_of_k():
    """From full slip s = 1: s(j) = 2 exp(-j/K) - 1."""
    step = 1e-3
    s = sheared([1, 0, 0], np.tile([-1.0, 0, 0], (1000, 1)), step)[:, 0]
    assert step * (np.flatnonzero(s < 0)[0] + 1) == pytest.approx(math.log(2), abs=2 * step)
    assert s[-1] < -0.25


@given(st.lists(st.tuples(*[st.floats(-10, 10)] * 3), min_size=1, max_size=30), st.floats(1e-4, 1e3))
def test_shear_state_never_exceeds_one(velocities, h_over_k):
    s = sheared([0, 0, 0], velocities, h_over_k)
    assert (np.linalg.norm(s, axis=1) <= 1 + ROUND_OFF).all()


def test_a_body_at_rest_keeps_its_shear():
    """This holds a parked rover."""
    assert sheared([0.3, -0.2, 0.1], np.zeros((5, 3)), 0.3)[-1] == pytest.approx([0.3, -0.2, 0.1], rel=ROUND_OFF)


@given(st.tuples(units, units, units), st.tuples(units, units, units), st.floats(-6, 1))
def test_rest_damping_leaves_steady_slip_alone_and_stays_small(s, direction, log_speed):
    """Nil where s lies along v, else against v and at most 3.2 % of tau_max."""
    length = np.linalg.norm(direction)
    assume(length > 1e-3)
    v = np.array(direction) / length * 10.0**log_speed
    (d,) = launch(rest_kernel, 1, [array([s], vec3), array([v], vec3)], (1, real))[0]
    assert 0 <= d * np.linalg.norm(v) <= REST_PEAK * (1 + 1e-9)
    if np.dot(s, v) >= 0:
        assert d == 0


def test_rest_damping_brakes_a_swing_back():
    (d,) = launch(rest_kernel, 1, [array([[0.5, 0, 0]], vec3), array([[-1e-3, 0, 0]], vec3)], (1, real))[0]
    x = 1 / 8
    assert d == pytest.approx(0.1 * 125 / (1 + x * x) ** 2, rel=ROUND_OFF)
