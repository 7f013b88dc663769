"""Coefficients of resistive force theory against published values and symmetries."""

import numpy as np
import pytest

from grouser.contact.rft import laws
from grouser.precision import precision
from tests.device_call import call

P = precision("float64")
PRINTED = 1e-3  # coefficients are printed with three digits


def vector(function, n, d):
    return call(function, P.vec3(*n), P.vec3(*d), returns=P.vec3)


@pytest.mark.parametrize(
    ("law", "beta", "gamma", "value"),
    [
        (laws.li_z, 0, np.pi / 2, 1.000),
        (laws.li_x, np.pi / 2, 0, 0.370),
        (laws.li_z, 0, -np.pi / 2, -0.250),
    ],
)  # fmt: skip
def test_li_gives_the_values_of_the_paper(law, beta, gamma, value):
    assert call(law, P.real(beta), P.real(gamma), returns=P.real) == pytest.approx(value, abs=PRINTED / 2 + 1e-9)


@pytest.mark.parametrize("law", [laws.li, laws.agarwal])
def test_plates_and_the_vertical_plane(law):
    down = vector(law, (0, 0, -1), (0, 0, -1))
    assert down[:2] == pytest.approx([0, 0], abs=1e-12)
    assert down[2] == pytest.approx(1.0 if law is laws.li else laws.PLATE_DOWN, abs=1e-9)
    assert vector(law, (0, 0, 1), (0, 0, 1))[2] < 0
    assert vector(law, (1, 0, 0), (1, 0, 0))[0] < 0


@pytest.mark.parametrize("law", [laws.li, laws.agarwal])
def test_turns_about_the_vertical_and_mirrors_change_nothing(law):
    rng = np.random.default_rng(1)
    turn, mirror = np.array([[0.6, -0.8, 0], [0.8, 0.6, 0], [0, 0, 1]]), np.diag([1.0, -1.0, 1.0])
    for n, d in rng.normal(size=(20, 2, 3)):
        n, d = n / np.linalg.norm(n), d / np.linalg.norm(d)
        plain = vector(law, n, d)
        for image in (turn, mirror):
            assert vector(law, image @ n, image @ d) == pytest.approx(image @ plain, abs=1e-12)


@pytest.mark.parametrize("form", [0, 1])
def test_flow_takes_power_and_never_pulls(form):
    rng = np.random.default_rng(2)
    acting = 0
    for n, d in rng.normal(size=(300, 2, 3)):
        n, d = n / np.linalg.norm(n), d / np.linalg.norm(d)
        alpha = call(laws.flow_stress, P.vec3(*n), P.vec3(*d), P.real(0.5), form, returns=P.vec3)
        if n @ d <= 0:
            assert not alpha.any()
        assert alpha @ d <= 1e-12
        acting += bool(alpha.any())
    assert acting > 100


def test_scale_of_a_medium():
    assert laws.medium_scale(1000.0, 10.0, 0.5) == pytest.approx(1e4 * (894 / 8 - 386 / 4 + 89 / 2))
