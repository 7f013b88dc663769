"""Prints tables of metrics and of scores on the terminal, in aligned columns of the width they need."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grouser.commands.samples import Spread
    from grouser.commands.validate import Validation
    from grouser.identification.posterior import Estimate

LOG_WIDTH = 200  # columns if the output is not a terminal
VERDICTS = {True: ("pass", "green"), False: ("MISSED", "bold red"), None: ("", "")}


def metric_table(metrics: Mapping[str, Mapping[str, Any]]) -> None:
    """Print name, value, expectation and verdict of each metric."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from grouser.report.wording import expectation_text, unit_text, value_text

    terminal = sys.stdout.isatty()
    table = Table("metric", "value", "expected", "", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name, metric in metrics.items():
        verdict, style = VERDICTS[metric["pass"]]
        value = f"{value_text(metric['value'])} {unit_text(metric['unit'])}".strip()
        table.add_row(*(Text(cell, style=style) for cell in (name, value, expectation_text(metric), verdict)))
    Console(width=None if terminal else LOG_WIDTH, highlight=False).print(table)


def score_rows(done: Validation) -> tuple[list[str], list[list[str]]]:
    """Heading and rows of the table of errors: one row for each set, quantity and law, then the means of each law."""
    from grouser.validation.score import AIM

    head = ["set", "quantity", "law", "median error", "worst", "at slip", f"above {_percent(AIM)} at slip"]
    rows = []
    for entry in done.entries:
        name = entry.wheel.name
        for quantity, points in entry.wheel.points.items():
            for law in done.laws:
                score = done.found[law.name][name][quantity]
                worst, slip = score.worst
                beyond = ", ".join(f"{one:g}" for one in score.beyond) or "nowhere"
                median = _percent(score.median) if points.scored else f"({_percent(score.median)})"
                rows.append([name, quantity, law.name, median, _percent(worst), f"{slip:g}", beyond])
    for law in done.laws:
        for quantity, mean in done.means(law.name).items():
            rows.append(["mean of blind sets", quantity, law.name, _percent(mean), "", "", ""])
    if len(done.laws) == 1:
        rows, head = [[*row[:2], *row[3:]] for row in rows], [*head[:2], *head[3:]]
    return head, rows


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %") if share < math.inf else "failed"


def score_table(done: Validation) -> None:
    """Print the table of errors."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    head, rows = score_rows(done)
    table = Table(*head, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*map(Text, row))
    Console(width=None if sys.stdout.isatty() else LOG_WIDTH, highlight=False).print(table)


def estimate_table(estimates: Sequence[Estimate]) -> None:
    """Print identified constants with their intervals."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("constant", "unit", "mean", "90 % interval", "before the data", "", box=None, pad_edge=False,
                  padding=(0, 2, 0, 0))  # fmt: skip
    for one in estimates:
        cells = (one.name, one.unit, f"{one.mean:.4g}", f"{one.low:.4g} to {one.high:.4g}",
                 f"{one.prior_low:.4g} to {one.prior_high:.4g}", one.verdict)  # fmt: skip
        table.add_row(*map(Text, cells))
    Console(width=None if sys.stdout.isatty() else LOG_WIDTH, highlight=False).print(table)


def spread_table(metrics: Mapping[str, Spread]) -> None:
    """Print metrics with their spread over soils."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from grouser.report.wording import number, unit_text

    table = Table("metric", "mean ± deviation", "90 % interval", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name, one in metrics.items():
        unit = unit_text(one.unit)
        mean = f"{number(one.mean, 3)} ± {number(one.deviation, 2)} {unit}".strip()
        table.add_row(*map(Text, (name, mean, f"{number(one.low, 3)} to {number(one.high, 3)} {unit}".strip())))
    Console(width=None if sys.stdout.isatty() else LOG_WIDTH, highlight=False).print(table)
