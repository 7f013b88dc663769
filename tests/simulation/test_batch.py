"""Many worlds of a robot on soil: soils, starts, controls and resets of their own, on threads and on a device."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import grouser
from grouser.engine.mujoco_warp import MujocoWarp
from grouser.errors import InputError, RunStopped
from grouser.simulation import floors
from grouser.simulation.batch import tiles_for_path
from grouser.simulation.simulation import Simulation
from grouser.terrain import flat, soil
from grouser.terrain.ground import TILE
from grouser.terrain.ground_inputs import MOST_TILES
from grouser.terrain.soils import Soil

SOILS = [soil("dry-sand"), soil("lunar-nominal"), soil("dry-sand").replace(k_phi=5e5)]
ON_WARP = partial(MujocoWarp, device="cpu")


def carts(soils: Any = None, worlds: int = 3, **more: Any) -> Simulation:
    """Carts that drive, each on its own soil."""
    given = SOILS if soils is None else soils
    return grouser.on_soil(grouser.CART, given, "wheel.*", drive={"motor.*": 0.4}, worlds=worlds, **more)


def bits(sim: Simulation, world: int) -> tuple[bytes, ...]:
    """Motion, forces and ground of a world."""
    out = sim.engine.slots[0].out
    arrays = (sim.qpos, sim.qvel, out.wrench.numpy(), out.effective.numpy(), sim.observe()["soil/sinkage"])
    return (*(a[world].tobytes() for a in arrays), sim.ground.heights(world, (-0.5, 0.5, -0.5, 0.5)).tobytes())


def test_worlds_on_threads_have_the_bits_of_worlds_that_are_alone():
    together, one_thread = carts(threads=2), carts(threads=1)
    assert together.threads is not None
    assert one_thread.threads is None
    for sim in (together, one_thread):
        sim.step(30)
        sim.step()
    for world, own in enumerate(SOILS):
        alone = carts([own], worlds=1)
        alone.step(31)
        assert bits(together, world) == bits(one_thread, world) == bits(alone, 0)
    assert len({bits(together, world) for world in range(3)}) == 3


def test_a_reset_in_mid_run_is_a_fresh_start_and_the_others_go_on():
    sim, fresh = carts(threads=2), carts(threads=2)
    sim.step(20)
    sim.reset(np.array([False, True, False]))
    sim.step(20)
    fresh.step(20)
    assert bits(sim, 1) == bits(fresh, 1)
    fresh.step(20)
    assert [bits(sim, world) for world in (0, 2)] == [bits(fresh, world) for world in (0, 2)]


def test_controls_of_all_worlds_are_one_array_and_a_nan_stops_its_world():
    sim = carts(threads=2)
    sim.step(5)
    sim.ctrl[:] = [[0.4] * 4, [-0.4] * 4, [0.0] * 4]
    sim.step(60)
    speed = sim.qvel[:, 0]
    assert speed[0] > 0.01 > abs(speed[2]) > -0.01 > speed[1]
    sim.ctrl[1, 2] = np.nan
    before = sim.qpos
    sim.step(5)
    assert sim.diverged.tolist() == [False, True, False]
    assert "control 'motor_rl' is nan; allowed are finite numbers" in sim.notes[-1]
    assert np.array_equal(sim.qpos[1], before[1])
    assert not np.array_equal(sim.qpos[0], before[0])
    sim.reset_diverged()
    assert sim.failures.tolist() == [0, 1, 0]
    assert sim.ctrl[1].tolist() == [0.4] * 4, "the start's"
    sim.ctrl[:] = np.inf
    with pytest.raises(RunStopped, match="is inf; allowed are finite numbers"):
        sim.step()


def test_a_world_that_fails_on_one_thread_lets_the_others_go_on():
    sim, whole = carts(threads=2), carts(threads=2)
    sim.step(10)
    sim.engine.data[0].qvel[:] = np.nan
    sim.step(30)
    whole.step(40)
    assert sim.diverged.tolist() == [True, False, False]
    assert [bits(sim, world) for world in (1, 2)] == [bits(whole, world) for world in (1, 2)]


def test_soils_are_drawn_by_each_world_and_anew_at_its_reset():
    def draw(rng: np.random.Generator) -> Soil:
        return SOILS[0].replace(k_phi=rng.uniform(5e5, 2e6))

    sim, more = carts(draw, worlds=2, seed=7), carts(draw, worlds=3, seed=7)
    first = [stiffness(sim, world) for world in range(2)]
    assert first == [stiffness(more, world) for world in range(2)], "the same, whatever other worlds there are"
    sim.reset([1])
    assert stiffness(sim, 0) == first[0]
    assert stiffness(sim, 1) != first[1]
    assert first != [stiffness(carts(draw, worlds=2, seed=8), world) for world in range(2)]
    saved = sim.checkpoint()
    sim.reset()
    then = [stiffness(sim, world) for world in range(2)]
    sim.restore(saved)
    assert stiffness(sim, 0) == first[0]
    sim.reset()
    assert [stiffness(sim, world) for world in range(2)] == then


def stiffness(sim: Simulation, world: int) -> float:
    """k_phi in the table of constants that the kernels read."""
    return float(sim.soil.soils.soils.numpy()["k_phi"][world])


def test_starts_and_terrains_of_worlds():
    high = [flat(size=(4, 4), spacing=1.0, height=z) for z in (0.0, 0.5)]
    sim = carts("dry-sand", worlds=3, terrain=high)
    assert sim.qpos[:, 2] - sim.qpos[0, 2] == pytest.approx([0, 0.5, 0])
    sim.set_terrain([0], 1)
    sim.reset([0])
    assert sim.qpos[:, 2] - sim.qpos[2, 2] == pytest.approx([0.5, 0.5, 0])
    moved = sim.qpos
    moved[1, 0] += 0.3
    sim.set_start(qpos=moved)
    sim.reset([1])
    assert sim.qpos[1, 0] == pytest.approx(moved[1, 0])
    sim.step(20)
    assert (sim.observe()["soil/sinkage"] > 0).all()


@pytest.mark.batch
def test_a_device_has_the_same_interface():
    """On Warp's CPU device. Observations are device arrays, the mask too, and tiles do not grow."""
    import warp as wp

    sim = carts(engine=ON_WARP, dtype="float32")
    assert sim.ground.fixed
    sim.ctrl.fill_(0.4)
    sim.step(20)
    assert isinstance(sim.observe()["soil/sinkage"], wp.array)
    assert sim.observe()["soil/sinkage"].shape == (3, 4)
    assert (sim.qpos.shape, sim.qvel.shape, sim.ctrl.shape) == ((3, 11), (3, 10), (3, 4))
    before = sim.qpos.numpy().copy()
    sim.reset(wp.array([False, True, False], dtype=wp.bool, device="cpu"))
    after = sim.qpos.numpy()
    assert np.array_equal(after[[0, 2]], before[[0, 2]])
    assert not np.array_equal(after[1], before[1])
    sim.ctrl.numpy()[2] = np.nan
    sim.step(3)
    assert sim.diverged.numpy().tolist() == [0, 0, 1]
    sim.reset_diverged()
    assert sim.failures.numpy().tolist() == [0, 0, 1]
    sim.set_soil([0], k_phi=1e6)


