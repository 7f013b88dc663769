"""Tables for the terminal: aligned columns, as wide as they need to be."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

LOG_WIDTH = 200  # columns where no terminal says how wide it is
MARKS = {True: "pass", False: "MISSED", None: ""}
STYLES = {True: "green", False: "bold red", None: ""}


def metric_table(metrics: Mapping[str, Mapping[str, Any]]) -> None:
    """Name, value, expectation and verdict of each metric."""
    rows = [
        (name, shown(metric["value"]), metric["unit"], expectation(metric), MARKS[metric["pass"]])
        for name, metric in metrics.items()
    ]
    styles = [STYLES[metric["pass"]] for metric in metrics.values()]
    show(("metric", "value", "unit", "expected", ""), rows, styles)


def show(titles: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str] = ()) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in titles:
        table.add_column(title, no_wrap=not sys.stdout.isatty())
    for row, style in zip(rows, styles or [""] * len(rows), strict=True):
        table.add_row(*(Text(cell, style=style) for cell in row))
    Console(width=None if sys.stdout.isatty() else LOG_WIDTH, highlight=False).print(table)


def expectation(metric: Mapping[str, Any]) -> str:
    """The expected value with its tolerance: "0.12 ± 2 %", "at least 3"."""
    expected, tolerance = metric["expected"], metric["tolerance"] or {}
    parts = [] if expected is None or {"min", "max"} & tolerance.keys() else [shown(expected)]
    parts += [f"± {100 * tolerance['rel']:g} %"] if "rel" in tolerance else []
    parts += [f"± {tolerance['abs']:g}"] if "abs" in tolerance else []
    parts += [f"at least {tolerance['min']:g}"] if "min" in tolerance else []
    parts += [f"at most {tolerance['max']:g}"] if "max" in tolerance else []
    return " ".join(parts)


def shown(value: Any) -> str:
    """A value in few characters; nothing for None."""
    if value is None:
        return "-"
    if isinstance(value, list):
        return "[" + ", ".join(map(shown, value)) + "]"
    return f"{value:.5g}" if isinstance(value, float) else str(value)
