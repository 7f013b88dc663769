"""Progress of a sweep: a bar with done, failed and remaining cases on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from grouser.campaign import SweepCounts
from grouser.commands.progress import LINE_EVERY


@contextmanager
def progress_bar(name: str) -> Iterator[Callable[[SweepCounts], None]]:
    """Yield a callable that shows the counts it is given."""
    with (_bar if sys.stderr.isatty() else _lines)(name) as report:
        yield report


@contextmanager
def _bar(name: str) -> Iterator[Callable[[SweepCounts], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[counts]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(name, total=None, counts="")

        def report(counts: SweepCounts) -> None:
            over = counts.done + len(counts.failed) - counts.before
            progress.update(task, total=counts.total - counts.before, completed=over, counts=_counts(counts))

        yield report


@contextmanager
def _lines(name: str) -> Iterator[Callable[[SweepCounts], None]]:
    due = time.perf_counter() + LINE_EVERY

    def report(counts: SweepCounts) -> None:
        nonlocal due
        if time.perf_counter() >= due:
            due = time.perf_counter() + LINE_EVERY
            print(f"{name}: {_counts(counts)}", file=sys.stderr, flush=True)

    yield report


def _counts(counts: SweepCounts) -> str:
    return f"{counts.done} done, {len(counts.failed)} failed, {counts.remaining} remaining"


@contextmanager
def share_bar() -> Iterator[Callable[[str, float], None]]:
    """Yield a callable that shows what is being done, and the share of it that is done."""
    if not sys.stderr.isatty():
        due = time.perf_counter() + LINE_EVERY

        def line(what: str, share: float) -> None:
            nonlocal due
            if time.perf_counter() >= due:
                due = time.perf_counter() + LINE_EVERY
                print(f"{what}: {100 * share:.0f} %", file=sys.stderr, flush=True)

        yield line
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        tasks: dict[str, Any] = {}

        def bar(what: str, share: float) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=1.0)
            progress.update(tasks[what], completed=share)

        yield bar
