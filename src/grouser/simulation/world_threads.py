"""Parts of the worlds of a simulation on threads of their own.

Worlds do not know each other, so the bits do not depend on the number of threads. Steps are compiled loops, which run
without Python's lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from queue import Empty, SimpleQueue
from typing import TypeVar

PARTS = 4  # for each thread: worlds differ in cost, and a thread that is done takes the next part

Result = TypeVar("Result")


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parts_of(worlds: int, parts: int) -> list[range]:
    """Worlds divided into parts of equal size, as far as possible; at most as many parts as worlds."""
    parts = min(parts, worlds)
    bounds = [worlds * k // parts for k in range(parts + 1)]
    return [range(first, last) for first, last in pairwise(bounds)]


class WorldThreads:
    """Runs one call for each part, on several threads at the same time."""

    def __init__(self, worlds: int, threads: int):
        self.parts = parts_of(worlds, PARTS * threads)
        self._others = min(threads, len(self.parts)) - 1
        self._pool = ThreadPoolExecutor(max_workers=max(self._others, 1), thread_name_prefix="worlds")

    def run(self, calls: Sequence[Callable[[], Result]]) -> list[Result]:
        """Run the calls; this thread works too. Returns their results when all have ended."""
        waiting: SimpleQueue[int] = SimpleQueue()
        for number in range(len(calls)):
            waiting.put(number)
        results: dict[int, Result] = {}

        def work() -> None:
            while True:
                try:
                    number = waiting.get_nowait()
                except Empty:
                    return
                results[number] = calls[number]()

        others = [self._pool.submit(work) for _ in range(min(self._others, len(calls) - 1))]
        try:
            work()
        finally:
            wait(others)
        for other in others:
            other.result()
        return [results[number] for number in range(len(calls))]
