"""Robots on soil with MuJoCo Warp on the CPU device, beside MuJoCo in float64.

Wheels in soil are sensitive: two runs on the CPU that start 1e-7 m apart differ by 1e-3 of the sinkage after a hundred
steps. So single steps are compared closely, all along a run, and longer runs only where they are not so sensitive.
"""

from functools import partial

import mujoco
import numpy as np
import pytest
import warp as wp

import grouser
from grouser.contact.soil import SoilModule
from grouser.engine.mujoco_cpu import MujocoCpu
from grouser.engine.mujoco_warp import MujocoWarp
from grouser.errors import InputError, RunStopped
from grouser.robots import exomars
from grouser.simulation import Simulation
from grouser.terrain.generators import flat
from grouser.terrain.ground import Ground
from grouser.terrain.soils import soil
from tests.simulation.step_robots import quadruped

pytestmark = pytest.mark.batch

ON_WARP = partial(MujocoWarp, device="cpu")
STEP = 1e-4  # relative, one step from the same state: positions rounded by 3e-8 m times the stiffness of the soil
FORCE = 1e-3  # relative: f - B (v+ - v) / h has the rounding of a speed over a step of milliseconds
SLOW = 0.1  # [m/s or rad/s] a robot that comes to rest has speeds near zero, whose relative error means nothing
SENSITIVE = 0.02  # relative: twice what two CPU runs 1e-7 m apart differ in sinkage after 200 steps


def cart(engine=MujocoCpu, worlds=1, **more) -> Simulation:
    drive = {"motor.*": 0.4}
    return grouser.on_soil(
        grouser.CART, soil="dry-sand", bodies="wheel.*", drive=drive, worlds=worlds, engine=engine, **more
    )


def walker(engine=MujocoCpu, worlds=1) -> Simulation:
    robot = mujoco.MjSpec.from_string(quadruped())
    return grouser.on_soil(robot, soil="dry-sand", bodies="shank.*", worlds=worlds, engine=engine)


def rover(engine=MujocoCpu, worlds=1) -> Simulation:
    p = exomars.ExoMars()
    spec = exomars.build(p, gravity=exomars.MARS)
    spec.add_key(ctrl=[p.wheel_rate(0.05)] * 6 + [0.0] * 6)
    ground = Ground(flat(size=(6.0, 4.0)), soil("exomars-test"), 0.01, worlds=worlds)
    wheels = [f"wheel_{name}" for name in exomars.WHEELS]
    module = SoilModule(ground, dict.fromkeys(wheels, exomars.wheel_surface(p)))
    return Simulation(spec, [module], ground=ground, step=5e-3, worlds=worlds, engine=engine)


def values(sim: Simulation) -> dict[str, np.ndarray]:
    """Motion, sinkage and forces of the first world."""
    seen = {"qpos": sim.qpos, "qvel": sim.qvel, "sinkage": sim.observe()["soil/sinkage"]}
    seen["effective"] = sim.engine.slots[0].out.effective
    return {name: np.array(a.numpy() if isinstance(a, wp.array) else a)[0] for name, a in seen.items()}


def apart(got: Simulation, expected: Simulation) -> dict[str, float]:
    """Differences relative to the largest value of each kind, for speeds at least SLOW."""
    mine, other = values(got), values(expected)
    size = {name: np.abs(value).max(initial=SLOW if name == "qvel" else 0.0) for name, value in other.items()}
    return {name: float(np.abs(mine[name] - other[name]).max() / size[name]) for name in mine}


@pytest.mark.parametrize("make", [cart, rover, walker])
def test_each_step_of_a_run_is_that_of_the_cpu(make):
    """A checkpoint of the CPU run continues on Warp; one step later both are compared, ten times along the run."""
    reference, engine = make(), make(ON_WARP)
    for _ in range(10):
        reference.step(12)
        engine.restore(reference.checkpoint())
        reference.step()
        engine.step()
        far = apart(engine, reference)
        assert far.pop("effective") < FORCE
        assert max(far.values()) < STEP, far


