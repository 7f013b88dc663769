"""Bodies that fall on soil do not come up with more energy than they came down with, at any step that is taken."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from grouser import InputError, on_soil, soil
from grouser.contact.soil import SoilModule, Surface
from grouser.module import Channel
from grouser.simulation import Simulation, impacts
from grouser.simulation.shapes import body_surface
from grouser.simulation.step_choice import LONGEST_STEP
from tests.simulation.drops import Drop, energy, random_drop, random_step
from tests.simulation.robots import ball, refusal

GAIN = 0.01  # of the energy of the blow
BINNED = 0.3  # by which sorting faces by height, each downwards, may overstate a force
BALL = Drop("sphere", (0.046,), 142.25, "clay", 1.44)  # 58 g: rose to 2.43 m at 4.7 ms
WORST = {
    "ball": BALL,
    "light-ball": Drop("sphere", (0.118,), 82.0, "sandy-loam", 0.73),  # rose to 1.05 m at 4.8 ms
    "foam": Drop("sphere", (0.164,), 8.42, "clay", 1.21),
    "fast": Drop("sphere", (0.0546,), 489.0, "clay", 4.9),
    "thrown": Drop("sphere", (0.0606,), 418.0, "clay", 3.44, along=1.5, spin=(0.0, 20.0, 3.0)),
    "plate": Drop("box", (0.15, 0.12, 0.02), 300.0, "lete-sand", 0.5),
    "tipping": Drop("cylinder", (0.0585, 0.05), 446.0, "lete-sand", 0.3, quat=(0.9, 0.3, 0.3, 0.0)),
    "rod": Drop("capsule", (0.02, 0.1), 200.0, "dry-sand", 2.0, quat=(0.8, 0.6, 0.0, 0.0)),
    # What tips over on a few nodes, so light that the soil springs: rose by 208, 859 and 2.5 % at any step.
    "disc": Drop("cylinder", (0.03286, 0.01431), 25.85, "clay", 0.02147, quat=(0.4186, 0.6918, -0.3461, -0.4759)),
    "foam-rod": Drop("cylinder", (0.0175, 0.03428), 2.872, "lete-sand", 0.001, quat=(-0.1534, 0.9533, -0.1604, 0.2047)),
    "rolling": Drop(
        "cylinder",
        (0.05715, 0.05617),
        32.59,
        "clay",
        0.01172,
        (-0.9388, -0.1309, 0.1317, 0.29),
        0.0517,
        (-11.38, -2.215, -2.088),
    ),
    "own-print": Drop("sphere", (0.1735,), 30.22721493186426, "exomars-test", 0.10412564593990231),  # gained 128 %
    "stone": Drop("mesh", (0.1, 0, 0, -0.1, 0, 0, 0, 0.08, 0, 0, -0.08, 0, 0, 0, 0.06, 0, 0, -0.07), 60.0, "clay", 1.0),
}


@pytest.mark.parametrize("drop", WORST.values(), ids=WORST)
def test_no_drop_gains_energy_at_the_step_that_is_chosen(drop):
    assert drop.gain() < GAIN


@pytest.mark.parametrize("drop", WORST.values(), ids=WORST)
def test_nor_at_the_longest_step_that_may_be_asked_for(drop):
    assert drop.gain(step=LONGEST_STEP) < GAIN


@pytest.mark.parametrize("name", ["ball", "plate"])
def test_nor_in_single_precision(name):
    assert WORST[name].gain(dtype="float32") < GAIN


@pytest.mark.parametrize("step", [None, 4.7e-3, LONGEST_STEP])
def test_a_ball_does_not_rise_above_where_it_fell_from(step):
    sim = on_soil(BALL.spec(height=BALL.fall + BALL.size[0]), BALL.soil, step=step, place=False)
    heights = []
    for _ in range(int(1.5 / sim.step_size)):
        sim.step()
        heights.append(float(sim.data.qpos[2]) - BALL.size[0])
    landed = next(k for k, height in enumerate(heights) if height < 0)
    assert max(heights[landed:]) < BALL.fall


def legged(foot: float) -> str:
    """A body of 12 kg on a sprung leg with a light foot."""
    return f"""<mujoco><worldbody><body name="trunk" pos="0 0 0.5"><freejoint/><geom type="box" size="0.2 0.1 0.05"
        mass="12"/><body name="foot" pos="0 0 -0.3"><joint type="slide" axis="0 0 1" stiffness="3000" damping="40"/>
        <geom size="0.06" mass="{foot}"/></body></body></worldbody></mujoco>"""


def test_a_light_foot_of_a_heavy_robot_lands_without_a_gain():
    """In the air a foot weighs what it weighs itself: the step follows its own mass, not the load it carries."""
    steps = {}
    for foot in (0.02, 2.0):
        sim = on_soil(mujoco.MjSpec.from_string(legged(foot)), "clay", "foot", settle=False)
        steps[foot] = sim.step_size
        sim.data.qvel[2] = -2.0
        sim.engine.kinematics()
        start, most = energy(sim), -np.inf
        for _ in range(int(0.1 / sim.step_size)):
            sim.step()
            most = max(most, energy(sim))
        assert most - start < GAIN * 12 * 2.0**2 / 2
    assert steps[0.02] < steps[2.0] / 3


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(20))
def test_random_drops_gain_no_energy(seed):
    """100 each, 2000 in all, at steps from the shortest to the longest that is accepted."""
    gains = {k: random_drop(18, seed, k).gain(step=random_step(18, seed, k)) for k in range(100)}
    assert {k: gain for k, gain in gains.items() if gain > GAIN} == {}


# ---- the rule -----------------------------------------------------------------------------------------


def sphere(radius: float) -> Surface:
    return body_surface(mujoco.MjSpec.from_string(ball(radius=radius)).compile(), "ball")


def test_the_force_of_a_sphere_is_bekkers():
    """F = 2 pi k (R z^(n+1)/(n+1) - z^(n+2)/((n+1)(n+2))), no less and little more."""
    material, radius = soil("dry-sand").replace(k_c=0.0, elastic_stiffness=1e12), 0.1
    n, z = material.n, impacts.DEPTHS
    exact = 2 * np.pi * material.k_phi * (radius * z ** (n + 1) / (n + 1) - z ** (n + 2) / ((n + 1) * (n + 2)))
    skin = impacts.Skin(sphere(radius))
    found = impacts.bekker_force(skin, material, np.array([0.6, 0.0, 0.8]))
    deep = (z > 5e-3) & (z < radius)
    assert (found[deep] > exact[deep] * (1 - GAIN)).all()
    assert (found[deep] < exact[deep] * (1 + BINNED)).all()


def test_a_step_is_as_long_as_the_mass_allows():
    """h^2 F / (z m) = CALM^2: four times the mass, twice the step, where the depth is the same."""
    rates = np.zeros(len(impacts.DEPTHS))
    rates[-1] = 100.0
    assert impacts.longest_step(rates) == pytest.approx(impacts.CALM / 10)
    assert impacts.longest_step(rates / 4) == pytest.approx(impacts.CALM / 5)


def test_feet_that_land_at_once_push_one_body_together():
    """Four welded feet under one trunk stop it as one with four times their force: half the step of one foot."""
    feet = [(x, y) for x in (-1e-3, 1e-3) for y in (-1e-3, 1e-3)]
    shape = '<geom type="sphere" size="0.1" mass="0.01"/>'
    xml = "".join(f'<body name="foot{k}" pos="{x} {y} 0">{shape}</body>' for k, (x, y) in enumerate(feet))
    spec = mujoco.MjSpec.from_string(
        '<mujoco><worldbody><body name="trunk" pos="0 0 0.1"><joint type="slide" axis="0 0 1"/>'
        f'<geom size="0.01" mass="1"/>{xml}</body></worldbody></mujoco>'
    )
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    skins: dict[str, Surface] = {f"foot{k}": sphere(0.1) for k in range(4)}
    material = soil("lunar-nominal").replace(k_c=0.0)
    one = impacts.stable_step(model, data, {"foot0": skins["foot0"]}, material)[1]
    all_four = impacts.stable_step(model, data, skins, material)[1]
    assert 0.4 * one < all_four < 0.8 * one  # shallower together, so a little more than half


# ---- parts of a step ----------------------------------------------------------------------------------


class Clock:
    """A controller that writes down when it acts."""

    def __init__(self, period: float):
        self.period, self.times = period, []

    def act(self, time, sensors, command) -> None:
        self.times.append((time, float(sensors.time)))

    def state(self) -> dict:
        return {}

    def reset(self, worlds) -> None:
        pass

    def channels(self) -> list[Channel]:
        return []


def rebuilt(sim: Simulation, **options) -> Simulation:
    """The same ball on new soil, with other options."""
    fresh = on_soil(mujoco.MjSpec.from_string(ball()), "dry-sand", step=1e-3, settle=False)
    module = SoilModule(fresh.ground, sim.soil.surfaces)
    module.takes_floor = False
    return Simulation(mujoco.MjSpec.from_string(ball(height=0.1205)), [module], ground=fresh.ground, **options)


def test_parts_of_a_step_are_steps_of_their_size_bit_for_bit():
    made = on_soil(mujoco.MjSpec.from_string(ball()), "dry-sand", step=1e-3, settle=False)
    whole, parts = rebuilt(made, step=1e-3), rebuilt(made, step=4e-3, substeps=4)
    for _ in range(25):
        whole.step(4)
        parts.step()
        assert (parts.data.qpos == whole.data.qpos).all()
    assert parts.steps == 25
    assert parts.time == 25 * 4e-3
    saved = parts.checkpoint()
    parts.step(3)
    after = parts.data.qpos.copy()
    parts.restore(saved)
    parts.step(3)
    assert (parts.data.qpos == after).all()


def test_controllers_and_clocks_see_the_step_that_was_asked_for():
    clock = Clock(LONGEST_STEP)
    sim = on_soil(BALL.spec(), BALL.soil, step=LONGEST_STEP, controllers=[clock], settle=False)
    assert sim.step_size == LONGEST_STEP
    assert sim.substeps > 10
    assert any(f"step 20 ms, in {sim.substeps} parts of" in note for note in sim.notes)
    sim.step(5)
    np.testing.assert_allclose(clock.times, LONGEST_STEP * np.arange(5)[:, None] * [1, 1], rtol=1e-9, atol=1e-12)
    assert sim.time == 5 * LONGEST_STEP


def test_a_step_above_20_ms_is_refused():
    said = "step: 0.0201 s is not allowed; it must be above 0 and at most 0.02 s on soil"
    assert refusal(BALL.spec(), BALL.soil, step=0.0201) == said
    assert "above 0" in refusal(BALL.spec(), BALL.soil, step=0.0)


def test_substeps_are_a_whole_number():
    with pytest.raises(InputError, match="substeps = 0: allowed is an integer of at least 1"):
        Simulation(mujoco.MjSpec.from_string(ball()), substeps=0)
