"""How a run can end: killed, disk full, a broken device, Ctrl-C in the middle of a write."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from grouser.errors import InputError, RunStopped
from grouser.module import Channel
from grouser.recording import Recording, RecordingWriter, hdf5_recovery, repair, streams, superblock
from grouser.recording import writer as writing
from grouser.recording.schema import MEMORY_PAGE, TILE_HEIGHT_STEP
from tests.recording.samples import PERIOD, Clock, fill, header, sample

ROOT = Path(__file__).parents[2]
KILLS = 10
MANY = 120 * 64  # frames: the addresses of their chunks take several pages of memory
LONGEST = 0.05  # s from the start or the first flush to the kill
FLOAT32 = 6e-8  # relative, half a unit in the last place


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Every full block goes to the file at once: more writes to fail in."""
    monkeypatch.setattr(writing, "FLUSH_PERIOD", 0.0)


def check(recording: Recording) -> None:
    frames = np.arange(len(recording))
    np.testing.assert_allclose(recording.time, PERIOD * frames, rtol=1e-15)
    np.testing.assert_array_equal(recording["drive/power"], np.pi * recording.time)
    np.testing.assert_allclose(recording["soil/sinkage"], np.arange(4) + recording.time[:, None], rtol=FLOAT32)
    assert [len(rows) for rows in recording["contact/points"]] == [k % 3 for k in frames]
    for moment, _, heights in recording.tiles_between(-1, np.inf):
        np.testing.assert_allclose(heights, moment, atol=TILE_HEIGHT_STEP / 2)