def test_a_standing_quadruped_stays_with_the_cpu_for_200_steps():
    reference, engine = walker(), walker(ON_WARP, worlds=2)
    reference.step(200)
    engine.step(200)
    far = apart(engine, reference)
    assert far["sinkage"] < STEP
    assert max(far.values()) < FORCE


def test_a_driving_cart_stays_as_near_as_nudged_cpu_runs():
    reference, engine = cart(), cart(ON_WARP, worlds=3)
    reference.step(200)
    engine.step(200)
    assert apart(engine, reference)["sinkage"] < SENSITIVE
    far = engine.engine.qpos.numpy()[0, 0]
    assert far > 0.02  # [m] it has driven
    np.testing.assert_allclose(far, reference.data.qpos[0], rtol=SENSITIVE)


# ---- batches -----------------------------------------------------------------------------------------------


def bits(sim: Simulation, worlds) -> list[bytes]:
    heights = [sim.ground.heights(region=(-0.5, 0.5, -0.5, 0.5), world=world).tobytes() for world in worlds]
    arrays = (sim.engine.qpos, sim.engine.qvel, sim.engine.slots[0].out.effective)
    return [*heights, *(a.numpy()[list(worlds)].tobytes() for a in arrays)]


def batch(worlds: int = 3, **more) -> Simulation:
    """Carts, each driven at another speed."""
    sim = cart(ON_WARP, worlds=worlds, **more)
    speeds = np.linspace(0.2, 0.6, 5)[:worlds, None]
    sim.engine.set_start(ctrl=np.broadcast_to(speeds, (worlds, sim.model.nu)))
    sim.reset()
    return sim


@pytest.fixture(scope="module")
def plain():
    """Bits of three worlds after 20 and after 40 steps, for each world."""
    sim, seen = batch(), {}
    for steps in (20, 40):
        sim.step(20)
        seen[steps] = [bits(sim, [world]) for world in range(3)]
    return seen


def test_a_world_does_not_depend_on_those_beside_it(plain):
    sim = batch(5)
    sim.step(7)
    sim.step(13)  # nor on how steps are grouped
    assert [bits(sim, [world]) for world in range(3)] == plain[20]


def test_a_world_is_reset_in_mid_run(plain):
    sim = batch()
    sim.step(20)
    sim.reset([1])
    sim.step(20)
    assert bits(sim, [1]) == plain[20][1]
    assert [bits(sim, [world]) for world in (0, 2)] == [plain[40][0], plain[40][2]]


def test_a_diverged_world_stands_still_and_the_others_go_on(plain):
    sim = batch()
    sim.step(5)
    sim.engine.ctrl.numpy()[1, 0] = np.nan  # on the CPU device this is the array itself
    sim.step(15)
    assert sim.engine.diverged.numpy().tolist() == [0, 1, 0]
    assert "world 1 is frozen: run stopped at t = 0.03 s: mujoco, body '-': control 0 is nan" in sim.notes[-1]
    sim.step(20)
    assert [bits(sim, [world]) for world in (0, 2)] == [plain[40][0], plain[40][2]]
    sim.reset([1])
    sim.step(20)
    assert bits(sim, [1]) == plain[20][1]
    assert len([line for line in sim.notes if "frozen" in line]) == 1


def test_a_batch_stops_when_no_world_is_left():
    sim = batch()
    sim.engine.ctrl.fill_(np.nan)
    with pytest.raises(RunStopped, match="control 0 is nan"):
        sim.step(5)


def test_single_precision_modules_take_the_same_engine():
    reference, sim = cart(), cart(ON_WARP, worlds=1, dtype="float32")
    reference.step(20)
    sim.step(20)
    assert sim.engine.motion.position.dtype == sim.ground.precision.vec3
    assert apart(sim, reference)["sinkage"] < SENSITIVE


def test_a_checkpoint_of_a_batch_continues_bit_for_bit(plain):
    sim = batch()
    sim.step(20)
    saved = sim.checkpoint()
    sim.step(5)
    sim.restore(saved)
    sim.step(20)
    assert [bits(sim, [world]) for world in range(3)] == plain[40]


def test_controllers_are_refused():
    with pytest.raises(InputError, match=r"controllers: worlds on a device have none; allowed: write to engine\.ctrl"):
        cart(ON_WARP, controllers=lambda time, data: None)
