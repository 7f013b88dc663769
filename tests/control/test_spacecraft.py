"""Thrusters burn in whole quanta, what they give is what is counted, wheels turn the servicer where it should."""

from __future__ import annotations

import numpy as np
import pytest

from grouser.control.docking import DockingPlan
from grouser.control.docking_sensors import ContactSwitches
from grouser.control.spacecraft import Mode, Thrusters
from grouser.errors import InputError
from grouser.robots import olev, olev_control
from grouser.robots.olev import InitialState, Olev
from grouser.simulation import Simulation

STEP = 0.01  # [s]
ROUND_OFF = 1e-9


def thrusters(p: Olev, **more) -> Thrusters:
    given = {"quantum": p.thruster_quantum, "pulse_period": p.thruster_period, "step": STEP} | more
    return Thrusters(olev.THRUSTERS, *olev.thruster_layout(p), p.thruster_force, body="servicer", **given)


def pushed(wanted, seconds: float = 10.0):
    """A servicer alone with its thrusters asked for a force [N]."""
    p = Olev(momentum_wheel_rate=0.0, panel_turn_rate=0.0)
    jets = thrusters(p)
    sim = Simulation(olev.build(p, InitialState()), [], controllers=[jets], step=STEP)
    jets.wanted[:] = wanted
    sim.step(round(seconds / STEP))
    return p, jets, sim


@pytest.mark.parametrize("wanted", [[0.3, 0.0, 0.0], [0.0, -0.013, 0.7], [5.0, 0.0, 0.0]])
def test_on_times_are_whole_quanta_and_add_up_to_what_was_asked(wanted):
    p, jets, _ = pushed(wanted)
    quanta = jets.on_time / p.thruster_quantum
    assert quanta == pytest.approx(np.rint(quanta), abs=1e-6)
    most = 2 * p.thruster_force * 10.0  # a pair, always on
    expected = np.clip(np.multiply(wanted, 10.0), -most, most)
    half = p.thruster_force * p.thruster_quantum  # what rounding may owe
    assert np.abs(jets.impulse[:3] - expected).max() < half + 0.02 * np.abs(expected).max()  # it turns a little


def test_impulse_counted_is_the_momentum_gained():
    _, jets, sim = pushed([0.4, -0.2, 0.1], 5.0)
    import mujoco

    mujoco.mj_subtreeVel(sim.model, sim.data)
    servicer = sim.model.body("servicer").id
    gained = sim.model.body_subtreemass[servicer] * sim.data.subtree_linvel[servicer]
    assert gained == pytest.approx(jets.impulse[:3], abs=1e-5 * np.abs(jets.impulse[:3]).max())


def test_nothing_asked_nothing_burnt():
    _, jets, _ = pushed([0.0, 0.0, 0.0], 2.0)
    assert not jets.on_time.any()


@pytest.mark.parametrize(
    ("wrong", "message"), [({"quantum": 0.015}, "multiples"), ({"pulse_period": 0.001}, "quantum")]
)
def test_quantum_must_fit_the_step(wrong, message):
    with pytest.raises(InputError, match=message):
        thrusters(Olev(), **wrong)


def test_servicer_comes_to_the_client_it_sees():
    """Offsets and tilt shrink within the camera's noise; the boom stands far from the nozzle."""
    p = Olev(camera_bias_x=0.0, camera_bias_y=0.0, camera_tilt_bias_x_deg=0.0, camera_tilt_bias_y_deg=0.0)
    plan = DockingPlan(approach_rate=1e-6)
    open_ = ContactSwitches(lambda: np.zeros(3), 1.0)
    equipment = olev_control.equip(p, plan, open_, open_, step=STEP, seed=4)
    start = InitialState(client_x=0.03, client_y=-0.02, client_tilt_x_deg=1.0, boom_length=1.0)
    sim = Simulation(olev.build(p, start), [], controllers=equipment.controllers, step=STEP)
    sim.step(round(60 / STEP))
    body, servicer = sim.data.body("client"), sim.data.body("servicer")
    axes = servicer.xmat.reshape(3, 3)
    throat = axes.T @ (body.xpos + body.xmat.reshape(3, 3) @ p.throat - servicer.xpos)
    tilt = axes.T @ body.xmat.reshape(3, 3) @ p.nozzle_rotation[:, 2]
    assert np.abs(throat[:2]).max() < 3e-3  # a few times the noise of 0.7 mm
    assert np.abs(tilt[:2]).max() < 3e-3  # [rad] the same of 1 mrad
    assert equipment.aocs.mode[0] == Mode.RELATIVE
