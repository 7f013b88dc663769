"""A worker thread that runs some of the tracks in parallel, in compiled code without Python's interpreter lock.

Waking a sleeping thread takes as long as a step of a track, and so does waiting for the interpreter lock. So the worker
stays in compiled code for many steps and polls a counter in memory between them; it sleeps if no request comes. The
work is done by whoever is free first: a caller who has finished its own share does the worker's if that has not begun.
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
POLLS = 20_000  # polls before the worker gives up: half a millisecond, some steps of an engine
ROUNDS = 1000  # requests that the worker serves before it returns to the interpreter


@struct
class Requests:
    """Counters of requests, each in its own cache line; both threads read and write them atomically."""

    made: array[int]  # (CACHE_LINE,) number of the last request; written by the caller
    taken: array[int]  # number of the last request that a thread has begun
    finished: array[int]  # number of the last request that is done


# Two threads access these, so the compiler must not keep them in registers or reorder them: acquire and release.


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
    """Take a request that no thread has begun. Returns 1 if there was one, else 0."""
    request = read(requests.made)
    if request == read(requests.taken):
        return 0
    return exchange(requests.taken, request - 1, request)


@wp.kernel(module=MODULE)
def make_request(requests: Requests):
    """Make a request to the worker. Runs in the caller."""
    write(requests.made, read(requests.made) + 1)


@wp.kernel(module=MODULE)
def take_request(requests: Requests, enabled_out: array[int]):
    """Take the request back if the worker has not begun. Runs in the caller."""
    enabled_out[0] = take(requests)


@wp.kernel(module=MODULE)
def poll_requests(requests: Requests, enabled_out: array[int], idle_out: array[int]):
    """Wait for a request; idle if none came for a while. Runs in the worker."""
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
    """Mark the request as finished, if this thread did the work."""
    if enabled[0] == 1:
        write(requests.finished, read(requests.made))


@wp.kernel(module=MODULE)
def wait_until_finished(requests: Requests):
    while read(requests.finished) != read(requests.made):
        pause()


def always_enabled(device: Any = "cpu") -> wp.array:
    """An `enabled` flag that is always 1."""
    return wp.array(np.ones(1, np.int32), dtype=wp.int32, device=device)


Work = Callable[[Any, wp.array], None]  # (launch, enabled): records launches that do nothing if `enabled` is 0


def _counter() -> wp.array:
    """A counter in its own cache line."""
    return wp.zeros(CACHE_LINE, dtype=wp.int32, device="cpu")


class Worker:
    """One worker thread, kept alive between steps."""

    def __init__(self) -> None:
        self._thread = _Thread()
        threading.Thread(target=self._thread.serve, daemon=True, name="track").start()
        weakref.finalize(self, self._thread.close)

    def call(self, launch: Any, work: Work) -> None:
        """Record a request to do `work`. Counters are new: a thread that still polls old ones has the old arrays."""
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
        """Record launches that do the work here if the worker has not begun, or else wait until it is done."""
        enabled = wp.zeros(1, dtype=wp.int32, device="cpu")
        launch(take_request, 1, [self._requests, enabled])
        self._work(launch, enabled)
        launch(finish_request, 1, [self._requests, enabled])
        launch(wait_until_finished, 1, [self._requests])

    def wake(self) -> None:
        """Wake the worker. Call this before steps, because a sleeping worker sees no requests."""
        self._thread.wake()


def leave_core_of(thread: int, cores: set[int]) -> None:
    """Move this thread off the core of another thread, if known. Two threads that never sleep may else share a core."""
    try:
        said = Path(f"/proc/self/task/{thread}/stat").read_text(encoding="ascii")
        core = int(said.rpartition(")")[2].split()[36])
        others = cores - {core} or set(range(os.cpu_count() or 1)) - {core}
        os.sched_setaffinity(0, others)
    except (OSError, AttributeError, IndexError, ValueError):
        return


@dataclass(frozen=True)
class _Work:
    """Launches that the thread repeats. They hold their arrays."""

    launches: Launches
    loop: Loop
    taken: np.ndarray  # (CACHE_LINE,) view of Requests.taken


class _Thread:
    """State of the thread. It must not refer to the Worker, or the Worker would never be finalised."""

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
        """Poll and serve requests for many rounds; sleep if none came."""
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
