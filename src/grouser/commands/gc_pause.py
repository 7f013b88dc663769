"""Pauses garbage collection while a command imports its modules, and excludes those modules from it afterwards."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[Callable[[], None]]:
    """Pause the garbage collector until the yielded callable is called. Objects created before are then frozen."""
    before = gc.isenabled()

    def resume() -> None:
        gc.freeze()
        if before:
            gc.enable()

    gc.disable()
    try:
        yield resume
    finally:
        gc.unfreeze()
        if before:
            gc.enable()
