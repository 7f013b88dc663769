"""The writer's lock on its recording, and disk space that is reserved before HDF5 needs it.

The lock tells readers that the file is being written. HDF5 cannot recover from a failed write (the process crashes at
the next call or when it exits), so disk space is reserved in advance. If a write still fails, HDF5 is redirected to
memory and the file is closed once. A command then ends without the clean-up of HDF5 (`ABANDONED`).
"""

from __future__ import annotations

import errno
import os
import re
import struct
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from grouser.errors import out_of_memory
from grouser.recording.superblock import end_of_file

if TYPE_CHECKING:
    import h5py

try:
    import fcntl
except ImportError:  # not POSIX
    fcntl = None

RESERVE_BYTES = 1 << 20  # reserved at a time
CLOSING_BYTES = 1 << 18  # always kept free for HDF5's metadata and the outcome
NO_RESERVE = {errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS}  # the file system cannot reserve space
HELD = {errno.EAGAIN, errno.EACCES}
MEMORY_COPY_LIMIT = 1 << 31  # for a larger file HDF5 gets an empty buffer of the same size
FLOCK = "hhqqi0q"  # struct flock of 64-bit Linux: type, whence, start, length, process
LOCKED_BYTE = 1 << 62  # far beyond any data; independent of HDF5's own locks, which readers hold too
CAN_LOCK = fcntl is not None and hasattr(fcntl, "F_OFD_SETLK")  # else a running recording looks like a killed one


class FileLock:
    """Lock on a file, taken before HDF5 opens it. Opening it would truncate a file that another process is writing."""

    def __init__(self, path: Path):
        """Create the file if it does not exist. Raises BlockingIOError if another process has locked it."""
        self.path = path
        self._reserved = 0
        self._can_reserve = hasattr(os, "posix_fallocate")
        while True:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            if not try_lock(self._descriptor):
                os.close(self._descriptor)
                raise BlockingIOError(errno.EAGAIN, "another run is writing it")
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(self._descriptor), path.stat()):
                    return
            os.close(self._descriptor)  # its owner has renamed it in the meantime: try again

    def reserve(self, end: int) -> None:
        """Reserve disk space for the first `end` bytes of the file and a little more, else raise OSError."""
        end += CLOSING_BYTES
        if not self._can_reserve or end <= self._reserved:
            return
        try:
            os.posix_fallocate(self._descriptor, self._reserved, end + RESERVE_BYTES - self._reserved)
            self._reserved = end + RESERVE_BYTES
        except OSError as error:
            if error.errno not in NO_RESERVE:
                raise
            self._can_reserve = False

    def forget_reserved(self) -> None:
        """Call this after HDF5 has truncated the file to its data, which releases the reserved space."""
        self._reserved = 0

    def trim(self) -> None:
        """Release the reserved space. Call this after HDF5 has closed the file."""
        end = end_of_file(self.path)
        if 0 < end < os.fstat(self._descriptor).st_size:
            os.ftruncate(self._descriptor, end)

    def release(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def try_lock(descriptor: int) -> bool:
    """Lock an open file against other writers. Returns whether that worked; True on systems without locks."""
    if fcntl is None or not CAN_LOCK:
        return True
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _lock())
    except OSError as error:
        return error.errno not in HELD  # else the file system has no locks
    return True


def is_locked_by_writer(path: Path) -> bool:
    """Whether a writer holds the lock on the file. The kernel releases the lock when the process ends."""
    if fcntl is None or not CAN_LOCK:
        return False
    with path.open("rb") as file:
        answer = fcntl.fcntl(file, fcntl.F_OFD_GETLK, _lock())
    return struct.unpack(FLOCK, answer)[0] != fcntl.F_UNLCK


def _lock() -> bytes:
    assert fcntl is not None
    return struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, LOCKED_BYTE, 1, 0)


ABANDONED: list[h5py.File] = []  # files after a failed write: HDF5 may crash when the process exits


def close_without_writing(file: h5py.File, path: Path) -> None:
    """Close a file after a failed write. HDF5 closes a copy in memory; the file stays as last flushed.

    Call it once for a file, and do nothing with the file afterwards.
    """
    handle = file.id.get_vfd_handle()
    size = path.stat().st_size
    with _scratch() as copy, path.open("rb") as source:
        while size <= MEMORY_COPY_LIMIT and (part := source.read(1 << 20)):
            copy.write(part)
        copy.truncate(size)
        copy.flush()
        os.dup2(copy.fileno(), handle)
    ABANDONED.append(file)
    with suppress(OSError, RuntimeError):
        file.close()


@contextmanager
def hidden_errors_raised() -> Iterator[None]:
    """Raise the first error that h5py meets where it frees an object, and would only print."""
    hidden: list[BaseException] = []
    before = sys.unraisablehook, sys.excepthook  # the second prints a traceback before the first is called
    sys.unraisablehook = lambda error: hidden.append(error.exc_value or RuntimeError("HDF5 failed"))
    sys.excepthook = lambda *_: None
    try:
        yield
    finally:
        sys.unraisablehook, sys.excepthook = before
    if hidden:
        raise hidden[0]


def _scratch():
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("recording"), "r+b")
    return tempfile.TemporaryFile()


def error_text(error: Exception) -> str:
    """The operating system's message, taken out of a long HDF5 message."""
    if isinstance(error, MemoryError):
        return out_of_memory(error)
    if isinstance(error, OSError) and error.strerror and "error message" not in str(error):
        return error.strerror
    found = re.search(r"error message = '([^']*)'", str(error))
    return found.group(1) if found else (str(error).strip("'\"").splitlines() or [type(error).__name__])[0]
