"""Progress of a sweep: a bar with done, failed and remaining cases on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from grouser.campaign import Tally
from grouser.commands.progress import LINE_EVERY


@contextmanager
def progress_bar(name: str) -> Iterator[Callable[[Tally], None]]:
    """Yield a callable that takes the counts."""
    with (_bar if sys.stderr.isatty() else _lines)(name) as report:
        yield report


@contextmanager
def _bar(name: str) -> Iterator[Callable[[Tally], None]]:
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

        def report(tally: Tally) -> None:
            over = tally.done + len(tally.failed) - tally.before
            progress.update(task, total=tally.total - tally.before, completed=over, counts=_counts(tally))

        yield report


@contextmanager
def _lines(name: str) -> Iterator[Callable[[Tally], None]]:
    due = time.perf_counter() + LINE_EVERY

    def report(tally: Tally) -> None:
        nonlocal due
        if time.perf_counter() >= due:
            due = time.perf_counter() + LINE_EVERY
            print(f"{name}: {_counts(tally)}", file=sys.stderr, flush=True)

    yield report


def _counts(tally: Tally) -> str:
    return f"{tally.done} done, {len(tally.failed)} failed, {tally.remaining} remaining"
