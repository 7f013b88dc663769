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


# alpha along the motion, across it and up, of a face tilted by beta and turned by psi that moves along gamma [deg].
# By the paper's form in angles, x3 = cos psi cos gamma sin beta + sin gamma cos beta, as the public code
# KKKobefeng/3D-RFT has it (findFit.m, findAlpha.m); the law here uses scalar products of vectors instead.
IN_ANGLES = {
    (30, 60, 0): (-0.273717, 0.0, 0.757358),
    (60, 30, 0): (-0.335898, 0.0, 0.349921),
    (-30, 60, 0): (-0.025165, 0.0, 0.782388),
    (75, -45, 0): (-0.216315, 0.0, 0.004932),
    (30, 45, 40): (-0.345312, -0.085228, 0.701946),
    (60, 20, -50): (-0.396900, 0.146906, 0.307327),
    (80, -30, 70): (-0.065288, -0.092513, -0.027680),
    (-45, 80, 25): (0.101748, 0.085481, 0.820750),
}
# alpha_x against the motion and alpha_z, by the Fourier series of qishuny/3D-RFT-wheel, RFT2Dfunc.m.
BY_SERIES = {(30, 30): (0.301377, 0.654000), (-30, 60): (-0.077210, 0.648168), (60, -30): (0.289252, 0.127000)}


def tilted(beta: float, gamma: float, psi: float = 0.0):
    """Normal of a face and direction of its motion, which is in the plane of x and z."""
    b, g, p = np.radians([beta, gamma, psi])
    return (np.sin(b) * np.cos(p), np.sin(b) * np.sin(p), -np.cos(b)), (np.cos(g), 0.0, -np.sin(g))


@pytest.mark.parametrize(("angles", "alpha"), IN_ANGLES.items())
def test_agarwal_at_oblique_angles(angles, alpha):
    assert vector(laws.agarwal, *tilted(*angles)) == pytest.approx(alpha, abs=1e-6)


@pytest.mark.parametrize(("angles", "alpha"), BY_SERIES.items())
def test_li_at_oblique_angles(angles, alpha):
    assert vector(laws.li, *tilted(*angles)) == pytest.approx([-alpha[0], 0.0, alpha[1]], abs=1e-6)


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
