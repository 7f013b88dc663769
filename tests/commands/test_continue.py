"""A run that was killed goes on from its folder and leaves the recording of a run that nothing has interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import grouser
from grouser.cli import status
from grouser.commands import continuation
from grouser.commands import run as running
from grouser.commands.folder import CHECKPOINT
from grouser.errors import InputError
from grouser.recording import Recording
from grouser.scenarios.registry import NAMES, scenario
from grouser.simulation.checkpoint_file import load, save

ROOT = Path(__file__).parents[2]
SHORT = "speed=0.5"  # of a wheel
WALL_CLOCK = ("cost/increase",)  # channels that hold measured time
KILLED = """
import math, os, signal, sys
from grouser.commands import continuation
write, after = continuation.Checkpoints.write, int(sys.argv.pop(1))
continuation.LARGEST_SHARE = math.inf  # at every frame that allows it

def killed(self, done):
    write(self, done)
    if done >= after:
        os.kill(os.getpid(), signal.SIGKILL)

def killed_later(self, done):  # some frames after the checkpoint, which a continued run makes again
    if done <= after:
        write(self, done)
    elif done > 2 * after:
        self._writer.flush()
        os.kill(os.getpid(), signal.SIGKILL)

continuation.Checkpoints.write = killed_later if sys.argv.pop(1) == "later" else killed
from grouser.cli import main
main()
"""


def arguments(out: Path) -> list[str]:
    return ["run", "single-wheel", "--set", SHORT, "--no-report", "--checkpoints", "0", "--out", str(out)]


def killed(after: int, when: str, *command: str) -> None:
    """A command that is killed at its first checkpoint after so many steps, or some frames after it."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(after), when, *command], cwd=ROOT, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


def contents(file: Path) -> dict[str, Any]:
    """Every dataset of a recording, without the outcome, which has wall times."""
    found: dict[str, Any] = {}
    with h5py.File(file) as opened:
        opened.visititems(lambda name, item: found.update({name: item[()]} if isinstance(item, h5py.Dataset) else {}))
    return {name: value for name, value in found.items() if not name.endswith(("outcome/json", *WALL_CLOCK))}


def assert_same_recording(one: Path, other: Path) -> None:
    a, b = contents(one / "recording.h5"), contents(other / "recording.h5")
    assert a.keys() == b.keys()
    assert [name for name in a if a[name].tobytes() != b[name].tobytes()] == []
    first, second = (json.loads((folder / "summary.json").read_text()) for folder in (one, other))
    timed = "real_time_factor"
    metrics = [{k: v for k, v in s["metrics"].items() if not k.endswith(timed)} for s in (first, second)]
    assert metrics[0] == metrics[1]
    assert first["notes"] == second["notes"]
    assert (first["steps"], first["sim_s"]) == (second["steps"], second["sim_s"])
    for folder in (one, other):
        with Recording(folder / "recording.h5") as recording:
            assert recording.status == "complete"


