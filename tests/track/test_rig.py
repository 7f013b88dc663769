"""The rig as a scenario: oracles of one track with its engine bodies."""

import math

import numpy as np
import pytest

import grouser
from grouser.recording import Recording
from grouser.scenarios.track_rig import SETTLING, TrackRig, build
from grouser.track import SoilValues
from grouser.track.momentum import matrices

SAG = 0.03  # a chain of five straight links for a parabola
TORQUE = 0.05  # of the sprocket's balance: friction on the teeth and forces across the links are not in it
SATURATED = 0.002  # of the strength: changes of velocity within a substep, and markers that touch or lift in it
EXPLICIT_AGREES = 0.05  # the bar of the implicit scheme at its default step


def test_bollard_pull_meets_its_oracles(tmp_path):
    outcome = grouser.run("track-rig", out=tmp_path / "out", time=1.6, report=False)
    assert outcome.missed == []
    values = outcome.metrics
    assert values["pull_N"] > 5e4
    assert 0 < values["tooth_load_decay"] < 0.5
    assert abs(values["impulse_error_rel"]) < 1e-3
    with Recording(outcome.recording) as recording:
        rest = int(np.abs(recording.time - SETTLING).argmin())
        pose, tension = recording["track/rig/pose"][rest], recording["track/rig/tension"][rest]
    between = np.flatnonzero((pose[:, 2] > 0.8) & (pose[:, 0] > 1.25) & (pose[:, 0] < 2.25))  # the carriers
    ends, middle = between[[0, -1]], between[len(between) // 2]
    span = np.ptp(pose[ends, 0])
    sag = np.interp(pose[middle, 0], np.sort(pose[ends, 0]), pose[ends, 2][np.argsort(pose[ends, 0])]) - pose[middle, 2]
    weight = 45.0 * 9.81 / 0.2032  # [N/m] of the chain
    assert len(between) == 5
    assert sag == pytest.approx(weight * span**2 / (8 * tension[between].mean()), rel=SAG)


def test_in_reverse_the_chain_is_stretched_and_its_slack_leaves_the_teeth(tmp_path):
    """The pull passes round the idler: nearly all of the chain is longer by T / K, and faster by as much."""
    outcome = grouser.run("track-rig", out=tmp_path / "out", speed=-1.0, time=1.8, report=False)
    assert outcome.missed == []
    values = outcome.metrics
    forward = grouser.run("track-rig", out=tmp_path / "forward", time=1.8, report=False).metrics
    assert values["pull_N"] == pytest.approx(-forward["pull_N"], rel=0.02)  # the same shoes on the same ground
    assert abs(values["torque_error_rel"]) < TORQUE
    with Recording(outcome.recording) as recording:
        steady = recording.time > SETTLING + 1.0
        pose, tension = recording["track/rig/pose"][steady], recording["track/rig/tension"][steady]
    upper = tension[(pose[..., 2] > 0.8) & (pose[..., 0] > 0.5) & (pose[..., 0] < 3.0)].mean()
    stretch = values["speed_ratio"] / values["speed_ratio_loaded"] - 1
    assert stretch == pytest.approx(upper / (1e8 * 0.2032), rel=0.15)  # the lower run bears a little less
    assert stretch > 0.0025


def test_without_gravity_nothing_is_said_of_weight(tmp_path):
    outcome = grouser.run("track-rig", out=tmp_path / "out", gravity=0.0, speed=0.0, time=0.1, report=False)
    assert "ground_load_error_rel" not in outcome.metrics
    assert "impulse_error_rel" not in outcome.metrics


def test_without_gravity_the_chain_bears_half_the_recoil_force_everywhere():
    sim = build(TrackRig(mode="hung", gravity=0.0, speed=0.0))
    sim.step(1500)
    module, joint = sim.modules[0], sim.model.joint("recoil")
    recoil = 2 * 15e3 - 1e6 * sim.data.qpos[joint.qposadr[0]]
    tension = module._results.tension.numpy()[0]
    straight = tension[30:42]  # the upper run: the lower one bends round the end rollers
    assert straight == pytest.approx(recoil / 2, rel=0.03)


def test_a_stopped_run_continues_bit_for_bit():
    sim = build(TrackRig())
    sim.step(20)
    saved = sim.checkpoint()
    sim.step(20)
    once = sim.modules[0]._committed.position.numpy().copy(), sim.data.qpos.copy()
    sim.restore(saved)
    sim.step(20)
    assert np.array_equal(once[0], sim.modules[0]._committed.position.numpy())
    assert np.array_equal(once[1], sim.data.qpos)


def test_reset_puts_the_links_back():
    sim = build(TrackRig())
    first = sim.modules[0]._committed.position.numpy().copy()
    sim.step(30)
    assert not np.array_equal(first, sim.modules[0]._committed.position.numpy())
    sim.reset()
    assert np.array_equal(first, sim.modules[0]._committed.position.numpy())


@pytest.mark.long
@pytest.mark.parametrize("speed", [0.3, 3.0])
def test_speed_ratio_from_slow_to_fast(tmp_path, speed):
    time = 1.2 + 3 / speed
    outcome = grouser.run("track-rig", out=tmp_path / "out", speed=speed, time=time, report=False)
    assert outcome.missed == []


@pytest.mark.long
def test_implicit_tension_and_torque_are_those_of_a_fine_explicit_run(tmp_path):
    means = {}
    for scheme, substeps in (("implicit", None), ("explicit", 16)):
        outcome = grouser.run(
            "track-rig", out=tmp_path / scheme, scheme=scheme, substeps=substeps, time=1.6, report=False
        )
        with Recording(outcome.recording) as recording:
            steady = recording.time > SETTLING + 1.0
            means[scheme] = np.array([
                recording["track/rig/tension"][steady].max(axis=1).mean(),
                recording["track/rig/wheel_torque[sprocket]"][steady].mean(),
            ])  # fmt: skip
    assert means["implicit"] == pytest.approx(means["explicit"], rel=EXPLICIT_AGREES)


@pytest.mark.long
def test_triangular_track_runs(tmp_path):
    assert grouser.run("track-rig", out=tmp_path / "out", layout="triangular", report=False).missed == []


def strength_below(sim) -> float:
    """Strength [N] of the ground below the markers of shoes without grousers: A (c + K_y depth tan(phi))."""
    module, soil = sim.modules[0], SoilValues()
    marker, area = module._tables.marker.numpy(), module._tables.area.numpy()
    state = module._committed
    axes = matrices(state.rotation.numpy()[0])
    depth = -(state.position.numpy()[0][:, None] + np.einsum("lij,mj->lmi", axes, marker))[..., 2]
    slope = math.tan(math.radians(soil.friction_angle_deg))
    return float(np.where(depth > 0, area * (soil.cohesion + soil.stiffness * depth * slope), 0.0).sum())


@pytest.mark.parametrize(
    ("scheme", "speed", "step"),
    [("implicit", 0.8, 1e-3), ("implicit", 3.0, 1e-3), ("implicit", 2.0, 2e-3), ("explicit", 0.8, 1e-3),
     ("explicit", 3.0, 1e-3)],
)  # fmt: skip
def test_shear_of_spinning_tracks_stays_at_the_strength_of_the_ground(scheme, speed, step):
    """A machine held by a wall slips by 1: the ground gives c + p tan(phi), whatever the scheme."""
    sim = build(TrackRig(grousers=0, scheme=scheme, speed=speed, step=step))
    sim.step(round((SETTLING + 1.0) / step))
    pulls, strengths = [], []
    for _ in range(round(1.0 / step)):
        strengths.append(strength_below(sim))
        sim.step(1)
        pulls.append(sim.modules[0].ground_force()[0, 0, 0])
    assert np.mean(pulls) / np.mean(strengths) == pytest.approx(1, abs=SATURATED)
