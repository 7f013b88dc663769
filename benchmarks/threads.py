"""The rover of benchmarks/rover.py on one thread and on two, alone and beside two busy processes: what a step costs.

Three processes hold the same rover, the first and the last with GROUSER_THREADS=1. They step in turn, a block each, so
that a machine that slows down slows all; while one steps the others wait. The second is compared with the mean of the
blocks before and after it. All have the same bits (tests/contact/soil/test_body_groups.py).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from benchmarks.run import Row
from grouser.thread_count import VARIABLE

BAR = 200.0  # [us] a step on two threads: 40 times faster than real time
SLOWER = 1.02  # times as long as one thread beside busy processes, at most; more blocks would show less
BLOCK = 250  # steps: a twentieth of a second
ROUNDS, BUSY_ROUNDS = 60, 60
BUSY = 2  # processes
ROVER = """
import sys, time
from benchmarks.rover import WARM_UP, settings
from grouser.scenarios.exomars_drawbar import build
sim = build(settings())
sim.step(round(WARM_UP / sim.step_size))
print("ready", flush=True)
for line in sys.stdin:
    start = time.perf_counter()
    sim.step(int(line))
    print(1e6 * (time.perf_counter() - start) / int(line), flush=True)
"""


class Rover:
    """A rover in a process of its own."""

    def __init__(self, threads: int):
        self._process = subprocess.Popen(
            [sys.executable, "-c", ROVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | {VARIABLE: str(threads)},
        )  # fmt: skip
        assert self._answer() == "ready"

    def block(self) -> float:
        """[us] a step, over a block."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{BLOCK}\n")
        self._process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def close(self) -> None:
        self._process.communicate()


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Processes that compute without end."""
    made = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in made:
            process.kill()
            process.wait()


def in_turn(rovers: list[Rover], rounds: int) -> np.ndarray:
    """[us] a step, (round, rover)."""
    for rover in rovers:
        rover.block()  # the one before has used the caches
    return np.array([[rover.block() for rover in rovers] for _ in range(rounds)])


def measure() -> list[Row]:
    rovers = [Rover(1), Rover(2), Rover(1)]
    try:
        alone = in_turn(rovers, ROUNDS)
        with busy_processes(BUSY):
            beside = in_turn(rovers, BUSY_ROUNDS)
    finally:
        for rover in rovers:
            rover.close()
    one, two, _ = np.median(alone, axis=0)
    first, shared, last = beside.mean(axis=0)
    return [
        Row("threads", "rover, a step on one thread", one, "us"),
        Row("threads", "rover, a step on two threads", two, "us", BAR),
        Row("threads", "two threads over one", two / one, "1", None, False),
        Row("threads", f"the same beside {BUSY} busy processes", 2 * shared / (first + last), "1", SLOWER, False),
        Row("threads", "last over first, of one thread", last / first, "1", None, False),
    ]
