"""Steps that run without Python are the steps that Python would make, bit for bit, and stop where those would."""

import subprocess
import sys

import numpy as np
import pytest
import warp as wp

from grouser.contact.soil import SoilModule
from grouser.contact.tyre import TyreModule
from grouser.errors import RunStopped
from grouser.launches import Launches, Loop
from grouser.scenarios.registry import scenario
from grouser.simulation import Simulation
from tests.engine.fakes import free_body
from tests.simulation.beds import bed, tread

H = 2e-3


def on_soil(worlds: int = 1, compiled: bool = True) -> Simulation:
    spec = free_body(centre=(0, 0, 0))
    spec.body("body").name = "tread"
    spec.body("tread").pos = [0, 0, 0.1]
    ground = bed(worlds=worlds) if worlds > 1 else bed()
    sim = Simulation(spec, [SoilModule(ground, {"tread": tread()})], ground=ground, step=H, worlds=worlds)
    return sim if compiled else in_python(sim)


def in_python(sim: Simulation) -> Simulation:
    sim.compiled = []
    return sim


def everything(sim: Simulation) -> list[np.ndarray]:
    checkpoint = sim.checkpoint()
    arrays = [*checkpoint["engine"]]
    for group in (checkpoint["ground"] or {}, *checkpoint["modules"], *checkpoint["outputs"]):
        arrays += list(group.values())
    return arrays


def same(one: Simulation, two: Simulation) -> bool:
    pairs = zip(everything(one), everything(two), strict=True)
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)


def test_soil_steps_have_the_bits_of_python_s():
    one, two = on_soil(), on_soil(compiled=False)
    for count in (1, 7, 150):
        one.step(count)
        two.step(count)
        assert same(one, two), count
    assert (one.steps, one.time) == (two.steps, two.time)


@pytest.mark.parametrize("controller", ["proportional", "cdta"])
def test_a_vehicle_with_controllers_and_battery_has_the_bits_of_python_s(controller):
    course = scenario("vivi-sinusoid")
    settings = course.settings(
        controller=controller, step=1e-3, control_period=3.5e-3, battery_period=1e-2, duration=5.0
    )
    one, two = course.build(settings), in_python(course.build(settings))
    assert any(isinstance(module, TyreModule) for module in one.compiled)
    one.step(400)
    two.step(400)
    assert same(one, two)


def test_the_compiled_loop_is_the_one_that_runs(monkeypatch):
    sim, rounds = on_soil(), []
    monkeypatch.setattr(Loop, "run", lambda self, times, run=Loop.run: rounds.append(times) or run(self, times))
    sim.step(100)
    assert sum(rounds) == 100
    assert len(rounds) < 50


def test_a_run_that_diverges_stops_at_the_same_step():
    reasons = []
    for sim in (on_soil(), on_soil(compiled=False)):
        sim.step(20)
        sim.data.qvel[0] = 2e6
        with pytest.raises(RunStopped) as stopped:
            sim.step(50)
        reasons.append((str(stopped.value), stopped.value.time, sim.steps))
    assert reasons[0] == reasons[1]


def test_a_bad_world_of_a_batch_stands_still_and_the_others_go_on():
    sims = on_soil(worlds=3), on_soil(worlds=3, compiled=False)
    for sim in sims:
        sim.step(20)
        sim.engine.data[1].qvel[0] = 2e6
        sim.step(30)
        assert sim.engine.frozen.tolist() == [False, True, False]
    assert np.array_equal(sims[0].engine.state(0), sims[1].engine.state(0))
    assert np.array_equal(sims[0].engine.state(2), sims[1].engine.state(2))


def test_warnings_of_mujoco_inside_the_loop_are_heard():
    sim = Simulation(free_body(), [], step=H)
    sim.data.qpos[0] = 1e11  # MuJoCo warns of positions beyond 1e10
    sim.step(3)
    assert any("MuJoCo warns" in note for note in sim.notes)


def test_an_error_inside_mujoco_ends_the_program_with_status_3_and_its_words(tmp_path):
    code = (
        "import mujoco\n"
        "from grouser.simulation import Simulation\n"
        "spec = mujoco.MjSpec()\n"
        "body = spec.worldbody.add_body(name='ball')\n"
        "body.add_freejoint()\n"
        "body.add_geom(size=[0.1, 0, 0])\n"
        "spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 1])\n"
        "sim = Simulation(spec)\n"
        "sim.model.opt.solver = 77\n"
        "sim.step(3)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 3
    assert "stopped: mujoco: " in done.stderr


@wp.kernel(enable_backward=False)
def count_up(values: wp.array(dtype=wp.int32), by: int):
    values[wp.tid()] = values[wp.tid()] + by


def test_a_loop_ends_in_the_middle_of_its_last_round_or_at_an_alarm():
    values, alarm = wp.zeros(2, dtype=wp.int32, device="cpu"), wp.zeros(1, dtype=wp.int32, device="cpu")
    first = Launches(lambda launch: [launch(count_up, 2, [values, 1]), launch(count_up, 2, [values, 10])])
    second = Launches(lambda launch: launch(count_up, 1, [values, 100]))
    loop = Loop(first.calls, second.calls, alarm)
    assert loop.run(3) == 3
    assert values.numpy().tolist() == [233, 33]
    loop.finish()
    assert values.numpy().tolist() == [333, 33]
    alarm.fill_(1)
    assert loop.run(5) == 1
    assert values.numpy().tolist() == [344, 44]


def test_what_has_been_said_and_can_be_borne_does_not_end_the_loop_again(monkeypatch):
    course, rounds = scenario("vivi-sinusoid"), []
    sim = course.build(course.settings(controller="cdta", step=1e-3, duration=5.0))
    sim.use_controllers([])
    sim.data.qpos[0] = 1000.0  # beyond the terrain, for good
    monkeypatch.setattr(Loop, "run", lambda self, times, run=Loop.run: rounds.append(1) or run(self, times))
    sim.step(200)
    assert any("beyond the terrain" in note for note in sim.notes)
    assert len(rounds) < 20
