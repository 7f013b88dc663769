"""Motor, shaft friction and battery, against closed forms and the 1995 stick-slip case."""

import math

import mujoco
import numpy as np
import pytest
import warp as wp

from grouser.drive import Battery, BatteryPack, LuGre, Motor, battery_kernels, lugre
from grouser.errors import InputError
from tests.device_call import call

CONTINUOUS = 0.02  # [m] of a jump of 0.6 m: while it sticks at 2e-6 m/s, |v| is off by 2 / (pi k v), 3 % at k = 1e7
NO_FRICTION = LuGre(stiffness=0.0, damping=0.0, viscous=0.0, coulomb=0.0, static=0.0)
EXACT = 1e-9
# Canudas de Wit, Olsson, Astrom, Lischinsky 1995, Table I: a 1 kg mass pulled by a 2 N/m spring at 0.1 m/s.
CASE = {"stiffness": 1e5, "damping": math.sqrt(1e5), "viscous": 0.4, "coulomb": 1.0, "static": 1.5, "stribeck": 1e-3}


def shaft(motor: Motor, inertia=0.01, step=1e-3, voltage=36.0):
    spec = mujoco.MjSpec()
    spec.option.gravity = [0, 0, 0]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.timestep = step
    body = spec.worldbody.add_body(name="wheel")
    body.mass, body.inertia, body.ipos, body.explicitinertial = 1.0, [inertia] * 3, [0, 0, 0], True
    body.add_joint(name="axle", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 1, 0])
    motor.add_to(spec, "motor", "axle", voltage)
    model = spec.compile()
    return model, mujoco.MjData(model)


def test_the_torque_at_the_wheel_is_what_was_asked_for_times_the_gear():
    motor = Motor(friction=NO_FRICTION, rotor_inertia=0.0)
    model, data = shaft(motor)
    data.ctrl[0] = 1.0
    mujoco.mj_step(model, data)
    assert data.qvel[0] == pytest.approx(1.0 * motor.gear * 1e-3 / 0.01, rel=1e-6)


def test_the_rotor_counts_with_the_square_of_the_gear():
    motor = Motor(friction=NO_FRICTION, rotor_inertia=3e-4)
    model, data = shaft(motor)
    data.ctrl[0] = 1.0
    mujoco.mj_step(model, data)
    assert data.qvel[0] == pytest.approx(11.0 * 1e-3 / (0.01 + 3e-4 * 121), rel=1e-6)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.99])
def test_the_torque_speed_line(share):
    """At full voltage: torque = K (U - K w) / R, down to nothing at the no-load speed U / K."""
    motor = Motor(friction=NO_FRICTION, current_limit=1000.0)
    model, data = shaft(motor)
    data.qvel[0] = share * 36.0 / motor.torque_constant / motor.gear
    data.ctrl[0] = 1e3  # more than it can
    mujoco.mj_forward(model, data)
    K, R = motor.torque_constant, motor.resistance
    assert data.actuator_force[0] == pytest.approx(K * (36.0 - share * 36.0) / R, rel=EXACT)


def test_no_load_current_is_the_data_sheets():
    """3.4 A of the S28-150 at 36 V: what friction of the shaft takes at its no-load speed."""
    motor = Motor()
    f = motor.friction
    speed = (36.0 - 3.4 * motor.resistance) / motor.torque_constant
    assert (f.coulomb + f.viscous * speed) / motor.torque_constant == pytest.approx(3.4, rel=0.02)
    model, data = shaft(motor)
    data.ctrl[0] = motor.torque_constant * motor.current_limit
    for _ in range(4000):
        mujoco.mj_step(model, data)
    assert data.qvel[0] * motor.gear == pytest.approx(speed, rel=1e-3)


@pytest.mark.parametrize("step", [1e-2, 1e-3, 1e-4])
def test_friction_is_stable_at_motor_speeds_and_large_steps(step):
    """The bristle's own rate, s0 |w| / Fc, is 1e5 / s at 1000 rad/s."""
    model, data = shaft(Motor(), step=step)
    data.qvel[0] = 80.0  # where the driver's 36 V still outdo the back-EMF
    data.act[0] = Motor().friction.coulomb / Motor().friction.stiffness  # the bristle bent as at speed
    speeds = []
    for _ in range(round(1.0 / step)):
        mujoco.mj_step(model, data)
        speeds.append(data.qvel[0])
    assert np.isfinite(speeds).all()
    assert (np.diff(speeds) <= 1e-9).all()  # it only slows down
    f, gear = Motor().friction, 11.0
    inertia = 0.01 + 3e-4 * gear**2
    slope = f.viscous * gear**2 / inertia
    wanted = (80.0 + f.coulomb / (f.viscous * gear)) * math.exp(-slope) - f.coulomb / (f.viscous * gear)
    # implicitfast takes s1 for a damper: it slows by 1 / (1 + h s1 gear^2 / I) of the right amount.
    slack = step * f.damping * gear**2 / inertia
    assert 80.0 - speeds[-1] == pytest.approx(80.0 - wanted, rel=1.2 * slack + 1e-3)


