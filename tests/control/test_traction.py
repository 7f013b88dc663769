"""Speed control in the pitch plane: shares, bounds, sensors, steering, a user's own file."""

import math

import mujoco
import numpy as np
import pytest
import warp as wp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from grouser.control import Cdta, SpeedController, TorqueDrive, UserController, VehicleSensors, axles_of
from grouser.control import traction_laws as laws
from grouser.drive import BatteryPack
from grouser.errors import InputError, RunStopped
from grouser.robots.vehicle import build
from grouser.robots.vehicle_file import vehicle
from grouser.simulation import Simulation
from grouser.terrain.generators import flat, sinusoid, slope
from tests.device_call import call

VIVI, HER = vehicle("vivi"), vehicle("her")
G = 9.81


def driven(v, terrain, make, *, height=0.0, pitch=0.0, battery=False, step=1e-3, worlds=1):
    turn = (math.cos(pitch / 2), 0.0, -math.sin(pitch / 2), 0.0)
    spec = build(v, position=(0.0, 0.0, v.rest_height() + height), quaternion=turn)
    module = v.module(terrain)
    joints = [f"drive_{w.name}" for w in v.wheels]
    pack = BatteryPack(v.battery, [v.motor] * len(v.drives), v.drives, period=step, worlds=worlds)
    sensors = VehicleSensors(module, joints, battery=pack, worlds=worlds)
    controller = make(sensors, joints)
    sim = Simulation(spec, [module], controllers=[controller, *([pack] if battery else [])], step=step, worlds=worlds)
    return sim, controller, sensors


def speed_controller(v, kind=SpeedController, speed=2.0, **more):
    def make(sensors, joints):
        gears = [v.motor.gear] * len(joints)
        return kind(
            sensors, axles_of(v), joints, gears, mass=v.chassis.mass, speed=speed, gain=5.0, period=0.01, **more
        )

    return make


# ---- the share of forces ----------------------------------------------------------------------------


def share_of(need, weights, bounds):
    given = [wp.array(values, dtype=wp.float64, device="cpu") for values in (weights, bounds, np.zeros(len(bounds)))]
    possible = call(laws.least_squares_share, wp.float64(need), *given, returns=wp.bool)
    return given[2].numpy() if possible else None


def least_squares(need, weights, bounds):
    """By SciPy: forces with sum(weight F) = need, |F| <= bound and least sum F^2."""
    size = max(float(np.max(bounds)), 1.0)
    return minimize(
        lambda f: f @ f, np.zeros(len(bounds)), jac=lambda f: 2 * f, bounds=[(-b / size, b / size) for b in bounds],
        constraints=[{"type": "eq", "fun": lambda f: np.dot(weights, f) - need / size, "jac": lambda f: weights}],
        method="SLSQP", options={"ftol": 1e-14, "maxiter": 200},
    ), size  # fmt: skip


@given(
    st.lists(st.tuples(st.floats(1.0, 2.0), st.floats(0.0, 100.0)), min_size=2, max_size=4), st.floats(-300.0, 300.0)
)
def test_the_share_is_the_least_sum_of_squares(axles, need):
    weights, bounds = (np.array(values) for values in zip(*axles, strict=True))
    found = share_of(need, weights, bounds)
    most = float(np.dot(weights, bounds))
    if found is None:
        assert abs(need) > most
        return
    assert np.dot(weights, found) == pytest.approx(need, abs=1e-9 * max(most, 1.0))
    assert (np.abs(found) <= bounds * (1 + 1e-12)).all()
    oracle, size = least_squares(need, weights, bounds)
    if oracle.success:
        assert np.dot(found, found) <= oracle.fun * size**2 * (1 + 1e-4) + 1e-4


