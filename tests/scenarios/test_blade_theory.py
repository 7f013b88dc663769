"""The trial wedge of `blade_theory` against Coulomb's coefficient and against the oracle of the contact tests."""

from __future__ import annotations

import math

import numpy as np
import pytest

from grouser.errors import InputError
from grouser.scenarios.blade_theory import draught_through, level_draught, lift_ratio
from grouser.terrain import soil
from tests.contact.soil.trial_wedge import GRAVITY, Plate

MINIMUM = 1e-4  # trial planes are 0.1 degrees apart, and a minimum is flat
INTEGRAL = 0.015  # both integrals cut the end of the wedge to whole steps of some millimetres
SAND = soil("dry-sand")


def oracle(material, width: float, depth: float, rake_deg: float) -> Plate:
    return Plate(
        depth, width, math.radians(material.friction_angle_deg), math.radians(material.wall_angle_deg),
        material.cohesion, material.density * GRAVITY, math.radians(rake_deg),
    )  # fmt: skip


@pytest.mark.parametrize("wall_deg", [0.0, 10.0, 18.0])
@pytest.mark.parametrize("rake_deg", [45.0, 60.0, 75.0, 90.0])
def test_without_cohesion_and_sides_it_is_coulombs_coefficient(rake_deg, wall_deg):
    material = SAND.replace(cohesion=0.0, wall_friction_deg=wall_deg)
    phi, delta, rake = (math.radians(a) for a in (material.friction_angle_deg, wall_deg, rake_deg))
    root = math.sqrt(math.sin(phi + delta) * math.sin(phi) / (math.sin(rake + delta) * math.sin(rake)))
    k = math.sin(rake - phi) ** 2 / (math.sin(rake) ** 2 * math.sin(rake + delta) * (1 - root) ** 2)
    push = 0.5 * material.density * 9.81 * 0.1**2 * 2.0 * k
    found = level_draught(material, width=2.0, depth=0.1, rake_deg=rake_deg, sides=False)
    assert found.draught == pytest.approx(push * math.sin(rake + delta), rel=MINIMUM)
    assert found.lift == pytest.approx(-push * math.cos(rake + delta), rel=MINIMUM, abs=1e-9)
    assert found.lift / found.draught == pytest.approx(lift_ratio(material, rake_deg))


@pytest.mark.parametrize("name", ["dry-sand", "clay", "lunar-nominal"])
@pytest.mark.parametrize(("width", "depth", "rake_deg"), [(0.05, 0.02, 90.0), (0.5, 0.2, 60.0), (3.0, 0.05, 45.0)])
def test_level_ground_with_sides(name, width, depth, rake_deg):
    found = level_draught(soil(name), width=width, depth=depth, rake_deg=rake_deg)
    assert found.draught == pytest.approx(oracle(soil(name), width, depth, rake_deg).level(), rel=MINIMUM)
    alone = level_draught(soil(name), width=width, depth=depth, rake_deg=rake_deg, sides=False)
    assert found.draught > alone.draught


@pytest.mark.parametrize("rake_deg", [60.0, 90.0])
def test_level_heights_give_the_closed_form(rake_deg):
    size = {"width": 0.3, "rake_deg": rake_deg}
    found = draught_through(SAND, lambda ahead, across: np.full(ahead.shape, 0.1), **size)
    assert found.draught == pytest.approx(level_draught(SAND, depth=0.1, **size).draught, rel=INTEGRAL)


def test_a_pile_is_that_of_the_oracle():
    def height(ahead, across):
        return 0.05 + np.maximum(0.15 - 0.5 * ahead - 0.4 * np.maximum(np.abs(across) - 0.25, 0.0), 0.0)

    found = draught_through(SAND, height, width=0.5, rake_deg=75.0).draught
    assert found == pytest.approx(oracle(SAND, 0.5, 0.05, 75.0).ahead(height, fine=2e-3), rel=INTEGRAL)
    assert found > 1.5 * level_draught(SAND, width=0.5, depth=0.05, rake_deg=75.0).draught


def test_gravity_scales_the_weight():
    loose = SAND.replace(cohesion=0.0)
    earth, moon = (level_draught(loose, width=0.5, depth=0.1, gravity=g).draught for g in (9.81, 1.62))
    assert moon == pytest.approx(earth * 1.62 / 9.81)


def test_a_wedge_that_cannot_slide_is_refused():
    with pytest.raises(InputError, match="rake: 90 degrees: no wedge can slide"):
        level_draught(SAND.replace(friction_angle_deg=80.0, wall_friction_deg=60.0), width=1.0, depth=0.1)