def killed(path: Path, delay: float, first_flush: bool) -> int:
    """Kill a run `delay` seconds after its start or its first flush; how many frames it had flushed."""
    run = subprocess.Popen(
        [sys.executable, "-m", "tests.recording.killed_run", str(path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "ready\n"
    seen = run.stdout.readline() if first_flush else ""
    time.sleep(delay)
    run.kill()
    lines = (seen + run.stdout.read()).split("\n")
    run.wait()
    return int(lines[-2]) if len(lines) > 1 else 0  # the last line may be cut


def test_kill_at_any_time_loses_nothing_flushed(tmp_path):
    draw = random.Random(3)
    for number in range(KILLS):
        path = tmp_path / f"{number}.h5"
        flushed = killed(path, draw.uniform(0, LONGEST), first_flush=number % 3 > 0)
        if not path.exists():  # killed before the file could be read
            assert flushed == 0
            continue
        with Recording(path) as recording:
            assert recording.status == "interrupted"
            assert not recording.metrics
            assert len(recording) >= flushed
            assert len(recording.tile_time()) >= 3 * (flushed // 5)
            check(recording)
            found = len(recording)
        assert repair(path) == path
        with Recording(path) as recording:
            assert recording.finished
            assert recording.status == "interrupted"
            assert len(recording) == found
            check(recording)
    assert not list(tmp_path.glob("*.repair"))


def test_half_written_blocks_of_chunk_addresses_are_read(tmp_path):
    """A kill ends a write where a page of memory ends; whole blocks are left alone."""
    clock, path = Clock(), tmp_path / "a.h5"
    writer = sample(tmp_path / "b.h5", clock)
    fill(writer, clock, MANY)
    writer.flush()
    data = bytearray((tmp_path / "b.h5").read_bytes())
    assert hdf5_recovery.recovered_checksums(tmp_path / "b.h5") == {}
    writer.close("complete")
    spoiled = set()
    for start, size in hdf5_recovery._parts(np.frombuffer(bytes(data), np.uint8)):
        end = start + size
        if start // MEMORY_PAGE != (end + 3) // MEMORY_PAGE:
            data[end : end + 4] = b"torn"
            spoiled.add(end)
    path.write_bytes(data)
    assert spoiled
    assert set(hdf5_recovery.recovered_checksums(path)) == spoiled
    with Recording(path) as recording:
        assert len(recording) == MANY
        check(recording)


def test_headers_that_are_written_again_lie_in_one_page(tmp_path):
    names = tuple(f"a wheel with a long name, number {k}" for k in range(40))
    values = np.zeros((1, 40, 2, 2, 2))
    channels = [Channel(f"c/{k}", "m", values.shape[1:], labels=names, read=lambda: values) for k in range(60)]
    with RecordingWriter(tmp_path / "a.h5", header(), channels, block=1) as writer:
        data = (tmp_path / "a.h5").read_bytes()
        for dataset in [writer._layout.time, writer._layout.outcome, *writer._layout.fixed.values()]:
            start = h5py.h5o.get_info(dataset.id).addr
            assert data[start : start + 4] == b"OHDR"
            flags = data[start + 5]  # HDF5 File Format Specification 3.0, section IV.A.1.b
            place, width = start + 6 + 16 * (flags >> 5 & 1) + 4 * (flags >> 4 & 1), 1 << (flags & 3)
            end = place + width + int.from_bytes(data[place : place + width], "little") + 4
            assert start // MEMORY_PAGE == (end - 1) // MEMORY_PAGE


def test_cleared_flags_make_a_normal_file(tmp_path):
    """With the superblock rewritten, plain h5py opens what a kill left; the checksum is that of HDF5."""
    path = tmp_path / "a.h5"
    killed(path, 0.0, first_flush=True)
    with pytest.raises(OSError, match="already open for write"):
        h5py.File(path)
    data = path.read_bytes()
    path.write_bytes(superblock.cleared(data[: superblock.SIZE], len(data)) + data[superblock.SIZE :])
    with h5py.File(path) as file:
        assert len(file["time"]) > 0


def test_repair_leaves_good_and_running_files_alone(tmp_path):
    clock = Clock()
    writer = sample(tmp_path / "a.h5", clock)
    fill(writer, clock, 70)
    command = "from grouser.recording import repair; repair('a.h5')"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    other = subprocess.run(
        [sys.executable, "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert "still being written" in other.stderr
    with pytest.raises(InputError, match="still being written"):
        repair(tmp_path / "a.h5")
    writer.close("complete")
    before = (tmp_path / "a.h5").read_bytes()
    repair(tmp_path / "a.h5")
    assert (tmp_path / "a.h5").read_bytes() == before


def test_reading_while_writing(tmp_path):
    """In the same process and in another; `refresh` moves on to the end."""
    clock = Clock()
    writer = sample(tmp_path / "a.h5", clock, block=16)
    fill(writer, clock, 20)
    command = (
        "from grouser.recording import Recording\n"
        "with Recording('a.h5') as r:\n"
        "    print(len(r), r.status, flush=True); input(); r.refresh(); print(len(r), r.status, r.metrics)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    other = subprocess.Popen(
        [sys.executable, "-c", command], cwd=tmp_path, env=environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert other.stdin is not None
    assert other.stdout is not None
    with Recording(tmp_path / "a.h5") as here:
        assert (len(here), here.status) == (16, "running")
        assert other.stdout.readline() == "16 running\n"
        fill(writer, clock, 20)
        writer.flush()
        here.refresh()
        assert len(here) == 40
        check(here)
    writer.close("complete", metrics={"a": 1})
    assert other.communicate("\n")[0] == "40 complete {'a': 1}\n"


def test_a_writer_that_is_killed_beside_a_reader(tmp_path):
    """The reader goes on with all that was flushed and sees that nobody writes, also beside a repair and a new run."""
    path = tmp_path / "a.h5"
    command = [sys.executable, "-m", "tests.recording.killed_run", str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
        run.stdout.readline()
        with Recording(path) as recording:
            assert recording.status == "running"
            flushed = int(run.stdout.readline())
            run.kill()
            run.wait()
            recording.refresh()
            assert recording.status == "interrupted"
            assert len(recording) >= flushed
            check(recording)
            found = len(recording)
            repair(path)
            clock = Clock()
            with sample(path, clock) as writer:
                fill(writer, clock, 64)
                recording.refresh()
                assert (recording.status, len(recording)) == ("interrupted", found), "the file that was opened"
                check(recording)
    with Recording(path) as recording:
        assert (recording.status, len(recording)) == ("complete", 64)


def test_garbage_is_refused_in_one_line(tmp_path):
    path = tmp_path / "a.h5"
    with pytest.raises(InputError, match="no such file"):
        Recording(path)
    with pytest.raises(InputError, match="is a folder"):
        Recording(tmp_path)
    path.write_bytes(b"")
    with pytest.raises(InputError, match="not an HDF5 file"):
        Recording(path)
    path.write_bytes(os.urandom(5000))
    with pytest.raises(InputError, match="not an HDF5 file"):
        repair(path)


@pytest.mark.parametrize("finished", [True, False])
def test_truncated_files_are_refused_or_read_in_part(tmp_path, finished):
    """Any prefix of a file either opens with right numbers or is refused with an InputError."""
    clock = Clock()
    writer = sample(tmp_path / "whole.h5", clock, block=8)
    fill(writer, clock, 100)
    writer.flush()
    if finished:
        writer.close("complete")
    whole = (tmp_path / "whole.h5").read_bytes()
    writer.close("complete")
    length = (tmp_path / "whole.h5").stat().st_size
    path, refused = tmp_path / "part.h5", 0
    for size in np.linspace(10, length - 1, 25, dtype=int):
        path.write_bytes(whole[:size])
        try:
            with Recording(path) as recording:
                check(recording)
        except InputError as error:
            assert "\n" not in str(error)
            refused += 1
    assert refused > 0


def test_another_hdf5_file_and_a_newer_schema_are_refused(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = 1
    with pytest.raises(InputError, match="not a Grouser recording"):
        Recording(tmp_path / "a.h5")
    sample(tmp_path / "b.h5", Clock()).close("complete")
    with h5py.File(tmp_path / "b.h5", "r+") as file:
        file.attrs["schema"] = 99
    with pytest.raises(InputError, match="schema 99; allowed: up to 1"):
        Recording(tmp_path / "b.h5")


FULL_DISK = """
import resource, sys
import numpy as np
from grouser.errors import RunStopped
from grouser.module import Channel
from grouser.recording import RecordingWriter
limit = 12_000_000
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
values = np.zeros((1, 1000))
writer = RecordingWriter("a.h5", {}, [Channel("a", "m", (1000,), read=lambda: values)])
try:
    for frame in range(100_000):
        values[:] = frame
        writer.append(0.01 * frame)
except RunStopped as stop:
    writer.close("stopped", str(stop))
    print(stop)
    sys.exit(3)
"""


def test_full_disk_stops_the_run_and_closes_the_file(tmp_path):
    """A limit on the size of files stands in for the disk: the same error from the same calls."""
    run = subprocess.run(
        [sys.executable, "-c", FULL_DISK], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert run.returncode == 3, run.stderr
    assert run.stderr == ""
    assert "recording, body '-': cannot write a.h5: File too large" in run.stdout
    with Recording(tmp_path / "a.h5") as recording:
        assert recording.finished
        assert recording.status == "stopped"
        assert "File too large" in recording.message
        assert len(recording) > 64
        np.testing.assert_array_equal(recording["a"][:, 0], np.arange(len(recording)))


def test_close_that_no_longer_fits_raises_after_closing(tmp_path, monkeypatch):
    clock = Clock()
    writer = sample(tmp_path / "a.h5", clock)
    fill(writer, clock, 70)

    def full(end: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writer._file_lock, "reserve", full)
    with pytest.raises(RunStopped, match="No space left on device"):
        writer.close("complete")
    with Recording(tmp_path / "a.h5") as recording:
        assert (recording.finished, recording.status, len(recording)) == (True, "stopped", 64)
        check(recording)


def test_failed_write_leaves_what_was_flushed(tmp_path):
    """The device fails under HDF5 itself: its descriptor suddenly refuses to write."""
    clock = Clock()
    writer = sample(tmp_path / "a.h5", clock)
    fill(writer, clock, 128)
    read_only = os.open(tmp_path / "a.h5", os.O_RDONLY)
    os.dup2(read_only, writer._file.id.get_vfd_handle())
    os.close(read_only)
    with pytest.raises(RunStopped, match=r"recording, body '-': cannot write .*a\.h5: Bad file descriptor") as stop:
        fill(writer, clock, 64)
    assert stop.value.time == pytest.approx(191 * PERIOD)
    with pytest.raises(RunStopped):
        fill(writer, clock, 1)
    writer.close("stopped", str(stop.value))
    with Recording(tmp_path / "a.h5") as recording:
        assert (recording.status, len(recording)) == ("interrupted", 128)
        check(recording)


@pytest.mark.parametrize("call", range(0, 12, 3))
def test_ctrl_c_in_the_middle_of_a_write_repeats_it(tmp_path, monkeypatch, call):
    clock, put, calls = Clock(), streams.put, iter(range(1000))

    def interrupted(*arguments):
        put(*arguments)
        if next(calls) == call:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), sample(tmp_path / "a.h5", clock, block=8) as writer:
        monkeypatch.setattr(streams, "put", interrupted)
        monkeypatch.setattr("grouser.recording.writer.put", interrupted)
        fill(writer, clock, 50)
    with Recording(tmp_path / "a.h5") as recording:
        assert recording.status == "interrupted"
        assert len(recording) > 0
        assert len(recording) % 8 == 0
        check(recording)


def test_space_taken_ahead_is_given_back(tmp_path):
    with RecordingWriter(tmp_path / "a.h5", header(), [Channel("a", "1", read=lambda: np.zeros(1))]) as writer:
        writer.append(0.0)
        assert (tmp_path / "a.h5").stat().st_size > 1_000_000
    assert (tmp_path / "a.h5").stat().st_size < 50_000
