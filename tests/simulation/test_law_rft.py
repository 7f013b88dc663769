"""A robot under resistive force theory, from Python."""

import numpy as np
import pytest

import grouser
from grouser.errors import InputError


def test_the_cart_stands_and_drives():
    sim = grouser.on_soil(grouser.CART, bodies="wheel.*", drive={"motor.*": 0.4}, law="rft")
    first = sim.data.body("chassis").xpos.copy()
    weight = sim.model.body_subtreemass[1] * np.linalg.norm(sim.model.opt.gravity)
    sim.step(400)
    assert sim.observe()["soil/force"][0, :, 2].sum() == pytest.approx(weight, rel=0.01)
    assert sim.data.body("chassis").xpos[0] > first[0] + 0.02


def test_wrong_laws_are_named():
    with pytest.raises(InputError, match="law"):
        grouser.on_soil(grouser.CART, bodies="wheel.*", law="mud")
    with pytest.raises(InputError, match="depth"):
        grouser.on_soil(grouser.CART, bodies="wheel.*", law="rft", depth=0.1)