def springs(axles, up, along):
    """[N] loads of a rigid chassis on springs under `up` [N] and a force along, by heave and pitch; before clipping."""
    x, k = (np.array([getattr(a, name) for a in axles]) for name in ("x", "stiffness"))
    lever = np.mean([a.lever for a in axles])
    heave, pitch = np.linalg.solve([[k.sum(), k @ x], [k @ x, k @ x**2]], [up, -lever * along])
    return k * (heave + pitch * x)


class Asked:
    """What CDTA may ask for in one state of the sensors: the same statement of the task, solved by SciPy."""

    def __init__(self, cdta, readings):
        self.cdta, self.axles = cdta, cdta.axles
        pull, push = cdta.smooth_along[0] * cdta.mass, cdta.smooth_up[0] * cdta.mass
        self.up, self.present = max(push, 0.0), pull
        on = [[k for k in a.wheels if readings.contact[k]] for a in self.axles]
        angle = np.array([np.mean(readings.contact_angle[k]) if k else 0.0 for k in on])
        self.cosine, self.sine = np.maximum(np.cos(angle), 0.2), np.sin(angle)
        self.measured = np.array([readings.load[k].sum() for k in on]) * self.cosine
        self.touching = np.array([len(k) / len(a.wheels) for k, a in zip(on, self.axles, strict=True)])
        self.rate = np.array([readings.wheel_rate[list(a.wheels)].mean() for a in self.axles])
        self.wanted = cdta.mass * (cdta.gain * (cdta.speed - readings.speed) + cdta.gravity * math.sin(readings.pitch))

    def loads(self, along):
        """[N] by the springs or by what wheels measure, the smaller one."""
        measured = self.measured + springs(self.axles, 0.0, along - self.present)
        return np.minimum(springs(self.axles, self.up, along), measured)

    def keeps(self, along):
        """Whether every axle keeps its least load."""
        least = 0.1 * springs(self.axles, self.cdta.mass * self.cdta.gravity, 0.0)
        return bool((self.loads(along) >= least - 1e-6).all())

    def task(self, along):
        """Needed sum, weights and bounds of the forces along the ground."""
        load = np.maximum(self.loads(along), 0.0)
        strongest = np.array([a.torque_limit * len(a.wheels) / a.radius for a in self.axles])
        grip = 0.9 * self.cdta.friction * self.touching / self.cosine * load
        return along + load @ (self.sine / self.cosine), 1 / self.cosine, np.minimum(strongest, grip)

    def torques(self, along):
        need, weights, bounds = self.task(along)
        if weights @ bounds < abs(need) * (1 - 1e-9):
            return None
        found, size = least_squares(need, weights, bounds)
        out = []
        for a, force in zip(self.axles, found.x * size, strict=True):
            torque = force * a.radius / len(a.wheels) + a.inertia * along / self.cdta.mass / a.radius
            out.append(np.clip(torque + math.copysign(a.drag, along), -a.torque_limit, a.torque_limit))
        return np.array(out)

    def possible(self, along):
        torque = self.torques(along)
        if torque is None:
            return False
        each = [
            len(a.wheels) * max(t * w + a.heat * t * t, 0.0)
            for a, t, w in zip(self.axles, torque, self.rate, strict=True)
        ]
        return sum(each) <= self.cdta.power_limit * (1 + 1e-9)


