"""Atomic writing of files, with write errors as one-line messages."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from grouser.errors import InputError

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}  # the next file would fail too
REFUSED = FULL | {errno.EACCES, errno.EPERM, errno.ENAMETOOLONG}  # errors that the user can fix


def is_file(path: str | Path) -> bool:
    """Whether there is such a file. A name that is too long is that of none; `Path.is_file` would raise an error."""
    return _is(Path.is_file, path)


def is_there(path: str | Path) -> bool:
    """Whether there is such a file or folder."""
    return _is(Path.exists, path)


def _is(asked: Callable[[Path], bool], path: str | Path) -> bool:
    try:
        return asked(Path(path))
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return False
        raise


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; it is renamed to `path` on success and deleted on an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_atomically(path: Path, text: str) -> Path:
    """Write a text file that is never seen half written. Returns `path`."""
    with atomic_file(path) as part:
        part.write_text(text, encoding="utf-8", errors="replace")  # names of files may hold bytes that are no text
    return path


@contextmanager
def write_errors_as_input(place: Path) -> Iterator[None]:
    """Turn an OSError of writing to `place` into an InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write to {place}: {error.strerror or error}") from None
