"""Relative orbital motion against the closed form of Clohessy and Wiltshire."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from grouser.errors import InputError
from grouser.robots.orbit import AXES, OrbitalMotion, drift
from grouser.simulation import Simulation

STEP, TIME = 0.5, 1800.0  # [s]
CLOSE = 1e-3  # of the way: first order in n h
BALANCED = 1e-9  # of momentum: the impulse is summed from the very forces


def floating(place, velocity) -> Simulation:
    spec = mujoco.MjSpec()
    spec.option.gravity = [0, 0, 0]
    for k in range(2):
        body = spec.worldbody.add_body(name=f"satellite{k}", pos=np.asarray(place) * (1 - k))
        body.add_freejoint()
        body.mass, body.explicitinertial = 100.0 + 900 * k, True
        body.inertia, body.ipos = [10, 20, 30], [0.0, 0.0, 0.2]
    spec.add_key(qpos=[*place, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0], qvel=[*velocity, 0, 0, 0, *[0] * 6])
    return Simulation(spec, [OrbitalMotion()], step=STEP, implicit=False)


def test_a_free_body_drifts_as_the_closed_form():
    place, velocity = np.array([20.0, 5.0, -40.0]), np.array([1e-3, 2e-3, -4e-3])
    sim = floating(place, velocity)
    sim.step(round(TIME / STEP))
    centre = np.array([0, 0, 0.2])
    expected, speed = drift(AXES @ (place + centre), AXES @ velocity, sim.modules[0].rate, TIME)
    moved = expected - AXES @ (place + centre + TIME * velocity)  # what the orbit adds
    found = AXES @ sim.data.xipos[1]
    assert np.abs(found - expected).max() < CLOSE * np.abs(moved).max()
    assert np.abs(AXES @ sim.data.qvel[:3] - speed).max() < CLOSE * np.abs(AXES @ velocity - speed).max()


def test_the_impulse_is_what_changed_momentum():
    sim = floating(np.array([20.0, 5.0, -40.0]), np.array([1e-3, 2e-3, -4e-3]))
    masses = sim.model.body_mass[1:]
    before = masses @ np.array([sim.data.qvel[0:3], sim.data.qvel[6:9]])
    sim.step(400)
    after = masses @ np.array([sim.data.qvel[0:3], sim.data.qvel[6:9]])
    impulse = sim.modules[0].impulse[0, :3]
    assert np.abs(after - before - impulse).max() < BALANCED * np.abs(impulse).max()


def test_no_orbit_without_a_radius():
    with pytest.raises(InputError, match="radius"):
        OrbitalMotion(radius=-1.0)