def test_stick_and_slip_of_the_1995_paper():
    """It sticks while the spring stretches, jumps when that reaches the static friction, and sticks again."""
    time, place, speed, pull = pulled_mass(step=1e-4, duration=25.0)
    sticking = np.abs(speed) < 1e-3
    starts = np.flatnonzero(sticking[:-1] & ~sticking[1:])
    jumps = starts[np.diff(np.concatenate([[-10000], starts])) > 5000]
    assert len(jumps) >= 2
    # The first jump: 2 N/m x 0.1 m/s x t = 1.5 N at t = 7.5 s. Later: the static friction, as the rate is low.
    assert time[jumps[0]] == pytest.approx(7.5, rel=0.02)
    np.testing.assert_allclose(pull[jumps], 1.5, rtol=0.02)
    period = np.diff(time[jumps])
    np.testing.assert_allclose(period, period.mean(), rtol=0.1)
    assert place[-1] == pytest.approx(0.1 * 25.0 - pull[-1] / 2.0, abs=1e-9)
    reference = stick_slip_reference(25.0)
    assert abs(place[-1] - reference) < 0.02


def pulled_mass(step: float, duration: float):
    """The mass on a slide with the friction of an actuator, a spring to a point that moves at 0.1 m/s."""
    f = CASE
    xml = f"""<mujoco><option gravity="0 0 0" timestep="{step}" integrator="implicitfast"/>
    <worldbody><body><joint name="slide" type="slide" axis="1 0 0"/><geom size=".1" mass="1"/></body></worldbody>
    <actuator><dcmotor joint="slide" resistance="1" motorconst="1e-12 1e-12" input="none"
    lugre="{f["stiffness"]} {f["damping"]} {f["coulomb"]} {f["static"]} {f["stribeck"]}" damping="{f["viscous"]}"/>
    </actuator></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    count = round(duration / step)
    time, place, speed, pull = (np.zeros(count) for _ in range(4))
    for k in range(count):
        data.qfrc_applied[0] = 2.0 * (0.1 * data.time - data.qpos[0])
        mujoco.mj_step(model, data)
        time[k], place[k], speed[k] = data.time, data.qpos[0], data.qvel[0]
        pull[k] = 2.0 * (0.1 * data.time - data.qpos[0])
    return time, place, speed, pull


def stick_slip(duration: float, sharpness: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Time [s] and place [m] of the same mass, with `lugre` in an implicit solver of SciPy."""
    from scipy.integrate import solve_ivp

    f = LuGre(**CASE)

    def rates(t, y):
        x, v, z = y
        friction, dz = lugre(f, v, z, sharpness)
        return [v, 2.0 * (0.1 * t - x) - friction, dz]

    out = solve_ivp(rates, (0, duration), [0.0, 0.0, 0.0], method="BDF", rtol=1e-6, atol=1e-10, max_step=0.01)
    return out.t, out.y[0]


def stick_slip_reference(duration: float) -> float:
    return float(stick_slip(duration)[1][-1])


def test_the_continuous_form_of_lugre_is_the_ordinary_one_in_its_limit():
    """Sliding: the same at once. Stick and slip: the jump is that of the ordinary form, the sharper the closer.

    With k v << 1 the continuous form holds any load: at 2e-6 m/s, where the bristles stretch, k = 1e4 never slips.
    """
    f = LuGre(**CASE)
    for speed in (-0.3, 0.2):
        np.testing.assert_allclose(lugre(f, speed, 1e-5, 1e8), lugre(f, speed, 1e-5), atol=1e-5)  # s1 x 2 / (pi k)
    assert lugre(f, 0.0, 1e-5, 10.0) == lugre(f, 0.0, 1e-5)
    ordinary = stick_slip(12.0)[1][-1]
    gaps = [abs(stick_slip(12.0, sharpness)[1][-1] - ordinary) for sharpness in (1e6, 1e7)]
    assert gaps[1] < 0.3 * gaps[0]
    assert gaps[1] < CONTINUOUS
    assert stick_slip(12.0, 1e4)[1][-1] < 1e-3


# ---- battery ----------------------------------------------------------------------------------------


