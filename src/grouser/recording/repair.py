"""Turns the recording of a killed run into a normal file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grouser.errors import InputError
from grouser.recording.copying import Beginning, copy_frames
from grouser.recording.file_lock import ABANDONED, FileLock, close_without_writing, error_text, hidden_errors_raised
from grouser.recording.folder_lock import FolderLock
from grouser.recording.layout import Layout, create
from grouser.recording.reader import DAMAGE, Recording
from grouser.recording.schema import NEW_FILE, to_json

if TYPE_CHECKING:
    import h5py

REPAIRED = "the run ended without closing its recording; repaired"


class Ground(NamedTuple):
    heights: np.ndarray  # [m], (ny, nx)
    spacing: float  # [m]
    origin: tuple[float, float]  # [m]


def repair(path: str | Path) -> Path:
    """Rewrite the complete frames of a killed run as a normal file of the same name. A good file is not changed."""
    path = Path(path)
    with Recording(path) as source:
        if source.finished:
            return path
        if source.status == "running":
            raise InputError(f"{path} is still being written; repair it once the run has ended")
        with FolderLock(path.parent):
            _replace(source, path.with_name(path.name + ".repair"))
    return path


def _replace(source: Recording, part: Path) -> None:
    try:
        _rewrite(source, part)
        part.replace(source.path)
    except DAMAGE as error:
        raise InputError(f"{source.path} cannot be repaired, nothing changed: {error_text(error)}") from None
    finally:
        part.unlink(missing_ok=True)


def _rewrite(source: Recording, part: Path) -> None:
    import h5py

    lock, target, closing = FileLock(part), None, False
    try:
        with hidden_errors_raised():
            target = h5py.File(part, "w", **NEW_FILE, locking=False)
            lock.reserve(source.path.stat().st_size)
            _copy(source, _create_like(source, target))
        closing = True
        with hidden_errors_raised():
            target.close()
        lock.trim()
    except BaseException:
        if target is not None and closing:
            ABANDONED.append(target)
        elif target is not None:
            close_without_writing(target, part)
        raise
    finally:
        lock.release()


def _create_like(source: Recording, target: h5py.File) -> Layout:
    """Create the same datasets, still empty, with complete terrain and geometry."""
    terrain = None
    if source.has_terrain:
        origin, spacing, heights = source.terrain()
        terrain = Ground(heights, spacing, origin)
    return create(
        target,
        source.header,
        [source.channel_info(name) for name in source.names()],
        {name: source.stored_dtype(name) for name in source.names()},
        worlds=source.worlds,
        block=source.file["time"].chunks[0],
        terrain=terrain,
        geometry=source.geometry(),
        shapes=source.shapes(),
        compress=True,
    )


def _copy(source: Recording, target: Layout) -> None:
    copy_frames(Beginning(source, len(source), len(source.tile_time())), target)
    outcome = source.outcome or {"status": "interrupted", "message": REPAIRED, "sim_s": source.sim_s}
    text = np.frombuffer(to_json(outcome).encode(), np.uint8)
    target.outcome.resize((len(text),))
    target.outcome[:] = text
