"""Robots on soil do not depend on the step, and are told when they do."""

from __future__ import annotations

import numpy as np
import pytest

from tests.simulation.step_robots import CASES, Case, build, simulate

SHORT = 5e-4  # [s] what results are compared with
LEGS, WHEELS = 0.05, 0.02  # the bars at the default step: speed over ground, sinkage, energy
SILENT, SPEAKS = 0.03, 0.01  # the bars of the note: errors where it is silent are below, where it speaks above
ROBOTS = [
    Case("trot", 0.35, 1.5, 5.0),
    Case("trot", 0.6, 1.5, 5.0),
    Case("wheels", 0.2, 1.5, 2.0),
    Case("wheels", 1.0, 1.5, 2.0),
    Case("wheels", 2.0, 1.5, 1.5),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "step", "bar"), [("trot-0.35", 2e-3, LEGS), ("trot-0.6", 2e-3, LEGS), ("wheels-1", 5e-3, WHEELS)]
)
def test_a_robot_at_its_default_step_does_as_at_a_short_one(name, step, bar):
    assert build(CASES[name], "dry-sand").step_size == step
    fine, _, _ = simulate(CASES[name], SHORT, 1)
    coarse, _, _ = simulate(CASES[name], step, 1)
    assert np.abs(coarse / fine - 1).max() < bar


@pytest.mark.nightly
@pytest.mark.parametrize("soil", ["dry-sand", "sandy-loam"])
@pytest.mark.parametrize("case", ROBOTS, ids=lambda case: f"{case.name}-{case.speed}")
def test_the_note_on_the_step_speaks_where_results_are_wrong(case, soil):
    fine, _, _ = simulate(case, SHORT, 1, soil)
    for step in (5e-3, 2e-3):
        coarse, _, sim = simulate(case, step, 1, soil)
        worst = float(np.abs(coarse / fine - 1).max())
        spoke = any("inaccurate" in note for note in sim.notes)
        assert worst > SPEAKS if spoke else worst < SILENT, (step, worst)
