"""Numbers with units, as texts."""

from __future__ import annotations

import math

import pytest

from grouser.terrain.units import in_unit

ROUNDING = 1e-12  # relative, of a few factors multiplied in another order


@pytest.mark.parametrize(
    ("text", "unit", "number"),
    [
        ("1.2 kPa", "Pa", 1200.0), ("1.2kPa", "Pa", 1200.0), ("-3e2 mm", "m", -0.3), (".5 kN*s/m", "N s/m", 500.0),
        ("2 N/mm^2", "Pa", 2e6), ("2 N/mm**2", "Pa", 2e6), ("2 N/mm²", "Pa", 2e6), ("4 kg·m²", "kg m^2", 4.0),
        ("4 kg m**2", "kg m^2", 4.0), ("3 1/min", "1/s", 0.05), ("3 s⁻¹", "1/s", 3.0), ("180 °", "rad", math.pi),
        ("50 %", "", 0.5), ("20 degC", "K", 293.15), ("5 µm", "m", 5e-6), ("30 rpm", "rad/s", math.pi),
    ],
)  # fmt: skip
def test_quantities(text, unit, number):
    assert in_unit(text, unit) == pytest.approx(number, rel=ROUNDING)


@pytest.mark.parametrize(
    "text",
    [
        "10**10**10 m", "2 m**10**10", "2 m⁹⁹⁹⁹⁹⁹⁹⁹⁹⁹", "9**9**9**9", "1 m" + "*m" * 200, "(1+1) m", "2 3 m", "m", "",
        "1 km^99/m^98*km^99*km^99", "1 __import__('os')", "1 m;2",
    ],
)  # fmt: skip
def test_nothing_is_calculated(text):
    with pytest.raises(ValueError, match=r"^(is not a quantity|has another dimension)$"):
        in_unit(text, "m")
