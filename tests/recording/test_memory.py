"""A recording of any length is written in the same memory: what HDF5 keeps for itself is counted."""

import os
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from grouser.module import Channel
from grouser.recording import Recording, RecordingWriter
from grouser.recording.schema import CHUNK_CACHE_BYTES, FILE_PAGE
from tests.recording.samples import PLACEMENT, TILE, Slope, header

ROOT = Path(__file__).parents[2]
SHAPES = ((), (1,), (3,), (4, 3), (2, 7), (6, 3))  # of channels, some of which fill no whole pages by themselves
PATCHES = 40  # of ground a second


def opened(path: Path, block: int = 64, channels: int = 1) -> RecordingWriter:
    read = [Channel(f"c/{k}-{n}", "m", shape, read=lambda s=shape: np.full((1, *s), 0.5))
            for k in range(channels) for n, shape in enumerate(SHAPES)]  # fmt: skip
    read.append(Channel("c/rows", "m", (3,), kind="ragged", read=lambda: np.ones((2, 3))))
    return RecordingWriter(path, header(tiles=PLACEMENT), read, block=block, terrain=Slope())


def record(writer: RecordingWriter, seconds: int) -> None:
    """100 frames a second, and ground that is never twice the same."""
    draw = np.random.default_rng(writer.frames)
    index = np.array([(k // 8, k % 8) for k in range(PATCHES)], np.int32)
    for _ in range(seconds):
        for _ in range(100):
            writer.append(0.01 * writer.frames)
        writer.append_tiles(writer.last_time, 0, index, draw.normal(0, 0.01, (PATCHES, TILE, TILE)))
    writer.flush()


@pytest.mark.parametrize("block", [2, 64, 100])
def test_no_rests_of_pages_are_left_over(tmp_path, block):
    """HDF5 remembers every rest in memory while the file is open: 270 bytes for each patch of ground."""
    with opened(tmp_path / "a.h5", block) as writer:
        record(writer, 8)
        first = writer._file.id.get_freespace()
        record(writer, 16)
        assert writer._file.id.get_freespace() <= first + FILE_PAGE * len(SHAPES), "a page each that is being filled"


def test_chunks_that_are_written_are_not_kept(tmp_path):
    with opened(tmp_path / "a.h5") as writer:
        layout = writer._layout
        datasets = [layout.time, *layout.fixed.values(), *layout.tiles.values()]
        datasets += [dataset for pair in layout.ragged.values() for dataset in pair]
        assert {dataset.id.get_access_plist().get_chunk_cache()[1] for dataset in datasets} == {CHUNK_CACHE_BYTES}


def test_patches_are_whole_pages_that_any_inflate_reads(tmp_path):
    with opened(tmp_path / "a.h5") as writer:
        record(writer, 1)
    with Recording(tmp_path / "a.h5") as recording:
        heights = recording.file["tiles/heights"]
        for patch in range(len(recording.tile_time())):
            _, data = heights.id.read_direct_chunk((patch, 0, 0))
            assert len(data) % FILE_PAGE == 0
            flat = np.frombuffer(zlib.decompress(data), np.uint8).reshape(4, -1).T.copy().view(np.float32)
            np.testing.assert_array_equal(flat.reshape(TILE, TILE), recording.tile_heights(patch))


GROWTH = """
import sys
from pathlib import Path
from tests.recording.test_memory import opened, record
writer = opened(Path(sys.argv[1]), channels=8)
record(writer, 60)
resident = []
for _ in range(2):
    record(writer, 60)
    resident.append(4096 * int(Path("/proc/self/statm").read_text().split()[1]))
print(resident[1] - resident[0])
"""
CHUNK_ENTRY = 32  # bytes of HDF5's index of chunks for each, of which it keeps what it used last
ARENA = 2 << 20  # bytes that the C library may take at a time


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="Linux only")
def test_a_minute_more_takes_no_more_memory(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", GROWTH, str(tmp_path / "a.h5")], cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    chunks = 60 * PATCHES + 8 * len(SHAPES) * 6000 // 64
    assert int(done.stdout.split()[-1]) < CHUNK_ENTRY * chunks + ARENA
