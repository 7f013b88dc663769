"""What splitting a course found, kept on disk under a name made of its content."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

VERSION = 1  # of what is kept; another one is not found


def cache_folder() -> Path:
    """$GROUSER_CACHE, else grouser in the user's cache folder; courses below it."""
    root = os.environ.get("GROUSER_CACHE")
    base = Path(root) if root else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "grouser"
    return base / "courses"


def content_name(words: str, arrays: Iterable[np.ndarray]) -> str:
    """A file name for options and arrays."""
    key = hashlib.sha256(f"{VERSION} {words}".encode())
    for array in arrays:
        key.update(np.ascontiguousarray(array).tobytes())
    return f"{key.hexdigest()[:32]}.npz"


def read_arrays(file: Path) -> dict[str, np.ndarray] | None:
    """The arrays of a file, or None where there is none or it is damaged."""
    try:
        with np.load(file) as kept:
            return {name: kept[name] for name in kept.files}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def write_arrays(file: Path, **arrays: np.ndarray) -> None:
    """In one move, so that two runs may write the same; a folder that cannot be written keeps nothing."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_name(f"{file.stem}.{os.getpid()}.npz")
        np.savez(part, allow_pickle=False, **arrays)
        part.replace(file)
    except OSError:
        return
