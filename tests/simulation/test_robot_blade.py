"""A blade on a robot of the user's pushes soil ahead; with `faces` off it does not."""

from __future__ import annotations

import numpy as np
import pytest

import grouser
from grouser.contact.soil import SoilOptions
from grouser.scenarios.robot import CART

TIME = 2.0  # [s]: the cart has settled and moves on
LAST = 0.5  # [s] over which the force is averaged: it rises and falls as nodes are passed
HELD = 5.0  # [N] less than what the face, some millimetres deep and 0.4 m wide, has to push; more than its edge feels


BLADE = '<body name="blade" pos="0.32 0 -0.005"><geom type="box" size="0.006 0.2 0.1" mass="0.5"/></body>'


@pytest.fixture
def robot(tmp_path) -> str:
    """The cart with a blade ahead of its wheels."""
    text, joint = CART.read_text(encoding="utf-8"), "<freejoint/>"
    assert text.count(joint) == 1
    file = tmp_path / "dozer.xml"
    file.write_text(text.replace(joint, joint + BLADE), encoding="utf-8")
    return str(file)


def test_a_blade_holds_the_robot_back(robot):
    found = {}
    for on in (True, False):
        options = SoilOptions(faces=on)
        sim = grouser.on_soil(robot, "dry-sand", "wheel.*|blade", drive={"motor.*": 0.4}, options=options)
        sim.step(round((TIME - LAST) / sim.step_size))
        blade, forces = sim.soil.bodies.index("blade"), []
        for _ in range(round(LAST / sim.step_size)):
            sim.step()
            forces.append(-sim.observe()["soil/force"][0, blade, 0])
        found[on] = float(np.mean(forces)), float(sim.data.body("chassis").xpos[0])
    assert found[True][0] > HELD > abs(found[False][0])
    assert found[True][1] < found[False][1]


@pytest.mark.parametrize("on", [True, False])
def test_the_scenario_passes_the_option_on(tmp_path, robot, on):
    run = grouser.run(
        "robot", robot=robot, bodies="wheel.*|blade", drive={"motor.*": 0.4}, faces=on, time=TIME,
        out=tmp_path / "out", report=False,
    )  # fmt: skip
    with grouser.Recording(run.recording) as recording:
        late = recording.time > TIME - LAST
        force = -recording["soil/force[blade, x]"][late].mean()
    assert (force > HELD) == on
