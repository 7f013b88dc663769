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


def overhanging(folder):
    """A mesh of two steps whose risers lean back over their feet, 6 m wide, open at sides and bottom."""
    import trimesh

    profile = [(-2.0, 0.0), (0.0, 0.0), (-0.1, 0.3), (0.6, 0.3), (0.45, 0.6), (2.0, 0.6)]
    vertices = [(x, y, z) for x, z in profile for y in (-3.0, 3.0)]
    triangles = [f for k in range(0, 10, 2) for f in ((k, k + 2, k + 3), (k, k + 3, k + 1))]
    file = folder / "overhang.obj"
    trimesh.Trimesh(vertices, triangles, process=False).export(file)
    return file


@pytest.mark.parametrize("spin", [4.0, -3.0])
def test_a_box_thrown_onto_an_overhang_cut_by_patches_gains_no_energy(tmp_path, spin):
    mesh = {"file": str(overhanging(tmp_path)), "thickness": 0.2}
    thrown = {"terrain": mesh, "at": (0.6, 0.0), "drop": 0.4, "speed": 0.5, "spin": spin, "time": 1.5}
    outcome = grouser.run("box-on-stairs", thrown, out=tmp_path / "out", report=False)
    m = outcome.metrics
    assert m["energy_gain_max_rel"] <= ENERGY_GAIN
    assert "steps_descended" not in m
    with grouser.Recording(outcome.recording) as recording:
        height = recording["body/pose[box]"][:, 2].ravel()
        touched = [k for k, rows in enumerate(recording["convex/contacts"]) if len(rows)]
    assert height[touched[0]] > 0.6  # on the upper tread
    assert -0.1 < height[-1] < 0.8  # and it did not fall through


def test_stairs_that_hang_over_by_a_setting():
    leaning = BoxOnStairs(overhang=0.05).course
    normals = np.concatenate([piece.normals for piece in leaning])
    assert ((normals[:, 0] < -0.5) & (normals[:, 2] < -0.1)).sum() == BoxOnStairs().steps


def test_a_start_beside_the_mesh_is_refused(tmp_path):
    with pytest.raises(InputError, match="at = 9, 0 m: nothing of the mesh is below"):
        _ = BoxOnStairs(terrain=str(overhanging(tmp_path)), at=(9.0, 0.0)).start


def test_rest_time_is_the_end_of_the_last_motion():
    time, speeds = np.arange(5.0), np.array([[1, 0], [0, 0], [0, 1], [0, 0], [0, 0]], float)
    assert rest_time(time, speeds) == 3.0
    assert rest_time(time, np.ones((5, 2))) is None


def test_bad_settings_are_refused():
    with pytest.raises(InputError, match="rise"):
        grouser.run("box-on-stairs", {"rise": -1}, out="unused")
