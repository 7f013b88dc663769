"""A pressure law is one function and one line in `PRESSURE_LAWS`."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from grouser.contact.soil import SoilModule, SoilOptions, prepare
from grouser.contact.soil.model import THREADS
from grouser.contact.soil.pressure import PRESSURE_LAWS, chosen_law, yield_at
from grouser.contact.soil.types import Options
from grouser.device import at
from grouser.errors import InputError
from grouser.precision import precision, real
from grouser.simulation.shapes import box
from grouser.terrain import flat, soil
from grouser.terrain.ground import Ground
from tests.device_call import call
from tests.rig import ManufacturedMotion

SAND = soil("dry-sand").replace(compression=1.0)
PLATE = 5e-3  # the bar of a plate against its law


@wp.func
def linear(o: Options, soil: int, modulus: real, depth: real):
    """Pressure k z [Pa], whatever the exponent."""
    return modulus * wp.max(depth, real(0.0))


@pytest.fixture
def law(monkeypatch) -> str:
    monkeypatch.setitem(PRESSURE_LAWS, "linear", linear)
    return "linear"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_soil_yields_by_the_law_that_was_chosen(law, dtype):
    p = precision(dtype)
    o = at(Options, dtype)()
    levels = p.vec4(0.0, 0.0, 0.0, 0.0)
    got = call(at(yield_at, dtype, chosen_law(law)), o, 0, p.real(3e6), p.real(-0.02), levels, returns=p.real)
    assert got == pytest.approx(6e4, rel=1e-6)


def test_bekker_replaces_nothing():
    assert chosen_law("bekker") == {}


def test_an_unknown_law_is_refused():
    with pytest.raises(InputError, match="pressure: 'clay-like' is not known; allowed: bekker"):
        SoilOptions(pressure="clay-like")


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("threads", THREADS)
def test_a_plate_follows_the_law_that_was_chosen(law, dtype, threads):
    half, depth = np.array([0.1, 0.05, 0.02]), 0.02
    ground = Ground(flat(size=(1, 1), spacing=0.5, origin=(-0.5, -0.5)), SAND, 0.01, dtype=dtype)
    plate = prepare(*box(half), width=0.1)
    module = SoilModule(ground, {"plate": plate}, SoilOptions(pressure=law, threads=threads, erosion=False))
    rig = ManufacturedMotion(module, dtype=dtype, step=5e-3)
    rig.place(position=(0.003, 0.001, half[2] - depth), rotation=rig.rotation).advance()
    assert rig.wrench[0, 0, 2] == pytest.approx(0.02 * SAND.pressure_modulus(0.1) * depth, rel=PLATE)
