"""The docking machine: free flight keeps momentum, the boom bends as a beam, parts fit, bad input is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from grouser.errors import InputError
from grouser.robots import olev, olev_bending, olev_control
from grouser.robots import olev_shapes as shapes
from grouser.robots.olev import InitialState, Olev
from grouser.scenarios.bending import damping_ratio

ROUND_OFF = 1e-9
FIT = 2e-5  # [m] chords of the sections
CONSERVED = 2e-4  # of momentum over 4 s at 2 ms, first order in the step (engine.md allows for 1e-5 in 20 s at 1 ms)
DAMPING = 0.05  # of the ratio: the bar of the issue
STRAY = 2e-3  # of a frequency: the inertia of small parts in the closed form's bodies
RIGID_SEAT = Olev(nozzle_tilt_deg=0.0, momentum_wheel_rate=0.0, panel_turn_rate=0.0, seat_tilt_stiffness=1e9)


def started(p: Olev | None = None, initial: InitialState | None = None, step: float = 2e-3):
    model = olev.build(p, initial).compile()
    model.opt.timestep = step
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    return model, data


def momentum(model, data) -> np.ndarray:
    """(6,) linear, and angular about the world's origin."""
    mujoco.mj_subtreeVel(model, data)
    push = model.body_subtreemass[0] * data.subtree_linvel[0]
    return np.concatenate([push, data.subtree_angmom[0] + np.cross(data.subtree_com[0], push)])


def shaken_drift(step: float) -> float:
    """Momentum that came from nowhere in 4 s of free flight with everything in motion, over what there is."""
    model, data = started(step=step)
    for name in olev.BENDS:
        data.joint(name).qpos[0] = 0.01
    for bus in ("servicer", "client"):
        for wing in olev.WINGS:
            data.joint(f"{bus}_bend_{wing}").qvel[0] = 0.02
        data.joint(bus).qvel[:] = [0.01, -0.02, 0.01, 0.01, 0.005, -0.01]
    data.ctrl[[model.actuator(name).id for name in olev.BOOM_STAGES]] = 0.02 * np.array(olev.GAUSS)
    data.ctrl[model.actuator("wheel_x").id] = 0.1
    mujoco.mj_forward(model, data)
    first = momentum(model, data)
    for _ in range(round(4 / step)):
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    lost = np.abs(momentum(model, data) - first)
    return float(max(lost[:3].max() / np.linalg.norm(first[:3]), lost[3:].max() / np.linalg.norm(first[3:])))


def test_free_flight_keeps_momentum_and_the_better_the_shorter_the_step():
    coarse, fine = shaken_drift(2e-3), shaken_drift(1e-3)
    assert coarse < CONSERVED
    assert fine < 0.6 * coarse


@pytest.mark.parametrize("length", [0.5, 2.0])
def test_boom_bends_as_a_cantilever_under_force_and_moment(length):
    p = Olev()
    model, data = started(p, InitialState(boom_length=length))
    force, moment = 2.0, 0.7  # along x at the boom's end, about y
    stiffness = olev_bending.stiffness(p, length)
    place, turn = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    body = model.body("boom3").id
    mujoco.mj_jac(model, data, place, turn, data.xpos[body], body)
    dofs = [model.joint(name).dofadr[0] for name in olev.BENDS]
    angles = (place[0, dofs] * force + turn[1, dofs] * moment) / stiffness
    ei = p.boom_flexural_rigidity
    assert place[0, dofs] @ angles == pytest.approx(force * length**3 / (3 * ei) + moment * length**2 / (2 * ei))
    assert turn[1, dofs] @ angles == pytest.approx(force * length**2 / (2 * ei) + moment * length / ei)


def test_bending_frequency_of_equal_bodies_is_the_closed_form():
    """Both turn against each other and do not shift: omega^2 = 2 EI / (L I)."""
    light, inertia, length = 1e-6, 900.0, 1.5
    equal = {f"{bus}_inertia_{a}": inertia for bus in ("servicer", "client") for a in "xyz"}
    names = ("servicer_panel_mass", "client_panel_mass", "wheel_mass", "bracket_mass", "boom_stage_mass", "tool_mass",
             "crown_mass", "wheel_inertia", "momentum_wheel_inertia")  # fmt: skip
    p = Olev(panel_frequency=50.0, seat_tilt_stiffness=1e9, **dict.fromkeys(names, light), **equal)
    reach = p.throat[2] + p.client_half_height  # from the client's lower side up to the throat
    p = replace(p, servicer_half_height=p.client_half_height - reach + p.tool_length)
    p = replace(p, client_mass=p.servicer_mass)
    expected = math.sqrt(2 * p.boom_flexural_rigidity / (length * inertia))
    assert olev_bending.frequencies(p, length) == pytest.approx([expected] * 2, rel=STRAY)


