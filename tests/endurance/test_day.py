"""Runs of hours on a closed course: memory, speed, volume and recording stay as they are, and kills change no bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grouser.recording import Recording, RecordingWriter, build_header
from grouser.scenarios.scenario import LONG, LONG_RATE, LONG_TILE_RATE, RATE
from grouser.scenarios.settings import from_python
from tests.endurance.course import Drive, Sample, both, differing, drive, megabytes_a_minute, volume_error, waypoints

MOST_GROWTH = 4e6  # [bytes] an hour after the first checkpoint, assumed: HDF5 keeps an index of what it has written
MOST_SLOWING = 0.1
MOST_VOLUME = 1e-12
MOST_RECORDED = 2.0  # [MB] a simulated minute, at default rates


def grows_little(seen: Drive) -> bool:
    return seen.growth < MOST_GROWTH * max(1.0, seen.hours)


def assert_steady(seen: Drive, hours: float) -> None:
    assert grows_little(seen)
    assert abs(seen.slowing) < MOST_SLOWING
    assert volume_error(seen.folder) < MOST_VOLUME
    assert megabytes_a_minute(seen.folder) < MOST_RECORDED
    with Recording(seen.folder / "recording.h5") as recording:
        assert recording.status == "complete"
        assert recording.metrics["course_completed"]
        assert recording.last_time >= 3600 * hours


@pytest.mark.long
def test_an_hour_on_a_closed_course(tmp_path):
    """On soil of 20 mm, half as dear as the usual 10 mm."""
    assert_steady(drive(tmp_path / "hour", 1.0, spacing=0.02, checkpoints=10.0), 1.0)


@pytest.mark.long
def test_kills_change_no_bit(tmp_path):
    """Twelve minutes: longer than LONG, so that frames and ground are recorded as in a day."""
    straight, killed = both(tmp_path, 0.2, 3, 0.02, checkpoints=1.0)
    assert len(killed.processes) == 4
    assert differing(straight.folder, killed.folder) == []


@pytest.mark.nightly
def test_a_day_killed_ten_times(tmp_path):
    """Side by side they take an hour on two cores that nothing else uses."""
    straight, killed = both(tmp_path, 24.0, 10, 0.02, checkpoints=60.0)
    assert_steady(straight, 24.0)
    assert differing(straight.folder, killed.folder) == []


def seen(leak: float = 0.0, slower: float = 0.0) -> Drive:
    """Five made-up hours: 11 MB more at the first checkpoint, a leak [bytes/h], and steps that get dearer by a part."""
    hours = [k / 100 for k in range(500)]
    used = np.cumsum([1 + slower * k / 500 for k in range(500)])
    samples = [
        Sample(3600 * h, u, 400e6 + 11e6 * (h > 0.4) + leak * h, h > 0.4) for h, u in zip(hours, used, strict=True)
    ]
    return Drive(Path(), [samples])


def test_what_a_leak_and_a_slow_run_look_like():
    """The bars of `assert_steady` on made-up samples: a leak and a slow end miss them, a first checkpoint does not."""
    assert grows_little(seen())
    assert grows_little(seen(leak=3e6))
    assert not grows_little(seen(leak=6e6))
    assert abs(seen().slowing) < MOST_SLOWING
    assert not abs(seen(slower=0.3).slowing) < MOST_SLOWING


def test_rates_of_long_runs():
    """A scenario with a rate of its own keeps it."""
    from grouser.scenarios.registry import scenario

    rover, search = scenario("rover-course"), scenario("exomars-gradeability")
    assert rover.frame_rate(LONG) == RATE
    assert rover.frame_rate(LONG + 1) == LONG_RATE
    assert search.frame_rate(1e5) == search.rate == 20.0


def recorded(path: Path, rate: float, tile_rate: float) -> float:
    """Size [MB] of a minute of the rover on soil of 10 mm."""
    experiment = from_python("rover-course", {"waypoints": waypoints(), "laps": 2})
    sim = experiment.scenario.build(experiment.settings)
    sim.tile_rate = tile_rate
    ground = sim.ground
    assert ground is not None
    tiles = {
        "spacing": ground.spacing, "origin": list(ground.elevation.origin), "nx": ground.columns, "ny": ground.rows,
        "size": 32,
    }  # fmt: skip
    header = build_header(scenario="rover-course", settings={}, step=sim.step_size, duration=60.0, tiles=tiles)
    with RecordingWriter(path, header, sim.channels(), geometry=sim.geometry(), shapes=sim.shapes()) as writer:
        sim.run(60.0, writer=writer, rate=rate)
    return path.stat().st_size / 1e6


@pytest.mark.long
@pytest.mark.parametrize(("rate", "tile_rate", "small"), [(LONG_RATE, LONG_TILE_RATE, True), (RATE, 5.0, False)])
def test_a_minute_of_recording(tmp_path, rate, tile_rate, small):
    """With the rates of long runs, and with those of short ones, which are too many for a day."""
    assert (recorded(tmp_path / "recording.h5", rate, tile_rate) < MOST_RECORDED) == small