@pytest.mark.parametrize("v", [VIVI, HER], ids=["vivi", "her"])
def test_cdta_asks_for_what_is_wanted_or_as_much_as_can_be_had(v):
    """In any state: least squares by SciPy, loads by the springs' heave and pitch, bounds as they are stated."""
    make = speed_controller(v, Cdta, speed=5.0, friction=0.7, power_limit=v.battery.power_limit)
    sim, cdta, sensors = driven(v, flat(size=(20, 20)), make)
    random, d, count = np.random.default_rng(1), sim.data, len(v.wheels)
    wheels = sim.modules[0].wheel_states
    touch = {name: getattr(wheels, name).numpy() for name in ("touching", "angle", "force")}
    whole = less = 0
    for k in range(60):
        touch["touching"][0] = random.random(count) < 0.9
        touch["angle"][0] = random.normal(size=count) * 0.2
        touch["force"][0, :, 2] = random.uniform(0.3, 1.5, count) * v.chassis.mass * G / count * touch["touching"][0]
        d.qvel[:3] += random.normal(size=3) * 0.02
        d.qvel[6 : 6 + count] = random.normal(size=count) * 20
        turn = np.array([1.0, *random.normal(size=3) * [0.1, 0.1, 1.0]])
        mujoco.mju_quat2Mat(d.xmat[sim.model.body("chassis").id], turn / np.linalg.norm(turn))
        cdta.speed = random.uniform(-0.5, 2.0)
        cdta.act(0.01 * (k + 1), d, d.ctrl)
        asked, along = Asked(cdta, sensors.readings), float(cdta.force[0])
        coast = float(-springs(asked.axles, asked.up, 0.0) @ (asked.sine / asked.cosine))  # no force along the ground
        if not asked.possible(coast):
            continue
        assert asked.possible(along)
        np.testing.assert_allclose(cdta.torque[0], asked.torques(along), atol=1e-4 * v.motor.torque_limit)
        if along == pytest.approx(asked.wanted, abs=1e-6):
            whole += 1
            continue
        less += 1
        ahead = min(5e-3 * abs(asked.wanted - coast), abs(asked.wanted - along))  # more than the search leaves
        nearer = along + math.copysign(ahead, asked.wanted - along)
        assert not (asked.possible(nearer) and asked.keeps(nearer))
    assert whole > 5
    assert less > 5


def test_loads_of_cdta_are_those_of_statics():
    """Two axles: N_front = (m g l_rear - F lever) / L, whatever the springs; three axles add up and balance."""
    for v in (VIVI, HER):
        _, cdta, _ = driven(v, flat(size=(20, 20)), speed_controller(v, Cdta, friction=0.8))
        rest, moved = np.array(cdta._share), np.array(cdta._transfer)
        x = np.array([a.x for a in cdta.axles])
        lever = np.mean([a.lever for a in cdta.axles])
        assert rest.sum() == pytest.approx(1.0)
        assert (rest * x).sum() == pytest.approx(0.0, abs=1e-12)
        assert moved.sum() == pytest.approx(0.0, abs=1e-12)
        assert (moved * x).sum() == pytest.approx(lever)
    _, cdta, _ = driven(VIVI, flat(size=(20, 20)), speed_controller(VIVI, Cdta, friction=0.8))
    np.testing.assert_allclose(cdta._share, [0.5, 0.5])


def test_loads_of_three_axles_are_those_of_the_engine():
    """HER at rest: the model of CDTA against the module on level ground."""
    sim, cdta, _ = driven(HER, flat(size=(20, 20)), speed_controller(HER, Cdta, speed=1e-9, friction=0.7))
    sim.step(3000)
    loads = sim.modules[0].observe()["force"][0, :, 2]
    weight = HER.chassis.mass * G
    measured = np.array([loads[list(a.wheels)].sum() for a in cdta.axles]) / weight
    np.testing.assert_allclose(measured, cdta._share, atol=0.01)  # pitch of a degree moves contacts


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
    speed = float(controller.measured_speed[0])
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


@pytest.mark.parametrize("kind", [SpeedController, Cdta])
def test_worlds_of_a_batch_are_driven_as_they_are_alone(kind):
    more = {"friction": 0.7, "power_limit": VIVI.battery.power_limit} if kind is Cdta else {}
    make = speed_controller(VIVI, kind, speed=3.0, **more)
    terrain = flat(size=(40, 20))
    alone, one, _ = driven(VIVI, terrain, make, battery=True)
    both, two, sensors = driven(VIVI, terrain, make, battery=True, worlds=2)
    both.engine.data[1].qvel[:3] = alone.data.qvel[:3] = 0.5, 0.0, 0.2
    alone.step(200)
    both.step(200)
    np.testing.assert_array_equal(both.engine.data[1].qpos, alone.data.qpos)
    np.testing.assert_array_equal(two.torque[1], one.torque[0])
    np.testing.assert_array_equal(both.controllers[1].energy[1], alone.controllers[1].energy[0])
    assert np.abs(both.engine.data[0].qpos - alone.data.qpos).max() > 1e-3
    assert sensors.read(1.0, both.engine.data[1]).speed != sensors.read(1.0, both.engine.data[0]).speed
    both.reset([1])
    assert np.abs(two.torque[1]).max() == 0.0
    assert np.abs(two.torque[0]).max() > 0.0


