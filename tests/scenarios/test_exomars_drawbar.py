"""Drawbar pull of the rover: how metrics are taken, a shortened run, and at full length what the paper saw."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grouser
from grouser.errors import InputError
from grouser.robots import exomars
from grouser.scenarios import exomars_drawbar as drawbar
from grouser.scenarios.settings import from_python
from tests.robots.test_exomars import by_hand

WEIGHT = 310 * 3.71  # [N]
LOADS = 0.02  # of the weight: the rover heaves a little as it rolls out of its pits
WORK = 0.05  # of the work: torque x spin of 25 frames a second against a meter that reads ten times a second
STRAIGHT = 1e-3  # [rad] a millimetre sideways per metre, a tenth of a cell
CHANNELS = ("time", "drawbar/pull", "drawbar/slip", "soil/sinkage", "soil/force", "wheel/torque", "joint/velocity")


def built(**changes: Any):
    settings = from_python("exomars-drawbar", changes).settings
    return settings, drawbar.build(settings)


def recorded(**changes: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Metrics and channels of a run."""
    with tempfile.TemporaryDirectory() as folder:
        run = grouser.run("exomars-drawbar", changes, out=Path(folder) / "out", report=False)
        with grouser.Recording(run.recording) as recording:
            values = {name: np.array(recording.time if name == "time" else recording[name]) for name in CHANNELS}
            pose = np.array(recording["body/pose"])[:, recording.channel_info("body/pose").labels.index("chassis")]
            values["yaw"] = 2 * np.arctan2(pose[:, 5], pose[:, 6])  # quaternion xyzw
            values["drives"] = np.array(recording["joint/velocity"][:, _drives(recording)])
        return {**run.metrics, "missed": run.missed, "notes": run.notes}, values


def _drives(recording) -> list[int]:
    labels = list(recording.channel_info("joint/velocity").labels)
    return [labels.index(name) for name in drawbar.DRIVES]


# ---- metrics -----------------------------------------------------------------------------------------


def test_the_moving_mean_is_that_of_the_last_two_seconds():
    time = np.arange(0, 10, 0.1)
    mean = drawbar.moving_mean(time, time)
    assert mean[50:] == pytest.approx(time[50:] - 0.95)
    assert mean[0] == 0


def test_a_drop_is_measured_from_the_greatest_value_before():
    assert drawbar.greatest_drop(np.array([1.0, 5.0, 4.0, 6.0, 3.5, 9.0])) == 2.5
    assert drawbar.greatest_drop(np.array([1.0, 2.0, 2.0])) == 0


def test_the_plateau_slope_is_that_of_the_last_third():
    time = np.linspace(0, 180, 1801)
    slip = time / 180
    pull = np.where(time < 110, 1000 * slip, 600 + 30 * slip)
    assert drawbar.plateau_slope(time, pull, slip) == pytest.approx(30)
    assert drawbar.plateau_slope(time, pull, np.full_like(time, 0.5)) == 0


def test_only_a_run_as_in_the_paper_is_held_to_what_it_saw():
    def expectations(**changes):
        metrics = drawbar.metrics(from_python("exomars-drawbar", changes).settings)
        return {m["name"] for m in metrics if m["expected"] is not None or m["tolerance"]}

    seen = {"drawbar_plateau_slope", "drawbar_drop_max_rel", "front_to_rear_sinkage_ratio", "digging_ratio"}
    assert expectations() == seen
    assert expectations(**{"soil.friction_angle_deg": 35}) == seen  # assumed in any case
    assert expectations(soil="dry-sand") == set()
    assert expectations(duration=60) == set()


# ---- the rig -----------------------------------------------------------------------------------------


def test_the_spring_pulls_in_proportion_to_its_stretch_and_never_pushes():
    settings, sim = built(stiffness=80)
    pull = {c.name: c for c in sim.channels()}["drawbar/pull"].read
    for x, expected in ((0.5, 40.0), (-0.5, 0.0)):
        sim.data.qpos[0] = x
        sim.engine.kinematics()
        assert pull() == pytest.approx([expected])
        assert sim.data.qfrc_passive[0] == pytest.approx(-expected, abs=1e-9)


def test_the_step_follows_the_speed():
    settings, sim = built()
    assert sim.step_size == settings.chosen_step <= drawbar.LARGEST_STEP
    assert built(speed=0.05)[1].step_size * 0.05 == pytest.approx(drawbar.LARGEST_TRAVEL)


