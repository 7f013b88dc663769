"""One writer in a folder at a time: a file in it that is locked, and that says who holds it.

The kernel ends a lock with its process, however that ends; the file of a killed one counts for nothing.
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
from grouser.recording.claim import is_claimed, locked

NAME = ".lock"
LONGEST_COMMAND = 120  # letters of a command that are told
NAMED_WITHIN = 5.0  # [s] in which a holder writes its name behind its lock, far more than it takes
LOOK_PERIOD = 0.01  # [s]


class Hold:
    """Keeps others out of a folder until it is released; a context manager."""

    def __init__(self, folder: Path):
        """An InputError that names the holder where there is one, or says why the folder cannot be held."""
        self._path = folder / NAME
        while True:
            try:
                self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
            except OSError as error:
                raise InputError(f"{folder} cannot be written to: {error.strerror}") from None
            if not locked(self._descriptor):
                os.close(self._descriptor)
                raise InputError(in_use(folder))
            if self._is_there():
                break
            os.close(self._descriptor)  # its holder has taken the file away meanwhile
        with suppress(OSError):  # a full disk: the lock holds without a name
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, json.dumps(_myself()).encode(), 0)

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

    def __enter__(self) -> Hold:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _myself() -> dict[str, str | int]:
    command = shlex.join([Path(sys.argv[0]).name or "python", *sys.argv[1:]])
    if len(command) > LONGEST_COMMAND:
        command = command[:LONGEST_COMMAND] + " …"
    return {"process": os.getpid(), "host": socket.gethostname(), "command": command}


def is_held(folder: Path) -> bool:
    """Whether somebody writes there now; asked without taking the lock for a moment."""
    try:
        return is_claimed(folder / NAME)
    except OSError:
        return False


def in_use(folder: Path) -> str:
    """Who holds the folder, in words."""
    end = time.monotonic() + NAMED_WITHIN
    while is_held(folder):
        holder = _holder(folder / NAME)
        if holder:
            return f"{folder} is in use by {holder}: wait for it, or take another folder"
        if time.monotonic() > end:
            break
        time.sleep(LOOK_PERIOD)
    return f"{folder} is in use by another process: wait for it, or take another folder"


def _holder(path: Path) -> str:
    """Nothing where it has not written its name yet, over that of one that was killed."""
    try:
        there = json.loads(path.read_text(encoding="utf-8"))
        process, host, command = int(there["process"]), str(there["host"]), str(there["command"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    if host != socket.gethostname():
        return f"process {process} on {host} ({command})"
    return f"process {process} ({command})" if _lives(process) else ""


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError as error:
        return error.errno == errno.EPERM
    return True
