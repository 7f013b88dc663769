"""Ruts under resistive force theory: soil moves by the stages of the soil module, and an open rut carries nothing."""

from itertools import pairwise

import numpy as np
import pytest

from grouser.contact.rft import RftModule, RftOptions
from grouser.contact.rft.laws import PLATE_DOWN
from grouser.contact.soil import SoilModule, SoilOptions, prepare
from grouser.terrain import flat, soils
from grouser.terrain.ground import SURFACE, Ground
from tests.contact.rft.test_boxes import CORNERS, HIGH, LONG, TRIANGLES, WIDE
from tests.rig import ManufacturedMotion, product, quaternion

SCALE, STEP, SPACING = 1e6, 2e-3, 0.01  # [N/m^3], [s], [m]
SAND = soils.soil("dry-sand")
UPRIGHT = quaternion(np.zeros(3))
ROUND_OFF = 1e-12  # of sums of heights in float64
ELASTIC = 1e-3  # [m] the soil keeps the elastic compression below a body: p / K_e, less than this
CELL = 0.05  # of the displaced volume: cells at the outline are covered in part
OUTLINE = 1 - (LONG - SPACING) * (WIDE - SPACING) / (LONG * WIDE)  # share of a foot within half a cell of its outline
SLID = 1e-3  # of the force on a wall: soil that slid at its edges
LAW = {"digs": False, "faces": False}


def rig_of(*, ruts=True, worlds=1, dtype="float64", **choices):
    ground = Ground(flat(size=(1.6, 1.0), spacing=0.1, origin=(-0.5, -0.5)), SAND, SPACING, worlds=worlds, dtype=dtype)
    box = {"box": prepare(CORNERS, TRIANGLES)}
    maker = SoilModule(ground, box, SoilOptions(**{**LAW, **choices})) if ruts else None
    module = RftModule(ground, box, RftOptions("agarwal2023", SCALE), ruts=maker)
    return ManufacturedMotion(module, step=STEP, worlds=worlds, dtype=dtype)


def visit(rig, points, speed=0.05):
    """Lead the box through places of the middle of its bottom (x, z) [m]; returns the forces [N] on it by step."""
    found = []
    corners = [np.array([x + 0.003, 0.002, z + HIGH / 2]) for x, z in points]
    for start, end in pairwise(corners):
        steps, t0 = max(round(np.linalg.norm(end - start) / speed / STEP), 1), rig.time
        duration = steps * STEP
        pose = lambda t: (start + (end - start) * (t - t0) / duration, UPRIGHT)  # noqa: B023, E731
        rig.follow(pose, steps, lambda: found.append(rig.wrench[0, 0, :3]))
    return np.array(found)


def test_depth_is_that_below_the_undisturbed_level_not_that_below_the_own_rut():
    rig = rig_of()
    force = visit(rig, [(0, 0.005), (0, -0.04)])[-1]
    depth = 0.04 + 0.05 * STEP / 2  # at the middle of the next step
    assert force[2] == pytest.approx(SCALE * PLATE_DOWN * LONG * WIDE * depth, rel=1e-6)
    assert rig.module.ground.heights().min() == pytest.approx(-0.04, abs=ELASTIC)


def test_displaced_soil_lies_beside_the_foot_and_none_is_lost():
    rig = rig_of()
    visit(rig, [(0, 0.005), (0, -0.04)])
    channels = {channel.name: channel.read() for channel in rig.module.channels()}
    heights = rig.module.ground.heights()
    assert channels["soil/volume_error"][0] < ROUND_OFF
    assert channels["soil/displaced_volume"][0, 0] == pytest.approx(LONG * WIDE * 0.04, rel=CELL)
    heap = SPACING**2 * heights[heights > 0].sum()
    assert heap == pytest.approx((1 - SAND.compression) * LONG * WIDE * 0.04, rel=3 * CELL)  # some of it slides back


def test_an_open_footprint_carries_nothing_until_its_bottom_is_reached():
    path = [(0, 0.005), (0, -0.04), (0, -0.01), (0, -0.039), (0, -0.045)]
    with_rut, without = (visit(rig_of(ruts=ruts, erosion=False), path)[:, 2] for ruts in (True, False))
    last = [round(length / 0.05 / STEP) for length in (0.045, 0.03, 0.029, 0.006)]
    again = slice(last[0] + last[1] + 5, last[0] + last[1] + last[2] - 10)
    assert (with_rut[again] < OUTLINE * without[again]).all()
    assert without[again].min() > 0.1 * without.max()  # ground that stays undisturbed would carry the foot in the air
    assert with_rut[-1] == pytest.approx(without[-1], rel=1e-6)  # below its bottom the depth counts from the old level


