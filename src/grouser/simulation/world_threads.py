"""Parts of the worlds of a simulation on threads of their own.

Worlds do not know each other, so the bits do not depend on the number of threads. Steps are compiled loops, which run
without Python's lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from typing import TypeVar

Result = TypeVar("Result")


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parts_of(worlds: int, threads: int) -> list[range]:
    """Worlds divided into parts of equal size, as far as possible."""
    bounds = [worlds * k // threads for k in range(threads + 1)]
    return [range(first, last) for first, last in pairwise(bounds)]


class WorldThreads:
    """Runs one call for each part at the same time."""

    def __init__(self, parts: Sequence[range]):
        self.parts = list(parts)
        self._pool = ThreadPoolExecutor(max_workers=max(len(self.parts) - 1, 1), thread_name_prefix="worlds")

    def run(self, calls: Sequence[Callable[[], Result]]) -> list[Result]:
        """Run the calls, the first one on this thread. Returns their results when all have ended."""
        others = [self._pool.submit(call) for call in calls[1:]]
        try:
            first = [call() for call in calls[:1]]
        finally:
            wait(others)
        return [*first, *(other.result() for other in others)]
