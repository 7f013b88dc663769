"""Makes the n-th write, flush, rename, creation or fork of a process fail, whoever makes it: Python, HDF5, ffmpeg.

The kernel asks a supervisor before each such call (seccomp, user notification, Linux 5.9), which lets it pass or
answers with an error. Nothing has to be installed or compiled. Processes that the process starts are asked about too.
"""

from __future__ import annotations

import array
import ctypes
import os
import platform
import select
import signal
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fcntl import ioctl
from pathlib import Path

AVAILABLE = platform.system() == "Linux" and platform.machine() == "x86_64"  # numbers of system calls below
# System calls by what they do. The argument that tells which file is named: "fd", a path, or none.
WRITE = {1: "fd", 18: "fd", 20: "fd", 296: "fd", 328: "fd", 285: "fd", 77: "fd"}  # write, pwrite, fallocate, ftruncate
FLUSH = {74: "fd", 75: "fd"}  # fsync, fdatasync
RENAME = {82: "path", 264: "at", 316: "at"}
CREATE = {257: "at", 83: "path", 258: "at"}  # openat that creates, mkdir, mkdirat
FORK = {56: "", 57: "", 58: "", 435: ""}  # clone, fork, vfork, clone3; threads do not count
KINDS = {"write": WRITE, "flush": FLUSH, "rename": RENAME, "create": CREATE, "fork": FORK}
OPENAT, CLONE, CLONE3 = 257, 56, 435
CLONE_THREAD = 0x10000

ARCHITECTURE = 0xC000003E  # x86-64
SECCOMP, SET_FILTER, NEW_LISTENER, NO_NEW_PRIVILEGES = 317, 1, 8, 38
ALLOW, ASK = 0x7FFF0000, 0x7FC00000
RECEIVE, SEND = 0xC0502100, 0xC0182101  # ioctl of the listener
PASS = 1
QUESTION = struct.Struct("=QIIiIQ6Q")  # id, process, flags, call, architecture, instruction, arguments
ANSWER = struct.Struct("=Qqii")  # id, value, error, flags


@dataclass
class Fault:
    """Which call fails, and how."""

    folder: Path  # only calls about files in it count, and forks
    kinds: tuple[str, ...]
    number: int  # of the call that fails, from 1
    error: int  # errno
    persists: bool = False  # all later calls fail too, as on a full disk
    seen: int = field(default=0, init=False)
    failed: list[str] = field(default_factory=list, init=False)

    def decide(self, kind: str, path: str) -> int:
        """The error with which a call fails, or 0."""
        if kind not in self.kinds:
            return 0
        self.seen += 1
        if self.seen == self.number or (self.persists and self.seen > self.number):
            self.failed.append(f"{kind} {path}".strip())
            return self.error
        return 0


@dataclass
class Ended:
    status: int  # negative: the signal that killed it
    seen: int
    failed: list[str]
    hung: bool = False


def run(body: Callable[[], int], fault: Fault, limit: float) -> Ended:
    """Fork, run `body` there with the fault, and return how it ended. It is killed after `limit` [s]."""
    ours, theirs = socket.socketpair()
    process = os.fork()
    if process == 0:
        ours.close()
        os.setpgid(0, 0)
        _send_listener(theirs)
        raise SystemExit(body())
    theirs.close()
    listener = _receive_listener(ours)
    ours.close()
    try:
        return _supervise(process, listener, fault, time.monotonic() + limit)
    finally:
        os.close(listener)


def _supervise(process: int, listener: int, fault: Fault, end: float) -> Ended:
    watched = select.poll()
    watched.register(listener, select.POLLIN)
    ended = os.pidfd_open(process)
    watched.register(ended, select.POLLIN)
    over = hung = False
    while not over:
        left = end - time.monotonic()
        if left < 0:
            hung = True
            os.killpg(process, signal.SIGKILL)
            break
        for source, event in watched.poll(1000 * left):
            if source == listener and event & select.POLLIN:
                _answer(listener, fault)
            elif source == ended:
                over = True
            else:
                watched.unregister(listener)
    os.close(ended)
    _, raw = os.waitpid(process, 0)
    return Ended(os.waitstatus_to_exitcode(raw), fault.seen, fault.failed, hung)


def _answer(listener: int, fault: Fault) -> None:
    buffer = bytearray(QUESTION.size)
    try:
        ioctl(listener, RECEIVE, buffer)
    except OSError:  # the process has been killed
        return
    number, process, _, call, _, _, *arguments = QUESTION.unpack(buffer)
    error = 0
    try:
        kind, path = _describe(process, call, arguments, fault.folder)
        error = fault.decide(kind, path) if kind else 0
    except OSError:
        pass  # it has ended in the meantime
    try:
        ioctl(listener, SEND, ANSWER.pack(number, 0, -error, 0 if error else PASS))
    except OSError:
        return


def _describe(process: int, call: int, arguments: list[int], folder: Path) -> tuple[str, str]:
    """What a call does and to which file; empty if it is not about the folder."""
    kind = next(name for name, calls in KINDS.items() if call in calls)
    how = KINDS[kind][call]
    if kind == "fork":
        flags = arguments[0] if call != CLONE3 else struct.unpack("Q", _memory(process, arguments[0], 8))[0]
        thread = call in (CLONE, CLONE3) and flags & CLONE_THREAD
        return ("", "") if thread else (kind, "")
    if call == OPENAT and not arguments[2] & os.O_CREAT:
        return "", ""
    if how == "fd":
        path = str(Path(f"/proc/{process}/fd/{arguments[0]}").readlink())
    else:
        name = _memory(process, arguments[1] if how == "at" else arguments[0], 4096).split(b"\0")[0].decode()
        path = name if name.startswith("/") else str(Path(f"/proc/{process}/cwd").readlink() / name)
    inside = Path(path).is_relative_to(folder)
    return (kind, str(Path(path).relative_to(folder))) if inside else ("", "")


def _memory(process: int, address: int, most: int) -> bytes:
    """Bytes of a process, up to the end of their page."""
    with Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory:
        memory.seek(address)
        first = memory.read(min(most, 4096 - address % 4096))
        return first if b"\0" in first or len(first) == most else first + memory.read(most - len(first))


# ---- the filter ---------------------------------------------------------------------------------------


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _filter() -> bytes:
    """Asks about the calls of KINDS on this machine and lets all others pass."""
    calls = sorted({call for group in KINDS.values() for call in group})
    load, equal, answer = 0x20, 0x15, 0x06
    lines = [(load, 0, 0, 4), (equal, 0, len(calls) + 1, ARCHITECTURE), (load, 0, 0, 0)]
    lines += [(equal, len(calls) - k, 0, call) for k, call in enumerate(calls)]
    lines += [(answer, 0, 0, ALLOW), (answer, 0, 0, ASK)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def _send_listener(to: socket.socket) -> None:
    """Install the filter in this process and hand the listener to the supervisor."""
    libc = ctypes.CDLL(None, use_errno=True)
    program = ctypes.create_string_buffer(_filter())
    given = _Program(len(program.raw) // 8, ctypes.cast(program, ctypes.c_void_p))
    libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    listener = libc.syscall(SECCOMP, SET_FILTER, NEW_LISTENER, ctypes.byref(given))
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    to.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener]))])
    os.close(listener)
    to.close()


def _receive_listener(source: socket.socket) -> int:
    _, parts, _, _ = source.recvmsg(1, socket.CMSG_SPACE(4))
    found = array.array("i")
    found.frombytes(parts[0][2])
    return found[0]
