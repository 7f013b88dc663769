"""What the motors are told: angles, rates, waiting for the steering, speed held against slip."""

import math

import mujoco
import numpy as np
import pytest

from grouser.control import Drive, GroundSpeed, Odometry, PowerMeter, TipOver, Wheels, ackermann, crab, point_turn
from grouser.control.steering import rolling_speeds, steer_angles, wheel_velocities
from grouser.errors import InputError
from grouser.simulation import Simulation
from tests.control.vehicle import DRIVE, LIMIT, PLACES, RADIUS, STEER, Rolling, vehicle, wheels_of

PERIOD = 0.05  # [s]
SERVO = 0.02  # relative: a rate servo of a wheel that turns freely, what is left of it after its time constant


def driven(twist, duration, **options):
    """The vehicle in free space: motors and joints as MuJoCo moves them."""
    drive = Drive(wheels_of(vehicle().compile()), twist, period=PERIOD, **options)
    sim = Simulation(vehicle(), controllers=[drive], step=5e-3)
    sim.step(round(duration / 5e-3))
    return drive, sim


def joints(sim, names, field="qpos"):
    return np.array([getattr(sim.data.joint(name), field)[0] for name in names])


@pytest.mark.parametrize(
    "twist",
    [ackermann(0.05, 0.4), crab(0.05, math.radians(60)), crab(0.05, math.radians(-150)), point_turn(0.05)],
    ids=["ackermann", "crab", "crab backwards", "point turn"],
)
def test_wheels_come_to_stand_and_roll_as_geometry_says(twist):
    drive, sim = driven(twist, 15)
    u = wheel_velocities(twist, PLACES)
    angles = steer_angles(u, np.zeros(6), np.full(6, LIMIT))
    # The hull of the chassis turns the other way in free space, slowly: the joints are what is commanded.
    np.testing.assert_allclose(joints(sim, STEER), angles, atol=1e-3)
    np.testing.assert_allclose(joints(sim, DRIVE, "qvel"), rolling_speeds(u, angles) / RADIUS, rtol=SERVO, atol=1e-6)
    assert not drive.waiting[0]


def test_joints_the_other_way_round_and_gears_do_not_matter():
    twist = ackermann(0.05, 0.2)  # so little that no wheel waits
    plain, geared = Rolling([]), Rolling([], model=vehicle(mirrored=True, gear=7.0).compile())
    commands = []
    for rig in (plain, geared):
        drive = Drive(wheels_of(rig.model), twist, ramp=0, steer_rate=100)
        drive.act(0.0, rig.data, rig.data.ctrl)
        commands.append(rig.data.ctrl.copy())
    assert np.abs(commands[0]).min() > 0 or (commands[0] != 0).sum() == 10  # the middle wheels stand straight
    np.testing.assert_allclose(commands[1][:6], -7 * commands[0][:6], rtol=1e-12)
    np.testing.assert_allclose(commands[1][6:], -commands[0][6:], rtol=1e-12)


def test_wheels_stand_until_the_steering_has_settled():
    """A point turn from straight wheels: no wheel turns while any is far off, then they gather speed."""
    drive = Drive(wheels_of(vehicle().compile()), point_turn(0.05), period=PERIOD)
    sim = Simulation(vehicle(), controllers=[drive], step=5e-3)
    wanted = steer_angles(wheel_velocities(point_turn(0.05), PLACES), np.zeros(6), np.full(6, LIMIT))
    waited, off, rates = [], [], []
    for _ in range(200):
        sim.step(10)
        waited.append(bool(drive.waiting[0]))
        off.append(np.abs(joints(sim, STEER) - wanted).max())
        rates.append(np.abs(drive.rates[0]).max())
    start = waited.index(False)
    assert all(waited[:start])
    assert not any(waited[start:])
    assert start * PERIOD == pytest.approx((np.abs(wanted).max() - drive.settled_within) / drive.steer_rate, abs=0.5)
    assert max(rates[: start - 1]) == 0
    assert max(off[start:]) < drive.settled_within + 0.02
    assert rates[start] < rates[start + 5] < rates[start + 15]
    assert rates[-1] == pytest.approx(0.05 * math.hypot(0.65, 0.6) / RADIUS, rel=1e-2)


