"""Path following on perfect wheels: what is left is the geometry of the controller."""

import math

import numpy as np
import pytest

from grouser.control import Drive, Odometry, Path, PathFollower
from grouser.control.follower import HEADING_GAIN
from grouser.errors import InputError
from tests.control.vehicle import Rolling, wheels_of

PERIOD, SPEED = 0.05, 0.2
TRAVEL = PERIOD * SPEED  # [m] in a period: the resolution of everything here
LANE = [(0, 0), (1.1, 0.07), (2.2, 0.42), (3.25, 1.0), (4.3, 1.58), (5.4, 1.93), (6.5, 2)]


def followed(path, mode="ackermann", start=(0.0, 0.0, 0.0), duration=None, **options):
    """Errors, headings, the follower and the rig, along the whole path."""
    rig = Rolling([], start)
    drive = Drive(wheels_of(rig.model), period=PERIOD)
    follower = PathFollower(path, drive, SPEED, mode, period=PERIOD, **options)
    odometry = Odometry(drive.wheels, period=PERIOD)
    rig.controllers = [odometry, follower, drive]
    errors = []

    def twist():
        errors.append(follower.error[0])
        return drive.twist[0] * drive.pace[0]

    poses = rig.run(duration or 1.3 * path.length / SPEED + 3, twist, PERIOD)
    return np.array(errors), poses, follower, odometry


def test_a_straight_line_is_driven_to_its_end_and_no_farther():
    errors, poses, follower, odometry = followed(Path([(0, 0), (2, 0)]))
    assert np.abs(errors).max() < 1e-12
    assert follower.ended[0]
    assert poses[-1, 0] == pytest.approx(2, abs=TRAVEL)
    assert poses[-1, 0] == poses[-20, 0]
    assert odometry.error[0] < 1e-9


def test_on_a_circle_pure_pursuit_is_exact():
    """The arc through a place on a circle, along its tangent, and another place on it is that circle."""
    angle = np.linspace(0, 1.9 * np.pi, 600)
    path = Path(np.column_stack([2 * np.sin(angle), 2 - 2 * np.cos(angle)]))
    errors, _, follower, _ = followed(path)
    polygon = 2 * (1 - math.cos(angle[1] / 2))  # [m] its sides lie this far inside the circle
    arc = SPEED * PERIOD * np.arange(len(errors))
    on_the_circle = arc < path.length - follower.look_ahead  # beyond, the goal lies past the end
    assert np.abs(errors[on_the_circle]).max() < 10 * polygon
    assert follower.ended[0]


def test_an_offset_dies_out():
    """From 0.2 m beside the path: in the linear theory of pursuit y'' + 2 y'/L + 2 y/L^2 = 0 over the way."""
    errors, poses, _, _ = followed(Path([(0, 0), (8, 0)]), start=(0, 0.2, 0), look_ahead=0.6)
    way = poses[:, 0]
    rate = way / 0.6
    linear = 0.2 * np.exp(-rate) * (np.cos(rate) + np.sin(rate))
    # Terms of second order in the angle 0.2/0.6, and the ramp at the start.
    np.testing.assert_allclose(errors, linear, atol=0.2 * (0.2 / 0.6) ** 2)
    assert np.abs(errors[way > 5]).max() < 1e-3


def test_on_an_s_shaped_course_the_error_is_of_third_order_in_the_look_ahead():
    """Where curvature changes by k' a metre the goal lies k' L^3 / 6 beside the arc, and so does the vehicle."""
    greatest = []
    for look_ahead in (0.6, 0.3):
        errors, poses, follower, _ = followed(Path(LANE, smooth=True), look_ahead=look_ahead)
        assert follower.ended[0]
        greatest.append(np.abs(errors).max())
        assert np.hypot(*(poses[-1, :2] - LANE[-1])) < greatest[-1] + TRAVEL
    assert greatest[0] < 0.03
    assert greatest[0] / greatest[1] == pytest.approx(8, rel=0.5)


