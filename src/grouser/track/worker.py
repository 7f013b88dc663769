"""A thread that runs a part of the tracks beside the caller's: both in compiled code, without the interpreter's lock.

To wake a thread that sleeps takes as long as a step of a track, and so does a fight over the interpreter's lock. So the
worker stays in compiled code for many steps and watches a number in memory between them; it sleeps where nothing comes.
Whoever comes first does the work: a caller who is done with his own finds the rest begun, or does it himself.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import warp as wp

from grouser.launches import Launches, Loop
from grouser.track.types import CACHE_LINE

CALLED, TAKEN, SERVED = 0, CACHE_LINE, 2 * CACHE_LINE  # places in a post: numbers of the last call, each in a line
PATIENCE = 20_000  # looks at the post before a watch is given up: half a millisecond, some steps of an engine
ROUNDS = 1000  # calls that are served before the worker comes back to the interpreter


@cache
def standby() -> SimpleNamespace:
    """Kernels for the CPU that call, take a call, and say that it is served."""
    module = wp.get_module("grouser.track.standby")
    module.options["enable_backward"] = False
    called, taken, served, patience = (wp.constant(n) for n in (CALLED, TAKEN, SERVED, PATIENCE))

    @wp.func_native("return __atomic_load_n(post.data + place, __ATOMIC_ACQUIRE);")
    def read(post: wp.array(dtype=wp.int32), place: int) -> int: ...

    @wp.func_native("__atomic_store_n(post.data + place, value, __ATOMIC_RELEASE);")
    def write(post: wp.array(dtype=wp.int32), place: int, value: int): ...

    @wp.func_native("""
    return __atomic_compare_exchange_n(post.data + place, &old, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    """)
    def exchanged(post: wp.array(dtype=wp.int32), place: int, old: int, value: int) -> int: ...

    @wp.func_native("""
    #if defined(__x86_64__)
        __builtin_ia32_pause();
    #endif
    """)
    def pause(): ...

    @wp.func
    def took(post: wp.array(dtype=wp.int32)):
        """1 where there is a call that nobody has taken, and it is ours now."""
        call = read(post, called)
        if call == read(post, taken):
            return 0
        return exchanged(post, taken, call - 1, call)

    @wp.kernel(module=module)
    def make_call(post: wp.array(dtype=wp.int32)):
        write(post, called, read(post, called) + 1)

    @wp.kernel(module=module)
    def take_call(post: wp.array(dtype=wp.int32), gate: wp.array(dtype=wp.int32)):
        gate[0] = took(post)

    @wp.kernel(module=module)
    def watch_for_call(post: wp.array(dtype=wp.int32), gate: wp.array(dtype=wp.int32), tired: wp.array(dtype=wp.int32)):
        looks = int(0)
        mine = took(post)
        while mine == 0 and looks < patience:
            pause()
            mine = took(post)
            looks += 1
        gate[0] = mine
        tired[0] = 1 - mine

    @wp.kernel(module=module)
    def say_served(post: wp.array(dtype=wp.int32), gate: wp.array(dtype=wp.int32)):
        if gate[0] == 1:
            write(post, served, read(post, called))

    @wp.kernel(module=module)
    def watch_served(post: wp.array(dtype=wp.int32)):
        while read(post, served) != read(post, called):
            pause()

    return SimpleNamespace(
        make_call=make_call, take_call=take_call, watch_for_call=watch_for_call, say_served=say_served,
        watch_served=watch_served,
    )  # fmt: skip


def open_gate(device: Any = "cpu") -> wp.array:
    """What is launched behind this is always done."""
    return wp.array(np.ones(1, np.int32), dtype=wp.int32, device=device)


Work = Callable[[Any, wp.array], None]  # launches with the function it is given, behind a gate


class Worker:
    """One thread, kept between steps. Launches behind a gate do nothing where it is 0."""

    def __init__(self) -> None:
        self._desk = _Desk()
        threading.Thread(target=self._desk.serve, daemon=True, name="track").start()
        weakref.finalize(self, self._desk.close)

    def call(self, launch: Any, work: Work) -> None:
        """Record a call to do `work`. The post is a new one: who still watches an old one holds arrays of old."""
        post = wp.zeros(3 * CACHE_LINE, dtype=wp.int32, device="cpu")
        gate, tired = (wp.zeros(CACHE_LINE, dtype=wp.int32, device="cpu") for _ in range(2))

        def record(launch) -> None:
            launch(standby().watch_for_call, 1, [post, gate, tired])
            work(launch, gate)
            launch(standby().say_served, 1, [post, gate])

        rounds = Launches(record)
        self._desk.work = _Work(rounds, Loop(rounds.calls, [], tired), post.numpy())
        self._post, self._work = post, work
        launch(standby().make_call, 1, [post])

    def wait(self, launch: Any) -> None:
        """Record that the work is begun here if it was not there, and the wait until it is done."""
        gate = wp.zeros(1, dtype=wp.int32, device="cpu")
        launch(standby().take_call, 1, [self._post, gate])
        self._work(launch, gate)
        launch(standby().say_served, 1, [self._post, gate])
        launch(standby().watch_served, 1, [self._post])

    def wake(self) -> None:
        """Before steps: a worker who sleeps sees no calls."""
        self._desk.ring()


def step_aside(thread: int, cores: set[int]) -> None:
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
    post: np.ndarray  # a view


class _Desk:
    """What the thread knows."""

    def __init__(self) -> None:
        self._owner = threading.get_native_id()
        self._cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
        self._bell, self._asleep, self._closed = threading.Event(), False, False
        self.work: _Work | None = None

    def ring(self) -> None:
        if self._asleep:
            self._bell.set()

    def close(self) -> None:
        self._closed = True
        self._bell.set()

    def serve(self) -> None:
        """Watch and serve for many rounds; sleep where nothing came."""
        while not self._closed:
            step_aside(self._owner, self._cores)
            work = self.work
            before = work.post[TAKEN] if work else 0
            if work:
                work.loop.run(ROUNDS)
            if work is self.work and (work is None or work.post[TAKEN] == before):
                self._bell.clear()
                self._asleep = True
                if not self._closed:
                    self._bell.wait()
                self._asleep = False
