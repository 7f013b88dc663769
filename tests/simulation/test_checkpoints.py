"""A run continues bit for bit from a checkpoint, starts anew after a reset, and worlds do not feel each other."""

import mujoco
import numpy as np
import pytest

from grouser.contact.soil import SoilModule
from grouser.errors import InputError
from grouser.scenarios.single_wheel import SingleWheel, WheelSettings, build
from grouser.simulation import Simulation, on_soil
from tests.simulation.beds import bed, tread

CART = """
<mujoco model="cart"><option gravity="0 0 -9.81"/><worldbody>
  <body name="chassis" pos="0 0 0.13"><freejoint/><geom type="box" size="0.2 0.1 0.03" mass="6"/>
    <body name="left" pos="0 0.16 -0.03"><joint name="left" axis="0 1 0"/>
      <geom type="cylinder" size="0.1 0.03" euler="90 0 0" mass="1"/></body>
    <body name="right" pos="0 -0.16 -0.03"><joint name="right" axis="0 1 0"/>
      <geom type="cylinder" size="0.1 0.03" euler="90 0 0" mass="1"/></body>
  </body></worldbody>
  <actuator><velocity joint="left" kv="20"/><velocity joint="right" kv="20"/></actuator>
  <sensor><accelerometer site="imu"/></sensor></mujoco>
""".replace('mass="6"/>', 'mass="6"/><site name="imu"/>')


class Weave:
    """A controller with a state: turns one way, then the other."""

    period = 0.02

    def __init__(self):
        self.acted = np.zeros(1)

    def act(self, time, sensors, command):
        self.acted += 1
        command[:] = (3.0, 1.0) if self.acted % 20 < 10 else (1.0, 3.0)

    def state(self):
        return {"acted": self.acted}

    def reset(self, worlds):
        self.acted[:] = 0

    def channels(self):
        return []


def cart(**more) -> Simulation:
    """Two wheels and a box that drags on the sand, steered by a controller with a memory."""
    return on_soil(mujoco.MjSpec.from_string(CART), "dry-sand", "left|right|chassis", controllers=[Weave()], **more)


def wheel(**more) -> Simulation:
    return build(SingleWheel(slip=0.5, wheel=WheelSettings(radius=0.1, width=0.06), **more))


def small_pool() -> Simulation:
    """A rolling tread on a ground that has room for few tiles to begin with and must grow on the way."""
    spec = mujoco.MjSpec()
    axle = spec.worldbody.add_body(name="tread", pos=[-1, 0, 0.09])
    axle.add_joint(type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[1, 0, 0], name="x")
    axle.add_joint(type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0, 0, 1], name="z")
    axle.mass, axle.inertia, axle.ipos, axle.explicitinertial = 2.0, [0.01] * 3, [0, 0, 0], True
    spec.add_key(qpos=[0, 0], qvel=[0.8, 0])
    spec.add_actuator(trntype=mujoco.mjtTrn.mjTRN_JOINT, target="x").set_to_velocity(kv=1e6)
    spec.keys[0].ctrl = [0.8]
    ground = bed(capacity=1, half=4.0)
    return Simulation(spec, [SoilModule(ground, {"tread": tread()})], ground=ground, step=5e-3)


NEAR = (-1.2, 2.0, -0.5, 0.5)  # [m] where the bodies below go


def bits(sim: Simulation) -> dict[str, np.ndarray]:
    """Everything a user can see: motion, sensors, forces, channels, ground."""
    seen = {"time": np.array(sim.time), "steps": np.array(sim.steps)}
    for world, d in enumerate(sim.engine.data):
        for name in ("qpos", "qvel", "act", "ctrl", "sensordata", "qacc_warmstart"):
            seen[f"{name} {world}"] = getattr(d, name).copy()
        for level in range(4):
            seen[f"level {level} {world}"] = sim.ground.level(level, world, NEAR)
    for channel in sim.channels():
        seen[channel.name] = np.array(channel.read())
    return seen


