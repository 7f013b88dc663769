"""The deformable ground: made where it is touched, the same wherever it lies, soil by soil."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

from grouser.contact.soil import SoilModule, SoilOptions, prepare, wheel
from grouser.errors import InputError
from grouser.simulation.shapes import box
from grouser.terrain import ElevationGrid, flat, soil
from grouser.terrain.ground import TILE, Ground
from tests.rig import ManufacturedMotion, SteadyMotion

BEKKER = 5e-3  # the bar of a plate against Bekker's law
ROUND_OFF = 1e-15  # [m] of a bilinear height, in Warp and in NumPy
NODE_BYTES = 4 * 8  # four levels in float64
SPACING = 0.01
SAND, CLAY = (soil(name).replace(compression=1.0) for name in ("dry-sand", "clay"))


def hills(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return 0.05 * np.sin(2 * x) * np.cos(3 * y)


def rolled(ground: Ground, *, at=(0.3, 0.3), steps: int = 200, step: float = 5e-3) -> SoilModule:
    """A wheel rolls 0.1 m from `at`, sunk by 20 mm."""
    module = SoilModule(ground, {"wheel": wheel(0.15, 0.1)})
    rig = ManufacturedMotion(module, step=step)
    height = float(ground.elevation.height(*at))
    rig.follow(SteadyMotion((*at, height + 0.13), velocity=(0.1, 0.0, 0.0), spin=(0.0, 0.8, 0.0)), steps)
    return module


def touched_tiles(ground: Ground) -> set[tuple[int, int]]:
    return {(int(r), int(c)) for r, c in np.argwhere(ground.arrays.table.numpy()[0] >= 0)}


def test_before_anything_happens_it_is_the_elevation_grid():
    coarse = ElevationGrid(np.random.default_rng(0).normal(size=(7, 9)), 0.25, (1.0, -2.0), soils=(soil("clay"),))
    ground = Ground(coarse, spacing=0.1)
    assert ground.heights().shape == (ground.rows, ground.columns) == (16, 21)
    x, y = 1.0 + 0.1 * np.arange(21), -2.0 + 0.1 * np.arange(16)
    assert ground.heights() == pytest.approx(coarse.height(x[None, :], y[:, None]), abs=1e-12)
    assert touched_tiles(ground) == set()
    assert ground.soils == (soil("clay"),)


def test_only_what_a_body_comes_near_exists_and_changes():
    n = 201
    x, y = np.meshgrid(SPACING * np.arange(n), SPACING * np.arange(n))
    ground = Ground(ElevationGrid(hills(x, y), SPACING, (0.0, 0.0)), soil("dry-sand"))
    before = ground.heights()
    rolled(ground, at=(0.6, 0.9))
    after = ground.heights()
    reach = 0.15 + 0.08 + 2 * SPACING  # wheel, margin for sliding, the ring round it
    near = (x > 0.6 - reach) & (x < 0.7 + reach) & (np.abs(y - 0.9) < reach)
    assert np.abs(after - before)[~near].max() < ROUND_OFF
    assert (after - before).min() < -0.015
    assert (after - before).max() > 1e-3, "a mound beside the rut"
    tiles = touched_tiles(ground)
    for row, column in tiles:
        x0, y0 = column * TILE * SPACING, row * TILE * SPACING
        side = TILE * SPACING
        assert x0 < 0.7 + reach
        assert x0 + side > 0.6 - reach
        assert y0 < 0.9 + reach
        assert y0 + side > 0.9 - reach
    changed = np.argwhere(np.abs(after - before) > ROUND_OFF) // TILE
    assert {(int(r), int(c)) for r, c in changed} <= tiles
    assert ground.arrays.used.numpy()[0] == len(tiles)


def test_a_hundred_metres_cost_what_two_do():
    """Same bits, as many tiles, and next to no memory for untouched ground: four bytes per tile of 1024 nodes."""
    small = Ground(flat(size=(2, 2), spacing=0.5, origin=(0, 0)), soil("dry-sand"), SPACING)
    large = Ground(flat(size=(100, 100), spacing=50, origin=(0, 0)), soil("dry-sand"), SPACING)
    states = [rolled(ground).state() for ground in (small, large)]
    region = (0.0, 1.5, 0.0, 1.5)
    for level in range(4):
        assert np.array_equal(small.level(level, region=region), large.level(level, region=region))
    for name, array in states[0].items():
        assert np.array_equal(array.numpy(), states[1][name].numpy()), name
    assert touched_tiles(small) == touched_tiles(large) != set()
    assert large.rows * large.columns == 10001**2
    tiles = math.ceil(10001 / TILE) ** 2
    pool = large.capacity * (TILE**2 * NODE_BYTES + 3 * 4)  # levels, owner (two), stamp
    at_rest = 2 * 4 + 4 + 16 * 4 + 64 * 8  # room for one tile and one block at rest
    assert large.memory() == pytest.approx(4 * tiles + pool + at_rest, abs=64)
    assert large.memory() < 1e-3 * 10001**2 * NODE_BYTES


def test_growing_keeps_everything():
    tight = Ground(flat(size=(2, 2), spacing=0.5, origin=(0, 0)), soil("dry-sand"), SPACING, capacity=1)
    roomy = Ground(flat(size=(2, 2), spacing=0.5, origin=(0, 0)), soil("dry-sand"), SPACING, capacity=400)
    for ground in (tight, roomy):
        rolled(ground, steps=1500)
    assert tight.generation > 1
    assert tight.capacity < roomy.capacity
    assert roomy.generation == 0
    for level in range(4):
        assert np.array_equal(tight.level(level), roomy.level(level))
    before = tight.level(1)
    tight.grow(777)
    assert tight.capacity == 777
    assert np.array_equal(tight.level(1), before)


def test_room_is_kept_for_no_more_tiles_than_there_are():
    """A bed of 2 x 2 tiles never runs out of room for all of them; a large one has room for some steps."""
    small = Ground(flat(size=(0.5, 0.5), spacing=0.25, origin=(0, 0)), soil("dry-sand"), 0.01, capacity=1)
    assert small.room_for(9) == sys.maxsize
    assert small.capacity == 4
    assert not small.ensure(100)
    large = Ground(flat(size=(100, 100), spacing=50, origin=(0, 0)), soil("dry-sand"), 0.01, capacity=1)
    assert large.room_for(9) == 2
    assert large.capacity == 18
    for worlds, steps in ((3, 4), (65, 1)):  # threads over few worlds meet after several steps
        wide = flat(size=(100, 100), spacing=50, origin=(0, 0))
        several = Ground(wide, soil("dry-sand"), 0.01, capacity=1, worlds=worlds)
        assert several.room_for(9) == steps
        assert several.capacity == 9 * steps


def test_reset_is_virgin_ground_and_restore_brings_it_back():
    ground = Ground(flat(size=(1, 1), spacing=0.5, origin=(0, 0)), soil("dry-sand"), SPACING)
    rolled(ground)
    saved = {name: array.numpy().copy() for name, array in ground.state().items()}
    rut = ground.heights()
    ground.reset([0])
    assert not ground.heights().any()
    other = Ground(flat(size=(1, 1), spacing=0.5, origin=(0, 0)), soil("dry-sand"), SPACING, capacity=2)
    other.restore(saved)
    assert np.array_equal(other.heights(), rut)
    assert other.generation == 1, "launches that hold the old arrays must be captured again"


def test_a_region_is_the_part_of_the_whole():
    ground = Ground(flat(size=(2, 1), spacing=0.5, origin=(-0.5, 0.2)), soil("dry-sand"), SPACING)
    rolled(ground, at=(0.3, 0.6))
    whole = ground.heights()
    part = ground.heights(region=(0.0, 0.4, 0.5, 0.75))
    assert part.shape == (26, 41)
    assert np.array_equal(part, whole[30:56, 50:91])
    assert part.min() < -0.01
    assert np.array_equal(ground.heights(region=(-9, 9, -9, 9)), whole), "cut to the grid"
    assert ground.heights(region=(5, 6, 5, 6)).size == 0


# ---- soils side by side -----------------------------------------------------------------------------


def plate_forces(ground: Ground, places: dict[str, tuple[float, float]], depth: float) -> dict[str, float]:
    """Vertical forces on plates of 0.2 m x 0.1 m, pressed in at once."""
    half = np.array([0.1, 0.05, 0.02])
    plate = prepare(*box(half), width=0.1, name="plate")
    module = SoilModule(ground, dict.fromkeys(places, plate), SoilOptions(erosion=False))
    rig = ManufacturedMotion(module, step=5e-3)
    centres = np.array([[x, y, half[2] - depth] for x, y in places.values()])
    rig.place(position=centres[None], rotation=rig.rotation).advance()
    return dict(zip(places, rig.wrench[0, :, 2], strict=True))


def side_by_side() -> Ground:
    """West sand, middle bare, east clay, on a base grid of 0.5 m; they only compact, as Bekker has it."""
    index = np.zeros((3, 9), np.int32)
    index[:, 3:6] = -1
    index[:, 6:] = 1
    base = ElevationGrid(np.zeros((3, 9)), 0.5, (0.0, 0.0)).with_soils(index, [SAND, CLAY])
    return Ground(base, spacing=SPACING)


def test_each_node_has_its_own_soil():
    depth = 0.03
    forces = plate_forces(side_by_side(), {"sand": (0.503, 0.501), "bare": (2.0, 0.5), "clay": (3.501, 0.507)}, depth)
    for name, material in (("sand", SAND), ("clay", CLAY)):
        bekker = 0.02 * material.pressure_modulus(0.1) * depth**material.n
        assert forces[name] == pytest.approx(bekker, rel=BEKKER)
    assert forces["bare"] == 0.0


def test_a_plate_across_the_border_gets_of_each_what_it_covers():
    """The border lies half way between base nodes, on a node of the fine grid, which belongs to the east."""
    depth = 0.03
    forces = plate_forces(side_by_side(), {"west": (1.25, 0.5), "east": (2.75, 0.5)}, depth)
    sand, clay = (0.02 * s.pressure_modulus(0.1) * depth**s.n for s in (SAND, CLAY))
    cell = SPACING / 0.2
    assert forces["west"] == pytest.approx(sand * (0.5 - cell / 2), rel=BEKKER)
    assert forces["east"] == pytest.approx(clay * (0.5 + cell / 2), rel=BEKKER)


def test_bare_nodes_do_not_rut():
    ground = side_by_side()
    plate_forces(ground, {"bare": (2.0, 0.5)}, 0.03)
    assert not ground.heights().any()


# ---- refusals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Ground(flat(size=(1, 1), spacing=0.5)), "ground: no soil given"),
        (lambda: Ground(flat(size=(1, 1), spacing=0.5), soil("clay"), 0.0), "spacing: 0.0 m is not allowed"),
        (lambda: Ground(flat(size=(1, 1), spacing=0.5), soil("clay"), -0.1), "spacing: -0.1 m is not allowed"),
        (lambda: Ground(flat(size=(1, 1), spacing=0.5), soil("clay"), math.nan), "spacing: nan m is not allowed"),
        (lambda: Ground(flat(size=(1, 1), spacing=0.5), soil("clay"), 0.4), r"spacing: 0.4 m leaves 3 x 3 nodes"),
        (
            lambda: Ground(
                ElevationGrid(np.zeros((5, 5)), 0.1, (0, 0), soil_index=np.full((5, 5), 2, np.int32)), soil("clay")
            ),
            "soil_index: 2 is not allowed; there are 1 soils",
        ),
        (
            lambda: Ground(flat(size=(1, 1), spacing=0.1), soil("clay"), dtype="float16"),
            "dtype: 'float16' is not known",
        ),
    ],
)
def test_ground_that_cannot_be_is_refused(make, said):
    with pytest.raises(InputError, match=said):
        make()


def test_more_worlds_than_tables_hold_are_refused_by_their_number():
    terrain = flat(size=(100.0, 100.0), spacing=10.0)
    with pytest.raises(InputError, match=r"worlds: 4096 take 1.49 GiB .*: allowed are 2740 worlds"):
        Ground(terrain, soil("dry-sand"), 0.01, worlds=4096)
    with pytest.raises(InputError, match=r"spacing: 0.0001 m makes .*: allowed is a larger spacing"):
        Ground(terrain, soil("dry-sand"), 1e-4)
