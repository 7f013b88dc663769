"""What is recorded of tracks against the same from poses, velocities and contacts."""

import mujoco
import numpy as np
import pytest

import grouser
from grouser.recording import Recording
from grouser.scenarios import tracked_machine as tracked
from grouser.scenarios.tracked_machine import MachineSettings
from grouser.track.observation import STRAIGHT
from grouser.viewer.tables import write_tables

ROUND_OFF = 1e-12  # relative


def x_axes(q):
    """(…, 3) of quaternions xyzw."""
    x, y, z, w = np.moveaxis(q, -1, 0)
    return np.stack([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)], -1)


@pytest.fixture(scope="module")
def sim():
    sim = tracked.simulate(MachineSettings(), tracked.ramped([(0.02, 1.0, -0.5)]))
    sim.step(400)
    return sim


@pytest.fixture(scope="module")
def channels(sim):
    return {channel.name: channel.read()[0] for channel in sim.modules[0].channels() if channel.kind != "ragged"}


@pytest.mark.parametrize("side", [0, 1])
def test_speeds_and_places_of_links(sim, channels, side):
    module, name = sim.modules[0], ("left", "right")[side]
    s, at, track = module._committed, module.links_of(side), module.tracks[side]
    x, q, v = (getattr(s, key).numpy()[0, at] for key in ("position", "rotation", "velocity"))
    ahead = x_axes(q)
    frame = sim.data.body(track.frame)
    moving = np.zeros(6)
    mujoco.mj_objectVelocity(sim.model, sim.data, mujoco.mjtObj.mjOBJ_XBODY, frame.id, moving, 0)
    against = v - moving[3:] - np.cross(moving[:3], x - frame.xpos)
    straight = (ahead * np.roll(ahead, -1, axis=0)).sum(-1) > np.cos(STRAIGHT)
    straight &= np.roll(straight, 1)
    speed = (against * ahead).sum(-1)[straight].mean()
    assert straight.sum() > 10
    assert channels[f"track/{name}/chain_speed"] == pytest.approx(speed, rel=1e-9)
    lateral = (x - frame.xpos) @ frame.xmat.reshape(3, 3)[:, 1] - track.offset[1]
    assert channels[f"track/{name}/lateral"] == pytest.approx(lateral, abs=1e-12)
    assert np.array_equal(channels[f"track/{name}/pose"], np.concatenate([x, q], axis=1))
    assert channels[f"track/{name}/momentum"] == pytest.approx(module.momentum()[0, side, :3], rel=ROUND_OFF)


def test_loads_are_those_of_the_contacts(sim, channels):
    module = sim.modules[0]
    for side, name in enumerate(("left", "right")):
        track, wear = module.tracks[side], module.wear(side)
        area = track.link.pitch * track.link.shoe.width
        on_ground = wear[:, 1] < 0
        pressed = np.bincount(wear[on_ground, 0].astype(int), wear[on_ground, 2], minlength=46)
        assert channels[f"track/{name}/shoe_pressure"] * area == pytest.approx(pressed, rel=1e-9, abs=1e-9)  # level
        force, load = channels[f"track/{name}/wheel_force"], channels[f"track/{name}/wheel_load"]
        assert load == pytest.approx(np.linalg.norm(force, axis=1), rel=ROUND_OFF)
        assert np.array_equal(force, module._wheels.mean_wrench.numpy()[0, module.wheels_of(side), :3])
        assert channels[f"track/{name}/pair_wrench_sum"] < ROUND_OFF
    spin = channels["track/left/wheel_spin"]
    assert spin[0] == pytest.approx(sim.data.joint("drive_left").qvel[0] + sim.data.qvel[4], abs=0.3)


def test_wear_is_exported_by_name(tmp_path):
    outcome = grouser.run("track-rig", out=tmp_path / "out", time=0.1, report=False)
    with Recording(outcome.recording) as recording:
        rows = recording.read("track/rig/wear[normal_force]", slice(-1, None))[0]
        write_tables(recording, tmp_path)
    head = (tmp_path / "track-rig-wear.csv").read_text().splitlines()[0]
    assert "track/rig/wear[link]" in head
    assert "track/rig/wear[sliding_speed]" in head
    assert np.asarray(rows).min() >= 0
