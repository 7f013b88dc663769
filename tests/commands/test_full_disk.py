"""A disk that takes no more: one line, the right status, and only what can be read back is promised.

A limit on the size of files stands in for the disk: the same error from the same calls, with "File too large".
"""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from grouser import cli
from grouser.recording import Recording
from grouser.scenarios import registry
from grouser.viewer import video
from tests.commands import fake_rig
from tests.viewer import made

ROOT = Path(__file__).parents[2]
LIMITED = """
import resource, sys
from tests.commands import fake_rig
fake_rig.install()
from grouser.cli import main
limit = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
main()
"""
SMALL = 2000  # bytes: nothing that is written fits
RECORDING = 3_000_000  # bytes: the beginning of a recording fits


def limited(limit: int, *arguments: str) -> tuple[int, str, str]:
    """A command with files of at most `limit` bytes: status, output, errors."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(limit), *arguments], cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}"},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path):
    """Of a run that is over."""
    (tmp_path / "run").mkdir()
    made.recording(tmp_path / "run" / "recording.h5")
    return tmp_path / "run"


def last_frame(text: str) -> float:
    found = re.search(r"data up to t = (\S+) s is in", text)
    assert found, text
    return float(found.group(1))


def test_a_run_promises_what_can_be_read_back(tmp_path, capsys):
    out = tmp_path / "out"
    arguments = ["--no-report", "--set", "duration=2000", "--set", "rows=100", "--out", str(out)]
    ended, _, told = limited(RECORDING, "run", "fake-rig", *arguments)
    assert ended == 3, told
    assert told.count("\n") == 1
    assert "File too large" in told
    with Recording(out / "recording.h5") as recording:
        last = float(recording.time[-1])
        assert 0 < last < recording.sim_s, "frames that waited are lost"
        assert f"its last frame is at t = {last:.6g} s" in recording.message
    assert last_frame(told) == pytest.approx(last, rel=1e-5)
    assert cli.status(["repair", str(out)]) == 0
    assert capsys.readouterr().out.endswith(f"frames up to t = {last:.6g} s\n")
    assert cli.status(["report", str(out), "--no-replay"]) == 0
    assert f"its last frame is at t = {last:.6g} s" in (out / "report.html").read_text()


def test_a_run_without_room_for_a_recording_leaves_none(tmp_path):
    ended, _, told = limited(SMALL, "run", "fake-rig", "--no-report", "--out", str(tmp_path / "out"))
    assert ended == 2
    assert told == f"error: recording {tmp_path / 'out' / 'recording.h5'} cannot be created: File too large\n"
    assert not any((tmp_path / "out").iterdir())


@pytest.mark.parametrize("kind", ["html", "csv", "mcap"])
def test_an_export_is_whole_or_not_there(folder, tmp_path, kind):
    before = sorted(folder.rglob("*"))
    ended, printed, told = limited(SMALL, "export", str(folder), "--format", kind)
    assert (ended, printed) == (2, "")
    said = [line for line in told.splitlines() if not line.startswith("export ")]
    assert len(said) == 1
    assert re.fullmatch(r"error: cannot write to .*: File too large", said[0])
    assert [path for path in sorted(folder.rglob("*")) if path.is_file()] == before


def test_a_report_is_whole_or_not_there(folder):
    ended, _, told = limited(SMALL, "report", str(folder), "--no-replay")
    assert (ended, told) == (2, f"error: cannot write to {folder}: File too large\n")
    assert [path.name for path in folder.rglob("*") if path.is_file()] == ["recording.h5"]


@pytest.mark.parametrize("kind", ["mp4", "webm", "gif"])
def test_a_film_is_whole_or_not_there(folder, monkeypatch, capsys, kind):
    """The limit is of this process, and the program that packs films inherits it."""
    import resource

    picture = np.random.default_rng(0).integers(0, 256, (208, 320, 3), np.uint8)
    monkeypatch.setattr(video, "pictures", lambda recording, times, *more: (picture for _ in times))
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, limit[1]))
    try:
        ended = cli.status(["video", str(folder), "--out", str(folder / f"film.{kind}"), "--rate", "5"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    told = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("video: ")]
    assert ended == 2, told
    assert len(told) == 1, told
    assert told[0].startswith(f"error: cannot write to {folder / f'film.{kind}'}: ")
    assert [path.name for path in folder.iterdir()] == ["recording.h5"]


def sweep_file(folder: Path, **more) -> Path:
    file = folder / "my.yaml"
    definition = {"scenario": "fake-rig", "parameters": {"slip": [0.1, 0.2, 0.3]}, **more}
    file.write_text(json.dumps(definition))
    return file


def test_a_sweep_that_cannot_begin(tmp_path):
    ended, _, told = limited(100, "sweep", str(sweep_file(tmp_path)), "--out", str(tmp_path / "out"))
    assert (ended, told) == (2, f"error: --out {tmp_path / 'out'}: cannot be written to: File too large\n")


def test_a_sweep_stops_when_its_results_fit_no_more(tmp_path, monkeypatch, capsys):
    """Cases that could not be kept would all be run for nothing."""
    monkeypatch.setattr(registry, "NAMES", registry.NAMES)
    fake_rig.install()
    out = tmp_path / "out"

    def full(process, task, order):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("grouser.campaign.worker_pool._Worker.submit", full)
    assert cli.status(["sweep", str(sweep_file(tmp_path)), "--out", str(out)]) == 3
    told = capsys.readouterr().err
    assert told == f"error: sweep stopped: {out}: No space left on device; finished cases are kept\n"


def test_a_case_whose_disk_is_full_stops_the_sweep(tmp_path, monkeypatch):
    """In the worker: neither a failed case nor a line of a table, as the next would fare no better."""
    from grouser.campaign import read_sweep, worker
    from grouser.commands.sweep import ScenarioRunner

    monkeypatch.setattr(registry, "NAMES", registry.NAMES)
    fake_rig.install()
    sweep = read_sweep(sweep_file(tmp_path, set={"event": "full"}))
    order = worker.Order(sweep.cases[0], tmp_path / "out", sweep.digest)
    with pytest.raises(OSError, match="No space left on device"):
        worker.work(ScenarioRunner(sweep.rate, False), (order,))
    monkeypatch.setattr(
        worker, "write_result", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left"))
    )
    sweep = read_sweep(sweep_file(tmp_path))
    with pytest.raises(OSError, match="No space left"):
        worker.work(ScenarioRunner(sweep.rate, False), (worker.Order(sweep.cases[0], tmp_path / "out", sweep.digest),))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux only")
def test_a_table_that_cannot_be_printed(folder):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", "from grouser.cli import main; main()", "compare", str(folder), str(folder)],
            stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "error: cannot write: No space left on device\n")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS, errno.EDQUOT])
def test_what_the_system_refuses_anywhere_is_one_line(monkeypatch, capsys, number):
    """Such as the cache of compiled kernels."""

    def refused():
        raise OSError(number, os.strerror(number), "/somewhere/cache")

    monkeypatch.setattr("grouser.commands.catalogue.list_scenarios", refused)
    assert cli.status(["list"]) == 2
    assert capsys.readouterr().err == f"error: /somewhere/cache: {os.strerror(number)}\n"
