"""Sensors sample at their rate, see what is in their field, and their noise repeats with its seed."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest

from grouser.control.docking_sensors import ContactSwitches, Mount, StereoCamera, wall_distance
from grouser.errors import InputError
from grouser.simulation import Simulation

ROUND_OFF = 1e-12
STEP = 0.01  # [s]


def camera(**more) -> StereoCamera:
    given = {
        "rate": 5.0, "bearing_noise": 1e-3, "depth_noise": 2e-3, "attitude_noise": 3e-3, "half_field_deg": 20.0,
        "farthest": 10.0,
    } | more  # fmt: skip
    return StereoCamera(Mount("eye", (0, 0, 0), np.eye(3)), Mount("target", (0, 0, 0), np.eye(3)), **given)


def scene(place=(0.1, -0.2, 2.0), *sensors) -> Simulation:
    spec = mujoco.MjSpec()
    spec.option.gravity = [0, 0, 0]
    for name, at in (("eye", (0, 0, 0)), ("target", place)):
        body = spec.worldbody.add_body(name=name, pos=at)
        body.add_freejoint()
        body.mass, body.inertia, body.ipos, body.explicitinertial = 1.0, [1, 1, 1], [0, 0, 0], True
    return Simulation(spec, [], controllers=sensors, step=STEP)


def samples(eye: StereoCamera, place, count: int) -> tuple[np.ndarray, np.ndarray]:
    data = scene(place).data
    found = []
    for _ in range(count):
        eye.act(0.0, data, None)
        found.append([*eye.position, *eye.tilt])
    return np.array(found), np.array([*place, 0, 0, 0])


def test_camera_samples_at_its_rate():
    eye = camera(rate=5.0)
    scene((0, 0, 2.0), eye).step(round(4 / STEP))
    assert eye.count[0] == eye.measurement_count[0] == 20


def test_noise_has_the_size_set():
    eye, place = camera(), (0.1, -0.2, 2.0)
    found, truth = samples(eye, place, 2000)
    far = float(np.linalg.norm(place))
    expected = [1e-3 * far, 1e-3 * far, 2e-3 * far**2, 3e-3, 3e-3, 3e-3]
    assert np.std(found, axis=0) == pytest.approx(expected, rel=0.08)  # 1 / sqrt(2 n) is 1.6 %
    assert np.abs(np.mean(found, axis=0) - truth) / expected == pytest.approx(np.zeros(6), abs=0.1)


def test_noise_repeats_with_its_seed_and_only_with_it():
    first, again, other = (samples(camera(seed=seed), (0, 0, 2.0), 5)[0] for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).all()


def test_calibration_errors_stay():
    eye = camera(bearing_noise=0, depth_noise=0, attitude_noise=0, bias=(0.01, 0, 0), tilt_bias=(0, 0.02, 0))
    found, _ = samples(eye, (0.1, 0, 2.0), 2)
    assert found[1] == pytest.approx([0.11, 0, 2.0, 0, 0.02, 0], abs=ROUND_OFF)


@pytest.mark.parametrize(
    ("place", "seen"), [((0, 0, 2), True), ((0.7, 0, 2), True), ((0.8, 0, 2), False), ((0, 0, 11), False),
                        ((0, 0, -2), False)],
)  # fmt: skip
def test_only_what_is_in_the_field_of_view_is_seen(place, seen):
    eye = camera()
    eye.act(0.0, scene(place).data, None)
    assert eye.seen[0] == seen
    assert eye.measurement_count[0] == seen


def test_distance_to_a_cylinder_and_a_cone():
    origins = np.array([[0.0, 0, 0], [0.02, 0, 0.0], [0.0, 0, 0.0]])
    directions = np.array([[1.0, 0, 0], [1.0, 0, 0], [0, 0, 1.0]])
    found = wall_distance(origins, directions, np.array([-1.0, 1.0]), np.array([0.1, 0.1]))
    assert found[:2] == pytest.approx([0.1, 0.08], abs=ROUND_OFF)
    assert math.isinf(found[2])  # along the axis of a tube open at its ends
    slanted = np.array([[0, math.sqrt(0.5), math.sqrt(0.5)]])
    found = wall_distance(np.zeros((1, 3)), slanted, np.array([-1.0, 1.0]), np.array([2.0, 0.0]))  # r = 1 - z
    assert found == pytest.approx([math.sqrt(0.5)], abs=ROUND_OFF)


def test_switches_close_above_their_force():
    assert ContactSwitches(lambda: np.array([0.4, 0.6]), 0.5).closed().tolist() == [False, True]


def test_bad_rates_are_refused():
    with pytest.raises(InputError, match="rate"):
        camera(rate=0.0)
    with pytest.raises(InputError, match="bearing_noise"):
        camera(bearing_noise=-1.0)
