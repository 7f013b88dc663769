"""A rover on a course: it arrives, and its meters agree with what soil and bodies say."""

from __future__ import annotations

import math

import numpy as np
import pytest

import grouser
from grouser.errors import InputError
from grouser.robots import exomars
from grouser.scenarios import rover_course
from grouser.scenarios.settings import from_python

COARSE = {"spacing": 0.02}  # a grid for tests of control, not of soil
ENERGY = 0.02  # work is taken 20 times a second; pivots take some too
ROUND_OFF = 1e-12  # of a plane fitted to heights, 1 m
ROLL = 0.01  # [rad] bogies and sinkage turn the wheels a little against the chassis


def built(**changes):
    settings = from_python("rover-course", {**COARSE, **changes}).settings
    return rover_course.build(settings)


def read(sim, name):
    return next(c for c in sim.channels() if c.name == name).read()[0]


def test_ranges_of_the_rover_are_what_its_parameters_say():
    """In rad: a model whose ranges were taken for degrees could not steer, nor its bogies turn."""
    model, p = built().model, exomars.ExoMars()
    np.testing.assert_allclose(model.joint("steer_fl").range, [-p.steer_limit, p.steer_limit])
    np.testing.assert_allclose(model.joint("bogie_rear").range, [-p.bogie_limit, p.bogie_limit])


def test_a_short_course_is_driven_to_its_end(tmp_path):
    """A run as a user makes it, with its report."""
    outcome = grouser.run(
        "rover-course", {**COARSE, "waypoints": [[0, 0], [0.4, 0]], "erosion": False}, out=tmp_path / "run"
    )
    m = outcome.metrics
    assert m["course_completed"] is True
    assert outcome.exit_status == 0
    assert m["distance_m"] == pytest.approx(0.4, abs=0.03)  # it climbs out of its holes too
    assert m["cross_track_error_max_m"] < 0.005
    assert 0 < m["odometry_error_rel"] < 0.5  # half a wheelbase: most of it is the way out of its own pits
    assert 0 < m["slip_mean"] < 0.5
    assert m["power_mean_W"] == pytest.approx(m["energy_per_metre_J"] * 0.4 / 8, rel=0.2)  # 8 s at 5 cm/s
    assert 40 < m["tip_over_margin_min_deg"] < 46
    names = {figure.stem for figure in (outcome.folder / "figures").glob("*.png")}
    assert names == {"course", "cross-track", "slip", "sinkage", "steering", "power", "tip-over", "soil"}
    with grouser.Recording(outcome.recording) as recording:
        stood = recording.time < rover_course.SETTLING
        assert np.abs(recording["drive/wheel_rate"][stood]).max() == 0
        assert (recording["path/ended"][-1]) == 1


def test_a_rover_stands_on_an_imported_slope_as_on_its_own(tmp_path):
    from grouser.terrain.generators import slope

    margin = rover_course.MARGIN
    size = (0.4 + 2 * margin, 2 * margin)
    grid = slope(8.0, 30.0, size=size, spacing=min(size) / 8, origin=(-margin, -margin))  # as the scenario makes it
    np.savez(tmp_path / "slope.npz", heights=grid.heights, spacing=grid.spacing, origin=grid.origin)
    short = {"waypoints": [[0, 0], [0.4, 0]]}
    own = built(**short, slope_deg=8.0, slope_direction_deg=30.0)
    imported = built(**short, terrain=str(tmp_path / "slope.npz"))
    np.testing.assert_array_equal(imported.ground.elevation.heights, own.ground.elevation.heights)
    np.testing.assert_allclose(imported.data.qpos, own.data.qpos, atol=ROUND_OFF)


def test_on_rough_imported_ground_the_rover_begins_above_it(tmp_path):
    from grouser.terrain.generators import fractal

    grid = fractal(0.05, size=(6.0, 6.0), spacing=0.1, seed=3, origin=(-3.0, -3.0))
    np.savez(tmp_path / "rough.npz", heights=grid.heights, spacing=grid.spacing, origin=grid.origin)
    sim = built(waypoints=[[0, 0], [0.4, 0]], terrain=str(tmp_path / "rough.npz"))
    for name in rover_course.BODIES:
        x, y, z = sim.data.body(name).xpos
        assert z - exomars.ExoMars().wheel_radius > grid.height(x, y)
    sim.step(400)  # 2 s at most: it stands
    assert np.abs(sim.data.qvel).max() < 0.2
    assert np.isfinite(sim.data.qpos).all()


def test_a_course_beyond_the_imported_ground_is_refused(tmp_path):
    np.savez(tmp_path / "small.npz", heights=np.zeros((5, 5)), spacing=0.5, origin=(-1.0, -1.0))
    with pytest.raises(InputError, match=r"terrain: the course at .* m is beyond the ground"):
        built(terrain=str(tmp_path / "small.npz"))
    with pytest.raises(InputError, match="terrain and slope_deg are both given"):
        built(terrain=str(tmp_path / "small.npz"), slope_deg=3.0)


def test_work_of_the_motors_is_what_soil_takes():
    """Over 3 s of a steady drive: motors = soil + potential energy, soil from its effective wrenches, in every step."""
    sim = built(waypoints=[[0, 0], [3, 0]])
    module, meter = sim.modules[0], sim.controllers[0]
    sim.step(round(6 / sim.step_size))
    motion, out, work = module.motion, module.out, 0.0
    wheels = list(range(6))
    period = round(0.05 / sim.step_size)

    def potential():
        return exomars.MARS * float(sim.data.xipos[:, 2] @ sim.model.body_mass)

    sim.step(period - sim.steps % period)  # to where the meter acts
    sim.step()
    start, lifted = meter.energy.sum(), potential()
    for _ in range(60 * period):
        before = np.concatenate(
            [motion.velocity.numpy()[0, wheels], motion.angular_velocity.numpy()[0, wheels]], axis=1
        )
        sim.step()
        after = np.concatenate([motion.velocity.numpy()[0, wheels], motion.angular_velocity.numpy()[0, wheels]], axis=1)
        work -= sim.step_size * float((out.effective.numpy()[0] * (before + after) / 2).sum())
    assert meter.energy.sum() - start == pytest.approx(work + potential() - lifted, rel=ENERGY)


