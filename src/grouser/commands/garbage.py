"""When a command looks for garbage: not while it loads modules, which stay, nor among them afterwards."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[Callable[[], None]]:
    """No collection until the callable it gives is called; from then on, of what came later."""
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
