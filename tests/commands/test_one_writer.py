"""One writer in a folder at a time: who comes second is told who is there, and loses nobody's data."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from grouser.cli import status
from grouser.errors import InputError
from grouser.recording import Recording
from grouser.recording.folder_lock import NAME as LOCK
from grouser.recording.folder_lock import FolderLock, holder_message, is_folder_locked
from grouser.scenarios import registry
from tests.commands import fake_rig
from tests.recording.samples import Clock, fill, sample

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "tests.commands.fake_rig"]
ROUNDS = 4


@pytest.fixture(autouse=True)
def rig(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "NAMES", registry.NAMES)
    fake_rig.install()


def run(out: Path, *more: str) -> int:
    return status(["run", "fake-rig", "--no-report", "--out", str(out), *more])


@contextmanager
def running(out: Path, *more: str):
    """A run that stands still half way, until it is told to go on or is killed."""
    command = [*COMMAND, "run", "fake-rig", "--no-report", "--out", str(out), "--set", "event=wait", *more]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "half way\n"
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("more", [(), ("--force",)])
def test_the_second_run_names_the_first_and_does_no_harm(tmp_path, capsys, more):
    out = tmp_path / "out"
    with running(out) as process:
        assert run(out, *more) == 2
        told = capsys.readouterr().err
        assert told.count("\n") == 1
        assert told.startswith(f"error: {out} is in use by process {process.pid} (fake_rig.py run fake-rig")
        assert status(["report", str(out)]) == 2, "a report would be of half a run, and be left there"
        assert f"in use by process {process.pid}" in capsys.readouterr().err
        assert status(["sweep", str(sweep_file(tmp_path)), "--out", str(out), "--force"]) == 2
        assert f"in use by process {process.pid}" in capsys.readouterr().err
        assert status(["export", str(out), "--format", "csv"]) == 0, "files of its own: any time"
        process.communicate("go on\n")
        assert process.returncode == 0
    with Recording(out / "recording.h5") as recording:
        assert (recording.status, len(recording)) == ("complete", 101)
    assert not (out / LOCK).exists()
    assert run(out, "--force") == 0


def sweep_file(folder: Path) -> Path:
    file = folder / "my.yaml"
    file.write_text("scenario: fake-rig\nparameters: {slip: [0.1, 0.2]}\n")
    return file


def test_what_a_killed_run_held_is_free(tmp_path, capsys):
    out = tmp_path / "out"
    with running(out) as process:
        process.kill()
        process.wait()
    assert (out / LOCK).exists(), "it had no time to take it away"
    assert not is_folder_locked(out)
    assert run(out) == 2
    assert "not empty" in capsys.readouterr().err
    assert status(["repair", str(out)]) == 0
    assert not (out / LOCK).exists()
    assert run(out, "--force") == 0
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / LOCK).write_text((empty / LOCK).name)
    assert run(empty) == 0, "a lock left in an otherwise empty folder does not count"


def test_many_runs_into_one_new_folder(tmp_path):
    """One of them gets it; the others say who, whatever the order in which they come."""
    for number in range(ROUNDS):
        out = tmp_path / f"{number}"
        command = [*COMMAND, "run", "fake-rig", "--no-report", "--out", str(out)]
        runs = [
            subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        told = [process.communicate()[1] for process in runs]
        assert sorted(process.returncode for process in runs) == [0, 2], told
        with Recording(out / "recording.h5") as recording:
            assert (recording.status, len(recording)) == ("complete", 101)
        assert not list(out.glob("*.part"))
        assert not (out / LOCK).exists()


def test_runs_without_out_share_no_folder(tmp_path, monkeypatch):
    """Even if all begin in the same second."""
    monkeypatch.chdir(tmp_path)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
    runs = [
        subprocess.Popen([*COMMAND, "run", "fake-rig", "--no-report"], env=environment, stdout=subprocess.DEVNULL)
        for _ in range(3)
    ]
    assert [process.wait() for process in runs] == [0, 0, 0]
    assert len(list(tmp_path.glob("runs/*/recording.h5"))) == 3


def test_a_hold_names_its_holder_and_ends(tmp_path):
    with FolderLock(tmp_path):
        assert is_folder_locked(tmp_path)
        assert f"in use by process {os.getpid()} (" in holder_message(tmp_path)
        with pytest.raises(InputError, match=f"is in use by process {os.getpid()}"):
            FolderLock(tmp_path)
    assert not is_folder_locked(tmp_path)
    assert list(tmp_path.iterdir()) == []
    FolderLock(tmp_path).release()


def test_two_writers_of_one_file_without_a_folder_of_their_own(tmp_path):
    """The lock is there before HDF5 empties the file."""
    first, second = Clock(), Clock()
    path = tmp_path / "a.h5"
    writer = sample(path, first)
    fill(writer, first, 64)
    with pytest.raises(InputError, match="is being written by another run"):
        sample(path, second)
    fill(writer, first, 64)
    writer.close("complete")
    with Recording(path) as recording:
        assert len(recording) == 128
    assert [file.name for file in tmp_path.iterdir()] == ["a.h5"]


def test_a_file_that_is_being_created_is_left_alone(tmp_path, monkeypatch):
    """Another writer that comes between opening and naming the file."""
    path, told = tmp_path / "a.h5", []
    from grouser.recording import writer as writing

    create = writing.create

    def disturbed(*arguments, **more):
        monkeypatch.setattr(writing, "create", create)
        with pytest.raises(InputError) as error:
            sample(path, Clock())
        told.append(str(error.value))
        return create(*arguments, **more)

    monkeypatch.setattr(writing, "create", disturbed)
    clock = Clock()
    with sample(path, clock) as writer:
        fill(writer, clock, 64)
    assert told == [f"recording {path} is being written by another run; give another name"]
    with Recording(path) as recording:
        assert len(recording) == 64


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert run(tmp_path / "file" / "out") == 2
    assert capsys.readouterr().err.count("\n") == 1
