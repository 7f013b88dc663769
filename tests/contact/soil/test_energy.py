"""The soil's account of work: what it gives back is bounded by what it has taken."""

from __future__ import annotations

import numpy as np
import pytest

from grouser import on_soil
from grouser.contact.soil import SoilOptions
from grouser.contact.soil.energy import allowed_share, power
from grouser.device import at
from grouser.precision import precision
from tests.device_call import call
from tests.simulation.drops import Drop, energy
from tests.simulation.robots import G

DROP = Drop("cylinder", (0.1, 0.05), 300.0, "sandy-loam", 0.2, quat=(0.9, 0.3, 0.3, 0.0), spin=(3.0, 0.0, 1.0))


SETTLED = 1.0  # [s] a body of this size is at rest long before
STILL = 1e-3  # of the weight: what is left of the motion by then

P = precision("float64")


def share(held: float, given: float) -> float:
    return call(at(allowed_share, "float64"), P.real(held), P.real(given), returns=P.real)


def test_a_wrench_stays_whole_while_the_soil_can_afford_it():
    assert share(2.0, 1.5) == 1.0
    assert share(0.0, -3.0) == 1.0  # it takes work
    assert share(-1.0, 0.0) == 1.0  # a body at rest is carried, whatever the account says


def test_beyond_the_account_a_wrench_gives_what_is_left():
    assert share(2.0, 8.0) == 0.25
    assert share(-1.0, 8.0) == 0.0


def test_power_is_that_of_force_and_torque():
    wrench, velocity, spin = np.arange(1.0, 7.0), np.array([0.3, -2.0, 1.1]), np.array([-0.7, 0.2, 5.0])
    found = call(at(power, "float64"), P.vec6(*wrench), P.vec3(*velocity), P.vec3(*spin), returns=P.real)
    assert found == pytest.approx(wrench[:3] @ velocity + wrench[3:] @ spin, rel=1e-14)


@pytest.mark.parametrize("fused", [True, False])
def test_the_account_holds_what_a_falling_body_has_lost(fused):
    sim = on_soil(DROP.spec(), DROP.soil, options=SoilOptions(fused=fused))
    sim.data.qvel[:] = [0.0, 0.0, -np.sqrt(2 * G * DROP.fall), *DROP.spin]
    sim.engine.kinematics()
    start = energy(sim)
    blow = float(sim.model.body_mass[1]) * G * DROP.fall
    # The engine's step moves a body with its new speed: its own energy is off by what gravity does in a step.
    step = float(sim.model.body_mass[1]) * G * sim.step_size * np.sqrt(2 * G * DROP.fall)
    for _ in range(10):
        sim.step(20)
        held = float(sim.soil.arrays.energy.account.numpy()["held"][0])
        assert held == pytest.approx(start - energy(sim), abs=step)
    assert held > 0.9 * blow > 20 * step  # the test saw the blow


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("deep", [2e-3, 5e-3])
def test_a_body_that_starts_deeper_than_it_would_sink_comes_to_rest(fused, deep):
    """The soil gives back what it took to press the body there: else every second step would carry nothing."""
    box = Drop("box", (0.1, 0.1, 0.05), 1000.0, "clay", 0.0)  # sinks 0.12 mm by its own weight
    sim = on_soil(box.spec(), box.soil, options=SoilOptions(fused=fused))
    sim.step(5)
    sim.reset()  # the account of the run before is closed
    sim.data.qpos[2] -= deep
    sim.engine.kinematics()
    sim.soil.commit(sim.engine.step)
    sim.step(round(SETTLED / sim.step_size))
    weight = float(sim.model.body_mass[1]) * G
    for _ in range(20):
        sim.step()
        assert sim.soil.out.effective.numpy()[0, 0, 2] == pytest.approx(weight, rel=STILL)