def test_damping_is_finite_and_smooth_at_every_length():
    """Where the boom is short its bending is faster than the wings', and the lowest mode is theirs."""
    p = Olev()
    lengths = np.linspace(p.boom_retracted / 2, p.boom_extended + 0.2, 60)
    ratio = np.array([olev_bending.damping(p, L) * olev_bending.frequencies(p, L) for L in lengths])
    ratio /= np.array([[2 * p.boom_damping_ratio * olev_bending.stiffness(p, L)] for L in lengths])
    assert ratio.min() > 0.5  # 1 where all the energy is in the boom
    assert ratio.max() < 4.0


def mated_oscillation(step: float) -> tuple[float, float]:
    """Damping ratio and frequency [rad/s] of both satellites joined by the boom, bent and let go."""
    p, length = RIGID_SEAT, 2.0
    state = InitialState(**{f.name: 0.0 for f in InitialState.__dataclass_fields__.values()} | {"boom_length": length})
    state = replace(state, client_z=length - p.boom_extended)
    spec = olev.build(p, state)
    weld = spec.add_equality(name="lock", type=mujoco.mjtEq.mjEQ_WELD, objtype=mujoco.mjtObj.mjOBJ_BODY)
    weld.name1, weld.name2, weld.solref = "tool", "client", [0.01, 1.0]
    weld.solimp = [0.9999, 0.9999, 0.001, 0.5, 2]  # stiff
    weld.data = [0, 0, 0, *-p.throat, 1, 0, 0, 0, 1, 0]  # the client as it sits on the tool
    model = spec.compile()
    model.opt.timestep = step
    stiffness, damping = olev_bending.stiffness(p, length), olev_bending.damping(p, length)
    for k, name in enumerate(olev.BENDS):
        model.jnt_stiffness[model.joint(name).id] = stiffness
        model.dof_damping[model.joint(name).dofadr[0]] = damping[k % 2]
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    data.joint("servicer").qvel[3] = 1e-3  # about x: the slower bending
    time, angle = [], []
    every = round(0.05 / step)
    for k in range(round(45 / step)):
        mujoco.mj_step(model, data)
        if k % every == 0 and data.time > 1:
            time.append(data.time)
            angle.append([data.joint(name).qpos[0] for name in olev.BENDS])
    return damping_ratio(np.array(time), np.array(angle), olev_bending.frequencies(p, length).min())


@pytest.mark.parametrize("step", [4e-3, 1e-3])
def test_bending_is_damped_as_the_structure_is_at_any_step(step):
    p = RIGID_SEAT
    ratio, frequency = mated_oscillation(step)
    assert ratio == pytest.approx(p.boom_damping_ratio, rel=DAMPING)
    assert frequency == pytest.approx(olev_bending.frequencies(p, 2.0).min(), rel=DAMPING)


def test_shoulder_sits_in_the_nozzle_and_the_spread_crown_behind_the_throat():
    p = Olev()
    z, r = shapes.nozzle_section(p)
    z_tool, r_tool = shapes.tool_section(p)
    bell = z_tool < shapes.bell_end(p)[0]
    gap = shapes.bell_radius(p, z_tool[bell]) - r_tool[bell]
    assert abs(gap.min()) < FIT
    assert r.min() == pytest.approx(p.throat_radius, abs=FIT)
    z_open, r_open = shapes.crown_section(p, 1.0)
    assert r_open.max() == pytest.approx(p.crown_radius, abs=FIT)
    assert (np.interp(z_open - 0.013, z, r) - r_open).min() > 0 > (np.interp(z_open - 0.015, z, r) - r_open).min()
    assert shapes.crown_section(p, 0.0)[1].max() < p.throat_radius


def test_distance_sensors_know_the_way_to_the_seat():
    reading, gap = olev_control.seat_table(Olev())
    assert gap[0] == 0
    assert (np.diff(reading) > 0).all()


def test_initial_state_puts_the_nozzle_where_it_says():
    p = Olev()
    start = InitialState(client_x=0.03, client_y=-0.02, client_z=0.1, client_velocity_y=0.004, client_rate_x_deg=0.5)
    model, data = started(p, start)
    body = data.body("client")
    throat = body.xpos + body.xmat.reshape(3, 3) @ p.throat
    assert throat == pytest.approx([0.03, -0.02, p.seated + p.boom_extended + 0.1], abs=ROUND_OFF)
    velocity = np.zeros(6)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, model.body("client").id, velocity, 0)
    speed = velocity[3:] + np.cross(velocity[:3], throat - body.xpos)
    assert speed == pytest.approx([start.client_velocity_x, 0.004, 0.0], abs=ROUND_OFF)


def test_mated_ring_lies_on_the_pads():
    p = Olev()
    length = p.mated_length
    assert p.seated + length + p.ring_plane - p.throat[2] == pytest.approx(p.servicer_half_height + p.bracket_height)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"bolt_radius": 0.009}, "order must be bolt"),
        ({"servicer_mass": -1.0}, "servicer_mass"),
        ({"crown_spreading": 0.03}, "crown_spreading"),
    ],
)
def test_bad_machines_are_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        Olev(**wrong)


def test_boom_beyond_its_length_is_refused():
    with pytest.raises(InputError, match="boom_length"):
        olev.build(Olev(), InitialState(boom_length=5.0))
