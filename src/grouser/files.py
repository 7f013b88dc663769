"""Files that are written whole or not at all, and what the system has against it in one line."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from grouser.errors import InputError

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}  # the next file will fare no better
REFUSED = FULL | {errno.EACCES, errno.EPERM}  # the user's to mend, not Grouser's


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A file of this process to write beside `path`; it takes that name once it is whole, else it goes away."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> Path:
    with whole(path) as part:
        part.write_text(text, encoding="utf-8")
    return path


@contextmanager
def told_what_refuses(place: Path) -> Iterator[None]:
    """What the system has against writing there, as an InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write to {place}: {error.strerror or error}") from None