def test_steering_that_is_held_fast_is_not_waited_for_for_ever():
    """Joints that do not move at all: after its patience the drive goes on, and does not wait again."""
    rig = Rolling([])
    drive = Drive(wheels_of(rig.model), point_turn(0.05), period=PERIOD, patience=2.0)
    moved = []
    for k in range(100):
        drive.act(k * PERIOD, rig.data, rig.data.ctrl)
        moved.append(np.abs(drive.rates[0]).max() > 0)
    assert moved.index(True) * PERIOD == pytest.approx(2.0, abs=2 * PERIOD)
    assert all(moved[moved.index(True) :])


def test_steering_on_the_move_does_not_stop_the_wheels():
    rig = Rolling([])
    drive = Drive(wheels_of(rig.model), ackermann(0.05, 0.1), period=PERIOD)
    rig.controllers = [drive]
    rig.run(3.0, lambda: (0, 0, 0), PERIOD)
    drive.twist[0] = ackermann(0.05, 0.3)
    rig.run(1.0, lambda: (0, 0, 0), PERIOD)
    assert drive.pace[0] == 1


def test_the_limit_of_the_wheel_rate_keeps_the_curve():
    rig = Rolling([])
    drive = Drive(wheels_of(rig.model), ackermann(1.0, 0.5), ramp=0, steer_rate=100, wheel_rate_limit=0.4)
    rig.controllers = [drive]
    rig.run(0.2, lambda: (0, 0, 0), PERIOD)
    u = wheel_velocities(ackermann(1.0, 0.5), PLACES)
    expected = np.hypot(*u.T) / np.hypot(*u.T).max() * 0.4
    np.testing.assert_allclose(np.abs(drive.rates[0]), expected, rtol=1e-9)


def test_speed_over_ground_is_held_against_slip():
    """Wheels that slip by 30 %: rates rise until the vehicle goes as fast as it should, here 1/0.7 times."""
    slip, twist = 0.3, (0.05, 0.0, 0.02)
    rig = Rolling([])
    drive = Drive(wheels_of(rig.model), twist, period=PERIOD)
    speed = GroundSpeed(drive, period=PERIOD)
    rig.controllers = [speed, drive]

    def done():
        factor = (1 - slip) * drive.pace[0] * drive.gain[0]
        body = rig.model.jnt_dofadr[0]
        c, s = math.cos(rig.pose[2]), math.sin(rig.pose[2])
        rig.data.qvel[body : body + 6] = np.array([c * twist[0], s * twist[0], 0, 0, 0, twist[2]]) * factor
        return np.array(twist) * factor

    rig.run(60, done, PERIOD)
    assert speed.share[0] == pytest.approx(1, abs=1e-3)
    assert drive.gain[0] == pytest.approx(1 / (1 - slip), rel=1e-3)


def test_the_gain_is_bounded_where_the_vehicle_is_stuck():
    rig = Rolling([])
    drive = Drive(wheels_of(rig.model), (0.05, 0.0, 0.0), period=PERIOD)
    speed = GroundSpeed(drive, most=1.5, period=PERIOD)
    rig.controllers = [speed, drive]
    rig.run(60, lambda: (0, 0, 0), PERIOD)
    assert drive.gain[0] == 1.5


def test_several_worlds_are_driven_apart_and_reset_apart():
    drive = Drive(wheels_of(vehicle().compile()), worlds=3, period=PERIOD)
    sim = Simulation(vehicle(), controllers=[drive], step=5e-3, worlds=3)
    drive.twist[:] = [ackermann(0.05, 0.2), crab(0.05, 0.5), (0, 0, 0)]
    sim.step(600)
    for world, twist in enumerate(drive.twist):
        u = wheel_velocities(tuple(twist), PLACES)
        np.testing.assert_allclose(
            sim.engine.data[world].ctrl[6:], steer_angles(u, np.zeros(6), np.full(6, LIMIT)), atol=1e-9
        )
    kept = drive.angles[[0, 2]].copy()
    sim.reset([1])
    np.testing.assert_array_equal(drive.twist[1], 0)
    np.testing.assert_array_equal(drive.angles[[0, 2]], kept)


