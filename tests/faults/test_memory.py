"""Memory that runs out: one line, the right status, and nothing half made."""

from __future__ import annotations

import re

import pytest

from grouser.cli import status
from grouser.errors import is_out_of_memory
from grouser.recording import Recording
from grouser.scenarios import registry
from tests.commands import fake_rig
from tests.faults.system_calls import AVAILABLE
from tests.faults.test_every_call import Server

MEGABYTE = 1 << 20


@pytest.mark.skipif(not AVAILABLE, reason="the server needs Linux on x86-64")
def test_a_process_that_gets_little_memory(tmp_path):
    """From too little to enough: a frame has 1000 numbers, and the writer keeps a thousand frames."""
    server, ended = Server(), []
    for megabytes in (4, 6, 8, 12, 64):  # with less Python itself cannot say what is wrong
        out = tmp_path / str(megabytes)
        command = ["run", "fake-rig", "--no-report", "--set", "rows=1000", "--set", "duration=20", "--out", str(out)]
        given = {"folder": str(tmp_path), "kinds": (), "number": 0, "error": 0, "persists": False}
        one = server.ask({**given, "arguments": command, "memory": megabytes * MEGABYTE})
        ended.append(one["status"])
        if one["status"]:
            assert re.fullmatch(r"error: .*not enough memory.*\n", one["told"]), one
        left = [file.name for file in out.iterdir()] if out.exists() else []
        if left:  # too little to print the results, perhaps, but they are there
            with Recording(out / "recording.h5") as recording:
                assert (recording.status == "complete") == ("summary.json" in left and one["status"] != 3)
    server.end()
    assert set(ended) <= {0, 2, 3}
    assert (ended[0], ended[-1]) == (2, 0)


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
    wrapped = RuntimeError("the shared library")
    wrapped.__cause__ = OSError("x.so: failed to map segment from shared object")
    assert is_out_of_memory(wrapped)
    assert not is_out_of_memory(RuntimeError("a bug"))
    assert not is_out_of_memory(None)