def test_more_worlds_than_it_was_made_for_are_refused():
    make = speed_controller(VIVI)
    sim, *_ = driven(VIVI, flat(size=(20, 20)), make, battery=True)
    two, *_ = driven(VIVI, flat(size=(20, 20)), make, battery=True)
    sim.step(1)
    for controller in sim.controllers:
        with pytest.raises(InputError, match="made for 1 world"):
            controller.act(0.0, two.data, two.data.ctrl)


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


def test_every_sensor_says_what_mujoco_has():
    """In the middle of a drive over waves, turned and tilted: against MuJoCo's own functions and finite differences."""
    terrain = sinusoid(0.1, 3.0, 20.0, size=(40, 40))
    make = speed_controller(VIVI, Cdta, speed=4.0, friction=0.7, power_limit=VIVI.battery.power_limit)
    sim, _, sensors = driven(VIVI, terrain, make, height=0.15, battery=True)
    sim.data.qvel[:6] = 1.0, 0.3, 0.0, 0.1, 0.2, 0.3
    sim.step(991)
    d, before, at = sim.data, sim.data.qvel[:3].copy(), sim.time
    sensors.read(at, d)
    sim.step(5)
    r = sensors.read(sim.time, d)
    body = sim.model.body("chassis").id
    rotation = d.xmat[body].reshape(3, 3)
    np.testing.assert_array_equal(r.rotation, rotation)
    np.testing.assert_array_equal(r.position, d.xpos[body])
    np.testing.assert_array_equal(r.wheel_rate, [d.joint(f"drive_{w.name}").qvel[0] for w in VIVI.wheels])
    np.testing.assert_array_equal(r.spin, d.qvel[3:6])
    seen = sim.modules[0].observe()
    np.testing.assert_array_equal(r.load, seen["force"][0, :, 2])
    np.testing.assert_array_equal(r.contact_angle, seen["angle"][0])
    np.testing.assert_array_equal(r.contact, seen["contact"][0] > 0)
    np.testing.assert_array_equal(r.current, sim.controllers[1].current[0])
    assert np.abs(r.current).max() > 0.0
    twist = np.zeros(6)
    mujoco.mj_objectVelocity(sim.model, d, mujoco.mjtObj.mjOBJ_BODY, body, twist, 1)
    assert r.speed == pytest.approx(twist[3], rel=1e-9)
    # Turned by yaw, then pitch (nose up: about -y), then roll it is the chassis again.
    turned = quaternion_matrix(r.yaw, 2) @ quaternion_matrix(-r.pitch, 1) @ quaternion_matrix(r.roll, 0)
    np.testing.assert_allclose(turned, rotation, atol=1e-9)
    acceleration = (d.qvel[:3] - before) / (sim.time - at)
    np.testing.assert_allclose(
        r.specific_force, rotation.T @ (acceleration + np.array([0, 0, G])), rtol=1e-9, atol=1e-9
    )


def quaternion_matrix(angle, axis):
    """(3, 3) of a turn about an axis, by MuJoCo."""
    q, out = np.zeros(4), np.zeros(9)
    mujoco.mju_axisAngle2Quat(q, np.eye(3)[axis], angle)
    mujoco.mju_quat2Mat(out, q)
    return out.reshape(3, 3)


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
        ("def start(): return 3\ndef control(r, s): return []", "start\\(\\) returned int"),
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
