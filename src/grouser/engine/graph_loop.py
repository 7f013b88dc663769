"""Whole steps on a device: on CUDA one graph a step, elsewhere the same launches one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import warp as wp


class GraphLoop:
    """Whole steps. A run ends in the middle of its last step, as in `launches.Loop`, and `finish` completes it.

    On CUDA there are three graphs: the first half of a step; the second half with the first half of the next step, so
    that each step costs one launch; the second half.
    """

    def __init__(self, before: Callable[[], None], after: Callable[[], None], device: Any):
        def between() -> None:
            after()
            before()

        self._begin, self._continue, self._finish = (
            graph_of(part, device) if device.is_cuda else part for part in (before, between, after)
        )

    def run(self, times: int) -> int:
        """Run `times` steps, the last without its second half. The host reads nothing. Returns `times`."""
        self._begin()
        for _ in range(times - 1):
            self._continue()
        return times

    def finish(self) -> None:
        """Run the second half of the last step."""
        self._finish()


def graph_of(part: Callable[[], None], device: Any) -> Callable[[], None]:
    """A function that launches a graph of what `part` does on a CUDA device. Nothing is done yet."""
    with wp.ScopedCapture(device=device) as capture:
        part()
    graph: Any = capture.graph
    return lambda: wp.capture_launch(graph)
