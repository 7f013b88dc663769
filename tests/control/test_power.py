"""Energy of motors against torque times angle, whatever moves."""

import math

import mujoco
import numpy as np
import pytest

from grouser.control import PowerMeter
from grouser.simulation import Simulation

H = 2e-3
ROTOR = """
<mujoco><option gravity="0 0 0" integrator="implicitfast"/><worldbody><body name="chassis">
<joint name="x" type="slide" axis="1 0 0"/><geom size="0.1" mass="1"/>
<body name="rotor" pos="1 0 0"><joint name="spin" axis="0 1 0" damping="{damping}"/>
<geom type="cylinder" size="0.1 0.02" euler="90 0 0" mass="5"/></body></body></worldbody>
<actuator>{motor}</actuator></mujoco>
"""
TORQUE = '<motor name="spin" joint="spin" gear="{gear}"/>'


def turned(motor, damping=0.0, period=0.05, duration=2.0, command=1.0, speed=0.5):
    """A rotor on a carriage that slides at `speed` [m/s]."""
    meter = PowerMeter(["spin"], period=period)
    sim = Simulation(mujoco.MjSpec.from_string(ROTOR.format(motor=motor, damping=damping)), controllers=[meter], step=H)
    sim.data.qvel[0] = speed
    sim.data.ctrl[:] = command
    sim.step(round(duration / H) + 1)  # one more: the meter acts at the end of the time
    return meter, sim


@pytest.mark.parametrize("gear", [1.0, 3.0])
@pytest.mark.parametrize("period", [H, 0.05])
def test_a_constant_torque_does_torque_times_angle(gear, period):
    """Exact at any period; angle from the closed form of the semi-implicit step, t (t + h) / 2 x acceleration."""
    meter, sim = turned(TORQUE.format(gear=gear), period=period)
    inertia = sim.model.body("rotor").inertia[2]
    angle = gear / inertia * 2.0 * (2.0 + H) / 2
    assert meter.energy[0, 0] == pytest.approx(gear * angle, rel=1e-9)
    assert meter.mean_power()[0] == pytest.approx(gear * angle / 2.0, rel=1e-9)
    assert meter.distance[0] == pytest.approx(0.5 * 2.0, rel=1e-9)
    assert meter.energy_per_metre()[0] == pytest.approx(gear * angle / 1.0, rel=1e-9)


@pytest.mark.parametrize("period", [H, 0.05])
def test_a_torque_that_falls_with_the_angle_does_its_mean_times_the_way(period):
    """A position servo from 0 towards c: k (c a - a^2 / 2) at angle a, exact at any period too."""
    meter, sim = turned('<position name="spin" joint="spin" kp="0.02"/>', period=period, duration=0.5, command=1.5)
    angle = meter.length[0, 0]
    assert 0.05 < angle < 1.5
    assert meter.energy[0, 0] == pytest.approx(0.02 * (1.5 * angle - angle**2 / 2), rel=1e-9)


def test_a_speed_servo_against_friction_does_friction_times_speed_squared():
    """A servo that turns a damped axle at a steady rate: power = damping x rate^2, from the start on."""
    motor = '<velocity name="spin" joint="spin" kv="1000"/>'
    meter, sim = turned(motor, damping=2.0, command=3.0)
    rate = 3.0 * 1000 / 1002
    assert sim.data.joint("spin").qvel[0] == pytest.approx(rate, rel=1e-6)
    assert meter.power[0, 0] == pytest.approx(2.0 * rate**2, rel=1e-6)


def test_a_motor_that_brakes_takes_nothing_back():
    """Turned by 2 rad/s against a constant torque: work below 0 counts as none."""
    meter = PowerMeter(["spin"], period=0.05)
    sim = Simulation(
        mujoco.MjSpec.from_string(ROTOR.format(motor=TORQUE.format(gear=1), damping=0)), controllers=[meter], step=H
    )
    sim.data.ctrl[:], sim.data.qvel[1] = -1e-3, 2.0
    sim.step(500)
    assert sim.data.qvel[1] > 0
    assert meter.energy[0, 0] == 0
    assert math.isnan(meter.energy_per_metre()[0])  # nor has it gone anywhere


def test_a_run_restored_counts_the_same_to_the_bit():
    """Also where the first thing after the restore is the meter's turn."""
    motor = '<velocity name="spin" joint="spin" kv="3"/>'
    meter, sim = turned(motor, damping=0.3, period=H, duration=0.2, command=2.0)
    saved = sim.checkpoint()
    sim.step(57)
    straight = {name: array.copy() for name, array in meter.state().items()}
    fresh_meter, fresh = turned(motor, damping=0.3, period=H, duration=0.0)
    fresh.restore(saved)
    fresh.step(57)
    assert [n for n, a in fresh_meter.state().items() if not np.array_equal(a, straight[n])] == []


def test_what_is_recorded_is_what_the_meter_says():
    """After acts, after a reset, and after a restore, without an act in between."""

    def recorded(meter):
        return {channel.name: channel.read() for channel in meter.channels()}

    def assert_told(meter):
        told = recorded(meter)
        np.testing.assert_array_equal(told["power/total"], meter.power.sum(axis=1))
        np.testing.assert_array_equal(told["power/mean"], meter.mean_power())
        np.testing.assert_array_equal(told["energy/total"], meter.energy.sum(axis=1))
        np.testing.assert_array_equal(told["energy/per_metre"], meter.energy_per_metre())
        np.testing.assert_array_equal(told["travel/distance"], meter.distance)
        return told

    motor = TORQUE.format(gear=1.0)
    meter, sim = turned(motor)
    assert assert_told(meter)["energy/per_metre"][0] > 0
    saved, before = sim.checkpoint(), recorded(meter)
    sim.reset()
    assert math.isnan(assert_told(meter)["energy/per_metre"][0])
    fresh_meter, fresh = turned(motor, duration=0.0)
    assert math.isnan(assert_told(fresh_meter)["energy/per_metre"][0])
    fresh.restore(saved)
    assert_told(fresh_meter)
    for name, value in recorded(fresh_meter).items():
        np.testing.assert_array_equal(value, before[name])
