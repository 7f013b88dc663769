"""Memory that runs out: one line, the right status, and nothing half made."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import mujoco
import pytest

from grouser.cli import status
from grouser.errors import InputError, RunStopped, is_out_of_memory
from grouser.quiet_warp import kernels_load
from grouser.recording import Recording
from grouser.scenarios import registry
from tests.commands import fake_rig
from tests.faults.system_calls import AVAILABLE
from tests.faults.test_every_call import Server, judge
from tests.recording.samples import Clock, fill, sample
from tests.viewer import made

MEGABYTE = 1 << 20


@pytest.mark.skipif(not AVAILABLE, reason="the server needs Linux on x86-64")
def test_a_process_that_gets_little_memory(tmp_path):
    """From too little to enough: a frame has 1000 numbers, and the writer keeps a thousand frames."""
    server, ended = Server(), []
    for megabytes in (4, 33, 36, 40, 44, 100):  # with less Python itself cannot say what is wrong
        out = tmp_path / str(megabytes)
        command = ["run", "fake-rig", "--no-report", "--set", "rows=1000", "--set", "duration=20", "--out", str(out)]
        given = {"folder": str(tmp_path), "kinds": (), "number": 0, "error": 0, "persists": False}
        one = server.ask({**given, "arguments": command, "memory": megabytes * MEGABYTE})
        ended.append(one["status"])
        if one["status"]:
            assert re.fullmatch(r"error: .*not enough memory.*\n", one["told"]), one
        left = [file.name for file in out.iterdir()] if out.exists() else []
        assert bool(left) == (one["status"] != 2), one
        if left:
            with Recording(out / "recording.h5") as recording:
                assert recording.status == "complete" or one["status"] == 3
                there = (
                    f"data up to t = {recording.last_time:.6g} s is in" if len(recording) else "no frame was recorded"
                )
                assert there in one["told"] or one["status"] == 0
    server.end()
    assert set(ended) <= {0, 2, 3}
    assert (ended[0], ended[-1]) == (2, 0)


@pytest.mark.long
@pytest.mark.skipif(not AVAILABLE, reason="the server needs Linux on x86-64")
def test_a_scenario_on_soil_that_gets_little_memory(tmp_path):
    """From too little to enough: while MuJoCo builds the model, kernels are loaded, HDF5 is opened, the run goes on."""
    command = ["run", "single-wheel", "--no-report", "--set", "speed=1", "--out"]
    assert status([*command, str(tmp_path / "whole")]) == 0  # with kernels compiled
    server, ended = Server(), []
    for megabytes in (4, 16, *range(32, 52), 200):
        out = tmp_path / str(megabytes)
        given = {"folder": str(tmp_path), "kinds": (), "number": 0, "error": 0, "persists": False}
        one = server.ask({**given, "arguments": [*command, str(out)], "memory": megabytes * MEGABYTE})
        judge(["a scenario"], out, {**one, "failed": ["memory"]}, megabytes, ())
        assert one["told"].count("\n") == (one["status"] != 0), one
        assert "memory" in one["told"] or one["status"] == 0, one
        left = out.exists() and (out / "recording.h5").exists()
        assert left == (one["status"] != 2), one
        if left:
            with Recording(out / "recording.h5") as recording:
                assert (recording.status == "complete") or one["status"] == 3
                there = (
                    f"data up to t = {recording.last_time:.6g} s is in" if len(recording) else "no frame was recorded"
                )
                assert there in one["told"] or one["status"] == 0
        ended.append(one["status"])
    server.end()
    assert (ended[0], ended[-1]) == (2, 0)


COMMANDS = {
    "report": ["report", "OUT"],
    "report alone": ["report", "OUT", "--no-replay"],
    "replay": ["export", "OUT", "--format", "html"],
    "tables": ["export", "OUT", "--format", "csv"],
    "bag": ["export", "OUT", "--format", "mcap"],
    "repair": ["repair", "OUT"],
}


@pytest.mark.long
@pytest.mark.skipif(not AVAILABLE, reason="the server needs Linux on x86-64")
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_commands_on_a_recording_that_get_little_memory(tmp_path, command):
    """No crash, no traceback of a thread, no package said to be missing that cannot be loaded."""
    server, ended = Server(), []
    for megabytes in (4, 20, 34, 38, 50, 80, 120, 200, 240, 280, 400, 1500):
        out = tmp_path / f"{megabytes}"
        out.mkdir()
        made.recording(out / "recording.h5")
        arguments = [word.replace("OUT", str(out)) for word in command]
        given = {"folder": str(tmp_path), "kinds": (), "number": 0, "error": 0, "persists": False}
        one = server.ask({**given, "arguments": arguments, "memory": megabytes * MEGABYTE})
        judge(command, out, {**one, "failed": ["memory"]}, megabytes, ())
        assert one["status"] in (0, 2), one
        assert re.fullmatch(r"error: .*not enough memory.*\n", one["told"]) or one["status"] == 0, one
        ended.append(one["status"])
    server.end()
    assert (ended[0], ended[-1]) == (2, 0)


COMPILED_WITH_LITTLE = """
import grouser.commands.run, grouser.simulation, sys
from grouser.quiet_warp import start_warp
from tests.faults.server import limit_memory
start_warp()
limit_memory(150 << 20)
from grouser.cli import main
sys.argv = ["grouser", "run", "single-wheel", "--no-report", "--out", sys.argv[1]]
main()
"""


@pytest.mark.skipif(not AVAILABLE, reason="the limit is set as in the server, on Linux")
def test_kernels_that_would_have_to_be_compiled_with_little_memory(tmp_path):
    """No compiled kernels are there: the compiler would end the process by SIGABRT, without a word."""
    command = [sys.executable, "-c", COMPILED_WITH_LITTLE, str(tmp_path / "out")]
    given = {**os.environ, "WARP_CACHE_PATH": str(tmp_path / "kernels"), "GROUSER_THREADS": "1"}
    ended = subprocess.run(command, env=given, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert re.fullmatch(r"error: not enough memory: kernels of \S+ have to be compiled, .* 512 MiB\n", ended.stderr)
    assert ended.returncode == 2
    assert not (tmp_path / "out").exists()


def test_memory_that_runs_out_while_kernels_are_loaded(capfd):
    """The compiler says so itself, and Warp then names a kernel that it cannot find."""
    with pytest.raises(MemoryError, match=r"kernels of a\.b cannot be loaded"), kernels_load("a.b"):
        os.write(2, b"JIT session error: Cannot allocate memory\n")
        raise RuntimeError("Failed to find forward kernel 'k' from module 'a.b' for device 'cpu'")
    assert capfd.readouterr().err == ""


def test_what_the_compiler_says_otherwise_is_passed_on(capfd):
    with pytest.raises(RuntimeError, match="Build failed"), kernels_load("a.b"):
        os.write(2, b"a.cpp:1: error: no such thing\n")
        raise RuntimeError("Build failed")
    with kernels_load("a.b"):
        os.write(2, b"a.cpp:1: warning\n")
    assert capfd.readouterr().err == "a.cpp:1: error: no such thing\na.cpp:1: warning\n"


@pytest.mark.parametrize("where", ["grouser.report.summarise", "grouser.commands.console.print_outcome"])
def test_a_run_without_memory_for_its_results_tells_where_its_data_are(tmp_path, monkeypatch, capsys, where):
    monkeypatch.setattr(registry, "NAMES", registry.NAMES)
    fake_rig.install()

    def full(*_, **__):
        raise ImportError("libhdf5.so: failed to map segment from shared object")

    monkeypatch.setattr(where, full)
    out = tmp_path / "out"
    assert status(["run", "fake-rig", "--no-report", "--out", str(out)]) == 3
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "not enough memory: libhdf5.so: failed to map segment" in told
    assert f"data up to t = 1 s is in {out}" in told


def test_a_write_without_memory_leaves_what_was_flushed(tmp_path, monkeypatch):
    def full(*_):
        raise MemoryError("Out of memory while compressing data")

    clock = Clock()
    writer = sample(tmp_path / "a.h5", clock)
    fill(writer, clock, 64)
    writer.flush()
    fill(writer, clock, 10)
    monkeypatch.setattr("grouser.recording.streams.FixedStream.write", full)
    with pytest.raises(RunStopped, match="not enough memory: Out of memory while compressing data; its last frame is"):
        writer.close("complete")
    with Recording(tmp_path / "a.h5") as recording:
        assert len(recording) == 64


def test_a_run_whose_memory_runs_out_keeps_its_data(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(registry, "NAMES", registry.NAMES)
    fake_rig.install()
    out = tmp_path / "out"
    assert status(["run", "fake-rig", "--no-report", "--set", "event=memory", "--out", str(out)]) == 3
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "not enough memory: Unable to allocate 8.00 EiB for an array" in told
    assert "data up to t = 0.5 s is in" in told
    with Recording(out / "recording.h5") as recording:
        assert (recording.status, recording.last_time) == ("stopped", pytest.approx(0.5))


def test_what_says_that_memory_ran_out():
    assert is_out_of_memory(MemoryError())
    assert is_out_of_memory(OSError(12, "Cannot allocate memory"))
    assert is_out_of_memory(RuntimeError("Failed to allocate 2097152 bytes on device 'cpu'"))
    assert is_out_of_memory(ImportError("libhdf5.so: failed to map segment from shared object"))
    assert is_out_of_memory(mujoco.FatalError("Could not allocate memory"))
    assert is_out_of_memory(RuntimeError("can't start new thread"))
    assert not is_out_of_memory(InputError("soil 'cannot allocate memory': no such soil"))
    wrapped = RuntimeError("the shared library")
    wrapped.__cause__ = OSError("x.so: failed to map segment from shared object")
    assert is_out_of_memory(wrapped)
    assert not is_out_of_memory(RuntimeError("a bug"))
    assert not is_out_of_memory(None)