def assert_same_bits(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    assert [name for name in one if not np.array_equal(one[name], other[name])] == []


@pytest.fixture(autouse=True)
def somewhere_else(tmp_path, monkeypatch):
    """MuJoCo writes where it is that a speed set at once is a huge acceleration."""
    monkeypatch.chdir(tmp_path)


BUILDERS = [cart, wheel, small_pool]


@pytest.mark.parametrize("make", BUILDERS)
def test_a_run_continues_from_its_checkpoint_bit_for_bit(make):
    """In the simulation that went on, and in a fresh one."""
    sim = make()
    sim.step(25)
    saved = sim.checkpoint()
    sim.step(60)
    straight = bits(sim)
    sim.restore(saved)
    assert sim.steps == 25
    sim.step(60)
    assert_same_bits(bits(sim), straight)
    fresh = make()
    fresh.restore(saved)
    fresh.step(60)
    assert_same_bits(bits(fresh), straight)


def test_a_checkpoint_shows_what_was_there_when_it_was_taken():
    sim = cart()
    sim.step(30)
    saved, there = sim.checkpoint(), bits(sim)
    sim.step(30)
    sim.restore(saved)
    after = bits(sim)
    for name in ("sensordata 0", "actuator/force"):  # MuJoCo finds these in the next step
        after.pop(name), there.pop(name)
    assert_same_bits(after, there)


def test_a_checkpoint_survives_the_growth_of_the_ground():
    """Taken before the pool of tiles grew, restored after; and the other way round."""
    sim = small_pool()
    sim.step(10)
    early, room = sim.checkpoint(), sim.ground.capacity
    while sim.ground.capacity == room:
        sim.step()
        assert sim.time < 6  # where the bed ends
    late = sim.checkpoint()
    sim.step(10)
    straight = bits(sim)
    sim.restore(early)
    assert sim.ground.capacity == room
    sim.step(late["steps"])
    assert_same_bits(bits(sim), straight)
    fresh = small_pool()
    fresh.restore(late)
    fresh.step(10)
    assert_same_bits(bits(fresh), straight)


@pytest.mark.parametrize("make", BUILDERS)
def test_a_reset_simulation_is_a_fresh_one(make):
    """At once, and after any way of going on from there."""
    sim = make()
    sim.step(80)
    sim.reset()
    fresh = make()
    assert_same_bits(bits(sim), bits(fresh))
    for each in (sim, fresh):
        each.step(50)
    assert_same_bits(bits(sim), bits(fresh))


@pytest.mark.parametrize("seed", [0, 3, 30, 38])
def test_nothing_of_a_run_is_left_when_another_begins(seed):
    """Drive one way, reset, drive another way: stale marks of the first run would show in the ruts."""
    random = np.random.default_rng(seed)
    sim, fresh = wheel(), wheel()
    sim.data.ctrl[1] = random.uniform(0, 3)
    sim.step(int(random.integers(200, 400)))
    sim.reset()
    speeds = random.uniform(-0.1, 0.1), random.uniform(-3, 3)
    for each in (sim, fresh):
        each.data.ctrl[:] = speeds
        each.data.qvel[:] = speeds[0], 0, speeds[1]
        each.step(150)
    assert_same_bits(bits(sim), bits(fresh))


@pytest.mark.parametrize("seed", range(3))
def test_nothing_of_a_run_is_left_when_a_checkpoint_is_taken_another_way(seed):
    random = np.random.default_rng(seed)
    sim, fresh = wheel(), wheel()
    sim.step(50)
    saved = sim.checkpoint()
    sim.step(int(random.integers(100, 300)))
    for each in (sim, fresh):
        each.restore(saved)
        each.data.ctrl[1] = 1.0 + seed
        each.step(150)
    assert_same_bits(bits(sim), bits(fresh))


# ---- worlds -----------------------------------------------------------------------------------------


def four(**more) -> Simulation:
    return on_soil(mujoco.MjSpec.from_string(CART), "dry-sand", "left|right", worlds=4, **more)


def drive(sim: Simulation, world: int, number: int) -> None:
    """Speeds and a start that only world `number` has."""
    d = sim.engine.data[world]
    d.ctrl[:] = 1 + number, 2 - number
    d.qvel[:3] = 0.05 * number, -0.02 * number, 0


def world_bits(sim: Simulation, world: int) -> dict[str, np.ndarray]:
    d = sim.engine.data[world]
    seen = {"qpos": d.qpos.copy(), "qvel": d.qvel.copy(), "sensors": d.sensordata.copy()}
    seen["levels"] = np.stack([sim.ground.level(k, world, (-1, 1, -1, 1)) for k in range(4)])
    for channel in sim.channels():
        seen[channel.name] = np.array(channel.read())[world]
    return seen


def test_four_worlds_are_four_simulations_bit_for_bit():
    many = four()
    for world in range(4):
        drive(many, world, world)
    many.step(60)
    for world in range(4):
        one = on_soil(mujoco.MjSpec.from_string(CART), "dry-sand", "left|right")
        drive(one, 0, world)
        one.step(60)
        assert_same_bits(world_bits(many, world), world_bits(one, 0))


def test_a_reset_of_some_worlds_is_not_felt_by_the_others():
    sim, undisturbed = four(), four()
    for each in (sim, undisturbed):
        for world in range(4):
            drive(each, world, world)
        each.step(40)
    sim.reset([0, 2])
    fresh = four()
    for world in (0, 2):
        assert_same_bits(world_bits(sim, world), world_bits(fresh, world))
    for each in (sim, undisturbed, fresh):
        for world in (0, 2):
            drive(each, world, world)
        each.step(40)
    for world in (1, 3):
        assert_same_bits(world_bits(sim, world), world_bits(undisturbed, world))
    for world in (0, 2):
        assert_same_bits(world_bits(sim, world), world_bits(fresh, world))


def test_after_a_reset_every_changed_tile_is_told_again():
    """Recording asks for tiles written since it last asked."""
    sim = wheel()
    told = []
    for _ in range(2):
        sim.step(40)
        indices, heights = sim.changed_tiles()
        told.append((indices, heights))
        assert len(indices) > 0
        assert len(sim.changed_tiles()[0]) == 0
        sim.reset()
    for a, b in zip(*told, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("worlds", [[3], [-1], 1, ["0"]])
def test_worlds_that_are_not_there_are_not_reset(worlds):
    sim = cart(worlds=3)
    sim.step(20)
    before = [sim.engine.state(w) for w in range(3)]
    with pytest.raises(InputError, match=r"allowed are some of 0 to 2"):
        sim.reset(worlds)
    np.testing.assert_array_equal(before, [sim.engine.state(w) for w in range(3)])


def test_a_checkpoint_of_something_else_is_refused_and_nothing_changes():
    sim, several, other = cart(), cart(worlds=2), wheel()
    sim.step(20)
    before = sim.engine.state(0)
    older, single = sim.checkpoint(), sim.checkpoint()
    older["modules"][0].popitem()
    single["modules"][0]["sinkage"] = single["modules"][0]["sinkage"].astype(np.float32)
    for checkpoint, words in (
        (several.checkpoint(), "2 worlds"),
        (other.checkpoint(), "controllers"),
        ({}, "0 worlds"),
        (older, "is missing or of another version"),
        (single, "state 'sinkage' of soil is missing or of another version"),
    ):
        with pytest.raises(InputError, match=words):
            sim.restore(checkpoint)
    np.testing.assert_array_equal(before, sim.engine.state(0))
