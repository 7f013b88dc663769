"""Disk cache for the pieces and seams of courses. File names are hashes of the content."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

VERSION = 1  # of the cached format; files of another version are ignored


def cache_folder() -> Path:
    """Folder for cached courses, in $GROUSER_CACHE or in `grouser` of the user's cache folder."""
    root = os.environ.get("GROUSER_CACHE")
    base = Path(root) if root else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "grouser"
    return base / "courses"


def content_name(words: str, arrays: Iterable[np.ndarray]) -> str:
    """File name made from a hash of options and arrays."""
    key = hashlib.sha256(f"{VERSION} {words}".encode())
    for array in arrays:
        key.update(np.ascontiguousarray(array).tobytes())
    return f"{key.hexdigest()[:32]}.npz"


def read_arrays(file: Path) -> dict[str, np.ndarray] | None:
    """Read the arrays of a file. Returns None if the file is missing or damaged."""
    try:
        with np.load(file) as kept:
            return {name: kept[name] for name in kept.files}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def write_arrays(file: Path, **arrays: np.ndarray) -> None:
    """Write arrays atomically, so that two runs may write the same file. Does nothing if the folder is not writable."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_name(f"{file.stem}.{os.getpid()}.npz")
        np.savez(part, allow_pickle=False, **arrays)
        part.replace(file)
    except OSError:
        return
