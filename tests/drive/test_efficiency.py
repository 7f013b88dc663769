"""The gearbox of a motor takes its share of the power, driving and braking."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from grouser.drive import Battery, BatteryPack, LuGre, Motor
from grouser.simulation import Simulation

NO_FRICTION = LuGre(stiffness=0.0, damping=0.0, viscous=0.0, coulomb=0.0, static=0.0)
INERTIA, H = 0.05, 1e-3  # [kg m^2] of the wheel, [s]
SOLVER = 1e-6  # of MuJoCo's step, relative
BAND = 1.0  # [rad/s] of the motor (docs/vehicles.md)
STEPS = 500
IMPLICIT_BACK_EMF = int(mujoco.__version__.split(".")[0]) >= 4  # of a motor at its voltage limit
MOTOR = Motor(friction=NO_FRICTION, rotor_inertia=0.0)


class Constant:
    """Asks for a torque of the motor."""

    period = H

    def __init__(self, torque: float):
        self.torque = torque

    def act(self, time, sensors, command):
        command[0] = self.torque

    def state(self):
        return {}

    def reset(self, worlds):
        pass

    def channels(self):
        return []


def wheel(efficiency: float, torque: float, *, implicit=True, step=H, **changes) -> tuple[Simulation, BatteryPack]:
    """A wheel on an axle that asks for a torque of its motor all the time, from a battery that takes power back."""
    motor = replace(MOTOR, efficiency=efficiency, **changes)
    spec = mujoco.MjSpec()
    spec.option.gravity, spec.option.integrator = [0, 0, 0], mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    body = spec.worldbody.add_body(name="wheel")
    body.mass, body.inertia, body.ipos, body.explicitinertial = 1.0, [INERTIA] * 3, [0, 0, 0], True
    body.add_joint(name="axle", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 1, 0])
    motor.add_to(spec, "motor", "axle", 36.0)
    pack = BatteryPack(Battery(resistance=0.0), [motor], ["motor"], period=step, recovers=True)
    controllers = [Constant(torque), pack]
    controllers[0].period = step
    return Simulation(spec, [], controllers=controllers, step=step, implicit=implicit), pack


@pytest.mark.parametrize("implicit", [True, False])
@pytest.mark.parametrize("efficiency", [1.0, 0.8, 0.5])
@pytest.mark.parametrize(("speed", "drives"), [(0.0, True), (20.0, True), (-20.0, False)])
def test_the_torque_at_the_wheel(efficiency, speed, drives, implicit):
    """eta N tau of a motor that drives or stands, N tau / eta of one that is turned by the wheel."""
    sim, _ = wheel(efficiency, 1.0, implicit=implicit)
    sim.data.qvel[0] = speed
    sim.engine.kinematics()
    sim.step()
    got = INERTIA * (sim.data.qvel[0] - speed) / H
    wanted = MOTOR.gear * (efficiency if drives else 1 / efficiency)
    assert got == pytest.approx(wanted, rel=SOLVER)


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_the_wheel_gets_the_efficient_share_of_what_the_voltage_allows(share):
    """Above the voltage's limit the motor gives K (U - K w) / R, and the wheel eta N of it.

    MuJoCo 4 takes the slope of that with the speed at the end of the step, MuJoCo 3 at its start.
    """
    efficiency, K, R = 0.7, MOTOR.torque_constant, MOTOR.resistance
    sim, _ = wheel(efficiency, 1e3, current_limit=1000.0)
    sim.controllers = sim.controllers[:1]  # the battery would hold it back
    sim.use_controllers(sim.controllers)
    sim.data.qvel[0] = speed = share * 36.0 / K / MOTOR.gear
    sim.engine.kinematics()
    sim.step()
    slope = (K * MOTOR.gear) ** 2 / R if IMPLICIT_BACK_EMF else 0.0  # [N m s/rad]
    wanted = efficiency * MOTOR.gear * K * (36.0 - share * 36.0) / R
    assert (INERTIA + H * slope) * (sim.data.qvel[0] - speed) / H == pytest.approx(wanted, rel=SOLVER)


@pytest.mark.parametrize("efficiency", [1.0, 0.8, 0.5])
@pytest.mark.parametrize("drives", [True, False])
def test_what_the_battery_gives_is_work_heat_and_loss(efficiency, drives):
    """Driving: work = eta (energy - heat). Braking: energy returned = eta work - heat."""
    torque = 0.2 if drives else -0.2
    sim, pack = wheel(efficiency, torque)
    sim.data.qvel[0] = start = 0.0 if drives else 60.0
    sim.engine.kinematics()
    sim.step(STEPS)
    heat = MOTOR.resistance * (torque / MOTOR.torque_constant) ** 2 * STEPS * H
    end = sim.data.qvel[0]
    assert end > 0, "it turns"
    work = INERTIA / 2 * (end**2 - start**2)
    counted = torque * MOTOR.gear * H * (end - start) / 2  # the battery takes the speed at the beginning of each step
    assert pack.energy[0] - heat + counted == pytest.approx(
        work / efficiency if drives else work * efficiency, rel=SOLVER
    )
    assert (pack.energy[0] > 0) == drives


@pytest.mark.parametrize("step", [1e-4, 1e-3, 5e-3])
def test_a_load_between_both_is_held(step):
    """eta N tau < load < N tau / eta: the wheel creeps where the factor is load / (N tau), at any step."""
    efficiency, torque = 0.5, 1.0
    sim, _ = wheel(efficiency, torque, step=step)
    sim.data.qfrc_applied[0] = -MOTOR.gear * torque
    sim.step(round(1.0 / step))
    creep = BAND * (1 - efficiency) / (1 / efficiency - efficiency)
    assert -sim.data.qvel[0] * MOTOR.gear == pytest.approx(creep, rel=1e-3)


def test_the_command_for_a_torque_at_the_wheel_is_the_inverse():
    motor = replace(MOTOR, efficiency=0.5)
    torque, rate = np.array([10.0, -10.0, 10.0, -10.0]), np.array([5.0, 5.0, -5.0, -5.0])
    shaft = motor.shaft_torque(torque, rate)
    np.testing.assert_allclose(shaft, np.array([2.0, -0.5, 0.5, -2.0]) * 10.0 / motor.gear)


def test_a_vehicle_feels_it():
    """The whole way from a vehicle file: half the efficiency, half the pull of the same current."""
    from grouser.robots.vehicle import build
    from grouser.robots.vehicle_file import vehicle

    speeds = []
    for efficiency in (1.0, 0.5):
        vivi = vehicle("vivi")
        vivi = replace(vivi, motor=replace(vivi.motor, friction=NO_FRICTION, efficiency=efficiency))
        parent, child = mujoco.MjSpec(), build(vivi, gravity=0.0)
        parent.option.gravity = [0, 0, 0]
        parent.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        parent.attach(child, frame=parent.worldbody.add_frame(), prefix="one/")
        sim = Simulation(parent, [], step=H)
        sim.data.ctrl[:] = 1.0
        sim.step(5)
        speeds.append(sim.data.joint("one/drive_fl").qvel[0])
    assert speeds[1] == pytest.approx(0.5 * speeds[0], rel=1e-6)
