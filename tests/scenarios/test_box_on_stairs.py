"""The box on stairs: energy, kinds of contact, rest; other throws than the one shown."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import grouser
from grouser.errors import InputError
from grouser.scenarios.box_on_stairs import ENERGY_GAIN, SCENARIO, BoxOnStairs, rest_time

SEATED = 1e-5  # [m] by which the box at rest lies lower than the floor's top


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    return grouser.run("box-on-stairs", out=tmp_path_factory.mktemp("stairs") / "out")


def test_default_run_meets_its_expectations(outcome):
    summary = json.loads((outcome.recording.parent / "summary.json").read_text())["metrics"]
    assert summary["energy_gain_max_rel"]["value"] <= ENERGY_GAIN
    assert summary["contact_kinds"]["value"] == ["edge", "face", "vertex"]
    assert 0.5 < summary["rest_time_s"]["value"] < BoxOnStairs().time
    assert all(entry["pass"] is not False for entry in summary.values())
    assert {path.stem for path in (outcome.recording.parent / "figures").iterdir()} == {"tumble", "energy", "force"}


def test_at_rest_it_lies_on_a_tread_or_the_floor_and_carries_its_weight(outcome):
    s = BoxOnStairs()
    with grouser.Recording(outcome.recording) as recording:
        pose, force = recording["body/pose[box]"][-1].ravel(), recording["convex/force[box]"][-1].ravel()
        lowest = pose[2] - min(s.length, s.breadth, s.height) / 2
    assert min(abs(lowest - k * s.rise) for k in range(s.steps + 1)) < SEATED
    assert force[2] == pytest.approx(s.mass * s.gravity, rel=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_no_throw_gains_energy(seed):
    rng = np.random.default_rng(seed)
    tilt = tuple(float(x) for x in rng.uniform(-90, 90, 3))
    s = BoxOnStairs(tilt_deg=tilt, spin=float(rng.uniform(-5, 5)), friction=float(rng.uniform(0.1, 0.8)), time=1.5)
    sim = SCENARIO.build(s)
    module, channels = sim.modules[0], {c.name: c for c in sim.channels()}
    energy, lowest, drop = [], math.inf, None
    for _ in range(round(s.time / s.step)):
        sim.step()
        energy.append(float(channels["convex/stored"].read()[0] + channels["box/energy"].read()[0]))
        if drop is None and module.counts["contacts"]:
            drop = s.mass * s.gravity * (s.start[2] - sim.data.qpos[2])
    lowest = np.minimum.accumulate(energy)
    assert drop is not None
    assert (np.array(energy) - lowest).max() <= ENERGY_GAIN * drop


def test_rest_time_is_the_end_of_the_last_motion():
    time, speeds = np.arange(5.0), np.array([[1, 0], [0, 0], [0, 1], [0, 0], [0, 0]], float)
    assert rest_time(time, speeds) == 3.0
    assert rest_time(time, np.ones((5, 2))) is None


def test_bad_settings_are_refused():
    with pytest.raises(InputError, match="rise"):
        grouser.run("box-on-stairs", {"rise": -1}, out="unused")
