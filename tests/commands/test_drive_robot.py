"""`grouser drive --robot`: wheels are found in the model, or a controller gets what the driver wants."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from grouser.cli import status
from grouser.commands.drive import DriveSession, with_driver
from grouser.commands.drive_robot import RobotDrive
from grouser.control.find_wheels import find_axles
from grouser.control.function import DrivenFunction
from grouser.errors import InputError
from grouser.scenarios.robot import CART
from grouser.scenarios.settings import from_command
from tests.simulation.robots import rover_urdf, urdf
from tests.simulation.step_robots import quadruped, stance

SPEED = 0.1  # [m/s]
SLIPPING = 0.5  # of the commanded motion at least is done in two seconds on sand, the first of which speeds up


def driven(options: list[str], robot: RobotDrive | None = None):
    session = DriveSession("robot", options, robot or RobotDrive(speed=SPEED))
    experiment = with_driver(from_command("robot", options), session, 10.0)
    sim = experiment.scenario.build(experiment.settings)
    assert session.input is not None
    session.input.paced = False
    return sim, session.input


def go(sim, driver, seconds: float, *asked: float) -> None:
    for _ in range(round(seconds / 0.1)):
        driver.take(*asked)
        sim.step(round(0.1 / sim.step_size))


def heading(sim, body: str) -> float:
    return float(np.arctan2(*sim.data.body(body).xmat.reshape(3, 3)[[1, 0], 0]))


def test_a_urdf_without_motors_is_driven_by_skid_steering(tmp_path):
    file = urdf(tmp_path, rover_urdf())
    sim, driver = driven([f"robot={file}", "bodies=wheel_.*"])
    assert sim.notes[-1] == "driven: axle_fl, axle_fr, axle_rl, axle_rr; skid steering; 0.1 m/s at full input"
    go(sim, driver, 2.0, 1, 0)
    x = sim.data.body("base_link").xpos[0]
    assert SLIPPING * 2 * SPEED < x < 2 * SPEED
    assert heading(sim, "base_link") == pytest.approx(0, abs=0.02)
    go(sim, driver, 2.0, 0, 1)
    assert heading(sim, "base_link") > 0.05
    rates = sim.data.qvel[6:]
    assert (rates[[0, 2]] < 0).all()  # left wheels backwards, right ones forwards: a turn to the left
    assert (rates[[1, 3]] > 0).all()


CAR = """<mujoco model="car"><worldbody><body name="hull" pos="0 0 .12"><freejoint/><geom type="box" size=".2 .06 .04"
    pos="0 0 .1" mass="20"/>{wheels}</body></worldbody><actuator>{motors}</actuator></mujoco>"""
WHEEL = '<joint name="{0}" axis="0 -1 0"/><geom type="cylinder" size=".12 .04" zaxis="0 1 0" mass="2"/>'


def car(kind: str = "velocity") -> str:
    wheels, motors = [], []
    for name, x, y in (("fl", 0.25, 0.2), ("fr", 0.25, -0.2), ("rl", -0.25, 0.2), ("rr", -0.25, -0.2)):
        body = f'<body name="w_{name}">{WHEEL.format(name)}</body>'
        if name[0] == "f":
            fork = f'<joint name="turn_{name}" axis="0 0 1" range="-40 40"/><geom size=".02" mass=".2" contype="0" '
            body = f'<body name="fork_{name}" pos="{x} {y} 0">{fork}conaffinity="0"/>{body}</body>'
            motors.append(f'<position name="steer_{name}" joint="turn_{name}" kp="500" kv="30"/>')
        else:
            body = body.replace("<body ", f'<body pos="{x} {y} 0" ')
        wheels.append(body)
        motors.append(f'<{kind} name="go_{name}" joint="{name}"' + (' kv="20"/>' if kind == "velocity" else "/>"))
    return CAR.format(wheels="".join(wheels), motors="".join(motors))


def test_a_car_steers_about_its_rear_axle_though_its_axles_point_right(tmp_path):
    (tmp_path / "car.xml").write_text(car())
    sim, driver = driven([f"robot={tmp_path / 'car.xml'}", "bodies=w_.*"])
    assert "2 of them steered" in sim.notes[-1]
    assert driver.axle == pytest.approx(-0.25)
    go(sim, driver, 5.0, 1, 0.5)
    assert heading(sim, "hull") > 0.03
    assert sim.data.body("hull").xpos[0] > 0.1
    inner, outer = (sim.data.joint(f"turn_{side}").qpos[0] for side in ("fl", "fr"))
    assert inner > outer > 0


def test_wheels_and_steering_may_be_named():
    model = mujoco.MjModel.from_xml_string(car())
    points = {f"w_{name}": np.array([[0.12, 0, 0], [0, 0, -0.12]]) for name in ("fl", "fr", "rl", "rr")}
    chassis, axles = find_axles(model, points, "go_r.*", "nothing")
    assert chassis == "hull"
    assert [(a.joint, a.radius, a.servo, a.steer) for a in axles] == [
        ("rl", 0.12, "go_rl", None), ("rr", 0.12, "go_rr", None),
    ]  # fmt: skip
    assert [a.steer for a in find_axles(model, points)[1]] == ["steer_fl", "steer_fr", None, None]


def test_what_cannot_be_driven_is_said_in_one_line(tmp_path, capsys):
    (tmp_path / "motors.xml").write_text(car("motor"))
    with pytest.raises(InputError, match=r"^wheel joint 'fl' is driven by 'go_fl', which takes no speed"):
        driven([f"robot={tmp_path / 'motors.xml'}", "bodies=w_.*"])
    (tmp_path / "legs.xml").write_text(quadruped())
    with pytest.raises(InputError, match=r"a robot with legs needs --controller FILE.py$"):
        driven([f"robot={tmp_path / 'legs.xml'}", "bodies=trunk"])
    assert status(["drive", str(CART)]) == 2
    assert f"{CART}: is a robot, not a scenario: allowed is --robot {CART}" in capsys.readouterr().err
    assert status(["drive"]) == 2
    assert "NAME is missing" in capsys.readouterr().err


def test_a_controller_gets_what_the_driver_wants(tmp_path):
    (tmp_path / "legs.xml").write_text(quadruped())
    law = f"""SEEN = []
def control(time, data, wanted):
    data.ctrl[:] = {stance().tolist()}
    SEEN.append(wanted)
"""
    (tmp_path / "walk.py").write_text(law)
    options = [f"robot={tmp_path / 'legs.xml'}", "bodies=shank.*", f"controller={tmp_path / 'walk.py'}"]
    sim, driver = driven(options)
    go(sim, driver, 0.2, 0.5, 0)
    go(sim, driver, 0.1, 0, 1)
    controller = sim.controllers[1]
    assert isinstance(controller, DrivenFunction)
    seen = np.array(controller.function.__globals__["SEEN"])
    np.testing.assert_allclose(seen[10], [0.5 * SPEED, 0, 0])
    np.testing.assert_allclose(seen[-1], [0, 0, SPEED / 0.5])
