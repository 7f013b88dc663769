"""Soil constants fitted from measurements: known ones come back, noise is borne, what cannot be told is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grouser.errors import InputError
from grouser.terrain import Soil, fit_bekker, fit_shear, soil, soil_names

EXACT = 1e-6  # of a constant: exact data leave the search for K, which ends at 1e-9, and round-off
NOISE = 0.01  # relative standard deviation of the measured pressures and stresses
SPREADS = 5  # standard errors a fit may be off by


def plates(s: Soil, widths, depths) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Widths [m], sinkages [m] and the pressures [Pa] that Bekker's law has for them, one row a point."""
    b, z = (grid.ravel() for grid in np.meshgrid(widths, depths))
    return b, z, (s.k_c / b + s.k_phi) * z**s.n


def shear_box(s: Soil, pressures, ways) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Normal pressures [Pa], displacements [m] and the stresses [Pa] of Mohr-Coulomb and Janosi-Hanamoto."""
    p, j = (grid.ravel() for grid in np.meshgrid(pressures, ways))
    tan_phi = np.tan(np.radians(s.friction_angle_deg))
    return p, j, (s.cohesion + p * tan_phi) * (1 - np.exp(-j / s.shear_modulus))


@pytest.mark.parametrize("name", soil_names())
def test_the_constants_of_every_builtin_soil_come_back(name):
    s = soil(name)
    bekker = fit_bekker(*plates(s, [0.05, 0.10], np.linspace(0.005, 0.06, 12)))
    shear = fit_shear(*shear_box(s, [5e3, 10e3, 20e3], np.linspace(0.0, 0.06, 25)))
    for fit in (bekker, shear):
        assert fit.scatter < EXACT
        for field, value in fit.constants.items():
            assert value == pytest.approx(getattr(s, field), rel=EXACT)
    assert s.replace(**bekker.constants, **shear.constants).pressure_modulus(0.07) == pytest.approx(
        s.pressure_modulus(0.07), rel=EXACT
    )


@given(st.floats(0.2, 1.6), st.floats(0, 1e5), st.floats(1e4, 1e7), st.floats(0.02, 0.1), st.floats(1.5, 4))
def test_any_two_plates_give_bekkers_constants(n, k_c, k_phi, b, ratio):
    s = Soil("any", n, k_c, k_phi, 0, 30, 0.01)
    fit = fit_bekker(*plates(s, [b, ratio * b], [0.01, 0.02, 0.04]))
    assert fit.constants["n"] == pytest.approx(n, rel=EXACT)
    modulus = k_c / b + k_phi
    assert fit.constants["k_phi"] == pytest.approx(k_phi, rel=EXACT, abs=EXACT * modulus)
    assert fit.constants["k_c"] == pytest.approx(k_c, rel=EXACT, abs=EXACT * modulus * b)


@given(st.floats(0, 2e4), st.floats(2, 45), st.floats(1e-3, 0.05))
def test_any_shear_box_gives_cohesion_friction_and_shear_modulus(c, phi, k):
    s = Soil("any", 1, 0, 1e6, c, phi, k)
    fit = fit_shear(*shear_box(s, [4e3, 12e3], np.linspace(0, 0.08, 40)))
    assert fit.constants["cohesion"] == pytest.approx(c, rel=EXACT, abs=EXACT * 1e4)
    assert fit.constants["friction_angle_deg"] == pytest.approx(phi, rel=EXACT)
    assert fit.constants["shear_modulus"] == pytest.approx(k, rel=EXACT)


def test_millimetres_are_not_taken_for_metres():
    s = soil("lete-sand")
    b, z, p = plates(s, [0.05, 0.10], [0.01, 0.02, 0.04])
    with pytest.raises(InputError, match=r"sinkages\[0\] = 10.0: allowed is a finite number above 0 and at most 1"):
        fit_bekker(b, 1e3 * np.asarray(z), p)
    p, j, tau = shear_box(s, [5e3, 20e3], np.linspace(0.002, 0.06, 50))
    with pytest.raises(InputError, match=r"displacements\[0\] = 2.0"):
        fit_shear(p, 1e3 * np.asarray(j), tau)


def test_noise_spreads_as_it_must():
    """Standard errors of the exponent: of a slope with common variance, noise / sqrt(sum (ln z - mean)^2)."""
    s, depths = soil("lete-sand"), np.linspace(0.005, 0.06, 50)
    noise = np.random.default_rng(3).normal(0, NOISE, (2, 100))
    b, z, p = plates(s, [0.05, 0.10], depths)
    fit = fit_bekker(b, z, p * np.exp(noise[0]))
    spread = np.log(depths) - np.log(depths).mean()
    assert abs(fit.constants["n"] - s.n) < SPREADS * NOISE / np.sqrt(2 * spread @ spread)
    assert fit.scatter == pytest.approx(NOISE, rel=SPREADS / np.sqrt(2 * 100))
    p, j, tau = shear_box(s, [5e3, 20e3], np.linspace(0.002, 0.06, 50))
    shear = fit_shear(p, j, tau * (1 + noise[1]))
    assert shear.constants["friction_angle_deg"] == pytest.approx(s.friction_angle_deg, rel=SPREADS * NOISE)
    assert shear.constants["shear_modulus"] == pytest.approx(s.shear_modulus, rel=SPREADS * NOISE)


def test_plates_that_would_need_a_negative_cohesive_modulus_give_none():
    """A wider plate that carries more than a narrow one: k_c is 0, k_phi lies between, the scatter shows the misfit."""
    z = np.array([0.01, 0.02, 0.04, 0.01, 0.02, 0.04])
    b = np.repeat([0.05, 0.10], 3)
    fit = fit_bekker(b, z, np.where(b < 0.07, 1.0e6, 1.1e6) * z)
    assert fit.constants["k_c"] == 0
    assert 1.0e6 < fit.constants["k_phi"] < 1.1e6
    assert fit.scatter == pytest.approx(np.log(1.1) / 2, rel=0.01)  # half the step between the plates, to first order


def test_shear_of_a_soil_without_cohesion_gives_none():
    """The stresses rise more than in proportion to pressure: a negative cohesion would fit best."""
    j = np.tile(np.linspace(0.005, 0.06, 12), 2)
    p = np.repeat([5e3, 10e3], 12)
    fit = fit_shear(p, j, np.where(p < 7e3, 2e3, 5e3) * (1 - np.exp(-j / 0.01)))
    assert fit.constants["cohesion"] == 0
    assert fit.scatter > NOISE


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([0.05, 0.05], [0.01, 0.02], [1e4, 2e4]), "plate widths = 0.05: allowed are at least two"),
        (([0.05, 0.1], [0.01, 0.01], [1e4, 2e4]), "sinkages: allowed are at least two depths of one plate"),
        (
            ([0.05, 0.1], [0.01, 0.02, 0.03], [1e4, 2e4]),
            "have 2, 3 and 2 values: allowed are three lists of one length",
        ),
        (([0.05, 0.1], [0.0, 0.02], [1e4, 2e4]), r"sinkages\[0\] = 0.0: allowed is a finite number above 0"),
        (([0.05, 0.1], [0.01, 0.02], [1e4, np.nan]), r"pressures\[1\] = nan"),
        (([0.05, 0.1], ["deep", 0.02], [1e4, 2e4]), "sinkages = .*: allowed are numbers"),
        (([], [], []), "plate widths, sinkages, pressures: no values"),
        (([0.05, 0.05, 0.1, 0.1], [0.01, 0.02] * 2, [4e4, 8e4, 1e4, 2e4]), "fall faster than 1/b"),
        (([0.05, 0.05, 0.1, 0.1], [0.01, 0.02] * 2, [8e4, 4e4, 6e4, 2e4]), "pressures fall with the sinkage"),
    ],
)
def test_plates_that_tell_nothing_are_refused_in_one_line(arrays, message):
    with pytest.raises(InputError, match=message) as caught:
        fit_bekker(*arrays)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([5e3, 5e3], [0.01, 0.02], [1e3, 2e3]), "normal pressures = 5000: allowed are at least two"),
        (([5e3, 9e3], [0.01, 0.01], [1e3, 2e3]), "displacements: allowed are at least two above 0"),
        (([5e3, 9e3] * 3, [0.01, 0.01, 0.02, 0.02, 0.03, 0.03], [1, 2, 2, 4, 3, 6]), "still rise"),
        (([5e3, 9e3] * 3, [0.01, 0.01, 0.02, 0.02, 0.03, 0.03], [1, 2] * 3), "do not rise"),
        (([5e3, 9e3], [-0.01, 0.01], [1e3, 2e3]), r"displacements\[0\] = -0.01"),
    ],
)
def test_shear_tests_that_tell_nothing_are_refused_in_one_line(arrays, message):
    with pytest.raises(InputError, match=message) as caught:
        fit_shear(*arrays)
    assert "\n" not in str(caught.value)