@pytest.mark.batch
def test_a_world_without_a_free_tile_stands_still_on_a_device():
    sim = carts(engine=ON_WARP, dtype="float32", tiles=4)
    with pytest.raises(RunStopped, match="ran out of tiles"):
        sim.step(3)
    assert sim.diverged.numpy().tolist() == [1, 1, 1]


@pytest.mark.parametrize(("worlds", "side"), [(1, 100.0), (684, 100.0), (4096, 40.96), (16384, 20.48)])
def test_the_default_ground_leaves_room_for_the_tables_of_all_worlds(worlds, side):
    assert floors.side_for(worlds, 0.01) == pytest.approx(side)
    assert worlds * (side / 0.01 / TILE + 1) ** 2 < MOST_TILES / 2


def test_tiles_for_a_path_grow_with_its_length_and_the_tracks():
    wheels = {f"wheel {x} {y}": np.array([[x, y, 0], [x + 0.2, y + 0.1, 0]]) for x in (0, 1) for y in (0, 0.9)}
    short, long = (tiles_for_path(wheels, 0.01, path) for path in (0, 5))
    assert short < long < 200
    assert tiles_for_path({"wheel": wheels["wheel 0 0"]}, 0.01, 5) < long


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"soils": ["dry-sand"] * 2}, "soil: 2 are given; allowed is one, or one for each of the 3 worlds"),
        ({"soils": 3.0}, "soil: 3.0 is not allowed"),
        ({"device": "tpu"}, "device: 'tpu' is not here; this machine has 'cpu'"),
        ({"tiles": 0}, "tiles = 0: allowed is an integer of at least 1"),
        ({"threads": 0}, "threads = 0: allowed is an integer of at least 1"),
    ],
)
def test_what_cannot_be_is_one_clear_line(given, said):
    with pytest.raises(InputError, match=said):
        carts(**given)


def test_wrong_worlds_and_starts_are_refused():
    sim = carts()
    for worlds in ([3], [True], "all", np.zeros(2, bool)):
        with pytest.raises(InputError, match="worlds"):
            sim.reset(worlds)
    with pytest.raises(InputError, match=r"start: qpos has shape \(2,\); allowed: \(3, 11\) or \(11,\)"):
        sim.set_start(qpos=[0.0, 0.0])
    with pytest.raises(InputError, match="terrain: 1 is not allowed; allowed are numbers 0 to 0"):
        sim.set_terrain([0], 1)
