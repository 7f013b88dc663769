"""A whole vehicle in the engine: rest, standstill on a slope, coasting, steps, walls, worlds, checkpoints."""

import dataclasses
import math

import mujoco
import numpy as np
import pytest

from grouser.robots.vehicle import add_ground, build
from grouser.robots.vehicle_file import vehicle
from grouser.simulation import Simulation
from grouser.terrain.generators import flat, fractal, slope, steps

VIVI = vehicle("vivi")
CREEP = 1e-4  # [m] bar: after the first 10 s of a minute
ROUND_OFF = 1e-9
BALANCE = 1e-6  # of the weight


def simulation(
    terrain, *, v=VIVI, step=1e-3, height=None, pitch=0.0, heading=0.0, speed=0.0, torque=0.0, worlds=1, **options
):
    z = v.rest_height() if height is None else height
    turn = (math.cos(pitch / 2), 0.0, -math.sin(pitch / 2), 0.0)  # nose up
    if heading:
        turn = (math.cos(heading / 2), 0.0, 0.0, math.sin(heading / 2))
    spec = build(v, drive="torque", **options)
    spins = [speed / v.tyre.radius] * len(v.wheels)
    forward = (speed * math.cos(pitch), 0.0, speed * math.sin(pitch))
    spec.add_key(
        qpos=[0, 0, z, *turn, *[0.0] * len(v.wheels)], qvel=[*forward, 0, 0, 0, *spins],
        ctrl=[torque] * len(v.drives),
    )  # fmt: skip
    return Simulation(spec, [v.module(terrain)], step=step, worlds=worlds)


def test_at_rest_wheels_carry_the_weight():
    sim = simulation(flat(size=(10, 10)))
    sim.step(1000)
    force = sim.modules[0].observe()["force"][0]
    weight = VIVI.chassis.mass * 9.81
    assert force[:, 2].sum() == pytest.approx(weight, rel=BALANCE)
    np.testing.assert_allclose(sim.modules[0].observe()["travel"][0], VIVI.rest_travel(), rtol=1e-5)
    assert sim.data.qpos[2] == pytest.approx(VIVI.rest_height(), abs=1e-6)


def test_a_centre_of_mass_off_the_middle_loads_the_nearer_axle():
    wheels = tuple(dataclasses.replace(w, x=w.x + 0.07) for w in VIVI.wheels)
    v = dataclasses.replace(VIVI, wheels=wheels)
    sim = simulation(flat(size=(10, 10)), v=v)
    sim.step(3000)
    force = sim.modules[0].observe()["force"][0, :, 2]
    weight = v.chassis.mass * 9.81
    front = weight * (0.36 - 0.07) / 0.72  # statics of a beam; pitch of a degree moves contacts by half a percent
    assert force[:2].sum() == pytest.approx(front, rel=0.02)
    np.testing.assert_allclose(sim.modules[0].observe()["travel"][0], v.rest_travel(), rtol=0.02)


@pytest.mark.parametrize("direction", [0.0, 90.0], ids=["nose up", "sideways"])
@pytest.mark.parametrize("step", [1e-3, 4e-3])
def test_parked_on_a_slope_it_neither_creeps_nor_swings(direction, step):
    """60 s on 10 deg: the paper left F = mu N because that oscillated."""
    terrain = slope(10.0, direction, size=(20, 20))
    along_x = direction == 0.0
    sim = simulation(terrain, pitch=math.radians(10.0) if along_x else 0.0, parked=True, step=step)
    sim.step(round(10.0 / step))
    start, most = sim.data.qpos[:3].copy(), 0.0
    for _ in range(50):
        sim.step(round(1.0 / step))
        most = max(most, float(np.linalg.norm(sim.data.qpos[:3] - start)))
    assert most < CREEP
    assert np.abs(sim.data.qvel[:6]).max() < 1e-6
    assert np.linalg.norm(start[:2]) < 0.1  # it stood from the beginning
    weight = VIVI.chassis.mass * 9.81
    force = sim.engine.slots[0].out.effective.numpy()[0, 1:, :3].sum(axis=0)
    np.testing.assert_allclose(force, [0, 0, weight], atol=1e-4 * weight)


def test_coasting_on_level_ground_it_keeps_its_speed():
    sim = simulation(flat(size=(40, 10), origin=(-5, -5)), speed=5.0)
    sim.step(4000)
    assert sim.data.qvel[0] == pytest.approx(5.0, rel=1e-6)
    assert sim.data.qpos[0] == pytest.approx(20.0, rel=1e-5)


def test_heading_does_not_matter():
    ends = []
    for direction in (0.0, 37.0):
        terrain = slope(8.0, direction, size=(40, 40))
        sim = simulation(terrain, torque=8.0, height=VIVI.rest_height() + 0.05, heading=math.radians(direction))
        sim.step(1500)
        ends.append((np.hypot(*sim.data.qpos[:2]), sim.data.qpos[2]))
    assert ends[0][0] > 0.5
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-6)


