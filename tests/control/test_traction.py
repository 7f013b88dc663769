"""Speed control in the pitch plane: shares, bounds, sensors, steering, a user's own file."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from grouser.control import Cdta, SpeedController, TorqueDrive, UserController, VehicleSensors, axles_of
from grouser.control.traction import least_squares_share
from grouser.drive import BatteryPack
from grouser.errors import InputError, RunStopped
from grouser.robots.vehicle import build
from grouser.robots.vehicle_file import vehicle
from grouser.simulation import Simulation
from grouser.terrain.generators import flat, slope

VIVI, HER = vehicle("vivi"), vehicle("her")
G = 9.81


def driven(v, terrain, make, *, height=0.0, pitch=0.0, battery=False, step=1e-3):
    turn = (math.cos(pitch / 2), 0.0, -math.sin(pitch / 2), 0.0)
    spec = build(v, position=(0.0, 0.0, v.rest_height() + height), quaternion=turn)
    module = v.module(terrain)
    joints = [f"drive_{w.name}" for w in v.wheels]
    pack = BatteryPack(v.battery, [v.motor] * len(v.drives), v.drives, period=step)
    sensors = VehicleSensors(module, joints, battery=pack)
    controller = make(sensors, joints)
    sim = Simulation(spec, [module], controllers=[controller, *([pack] if battery else [])], step=step)
    return sim, controller, sensors


def speed_controller(v, kind=SpeedController, speed=2.0, **more):
    def make(sensors, joints):
        gears = [v.motor.gear] * len(joints)
        return kind(
            sensors, axles_of(v), joints, gears, mass=v.chassis.mass, speed=speed, gain=5.0, period=0.01, **more
        )

    return make


# ---- the share of forces ----------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.floats(1.0, 2.0), st.floats(0.0, 100.0)), min_size=2, max_size=4), st.floats(-300.0, 300.0)
)
def test_the_share_is_the_least_sum_of_squares(axles, need):
    weights, bounds = zip(*axles, strict=True)
    found = least_squares_share(need, weights, bounds)
    most = float(np.dot(weights, bounds))
    if found is None:
        assert abs(need) > most
        return
    assert np.dot(weights, found) == pytest.approx(need, abs=1e-9 * max(most, 1.0))
    assert (np.abs(found) <= np.array(bounds) * (1 + 1e-12)).all()
    oracle = minimize(
        lambda f: f @ f, np.zeros(len(bounds)), jac=lambda f: 2 * f, bounds=[(-b, b) for b in bounds],
        constraints=[{"type": "eq", "fun": lambda f: np.dot(weights, f) - need, "jac": lambda f: np.array(weights)}],
        method="SLSQP", options={"ftol": 1e-10, "maxiter": 200},
    )  # fmt: skip
    if oracle.success:
        assert np.dot(found, found) <= oracle.fun * (1 + 1e-4) + 1e-4


def test_loads_of_cdta_are_those_of_statics():
    """Two axles: N_front = (m g l_rear - F lever) / L, whatever the springs; three axles add up and balance."""
    for v in (VIVI, HER):
        _, cdta, _ = driven(v, flat(size=(20, 20)), speed_controller(v, Cdta, friction=0.8))
        rest, moved = np.array(cdta._rest), np.array(cdta._moved)
        x = np.array([a.x for a in cdta.axles])
        lever = np.mean([a.lever for a in cdta.axles])
        assert rest.sum() == pytest.approx(1.0)
        assert (rest * x).sum() == pytest.approx(0.0, abs=1e-12)
        assert moved.sum() == pytest.approx(0.0, abs=1e-12)
        assert (moved * x).sum() == pytest.approx(lever)
    _, cdta, _ = driven(VIVI, flat(size=(20, 20)), speed_controller(VIVI, Cdta, friction=0.8))
    np.testing.assert_allclose(cdta._rest, [0.5, 0.5])


def test_loads_of_three_axles_are_those_of_the_engine():
    """HER at rest: the model of CDTA against the module on level ground."""
    sim, cdta, _ = driven(HER, flat(size=(20, 20)), speed_controller(HER, Cdta, speed=1e-9, friction=0.7))
    sim.step(3000)
    loads = sim.modules[0].observe()["force"][0, :, 2]
    weight = HER.chassis.mass * G
    measured = np.array([loads[list(a.wheels)].sum() for a in cdta.axles]) / weight
    np.testing.assert_allclose(measured, cdta._rest, atol=0.01)  # pitch of a degree moves contacts


@pytest.mark.parametrize("v", [VIVI, HER], ids=["vivi", "her"])
def test_cdta_keeps_every_axle_on_the_ground_and_within_the_grip(v):
    load = v.chassis.mass * G / len(v.wheels)
    friction = v.tyre.peak_force(load) / load
    make = speed_controller(v, Cdta, speed=4.0, friction=friction, power_limit=v.battery.power_limit)
    sim, cdta, _ = driven(v, flat(size=(80, 20), origin=(-5, -10)), make, battery=True)
    peak = v.tyre.peak_slip
    for _ in range(300):
        sim.step(10)
        seen = sim.modules[0].observe()
        assert seen["contact"].all()
        assert np.abs(seen["slip"][0, :, 0]).max() < 2 * peak  # loads rise and fall within a control period
        assert np.abs(cdta.torque).max() <= v.motor.torque_limit
    assert sim.data.qvel[0] == pytest.approx(4.0, rel=0.05)


def test_gravity_is_compensated_on_a_slope():
    """At the wanted speed on a slope no speed error is left to push against gravity: only the drive's friction."""
    terrain = slope(8.0, size=(80, 20), origin=(-10, -10))
    make = speed_controller(VIVI, speed=2.0)
    sim, controller, _ = driven(VIVI, terrain, make, height=0.02, pitch=math.radians(8.0))
    sim.step(6000)
    speed = float(controller.seen[0, 0])
    drag = 4 * VIVI.motor.friction.coulomb * VIVI.motor.gear / VIVI.tyre.radius
    assert speed == pytest.approx(2.0 - drag / VIVI.chassis.mass / 5.0, abs=0.05)


