"""Tiles at rest: what rounding does to them, what they cost, and that they come back."""

from __future__ import annotations

import numpy as np
import pytest

from grouser.contact.soil import SoilModule, wheel
from grouser.scenarios.single_wheel import SingleWheel, _bin
from grouser.simulation import Simulation
from grouser.terrain import ElevationGrid, flat, resting, soil
from grouser.terrain.ground import SURFACE, Ground
from tests.rig import ManufacturedMotion, SteadyMotion

SPACING = 0.01
PROMISED = 1e-4  # [m] largest error of a level at rest
HALF_STEP = 0.5 * resting.REST_STEP * (1 + 1e-9)  # [m] of rounding
ROUND_OFF = 1e-12  # [m] of sums of heights
KILOMETRE = 60e6  # [bytes] allowed for a kilometre of path of one wheel


def hills(size=(6.0, 1.6)) -> ElevationGrid:
    x, y = np.meshgrid(0.05 * np.arange(int(size[0] / 0.05) + 1), 0.05 * np.arange(int(size[1] / 0.05) + 1))
    return ElevationGrid(100 + 0.05 * np.sin(2 * x) * np.cos(3 * y), 0.05, (0.0, 0.0))


def rolled(ground: Ground, travel: float = 1.0, at=(0.5, 0.8)) -> SoilModule:
    """A wheel rolls along x, sunk by 20 mm, at 0.5 m/s."""
    module = SoilModule(ground, {"wheel": wheel(0.15, 0.1)})
    rig = ManufacturedMotion(module, step=5e-3)
    height = float(ground.elevation.height(*at))
    motion = SteadyMotion((*at, height + 0.13), velocity=(0.5, 0.0, 0.0), spin=(0.0, 4.0, 0.0))
    rig.follow(motion, round(travel / 0.5 / 5e-3))
    return module


@pytest.fixture(scope="module")
def before_and_after():
    ground = Ground(hills(), soil("dry-sand"), SPACING, live_tiles=1)
    rolled(ground)
    before = [ground.level(k) for k in range(4)]
    ground.rest()
    return ground, before, [ground.level(k) for k in range(4)]


def test_rounding_moves_no_level_by_more_than_half_a_step(before_and_after):
    _, before, after = before_and_after
    assert (before[SURFACE] - after[SURFACE]).any(), "something was rounded"
    for old, new in zip(before, after, strict=True):
        assert np.abs(new - old).max() <= HALF_STEP < PROMISED


def test_rounding_keeps_the_order_of_the_levels(before_and_after):
    """Soil that was pressed has no loose cover before and none after; what lay above still does."""
    _, before, after = before_and_after
    for a in range(4):
        for b in range(a):
            equal = before[a] == before[b]
            assert np.array_equal(after[a][equal], after[b][equal])
            above = before[a] > before[b]
            assert (after[a][above] >= after[b][above] - ROUND_OFF).all()


def test_the_volume_that_rounding_adds_is_booked(before_and_after):
    ground, before, after = before_and_after
    added = (after[SURFACE] - before[SURFACE]).sum() * SPACING**2
    assert abs(added) > 1e-9, "so that the account has something to show"
    assert ground.arrays.rounded.numpy()[0] == pytest.approx(added, abs=ROUND_OFF)


