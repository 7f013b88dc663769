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
# Settings that break what is expected. Without displaced soil no wheel digs: a slipping rim carries nothing away.
BROKEN = {
    ("compression", 1.0): {"sinkage_growth_m"},
    ("rover.centre_x", 0.2): {"front_sinkage_ratio"},
    ("stiffness", 20.0): {"slip_max", "drawbar_plateau_slope"},
}
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


def test_flatness_is_taken_where_slip_stays_above_its_levels():
    slip = np.array([0.0, 0.9, 0.1, 0.4, 0.6, 0.7, 0.9, 0.95])
    pull = np.array([0.0, 10.0, 20.0, 40.0, 60.0, 70.0, 80.0, 90.0])
    assert drawbar.flatness(pull, slip) == 60 / 80
    assert drawbar.flatness(np.full(8, 50.0), slip) == 1  # flat
    assert drawbar.flatness(slip[3:], np.array([0.45, 0.5, 0.7, 0.8, 0.9])) == 0.6 / 0.9
    assert drawbar.flatness(pull, 0.8 * slip) is None  # never above 0.8
    assert drawbar.flatness(pull, slip[::-1]) is None  # not for good


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

    seen = {"drawbar_plateau_slope", "front_sinkage_ratio", "sinkage_growth_m", "slip_max"}
    assert expectations() == seen == {name for misses in BROKEN.values() for name in misses}
    assert expectations(**{"soil.friction_angle_deg": 35}) == seen  # assumed in any case
    assert expectations(laws="krenn2009") == seen - {"slip_max"}  # it needs a stiffer spring
    assert expectations(soil="dry-sand") == set()
    assert expectations(**{"rover.wheel_width": 0.12}) == set()
    assert expectations(duration=60) == set()


# ---- the rig -----------------------------------------------------------------------------------------


def test_the_rover_is_that_of_the_paper():
    """b of Fig. 17, also where other parameters are given, and no more than the rover's 70 m/h."""
    assert from_python("exomars-drawbar", {"rover.mass": 300}).settings.parameters == exomars.ExoMars(
        mass=300, wheel_width=0.1
    )
    assert 0.99 * 70 / 3600 < drawbar.SPEED <= 70 / 3600


def test_friction_and_loose_cover_reach_the_soil():
    chosen = {"friction": "mohr-coulomb", "interface_friction": "scales", "loose_cover": False}
    options = built(**chosen)[1].modules[0].options
    assert {name: getattr(options, name) for name in chosen} == chosen
    with pytest.raises(InputError, match="friction: 'coulomb' contradicts laws: 'krenn2009'"):
        built(friction="coulomb", laws="krenn2009")


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
    assert mean(slip, 150, 180) > mean(slip, 90, 120) > mean(slip, 50, 80)  # slip rises with the pull
    front, middle, rear = mean(sinkage, 120, 180)
    assert front < drawbar.CLEARLY_LESS * min(middle, rear)
    assert math.isfinite(metrics["drawbar_flatness"])
    assert math.isfinite(metrics["real_time_factor"])


@pytest.mark.long
@pytest.mark.parametrize("change", BROKEN, ids=str)
def test_another_test_bed_is_not_what_the_paper_saw(change):
    name, value = change
    metrics, _ = recorded(**{name: value})
    assert set(metrics["missed"]) >= BROKEN[change]
