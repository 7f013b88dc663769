"""On how many threads the bodies of one world are computed."""

from __future__ import annotations

import multiprocessing
import os

from grouser.errors import InputError

VARIABLE = "GROUSER_THREADS"  # of the environment: number of threads; 1: none beside the caller
MOST = 2  # threads by default


def threads_wanted() -> int:
    """Number of threads for the bodies of one world.

    That of GROUSER_THREADS; by default MOST, one on a single core and in worker processes, whose others have the cores.
    """
    given = os.environ.get(VARIABLE, "")
    if given:
        if not (given.isascii() and given.isdigit() and int(given) >= 1):
            raise InputError(f"{VARIABLE}: {given!r} is not allowed; it must be a whole number, 1 or more")
        return int(given)
    if multiprocessing.parent_process() is not None:
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MOST, cores)
