"""Errors against measured values, by hand."""

from __future__ import annotations

import math

import pytest

from grouser.validation import read_wheels
from grouser.validation.cases import Entry, laws, rim_slip, settings
from grouser.validation.score import AIM, means, scores
from tests.validation.data import TEXT, with_lugs

EXACT = 1e-12  # rounding
RUNS = {
    0.1: {"pull": 2.0, "sinkage": 0.011, "torque": 2.7},
    0.2: {"pull": 9.0, "sinkage": 0.014, "torque": 5.5},
    0.4: {"pull": 15.0, "sinkage": 0.026, "torque": 9.0},
}


@pytest.fixture
def wheel(tmp_path):
    def read(text: str = TEXT):
        file = tmp_path / "bin.yaml"
        file.write_text(text, encoding="utf-8")
        return read_wheels(file)["smooth"]

    return read


def test_hand_computed_errors(wheel):
    """Load 100 N, radius 0.15 m: the floors are 3 N, 1.5 mm and 0.45 N m."""
    found = scores(wheel(), RUNS)
    # -1 N was measured: |2 + 1| N is 100 % of the floor, not 300 % of the value; |15 - 20| is 25 % of 20 N.
    assert found["pull"].errors == pytest.approx([1.0, 0.25], rel=EXACT)
    assert found["pull"].median == pytest.approx(0.625, rel=EXACT)
    assert found["pull"].worst == pytest.approx((1.0, 0.1), rel=EXACT)
    assert found["pull"].floor == pytest.approx(3.0, rel=EXACT)
    assert found["sinkage"].errors == pytest.approx([0.1, 0.3], rel=EXACT)
    assert found["sinkage"].floor == pytest.approx(0.0015, rel=EXACT)
    assert found["sinkage"].beyond == [0.4]
    assert found["torque"].errors == pytest.approx([0.1, 0.1], rel=EXACT)  # at its own slips, 0.1 and 0.2
    assert found["torque"].floor == pytest.approx(0.45, rel=EXACT)
    assert found["torque"].beyond == []
    assert AIM == 0.2


def test_the_mean_takes_scored_quantities_only(wheel):
    found = scores(wheel(), RUNS)
    both = means([found, found])
    assert both == pytest.approx({"pull": 0.625, "sinkage": 0.2, "all": 0.4125}, rel=EXACT)


def test_a_run_that_failed_is_an_infinite_error(wheel):
    found = scores(wheel(), RUNS | {0.4: None})
    assert found["pull"].errors == [pytest.approx(1.0), math.inf]
    assert found["pull"].median == math.inf
    assert found["pull"].beyond == [0.1, 0.4]


def test_sinkage_of_the_tips_counts_the_lugs(wheel):
    rim, tips = scores(wheel(with_lugs()), RUNS), scores(wheel(with_lugs(sinkage_of="tips")), RUNS)
    assert rim["sinkage"].computed == pytest.approx((0.011, 0.026), rel=EXACT)
    assert tips["sinkage"].computed == pytest.approx((0.021, 0.036), rel=EXACT)
    assert tips["pull"].computed == rim["pull"].computed


@pytest.mark.parametrize("slip", [-0.3, 0.0, 0.02, 0.0625, 0.3, 0.6])
def test_slip_of_the_tips_is_the_same_motion(wheel, slip):
    """Travel speed over angular speed is the same from either slip: r 0.15 m, lugs of 10 mm."""
    lugged = wheel(with_lugs(slip_of="tips"))

    def travel(slip: float, radius: float) -> float:
        return (1 - slip) * radius if slip >= 0 else radius / (1 + slip)

    assert travel(rim_slip(lugged, slip), 0.15) == pytest.approx(travel(slip, 0.16), rel=EXACT)
    assert rim_slip(wheel(with_lugs()), slip) == slip


def test_settings_hold_the_machine_of_the_file(wheel):
    measured = wheel(with_lugs())
    entry = Entry(measured, measured.soil, blind=True)
    (plain, other) = laws([], ["erosion=false samples=2 soil.compression=0.5"])
    s = settings(entry, 0.4, plain)
    assert (s.load, s.slip, s.speed, s.spacing) == (100.0, 0.4, 0.2, 0.01)
    assert (s.wheel.radius, s.wheel.width) == (0.15, 0.1)
    assert (s.wheel.grouser_count, s.wheel.grouser_height, s.wheel.grouser_width) == (12, 0.01, 0.004)
    assert s.chosen_soil() == measured.soil.replace(name="bin-sand")
    changed = settings(entry, 0.4, other)
    assert (changed.erosion, changed.options) == (False, {"samples": 2})
    assert changed.chosen_soil().compression == 0.5


def test_friction_of_two_thirds_is_that_of_the_soil(wheel):
    measured = wheel(TEXT.replace("width: 0.1}", "width: 0.1, friction: two-thirds}"))
    entry = Entry(measured, measured.soil, blind=True)
    chosen = settings(entry, 0.1, laws([], [])[0]).chosen_soil()
    assert chosen.wheel_friction == pytest.approx(math.tan(math.radians(28 * 2 / 3)), rel=EXACT)
