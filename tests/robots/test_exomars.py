"""The ExoMars-class rover: what it weighs, how its bogies share the load, what its motors can do."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest

from grouser.contact.soil import SoilOptions
from grouser.errors import InputError
from grouser.robots import exomars
from grouser.robots.exomars import WHEELS, ExoMars
from grouser.simulation import on_soil
from grouser.terrain.generators import flat

ROUND_OFF = 1e-9  # relative, of a few hundred float64 operations
STATIC = 0.02  # of the load of an axle: without friction, pits push wheels to and fro by a newton or two
ASIDE = 0.05  # of a wheel's load: wheels are wide, so that their own patches may take part of a roll moment
SETTLED = 0.01  # of the commanded speed, two seconds after a motor has started or left its limit
OTHERS = ExoMars(
    mass=250.0, centre_x=-0.08, centre_height=0.5, front_x=0.7, middle_x=0.05, rear_x=-0.6,
    longitudinal_pivot_x=0.3, transverse_pivot_height=0.35,
)  # fmt: skip
BODIES = tuple(f"wheel_{name}" for name in WHEELS)
DRIVES = [f"drive_{name}" for name in WHEELS]


def compiled(parameters: ExoMars | None = None, **options) -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = exomars.build(parameters, **options).compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def by_hand(p: ExoMars, gravity: float) -> np.ndarray:
    """[N] of the wheels, from the balance of moments about the pivots of three bogies on level ground."""
    corner = (p.wheel_mass + p.knuckle_mass) * gravity
    beam, body = p.bogie_mass * gravity, p.chassis_mass * gravity
    body_x = float(p.chassis_centre[0])
    side = body * (body_x - p.rear_x) / (p.longitudinal_pivot_x - p.rear_x) / 2  # on one longitudinal pivot
    rear = (body - 2 * side + beam) / 2 + corner
    to_front, to_middle = p.front_x - p.longitudinal_pivot_x, p.longitudinal_pivot_x - p.middle_x
    front = (side + beam) * to_middle / (to_front + to_middle) + corner
    middle = (side + beam) * to_front / (to_front + to_middle) + corner
    return np.repeat([front, middle, rear], 2)


# ---- the model ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [ExoMars(), OTHERS], ids=["default", "others"])
def test_mass_and_centre_of_mass_are_as_asked(p):
    model, data = compiled(p, height=0.4)
    assert model.body_mass.sum() == pytest.approx(p.mass, rel=ROUND_OFF)
    assert data.subtree_com[1] == pytest.approx([p.centre_x, 0, 0.4 + p.centre_height], abs=1e-9)


def test_names_are_those_others_build_on():
    model, data = compiled()
    for name in WHEELS:
        assert model.body(f"wheel_{name}").parentid == model.body(f"knuckle_{name}").id
        drive, steer = model.joint(f"drive_{name}").id, model.joint(f"steer_{name}").id
        assert data.xaxis[drive] == pytest.approx([0, 1, 0])
        assert data.xaxis[steer] == pytest.approx([0, 0, 1])
        assert model.actuator(f"drive_{name}").trnid[0] == drive
        assert model.actuator(f"steer_{name}").trnid[0] == steer
    assert model.joint("base").type == mujoco.mjtJoint.mjJNT_FREE
    assert [data.xaxis[model.joint(f"bogie_{b}").id].tolist() for b in exomars.BOGIES] == [
        [0, 1, 0],
        [0, 1, 0],
        [1, 0, 0],
    ]
    assert (model.nq, model.nv, model.nu) == (7 + 3 + 12, 6 + 3 + 12, 12)


@pytest.mark.parametrize("p", [ExoMars(), OTHERS], ids=["default", "others"])
def test_wheels_stand_where_control_thinks_and_touch_the_ground(p):
    model, data = compiled(p)
    wheels = data.xpos[[model.body(b).id for b in BODIES]]
    assert wheels[:, :2] == pytest.approx(exomars.wheel_positions(p), abs=1e-12)
    assert wheels[:, 2] == pytest.approx(p.wheel_radius, abs=1e-12)


def test_left_is_the_mirror_of_right():
    model, data = compiled(OTHERS)
    for left, right in (
        ("bogie_left", "bogie_right"),
        *((f"{kind}_{a}l", f"{kind}_{a}r") for kind in ("knuckle", "wheel") for a in "fmr"),
    ):
        a, b = model.body(left).id, model.body(right).id
        assert data.xipos[a] * [1, -1, 1] == pytest.approx(data.xipos[b], abs=1e-12)
        assert model.body_mass[a] == model.body_mass[b]
        assert model.body_inertia[a] == pytest.approx(model.body_inertia[b])
    assert np.linalg.norm(data.subtree_com[1][1]) < 1e-12


def test_ranges_and_limits_are_in_radians_and_newton_metres():
    p = ExoMars()
    model, _ = compiled(p)
    for name in WHEELS:
        assert model.joint(f"steer_{name}").range == pytest.approx([-p.steer_limit, p.steer_limit])
        assert model.actuator(f"drive_{name}").forcerange == pytest.approx([-p.drive_torque, p.drive_torque])
        assert model.actuator(f"steer_{name}").forcerange == pytest.approx([-p.steer_torque, p.steer_torque])
        assert not model.joint(f"drive_{name}").limited
    for name in exomars.BOGIES:
        assert model.joint(f"bogie_{name}").range == pytest.approx([-p.bogie_limit, p.bogie_limit])


def test_nothing_of_it_collides_or_adds_mass():
    model, _ = compiled()
    assert not model.geom_contype.any()
    assert not model.geom_conaffinity.any()


def test_surface_of_a_wheel_is_its_rim_with_grousers():
    p = ExoMars()
    surface = exomars.wheel_surface(p)
    assert np.linalg.norm(surface.vertices[:, ::2], axis=1).max() == pytest.approx(p.wheel_radius)
    assert np.ptp(surface.vertices[:, 1]) == pytest.approx(p.wheel_width)
    assert (surface.grouser_height, surface.width) == (p.grouser_height, p.wheel_width)
    assert surface.lugs.max() > 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mass": 60.0}, "mass: 60 kg is not allowed; wheels and bogies alone are 63 kg"),
        ({"wheel_radius": -0.1}, "wheel_radius"),
        ({"drive_torque": math.nan}, "drive_torque"),
        ({"longitudinal_pivot_x": 0.7}, "the order from front to rear"),
    ],
)
def test_parameters_that_make_no_rover_are_refused(change, words):
    with pytest.raises(InputError, match=words):
        ExoMars(**change)


# ---- statics -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [ExoMars(), OTHERS], ids=["default", "others"])
def test_bogies_share_the_load_as_calculated_by_hand(p):
    """Gravity on the six degrees of freedom that forces under the wheels can hold, solved for these forces."""
    model, data = compiled(p)
    held = [2, 3, 4, *(int(model.joint(f"bogie_{b}").dofadr[0]) for b in exomars.BOGIES)]
    lifts = []
    for body in BODIES:
        jacobian = np.zeros((3, model.nv))
        mujoco.mj_jacBody(model, data, jacobian, None, model.body(body).id)
        lifts.append(jacobian[2, held])
    loads = np.linalg.solve(np.array(lifts).T, data.qfrc_bias[held])
    assert loads == pytest.approx(by_hand(p, exomars.MARS), rel=1e-6)
    assert loads.sum() == pytest.approx(p.mass * exomars.MARS, rel=ROUND_OFF)


def test_equal_loads_by_default():
    assert by_hand(ExoMars(), exomars.MARS) == pytest.approx(np.full(6, 310 * 3.71 / 6))


@pytest.mark.parametrize("p", [ExoMars(), OTHERS], ids=["default", "others"])
def test_resting_on_soil_every_wheel_carries_its_load(p):
    surface = exomars.wheel_surface(p)
    sim = on_soil(
        exomars.build(p), "dry-sand", dict.fromkeys(BODIES, surface), terrain=flat(size=(3.0, 2.4), spacing=0.2),
        step=5e-3, options=SoilOptions(friction="none"),
    )  # fmt: skip
    sim.step(600)
    loads = sim.modules[0].out.effective.numpy()[0, :, 2]
    assert np.abs(sim.data.qvel).max() < 1e-3
    expected = by_hand(p, exomars.MARS)
    assert loads.reshape(3, 2).sum(axis=1) == pytest.approx(expected.reshape(3, 2).sum(axis=1), rel=STATIC)
    assert loads == pytest.approx(expected, rel=ASIDE)


# ---- motors ------------------------------------------------------------------------------------------


def test_a_held_wheel_gets_no_more_than_the_torque_limit():
    p = ExoMars()
    model, data = compiled(p, gravity=0.0)
    data.ctrl[:6] = 0.1
    wheel = model.joint("drive_ml").dofadr[0]
    load = -2 * p.drive_torque
    for _ in range(500):
        data.qfrc_applied[wheel] = load
        mujoco.mj_step(model, data)
        assert np.abs(data.actuator_force[:6]).max() <= p.drive_torque * (1 + ROUND_OFF)
    assert data.actuator("drive_ml").force[0] == pytest.approx(p.drive_torque)
    assert data.qvel[wheel] < 0


@pytest.mark.parametrize("step", [1e-3, 5e-3, 1e-2])
def test_a_motor_that_leaves_its_limit_finds_its_speed_again(step):
    """Freed of an overload, or told suddenly to go, a wheel must not swing between the two limits."""
    model, data = compiled(gravity=0.0)
    model.opt.timestep = step
    data.ctrl[:6] = 0.14
    wheels = [model.joint(name).dofadr[0] for name in DRIVES]
    for until, load in ((2.0, 0.0), (3.0, -45.0), (5.0, 0.0)):
        while data.time < until:
            data.qfrc_applied[wheels] = load
            mujoco.mj_step(model, data)
        if load == 0:
            assert data.qvel[wheels] == pytest.approx(0.14, rel=SETTLED)


def test_a_steering_motor_holds_its_angle_and_its_limit():
    p = ExoMars()
    model, data = compiled(p, gravity=0.0)
    model.opt.timestep = 5e-3
    data.ctrl[6:] = 0.6
    steers = [model.joint(f"steer_{name}").qposadr[0] for name in WHEELS]
    most = 0.0
    for _ in range(800):
        mujoco.mj_step(model, data)
        most = max(most, float(np.abs(data.actuator_force[6:]).max()))
    assert most == pytest.approx(p.steer_torque)
    assert data.qpos[steers] == pytest.approx(0.6, abs=1e-3)
