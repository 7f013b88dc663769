"""Sensors in a simulation: geometry, noise, rates, recordings, checkpoints."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest

import grouser
from grouser.errors import InputError
from grouser.recording import Recording
from grouser.sensors import DepthCamera, Imu, Lidar
from grouser.simulation import Simulation
from grouser.terrain import ElevationGrid, soil
from grouser.terrain.ground import Ground

EXACT = (0.0, 0.0, 0.0)
QUIET = {"acceleration_noise": 0.0, "acceleration_bias": 0.0, "angular_noise": 0.0, "angular_bias": 0.0}
ROUND_OFF = 1e-9  # [m]


def carrier(height=1.0, falls=False, gravity=(0, 0, -9.81), slope=0.0) -> Simulation:
    """A body without geoms at a height [m] over the origin of ground 20 m x 20 m, z = slope x."""
    spec = mujoco.MjSpec()
    spec.option.gravity = gravity
    body = spec.worldbody.add_body(
        name="mast", pos=[0, 0, height], mass=1.0, ipos=[0, 0, 0], inertia=[1, 1, 1], explicitinertial=True
    )
    if falls:
        body.add_freejoint()
    axis = np.linspace(-10, 10, 21)
    grid = ElevationGrid(np.tile(slope * axis, (21, 1)), 1.0, (-10.0, -10.0))
    return Simulation(spec, ground=Ground(grid, soil("dry-sand"), 0.05), step=1e-3)


def test_depth_of_a_level_plane_is_that_of_the_axis():
    sim = carrier(height=2.0)
    down = sim.add_sensor(DepthCamera("down", "mast", angles_deg=(0, 90, 0), noise=EXACT, width=32, height=24))
    sim.step()
    np.testing.assert_allclose(down.range[0], 2.0, atol=ROUND_OFF)


def test_depth_camera_ahead_sees_the_plane_below_the_horizon():
    """Pixel row v of a level camera at height h: depth h f / (v - c); above the horizon nothing."""
    sim = carrier(height=1.0)
    camera = DepthCamera("front", "mast", noise=EXACT, width=64, height=48, farthest=8.0)
    seen = sim.add_sensor(camera)
    sim.step()
    down = np.arange(48) - 23.5
    with np.errstate(divide="ignore"):
        expected = np.where(down > 0, camera.focal_length / down, np.inf)
    expected = np.where(expected <= 8.0, expected, np.inf)
    np.testing.assert_allclose(seen.range[0], np.tile(expected[:, None], (1, 64)), atol=1e-8)


def test_pitch_yaw_and_position_turn_the_rays():
    """A lidar with yaw 90 deg and pitch 30 deg on a slope along y: closed form; a wrong pose misses."""
    sim = carrier(height=1.0, slope=0.3)
    where = {"position": (0.5, -0.2, 0.4), "angles_deg": (0.0, 30.0, 180.0)}
    right = Lidar("right", "mast", columns=1, horizontal_deg=1.0, vertical_deg=(0, 0), noise=EXACT, **where)
    wrong = Lidar("wrong", "mast", columns=1, horizontal_deg=1.0, vertical_deg=(0, 0), noise=EXACT,
                  position=(0.5, -0.2, 0.4), angles_deg=(0.0, -30.0, 180.0))  # fmt: skip
    found, missed = sim.add_sensor(right), sim.add_sensor(wrong)
    sim.step()
    # From (0.5, -0.2, 1.4) along (-cos 30, 0, -sin 30) to z = 0.3 x.
    c, s = math.cos(math.radians(30)), math.sin(math.radians(30))
    assert found.range[0, 0, 0] == pytest.approx((1.4 - 0.15) / (s - 0.3 * c), abs=ROUND_OFF)
    assert np.isinf(missed.range).all()
    np.testing.assert_allclose(found.pose(sim.data)[0], [0.5, -0.2, 1.4], atol=1e-12)


def test_lidar_angles_run_from_right_to_left_and_from_below_upwards():
    lidar = Lidar("l", "b", columns=4, rows=2, vertical_deg=(-10, 20))
    np.testing.assert_allclose(np.degrees(lidar.azimuths), [-180, -90, 0, 90])
    np.testing.assert_allclose(np.degrees(lidar.elevations), [-10, 20])
    np.testing.assert_allclose(lidar.directions()[0, 3], [0, math.cos(math.radians(10)), -math.sin(math.radians(10))],
                               atol=1e-15)  # fmt: skip
    part = Lidar("l", "b", columns=3, horizontal_deg=90)
    np.testing.assert_allclose(np.degrees(part.azimuths), [-45, 0, 45])


def test_points_lie_on_the_plane():
    sim = carrier(height=1.5)
    lidar = sim.add_sensor(Lidar("top", "mast", columns=90, rows=4, vertical_deg=(-60, -30), noise=EXACT))
    camera = sim.add_sensor(DepthCamera("front", "mast", angles_deg=(0, 40, 0), noise=EXACT, width=16, height=12))
    sim.step()
    for one in (lidar, camera):
        origin, axes = one.pose(sim.data)
        points = origin + one.points() @ axes.T
        finite = np.isfinite(points).all(axis=-1)
        assert finite.sum() > 100
        np.testing.assert_allclose(points[finite][:, 2], 0.0, atol=1e-8)


def test_noise_has_the_stated_spread_and_depends_on_the_seed():
    sim = carrier(height=2.0)
    shape = {"columns": 200, "rows": 200, "horizontal_deg": 0.01, "vertical_deg": (0, 0.01), "angles_deg": (0, 90, 0)}
    noise = (0.003, 0.001, 0.002)
    one = sim.add_sensor(Lidar("one", "mast", noise=noise, dropout=0.25, seed=1, **shape))
    same = sim.add_sensor(Lidar("same", "mast", noise=noise, dropout=0.25, seed=1, **shape))
    other = sim.add_sensor(Lidar("other", "mast", noise=noise, dropout=0.25, seed=2, **shape))
    sim.step()
    lost = np.isnan(one.range[0])
    rays = lost.size
    assert abs(lost.mean() - 0.25) < 4 * math.sqrt(0.25 * 0.75 / rays)
    spread = 0.003 + 0.001 * 2 + 0.002 * 4
    error = one.range[0][~lost] - 2.0
    assert abs(error.mean()) < 4 * spread / math.sqrt(rays * 0.75)
    assert error.std() == pytest.approx(spread, rel=4 / math.sqrt(2 * rays * 0.75))
    np.testing.assert_array_equal(one.range, same.range)
    assert not np.array_equal(one.range, other.range)


def test_too_near_and_too_far():
    sim = carrier(height=2.0)
    down = {"angles_deg": (0, 90, 0), "columns": 1, "horizontal_deg": 1.0, "vertical_deg": (0, 0), "noise": EXACT}
    near = sim.add_sensor(Lidar("near", "mast", nearest=2.1, **down))
    far = sim.add_sensor(Lidar("far", "mast", farthest=1.9, **down))
    sim.step()
    assert near.range[0, 0, 0] == -math.inf
    assert far.range[0, 0, 0] == math.inf


def test_imu_at_rest_in_fall_and_turning():
    rest, fall = carrier(), carrier(falls=True)
    tilted = rest.add_sensor(Imu("imu", "mast", angles_deg=(0, 90, 0), **QUIET))
    free = fall.add_sensor(Imu("imu", "mast", **QUIET))
    rest.step(25)
    fall.step(25)
    np.testing.assert_allclose(tilted.acceleration[0], [-9.81, 0, 0], atol=1e-9)  # x looks down
    np.testing.assert_allclose(free.acceleration[0], 0.0, atol=1e-9)
    turning = carrier(falls=True, gravity=(0, 0, 0))
    turning.data.qvel[3:] = [0, 0, 2.0]
    outer = turning.add_sensor(Imu("imu", "mast", position=(0.5, 0, 0), **QUIET))
    turning.step(25)
    # The mean over 10 ms, at the angle of its end: the change of direction of 0.01 rad is the error.
    np.testing.assert_allclose(outer.acceleration[0], [-2.0, 0, 0], atol=0.5 * 0.02 * 2.0)
    np.testing.assert_allclose(outer.angular_velocity[0], [0, 0, 2.0], atol=1e-9)


def test_imu_noise():
    sim = carrier()
    imu = sim.add_sensor(
        Imu("imu", "mast", rate=1000, acceleration_noise=0.1, acceleration_bias=0.0, angular_noise=0.2)
    )
    values = []
    for _ in range(600):
        sim.step()
        values.append(np.concatenate([imu.acceleration[0], imu.angular_velocity[0]]))
    spread = np.nanstd(values, axis=0)
    np.testing.assert_allclose(spread, [0.1] * 3 + [0.2] * 3, rtol=4 / math.sqrt(1200))


def test_rut_of_a_wheel_is_seen_and_agrees_with_the_ground():
    """A camera behind a cart looks down at a rut; heights from its points are those of the ground there."""
    sim = grouser.on_soil(grouser.CART, soil="dry-sand", bodies="wheel.*", drive={"motor.*": 0.4})
    looks = {"angles_deg": (0, 90, 0), "width": 80, "height": 60, "noise": EXACT, "nearest": 0.0}
    x, y, z = sim.data.body("wheel_fl").xpos - sim.data.body("chassis").xpos
    camera = sim.add_sensor(DepthCamera("down", "chassis", position=(x - 0.25, y, 0.6), rate=2, **looks))
    aside = sim.add_sensor(DepthCamera("aside", "chassis", position=(x - 0.25, y + 1.2, 0.6), rate=2, **looks))
    sim.step(800)
    camera.sample(sim.time, sim.engine.data)
    aside.sample(sim.time, sim.engine.data)

    def soil_points(one):
        origin, axes = one.pose(sim.data)
        points = (origin + one.points() @ axes.T).reshape(-1, 3)
        exact = _height(sim.ground, points[:, 0], points[:, 1])
        return points, np.abs(points[:, 2] - exact) < 1e-6

    points, on_ground = soil_points(camera)
    assert on_ground.mean() > 0.3  # the others are wheels and chassis
    assert points[on_ground, 2].min() < -0.005  # the rut
    others, level = soil_points(aside)
    assert level.mean() > 0.5
    assert others[level, 2].min() > -0.001  # no rut beside the track


def _height(ground, x, y):
    """Bilinear heights [m] of the present ground at points."""
    (x0, y0), h = ground.elevation.origin, ground.spacing
    x_low, y_low = x.min() - 2 * h, y.min() - 2 * h
    c0, r0 = math.floor((x_low - x0) / h + 0.5), math.floor((y_low - y0) / h + 0.5)
    grid = ground.heights(region=(x_low, x.max() + 2 * h, y_low, y.max() + 2 * h))
    return ElevationGrid(grid, h, (x0 + c0 * h, y0 + r0 * h)).height(x, y)


def test_recorded_at_its_own_rate(tmp_path):
    sim = carrier(height=1.0)
    sim.add_sensor(Lidar("scan", "mast", columns=8, vertical_deg=(-45, -45), noise=EXACT, rate=5))
    sim.add_sensor(Imu("imu", "mast", rate=200, **QUIET))
    grouser.record(sim, tmp_path / "run", 1.0, rate=50, report=False)
    with Recording(tmp_path / "run" / "recording.h5") as recording:
        scans = np.concatenate(recording["sensor/scan/time"])
        np.testing.assert_allclose(scans, np.arange(6) / 5, atol=1e-12)
        ranges = np.concatenate(recording["sensor/scan/range"])
        assert ranges.shape == (6, 1, 8)
        np.testing.assert_allclose(ranges, math.sqrt(2), atol=1e-6)
        assert len(np.concatenate(recording["sensor/imu/acceleration"])) == 200  # none at the start
        assert [one["name"] for one in recording.header["sensors"]] == ["scan", "imu"]
        for k, times in enumerate(recording["sensor/imu/time"]):  # a frame has the samples since the last frame
            assert all(recording.time[k] - 0.02 < t <= recording.time[k] for t in times)


def test_checkpoint_and_reset_repeat_the_samples():
    sim = carrier(height=1.0)
    lidar = sim.add_sensor(Lidar("scan", "mast", columns=16, vertical_deg=(-45, -45), rate=100))
    sim.add_sensor(Imu("imu", "mast"))
    sim.step(25)
    saved = sim.checkpoint()
    sim.step(30)
    first = lidar.range.copy()
    sim.restore(saved)
    sim.step(30)
    np.testing.assert_array_equal(lidar.range, first)
    sim.reset()
    assert np.isnan(lidar.range).all()
    sim.step(55)
    np.testing.assert_array_equal(lidar.range, first)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Lidar("", "mast"), "name"),
        (lambda: Lidar("a/b", "mast"), "name"),
        (lambda: Lidar("a", "mast", columns=0), "columns"),
        (lambda: Lidar("a", "mast", columns=5000, rows=5000), "rays"),
        (lambda: Lidar("a", "mast", vertical_deg=(10, -10)), "lower angle first"),
        (lambda: Lidar("a", "mast", position=(1, 2)), "3 numbers"),
        (lambda: Lidar("a", "mast", noise=(-1, 0, 0)), "at least 0"),
        (lambda: Lidar("a", "mast", farthest=0.05), "farthest"),
        (lambda: DepthCamera("a", "mast", horizontal_deg=180), "horizontal_deg"),
        (lambda: Imu("a", "mast", rate=0), "rate"),
        (lambda: Imu("a", "mats"), "did you mean 'mast'"),
        (lambda: Imu("a", "mast", rate=5000), "1000 Hz"),
    ],
)
def test_mistakes_are_named_in_one_line(make, words):
    with pytest.raises(InputError, match=words) as caught:
        carrier().add_sensor(make())
    assert "\n" not in str(caught.value)
