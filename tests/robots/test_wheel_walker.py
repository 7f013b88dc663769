"""The wheel-stepping robot: gears, motor, brake and lock in the air; rolling against stepping on a bench.

The bench is MuJoCo alone with its own contacts, so that robot and balances are tested apart from our contact module.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest

from grouser.errors import InputError
from grouser.robots import wheel_walker
from grouser.robots import wheel_walker_balance as balance
from grouser.robots.wheel_walker import DRIVES, WheelWalker

ROUND_OFF = 1e-9  # relative, of float64
MESH = 2e-3  # [rad] a gear gives under the motor's torque: MuJoCo's equality constraints are soft
SPEED = 5e-3  # relative, of speeds behind soft gears
TORQUE = 1e-2  # of the speed that a hundredth of the torque would give: soft gears still settle
MOMENTUM = 1e-3  # of the motors' impulse: the implicit step is of first order
CREEP = 2e-3  # [rad/s] of a closed brake or lock under the motor's full torque: the damper of HOLD_SOLREF
ROUND = 240  # sides of a wheel that counts as round: its flats are 1.2 mm to either side of the axle
BALANCE = 0.05  # of a limit: a carrier has tipped by 0.01 rad when it is seen, and bench contacts give
FRICTION = 0.07  # of a least friction: contact points at wall and floor are a flat's half width off
STEP = 2e-3  # [s]
TIPPED = 0.01  # [rad] of a carrier that has begun to tip: a millimetre at its wheels, a hundred times the bench's give
SHAKEN = 0.2  # [rad] that slipping wheels do not shake a carrier by


def in_the_air(p: WheelWalker | None = None, hull: bool = False) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """No gravity, no ground; the hull is held unless it is said to be free."""
    spec = wheel_walker.build(p, gravity=0.0)
    if not hull:
        spec.delete(spec.joint("base"))
    model = spec.compile()
    model.opt.timestep = STEP
    return model, mujoco.MjData(model)


def speeds(data: mujoco.MjData, name: str) -> tuple[float, float, np.ndarray]:
    """[rad/s] of sun, carrier and wheels, each against what it turns on."""
    wheels = np.array([data.joint(f"wheel_{name}_{k}").qvel[0] for k in range(3)])
    return data.joint(f"sun_{name}").qvel[0], data.joint(f"carrier_{name}").qvel[0], wheels


def step(model, data, seconds: float) -> None:
    for _ in range(round(seconds / STEP)):
        mujoco.mj_step(model, data)


# ---- what it is made of -----------------------------------------------------------------------------------


def test_weight_and_centre_are_as_asked():
    p = WheelWalker(mass=55.0, centre_x=-0.07, centre_height=0.04)
    model = wheel_walker.build(p, x=1.5).compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    assert model.body_mass.sum() == pytest.approx(p.mass, rel=ROUND_OFF)
    expected = [1.5 + p.centre_x, 0, p.hub_height + p.centre_height]
    assert data.subtree_com[0] == pytest.approx(expected, abs=1e-9)


def test_gravity_turns_no_joint():
    """Gears, wheels and carriers are balanced about their axles."""
    model = wheel_walker.build(WheelWalker()).compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert np.abs(data.qfrc_bias[6:]).max() < 1e-9


@pytest.mark.parametrize("sides", [3, 10, 40])
def test_wheels_are_prisms_that_stand_on_a_flat(sides):
    p = WheelWalker(sides=sides)
    corners = wheel_walker.wheel_vertices(p)
    assert corners.shape == (2 * sides, 3)
    assert np.hypot(corners[:, 0], corners[:, 2]) == pytest.approx(np.full(2 * sides, p.wheel_radius))
    lowest = corners[:, 2].min()
    assert np.isclose(corners[:, 2], lowest).sum() == 4
    assert p.hub_height == pytest.approx(p.arm / 2 - lowest)


def test_gears_of_one_module_fill_the_arm():
    p = WheelWalker()
    module = p.satellite_arm / (p.sun_teeth + p.satellite_teeth)
    assert p.arm - p.satellite_arm == pytest.approx(module * (p.satellite_teeth + p.wheel_teeth))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sides": 2}, "sides: 2"),
        ({"mass": 10.0}, "mass: 10 kg"),
        ({"wheel_radius": 0.14}, "touch at 0.1386 m"),
        ({"stall_torque": -1.0}, "stall_torque"),
        ({"wheel_teeth": 0}, "wheel_teeth"),
        ({"centre_x": math.nan}, "centre_x"),
    ],
)
def test_nonsense_is_refused(change, words):
    with pytest.raises(InputError, match=words):
        WheelWalker(**change)


# ---- gears ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("teeth", [(60, 24, 16), (40, 20, 50)])
def test_speeds_obey_willis_whatever_drives_and_resists(teeth):
    p = WheelWalker(sun_teeth=teeth[0], satellite_teeth=teeth[1], wheel_teeth=teeth[2])
    model, data = in_the_air(p)
    data.ctrl[:] = [24, -24, 12, 6]
    for name, torque in zip(DRIVES, (0.5, -0.2, 0.3, 1.0), strict=True):
        data.qfrc_applied[model.joint(f"carrier_{name}").dofadr[0]] = torque
        data.qfrc_applied[model.joint(f"wheel_{name}_1").dofadr[0]] = -torque / 3
    step(model, data, 1.0)
    for name in DRIVES:
        sun, carrier, wheels = speeds(data, name)
        assert abs(carrier) > 0.1
        expected = (sun - carrier) * teeth[0] / teeth[2]
        assert wheels == pytest.approx(np.full(3, expected), rel=SPEED, abs=1e-3)
        assert balance.wheel_speed(p, sun, carrier) == pytest.approx(expected)
        turn = data.joint(f"sun_{name}").qpos[0] - data.joint(f"carrier_{name}").qpos[0]
        slack = turn - p.ratio * data.joint(f"wheel_{name}_0").qpos[0]
        assert abs(slack) < MESH


def test_torques_in_balance_leave_the_drive_at_rest():
    """Sun T, wheels - i T together, carrier - (1 - i) T: nothing moves; one torque off by a hundredth, it does."""
    p, torque = WheelWalker(), 10.0
    still, moved = (_speeds_under(p, torque, error) for error in (1.0, 1.01))
    assert np.abs(still).max() < TORQUE * np.abs(moved).max()


def _speeds_under(p: WheelWalker, torque: float, error: float) -> np.ndarray:
    model, data = in_the_air(p)
    for name in DRIVES:
        data.qfrc_applied[model.joint(f"sun_{name}").dofadr[0]] = torque
        data.xfrc_applied[model.body(f"carrier_{name}").id, 4] = -(1 - p.ratio) * torque * error
        for k in range(3):
            data.xfrc_applied[model.body(f"wheel_{name}_{k}").id, 4] = -p.ratio * torque / 3
    step(model, data, 0.5)
    return data.qvel.copy()


def test_blocked_wheels_make_the_carrier_step():
    """With the wheels held still in the world the sun turns by (1 - i) of the carrier, in the same sense."""
    p = WheelWalker()
    spec = wheel_walker.build(p, gravity=0.0)
    spec.delete(spec.joint("base"))
    for name in DRIVES:
        blocked = spec.add_equality(
            type=mujoco.mjtEq.mjEQ_JOINT, name1=f"wheel_{name}_0", name2=f"carrier_{name}",
            solref=wheel_walker.GEAR_SOLREF, solimp=wheel_walker.GEAR_SOLIMP,
        )  # fmt: skip
        blocked.data[:5] = [0, -1, 0, 0, 0]
    model = spec.compile()
    model.opt.timestep = STEP
    data = mujoco.MjData(model)
    data.ctrl[:] = p.voltage
    step(model, data, 1.0)
    for name in DRIVES:
        sun, carrier, wheels = speeds(data, name)
        assert sun == pytest.approx(p.no_load_speed, rel=0.1)
        assert sun == pytest.approx(balance.stepping_sun_speed(p, carrier), rel=SPEED)
        assert wheels == pytest.approx(np.full(3, -carrier), rel=SPEED)


# ---- motor, brake, lock -----------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_motor_follows_its_straight_curve(share):
    p = WheelWalker()
    model, data = in_the_air(p)
    data.ctrl[:] = p.voltage
    for name in DRIVES:
        data.joint(f"sun_{name}").qvel[0] = share * p.no_load_speed
    mujoco.mj_forward(model, data)
    assert data.actuator_force == pytest.approx(np.full(4, (1 - share) * p.stall_torque), abs=1e-9)
    data.ctrl[:] = p.voltage / 2
    mujoco.mj_forward(model, data)
    assert data.actuator_force == pytest.approx(np.full(4, (0.5 - share) * p.stall_torque), abs=1e-9)


def test_motor_pushes_back_on_the_hull():
    model, data = in_the_air(hull=True)
    data.ctrl[:] = 24
    step(model, data, 0.02)
    assert data.qvel[4] < 0  # pitches its nose up
    mujoco.mj_subtreeVel(model, data)
    assert data.subtree_angmom[0] == pytest.approx(np.zeros(3), abs=MOMENTUM * 4 * 26.0 * 0.02)


def test_brake_holds_the_carrier_where_it_closes():
    p = WheelWalker()
    model, data = in_the_air(p)
    data.ctrl[:] = 24
    for name in DRIVES:
        data.qfrc_applied[model.joint(f"carrier_{name}").dofadr[0]] = 3.0
    step(model, data, 0.5)
    turned = data.joint("carrier_fr").qpos[0]
    assert turned > 0.5
    data.eq_active[model.equality("brake_fr").id] = 1
    step(model, data, 0.1)
    at = data.joint("carrier_fr").qpos[0]
    step(model, data, 1.0)
    assert abs(data.joint("carrier_fr").qpos[0] - at) < CREEP
    assert data.joint("carrier_fl").qpos[0] - turned > 1.0  # its neighbour's is open
    sun, _, wheels = speeds(data, "fr")
    assert wheels == pytest.approx(np.full(3, sun / p.ratio), rel=SPEED)
    data.eq_active[model.equality("brake_fr").id] = 0
    step(model, data, 0.5)
    assert abs(data.joint("carrier_fr").qvel[0]) > 0.1


def test_lock_turns_the_drive_as_one():
    p = WheelWalker()
    model, data = in_the_air(p)
    data.ctrl[:] = 24
    step(model, data, 0.3)
    for name in DRIVES:
        data.eq_active[model.equality(f"lock_{name}").id] = 1
        data.xfrc_applied[model.body(f"wheel_{name}_0").id, 4] = -5.0
    step(model, data, 1.0)
    for name in DRIVES:
        sun, carrier, wheels = speeds(data, name)
        assert sun > 0.5
        assert carrier == pytest.approx(sun, abs=CREEP)
        assert wheels == pytest.approx(np.zeros(3), abs=CREEP / p.ratio)


# ---- rolling or stepping ----------------------------------------------------------------------------------


def bench(p: WheelWalker, friction: float, wall: float | None = None) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """On MuJoCo's own floor, with a wall `wall` [m] ahead of the front wheels."""
    spec = wheel_walker.build(p)
    box = {"type": mujoco.mjtGeom.mjGEOM_BOX, "contype": 1, "conaffinity": 0, "condim": 3, "priority": 1,
           "friction": [friction, 0, 0], "solref": [0.004, 1]}  # fmt: skip
    spec.worldbody.add_geom(pos=[0, 0, -0.5], size=[10, 2, 0.5], **box)
    if wall is not None:
        face = p.wheelbase / 2 + p.axle(0)[0] + p.wheel_radius + wall
        spec.worldbody.add_geom(pos=[face + 1, 0, 1], size=[1, 2, 1], **box)
    for geom in spec.geoms:
        if geom.type == mujoco.mjtGeom.mjGEOM_MESH and geom.name.startswith("wheel"):
            geom.conaffinity = 1
    model = spec.compile()
    model.opt.timestep, model.opt.cone, model.opt.impratio = STEP, mujoco.mjtCone.mjCONE_ELLIPTIC, 10
    return model, mujoco.MjData(model)


