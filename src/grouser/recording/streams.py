"""Buffers between the step loop and the file. They fill frame by frame and are written in blocks."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from grouser.errors import InputError
from grouser.module import Channel
from grouser.recording.schema import FILE_PAGE, TILE_COMPRESSION, TILE_HEIGHT_STEP

if TYPE_CHECKING:
    import h5py


def put(dataset: h5py.Dataset, start: int, values: np.ndarray) -> None:
    """Write rows at `start` and flush. Writing the same rows again, after a Ctrl-C in between, is harmless.

    h5py's low-level calls take half the time of `dataset[start:] = values` for small blocks. Each dataset is flushed
    on its own, because HDF5 survives a failed flush of a dataset but not of a file.
    """
    from h5py import h5s

    identity, shape = dataset.id, values.shape
    identity.set_extent((start + shape[0], *shape[1:]))
    if values.size:
        space = identity.get_space()
        space.select_hyperslab((start, *(0 for _ in shape[1:])), shape)
        identity.write(h5s.create_simple(shape), space, np.ascontiguousarray(values))
    dataset.flush()


def chunk_bytes(dataset: h5py.Dataset) -> int:
    """Size of one chunk: the most that a write adds to the file beyond its own rows."""
    return math.prod(dataset.chunks or ()) * dataset.dtype.itemsize


class FixedStream:
    """A channel with the same shape in every frame."""

    def __init__(self, channel: Channel, dataset: h5py.Dataset, worlds: int, block: int):
        assert channel.read is not None
        self.name, self.read, self.dataset = channel.name, channel.read, dataset
        self.shape = (worlds, *channel.shape)
        self.buffer = np.empty((block, *self.shape), dataset.dtype)

    def pending_bytes(self, count: int) -> int:
        return self.buffer[:count].nbytes + chunk_bytes(self.dataset)

    def take(self, row: int) -> None:
        values = np.asarray(self.read())
        self.check(values.shape)
        self.buffer[row] = values

    def check(self, shape: tuple[int, ...]) -> None:
        if shape != self.shape:
            raise InputError(f"channel {self.name!r}: read() gave shape {shape}; (world, *shape) is {self.shape}")

    def write(self, start: int, count: int) -> None:
        put(self.dataset, start, self.buffer[:count])


class RaggedStream:
    """A channel whose number of rows varies by frame. read() gives one array (m, *shape), or one per world."""

    def __init__(self, channel: Channel, data: h5py.Dataset, offsets: h5py.Dataset, worlds: int, block: int):
        assert channel.read is not None
        self.name, self.read, self.shape, self.worlds = channel.name, channel.read, channel.shape, worlds
        self.data, self.offsets = data, offsets
        self.rows = np.empty((block, *self.shape), data.dtype)
        self.ends = np.empty((block, worlds), np.int64)
        self.written = 0  # rows in the file

    def pending_bytes(self, count: int) -> int:
        begun = chunk_bytes(self.data) + chunk_bytes(self.offsets)
        return self.rows[: self._used(count)].nbytes + self.ends[:count].nbytes + begun

    def take(self, row: int) -> None:
        parts = self.read()
        if self.worlds == 1:
            parts = [parts]
        elif len(parts) != self.worlds:
            raise InputError(f"channel {self.name!r}: read() gave {len(parts)} worlds, not {self.worlds}")
        used = self._used(row)
        for world, part in enumerate(parts):
            values = np.asarray(part)
            if values.shape[1:] != self.shape or values.ndim != 1 + len(self.shape):
                raise InputError(
                    f"channel {self.name!r}: read() gave shape {values.shape}; declared (any, *shape) = "
                    f"(any, {', '.join(map(str, self.shape))})"
                )
            end = used + len(values)
            if end > len(self.rows):
                grown = np.empty((max(end, 2 * len(self.rows)), *self.shape), self.rows.dtype)
                grown[:used] = self.rows[:used]
                self.rows = grown
            self.rows[used:end] = values
            used = end
            self.ends[row, world] = self.written + end

    def _used(self, row: int) -> int:
        return int(self.ends[row - 1, -1]) - self.written if row else 0

    def write(self, start: int, count: int) -> None:
        put(self.data, self.written, self.rows[: self._used(count)])
        put(self.offsets, start, self.ends[:count])
        self.written = int(self.ends[count - 1, -1])


class TileStream:
    """Tiles of the fine terrain grid that changed."""

    def __init__(self, datasets: Mapping[str, h5py.Dataset]):
        self.datasets = datasets
        self.size = datasets["heights"].shape[1]
        self.count = 0  # patches not yet written
        self.written = 0
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._packed: list[Future[list[bytes]]] = []
        self._packer = ThreadPoolExecutor(1, thread_name_prefix="tiles")

    @property
    def pending_bytes(self) -> int:
        """Upper bound on the bytes still to be written: uncompressed heights, rounded up to whole pages."""
        columns = sum(array.nbytes for part in self._parts for array in part)
        return self.count * (4 * self.size**2 + 2 * FILE_PAGE) + columns

    def take(self, time: float, world: int, indices: np.ndarray, heights: np.ndarray) -> None:
        indices, heights = np.asarray(indices), np.asarray(heights)
        count = len(indices)
        if indices.shape != (count, 2) or heights.shape != (count, self.size, self.size):
            raise InputError(
                f"tiles: indices of shape {indices.shape} with heights of shape {heights.shape}; "
                f"allowed: (m, 2) with (m, {self.size}, {self.size})"
            )
        if not count:
            return
        self._packed.append(self._packer.submit(packed, np.array(heights, np.float32)))
        self._parts.append((indices.astype(np.int32), np.full(count, world, np.int32), np.full(count, time)))
        self.count += count

    def write(self) -> None:
        if not self.count:
            return
        heights = self.datasets["heights"]
        identity = heights.id
        identity.set_extent((self.written + self.count, self.size, self.size))
        patches = (patch for future in self._packed for patch in future.result())
        for row, patch in enumerate(patches, self.written):
            identity.write_direct_chunk((row, 0, 0), patch)
        heights.flush()
        for name, column in zip(("index", "world"), zip(*self._parts, strict=True), strict=False):
            put(self.datasets[name], self.written, np.concatenate(column))

    def write_time(self) -> None:
        """Write the times. Call this last: a patch that has a time is then complete in the file."""
        if self.count:
            put(self.datasets["time"], self.written, np.concatenate([part[2] for part in self._parts]))
        self._parts, self._packed, self.written, self.count = [], [], self.written + self.count, 0


def packed(heights: np.ndarray) -> list[bytes]:
    """Compress patches [m], (m, T, T), as HDF5's shuffle and deflate filters would. Runs beside the step loop.

    Zeros after the end of a deflate stream fill its last page. Little else would fit there, and HDF5 would track the
    free space in memory for as long as the file is open. Decompression stops at the end of the stream.
    """
    rounded = (np.rint(heights / TILE_HEIGHT_STEP) * TILE_HEIGHT_STEP).astype(np.float32)
    shuffled = rounded.reshape(len(rounded), -1, 1).view(np.uint8).transpose(0, 2, 1)
    streams = [zlib.compress(patch.tobytes(), TILE_COMPRESSION) for patch in shuffled]
    return [stream.ljust(-(-len(stream) // FILE_PAGE) * FILE_PAGE, b"\0") for stream in streams]