def test_a_box_that_turns_back_in_its_trench_first_meets_no_wall():
    path = [(0, 0.005), (0, -0.04), (0.2, -0.04), (0.18, -0.04)]
    with_trench, without = (np.abs(visit(rig_of(ruts=ruts), path, 0.1)[:, 0]) for ruts in (True, False))
    back = round(0.02 / 0.1 / STEP)
    after = -back + round(0.005 / 0.1 / STEP)  # 5 mm on its way back
    assert with_trench[-back - 2] == pytest.approx(without[-back - 2], rel=SLID)
    assert without[after] > 0.9 * without[-back - 2]
    assert with_trench[after] < without[after] / 3  # slides have filled half of the trench: a quarter of the force


def test_slip_and_pushing_leave_the_level_of_depth_under_the_body():
    """With `digs` the soil that is pushed away takes the level along, and depth counts from the own rut."""
    path = [(0, 0.005), (0, -0.02), (0.2, -0.04)]
    kept, dug = (visit(rig_of(digs=digs), path, 0.1)[-1] for digs in (False, True))
    closed = visit(rig_of(ruts=False), path, 0.1)[-1]
    assert kept[2] == pytest.approx(closed[2], rel=1e-3)
    assert dug[2] < 0.95 * closed[2]


def test_no_soil_is_lost_and_no_slope_stays_too_steep_by_a_drag():
    rig = rig_of()
    visit(rig, [(0, 0.005), (0, -0.05), (0.4, -0.05), (0.4, 0.1)], 0.1)
    heights = rig.module.ground.level(SURFACE)
    steep = max(np.abs(np.diff(heights, axis=axis)).max() for axis in (0, 1)) / SPACING
    assert rig.module.volume_error()[0] < ROUND_OFF
    assert steep < 1.05 * SAND.slope_limit
    assert heights.min() < -0.03


def test_random_drops_never_gain_energy_over_ruts():
    M, worst, lost = np.diag([0.5] * 3 + [2e-3] * 3), 0.0, 0.0
    for seed in range(2):
        rng = np.random.default_rng(seed)
        rig = rig_of()
        v = np.concatenate([rng.normal(size=2) * 0.3, [-1.0], rng.normal(size=3) * 3])
        rig.place((0, 0, 0.03), quaternion(rng.normal(size=3)), v[:3], v[3:]).evaluate()
        first = energy = 0.5 * v @ M @ v
        for _ in range(200):
            v = v + np.linalg.solve(M + rig.implicit[0, 0], STEP * rig.wrench[0, 0])
            turned = product(quaternion(STEP * v[3:]), rig.rotation[0, 0])
            rig.place(rig.position + STEP * v[:3], turned, v[:3], v[3:]).advance()
            now = 0.5 * v @ M @ v + float(rig.module.stored_energy()[0, 0])
            worst, energy = max(worst, (now - energy) / first), now
        lost = max(lost, 1 - energy / first)
    assert worst < 1e-9
    assert lost > 0.5


def test_one_world_many_worlds_and_a_reset():
    path = [(0, 0.005), (0, -0.03), (0.05, -0.03)]
    one, many = rig_of(), rig_of(worlds=3)
    first = visit(one, path)
    assert np.array_equal(visit(many, path), first)
    assert np.array_equal(many.module.ground.heights(2), one.module.ground.heights(0))
    many.module.reset([1])
    assert not many.module.ground.heights(1).any()
    assert np.array_equal(many.module.ground.heights(0), one.module.ground.heights(0))


def test_a_restored_state_continues_bit_for_bit():
    path = [(0, -0.03), (0.05, -0.03), (0.05, -0.02)]
    going, fresh = rig_of(), rig_of()
    visit(going, [(0, 0.005), path[0]])
    for kept in ("module", "ground"):
        to, of = (rig.module if kept == "module" else rig.module.ground for rig in (fresh, going))
        for name, saved in of.state().items():
            to.state()[name].assign(saved.numpy().copy())
    fresh.place(going.position, going.rotation, going.velocity, going.spin).evaluate()
    fresh.time = going.time
    first, second = visit(going, path), visit(fresh, path)
    assert first.any()
    assert np.array_equal(first, second)
    assert np.array_equal(going.module.ground.heights(), fresh.module.ground.heights())
