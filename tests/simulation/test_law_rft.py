"""A robot under resistive force theory, from Python."""

import numpy as np
import pytest

import grouser
from grouser.cli import status
from grouser.contact.rft import RftOptions
from grouser.contact.soil import SoilOptions
from grouser.errors import InputError
from grouser.recording import Recording


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
