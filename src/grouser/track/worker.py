"""A thread that runs a part of the tracks beside the caller's: both in compiled code, without the interpreter's lock.

Waking a thread that sleeps takes as long as a step of a track, and so does a fight over the interpreter's lock. So the
worker stays in compiled code for many steps and polls a counter in memory between them; it sleeps if no request comes.
Whoever comes first does the work: a caller who has finished his own share does the worker's if it has not begun.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

from grouser import device
from grouser.device import array, struct
from grouser.launches import Launches, Loop
from grouser.track.types import CACHE_LINE

MODULE = device.module("grouser.track.standby")
POLLS = 20_000  # looks at the requests before the worker gives up: half a millisecond, some steps of an engine
ROUNDS = 1000  # requests that are served before the worker comes back to the interpreter


@struct
class Requests:
    """Numbers of requests, each in a cache line of its own; the CPU's two threads read and write them atomically."""

    made: array[int]  # (CACHE_LINE,) number of the last request; written by the caller
    taken: array[int]  # number of the last request that somebody began
    finished: array[int]  # number of the last request that is done


# Written by two threads, so no compiler may keep these in a register or change their order: acquire and release.


@wp.func_native("return __atomic_load_n(number.data, __ATOMIC_ACQUIRE);")
def read(number: array[int]) -> int: ...


@wp.func_native("__atomic_store_n(number.data, value, __ATOMIC_RELEASE);")
def write(number: array[int], value: int): ...


@wp.func_native("""
    return __atomic_compare_exchange_n(number.data, &old, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
""")
def exchange(number: array[int], old: int, value: int) -> int: ...


@wp.func_native("""
    #if defined(__x86_64__)
        __builtin_ia32_pause();
    #endif
""")
def pause(): ...


@wp.func
def take(requests: Requests):
    """1 where there is a request that nobody has taken, and it is ours now; else 0."""
    request = read(requests.made)
    if request == read(requests.taken):
        return 0
    return exchange(requests.taken, request - 1, request)


@wp.kernel(module=MODULE)
def make_request(requests: Requests):
    """The caller asks for a share of the work."""
    write(requests.made, read(requests.made) + 1)


@wp.kernel(module=MODULE)
def take_request(requests: Requests, enabled_out: array[int]):
    """The caller takes his own request back where the worker has not begun."""
    enabled_out[0] = take(requests)


@wp.kernel(module=MODULE)
def poll_requests(requests: Requests, enabled_out: array[int], idle_out: array[int]):
    """The worker waits for a request; idle where none came for a while."""
    polls = int(0)
    mine = take(requests)
    while mine == 0 and polls < POLLS:
        pause()
        mine = take(requests)
        polls += 1
    enabled_out[0] = mine
    idle_out[0] = 1 - mine


@wp.kernel(module=MODULE)
def finish_request(requests: Requests, enabled: array[int]):
    """Say that the work is done, where it was done here."""
    if enabled[0] == 1:
        write(requests.finished, read(requests.made))


@wp.kernel(module=MODULE)
def wait_until_finished(requests: Requests):
    while read(requests.finished) != read(requests.made):
        pause()


def always_enabled(device: Any = "cpu") -> wp.array:
    """A flag for launches that are always done."""
    return wp.array(np.ones(1, np.int32), dtype=wp.int32, device=device)


Work = Callable[[Any, wp.array], None]  # launches with the function it is given; they do nothing where the flag is 0


def _counter() -> wp.array:
    """One number in a cache line of its own."""
    return wp.zeros(CACHE_LINE, dtype=wp.int32, device="cpu")


class Worker:
    """One thread, kept between steps."""

    def __init__(self) -> None:
        self._thread = _Thread()
        threading.Thread(target=self._thread.serve, daemon=True, name="track").start()
        weakref.finalize(self, self._thread.close)

    def call(self, launch: Any, work: Work) -> None:
        """Record a request to do `work`. The counters are new: who still polls old ones holds old arrays."""
        requests: Any = Requests()
        enabled, idle = _counter(), _counter()
        requests.made, requests.taken, requests.finished = _counter(), _counter(), _counter()

        def record(launch) -> None:
            launch(poll_requests, 1, [requests, enabled, idle])
            work(launch, enabled)
            launch(finish_request, 1, [requests, enabled])

        rounds = Launches(record)
        self._thread.work = _Work(rounds, Loop(rounds.calls, [], idle), requests.taken.numpy())
        self._requests, self._work = requests, work
        launch(make_request, 1, [requests])

    def wait(self, launch: Any) -> None:
        """Record that the work is done here if the worker has not begun, and else the wait until it is done."""
        enabled = wp.zeros(1, dtype=wp.int32, device="cpu")
        launch(take_request, 1, [self._requests, enabled])
        self._work(launch, enabled)
        launch(finish_request, 1, [self._requests, enabled])
        launch(wait_until_finished, 1, [self._requests])

    def wake(self) -> None:
        """Before steps: a worker that sleeps sees no requests."""
        self._thread.wake()


def leave_core_of(thread: int, cores: set[int]) -> None:
    """Leave the core on which another thread runs, where that can be known: two that never sleep may else share it."""
    try:
        said = Path(f"/proc/self/task/{thread}/stat").read_text(encoding="ascii")
        core = int(said.rpartition(")")[2].split()[36])
        others = cores - {core} or set(range(os.cpu_count() or 1)) - {core}
        os.sched_setaffinity(0, others)
    except (OSError, AttributeError, IndexError, ValueError):
        return


@dataclass(frozen=True)
class _Work:
    """What the thread repeats; the launches hold their arrays."""

    launches: Launches
    loop: Loop
    taken: np.ndarray  # (CACHE_LINE,) view of Requests.taken


class _Thread:
    """What the thread knows; it must not hold the Worker, or that would never be finalised."""

    def __init__(self) -> None:
        self._owner = threading.get_native_id()
        self._cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
        self._awake, self._asleep, self._closed = threading.Event(), False, False
        self.work: _Work | None = None

    def wake(self) -> None:
        if self._asleep:
            self._awake.set()

    def close(self) -> None:
        self._closed = True
        self._awake.set()

    def serve(self) -> None:
        """Poll and serve for many rounds; sleep where no request came."""
        while not self._closed:
            leave_core_of(self._owner, self._cores)
            work = self.work
            before = work.taken[0] if work else 0
            if work:
                work.loop.run(ROUNDS)
            if work is self.work and (work is None or work.taken[0] == before):
                self._awake.clear()
                self._asleep = True
                if not self._closed:
                    self._awake.wait()
                self._asleep = False
