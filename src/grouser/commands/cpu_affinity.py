"""CPU affinity: one core for the thread that steps the dynamics, the other cores for all other threads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from grouser.errors import InputError

TASKS = Path("/proc/self/task")


@contextmanager
def pinned_to(core: int | None) -> Iterator[None]:
    """Pin the calling thread to `core` and all other threads to the remaining cores. None pins nothing."""
    if core is None:
        yield
        return
    if not hasattr(os, "sched_setaffinity"):
        raise InputError(f"--pin-core {core}: this system does not let a process choose its cores; omit the option")
    allowed = os.sched_getaffinity(0)
    if core not in allowed:
        raise InputError(f"--pin-core {core}: allowed are {', '.join(map(str, sorted(allowed)))}")
    rest = allowed - {core}
    threads = [int(task.name) for task in TASKS.iterdir()] if rest and TASKS.is_dir() else []
    try:
        for thread in threads:
            with suppress(OSError):  # the thread has ended in the meantime
                os.sched_setaffinity(thread, rest)
        os.sched_setaffinity(0, {core})
        yield
    finally:
        for thread in (0, *threads):
            with suppress(OSError):
                os.sched_setaffinity(thread, allowed)
