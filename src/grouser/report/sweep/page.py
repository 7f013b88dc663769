"""sweep.html, table.csv and table.md beside the cases they are made of."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from grouser.report.html import document, fact_cards, pairs, picture, write_whole
from grouser.report.sweep.figures import Drawn, draw_sweep
from grouser.report.sweep.table import MISSING, Row, SweepTable, is_number, read_table
from grouser.report.wording import flat, number, unit_text, value_text

ROWS_SHOWN = 2000  # of the page's table; table.csv has all


def write_sweep_report(folder: str | Path) -> Path:
    """Tables, figures and page of a sweep, from what its folder holds; cases may still be missing."""
    folder = Path(folder)
    table = read_table(folder)
    write_whole(folder / "table.csv", table.csv())
    write_whole(folder / "table.md", table.markdown())
    figures = draw_sweep(table, folder / "figures")
    return write_whole(folder / "sweep.html", page(table, figures))


def page(table: SweepTable, figures: Sequence[Drawn]) -> str:
    """The whole page; everything that comes from files is escaped."""
    about = table.about
    pictures = "\n".join(picture(figure.path, figure.title, figure.caption) for figure in figures)
    sections = [
        _heading(table),
        _facts(table),
        _failed(table),
        _ranges(table),
        f"<h2>Figures</h2>\n{pictures}" if figures else "",
        _cases(table),
        pairs("Settings of all cases", _shared(table)),
        f"<footer>Grouser {escape(str(about['version']))}, from <code>sweep.json</code> and cases</footer>",
    ]
    return document(str(about["title"]), sections)


def _heading(table: SweepTable) -> str:
    missing = sum(row.status == MISSING for row in table.rows)
    states = [
        ("good", f"{len(table.complete)} of {len(table.rows)} cases complete"),
        ("bad", f"{len(table.failed)} failed" if table.failed else ""),
        ("warn", f"{missing} not run" if missing else ""),
    ]
    badges = "".join(f'<span class="badge {look}">{text}</span>' for look, text in states if text)
    return (
        '<header>\n<div class="overline">Grouser sweep</div>\n'
        f"<h1>{escape(str(table.about['title']))}</h1>\n<div>{badges}</div>\n</header>"
    )


def _facts(table: SweepTable) -> str:
    seconds = sum(row.wall_s or 0.0 for row in table.rows)
    return fact_cards(
        {
            "scenario": str(table.about["scenario"]),
            "method": str(table.about["method"]),
            "seed": str(table.about["seed"]),
            "simulating, all cases": f"{number(seconds)} s",
        }
    )


def _failed(table: SweepTable) -> str:
    items = "".join(f"<li><code>{name}</code> {escape(reason)}</li>" for name, reason in table.failed.items())
    return f'<h2>Failed cases</h2>\n<div class="card"><ul class="notes">{items}</ul></div>' if items else ""


def _ranges(table: SweepTable) -> str:
    """What the cases span, and where least and most of each metric are."""
    rows = []
    for name in table.drawn_metrics():
        found = [row for row in table.complete if is_number(row.metrics.get(name))]
        values = np.array([row.metrics[name] for row in found])
        unit = escape(unit_text(table.units[name]))
        cells = [
            f"{number(float(values.min()))} {unit} <code>{found[int(values.argmin())].name}</code>",
            *(f"{number(float(value))} {unit}" for value in (values.mean(), np.median(values), values.std())),
            f"{number(float(values.max()))} {unit} <code>{found[int(values.argmax())].name}</code>",
        ]
        body = "".join(f'<td class="number">{cell}</td>' for cell in cells)
        rows.append(f"<tr><td><code>{escape(name)}</code></td>{body}</tr>")
    heads = ("metric", "least", "mean", "median", "deviation", "most")
    return _table("Metrics", heads, rows) if rows else ""


def _cases(table: SweepTable) -> str:
    shown = table.rows[:ROWS_SHOWN]
    heads = ["case", "", *map(table.label, table.parameters), *map(table.column, table.units)]
    rows = []
    for row in shown:
        values = [*(row.parameters[path] for path in table.parameters), *map(row.metrics.get, table.units)]
        cells = "".join(f'<td class="number">{escape(value_text(value))}</td>' for value in values)
        rows.append(f"<tr><td><code>{row.name}</code></td><td>{_mark(row)}</td>{cells}</tr>")
    title = "Cases" if len(shown) == len(table.rows) else f"The first {len(shown)} of {len(table.rows)} cases"
    return _table(title, heads, rows)


def _mark(row: Row) -> str:
    if row.status == "failed":
        return '<span class="badge bad">✗ failed</span>'
    if row.status == MISSING:
        return '<span class="badge warn">not run</span>'
    missed = ", ".join(row.missed)
    return f'<span class="badge warn" title="{escape(missed)}">expectation missed</span>' if missed else ""


def _table(title: str, heads: Sequence[str], rows: Sequence[str]) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    return (
        f'<h2>{escape(title)}</h2>\n<div class="card"><table><thead><tr>{head}</tr></thead>\n<tbody>\n'
        + "\n".join(rows)
        + "\n</tbody></table></div>"
    )


def _shared(table: SweepTable) -> dict[str, Any]:
    """Settings in which the complete cases agree."""
    if not table.complete:
        return {}
    settings = [flat(row.settings) for row in table.complete]
    return {key: value for key, value in settings[0].items() if all(key in s and s[key] == value for s in settings)}
