"""Prints the table of metrics on the terminal, in aligned columns of the width they need."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

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
