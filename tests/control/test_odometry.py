"""Odometry is exact without slip, of second order in its period when the twist changes, and wrong by the slip."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grouser.control import Odometry
from grouser.control.odometry import chord, twist_fit
from grouser.control.steering import point_turn, rolling_speeds, steer_angles, wheel_velocities
from tests.control.vehicle import DRIVE, LIMIT, PLACES, RADIUS, STEER, Rolling, vehicle, wheels_of

EXACT = 1e-9  # [m, rad] round-off over some hundred periods
numbers = st.floats(-1, 1)


class Manufactured:
    """A motion given by its twist, constant or over time, and odometry that watches it."""

    def __init__(self, twist, duration, period, slip=0.0, tilt=None, **how):
        self.rig = Rolling([], model=vehicle(**how).compile())
        self.odometry = Odometry(wheels_of(self.rig.model), period=period)
        self.data, self.sign = self.rig.data, -1 if how.get("mirrored") else 1
        self.twist = twist if callable(twist) else lambda t: twist
        rolled, pose, fine = np.zeros(6), np.zeros(3), 20 if callable(twist) else 1
        for k in range(round(duration / period) + 1):
            self._show(self._angles(k * period), rolled)
            self.rig.place(pose, tilt)
            self.odometry.act(k * period, self.data, self.data.ctrl)
            for j in range(fine):  # the truth between two looks, in smaller parts
                t, h = (k + (j + 0.5) / fine) * period, period / fine
                vx, vy, wz = self.twist(t)
                speeds = rolling_speeds(wheel_velocities((vx, vy, wz), PLACES), self._angles(t))
                rolled += speeds * h / RADIUS / (1 - slip)
                dx, dy = chord(vx * h, vy * h, wz * h)
                c, s = math.cos(pose[2]), math.sin(pose[2])
                pose += (c * dx - s * dy, s * dx + c * dy, wz * h)

    def _angles(self, t):
        return steer_angles(wheel_velocities(self.twist(t), PLACES), np.zeros(6), np.full(6, LIMIT))

    def _show(self, angles, rolled):
        for k in range(6):
            self.data.joint(STEER[k]).qpos[0] = self.sign * angles[k]
            self.data.joint(DRIVE[k]).qpos[0] = self.sign * rolled[k]

    @property
    def error(self):
        return float(self.odometry.error[0])


@given(st.tuples(numbers, numbers, numbers), st.lists(st.tuples(numbers, numbers), min_size=2, max_size=8, unique=True))
def test_the_fit_finds_the_twist_of_wheels_that_do_not_slip(twist, places):
    positions = np.array(places)
    if np.ptp(positions, axis=0).max() < 1e-3:
        return  # one point tells no turn
    found = twist_fit(positions) @ wheel_velocities(twist, positions).ravel()
    np.testing.assert_allclose(found, twist, atol=1e-9)


def test_the_fit_is_that_of_least_squares():
    random = np.random.default_rng(3)
    noisy = random.normal(size=(6, 2))
    matrix = np.zeros((12, 3))
    for k, (x, y) in enumerate(PLACES):
        matrix[2 * k], matrix[2 * k + 1] = (1, 0, -y), (0, 1, x)
    expected = np.linalg.lstsq(matrix, noisy.ravel())[0]
    np.testing.assert_allclose(twist_fit(PLACES) @ noisy.ravel(), expected, atol=1e-12)


@pytest.mark.parametrize("turn", [0.0, 1e-9, 1.9e-4, 2.1e-4, 0.3, -2.0])
def test_a_chord_is_the_way_of_many_small_steps(turn):
    steps = 4000
    x = y = 0.0
    for k in range(steps):
        angle = turn * (k + 0.5) / steps
        x += (0.3 * math.cos(angle) - 0.2 * math.sin(angle)) / steps
        y += (0.3 * math.sin(angle) + 0.2 * math.cos(angle)) / steps
    np.testing.assert_allclose(chord(0.3, 0.2, turn), (x, y), atol=turn**2 / steps**2 + 1e-12)


@pytest.mark.parametrize(
    "twist",
    [
        (0.05, 0.0, 0.0),
        (0.05, 0.0, 0.04),
        (-0.03, 0.0, 0.05),
        (0.04, 0.03, 0.0),
        (0.03, -0.02, -0.03),
        point_turn(0.06),
    ],
    ids=["straight", "ackermann", "backwards", "crab", "mixture", "point turn"],
)
@pytest.mark.parametrize("mirrored", [False, True])
def test_odometry_is_exact_without_slip(twist, mirrored):
    run = Manufactured(twist, 20, 0.05, mirrored=mirrored)
    assert run.error < EXACT
    truth = math.atan2(run.data.xmat[1][3], run.data.xmat[1][0])
    assert math.remainder(run.odometry.heading[0] - truth, 2 * math.pi) == pytest.approx(0, abs=EXACT)


def weaving(t):
    return 0.05 + 0.02 * math.sin(0.9 * t), 0.01 * math.sin(0.7 * t), 0.05 * math.cos(0.5 * t)


def test_with_a_changing_twist_the_error_is_of_second_order_in_the_period():
    coarse, fine = (Manufactured(weaving, 12, period).error for period in (0.4, 0.2))
    assert fine < 1e-3
    assert coarse / fine == pytest.approx(4, rel=0.25)  # 2^2, less what remains of higher orders


def slope(angle_deg):
    a = math.radians(angle_deg)
    return np.array([[math.cos(a), 0, math.sin(a)], [0, 1, 0], [-math.sin(a), 0, math.cos(a)]])


@pytest.mark.parametrize("twist", [(0.05, 0.0, 0.05), (0.03, 0.04, 0.03)], ids=["ackermann", "mixture"])
def test_on_a_slope_the_inclinometer_keeps_it_right(twist):
    """Turning on a plane of 20 degrees; without pitch and roll the plan view would be off by percents."""
    coarse, fine = (Manufactured(twist, 40, period, tilt=slope(20)).error for period in (0.4, 0.2))
    assert fine < 1e-3
    assert coarse / fine == pytest.approx(4, rel=0.25)


@pytest.mark.parametrize("slip", [0.1, 0.4])
def test_straight_travel_with_slip_is_off_by_the_slip(slip):
    """Wheels turn 1/(1 - s) as far as the vehicle goes."""
    run = Manufactured((0.05, 0.0, 0.0), 20, 0.05, slip=slip)
    assert run.error == pytest.approx(1.0 * slip / (1 - slip), rel=1e-9)


def test_odometry_starts_where_the_vehicle_is_and_again_after_a_reset():
    rig = Rolling([], start=(3.0, -2.0, 1.0))
    odometry = Odometry(wheels_of(rig.model))
    assert np.isnan(odometry.position).all()
    odometry.act(0.0, rig.data, rig.data.ctrl)
    np.testing.assert_allclose(odometry.position[0], (3, -2, RADIUS), atol=1e-12)
    assert odometry.heading[0] == pytest.approx(1.0)
    rig.place((5.0, 0.0, 0.0))
    odometry.reset([0])
    odometry.act(0.0, rig.data, rig.data.ctrl)
    assert odometry.error[0] == 0