def test_crab_keeps_the_heading_on_the_way():
    errors, poses, follower, odometry = followed(Path(LANE, smooth=True), "crab", start=(0, 0, 0.1))
    assert follower.ended[0]
    np.testing.assert_allclose(poses[:, 2], 0.1, atol=1e-9)
    assert np.abs(errors).max() < 2 * TRAVEL
    assert np.hypot(*(poses[-1, :2] - LANE[-1])) < 2 * TRAVEL


def test_crab_turns_back_to_its_heading():
    """Pushed round by 0.02 rad: the error dies out as exp(-gain t) while the vehicle goes on along the path."""
    rig = Rolling([])
    drive = Drive(wheels_of(rig.model), period=PERIOD)
    follower = PathFollower(Path([(0, 0), (6, 1)]), drive, SPEED, "crab", period=PERIOD)
    rig.controllers = [follower, drive]
    rig.run(2.0, lambda: drive.twist[0] * drive.pace[0], PERIOD)
    rig.pose[2] += 0.02
    rig.place(rig.pose)
    headings = rig.run(10.0, lambda: drive.twist[0] * drive.pace[0], PERIOD)[:, 2]
    expected = 0.02 * np.exp(-HEADING_GAIN * PERIOD * np.arange(200))
    np.testing.assert_allclose(headings, expected, atol=0.02 * PERIOD)  # it acts once a period
    assert abs(follower.error[0]) < 2 * TRAVEL


def test_point_turns_at_corners():
    """A square: straight legs, and at each corner the heading changes while the vehicle stands."""
    square = [(0, 0), (1, 0), (1, 1), (0, 1), (0, 0.2)]
    errors, poses, follower, odometry = followed(Path(square), "point-turn", duration=120)
    assert follower.ended[0]
    assert np.abs(errors).max() < 0.02
    moved = np.hypot(*np.diff(poses[:, :2], axis=0).T)
    turned = np.abs(np.diff(poses[:, 2]))
    assert moved[turned > 1e-3].max() < 1e-9
    for x, y in square[1:-1]:
        at = np.hypot(poses[:-1, 0] - x, poses[:-1, 1] - y) < 0.02
        assert np.sum(np.diff(poses[:, 2])[at]) == pytest.approx(np.pi / 2, abs=0.15)


def test_another_point_of_the_chassis_can_follow():
    """A fixed rear axle: its middle goes along the path, the chassis' origin beside it."""
    path = Path(LANE, smooth=True)
    errors, poses, _, _ = followed(path, axle=-0.65, start=(0.65, 0, 0))
    same, _, _, _ = followed(path)
    assert np.abs(errors).max() == pytest.approx(np.abs(same).max(), rel=0.05)  # its wheels wait at the start
    rear = poses[:, :2] - 0.65 * np.column_stack([np.cos(poses[:, 2]), np.sin(poses[:, 2])])
    for k in range(0, len(rear), 50):
        assert path.locate(*rear[k])[2] == pytest.approx(errors[k], abs=1e-9)


def test_the_curvature_stays_within_what_wheels_can_steer():
    """A corner of 90 degrees with wheels that turn 20 degrees: no sideways slip is asked for."""
    rig = Rolling([])
    wheels = wheels_of(rig.model)
    narrow = type(wheels)(wheels.positions, wheels.radius, np.full(6, math.radians(20)), wheels.drive, wheels.steer)
    drive = Drive(narrow, period=PERIOD)
    follower = PathFollower(Path([(0, 0), (2, 0), (2, 2)]), drive, SPEED, period=PERIOD)
    rig.controllers = [follower, drive]
    curvatures = []

    def twist():
        curvatures.append(drive.twist[0, 2] / SPEED)
        return drive.twist[0] * drive.pace[0]

    rig.run(20, twist, PERIOD)
    assert max(curvatures) == pytest.approx(follower.sharpest)
    assert follower.sharpest == pytest.approx(1 / (0.65 / math.tan(math.radians(20)) + 0.6))


def test_what_cannot_be_is_refused():
    rig = Rolling([])
    drive = Drive(wheels_of(rig.model))
    with pytest.raises(InputError, match="PathFollower: mode = 'fly': allowed are ackermann, crab, point-turn"):
        PathFollower(Path(LANE), drive, SPEED, "fly")
    with pytest.raises(InputError, match="PathFollower: speed = 0"):
        PathFollower(Path(LANE), drive, 0)
