"""A clock of the wall that jumps, by an hour or to 1970: runs, locks and checkpoints do not ask it."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest

from grouser.cli import status
from grouser.commands import run as running
from grouser.recording import Recording
from grouser.scenarios import registry
from tests.commands import fake_rig

JUMPS = (3600.0, -7200.0, 1e9, -1e9)  # [s]
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def rig(monkeypatch):
    monkeypatch.setattr(registry, "NAMES", registry.NAMES)
    fake_rig.install()
    real, jumps = time.time, itertools.cycle(JUMPS)
    monkeypatch.setattr(time, "time", lambda: real() + next(jumps))


def test_a_run_and_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(3):
        assert status(["run", "fake-rig", "--no-report"]) == 0
    folders = list((tmp_path / "runs").iterdir())
    assert len(folders) == 3
    for folder in folders:
        with Recording(folder / "recording.h5") as recording:
            assert (recording.status, len(recording)) == ("complete", 101)
            assert recording.wall_s is not None
            assert 0 < recording.wall_s < 60


def test_two_runs_that_begin_in_the_same_second_of_a_clock_that_stands(tmp_path, monkeypatch):
    class Stopped(running.datetime):
        @classmethod
        def now(cls, tz=None):
            return cls(1970, 1, 1, tzinfo=tz)

    monkeypatch.setattr(running, "datetime", Stopped)
    monkeypatch.chdir(tmp_path)
    names = [running.new_run_folder("a").name for _ in range(3)]
    assert names == ["a-19700101-000000", "a-19700101-000000-2", "a-19700101-000000-3"]


def test_nothing_measures_time_by_the_clock_of_the_wall():
    """It may name folders and date recordings. Durations are measured by clocks that only run forward."""
    uses = [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for file in (ROOT / "src").rglob("*.py")
        for line in file.read_text().splitlines()
        if "time.time()" in line or "clock.time()" in line
    ]
    assert uses == []