@pytest.fixture(scope="module")
def straight(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("straight") / "run"
    assert status(arguments(out)) in (0, 1)
    assert not (out / CHECKPOINT).exists(), "a complete run needs none"
    return out


def test_a_killed_run_goes_on_bit_for_bit_however_often_it_is_killed(tmp_path, straight, capsys):
    out = tmp_path / "run"
    killed(600, "later", *arguments(out))
    with Recording(out / "recording.h5") as recording:
        assert recording.last_time > 0.6, "frames after the checkpoint are there, and are made again"
    killed(1800, "at once", "run", "--continue", str(out), "--no-report", "--checkpoints", "0")
    capsys.readouterr()
    assert status(["run", "--continue", str(out), "--no-report"]) in (0, 1)
    assert f"{out} goes on from t = 1.8 s\n" in capsys.readouterr().out
    assert_same_recording(out, straight)
    assert not (out / CHECKPOINT).exists()


def test_a_run_without_a_checkpoint_starts_again(tmp_path, straight, capsys):
    out = tmp_path / "run"
    killed(200, "at once", *arguments(out))
    (out / CHECKPOINT).unlink()
    assert status(["run", "--continue", str(out), "--no-report"]) in (0, 1)
    assert "again from the beginning: it has no checkpoint" in capsys.readouterr().out
    assert_same_recording(out, straight)


def test_a_kill_while_frames_are_copied_loses_nothing(tmp_path, straight, monkeypatch):
    """The old recording has its name until the new one is complete up to the checkpoint."""
    out = tmp_path / "run"
    killed(200, "at once", *arguments(out))
    before = (out / "recording.h5").read_bytes()

    def cut(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("grouser.recording.writer.copy_frames", cut)
    assert status(["run", "--continue", str(out), "--no-report"]) == 130
    monkeypatch.undo()
    assert (out / "recording.h5").read_bytes() == before
    assert (out / CHECKPOINT).exists()
    assert status(["run", "--continue", str(out), "--no-report"]) in (0, 1)
    assert_same_recording(out, straight)


def told(capsys, *command: str) -> str:
    assert status(list(command)) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1, line
    return line


def test_what_cannot_go_on_is_one_line(tmp_path, straight, capsys):
    out, go_on = tmp_path / "run", ("run", "--no-report", "--continue", str(tmp_path / "run"))
    assert "the run is complete" in told(capsys, "run", "--continue", str(straight))
    assert "no recording found" in told(capsys, *go_on)
    killed(200, "at once", *arguments(out))
    assert "settings, folder and rate are those it has" in told(capsys, *go_on, "--set", "slip=0.1")
    assert "settings, folder and rate are those it has" in told(capsys, *go_on, "--out", "elsewhere")
    saved, before = load(out / CHECKPOINT), (out / "recording.h5").read_bytes()
    save({**saved, "frames": 10_000}, out / CHECKPOINT)
    assert "its checkpoint was taken after 10000" in told(capsys, *go_on)
    save({**saved, "header": {}}, out / CHECKPOINT)
    assert "is not of this recording" in told(capsys, *go_on)
    for state in ({}, None, {"time": 0.1}, {**saved["simulation"], "due": None}):
        save({**saved, "simulation": state}, out / CHECKPOINT)
        assert "checkpoint" in told(capsys, *go_on)
    whole = (out / CHECKPOINT).read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"PK\x03\x04" + bytes(100)):
        (out / CHECKPOINT).write_bytes(damaged)
        assert "is not a checkpoint, or damaged" in told(capsys, *go_on)
    assert (out / "recording.h5").read_bytes() == before


def test_a_checkpoint_runs_no_code_of_its_writer(tmp_path):
    """NumPy would unpickle arrays of objects."""

    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "boom"),)

    np.savez(tmp_path / "bomb.npz", allow_pickle=True, tree=np.array([Bomb()], object))
    with pytest.raises(InputError, match="is not a checkpoint"):
        load(tmp_path / "bomb.npz")
    assert not (tmp_path / "boom").exists()


def test_a_disk_that_takes_no_checkpoint_does_not_stop_the_run(tmp_path, straight, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("grouser.simulation.checkpoint_file.save", full)
    out = tmp_path / "run"
    assert status(arguments(out)) in (0, 1)
    notes = json.loads((out / "summary.json").read_text())["notes"]
    assert notes == [f"no more checkpoints: {out / CHECKPOINT}: No space left on device"]


def test_large_checkpoints_are_taken_less_often(tmp_path, monkeypatch):
    """They take at most a fiftieth of the time of a run."""
    wall = [0.0]
    monkeypatch.setattr(continuation.time, "monotonic", lambda: wall[0])
    keep = continuation.Checkpoints(tmp_path, None, None, {}, period=1.0, start_time=0.0)  # type: ignore[arg-type]
    taken = []

    def slow(done):
        taken.append(wall[0])
        wall[0] += 0.1

    keep.write = slow
    while wall[0] < 20:
        wall[0] += 0.05
        keep(0)
    pauses = np.diff(taken)
    assert pauses == pytest.approx(0.1 / continuation.LARGEST_SHARE + 0.1, abs=0.06)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "robot"])  # it needs a robot: below
def test_settings_in_a_recording_make_the_same_run(name):
    """Defaults of every scenario, as they come back from the header."""
    found = scenario(name)
    settings = found.settings()
    again = found.settings.model_validate(json.loads(settings.model_dump_json()))
    assert again == settings
    assert again.model_dump(mode="json") == settings.model_dump(mode="json")


@pytest.mark.long
def test_a_robot_on_soil_goes_on_bit_for_bit(tmp_path):
    """Notes of loads and of modules too."""
    robot = ["--robot", str(grouser.CART), "--bodies", "wheel.*", "--drive", "motor.*=0.4", "--time", "2"]
    common = ["run", *robot, "--no-report", "--checkpoints", "0", "--out"]
    one, other = tmp_path / "one", tmp_path / "other"
    assert status([*common, str(one)]) == 0
    killed(100, "later", *common, str(other))
    assert status(["run", "--continue", str(other), "--no-report"]) == 0
    assert_same_recording(one, other)


def test_python_runs_have_checkpoints_too(monkeypatch, tmp_path):
    seen = {}
    monkeypatch.setattr(running, "execute", lambda *_, **more: seen.update(more))
    monkeypatch.setattr(running, "checked", lambda outcome: outcome)
    running.run("single-wheel", out=tmp_path / "run")
    assert seen["checkpoints"] == continuation.PERIOD
