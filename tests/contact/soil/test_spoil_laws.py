"""Spoil and erosion against their closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
import warp as wp
from hypothesis import assume, given
from hypothesis import strategies as st

from grouser.contact.soil import laws
from grouser.precision import real, vec2, vec3
from tests.contact.soil.law_calls import ROUND_OFF, array, launch, units

wp.set_module_options({"enable_backward": False})


@wp.kernel
def parts_kernel(v: vec3, normal: vec3, out: wp.array(dtype=vec3), shares: wp.array(dtype=vec2)):
    v_n, sinkage, bulldozing = laws.displacement_parts(v, normal)
    out[0] = v_n
    shares[0] = vec2(sinkage, bulldozing)


@wp.kernel
def weight_kernel(at: wp.array(dtype=vec2), along: vec2, even: wp.array(dtype=real), ahead: wp.array(dtype=real)):
    i = wp.tid()
    w = laws.deposit_weight(at[i][0], at[i][1])
    even[i] = w
    ahead[i] = laws.directed_weight(at[i][0], at[i][1], along[0], along[1], w)


@wp.kernel
def flux_kernel(difference: wp.array(dtype=real), limit: real, out: wp.array(dtype=real)):
    i = wp.tid()
    out[i] = laws.erosion_flux(difference[i], limit)


@given(st.tuples(units, units, units), st.tuples(units, units, st.floats(0.1, 3)))
def test_displacement_parts_sum_to_one(velocity, normal):
    """Krenn and Hirzinger 2009, eq. 6-8: sinkage, bulldozing and shear are v_Nz^2, v_Nxy^2, v_T^2 over v^2."""
    v, n = np.array(velocity), np.array(normal)
    assume(np.linalg.norm(v) > 1e-3)
    normal_part, ((sinkage, bulldozing),) = launch(parts_kernel, 1, [vec3(*v), vec3(*n)], (1, vec3), (1, vec2))
    v_n = v @ n / (n @ n) * n
    v_t = v - v_n
    assert normal_part[0] == pytest.approx(v_n, abs=1e-12)
    assert sinkage == pytest.approx(v_n[2] ** 2 / (v @ v), abs=1e-12)
    assert bulldozing == pytest.approx((v_n[0] ** 2 + v_n[1] ** 2) / (v @ v), abs=1e-12)
    assert sinkage + bulldozing + v_t @ v_t / (v @ v) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("velocity", "normal", "expected"),
    [
        ((0, 0, -1), (0, 0, 2), (1, 0)),  # pressed straight down
        ((1, 0, 0), (1, 0, 0), (0, 1)),  # a wall pushed ahead
        ((1, 0, 0), (0, 0, 1), (0, 0)),  # a plate dragged along
        ((1, 0, 0), (-1, 0, 1), (0.25, 0.25)),  # half way
    ],
)
def test_displacement_parts_of_plain_motions(velocity, normal, expected):
    _, parts = launch(parts_kernel, 1, [vec3(*velocity), vec3(*normal)], (1, vec3), (1, vec2))
    assert tuple(parts[0]) == pytest.approx(expected, abs=1e-15)


def weights(at, along=(1.0, 0.0)) -> tuple[np.ndarray, np.ndarray]:
    at = np.atleast_2d(at)
    even, ahead = launch(weight_kernel, len(at), [array(at, vec2), vec2(*along)], (len(at), real), (len(at), real))
    return even, ahead


def test_deposit_weight_falls_with_the_square_of_distance():
    """Krenn et al. 2008, eq. 24; the quarter cell matters only near the source."""
    even, _ = weights([[3.0, 4.0], [5.0, 0.0], [0.0, -5.0], [50.0, 0.0], [0.0, 0.0]])
    assert even[0] == even[1] == even[2]
    assert even[1] / even[3] == pytest.approx(100, rel=0.01)
    assert even[4] == 4.0


@given(st.floats(0, 2 * math.pi), st.floats(0, 2 * math.pi), st.floats(1, 30))
def test_directed_weight_follows_the_squared_cosine(angle, direction, distance):
    """Krenn and Hirzinger 2009, eq. 10 with m = 2: nothing behind, cos^2 of what lies straight ahead."""
    along = np.array([math.cos(direction), math.sin(direction)])
    at = distance * np.array([math.cos(angle), math.sin(angle)])
    _, (here, straight) = weights([at, distance * along], along)
    cosine = max(math.cos(angle - direction), 0.0)
    assert here == pytest.approx(cosine**2 * straight, abs=1e-9)
    assert straight > 0


def flux(difference, limit: float) -> np.ndarray:
    difference = np.atleast_1d(difference)
    return launch(flux_kernel, len(difference), [array(difference), limit], (len(difference), real))[0]


@given(st.floats(-0.1, 0.1), st.floats(1e-3, 0.02))
def test_erosion_gives_one_node_what_the_other_loses(difference, limit):
    there, back = flux([difference, -difference], limit)
    assert there == -back


@given(st.floats(1e-3, 0.02), st.floats(0, 1))
def test_slopes_up_to_the_band_stand(limit, share):
    assert flux(share * limit * (1 + laws.EROSION_BAND) * (1 - 1e-9), limit)[0] == 0


@given(st.floats(1e-3, 0.02), st.floats(1.0001, 5))
def test_steeper_slopes_slide_until_they_rest_below_the_friction_angle(limit, factor):
    difference = limit * (1 + laws.EROSION_BAND) * factor
    expected = difference - laws.EROSION_REST * limit
    assert flux(difference, limit)[0] == pytest.approx(expected, rel=ROUND_OFF)


def test_band_is_within_what_a_slope_may_exceed():
    assert 0 < laws.EROSION_BAND < 0.01
    assert 0.9 <= laws.EROSION_REST <= 1
