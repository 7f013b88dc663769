"""The n-th write, flush, rename, creation or fork fails, for every n: the message is right, what it names is there."""

from __future__ import annotations

import csv
import errno
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from grouser.recording import Recording
from tests.faults.system_calls import AVAILABLE
from tests.viewer import made

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="the system calls are numbered for Linux on x86-64")

ROOT = Path(__file__).parents[2]
ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES)
FILES = ("write", "flush", "rename", "create")
RUN = ["run", "fake-rig", "--out", "OUT"]
SWEEP = {"scenario": "single-wheel", "set": {"speed": 1.0}, "parameters": {"slip": [0.1, 0.2]}}
RESULTS = ("summary.json", "report.html", "figures")  # of a run that is complete
MOST = 2000  # calls of a command; more means that the loop below does not end


class Server:
    """A process that runs commands with faults (tests/faults/server.py)."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.faults.server"]
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._read() == "ready\n"

    def _read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def ask(self, wanted: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(wanted) + "\n")
        self.process.stdin.flush()
        return json.loads(self._read())

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


@pytest.fixture(scope="module")
def server():
    one = Server()
    yield one
    one.end()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Path:
    """Folder of a run that is over."""
    folder = tmp_path_factory.mktemp("recorded")
    made.recording(folder / "recording.h5")
    return folder


@pytest.fixture(scope="module")
def killed(tmp_path_factory) -> Path:
    """Folder of a run that was killed: its recording was not closed."""
    folder = tmp_path_factory.mktemp("killed")
    path = str(folder / "recording.h5")
    code = "import os; from tests.recording.samples import *; from pathlib import Path; clock = Clock(); "
    code += f"writer = sample(Path({path!r}), clock); fill(writer, clock, 200); writer.flush(); os._exit(0)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    return folder


def faults(
    server: Server, tmp_path: Path, command: list[str], before: Path | None = None, kinds: tuple[str, ...] = FILES,
    stride: int = 1, persists: bool = False, errors: tuple[int, ...] = ERRORS,
    whole: tuple[str, ...] = RESULTS,
) -> int:  # fmt: skip
    """Let every `stride`-th call fail, with the errors in turn, and judge what is left. Returns how many failed."""
    base = tmp_path / "base"
    base.mkdir(exist_ok=True)
    for count, number in enumerate(range(1, MOST, stride)):
        out = base / "out"
        shutil.rmtree(out, ignore_errors=True)
        if before is not None:
            shutil.copytree(before, out)
        arguments = [word.replace("OUT", str(out)) for word in command]
        wanted = {"arguments": arguments, "folder": str(base), "kinds": kinds, "number": number, "persists": persists}
        ended = server.ask({**wanted, "error": errors[count % len(errors)]})
        judge(command, out, ended, number, whole)
        if not ended["failed"]:
            return count
    raise AssertionError(f"{command} makes more than {MOST} calls")


def judge(command: list[str], out: Path, ended: dict[str, Any], number: int, whole: tuple[str, ...]) -> None:
    """Status, message, and the files that are left."""
    what = f"call {number}, {ended['failed'][:1]}: status {ended['status']}, {ended['told']!r}"
    assert not ended["hung"], what
    assert ended["status"] in ((0, 2, 3) if ended["failed"] else (0,)), what
    told = [line for line in ended["told"].splitlines() if line.startswith("error: ")]
    assert len(told) == (ended["status"] != 0), what
    assert "Traceback" not in ended["told"], what
    assert "--debug" not in ended["told"], what
    left = sorted(file for file in out.rglob("*") if file.is_file())
    assert [file.name for file in left if file.name.endswith((".part", ".tmp", ".repair", ".lock"))] == [], what
    for file in left:
        assert is_whole(file), f"{what}: {file.name} is not whole"
    if command[0] == "run":
        judge_run(out, ended, what, whole)
    if command[0] == "sweep" and ended["status"] == 0:
        assert (out / "sweep.html").exists(), what


def judge_run(out: Path, ended: dict[str, Any], what: str, whole: tuple[str, ...]) -> None:
    if ended["status"] == 2:
        assert not (out / "recording.h5").exists(), what
        return
    with Recording(out / "recording.h5") as recording:
        frames, last = len(recording), recording.last_time
        assert recording.status in (("complete",) if ended["status"] == 0 else ("complete", "stopped", "interrupted"))
    if ended["status"] == 0:
        assert last == pytest.approx(1.0), what
        assert set(whole) <= {file.name for file in out.iterdir()}, what
        return
    found = re.search(r"data up to t = (\S+) s is in", ended["told"])
    assert (found is not None) == (frames > 0), what
    if found:
        assert float(found.group(1)) == pytest.approx(last), what


def is_whole(file: Path) -> bool:
    """Whether a file can be read to its end."""
    if file.suffix == ".h5":
        with Recording(file) as recording:
            return all(len(recording.read(name)) == len(recording) for name in recording.names())
    if file.suffix == ".json":
        return bool(json.loads(file.read_text()))
    if file.suffix == ".html":
        return file.read_text().rstrip().endswith("</html>")
    if file.suffix == ".png":
        Image.open(file).load()
        return True
    if file.suffix == ".csv":
        rows = list(csv.reader(file.open()))
        return len({len(row) for row in rows}) == 1
    return file.suffix in (".npz", ".mcap", ".yaml", ".jsonl", ".md", ".parquet", "") and file.stat().st_size > 0


def test_some_calls_of_a_run(server, tmp_path):
    """One of six, with and without an end of the fault; every call in the next test."""
    assert faults(server, tmp_path, RUN, stride=6) >= 8
    assert faults(server, tmp_path, RUN, stride=13, persists=True) >= 4


@pytest.mark.long
@pytest.mark.parametrize("persists", [False, True])
def test_every_call_of_a_run(server, tmp_path, persists):
    assert faults(server, tmp_path, RUN, persists=persists) > 50


@pytest.mark.long
@pytest.mark.parametrize("persists", [False, True])
def test_calls_of_a_run_with_checkpoints(server, tmp_path, persists):
    """Every third call: checkpoints are written at each frame that allows it, and none that fails stops the run."""
    command = [*RUN, "--no-report", "--checkpoints", "0"]
    assert faults(server, tmp_path, command, stride=3, persists=persists, whole=("recording.h5", "summary.json")) >= 10


@pytest.mark.long
@pytest.mark.parametrize("persists", [False, True])
@pytest.mark.parametrize(
    "command",
    [
        ["report", "OUT", "--no-replay"],
        ["export", "OUT", "--format", "csv"],
        ["export", "OUT", "--format", "mcap"],
        ["export", "OUT", "--format", "html"],
    ],
    ids=" ".join,
)
def test_every_call_of_a_report_and_an_export(server, tmp_path, recorded, command, persists):
    assert faults(server, tmp_path, command, recorded, persists=persists) >= 4


@pytest.mark.long
@pytest.mark.parametrize("persists", [False, True])
def test_every_call_of_a_repair(server, tmp_path, killed, persists):
    """The recording of the killed run stays until the new one is complete."""
    assert faults(server, tmp_path, ["repair", "OUT"], killed, persists=persists) >= 10


def sweep_file(tmp_path: Path) -> str:
    file = tmp_path / "my.yaml"
    file.write_text(json.dumps(SWEEP))
    return str(file)


@pytest.mark.long
def test_every_fork_of_a_sweep(server, tmp_path):
    command = ["sweep", sweep_file(tmp_path), "--workers", "1", "--out", "OUT"]
    assert faults(server, tmp_path, command, kinds=("fork",), errors=(errno.EAGAIN, errno.ENOMEM)) >= 1


@pytest.mark.nightly
@pytest.mark.parametrize("persists", [False, True])
def test_calls_of_a_sweep(server, tmp_path, persists):
    """One in seven of a thousand: its workers and tables write like those of a run and a report."""
    command = ["sweep", sweep_file(tmp_path), "--workers", "1", "--out", "OUT"]
    assert faults(server, tmp_path, command, stride=7, persists=persists) > 100