def test_what_no_body_has_changed_is_freed(before_and_after):
    ground, before, _ = before_and_after
    blocks = ground.arrays.rest_block.numpy()[0, : ground.arrays.rest_used.numpy()[0]]
    stored = int((blocks != resting.FREE).sum())
    untouched = Ground(hills(), soil("dry-sand"), SPACING).heights()
    changed = np.any([np.abs(level - untouched) > 0.5 * resting.REST_STEP for level in before], axis=0)
    rows, columns = np.nonzero(changed)
    table = ground.arrays.table.numpy()[0]
    in_use = table[rows // resting.TILE, columns // resting.TILE] >= 0  # under the wheel, not at rest
    wanted = {(r // resting.BLOCK, c // resting.BLOCK) for r, c in zip(rows[~in_use], columns[~in_use], strict=True)}
    assert stored == len(wanted) > 0
    assert ground.arrays.used.numpy()[0] == (table >= 0).sum() < 16


def test_a_tile_that_comes_to_rest_twice_is_not_rounded_twice(before_and_after):
    ground, _, after = before_and_after
    first = ground.arrays.rounded.numpy()[0]
    for _ in range(3):
        wake_all(ground)
        assert not resting.tiles_at_rest(ground, 0)[0].size
        ground.rest()
    for k in range(4):
        assert np.abs(ground.level(k) - after[k]).max() < ROUND_OFF
    assert ground.arrays.rounded.numpy()[0] == pytest.approx(first, abs=ROUND_OFF)


def wake_all(ground: Ground) -> None:
    from grouser.device import at
    from grouser.terrain.ground import allocate_tile
    from tests.device_call import call

    numbers, _, owners = resting.tiles_at_rest(ground, 0)
    ground.grow(ground.capacity + len(numbers))
    for row, column in owners.tolist():
        assert call(at(allocate_tile, "float64"), ground.arrays, 0, row, column, returns=bool)


def test_a_level_that_does_not_fit_into_16_bits_stays_in_use():
    ground = Ground(hills(), soil("dry-sand"), SPACING, live_tiles=1)
    rolled(ground)
    ground.arrays.levels.numpy()[0, 0, 3, 4, SURFACE] += 2.5
    deep = ground.heights()
    ground.rest()
    assert ground.heights().max() == deep.max()
    assert np.abs(ground.heights() - deep).max() <= HALF_STEP


def second_pass(comes_to_rest: bool, lift: float = 0.0) -> tuple[float, np.ndarray]:
    """Vertical force [N] of a first pass over sand, and forces (step,) of the way back, `lift` [m] higher."""

    def pose(time: float) -> tuple[np.ndarray, np.ndarray]:
        way, height = 0.5 * min(time, 4.0 - time), 100.13 + (lift if time > 2.0 else 0.0)
        return np.array([0.5 + way, 0.8, height]), np.array([0.0, np.sin(4.0 * way), 0.0, np.cos(4.0 * way)])

    terrain = flat(100.0, size=(3.0, 1.6), spacing=0.4, origin=(0, 0))
    ground = Ground(terrain, soil("dry-sand"), SPACING, live_tiles=1)
    rig = ManufacturedMotion(SoilModule(ground, {"wheel": wheel(0.15, 0.1)}), step=5e-3)
    rig.follow(pose, 399)
    first = rig.wrench[0, 0, 2]
    if comes_to_rest:
        ground.rest()
        assert resting.tiles_at_rest(ground, 0)[0].size > 1
    forces: list[float] = []
    rig.follow(pose, 320, each=lambda: forces.append(rig.wrench[0, 0, 2]))
    return first, np.array(forces[160:])


def test_a_wheel_that_returns_finds_its_rut():
    """Ground that was at rest changes the forces of a second pass by no more than half a step of the wheel's height."""
    first, as_it_was = second_pass(False)
    _, returned = second_pass(True)
    assert as_it_was.mean() < 0.8 * first, "a rut carries less at the same height"
    shifts = [np.abs(second_pass(False, lift)[1] - as_it_was).mean() for lift in (HALF_STEP, -HALF_STEP)]
    assert 0 < np.abs(returned - as_it_was).mean() < max(shifts)


# ---- in a simulation ---------------------------------------------------------------------------------


def driven(live_tiles: int, steps: int, chunk: int = 10**9, worlds: int = 1) -> Simulation:
    """A wheel with slip, driven along sand at 0.2 m/s."""
    terrain = flat(size=(8.0, 1.6), spacing=0.4, origin=(-0.5, -0.8))
    ground = Ground(terrain, soil("dry-sand"), SPACING, live_tiles=live_tiles, worlds=worlds)
    module = SoilModule(ground, {"wheel": wheel(0.15, 0.1)})
    sim = Simulation(_bin(SingleWheel(speed=0.2)), [module], ground=ground, worlds=worlds)
    while sim.steps < steps:
        sim.step(min(chunk, steps - sim.steps))
    return sim


def test_a_wheel_on_new_ground_feels_nothing_of_what_rests_behind_it():
    resting_run, other = driven(8, 1000), driven(512, 1000)
    assert resting_run.ground.arrays.rest_used.numpy()[0] > 1
    assert other.ground.arrays.rest_used.numpy()[0] == 0
    # The window still holds what its last steps have written; only ground behind it is rounded.
    assert np.abs(resting_run.data.qpos - other.data.qpos).max() < 1e-5
    assert np.abs(resting_run.ground.heights() - other.ground.heights()).max() < PROMISED


def test_when_ground_comes_to_rest_does_not_depend_on_how_steps_are_asked_for():
    whole, pieces = driven(8, 900), driven(8, 900, chunk=37)
    assert whole.ground.arrays.rest_used.numpy()[0] > 0
    assert np.array_equal(whole.data.qpos, pieces.data.qpos)
    assert np.array_equal(whole.ground.heights(), pieces.ground.heights())


def test_a_checkpoint_with_ground_at_rest_continues_bit_for_bit():
    sim = driven(8, 700)
    saved = sim.checkpoint()
    sim.step(500)
    other = driven(8, 1)
    other.restore(saved)
    other.step(500)
    assert np.array_equal(other.data.qpos, sim.data.qpos)
    for k in range(4):
        assert np.array_equal(other.ground.level(k), sim.ground.level(k))
    sim.reset()
    assert np.array_equal(sim.ground.heights(), driven(8, 0).ground.heights())
    assert sim.ground.arrays.rounded.numpy()[0] == 0.0


def test_recordings_hear_of_a_tile_once_though_it_rests_and_comes_back():
    sim = driven(8, 1)
    told: dict[tuple[int, int], np.ndarray] = {}
    for _ in range(12):
        sim.step(100)
        indices, heights = sim.changed_tiles()
        told |= {tuple(index): tile for index, tile in zip(indices.tolist(), heights, strict=True)}
    assert sim.ground.arrays.rest_used.numpy()[0] > 0
    everything = sim.ground.heights()
    shown = np.zeros_like(everything)
    for (row, column), tile in told.items():
        part = shown[row * 32 : row * 32 + 32, column * 32 : column * 32 + 32]
        part[...] = tile[: part.shape[0], : part.shape[1]]
    assert np.abs(shown - everything).max() < PROMISED
    assert not len(sim.changed_tiles()[0]), "nothing has changed since"
    wake_all(sim.ground)
    assert not len(sim.changed_tiles()[0]), "a tile that comes back is not a change"
    sim.tile_stamps.clear()
    assert len(sim.changed_tiles()[0]) == len(told), "a new recording begins with all ruts"


def test_each_world_has_its_own_ground_at_rest():
    one, two = driven(8, 900), driven(8, 900, worlds=2)
    for world in range(2):
        assert np.array_equal(two.ground.heights(world), one.ground.heights())


def test_a_kilometre_of_path_of_a_wheel_fits_into_60_MB():
    """By the slope of memory over travel, once the ground behind the wheel is at rest."""
    sim = driven(8, 2000)
    ground, first = sim.ground, float(sim.data.qpos[0])
    stored = resting.memory_at_rest(ground)
    sim.step(3000)
    per_metre = (resting.memory_at_rest(ground) - stored) / (float(sim.data.qpos[0]) - first)
    assert 0 < 1000 * per_metre < KILOMETRE
