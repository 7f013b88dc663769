"""A plain function as a controller, from Python and from a file."""

from __future__ import annotations

import subprocess
import sys

import mujoco
import pytest

import grouser
from grouser.cli import status
from grouser.control import ControlFunction
from grouser.errors import InputError, RunStopped
from grouser.robots.orbit import OrbitalMotion
from tests.commands.test_robot import error_line

SLIDER = """<mujoco><worldbody>
<body name="x"><joint name="x" type="slide" axis="1 0 0"/><geom size="0.1" mass="1"/></body>
</worldbody><actuator><motor joint="x"/></actuator></mujoco>"""


def slider(controllers) -> grouser.Simulation:
    return grouser.Simulation(mujoco.MjSpec.from_string(SLIDER), step=0.01, controllers=controllers)


def test_a_function_sets_the_controls_in_every_step():
    times = []

    def push(time, data):
        times.append(time)
        data.ctrl[0] = 2.0 * (time < 0.045)

    sim = slider(push)
    sim.step(10)
    assert times == pytest.approx([0.01 * k for k in range(10)])
    assert sim.data.qvel[0] == pytest.approx(5 * 0.01 * 2.0)  # five steps of 2 N on 1 kg


def test_functions_and_controllers_act_in_their_order():
    def doubled(time, data):
        data.ctrl *= 2

    sim = slider([ControlFunction(lambda time, data: data.ctrl.fill(1.0), 0.02), doubled])
    sim.step(1)
    assert sim.data.ctrl[0] == 2.0
    sim.use_controllers(lambda time, data: data.ctrl.fill(3.0))
    sim.step(1)
    assert sim.data.ctrl[0] == 3.0


def test_controls_that_a_function_returns_are_taken():
    sim = slider(lambda time, data: [2.5])
    sim.step(1)
    assert sim.data.ctrl[0] == 2.5
    sim.use_controllers(lambda time, data: data.ctrl)  # returns what it may have set
    sim.step(1)
    assert sim.data.ctrl[0] == 2.5


@pytest.mark.parametrize("returned", [True, 1.0, [1.0, 2.0], "fast", {"x": 1.0}, [[1.0], [2.0, 3.0]]])
def test_what_a_function_cannot_return_is_named(returned):
    def walk(time, data):
        return returned

    with pytest.raises(InputError, match=r"^controller walk: returned \w+.*; allowed are nothing, .* or 1 controls$"):
        slider(walk).step(1)


def test_a_function_that_fails_stops_the_run_with_its_name():
    def walk(time, data):
        raise KeyError("gait")

    with pytest.raises(RunStopped, match=r"walk.*KeyError: 'gait' .*test_control_function\.py"):
        slider(walk).step(1)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([3], "controllers: 3 is not allowed; it must be a controller or a function"),
        (None, "controllers: None is not allowed; it must be a controller or a function"),
        (lambda data: None, "controllers: <function .* is not allowed"),
        ([ControlFunction(print, 1e-3)], "controller print: period 0.001 s is below the step 0.01 s"),
    ],
)
def test_what_is_no_controller_is_refused(given, words):
    with pytest.raises(InputError, match=words):
        slider(given)


def test_a_robot_is_controlled_by_a_file(tmp_path, capsys):
    file = tmp_path / "drive.py"
    file.write_text("PERIOD = 0.1\n\ndef control(time, data):\n    data.ctrl[:] = 1.0 if time > 0.45 else 0.0\n")
    arguments = ["run", "--robot", str(grouser.CART), "--bodies", "wheel.*", "--time", "1", "--no-report"]
    assert status([*arguments, "--controller", str(file), "--out", str(tmp_path / "out")]) == 0
    with grouser.Recording(tmp_path / "out" / "recording.h5") as recording:
        speed, time = recording["joint/velocity"], recording.time
        assert abs(speed[time < 0.49]).max() < 0.1
        assert speed[time > 0.9].min() > 0.5  # a soft servo, wheels in sand
    file.write_text("def steer(time, data): ...\n")
    capsys.readouterr()
    said = error_line([*arguments, "--controller", str(file), "--out", str(tmp_path / "no")], capsys)
    assert said == f"controller {file}: has no function control(time, data)"


def test_python_prints_nothing_of_its_own(tmp_path):
    """As a user's program on a machine without a GPU, in a folder of its own."""
    program = "import grouser; grouser.on_soil(grouser.CART, bodies='wheel.*').step(1); print('done')"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_modules_besides_the_soil():
    """The apparent forces of an orbit that is far too low push the robot that the soil carries."""
    alone = grouser.on_soil(grouser.CART, bodies="wheel.*")
    sim = grouser.on_soil(grouser.CART, bodies="wheel.*", modules=[OrbitalMotion(radius=1e5)])
    assert [module.name for module in sim.modules] == ["soil", "orbit"]
    for each in (alone, sim):
        each.step(20)
    assert sim.observe()["soil/force"][..., 2].sum() > 0
    assert abs(sim.data.qvel - alone.data.qvel).max() > 1e-3
    for wrong in (OrbitalMotion(), [3]):
        with pytest.raises(InputError, match=r"modules: .* it must be a list of force modules"):
            grouser.on_soil(grouser.CART, bodies="wheel.*", modules=wrong)
