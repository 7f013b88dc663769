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

REST = 0.01  # of the closed form of a box that is set down: half of it is the damping that still carries it then
LANDING = 0.02  # of the closed form of a box that lands, at the default step: the force is taken at mid-step
BOX = """<mujoco><worldbody><body name="box" pos="0 0 0.1"><freejoint/>
    <geom type="box" size="0.1 0.1 0.1" mass="20"/></body></worldbody></mujoco>"""


def box(step=None, scale=1.0, **more):
    """A box of 20 kg and 0.2 m, and the depth [m] at which dry sand carries it; `scale`: on that of the sand."""
    own = RftOptions().scale_of(grouser.soil("dry-sand"), 9.81)
    sim = grouser.on_soil(
        mujoco.MjSpec.from_string(BOX), "dry-sand", ["box"], law="rft", step=step,
        options=RftOptions(scale=scale * own), **more,
    )  # fmt: skip
    return sim, 20 * 9.81 / (0.04 * own * PLATE_DOWN)


@pytest.mark.parametrize("step", [None, 2e-2, 1e-3])
def test_a_box_that_is_set_down_rests_at_its_closed_form(step):
    sim, depth = box(step)
    assert sim.observe()["soil/sinkage"][0, 0] == pytest.approx(depth, rel=REST)


@pytest.mark.parametrize("speed", [0.2, 0.5, 1.0])
def test_a_box_that_lands_goes_as_deep_as_its_energy(speed):
    """m g z + m v^2 / 2 = k z^2 / 2 with k = m g / depth."""
    sim, depth = box(start={"qpos": [0, 0, 0.1, 1, 0, 0, 0], "qvel": [0, 0, -speed, 0, 0, 0]}, place=False)
    deepest = 0.0
    for _ in range(40):
        sim.step()
        deepest = max(deepest, 0.1 - sim.data.qpos[2])
    assert deepest == pytest.approx(depth + np.sqrt(depth**2 + depth * speed**2 / 9.81), rel=LANDING)


def test_a_medium_that_is_weaker_by_a_twentieth_misses():
    sim, depth = box(scale=0.95)
    assert sim.observe()["soil/sinkage"][0, 0] > (1 + 3 * REST) * depth


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