def test_a_controller_made_for_fewer_worlds_says_so():
    drive = Drive(wheels_of(vehicle().compile()), period=PERIOD)
    with pytest.raises(InputError, match=r"Drive: made for 1 world\(s\), the simulation has more; give worlds="):
        Simulation(vehicle(), controllers=[drive], step=5e-3, worlds=2)


def all_of_them():
    wheels = wheels_of(vehicle().compile())
    drive = Drive(wheels, (0.05, 0.0, 0.03), period=PERIOD)
    meters = [PowerMeter([*DRIVE, *STEER], period=5e-3), Odometry(wheels, period=0.03), TipOver(wheels, period=0.02)]
    return Simulation(vehicle(gravity=1.0), controllers=[*meters, GroundSpeed(drive), drive], step=5e-3)


def test_a_run_continues_from_its_checkpoint_bit_for_bit():
    """Taken while the steering is under way and the speed control at work, restored in a fresh simulation."""
    sim = all_of_them()
    sim.step(333)
    saved = sim.checkpoint()
    sim.step(444)
    fresh = all_of_them()
    fresh.restore(saved)
    fresh.step(444)
    np.testing.assert_array_equal(sim.data.qpos, fresh.data.qpos)
    np.testing.assert_array_equal(sim.data.ctrl, fresh.data.ctrl)
    for one, other in zip(sim.controllers, fresh.controllers, strict=True):
        for name, array in one.state().items():
            np.testing.assert_array_equal(array, other.state()[name], err_msg=f"{type(one).__name__}: {name}")
    for one, other in zip(sim.channels(), fresh.channels(), strict=True):
        np.testing.assert_array_equal(one.read(), other.read(), err_msg=one.name)


def test_after_a_reset_it_is_as_new():
    sim, fresh = all_of_them(), all_of_them()
    sim.step(100)
    sim.reset()
    sim.step(50)
    fresh.step(50)
    for one, other in zip(sim.controllers, fresh.controllers, strict=True):
        for name, array in one.state().items():
            np.testing.assert_array_equal(array, other.state()[name], err_msg=f"{type(one).__name__}: {name}")


def test_wheels_are_found_in_the_model():
    wheels = wheels_of(vehicle(mirrored=True).compile())
    np.testing.assert_allclose(wheels.positions, PLACES, atol=1e-12)
    np.testing.assert_allclose(wheels.limits, LIMIT)


def test_wheels_that_cannot_be_are_refused():
    model = vehicle().compile()
    with pytest.raises(InputError, match=r"actuator 'motor' is not in the model; it has drive0, "):
        Wheels.find(model, ["motor"], [None], RADIUS)
    with pytest.raises(InputError, match=r"joint 'steer0' is not along the chassis' y \(a wheel's axle\)"):
        Wheels.find(model, STEER, [None] * 6, RADIUS)
    with pytest.raises(InputError, match=r"body 'hull' is not in the model"):
        Wheels.find(model, DRIVE, STEER, RADIUS, chassis="hull")
    with pytest.raises(InputError, match=r"wheels: radius = 0: "):
        Wheels.find(model, DRIVE, STEER, 0)
    with pytest.raises(InputError, match=r"wheels: 6 driven, 2 entries in steer"):
        Wheels(PLACES, RADIUS, np.ones(6), DRIVE, ("a", "b"))
    with pytest.raises(InputError, match=r"Drive: steer_rate = 0"):
        Drive(wheels_of(model), steer_rate=0)
    slider = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body name="chassis"><joint name="x" type="slide"/><geom size="1"/></body></worldbody>'
        '<actuator><motor name="x" joint="x"/></actuator></mujoco>'
    )
    with pytest.raises(InputError, match="actuator 'x' does not turn a hinge joint"):
        Wheels.find(slider, ["x"], [None], RADIUS)
