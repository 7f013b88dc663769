"""Robots on soil do not depend on the step, and are told when they do."""

from __future__ import annotations

import numpy as np
import pytest

from grouser import Simulation
from grouser.contact.soil import prepare, wheel
from grouser.simulation.shapes import _arc, box, revolved
from tests.contact.soil.test_rest import dropped
from tests.simulation.step_robots import CASES, Case, build, simulate, stance, trot
from tests.simulation.step_robots import LEGS as LEGS_OF_IT

SHORT = 5e-4  # [s] what results are compared with
SHORTEST, STARTS = 2.5e-4, 5  # [s] what the default step is compared with, and the number of nudged starts
LEGS, WHEELS = 0.05, 0.02  # the bars at the default step, for the means of speed over ground, sinkage and energy
SILENT, SPEAKS = 0.03, 0.01  # the bars of the note: errors where it is silent are below, where it speaks above
ROBOTS = [
    Case("trot", 0.35, 1.5, 5.0),
    Case("trot", 0.6, 1.5, 5.0),
    Case("wheels", 0.2, 1.5, 2.0),
    Case("wheels", 1.0, 1.5, 2.0),
    Case("wheels", 2.0, 1.5, 1.5),
]
SHORT_OF_DROPS = 2e-4  # [s]
DROPS = [  # soil, compression, fall [m], step [s]
    ("dry-sand", 0.3, 0.05, 5e-3),
    ("dry-sand", 1.0, 0.02, 2e-3),
    ("sandy-loam", 0.3, 0.02, 5e-3),
    ("sandy-loam", 0.3, 0.05, 2e-3),
    ("clay", 0.3, 0.02, 5e-3),
    ("clay", 1.0, 0.05, 5e-3),
    ("clay", 1.0, 0.05, 2e-3),
    ("lete-sand", 1.0, 0.02, 5e-3),
    ("lunar-nominal", 0.3, 0.0, 5e-3),
    ("lunar-nominal", 0.3, 0.3, 5e-3),
    ("clay", 0.3, 0.3, 5e-3),  # from here on hard landings: these bounce, and soil slides below
    ("clay", 0.3, 0.3, 2e-3),
    ("clay", 1.0, 0.3, 1e-3),
    ("clay", 0.3, 0.1, 2e-3),
    ("sandy-loam", 0.3, 0.3, 5e-3),
    ("sandy-loam", 1.0, 0.3, 5e-3),
    ("lete-sand", 0.3, 0.3, 2e-3),
    ("lete-sand", 1.0, 0.1, 2e-3),  # these bounce too, and press the soil down again
    ("hit-lss1", 0.3, 0.5, 2e-3),
    ("exomars-test", 0.3, 0.5, 5e-3),
]
SOLE = (prepare(*box(np.array([0.1, 0.06, 0.03])), name="sole"), 8.0)  # and mass [kg]
BALL = (prepare(*revolved(*_arc(0.1, 0.0)), name="ball"), 5.0)
LARGE_WHEEL = (wheel(0.25, 0.1), 40.0)
OTHER_DROPS = [  # body, soil, fall [m], step [s]
    (SOLE, "sandy-loam", 0.3, 1e-3),
    (SOLE, "dry-sand", 0.3, 2e-3),
    (BALL, "sandy-loam", 0.03, 5e-3),
    (LARGE_WHEEL, "clay", 0.3, 2e-3),
]

DEFAULTS = [("trot-0.35", 2e-3, LEGS), ("trot-0.6", 2e-3, LEGS), ("wheels-1", 5e-3, WHEELS)]


@pytest.mark.parametrize(("name", "step", "bar"), DEFAULTS)
def test_a_robot_with_legs_gets_the_step_of_mujoco(name, step, bar):
    assert build(CASES[name], "dry-sand").step_size == step


def test_a_step_too_long_for_a_trot_is_said_and_a_robot_that_stands_is_left_alone():
    for speed, spoken in ((0.6, 4), (None, 0)):
        sim = build(CASES["trot-0.6"], "dry-sand", step=5e-3)
        sim.data.ctrl[:] = stance()
        for _ in range(700):
            if speed is not None:
                trot(speed, sim.time, sim.data.ctrl)
            sim.step(1)
        said = [note for note in sim.notes if "inaccurate" in note]
        assert sum(any(f"shank_{leg}" in note for note in said) for leg in LEGS_OF_IT) == spoken
        assert len(said) <= 3 * spoken, "each verdict once"
        assert all("use a step of" in note for note in said)


@pytest.mark.long
@pytest.mark.parametrize(("name", "step", "bar"), DEFAULTS)
def test_a_robot_at_its_default_step_does_as_at_a_short_one(name, step, bar):
    fine, _, _ = simulate(CASES[name], SHORTEST, STARTS)
    coarse, _, _ = simulate(CASES[name], step, STARTS)
    assert (np.abs(coarse.mean(axis=0) / fine.mean(axis=0) - 1) < bar).all()


@pytest.mark.nightly
@pytest.mark.parametrize("soil", ["dry-sand", "sandy-loam"])
@pytest.mark.parametrize("case", ROBOTS, ids=lambda case: f"{case.name}-{case.speed}")
def test_the_note_on_the_step_speaks_where_results_are_wrong(case, soil):
    fine, _, _ = simulate(case, SHORT, 1, soil)
    for step in (5e-3, 2e-3):
        coarse, _, sim = simulate(case, step, 1, soil)
        assert_note_is_right(sim, float(np.abs(coarse / fine - 1).max()))


@pytest.mark.long
@pytest.mark.parametrize(("soil", "chi", "fall", "step"), DROPS)
def test_the_note_on_the_step_speaks_where_a_dropped_wheel_comes_to_rest_elsewhere(soil, chi, fall, step):
    fine, _ = dropped(soil, chi, SHORT_OF_DROPS, fall)
    coarse, sim = dropped(soil, chi, step, fall)
    assert_note_is_right(sim, abs(coarse / fine - 1))


@pytest.mark.long
@pytest.mark.parametrize(("body", "soil", "fall", "step"), OTHER_DROPS)
def test_the_note_on_the_step_speaks_where_another_body_comes_to_rest_elsewhere(body, soil, fall, step):
    fine, _ = dropped(soil, 0.3, SHORT_OF_DROPS, fall, body)
    coarse, sim = dropped(soil, 0.3, step, fall, body)
    assert_note_is_right(sim, abs(coarse / fine - 1))


def assert_note_is_right(sim: Simulation, error: float) -> None:
    spoke = any("inaccurate" in note for note in sim.notes)
    assert error > SPEAKS if spoke else error < SILENT, (error, spoke)