def test_in_the_air_cdta_asks_for_nothing_and_upside_down_nobody_does():
    make = speed_controller(VIVI, Cdta, speed=5.0, friction=0.7)
    sim, cdta, _ = driven(VIVI, flat(size=(20, 20)), make, height=2.0)
    sim.step(200)
    assert np.abs(cdta.torque).max() == 0.0
    sim, control, _ = driven(VIVI, flat(size=(20, 20)), speed_controller(VIVI, speed=5.0), height=2.0, pitch=math.pi)
    sim.step(20)
    assert np.abs(control.torque).max() == 0.0


# ---- sensors ----------------------------------------------------------------------------------------


def test_sensors_at_rest_on_a_slope():
    sim, _, sensors = driven(
        VIVI, slope(10.0, size=(20, 20)), speed_controller(VIVI, speed=1e-9), pitch=math.radians(10), height=0.01
    )
    sim.step(3000)
    r = sensors.readings
    # The rear carries more: m g sin(a) h / L on two springs each lowers it and raises the front, 0.7 deg in all.
    leaning = 2 * 80 * G * math.sin(math.radians(10)) * 0.5 / 0.72 / 20000 / 0.72
    assert r.pitch == pytest.approx(math.radians(10) + leaning, rel=0.02)
    np.testing.assert_allclose(r.specific_force, [G * math.sin(r.pitch), 0, G * math.cos(r.pitch)], atol=0.05)
    assert r.contact.all()
    assert r.load.sum() == pytest.approx(80 * G * math.cos(r.pitch), rel=0.01)
    np.testing.assert_allclose(r.position, sim.data.qpos[:3], atol=1e-3)
    assert abs(r.speed) < 0.2


# ---- steering ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("v", "speed", "turn"), [(VIVI, 0.0, 1.0), (HER, 2.0, 0.5)], ids=["skid", "ackermann"])
def test_steering_turns_the_vehicle(v, speed, turn):
    sim, *_ = driven(v, flat(size=(60, 60)), lambda s, j: TorqueDrive(v, (speed, 0.0, turn)), battery=True)
    sim.step(2000)
    start = yaw(sim)
    sim.step(1000)
    rate = math.remainder(yaw(sim) - start, 2 * math.pi)
    if speed:  # steered wheels roll where they point
        assert rate == pytest.approx(turn, rel=0.1)
        assert np.linalg.norm(sim.data.qvel[:2]) == pytest.approx(speed, rel=0.05)
    else:  # skidding wheels turn it less than their rates say, and on the spot
        assert 0.1 * turn < rate < turn
        assert np.linalg.norm(sim.data.qpos[:2]) < 0.2


def yaw(sim):
    w, x, y, z = sim.data.qpos[3:7]
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


# ---- a user's own -----------------------------------------------------------------------------------

OWN = """
import numpy as np

PERIOD = 0.02

def start():
    return {"calls": 0.0}

def control(readings, state):
    state["calls"] += 1
    return [0.2 if readings.speed < 1.0 else 0.0] * len(readings.wheel_rate)
"""


def test_a_controller_from_a_file(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    sim, own, _ = driven(VIVI, flat(size=(40, 20)), lambda s, j: UserController(file, s, j))
    assert own.period == 0.02
    sim.step(2000)
    assert own.kept["calls"] == 100
    assert sim.data.qvel[0] > 0.2
    saved = sim.checkpoint()
    sim.step(100)
    sim.restore(saved)
    assert own.kept["calls"] == 100
    sim.reset()
    assert own.kept["calls"] == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1", "has no function control"),
        ("def control(:", "mine.py:1: "),
        ("PERIOD = -1\ndef control(r, s): return []", "PERIOD = -1: allowed is a finite number above 0"),
        ("import nothing_of_that_name", "ModuleNotFoundError"),
        ("def start(): return 3\ndef control(r, s): return []", "start\\(\\) gives int"),
    ],
)
def test_a_file_that_is_wrong_is_refused(tmp_path, text, says):
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(InputError, match=says):
        driven(VIVI, flat(size=(40, 20)), lambda s, j: UserController(file, s, j))


def test_one_that_raises_stops_the_run_with_its_place(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def control(readings, state):\n    return readings.nonsense\n")
    sim, *_ = driven(VIVI, flat(size=(40, 20)), lambda s, j: UserController(file, s, j))
    with pytest.raises(RunStopped, match=r"mine\.py, line 2"):
        sim.step(10)