def test_crabbing_keeps_the_heading():
    sim = built(mode="crab", waypoints=[[0, 0], [0.3, 0.0], [0.5, 0.15]], erosion=False)
    first = math.atan2(sim.data.xmat[1][3], sim.data.xmat[1][0])
    sim.step(round(10 / sim.step_size))
    assert math.atan2(sim.data.xmat[1][3], sim.data.xmat[1][0]) == pytest.approx(first, abs=math.radians(1))
    assert np.ptp(read(sim, "drive/steer_angle")) < math.radians(2)
    assert read(sim, "path/progress") > 0.25


def test_across_a_slope_the_margin_is_less_by_the_roll():
    """Centre as high as half the track is wide: 45 degrees on level ground."""
    sim = built(slope_deg=12, slope_direction_deg=90, erosion=False)
    sim.step(round(2 / sim.step_size))
    row = sim.data.xmat[1]
    roll = math.atan2(row[7], row[8])
    assert roll == pytest.approx(math.radians(12), abs=2 * ROLL)
    assert read(sim, "tip_over/margin") == pytest.approx(math.pi / 4 - roll, abs=ROLL)


@pytest.mark.parametrize("direction_deg", [0, 90, 210])
def test_the_rover_starts_on_the_slope_with_all_wheels(direction_deg):
    sim = built(slope_deg=20, slope_direction_deg=direction_deg, waypoints=[[1, 2], [2, 3]], mode="point-turn")
    ids = [sim.model.body(f"wheel_{name}").id for name in exomars.WHEELS]
    centres = sim.data.xpos[ids]
    rise = math.radians(direction_deg)
    steep, p = math.radians(20), exomars.ExoMars()
    normal = np.array([-math.sin(steep) * math.cos(rise), -math.sin(steep) * math.sin(rise), math.cos(steep)])
    np.testing.assert_allclose(centres @ normal, p.wheel_radius + p.grouser_height, atol=1e-9)
    np.testing.assert_allclose(sim.data.xpos[1][:2], (1, 2), atol=1e-12)
    assert math.atan2(sim.data.xmat[1][3], sim.data.xmat[1][0]) == pytest.approx(math.pi / 4, abs=1e-9)


def test_a_run_continues_from_its_checkpoint_bit_for_bit():
    """Rover, soil and all controllers, in a fresh simulation, while it steers."""
    sim = built(erosion=False)
    sim.step(700)
    saved = sim.checkpoint()
    sim.step(150)
    fresh = built(erosion=False)
    fresh.restore(saved)
    fresh.step(150)
    different = [
        one.name
        for one, other in zip(sim.channels(), fresh.channels(), strict=True)
        if not np.array_equal(one.read(), other.read(), equal_nan=True)
    ]
    assert different == []
    np.testing.assert_array_equal(sim.data.qpos, fresh.data.qpos)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"speed": 0.2}, r"speed = 0.2 m/s: allowed is at most 0.0712 m/s"),
        ({"waypoints": [[0, 0]]}, r"waypoints.*two or more finite pairs"),
        ({"waypoints": [[0, 0], [0, 0]]}, r"waypoints.*none is given twice in a row"),
        ({"mode": "hover"}, r"mode.*ackermann.*crab.*point-turn"),
        ({"rover.mass": 50}, r"rover: mass: 50 kg is not allowed"),
        ({"rover.wheels": 8}, r"rover.wheels"),
    ],
)
def test_bad_settings_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        built(**changes)


@pytest.mark.long
@pytest.mark.parametrize("mode", ["ackermann", "crab", "point-turn"])
def test_the_whole_course(mode, tmp_path):
    """Sideways slip on level sand costs centimetres; rims without their grousers roll less far than the rover goes."""
    outcome = grouser.run("rover-course", mode=mode, out=tmp_path / "run", report=False)
    m = outcome.metrics
    assert m["course_completed"] is True
    assert m["cross_track_error_max_m"] < 0.03
    assert m["odometry_error_rel"] < 0.05
    assert abs(m["slip_mean"]) < 0.07  # a grouser of 10 mm on a rim of 142.5 mm
    assert m["distance_m"] == pytest.approx(6.93, abs=0.1)
    assert not outcome.notes


@pytest.mark.long
def test_a_point_turn_on_sand_turns_on_the_spot():
    """A right angle: the wheels wait for the steering, the heading changes, the middle of the rover hardly moves."""
    sim = built(mode="point-turn", waypoints=[[0, 0], [0.3, 0], [0.3, 0.3]])
    follower = sim.controllers[4]
    waited, places, headings = False, [], []
    for _ in range(700):
        sim.step(round(0.1 / sim.step_size))
        waited |= bool(read(sim, "drive/waiting"))
        if follower.turning[0] and not read(sim, "drive/waiting"):
            places.append(sim.data.xpos[1][:2].copy())
            headings.append(math.atan2(sim.data.xmat[1][3], sim.data.xmat[1][0]))
        if follower.ended[0]:
            break
    assert waited
    assert follower.ended[0]
    assert headings[-1] == pytest.approx(math.pi / 2, abs=math.radians(3))
    assert np.hypot(*np.ptp(places, axis=0)) < 0.03
