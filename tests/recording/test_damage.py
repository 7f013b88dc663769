"""Recordings with bytes overwritten anywhere: refused in one line or read, never a hang, never a traceback."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from grouser.errors import InputError
from grouser.recording import Recording
from grouser.recording.hdf5_recovery import Index
from tests.recording.damaged import read_all
from tests.recording.samples import TILE, Clock, fill, sample

ROOT = Path(__file__).parents[2]
HANGS = 300.0  # [s] what takes seconds alone and a minute on a busy machine
ZEROED = 1639  # bytes


def recorded(folder: Path, *, killed: bool) -> Path:
    """A finished recording, or what a kill in the middle of the run leaves."""
    path, clock = folder / "recording.h5", Clock()
    writer = sample(path, clock, block=8)
    for _ in range(20):
        fill(writer, clock, 5)
        heights = np.full((3, TILE, TILE), clock.time, np.float32)
        writer.append_tiles(clock.time, 0, np.arange(6, dtype=np.int32).reshape(3, 2), heights)
    if killed:
        writer.flush()
        shutil.copy(path, folder / "left.h5")
    writer.close("complete")
    return folder / "left.h5" if killed else path


def child(*arguments: object) -> subprocess.CompletedProcess[str]:
    """What the child process said; one that hangs is ended and named by the last line it wrote."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.recording.damaged", *map(str, arguments)], cwd=ROOT, text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            out, errors = process.communicate(timeout=HANGS)
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
            pytest.fail(f"hangs in {(out.splitlines() or ['nothing'])[-1]}")
    return subprocess.CompletedProcess(arguments, process.returncode, out, errors)


@pytest.mark.parametrize("killed", [False, True], ids=["finished", "killed"])
@pytest.mark.parametrize(("variants", "seed"), [(60, 11), pytest.param(400, 12, marks=pytest.mark.long)])
def test_bytes_overwritten_anywhere(tmp_path, killed, variants, seed):
    ended = child("variants", recorded(tmp_path, killed=killed), tmp_path, variants, seed)
    assert ended.returncode == 0, f"{ended.stdout.splitlines()[-1:]}: {ended.stderr[-2000:]}"


def test_texts_zeroed_where_hdf5_would_loop_for_ever(tmp_path):
    """The texts of attributes are the one part of HDF5's own data that has no checksum."""
    whole = recorded(tmp_path, killed=False)
    content = whole.read_bytes()
    place = content.index(b"GCOL") + 16 + 16  # behind the header of the heap and of its first object
    victim = tmp_path / "victim.h5"
    victim.write_bytes(content[:place] + bytes(ZEROED) + content[place + ZEROED :])
    ended = child("commands", victim, tmp_path / "out", whole)
    assert ended.returncode == 0, f"{ended.stdout}{ended.stderr[-2000:]}"
    told = [line for line in ended.stderr.splitlines() if line]
    assert len(told) == len(ended.stdout.splitlines())
    assert all(line.startswith("error: ") and "victim.h5" in line for line in told)
    assert not (tmp_path / "out").exists()


def test_letters_of_a_heap_among_the_data_do_no_harm(tmp_path):
    """Data may hold by chance what looks like the beginning of a list of texts."""
    path = tmp_path / "a.h5"
    clock = Clock()
    letters = np.frombuffer(b"GCOL\1\0\0\0" + (1 << 62).to_bytes(8, "little") + bytes(8), np.float64)
    clock.power = lambda: letters[:1]  # type: ignore[method-assign]
    with sample(path, clock, block=8) as writer:
        fill(writer, clock, 100)
    with Recording(path) as recording:
        np.testing.assert_array_equal(recording["drive/power"], np.full(100, letters[0]))


def test_a_block_larger_than_its_file_is_left_alone():
    """Damaged numbers of a chunk index must not become lists of that length."""
    index = Index(element_bytes=8, offset_bytes=8, smallest=16, direct=4, page=1)
    assert index.parts(b"EADB", 1 << 60, room=1 << 20) == []


@pytest.mark.parametrize("killed", [False, True], ids=["finished", "killed"])
@pytest.mark.parametrize("address", [2**63 + 5, 2**64 - 2, 2**62, 0xF000FF])
def test_addresses_beyond_any_file(tmp_path, killed, address):
    """In the superblock and anywhere in its first kilobyte: h5py cannot make integers of some."""
    whole, victim = recorded(tmp_path, killed=killed).read_bytes(), tmp_path / "damaged.h5"
    for start in (*range(12, 48, 4), *range(48, 1024, 53)):
        victim.write_bytes(whole[:start] + address.to_bytes(8, "little") + whole[start + 8 :])
        try:
            read_all(victim)
        except InputError as error:
            assert "\n" not in str(error)
