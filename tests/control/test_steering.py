"""Steering angles and wheel speeds against the geometry of rigid motion in the plane."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grouser.control.steering import (
    ackermann,
    centre_of_rotation,
    crab,
    point_turn,
    rolling_speeds,
    sharpest_curvature,
    steer_angles,
    wheel_velocities,
)

ROUND_OFF = 1e-12  # a few operations on numbers of order one
SIX = np.array([[0.65, 0.6], [0.65, -0.6], [0.0, 0.6], [0.0, -0.6], [-0.65, 0.6], [-0.65, -0.6]])
FREE = np.full(6, math.radians(110))

speeds = st.floats(-1, 1).filter(lambda x: x == 0 or abs(x) > 1e-3)
twists = st.tuples(speeds, speeds, speeds).filter(any)
layouts = st.lists(st.tuples(st.floats(-2, 2), st.floats(-2, 2)), min_size=1, max_size=8).map(np.array)


def steered(twist, positions=SIX, limits=FREE, present=None):
    u = wheel_velocities(twist, positions)
    angles = steer_angles(u, np.zeros(len(positions)) if present is None else present, limits)
    return u, angles, rolling_speeds(u, angles)


@given(twists, layouts)
def test_no_wheel_slips_sideways_and_all_roll_as_the_chassis_moves(twist, positions):
    """An independent oracle: positions a moment later, by a rotation about the centre, differ along the wheel only."""
    limits = np.full(len(positions), np.pi)
    _, angles, speed = steered(twist, positions, limits)
    vx, vy, wz = twist
    dt = 1e-6
    c, s = math.cos(wz * dt), math.sin(wz * dt)
    after = positions @ np.array([[c, s], [-s, c]]) + np.array([vx, vy]) * dt
    moved = (after - positions) / dt
    along = np.column_stack([np.cos(angles), np.sin(angles)])
    truncation = np.abs(wz) * dt * (np.abs(positions).max() * np.abs(wz) + 1) + 1e-9  # of the difference quotient
    np.testing.assert_allclose(moved, speed[:, None] * along, atol=truncation)


@given(st.floats(-0.9, 0.9).filter(lambda k: abs(k) > 1e-2), st.floats(-0.5, 0.5))
def test_every_axle_points_at_the_centre_of_rotation(curvature, axle):
    twist = ackermann(0.05, curvature, axle)
    centre = centre_of_rotation(twist)
    np.testing.assert_allclose(centre, (axle, 1 / curvature), rtol=ROUND_OFF, atol=ROUND_OFF)
    _, angles, _ = steered(twist)
    arms = SIX - centre
    across = arms[:, 0] * np.cos(angles) + arms[:, 1] * np.sin(angles)  # the wheel's direction is square to its arm
    assert np.abs(across).max() < ROUND_OFF * (1 + 1 / abs(curvature))


def test_ackermann_angles_of_a_textbook_car():
    """cot(outer) - cot(inner) = track / wheelbase, rear wheels straight (the axle that cannot be steered)."""
    wheelbase, track, radius = 2.5, 1.5, 6.0
    car = np.array([[wheelbase, track / 2], [wheelbase, -track / 2], [0.0, track / 2], [0.0, -track / 2]])
    _, angles, speed = steered(ackermann(1.0, 1 / radius), car, np.array([0.7, 0.7, 0.0, 0.0]))
    inner, outer = angles[:2]
    assert inner == pytest.approx(math.atan(wheelbase / (radius - track / 2)), rel=ROUND_OFF)
    assert 1 / math.tan(outer) - 1 / math.tan(inner) == pytest.approx(track / wheelbase, rel=ROUND_OFF)
    np.testing.assert_allclose(angles[2:], 0, atol=ROUND_OFF)
    np.testing.assert_allclose(speed[2:], [1 - track / 2 / radius, 1 + track / 2 / radius], rtol=ROUND_OFF)


@pytest.mark.parametrize("direction_deg", [-80, -30, 0, 45, 90])
def test_crab_angles_are_equal(direction_deg):
    direction = math.radians(direction_deg)
    _, angles, speed = steered(crab(0.05, direction))
    np.testing.assert_allclose(angles, direction, atol=ROUND_OFF)
    np.testing.assert_allclose(speed, 0.05, rtol=ROUND_OFF)


def test_crab_beyond_the_limit_reverses():
    """150 degrees cannot be steered: -30 degrees, rolling backwards."""
    _, angles, speed = steered(crab(0.05, math.radians(150)))
    np.testing.assert_allclose(angles, math.radians(-30), atol=ROUND_OFF)
    np.testing.assert_allclose(speed, -0.05, rtol=ROUND_OFF)


@pytest.mark.parametrize("centre", [(0.0, 0.0), (0.3, -0.2), (0.65, 0.6)])
def test_a_point_turn_leaves_its_centre_where_it_is(centre):
    twist = point_turn(0.2, centre)
    assert np.abs(wheel_velocities(twist, np.array([centre]))).max() < ROUND_OFF
    np.testing.assert_allclose(centre_of_rotation(twist), centre, atol=ROUND_OFF)
    u, angles, speed = steered(twist)
    np.testing.assert_allclose(np.abs(speed), 0.2 * np.hypot(*(SIX - centre).T), atol=ROUND_OFF)
    np.testing.assert_allclose(np.abs(angles) <= FREE, True)


def test_a_wheel_at_the_centre_keeps_its_angle_and_stands():
    present = np.linspace(-1, 1, 6)
    _, angles, speed = steered(point_turn(0.2, (0.65, 0.6)), present=present)
    assert angles[0] == present[0]
    assert speed[0] == 0


@given(twists, st.floats(0.1, np.pi), st.lists(st.floats(-1, 1), min_size=6, max_size=6).map(np.array))
def test_angles_stay_within_limits_and_are_exact_where_they_can_be(twist, limit, share):
    limits = np.full(6, limit)
    u, angles, speed = steered(twist, limits=limits, present=share * limit)
    assert (np.abs(angles) <= limit).all()
    reachable = np.abs(np.arctan2(u[:, 1], u[:, 0])) <= limit
    reachable |= np.abs(np.arctan2(-u[:, 1], -u[:, 0])) <= limit
    stands = np.hypot(*u.T) < 1e-9
    sideways = u[:, 1] * np.cos(angles) - u[:, 0] * np.sin(angles)
    assert np.abs(sideways[reachable & ~stands]).max(initial=0) < ROUND_OFF
    assert (np.abs(speed) <= np.hypot(*u.T) + ROUND_OFF).all()
    if limit >= np.pi / 2 + 1e-9:
        assert reachable.all()


def test_of_two_angles_the_nearer_one_is_taken():
    """With a limit of 110 degrees a velocity at 100 degrees can be had forwards, or at -80 degrees backwards."""
    u = np.array([[math.cos(math.radians(100)), math.sin(math.radians(100))]])
    limit = np.array([math.radians(110)])
    assert steer_angles(u, np.array([math.radians(95)]), limit)[0] == pytest.approx(math.radians(100))
    assert steer_angles(u, np.array([math.radians(-60)]), limit)[0] == pytest.approx(math.radians(-80))


def test_without_steering_it_is_a_skid_steered_vehicle():
    """Left and right rates v -+ w y, whatever x."""
    _, angles, speed = steered((0.3, 0.0, 0.2), limits=np.zeros(6))
    np.testing.assert_array_equal(angles, 0)
    np.testing.assert_allclose(speed, 0.3 - 0.2 * SIX[:, 1], rtol=ROUND_OFF)


@pytest.mark.parametrize("axle", [0.0, -0.3])
@pytest.mark.parametrize("limit_deg", [20, 45, 80])
def test_the_sharpest_curvature_is_where_a_wheel_reaches_its_limit(limit_deg, axle):
    limits = np.full(6, math.radians(limit_deg))
    sharpest = sharpest_curvature(SIX, limits, axle)
    for sign in (1, -1):
        _, angles, _ = steered(ackermann(0.05, sign * sharpest, axle), limits=np.full(6, np.pi))
        assert np.abs(angles).max() == pytest.approx(limits[0], rel=1e-9)


def test_straight_ahead_has_no_centre():
    assert centre_of_rotation((1.0, 0.0, 0.0)) == (0.0, math.inf)
