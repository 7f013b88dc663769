"""Tip-over margin against hand calculation, and against a vehicle in MuJoCo that does tip."""

import math

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grouser.control import TipOver, Wheels, tip_over_margin

ROUND_OFF = 1e-9  # [rad] angles near 0 from coordinates of order one
HALF_TRACK, HALF_BASE, HEIGHT = 0.6, 0.65, 0.5  # [m]
FEET = np.array(
    [[x, y, 0.0] for x, y in [(HALF_BASE, HALF_TRACK), (HALF_BASE, -HALF_TRACK), (0, HALF_TRACK), (0, -HALF_TRACK),
                              (-HALF_BASE, HALF_TRACK), (-HALF_BASE, -HALF_TRACK)]]
)  # fmt: skip
CENTRE = np.array([0.0, 0.0, HEIGHT])
DOWN = np.array([0.0, 0.0, -3.71])


def tilted(angle, axis="x"):
    """Gravity in the axes of a vehicle on a slope."""
    s, c = math.sin(angle), math.cos(angle)
    return 3.71 * (np.array([0, -s, -c]) if axis == "x" else np.array([-s, 0, -c]))


def test_on_level_ground_it_is_the_angle_to_the_nearest_edge():
    assert tip_over_margin(FEET, CENTRE, DOWN) == pytest.approx(math.atan2(HALF_TRACK, HEIGHT), abs=ROUND_OFF)


@pytest.mark.parametrize("angle_deg", [0, 10, 30, 49, 51, 60])
def test_across_a_slope_it_falls_by_the_slope_and_is_zero_at_the_tipping_angle(angle_deg):
    tipping = math.atan(HALF_TRACK / HEIGHT)
    margin = tip_over_margin(FEET, CENTRE, tilted(math.radians(angle_deg)))
    assert margin == pytest.approx(tipping - math.radians(angle_deg), abs=ROUND_OFF)
    assert (margin > 0) == (math.radians(angle_deg) < tipping)


@pytest.mark.parametrize("angle_deg", [20, 40, 60])
def test_up_a_slope(angle_deg):
    margin = tip_over_margin(FEET, CENTRE, tilted(math.radians(angle_deg), "y"))
    backwards = math.atan(HALF_BASE / HEIGHT) - math.radians(angle_deg)
    sideways = math.atan(HALF_TRACK / HEIGHT)  # square to that edge the force points at the ground as if level
    assert margin == pytest.approx(min(backwards, sideways), abs=ROUND_OFF)


@pytest.mark.parametrize("angle_deg", [10, 25])
def test_up_a_slope_a_narrow_vehicle_is_as_safe_sideways_as_on_the_level(angle_deg):
    """The edge then points down the slope, and only what is square to it counts."""
    feet = FEET * (3.0, 0.5, 1.0)
    margin = tip_over_margin(feet, CENTRE, tilted(math.radians(angle_deg), "y"))
    assert margin == pytest.approx(math.atan(0.5 * HALF_TRACK / HEIGHT), abs=ROUND_OFF)


def test_a_triangle_tips_over_its_nearest_side():
    """Three bogies: the edge from left to rear passes the centre of mass at a distance known from its area."""
    feet = np.array([[0.325, 0.6, 0.0], [0.325, -0.6, 0.0], [-0.65, 0.0, 0.0]])
    side = feet[2] - feet[0]
    distance = abs(side[0] * feet[0][1] - side[1] * feet[0][0]) / np.hypot(*side[:2])
    expected = math.atan2(min(distance, 0.325), HEIGHT)
    assert tip_over_margin(feet, CENTRE, DOWN) == pytest.approx(expected, abs=ROUND_OFF)