def ramp(
    model, data, seconds: float, volts: float, tether: float = 0.0, tipped: float = TIPPED
) -> tuple[np.ndarray, float]:
    """Raise the voltage evenly until a front carrier tips: torques [N m] of the motors or nan, tether's pull [N]."""
    carrier = model.joint("carrier_fr").qposadr[0]
    for _ in range(round(seconds / STEP)):
        data.ctrl[:] = volts * max(0.0, data.time - 0.2) / seconds
        data.qfrc_applied[0] = -tether * (data.qpos[0] + 0.05 * data.qvel[0])
        mujoco.mj_step(model, data)
        if data.qpos[carrier] > tipped:
            return data.actuator_force.copy(), float(data.qfrc_applied[0])
    return np.full(4, math.nan), float(data.qfrc_applied[0])


@pytest.mark.parametrize("change", [{}, {"wheel_teeth": 24, "centre_x": 0.05}, {"mass": 60.0, "wheelbase": 0.9}])
def test_blocked_front_drives_step_at_the_torque_of_the_balance(change):
    p = WheelWalker(sides=ROUND, **{"stall_torque": 40.0, **change})
    model, data = bench(p, friction=1.0, wall=0.0)
    torques, _ = ramp(model, data, 2.0, p.voltage)
    assert torques[1] == pytest.approx(balance.wall_limit(p), rel=BALANCE)


