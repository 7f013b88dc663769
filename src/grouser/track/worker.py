"""A thread that runs a part of the tracks beside the caller's: both in compiled code, without the interpreter's lock.

To wake a thread that sleeps takes as long as a step of a track, and so does a fight over the interpreter's lock. So the
worker stays in compiled code for many steps, watches a number in memory between them, and sleeps where nothing comes.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import warp as wp

from grouser.track.types import CACHE_LINE, CALLED, SEEN, SERVED

PATIENCE = 20_000  # looks at the post before the watch is given up: some steps of an engine
ROUNDS = 64  # calls that are served before the worker comes back to the interpreter
TIRED = SERVED + 2  # place in the post: 1 where nothing came for that long


@cache
def standby() -> SimpleNamespace:
    """Kernels for the CPU that watch a post and say that it is served."""
    module = wp.get_module("grouser.track.standby")
    module.options["enable_backward"] = False
    watch = """
    for (int k = 0; k < most; ++k) {
        int a = __atomic_load_n(post.data + called, __ATOMIC_ACQUIRE);
        int b = __atomic_load_n(post.data + served, __ATOMIC_ACQUIRE);
        if ((a == b) == (equal == 1)) return a;
    #if defined(__x86_64__)
        __builtin_ia32_pause();
    #endif
    }
    return post.data[served];
    """

    @wp.func_native(watch)
    def watched(post: wp.array(dtype=wp.int32), called: int, served: int, equal: int, most: int) -> int: ...

    @wp.func_native("__atomic_store_n(post.data + served, post.data[seen], __ATOMIC_RELEASE);")
    def mark(post: wp.array(dtype=wp.int32), seen: int, served: int): ...

    called, seen, served, tired = wp.constant(CALLED), wp.constant(SEEN), wp.constant(SERVED), wp.constant(TIRED)
    patience = wp.constant(PATIENCE)

    @wp.kernel(module=module)
    def watch_call(post: wp.array(dtype=wp.int32)):
        """The call that comes is seen: what follows does it, and says no more than that to be served."""
        if post[tired] == 0:
            call = watched(post, called, served, 0, patience)
            if call == post[served]:
                post[tired] = 1
            post[seen] = call

    @wp.kernel(module=module)
    def say_served(post: wp.array(dtype=wp.int32)):
        mark(post, seen, served)

    @wp.kernel(module=module)
    def watch_served(post: wp.array(dtype=wp.int32)):
        watched(post, called, served, 1, patience)

    return SimpleNamespace(watch_call=watch_call, say_served=say_served, watch_served=watch_served, module=module)


class Worker:
    """One thread, kept between steps. What it launches must do nothing where all that its post has seen is served."""

    def __init__(self) -> None:
        self.post = wp.zeros(2 * CACHE_LINE, dtype=wp.int32, device="cpu")  # see types.py
        wp.load_module(standby().module, device="cpu")
        self._desk = _Desk(self.post)
        self._waiting: Any = None
        threading.Thread(target=self._desk.serve, daemon=True, name="track").start()
        weakref.finalize(self, self._desk.close)

    def prepare(self, launch: Callable[[], None]) -> None:
        """Take over a launch, anew where its arrays were replaced."""
        kernels, post = standby(), self.post

        def on_post(kernel) -> None:
            wp.launch(kernel, dim=1, inputs=[post], device="cpu")

        with wp.ScopedCapture(device="cpu") as served:
            for _ in range(ROUNDS):
                on_post(kernels.watch_call)
                launch()
                on_post(kernels.say_served)
        with wp.ScopedCapture(device="cpu") as waited:
            on_post(kernels.watch_served)
        self._desk.graph, self._waiting = served.graph, waited.graph

    def start(self) -> None:
        self._desk.call()

    def wait(self) -> None:
        """Until it is done; what went wrong there is raised here."""
        while not self._desk.idle:
            wp.capture_launch(self._waiting)
            if not self._desk.idle:
                time.sleep(0)  # more threads than cores
        if self._desk.error is not None:
            error, self._desk.error = self._desk.error, None
            raise error


class _Desk:
    """What worker and caller share."""

    def __init__(self, post: wp.array) -> None:
        self._post = post.numpy()  # a view
        self._bell, self._asleep, self._closed = threading.Event(), False, False
        self.graph: Any = None
        self.error: Exception | None = None

    @property
    def idle(self) -> bool:
        return self._post[CALLED] == self._post[SERVED]

    def call(self) -> None:
        self._post[CALLED] += 1
        if self._asleep:
            self._bell.set()

    def close(self) -> None:
        self._closed = True
        self._bell.set()

    def serve(self) -> None:
        """Watch and serve; sleep where nothing came. It says that it sleeps before it looks a last time."""
        while not self._closed:
            before = self._post[SERVED]
            if self.graph is not None:
                self._replay()
            if self._post[SERVED] == before:
                self._bell.clear()
                self._asleep = True
                if self.idle and not self._closed:
                    self._bell.wait()
                self._asleep = False

    def _replay(self) -> None:
        self._post[TIRED] = 0
        try:
            wp.capture_launch(self.graph)
        except Exception as error:
            self.error = error
            self._post[SEEN] = self._post[SERVED] = self._post[CALLED]