@given(
    st.lists(st.floats(-np.pi, np.pi), min_size=3, max_size=3),
    st.floats(-30, 30),
    st.permutations(range(6)),
    st.floats(0.1, 10),
)
def test_the_margin_is_independent_of_frame_order_and_unit_of_force(turn, shift, order, scale):
    rotation = np.eye(3)
    for axis, angle in enumerate(turn):
        step = np.eye(3)
        i, j = [(1, 2), (0, 2), (0, 1)][axis]
        step[[i, i, j, j], [i, j, i, j]] = math.cos(angle), -math.sin(angle), math.sin(angle), math.cos(angle)
        rotation = step @ rotation
    force = tilted(0.3)
    plain = tip_over_margin(FEET, CENTRE, force)
    moved = tip_over_margin(FEET[list(order)] @ rotation.T + shift, rotation @ CENTRE + shift, scale * rotation @ force)
    assert moved == pytest.approx(plain, abs=1e-7)  # round-off of differences of coordinates of 30 m


def test_without_weight_there_is_no_margin():
    assert math.isnan(tip_over_margin(FEET, CENTRE, np.zeros(3)))


CART = """
<mujoco><option gravity="0 0 -3.71" cone="elliptic" integrator="implicitfast"/><worldbody>
<geom type="plane" size="5 5 1" friction="3 0.005 0.0001"/>
<body name="chassis" pos="0 0 0.5"><freejoint/><geom pos="0 0 {lift}" type="box" size="0.01 0.01 0.01" mass="60"/>
{wheels}</body></worldbody><actuator>{motors}</actuator></mujoco>
"""
WHEEL = """<body name="w{k}" pos="{x} {y} -0.4"><joint name="d{k}" axis="0 1 0" armature="10" damping="1000"/>
<geom type="sphere" size="0.1" mass="10" friction="3 0.005 0.0001"/></body>"""


def cart():
    """Four balls of 10 kg and 0.1 m radius on fixed axles, 60 kg at a height chosen so that the centre is at 0.5 m."""
    places = [(0.65, 0.6), (0.65, -0.6), (-0.65, 0.6), (-0.65, -0.6)]
    wheels = "".join(WHEEL.format(k=k, x=x, y=y) for k, (x, y) in enumerate(places))
    motors = "".join(f'<velocity name="d{k}" joint="d{k}" kv="1000"/>' for k in range(4))
    return mujoco.MjModel.from_xml_string(CART.format(lift=0.4 * 40 / 60, wheels=wheels, motors=motors))


@pytest.mark.parametrize(("excess", "tips"), [(-0.03, False), (0.03, True)])
def test_a_cart_on_hard_ground_tips_when_the_margin_says_so(excess, tips):
    """Gravity leans sideways to just less or just more than the margin on level ground (1.7 degrees either way)."""
    model = cart()
    data = mujoco.MjData(model)
    meter = TipOver(Wheels.find(model, [f"d{k}" for k in range(4)], [None] * 4, 0.1), period=0.01)
    for _ in range(500):
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    meter.act(data.time, data, data.ctrl)
    still = float(meter.margin[0])
    assert still == pytest.approx(math.atan2(0.6, 0.5), abs=5e-3)  # balls press some millimetres into MuJoCo's floor
    for share in np.minimum(np.linspace(0, 1.5, 4500), 1):  # slowly: a sudden lean would throw it over
        model.opt.gravity[:] = tilted(share * (still + excess))
        mujoco.mj_step(model, data)
    rolled = abs(math.atan2(data.xmat[1][7], data.xmat[1][8]))
    assert (rolled > math.radians(20)) == tips


def test_braking_counts_as_weight_that_leans_forward():
    """Downhill, slowing down at a: effective gravity g - a leans farther forward than gravity does."""
    model = cart()
    model.opt.gravity[:] = tilted(-0.2, "y")
    data = mujoco.MjData(model)
    meter = TipOver(Wheels.find(model, [f"d{k}" for k in range(4)], [None] * 4, 0.1), period=0.1)
    data.qvel[0] = 1.0
    mujoco.mj_forward(model, data)
    meter.act(0.0, data, data.ctrl)
    braking = 1.5  # [m/s^2]
    data.qvel[0] = 1.0 - 0.1 * braking
    mujoco.mj_forward(model, data)
    meter.act(0.1, data, data.ctrl)
    forward = math.atan2(0.65, 0.5) - math.atan2(3.71 * math.sin(0.2) + braking, 3.71 * math.cos(0.2))
    assert meter.margin[0] == pytest.approx(forward, abs=ROUND_OFF)
