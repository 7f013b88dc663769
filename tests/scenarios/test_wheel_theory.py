"""The integrals of a rigid wheel against tabulated solutions and against Wong and Reece's own form of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from grouser.errors import InputError
from grouser.scenarios.wheel_theory import WheelState, rolling_wheel
from grouser.terrain import Soil, soil
from tests.scenarios.wheel_table import RIGID, cases

LAST_DIGIT = 0.55  # of the last printed digit: half of it, and a tenth of that for the table's own arithmetic
AT_ONCE = 1e-6  # [m] stands for K -> 0: full shear from the first slip
QUADRATURE = 1e-4  # of the trapezoidal rule against adaptive quadrature

CASES = [
    pytest.param(name, k_e, column, values, id=f"{name}, {'rigid' if k_e == RIGID else 'elastic'}, {column}")
    for name, k_e, column, values in cases()
]


def in_column(material: Soil, column: str) -> WheelState:
    changes = {"shear_modulus": AT_ONCE} if column == "full shear" else {}
    slip = float(column.removeprefix("slip ")) if column.startswith("slip") else 0.3
    return rolling_wheel(
        material.replace(**changes), radius=0.15, width=0.1, load=185.5, slip=slip, friction=column != "frictionless"
    )


@pytest.mark.parametrize(("name", "k_e", "column", "values"), CASES)
def test_theory_gives_the_table(name, k_e, column, values):
    got = in_column(soil(name).replace(elastic_stiffness=k_e), column)
    sinkage, pull, torque = values
    assert 1e3 * got.sinkage == pytest.approx(sinkage, abs=LAST_DIGIT * 0.01)
    assert got.drawbar_pull == pytest.approx(pull, abs=LAST_DIGIT * 0.1)
    assert got.torque == pytest.approx(torque, abs=LAST_DIGIT * 0.01)


# ---- Wong and Reece 1967: the angle of greatest stress is given, nothing carries behind the lowest point ----


def wong_reece(s: Soil, slip: float, *, radius: float, width: float, load: float, a0: float, a1: float):
    """Sinkage [m], pull [N], torque [N m] with theta_m = (a0 + a1 slip) theta_1, by adaptive quadrature."""
    k, tan_phi = s.k_c / width + s.k_phi, math.tan(math.radians(s.friction_angle_deg))

    def stresses(theta: float, front: float) -> tuple[float, float]:
        middle = (a0 + a1 * slip) * front
        on_front = theta if theta >= middle else front - theta / middle * (front - middle)
        sigma = k * (radius * max(math.cos(on_front) - math.cos(front), 0.0)) ** s.n
        j = radius * ((front - theta) - (1 - slip) * (math.sin(front) - math.sin(theta)))
        return sigma, (s.cohesion + sigma * tan_phi) * (1 - math.exp(-j / s.shear_modulus))

    def integral(front: float, part) -> float:
        middle = (a0 + a1 * slip) * front
        spans = [(0.0, middle), (middle, front)] if middle > 0 else [(0.0, front)]
        return sum(quad(lambda t: part(t, *stresses(t, front)), *span, epsrel=1e-9)[0] for span in spans)

    def carried(front: float) -> float:
        return radius * width * integral(front, lambda t, sigma, tau: sigma * math.cos(t) + tau * math.sin(t))

    front = brentq(lambda angle: carried(angle) - load, 1e-3, 1.5, xtol=1e-12)
    pull = radius * width * integral(front, lambda t, sigma, tau: tau * math.cos(t) - sigma * math.sin(t))
    torque = radius**2 * width * integral(front, lambda t, sigma, tau: tau)
    return radius * (1 - math.cos(front)), pull, torque


PUBLISHED = Soil("published", n=1.0, k_c=1400, k_phi=8.2e5, cohesion=1000, friction_angle_deg=45, shear_modulus=0.018)


@pytest.mark.parametrize(
    ("slip", "pull", "torque", "digit"), [(0.05, -0.17, 1.75, 0.01), (0.2, 6.72, 2.42, 0.01), (0.5, 14.2, 3.17, 0.1)]
)
def test_wong_reece_gives_its_published_case(slip, pull, torque, digit):
    """So that the comparison below is against the known theory and not against a slip of the pen."""
    sinkage, got, moment = wong_reece(PUBLISHED, slip, radius=0.1, width=0.06, load=50, a0=0.4, a1=0.15)
    assert sinkage == pytest.approx(0.027, abs=0.001)
    assert got == pytest.approx(pull, abs=LAST_DIGIT * digit)
    assert moment == pytest.approx(torque, abs=LAST_DIGIT * 0.01)


@pytest.mark.parametrize("name", ["dry-sand", "sandy-loam", "clay", "lete-sand", "lunar-nominal", "hit-lss1"])
@pytest.mark.parametrize("slip", [0.0, 0.1, 0.6, 0.95])
def test_rigid_soil_is_wong_reece_with_greatest_stress_below_the_axle(name, slip):
    rigid = soil(name).replace(elastic_stiffness=RIGID)
    sinkage, pull, torque = wong_reece(rigid, slip, radius=0.15, width=0.1, load=185.5, a0=0, a1=0)
    got = rolling_wheel(rigid, radius=0.15, width=0.1, load=185.5, slip=slip)
    assert got.sinkage == pytest.approx(sinkage, rel=QUADRATURE)
    assert got.drawbar_pull == pytest.approx(pull, abs=QUADRATURE * 185.5)
    assert got.torque == pytest.approx(torque, abs=QUADRATURE * 185.5 * 0.15)


def test_wheel_friction_bounds_the_shear():
    """Torque of a wheel that slides on the soil is at most mu times what presses on the rim."""
    smooth = rolling_wheel(soil("dry-sand").replace(wheel_friction=0.2), radius=0.15, width=0.1, load=185.5, slip=0.6)
    rough = rolling_wheel(soil("dry-sand"), radius=0.15, width=0.1, load=185.5, slip=0.6)
    none = rolling_wheel(soil("dry-sand").replace(wheel_friction=0.0), radius=0.15, width=0.1, load=185.5, slip=0.6)
    free = rolling_wheel(soil("dry-sand"), radius=0.15, width=0.1, load=185.5, slip=0.6, friction=False)
    assert none == free
    assert 0 < smooth.torque < rough.torque
    assert smooth.drawbar_pull < rough.drawbar_pull
    assert np.isfinite([smooth.sinkage, smooth.drawbar_pull, smooth.torque]).all()


def test_beyond_the_theory_it_says_so():
    with pytest.raises(InputError, match="load: 5000 N sinks the wheel beyond the theory"):
        rolling_wheel(soil("exomars-test"), radius=0.15, width=0.1, load=5000, slip=0.1)
