"""A blade dragged by the engine: the trial wedge, the pile, and a wrong setting for each expectation that breaks it."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import grouser
from grouser.errors import InputError
from grouser.recording import Recording
from grouser.report.summary import missed
from grouser.scenarios.blade import SCENARIO, Blade, over_stretches
from grouser.scenarios.blade_theory import level_draught
from grouser.scenarios.settings import from_python
from grouser.terrain import soil

SHORT = {"travel": 0.1, "blade": {"width": 0.3, "height": 0.15}}
LEVEL = {**SHORT, "compression": 1.0}  # soil that only compacts: no pile
POINTS = {"source": "made up", "travel": [0.05, 0.08], "draught": [100.0, 200.0], "scatter": [1.0, 2.0]}
ROUNDING = 1e-6  # [m] the drives are stiff, not rigid


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs by their settings, each once."""
    done: dict[str, tuple] = {}

    def runs(**changes):
        key = json.dumps(changes, sort_keys=True)
        if key not in done:
            folder = tmp_path_factory.mktemp("blade")
            outcome = grouser.run("blade", changes, out=folder / "out", report=False)
            summary = json.loads((folder / "out" / "summary.json").read_text(encoding="utf-8"))
            done[key] = outcome, summary
        return done[key]

    return runs


def test_level_ground_meets_every_expectation(run):
    outcome, summary = run(**LEVEL)
    assert missed(summary) == []
    theory = level_draught(soil("dry-sand"), width=0.3, depth=0.05).draught
    assert summary["metrics"]["draught_N"]["expected"] == pytest.approx(theory)
    assert outcome.metrics["pile_height_m"] == 0.0


def test_a_pile_meets_every_expectation(run):
    outcome, summary = run(**SHORT)
    assert missed(summary) == []
    assert summary["metrics"]["draught_N"]["expected"] is None, "the closed form knows no pile"
    assert outcome.metrics["draught_N"] > 1.1 * outcome.metrics["draught_level_N"]
    assert outcome.metrics["pile_height_m"] > 0.03


# One wrong setting for each expectation. `measured` are points that nothing fits.
WRONG = {
    "draught_N": {**LEVEL, "faces": False},
    "draught_error_rel": {**SHORT, "faces": False},
    "lift_ratio": {**SHORT, "faces": False},
    "pile_slope_deg": {**SHORT, "erosion": False},
    "volume_error_rel": {**SHORT, "dtype": "float32"},
    "measured_error_median": {**SHORT, "measured": POINTS},
}


@pytest.mark.parametrize(("metric", "settings"), WRONG.items(), ids=list(WRONG))
def test_a_wrong_setting_breaks_the_expectation(run, metric, settings):
    assert metric in missed(run(**settings)[1])


def test_every_expectation_has_a_wrong_setting():
    settings = from_python("blade", {**LEVEL, "measured": POINTS}).settings
    expected = {m["name"] for m in SCENARIO.metrics(settings) if m["tolerance"] is not None}
    assert expected == set(WRONG)


def test_the_blade_goes_where_it_is_told(run):
    """Down a ramp of 45 degrees, then ahead, at the end exactly as far and deep as the settings say."""
    outcome, _ = run(**SHORT, entry_angle_deg=45.0)
    s = Blade(**SHORT, entry_angle_deg=45.0)
    with Recording(outcome.recording) as recording:
        time, travel, depth = recording.time, recording["blade/travel"], recording["blade/depth"]
    assert (travel[-1], depth[-1]) == pytest.approx((0.1, 0.05), abs=ROUNDING)
    half = int(np.searchsorted(time, s.entry_time / 2))
    assert travel[half] == pytest.approx(depth[half], abs=ROUNDING)
    assert s.place(s.entry_time) == pytest.approx((0.05, -0.05))


def test_a_thin_blade_gets_a_finer_grid():
    assert Blade().chosen_spacing == 0.01
    assert Blade(blade={"thickness": 0.006}).chosen_spacing == pytest.approx(0.005)
    assert Blade(blade={"thickness": 0.001}).chosen_spacing == 0.002
    coarse = Blade(blade={"thickness": 0.006}, spacing=0.01)
    assert any("thinner than a cell" in note for note in SCENARIO.build(coarse).notes)
    assert not any("thinner than a cell" in note for note in SCENARIO.build(Blade()).notes)


def test_errors_against_measured_points():
    """A force that is travel times 1000 N/m: its mean over a stretch is its middle."""
    travel = np.linspace(0, 1, 101)
    found = over_stretches(np.array([0.2, 0.5]), 0.1, travel, 1000 * travel)
    assert found == pytest.approx([200.0, 500.0])
    found = over_stretches(np.array([0.5]), 0.2, travel, (1000 * travel) ** 2)
    assert found == pytest.approx([5e2**2 + 1e2**2 / 3], rel=2e-3)


def test_scored_points_and_what_they_give(run):
    points = {**POINTS, "scored_from": 0.06}
    metrics = run(**SHORT, measured=points)[0].metrics
    with Recording(run(**SHORT, measured=points)[0].recording) as recording:
        there = np.interp(0.08, recording["blade/travel"], recording["blade/draught"])
    assert metrics["measured_error_worst"] == metrics["measured_error_median"] == pytest.approx(abs(there / 200 - 1))
    assert metrics["measured_bias"] == pytest.approx(there / 200 - 1)


def test_draught_on_the_moon_is_less(run):
    """Without cohesion all of it is weight."""
    loose = {**LEVEL, "soil": {"name": "dry-sand", "cohesion": 0.0}}
    earth, moon = (run(**loose, **more)[0].metrics["draught_N"] for more in ({}, {"gravity": 1.62}))
    assert moon == pytest.approx(earth * 1.62 / 9.81, rel=1e-3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"travel": 0.01}, "travel 0.01 m: allowed is at least 0.02 m"),
        ({"depth": 0.5}, "depth 0.5 m: allowed is at most the height of the blade"),
        ({"blade.rake_deg": 20}, "greater than or equal to 30"),
        ({"measured": {**POINTS, "scatter": [1.0]}}, "2 of travel, 2 of draught, 1 of scatter"),
        ({"measured": {**POINTS, "scored_from": 0.2}}, "no point is left"),
    ],
    ids=str,
)
def test_settings_that_cannot_be(changes, words):
    with pytest.raises(InputError, match=words):
        from_python("blade", changes)


def test_lift_comes_from_the_wall_friction(run):
    smooth = run(**LEVEL, **{"soil": {"name": "dry-sand", "wall_friction_deg": 0.0}})[0].metrics
    rough = run(**LEVEL)[0].metrics
    assert rough["lift_ratio"] == pytest.approx(math.tan(math.radians(soil("dry-sand").wall_angle_deg)), rel=0.05)
    assert abs(smooth["lift_ratio"]) < 0.05