def pack(count=4, **battery):
    motor = Motor(friction=NO_FRICTION, rotor_inertia=0.0)
    spec = mujoco.MjSpec()
    spec.option.gravity = [0, 0, 0]
    for k in range(count):
        body = spec.worldbody.add_body(name=f"w{k}")
        body.mass, body.inertia, body.ipos, body.explicitinertial = 1.0, [0.05] * 3, [0, 0, 0], True
        body.add_joint(name=f"w{k}", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 1, 0])
        motor.add_to(spec, f"m{k}", f"w{k}", 36.0)
    model = spec.compile()
    data = mujoco.MjData(model)
    stage = BatteryPack(Battery(**battery), [motor] * count, [f"m{k}" for k in range(count)], period=1e-3)
    return model, data, stage, motor


def test_the_limit_is_never_exceeded_and_is_used():
    model, data, stage, motor = pack(resistance=0.05)
    model.opt.timestep = 1e-3
    most, random = 0.0, np.random.default_rng(0)
    for k in range(3000):
        data.ctrl[:] = motor.torque_constant * 120.0 * (random.uniform(-1, 1, 4) if k > 1500 else 1.0)
        stage.act(data.time, data, data.ctrl)
        K, R = motor.torque_constant, motor.resistance
        current = data.ctrl / K
        power = K * motor.gear * data.qvel * current + R * current**2
        drawn = power[power > 0].sum()
        assert drawn <= (36.0 - 0.05 * 80.0) * 80.0 * (1 + EXACT)
        assert stage.total[0] <= 80.0 * (1 + EXACT)
        assert np.abs(current).max() <= 120.0 * (1 + EXACT)
        most = max(most, stage.total[0])
        mujoco.mj_step(model, data)
    assert most == pytest.approx(80.0, rel=1e-6)


def test_little_is_delivered_as_asked():
    model, data, stage, motor = pack()
    data.ctrl[:] = 0.5
    stage.act(0.0, data, data.ctrl)
    np.testing.assert_allclose(data.ctrl, 0.5, rtol=EXACT)
    current = 0.5 / motor.torque_constant
    wanted = 4 * motor.resistance * current**2
    assert stage.power.sum() == pytest.approx(wanted, rel=EXACT)
    total = stage.total[0]
    assert (36.0 - 0.05 * total) * total == pytest.approx(wanted, rel=EXACT)


def test_energy_and_charge_are_counted():
    model, data, stage, motor = pack(resistance=0.0)
    data.ctrl[:] = 0.5
    for _ in range(1000):
        stage.act(0.0, data, data.ctrl)
    power = 4 * motor.resistance * (0.5 / motor.torque_constant) ** 2
    assert stage.energy[0] == pytest.approx(power, rel=EXACT)  # 1 s
    assert 36000.0 - stage.charge[0] == pytest.approx(power / 36.0, rel=1e-6)


def test_an_empty_battery_gives_nothing():
    model, data, stage, motor = pack(charge=1e-6)
    data.ctrl[:] = 1.0
    stage.act(0.0, data, data.ctrl)
    data.ctrl[:] = 1.0
    stage.act(0.0, data, data.ctrl)
    assert np.abs(data.ctrl).max() == 0.0


def test_reset_fills_it_again():
    _, data, stage, _ = pack()
    data.ctrl[:] = 1.0
    stage.act(0.0, data, data.ctrl)
    stage.reset([0])
    assert stage.charge[0] == 36000.0
    assert stage.energy[0] == 0.0


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Battery(voltage=-1), "battery: voltage = -1"),
        (lambda: Battery(resistance=1.0), "current_limit = 80 A: allowed is at most 18 A"),
        (lambda: Motor(gear=0), "motor: gear = 0"),
        (lambda: LuGre(static=0.05), "friction: static = 0.05: allowed is a finite number at least 0.1"),
        (lambda: BatteryPack(Battery(), [Motor()], [], period=1e-3), "1 motors for 0 actuators"),
    ],
)
def test_bad_input_is_refused(make, says):
    with pytest.raises(InputError, match=says):
        make()


@pytest.mark.parametrize("power", [500.0, -300.0, 0.0])
@pytest.mark.parametrize("resistance", [0.05, 0.0])
def test_the_battery_current_gives_the_power_at_the_terminals(power, resistance):
    given = (wp.float64(value) for value in (power, 36.0, resistance))
    current = call(battery_kernels.battery_current, *given, returns=wp.float64)
    assert (36.0 - resistance * current) * current == pytest.approx(power, abs=1e-9)
    assert abs(current) <= abs(power) / 36.0 + 2.0  # the smaller root: little more than without resistance
