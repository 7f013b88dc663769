"""The soil's account of work: what it gives back is bounded by what it has taken."""

from __future__ import annotations

import numpy as np
import pytest

from grouser import on_soil
from grouser.contact.soil import SoilOptions
from grouser.contact.soil.energy import IMPACT_SPEED, allowed_share, approach_speed, braking_block, impact_share, power
from grouser.contact.soil.model import THREADS
from grouser.device import at
from grouser.precision import precision
from tests.device_call import call
from tests.simulation.drops import Drop, energy
from tests.simulation.robots import G

DROP = Drop("cylinder", (0.1, 0.05), 300.0, "sandy-loam", 0.2, quat=(0.9, 0.3, 0.3, 0.0), spin=(3.0, 0.0, 1.0))


SETTLED = 1.0  # [s] a body of this size is at rest long before
STILL = 1e-3  # of the weight: what is left of the motion by then

P = precision("float64")


def share(stored: float, given: float) -> float:
    return call(at(allowed_share, "float64"), P.real(stored), P.real(given), returns=P.real)


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


def approach(wrench, velocity, spin=(0.0, 0.0, 0.0)) -> float:
    return call(at(approach_speed, "float64"), P.vec6(*wrench), P.vec3(*velocity), P.vec3(*spin), returns=P.real)


def braking(wrench, velocity, spin=(0.0, 0.0, 0.0), share=1.0, h=1e-3) -> np.ndarray:
    given = P.real(h), P.real(share), P.vec6(*wrench), P.real(approach(wrench, velocity, spin))
    return np.array(call(at(braking_block, "float64"), *given, returns=P.mat66)).reshape(6, 6)


def impact(before, now, speed) -> float:
    return call(at(impact_share, "float64"), P.vec3(*before), P.vec3(*now), P.real(speed), returns=P.real)


WRENCH = np.array([3.0, -20.0, 400.0, 1.0, -4.0, 0.5])
DOWN, SPIN = np.array([0.2, 0.1, -0.7]), np.array([1.0, 2.0, -3.0])


@pytest.mark.parametrize("mass", [1e-6, 1e-2, 1.0, 1e3])
def test_the_wrench_of_an_impact_takes_power_to_the_end_of_the_step_whatever_the_mass(mass):
    inertia = mass * np.diag([1.0, 1.0, 1.0, 0.02, 0.01, 0.03])
    h, twist = 1e-3, np.concatenate([DOWN, SPIN])
    change = np.linalg.solve(inertia + braking(WRENCH, DOWN, SPIN, h=h), h * WRENCH)
    free = h * np.linalg.solve(inertia, WRENCH)
    before, after = WRENCH @ twist, WRENCH @ (twist + change)
    assert before < after < 0
    assert (WRENCH @ (twist + free) > -before) == (mass < 0.1)  # without the block the light ones would be thrown back
    if mass == 1e3:  # where the step is short enough it changes the force by the share h F / (m v), no more
        assert change == pytest.approx(free, rel=2 * h * 400 / (mass * 0.7))


def test_only_a_wrench_that_takes_power_gets_a_braking_block():
    whole = 1e-3 * np.outer(WRENCH, WRENCH) / -(WRENCH[:3] @ DOWN)
    assert braking(WRENCH, DOWN, share=0.3) == pytest.approx(0.3 * whole)
    assert not braking(WRENCH, -DOWN).any()
    assert not braking(WRENCH, 0 * DOWN).any()
    assert not braking(0 * WRENCH, DOWN, SPIN).any()


def test_the_block_of_a_slow_body_leaves_its_inertia_positive_in_single_precision():
    inertia = np.diag([0.01, 0.01, 0.01, 1e-6, 1e-6, 1e-6]).astype(np.float32)
    wrench = [0.5, -1.0, 5.0, 0.2, -0.2, 0.05]
    block = braking(wrench, [0.0, 0.0, -1e-7], h=2e-3)
    assert block.any()
    assert np.linalg.eigvalsh(inertia + block.astype(np.float32)).min() > 0


def test_the_approach_is_that_of_the_contact_wherever_the_frame_of_the_body_is():
    force, velocity, spin = WRENCH[:3], np.array([0.0, 0.1, -0.3]), np.array([0.5, -2.0, 0.3])
    for arm in (np.zeros(3), np.array([0.3, -0.2, 0.1])):  # from the frame to the point of contact
        wrench = np.concatenate([force, np.cross(arm, force)])
        found = approach(wrench, velocity - np.cross(spin, arm), spin)
        assert found == pytest.approx(-force @ velocity / np.linalg.norm(force), rel=1e-12)


def test_an_impact_is_a_new_force_at_high_speed():
    force = WRENCH[:3]
    shares = [impact(before * force, force, 3 * IMPACT_SPEED) for before in (-1.0, 0.0, 0.2, 0.375, 0.5, 1.0)]
    assert shares == pytest.approx([1.0, 1.0, 1.0, 0.5, 0.0, 0.0])
    assert impact(0 * force, force, 1.5 * IMPACT_SPEED) == pytest.approx(0.5)
    assert impact(0 * force, force, IMPACT_SPEED) == 0.0  # a robot that settles at its start
    assert impact(0 * force, force, -1.0) == 0.0


@pytest.mark.parametrize("threads", THREADS)
def test_the_account_holds_what_a_falling_body_has_lost(threads):
    sim = on_soil(DROP.spec(), DROP.soil, settle=False, options=SoilOptions(threads=threads))
    sim.data.qvel[:] = [0.0, 0.0, -np.sqrt(2 * G * DROP.fall), *DROP.spin]
    sim.engine.kinematics()
    start = energy(sim)
    blow = float(sim.model.body_mass[1]) * G * DROP.fall
    # The engine's step moves a body with its new speed: its own energy is off by what gravity does in a step.
    step = float(sim.model.body_mass[1]) * G * sim.step_size * np.sqrt(2 * G * DROP.fall)
    for _ in range(10):
        sim.step(20)
        stored = float(sim.soil.arrays.energy.account.numpy()["stored_work"][0])
        assert stored == pytest.approx(start - energy(sim), abs=step)
    assert stored > 0.9 * blow > 20 * step  # the test saw the blow


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("deep", [2e-3, 5e-3])
def test_a_body_that_starts_deeper_than_it_would_sink_comes_to_rest(threads, deep):
    """The soil gives back what it took to press the body there: else every second step would carry nothing."""
    box = Drop("box", (0.1, 0.1, 0.05), 1000.0, "clay", 0.0)  # sinks 0.12 mm by its own weight
    sim = on_soil(box.spec(), box.soil, settle=False, options=SoilOptions(threads=threads))
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
