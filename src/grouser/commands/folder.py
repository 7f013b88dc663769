"""The folder a run leaves behind."""

from __future__ import annotations

import os
from pathlib import Path

from grouser.errors import InputError
from grouser.recording.hold import NAME as LOCK
from grouser.recording.hold import Hold, in_use, is_held

RECORDING, SUMMARY, FIGURES, REPORT = "recording.h5", "summary.json", "figures", "report.html"


def refused_unless_free(folder: Path, force: bool) -> None:
    """An InputError unless a run can go there: a new folder, an empty one, or any with `force`."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--out {folder}: a file is in the way: allowed is a folder")
    if is_held(folder):
        raise InputError(in_use(folder))
    _refused_unless_empty(folder, force)
    parent = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise InputError(f"--out {folder}: {parent} cannot be written to")


def _refused_unless_empty(folder: Path, force: bool) -> None:
    """The lock that a killed run left does not count."""
    if folder.is_dir() and not force and any(file.name != LOCK for file in folder.iterdir()):
        raise InputError(f"--out {folder}: not empty: allowed is a new or empty folder, or --force to replace it")


def held(folder: Path, force: bool) -> Hold:
    """The folder, made if need be, for one run alone; looked at again, as others may have been faster."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {folder}: cannot be created: {error.strerror}") from None
    hold = Hold(folder)
    try:
        _refused_unless_empty(folder, force)
    except BaseException:
        hold.release()
        raise
    return hold


def cleared(folder: Path) -> None:
    """Takes away what an earlier run made of its recording; other files stay."""
    for old in (folder / SUMMARY, folder / REPORT, *(folder / FIGURES).glob("*.png")):
        old.unlink(missing_ok=True)


def recording_of(place: str | Path) -> Path:
    """The recording meant by a run's folder or by the file itself."""
    path = Path(place)
    file = path / RECORDING if path.is_dir() else path
    if not file.is_file():
        raise InputError(f"{place}: no recording there: allowed is the folder of a run or its {RECORDING}")
    return file
