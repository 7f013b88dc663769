"""Energy per metre of a single wheel: torque times spin over distance."""

from __future__ import annotations

import pytest

from grouser.scenarios.wheel_theory import rolling_wheel
from grouser.terrain import soil
from tests.scenarios.soil_bin import rolled

BAR = 0.02  # of the torque against the integrals on a 10 mm grid
ENDS = 2e-3  # a window of 2000 frames is one frame shorter in time than its mean counts
RADIUS, LOAD, SLIP = 0.15, 185.5, 0.3


def test_energy_is_the_torque_of_the_integrals_over_the_way_of_the_rim():
    """Forced slip: E/m = T w/v = T/(r (1 - s))."""
    book = rolling_wheel(soil("dry-sand").replace(compression=1.0), radius=RADIUS, width=0.1, load=LOAD, slip=SLIP)
    metrics = rolled(compression=1.0, slip=SLIP)
    assert metrics["energy_per_metre_J"] == pytest.approx(book.torque / (RADIUS * (1 - SLIP)), rel=BAR)
    assert metrics["energy_per_metre_J"] == pytest.approx(metrics["torque_Nm"] / (RADIUS * (1 - SLIP)), rel=ENDS)


def test_a_braked_wheel_takes_energy_up():
    """Braking slip s = r w/v - 1: E/m = T (1 + s)/r, and the torque is negative."""
    metrics = rolled(slip=-SLIP)
    assert metrics["energy_per_metre_J"] < 0
    assert metrics["energy_per_metre_J"] == pytest.approx(metrics["torque_Nm"] * (1 - SLIP) / RADIUS, rel=ENDS)


def test_a_wheel_that_spins_on_the_spot_has_no_energy_per_metre():
    metrics = rolled(slip=1.0)
    assert metrics["energy_per_metre_J"] is None
