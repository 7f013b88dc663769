"""Garbage collection paused while a command imports its modules, and the modules left out of it afterwards."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[Callable[[], None]]:
    """Pause the garbage collector until the yielded callable is called; objects made before that are then frozen."""
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
