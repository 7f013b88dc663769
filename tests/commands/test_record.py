"""`grouser.record`: a simulation made in Python leaves the folder of a run."""

from __future__ import annotations

import json

import mujoco
import numpy as np
import pytest

import grouser


def cart(**more) -> grouser.Simulation:
    return grouser.on_soil(grouser.CART, soil="dry-sand", bodies="wheel.*", drive={"motor.*": 1.0}, **more)


def test_a_robot_is_recorded_by_one_call(tmp_path):
    run = grouser.record(cart(), tmp_path / "out", 1.0)
    names = ["load.png", "power.png", "sinkage.png", "slip.png", "soil.png"]
    assert sorted(file.name for file in (tmp_path / "out" / "figures").iterdir()) == names
    assert "<h1>cart" in (tmp_path / "out" / "report.html").read_text()
    same = grouser.run("robot", bodies="wheel.*", drive={"motor.*": 1.0}, time=1.0, out=tmp_path / "same", report=False)
    assert {k: v for k, v in same.metrics.items() if k != "real_time_factor"} == {
        k: v for k, v in run.metrics.items() if k != "real_time_factor"
    }


def test_the_whole_robot_is_drawn(tmp_path):
    """Each body moves with its own pose, and together they are as large as the robot, chassis and wheels."""
    sim = cart(settle=False)
    run = grouser.record(sim, tmp_path / "out", 0.05, report=False)
    with grouser.Recording(run.recording) as recording:
        shapes = recording.shapes()
        poses = {shape.follows: recording[shape.follows][0] for shape in shapes}
    drawn = {follows.removeprefix("body/pose[").removesuffix("]") for follows in poses}
    assert drawn == {"chassis", "wheel_fl", "wheel_fr", "wheel_rl", "wheel_rr"}
    for shape in shapes:
        geom = sim.model.geom(sim.model.body(shape.follows[10:-1]).geomadr[0])
        wide, high = geom.size[0], geom.size[1]
        size = 2 * geom.size if geom.type == mujoco.mjtGeom.mjGEOM_BOX else [2 * wide, 2 * wide, 2 * high]
        np.testing.assert_allclose(np.sort(np.ptp(shape.vertices, axis=0)), np.sort(size), rtol=0.01)
    places = np.array([pose[:3] for pose in poses.values()])
    bodies = np.array([sim.data.body(name).xpos for name in drawn])
    np.testing.assert_allclose(np.ptp(places[:, :2], axis=0), np.ptp(bodies[:, :2], axis=0), atol=1e-3)


def test_a_second_recording_goes_on_and_has_the_ruts_of_the_first(tmp_path):
    sim = cart()
    first, second = (grouser.record(sim, tmp_path / name, 1.0, report=False) for name in ("a", "b"))
    with grouser.Recording(first.recording) as one, grouser.Recording(second.recording) as two:
        assert two.time[0] == one.time[-1] == pytest.approx(1.0)
        assert one.names() == two.names()
        *_, ruts, _ = one.surface_at(1.0)
        *_, begins, _ = two.surface_at(1.0)
        assert ruts.min() < -0.005
        np.testing.assert_array_equal(begins, ruts)
    assert second.metrics["distance_m"] < sim.data.body("chassis").xpos[0]


def test_bodies_without_soil_are_recorded_too(tmp_path):
    spec = mujoco.MjSpec.from_string(
        '<mujoco model="a b/c"><worldbody><body name="x"><freejoint/><geom size="1"/></body></worldbody></mujoco>'
    )
    run = grouser.record(grouser.Simulation(spec), tmp_path / "out", 0.1)
    assert run.status == "complete"
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["scenario"] == "a-b-c"
    with grouser.Recording(run.recording) as recording:
        assert recording["body/pose[x]"][-1, 2] == pytest.approx(-9.81 * 0.1**2 / 2, rel=0.1)


def test_what_cannot_be_recorded_is_refused(tmp_path):
    with pytest.raises(grouser.InputError, match=r"record: 'cart\.xml' is not allowed; it must be a Simulation"):
        grouser.record("cart.xml", tmp_path / "out")
    with pytest.raises(grouser.InputError, match="record: 2 worlds are not allowed"):
        grouser.record(cart(worlds=2), tmp_path / "out")
    with pytest.raises(grouser.InputError, match="record: seconds"):
        grouser.record(cart(), tmp_path / "out", 0.0)
    assert not (tmp_path / "out").exists()
