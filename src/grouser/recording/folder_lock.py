"""Lock on a folder, for one writer at a time: a locked file in the folder that names the process.

The kernel releases a lock when its process ends in any way, so a file left behind by a killed process locks nothing.
"""

from __future__ import annotations

import errno
import json
import os
import shlex
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path

from grouser.errors import InputError
from grouser.recording.file_lock import is_locked_by_writer, try_lock

NAME = ".lock"
LONGEST_COMMAND = 120  # characters shown of a command line
NAMED_WITHIN = 5.0  # [s] a process has to write its name after locking; far more than it needs
LOOK_PERIOD = 0.01  # [s]


class FolderLock:
    """Locks a folder until it is released; a context manager."""

    def __init__(self, folder: Path):
        """Raises InputError if the folder is locked (the message names the holder) or cannot be written to."""
        self._path = folder / NAME
        while True:
            try:
                self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
            except OSError as error:
                raise InputError(f"{folder} cannot be written to: {error.strerror}") from None
            if not try_lock(self._descriptor):
                os.close(self._descriptor)
                raise InputError(holder_message(folder))
            if self._is_there():
                break
            os.close(self._descriptor)  # its owner has removed the file in the meantime: try again
        with suppress(OSError):  # disk full: the lock holds, without a name
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, json.dumps(_this_process()).encode(), 0)

    def _is_there(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._descriptor), self._path.stat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        if self._descriptor >= 0:
            with suppress(OSError):  # the folder may be gone
                self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> FolderLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _this_process() -> dict[str, str | int]:
    command = shlex.join([Path(sys.argv[0]).name or "python", *sys.argv[1:]])
    if len(command) > LONGEST_COMMAND:
        command = command[:LONGEST_COMMAND] + " …"
    return {"process": os.getpid(), "host": socket.gethostname(), "command": command}


def is_folder_locked(folder: Path) -> bool:
    """Whether a process has locked the folder. Does not take the lock."""
    try:
        return is_locked_by_writer(folder / NAME)
    except OSError:
        return False


def holder_message(folder: Path) -> str:
    """Message that a folder is in use, naming the process that locked it."""
    end = time.monotonic() + NAMED_WITHIN
    while is_folder_locked(folder):
        holder = _holder(folder / NAME)
        if holder:
            return f"{folder} is in use by {holder}: wait for it, or use another folder"
        if time.monotonic() > end:
            break
        time.sleep(LOOK_PERIOD)
    return f"{folder} is in use by another process: wait for it, or use another folder"


def _holder(path: Path) -> str:
    """Description of the process that locked the folder. Empty while the file still names a process that was killed."""
    try:
        there = json.loads(path.read_text(encoding="utf-8"))
        process, host, command = int(there["process"]), str(there["host"]), str(there["command"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    if host != socket.gethostname():
        return f"process {process} on {host} ({command})"
    return f"process {process} ({command})" if _is_running(process) else ""


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError as error:
        return error.errno == errno.EPERM
    return True
