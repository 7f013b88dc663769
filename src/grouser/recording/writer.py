"""Writes a recording during the run. Everything that has been flushed survives a kill."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.errors import InputError, RunStopped
from grouser.module import Channel, Shape
from grouser.recording.copying import Beginning, copy_frames
from grouser.recording.file_lock import (
    ABANDONED,
    FileLock,
    close_without_writing,
    error_text,
    hidden_errors_raised,
    is_locked_by_writer,
)
from grouser.recording.layout import Elevation, Geometry, create
from grouser.recording.schema import NEW_FILE, PAGED, STATUSES, check_channels, stored_dtype, to_json
from grouser.recording.streams import FixedStream, RaggedStream, TileStream, put

if TYPE_CHECKING:
    from grouser.launches import Copies

TILE_BATCH = 1024  # tiles collected before they are written
FLUSH_PERIOD = 0.5  # [s] wall time that a full block may wait before it is written
WAITING_BLOCKS = 16  # largest number of blocks that wait
WAITING_BYTES = 1 << 25  # memory for the waiting blocks; one block may exceed it
WRITE_FAILED = OSError, RuntimeError, MemoryError  # what h5py and the streams raise
DATASET_BYTES = 2048  # space for HDF5's metadata per dataset and flush


class RecordingWriter:
    """Appends frames to an HDF5 file that other processes can read at the same time (SWMR).

    The file gets its name once it can be read. It replaces an older file of that name, unless a run is still writing
    that one. As a context manager it closes the file, with a status that tells how the `with` block ended.
    """

    def __init__(
        self,
        path: str | Path,
        header: Mapping[str, Any],
        channels: Sequence[Channel],
        *,
        worlds: int = 1,
        block: int = 64,
        terrain: Elevation | None = None,
        tile_shape: tuple[int, int] | None = None,
        geometry: Geometry | None = None,
        shapes: Sequence[Shape] = (),
        precision: str | Mapping[str, str] = "float32",
        patience: float | None = None,
        begin: Beginning | None = None,
    ):
        """`patience` [s]: wall time that a full block may wait before it is written; 0 for a live view.

        `begin`: frames of another recording that this one begins with. It may have the same name.
        """
        self.path = Path(path)
        if worlds < 1 or block < 1:
            raise InputError(f"recording {self.path}: worlds = {worlds}, block = {block}; allowed: at least 1")
        check_channels(channels)
        for channel in channels:
            if channel.read is None and channel.kind != "tiles":
                raise InputError(f"channel {channel.name!r} has no read function")
        _check_tile_shape(header, channels, tile_shape)
        self._block, self._header, self._channels = block, dict(header), list(channels)
        self._frames = self._filled = 0
        self._last_time = self._kept_time = -math.inf  # [s] times of the last frame taken and of the last in the file
        self._failure: RunStopped | None = None
        self._closed = False  # asking h5py is slow
        self._lost = False  # a write has failed: HDF5 cannot go on with the file
        self._begin = begin
        self._open(worlds, terrain, geometry, shapes, {c.name: stored_dtype(c, precision) for c in channels})
        self._capacity = self._waiting_frames(worlds)
        self._flushed = -math.inf  # [s] wall-clock time of the last flush
        self._patience = FLUSH_PERIOD if patience is None else patience
        try:
            self._times = np.empty(self._capacity)
            self._make_streams(worlds)
            self._tiles = TileStream(self._layout.tiles) if self._layout.tiles else None
        except BaseException:  # such as no memory for the buffers
            self._file.close()
            if begin is None:
                self.path.unlink(missing_ok=True)
            self._file_lock.release()
            raise
        if begin is not None and begin.frames:
            self._go_on_after(begin)

    def _go_on_after(self, begin: Beginning) -> None:
        """Append after the frames that were copied."""
        self._frames, self._last_time, self._kept_time = begin.frames, begin.last_time, begin.last_time
        for stream in self._streams:
            if isinstance(stream, RaggedStream):
                stream.written = begin.rows(stream.name)
        if self._tiles is not None:
            self._tiles.written = begin.patches

    def _waiting_frames(self, worlds: int) -> int:
        """Number of frames that fit into the memory for waiting blocks; a multiple of the block size."""
        frame = sum(8 * worlds * math.prod(channel.shape) for channel in self._channels if channel.kind != "tiles")
        blocks = WAITING_BYTES // max(frame * self._block, 1)
        return self._block * max(1, min(blocks, WAITING_BLOCKS))

    def _make_streams(self, worlds: int) -> None:
        """Make a stream per channel. Channels with a `source` array are copied together, others are read one by one."""
        self._streams: list[FixedStream | RaggedStream] = []
        self._asked: list[FixedStream | RaggedStream] = []
        pairs: list[tuple[np.ndarray, np.ndarray]] = []
        refreshes: list[Callable[[], None]] = []
        for channel in self._channels:
            if channel.name in self._layout.fixed:
                stream = FixedStream(channel, self._layout.fixed[channel.name], worlds, self._capacity)
            elif channel.name in self._layout.ragged:
                stream = RaggedStream(channel, *self._layout.ragged[channel.name], worlds, self._capacity)
            else:
                continue
            self._streams.append(stream)
            if isinstance(stream, RaggedStream) or channel.source is None:
                self._asked.append(stream)
                continue
            stream.check(channel.source.shape)
            pairs.append((channel.source, stream.buffer))
            if channel.refresh is not None and channel.refresh not in refreshes:
                refreshes.append(channel.refresh)
        self._refreshes, self._copies = refreshes, _copies(pairs)

    def _open(
        self,
        worlds: int,
        terrain: Elevation | None,
        geometry: Geometry | None,
        shapes: Sequence[Shape],
        dtypes: Mapping[str, np.dtype],
    ) -> None:
        import h5py

        part = self.path.with_name(self.path.name + ".part")
        try:
            self._file_lock = FileLock(part)
        except BlockingIOError:
            raise self._busy() from None
        except OSError as error:
            raise InputError(f"recording {self.path} cannot be created: {error_text(error)}") from None
        try:
            if self.path.exists() and is_locked_by_writer(self.path):
                raise self._busy()
            size = _first_bytes(self._header, self._channels, terrain, geometry, shapes)
            size += 0 if self._begin is None else self._begin.source.path.stat().st_size
            self._file_lock.reserve(size)  # HDF5 crashes if the disk is full from the start
            with hidden_errors_raised():
                self._file = h5py.File(part, "w", **NEW_FILE, **PAGED)
        except BaseException as error:
            part.unlink(missing_ok=True)
            self._file_lock.release()
            if isinstance(error, OSError):
                raise InputError(f"recording {self.path} cannot be created: {error_text(error)}") from None
            raise
        try:
            self._file_lock.forget_reserved()
            self._file_lock.reserve(size)
            with hidden_errors_raised():
                self._layout = create(
                    self._file, self._header, self._channels, dtypes,
                    worlds=worlds, block=self._block, terrain=terrain, geometry=geometry, shapes=shapes,
                )  # fmt: skip
                if self._begin is not None:
                    copy_frames(self._begin, self._layout)
                self._file.swmr_mode = True
            self._file_lock.forget_reserved()  # HDF5 has truncated the file to its data
            self._file_lock.reserve(self._file.id.get_filesize())
            part.replace(self.path)
            self._file_lock.path = self.path
        except BaseException as error:
            close_without_writing(self._file, part)
            part.unlink(missing_ok=True)
            self._file_lock.release()
            if isinstance(error, WRITE_FAILED):
                raise InputError(f"recording {self.path} cannot be created: {error_text(error)}") from None
            raise

    def _busy(self) -> InputError:
        return InputError(f"recording {self.path} is being written by another run; give another name")

    @property
    def frames(self) -> int:
        """Frames appended so far."""
        return self._frames

    @property
    def patches(self) -> int:
        """Patches of ground in the file."""
        return 0 if self._tiles is None else self._tiles.written

    @property
    def kept_time(self) -> float:
        """Time [s] of the last frame in the file; minus infinity before the first."""
        return self._kept_time

    @property
    def last_time(self) -> float:
        """Time [s] of the last frame; minus infinity before the first."""
        return self._last_time

    def append(self, time: float) -> None:
        """Append one frame. All channels are read now."""
        if not time > self._last_time:
            raise InputError(f"recording {self.path}: frame at {time} s after {self._last_time} s; times must increase")
        self._check_open()
        for refresh in self._refreshes:
            refresh()
        if self._copies is not None:
            self._copies.take(self._filled)
        for stream in self._asked:
            stream.take(self._filled)
        self._times[self._filled] = self._last_time = time
        self._filled += 1
        self._frames += 1
        if self._frames % self._block == 0 and self._is_time():
            self.flush()

    def _is_time(self) -> bool:
        return self._filled + self._block > self._capacity or clock.monotonic() - self._flushed > self._patience

    def append_tiles(self, time: float, world: int, indices: np.ndarray, heights: np.ndarray) -> None:
        """Append tiles that changed since the last call: indices (m, 2) row and column, heights [m], (m, T, T)."""
        self._check_open()
        if self._tiles is None:
            raise InputError(f"recording {self.path}: tiles without a 'tiles' entry in the header")
        self._tiles.take(time, world, indices, heights)
        if self._tiles.count >= TILE_BATCH:
            self.flush()

    def flush(self) -> None:
        """Write everything appended so far to the file. Flushed data survives the end of the process."""
        self._check_open()
        pending = sum(stream.pending_bytes(self._filled) for stream in self._streams) + self._times.nbytes
        if self._tiles is not None:
            pending += self._tiles.pending_bytes
        pending += DATASET_BYTES * (2 * len(self._streams) + 5) * (1 + self._filled // self._block)
        try:
            self._file_lock.reserve(self._file.id.get_filesize() + pending)
        except OSError as error:
            self._failure = self._stopped(error)
            raise self._failure from None
        try:
            with hidden_errors_raised():
                self._write()
        except WRITE_FAILED as error:
            raise self.lose(error) from None

    def lose(self, error: Exception, closing: bool = False) -> RunStopped:
        """Leave the file as it was last flushed, after a write that failed. Returns the reason to stop the run.

        `closing`: HDF5 was closing the file, and would crash if it tried again.
        """
        self._failure = self._failure or self._stopped(error)
        if not self._lost:
            self._lost = True
            if closing:
                ABANDONED.append(self._file)
            else:
                close_without_writing(self._file, self.path)
        return self._failure

    def _write(self) -> None:
        """Write all streams. Times are written last, so that everything with a time is complete."""
        start = self._frames - self._filled
        if self._filled:
            for stream in self._streams:
                stream.write(start, self._filled)
        if self._tiles is not None:
            self._tiles.write()
        if self._filled:
            put(self._layout.time, start, self._times[: self._filled])
            self._kept_time = float(self._times[self._filled - 1])
            self._filled = 0
        if self._tiles is not None:
            self._tiles.write_time()
        self._flushed = clock.monotonic()

    def _stopped(self, error: Exception) -> RunStopped:
        kept = f"its last frame is at t = {self._kept_time:.6g} s" if self._kept_time >= 0 else "it has no frame"
        text = f"cannot write {self.path}: {error_text(error)}; {kept}"
        return RunStopped(text, module="recording", body="-", time=max(self._last_time, 0.0))

    def _check_open(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._closed:
            raise InputError(f"recording {self.path} is closed; nothing can be added")

    def close(
        self,
        status: str,
        message: str = "",
        metrics: Mapping[str, Any] | None = None,
        *,
        wall_s: float | None = None,
        sim_s: float | None = None,
        steps: int | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """Flush, write the outcome and close. A second call does nothing. `sim_s` [s] defaults to the last frame."""
        if status not in STATUSES or status == "running":
            raise InputError(f"status {status!r}; allowed: complete, stopped, interrupted")
        outcome = {"metrics": dict(metrics or {}), "notes": list(notes), "wall_s": wall_s, "steps": steps}
        outcome["sim_s"] = max(self._last_time, 0.0) if sim_s is None else sim_s
        failure, closing = None, False
        if not self._closed and self._failure is None:
            try:
                self.flush()
            except RunStopped as stop:
                failure, status, message = stop, "stopped", str(stop)
        if not self._closed and not self._lost:
            try:
                text = to_json({"status": status, "message": message, **outcome})
                with hidden_errors_raised():
                    put(self._layout.outcome, 0, np.frombuffer(text.encode(), np.uint8))
                closing = True
                with hidden_errors_raised():
                    self._file.close()
                self._file_lock.trim()
            except WRITE_FAILED as error:
                failure = self.lose(error, closing)
        self._file_lock.release()
        self._closed = True
        if failure is not None:
            raise failure

    def __enter__(self) -> RecordingWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.close("complete")
            return
        with suppress(RunStopped):  # report the first error, not this one
            self.close("interrupted" if isinstance(error, KeyboardInterrupt) else "stopped", str(error))


def _first_bytes(
    header: Mapping[str, Any],
    channels: Sequence[Channel],
    terrain: Elevation | None,
    geometry: Geometry | None,
    shapes: Sequence[Shape],
) -> int:
    """Approximate size [bytes] of a file before its first frame."""
    arrays = [array for mesh in (geometry or {}).values() for array in mesh.values()]
    arrays += [array for shape in shapes for array in (shape.vertices, shape.triangles)]
    arrays += [] if terrain is None else [terrain.heights]
    datasets = 2 * (len(arrays) + len(channels)) + 10
    return sum(np.asarray(array).nbytes for array in arrays) + len(to_json(header)) + DATASET_BYTES * datasets


def _copies(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> Copies | None:
    if not pairs:
        return None
    from grouser.launches import Copies  # Warp is not needed to read recordings

    return Copies(pairs)


def _check_tile_shape(
    header: Mapping[str, Any], channels: Sequence[Channel], tile_shape: tuple[int, int] | None
) -> None:
    placement = header.get("tiles")
    shapes = [tile_shape] if tile_shape is not None else []
    shapes += [channel.shape for channel in channels if channel.kind == "tiles" and channel.shape]
    if placement is None:
        if shapes or any(channel.kind == "tiles" for channel in channels):
            raise InputError("recording header: a 'tiles' entry must say where the recorded tiles lie")
        return
    size = placement["size"]
    for shape in shapes:
        if tuple(shape) != (size, size):
            raise InputError(f"tile shape {tuple(shape)}; tiles.size in the header is {size}")
