"""Progress of a run: a bar with the real-time factor on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

REDRAW = 0.1  # [s] between two updates of the bar
LINE_EVERY = 10.0  # [s] between two lines in a log


@contextmanager
def progress_bar(name: str, duration: float) -> Iterator[Callable[[float], None]]:
    """Yield a callable that shows the simulated time [s] it is given."""
    with (_bar if sys.stderr.isatty() else _lines)(name, duration) as report:
        yield report


@contextmanager
def _bar(name: str, duration: float) -> Iterator[Callable[[float], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.2f} of {task.total:.2f} s"),
        TextColumn("{task.fields[factor]} real time"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(name, total=duration, factor="-")
        yield _at_most_every(REDRAW, lambda now, factor: progress.update(task, completed=now, factor=f"{factor:.2f} x"))


@contextmanager
def _lines(name: str, duration: float) -> Iterator[Callable[[float], None]]:
    def line(now: float, factor: float) -> None:
        print(f"{name}: {now:.2f} of {duration:.2f} s, {factor:.2f} x real time", file=sys.stderr, flush=True)

    yield _at_most_every(LINE_EVERY, line)


def _at_most_every(period: float, show: Callable[[float, float], None]) -> Callable[[float], None]:
    """Make a callable that calls show(time, real-time factor) at most once per `period` [s] of wall time."""
    first: list[float] = []  # simulated time and clock at the first call, after the model is built
    due = 0.0

    def report(now: float) -> None:
        nonlocal due
        clock = time.perf_counter()
        if not first:
            first[:] = now, clock
            due = clock + period
        elif clock >= due:
            due = clock + period
            show(now, (now - first[0]) / (clock - first[1]))

    return report


@contextmanager
def count_bar(name: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a callable that shows the number done and the total: a bar on a terminal, lines elsewhere."""
    if not sys.stderr.isatty():
        due = time.perf_counter() + LINE_EVERY

        def line(done: int, total: int) -> None:
            nonlocal due
            if time.perf_counter() >= due:
                due = time.perf_counter() + LINE_EVERY
                print(f"{name}: {done} of {total}", file=sys.stderr, flush=True)

        yield line
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(name, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
