"""The output folder of a run."""

from __future__ import annotations

import os
from pathlib import Path

from grouser.errors import InputError
from grouser.recording.folder_lock import NAME as LOCK
from grouser.recording.folder_lock import FolderLock, holder_message, is_folder_locked

RECORDING, SUMMARY, FIGURES, REPORT = "recording.h5", "summary.json", "figures", "report.html"
CHECKPOINT = "checkpoint.npz"


def check_output_folder(folder: Path, force: bool) -> None:
    """Raise InputError unless a run may write there: into a new or empty folder, or any folder with `force`."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--out {folder}: is a file: allowed is a folder")
    if is_folder_locked(folder):
        raise InputError(holder_message(folder))
    _check_empty(folder, force)
    parent = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise InputError(f"--out {folder}: {parent} cannot be written to")


def _check_empty(folder: Path, force: bool) -> None:
    """Raise InputError if the folder is not empty. The lock file of a killed run does not count."""
    if folder.is_dir() and not force and any(file.name != LOCK for file in folder.iterdir()):
        raise InputError(f"--out {folder}: not empty: allowed is a new or empty folder, or --force to replace it")


def lock_folder(folder: Path, force: bool) -> FolderLock:
    """Create the folder if needed, lock it, and check again that it is empty: another run may have been faster."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {folder}: cannot be created: {error.strerror}") from None
    lock = FolderLock(folder)
    try:
        _check_empty(folder, force)
    except BaseException:
        lock.release()
        raise
    return lock


def remove_old_results(folder: Path) -> None:
    """Delete summary, report, figures and checkpoint of an earlier run. Other files stay."""
    for old in (folder / SUMMARY, folder / REPORT, folder / CHECKPOINT, *(folder / FIGURES).glob("*.png")):
        old.unlink(missing_ok=True)


def recording_path(place: str | Path) -> Path:
    """Path of the recording, given the folder of a run or the file itself."""
    path = Path(place)
    file = path / RECORDING if path.is_dir() else path
    if not file.is_file():
        raise InputError(f"{place}: no recording found: allowed is the folder of a run or its {RECORDING}")
    return file