@pytest.mark.parametrize("change", [{}, {"wheel_teeth": 12, "centre_x": 0.05}, {"mass": 60.0, "wheelbase": 0.9}])
def test_front_drives_step_on_level_ground_at_the_torque_of_the_balance(change):
    """Tethered at the height of the hubs, so that the motors can be loaded at rest."""
    p = WheelWalker(sides=ROUND, **{"stall_torque": 60.0, **change})
    model, data = bench(p, friction=1.5)
    torques, _ = ramp(model, data, 2.0, p.voltage, tether=2e5)
    assert torques[1] == pytest.approx(balance.flat_limit(p), rel=BALANCE)


def test_traction_of_a_rolling_drive():
    """i T / r, all of it, while the carrier rests."""
    p = WheelWalker(sides=ROUND)
    model, data = bench(p, friction=1.0)
    _, pull = ramp(model, data, 1.0, p.voltage / 4, tether=2e5)
    assert -pull == pytest.approx(p.ratio * data.actuator_force.sum() / p.wheel_radius, rel=BALANCE)


@pytest.mark.parametrize("side", [1, -1])
def test_least_friction_at_a_wall(side):
    p = WheelWalker(sides=ROUND, stall_torque=80.0)
    model, data = bench(p, friction=(1 + side * FRICTION) * balance.wall_friction(p), wall=0.0)
    torques, _ = ramp(model, data, 2.0, p.voltage, tipped=SHAKEN)
    assert math.isfinite(torques[1]) == (side > 0)


def test_limits_say_what_the_paper_warns_of():
    """Stadukhin 2016: too light or wrongly geared steps on the flat; too heavy or without grip never steps."""
    p, light = WheelWalker(), WheelWalker(mass=20.0)
    loaded = 150.0 * p.wheel_radius / (4 * p.ratio)  # [N m] of each motor that drags 150 N
    assert balance.flat_limit(light) < loaded < 0.6 * balance.flat_limit(p)
    assert balance.flat_limit(WheelWalker(wheel_teeth=10)) < balance.flat_limit(p)
    assert balance.flat_friction(WheelWalker(wheel_teeth=10)) < 0.5 < balance.flat_friction(p)
    assert balance.wall_limit(p) < p.stall_torque < balance.wall_limit(WheelWalker(mass=100.0))
    assert 0.2 < balance.wall_friction(p) < 0.5
    assert math.isinf(balance.flat_friction(WheelWalker(wheel_teeth=40)))