def test_a_vehicle_climbs_a_low_step_and_is_stopped_by_a_wall():
    low = steps(1, 0.05, 5.0, start=1.0, size=(12, 6), spacing=0.05, origin=(-3, -3))
    sim = simulation(low, speed=1.0, torque=4.0)
    sim.step(2500)
    assert sim.data.qpos[0] > 2.0
    assert sim.data.qpos[2] == pytest.approx(VIVI.rest_height() + 0.05, abs=0.01)

    high = steps(1, 0.6, 5.0, start=1.0, size=(12, 6), spacing=0.05, origin=(-3, -3))
    sim = simulation(high, speed=1.0, torque=1.0)
    front = VIVI.wheels[0].x + VIVI.tyre.radius
    for _ in range(30):
        sim.step(100)
        assert sim.data.qpos[0] + front < 1.0 + 0.05  # in the wall no deeper than the grid's own cell
        assert np.isfinite(sim.data.qpos).all()
    assert abs(sim.data.qpos[2] - VIVI.rest_height()) < 0.1


def test_worlds_of_a_batch_are_what_they_are_alone():
    terrain = slope(5.0, size=(20, 20))
    one, two = simulation(terrain, torque=3.0), simulation(terrain, torque=3.0, worlds=2)
    one.step(300)
    two.step(300)
    for d in two.engine.data:
        np.testing.assert_array_equal(d.qpos, one.data.qpos)


def test_a_checkpoint_continues_bit_for_bit():
    sim = simulation(slope(5.0, size=(20, 20)), torque=3.0, speed=1.0)
    sim.step(200)
    saved = sim.checkpoint()
    sim.step(200)
    end = sim.data.qpos.copy()
    sim.restore(saved)
    sim.step(200)
    np.testing.assert_array_equal(sim.data.qpos, end)


def test_a_finer_step_changes_little():
    ends = []
    for step in (2e-3, 1e-3, 0.5e-3):
        sim = simulation(flat(size=(40, 10), origin=(-5, -5)), torque=8.0, speed=2.0, step=step)
        sim.step(round(1.0 / step))
        ends.append(sim.data.qpos[0])
    assert abs(ends[1] - ends[2]) < 0.6 * abs(ends[0] - ends[1])  # first order
    assert abs(ends[0] - ends[2]) < 5e-3 * ends[2]


def test_beyond_the_terrain_it_is_told():
    sim = simulation(flat(size=(4, 4)), speed=5.0)
    sim.step(600)
    assert any("beyond the terrain" in note for note in sim.notes)


def test_a_suspension_pushed_beyond_its_travel_is_told():
    sim = simulation(flat(size=(4, 4)), height=VIVI.rest_height() + 0.02)
    sim.step(500)
    assert not any("beyond its travel" in note for note in sim.notes)
    sim = simulation(flat(size=(4, 4)), height=VIVI.rest_height() + 3.0)
    sim.step(1200)
    (told,) = [note for note in sim.notes if "beyond its travel" in note]
    assert all(f"'wheel_{wheel.name}'" in told for wheel in VIVI.wheels)


STEPS = steps(4, 0.15, 0.6, start=-1.0, size=(12, 12), spacing=0.1)
ROUGH = {(0.6, 0.1): (7, 48), (0.3, 0.05): (37,)}  # rms, spacing [m]: seeds that gained 18 to 37 % without side slopes


@pytest.mark.parametrize(
    ("seed", "terrain"),
    [(seed, STEPS) for seed in range(6)]
    + [
        (seed, fractal(rms, seed=seed, size=(12, 12), spacing=spacing))
        for (rms, spacing), seeds in ROUGH.items()
        for seed in seeds
    ],
)
def test_tumbling_over_rough_ground_gains_no_energy(seed, terrain):
    """Thrown down in any attitude: wheels are pushed under the ground and come up again as it rolls."""
    random = np.random.default_rng(seed)
    turn = random.normal(size=4)
    height = 1.6 if terrain is STEPS else terrain.heights.max() + 1.2
    spec = build(VIVI, drive="torque", position=(0.0, 0.0, height), quaternion=turn / np.linalg.norm(turn))
    add_ground(spec, terrain)
    spec.add_key(
        qpos=[0, 0, height, *turn / np.linalg.norm(turn), 0, 0, 0, 0],
        qvel=[*random.uniform(-3, 3, 2), 0, *random.uniform(-6, 6, 3), 0, 0, 0, 0],
    )
    sim = Simulation(spec, [VIVI.module(terrain)], step=1e-3)
    start = energy(sim)
    most = start
    for _ in range(250):
        sim.step(10)
        most = max(most, energy(sim))
    assert most < start * 1.02
    assert np.abs(sim.data.qvel[:3]).max() < 10.0


def energy(sim):
    """[J] of motion and height."""
    product = np.zeros(sim.model.nv)
    mujoco.mj_mulM(sim.model, sim.data, product, sim.data.qvel)
    return 0.5 * float(sim.data.qvel @ product) + VIVI.chassis.mass * 9.81 * sim.data.qpos[2]
