"""A robot under resistive force theory, from Python."""

import dataclasses

import mujoco
import numpy as np
import pytest

import grouser
from grouser.cli import status
from grouser.contact.rft import RftOptions
from grouser.contact.rft.laws import PLATE_DOWN
from grouser.contact.soil import SoilOptions
from grouser.contact.soil.surface import wheel
from grouser.errors import InputError
from grouser.recording import Recording
from grouser.scenarios.settings import from_python


def test_the_cart_stands_and_drives():
    sim = grouser.on_soil(grouser.CART, bodies="wheel.*", drive={"motor.*": 0.4}, law="rft")
    first = sim.data.body("chassis").xpos.copy()
    weight = sim.model.body_subtreemass[1] * np.linalg.norm(sim.model.opt.gravity)
    sim.step(400)
    assert (
        sim.ground.heights(region=(-1, 1, -1, 1)).min() < -0.5 * sim.observe()["soil/sinkage"].max()
    )  # it leaves ruts
    assert sim.soil.volume_error()[0] < 1e-12
    assert sim.observe()["soil/force"][0, :, 2].sum() == pytest.approx(weight, rel=0.01)
    assert sim.data.body("chassis").xpos[0] > first[0] + 0.02


def test_the_cart_without_ruts_leaves_the_ground_as_it_was():
    sim = grouser.on_soil(grouser.CART, bodies="wheel.*", law="rft", options=RftOptions(ruts=False))
    sim.step(20)
    assert not sim.ground.heights(region=(-1, 1, -1, 1)).any()


def test_the_ruts_are_recorded(tmp_path):
    sim = grouser.on_soil(grouser.CART, bodies="wheel.*", drive={"motor.*": 0.4}, law="rft")
    grouser.record(sim, tmp_path / "run", 0.2, report=False)
    with Recording(tmp_path / "run" / "recording.h5") as recording:
        *_, heights, before = recording.surface_at()
        assert (heights - before).min() < -0.005
        assert recording["soil/displaced_volume"][-1].min() > 0


def test_the_command_takes_the_law(tmp_path):
    arguments = ["run", "--robot", str(grouser.CART), "--bodies", "wheel.*", "--set", "law=rft", "--time", "0.1"]
    assert status([*arguments, "--out", str(tmp_path / "run"), "--no-report"]) == 0
    with Recording(tmp_path / "run" / "recording.h5") as recording:
        assert recording["soil/force"][-1, :, 2].min() > 0


def test_wrong_laws_are_named():
    with pytest.raises(InputError, match="options: SoilOptions is not allowed with law 'rft'; use RftOptions"):
        grouser.on_soil(grouser.CART, bodies="wheel.*", law="rft", options=SoilOptions())
    with pytest.raises(InputError, match="law"):
        grouser.on_soil(grouser.CART, bodies="wheel.*", law="mud")
    with pytest.raises(InputError, match="depth"):
        grouser.on_soil(grouser.CART, bodies="wheel.*", law="rft", depth=0.1)


# ---- what would do nothing, or give wrong numbers, is refused or told -----------------------------------------

REST = 0.01  # of the closed form of a box that is set down, at 1 ms: flow forces follow the velocity of a step


def box_at_rest(step: float) -> float:
    """Sinkage [m] of a box of 20 kg and 0.2 m under law rft."""
    xml = """<mujoco><worldbody><body name="box" pos="0 0 0.2"><freejoint/>
        <geom type="box" size="0.1 0.1 0.1" mass="20"/></body></worldbody></mujoco>"""
    sim = grouser.on_soil(mujoco.MjSpec.from_string(xml), "dry-sand", ["box"], law="rft", step=step)
    return float(sim.observe()["soil/sinkage"][0, 0])


def test_a_box_that_is_set_down_rests_at_its_closed_form():
    sand = grouser.soil("dry-sand")
    expected = 20 * 9.81 / (0.04 * RftOptions().scale_of(sand, 9.81) * PLATE_DOWN)
    assert box_at_rest(1e-3) == pytest.approx(expected, rel=REST)
    assert box_at_rest(5e-3) != pytest.approx(expected, rel=REST)  # too long a step misses


def test_lugs_by_their_height_are_refused():
    lugged = {"wheel_fl": wheel(0.12, 0.08, grouser_height=0.02, grouser_count=18)}
    with pytest.raises(InputError, match="lugs by their height are not allowed with law 'rft'"):
        grouser.on_soil(grouser.CART, "dry-sand", lugged, law="rft")


def test_cohesion_is_told():
    sim = grouser.on_soil(grouser.CART, "clay", law="rft", settle=False)
    assert [note for note in sim.notes if "knows no cohesion: 4140 Pa" in note]


def test_a_scale_in_other_units_is_refused():
    with pytest.raises(InputError, match="1 N/cm"):
        RftOptions(scale=1.2)


def test_a_robot_that_soil_cannot_carry_ends_the_set_down():
    weak = dataclasses.replace(grouser.soil("dry-sand"), k_phi=10.0, k_c=0.0)
    sim = grouser.on_soil(grouser.CART, weak)
    assert [note for note in sim.notes if note.startswith("not set down: ")]


CHOICES = [{"erosion": False}, {"laws": "krenn2008"}, {"scale_with_gravity": True}, {"node_shear": True}]


@pytest.mark.parametrize("choice", CHOICES)
def test_choices_that_would_do_nothing_are_refused(choice):
    with pytest.raises(InputError, match="not allowed with law 'rft'"):
        from_python("single-wheel", {"law": "rft", **choice})