def test_more_than_the_motors_do_is_refused():
    with pytest.raises(InputError, match=r"speed = 0.1 m/s: allowed is at most 0.0712 m/s"):
        built(speed=0.1)
    with pytest.raises(InputError, match="mass: 50 kg is not allowed"):
        built(**{"rover.mass": 50})


def test_a_very_short_run_has_all_metrics():
    metrics, _ = recorded(duration=0.4)
    assert not metrics["missed"]


# ---- a shortened run ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def short():
    return recorded(duration=12.0, stiffness=400.0)


def test_the_rover_drops_and_all_wheels_carry_it(short):
    _, values = short
    sinkage, late = values["soil/sinkage"], values["time"] > 2
    assert (sinkage[0] < 1e-3).all()
    assert (sinkage[late] > 0.03).all()
    assert (sinkage[late] < exomars.ExoMars.wheel_radius).all()
    loads = values["soil/force"][late][:, :, 2].mean(axis=0)
    assert loads.sum() == pytest.approx(WEIGHT, rel=LOADS)
    assert (loads > 0.4 * by_hand(exomars.ExoMars(), exomars.MARS)).all()


def test_driving_takes_load_off_the_front_wheels(short):
    """Motors turn each bogie backwards by the torque of its wheels: kinematics of the bogies, as the paper says."""
    _, values = short
    late = values["time"] > 6
    front, middle, rear = values["soil/force"][late][:, :, 2].mean(axis=0).reshape(3, 2).mean(axis=1)
    assert front < 0.85 * middle
    assert front < 0.85 * rear
    sunk = values["soil/sinkage"][-1].reshape(3, 2).mean(axis=1)
    assert sunk[0] < 0.9 * min(sunk[1], sunk[2])


def test_the_rover_leaves_its_pits_and_stretches_the_spring(short):
    metrics, values = short
    pull = values["drawbar/pull"]
    assert pull[-1] > 20
    assert metrics["drawbar_drop_max_rel"] < drawbar.MOST_DROP
    assert metrics["drawbar_pull_max_N"] <= pull.max()
    assert not metrics["missed"]
    assert not metrics["notes"]


def test_energy_is_torque_times_spin(short):
    metrics, values = short
    power = (values["wheel/torque"] * values["drives"]).sum(axis=1)
    work = float(np.sum((power[1:] + power[:-1]) / 2 * np.diff(values["time"])))
    assert metrics["energy_J"] == pytest.approx(work, rel=WORK)
    assert np.abs(values["wheel/torque"]).max() <= exomars.ExoMars.drive_torque


def test_the_rover_goes_straight(short):
    """Although the edges of its wheels lie right at rows of nodes."""
    _, values = short
    assert abs(values["yaw"][-1]) < STRAIGHT


def test_left_and_right_go_alike(short):
    _, values = short
    sinkage = values["soil/sinkage"][values["time"] > 2].mean(axis=0).reshape(3, 2)
    assert sinkage[:, 0] == pytest.approx(sinkage[:, 1], rel=0.03)


# ---- at full length ----------------------------------------------------------------------------------


@pytest.mark.long
def test_three_minutes_as_in_the_paper():
    metrics, values = recorded()
    assert not metrics["missed"]
    time, pull, slip = values["time"], values["drawbar/pull"], values["drawbar/slip"]
    sinkage = values["soil/sinkage"].reshape(len(time), 3, 2).mean(axis=2)

    def mean(of, start, stop):
        return of[(time >= start) & (time < stop)].mean(axis=0)

    assert metrics["drawbar_pull_max_N"] > 0.1 * WEIGHT
    assert mean(pull, 170, 180) - mean(pull, 120, 130) < 0.5 * (mean(pull, 60, 70) - mean(pull, 10, 20))  # levels off
    assert mean(slip, 150, 180) > mean(slip, 50, 80) > mean(slip, 20, 40)  # slip rises with the pull
    assert (mean(sinkage, 150, 180) > 1.1 * mean(sinkage, 20, 50)).all()  # and the wheels dig in
    front, middle, rear = mean(sinkage, 120, 180)
    assert front < drawbar.CLEARLY_LESS * min(middle, rear)
    assert math.isfinite(metrics["real_time_factor"])


@pytest.mark.long
def test_soil_that_vanishes_below_the_wheels_is_not_what_the_paper_saw():
    """With all displaced soil gone no wheel digs: a slipping rim carries nothing away."""
    metrics, _ = recorded(compression=1.0)
    assert metrics["missed"] == ["digging_ratio"]
    assert metrics["digging_ratio"] < 1
