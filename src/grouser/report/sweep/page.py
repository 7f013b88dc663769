"""Writes sweep.html and the table as CSV, Markdown and Parquet next to the cases of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from grouser.files import write_atomically
from grouser.report.html import Badge, picture, render
from grouser.report.sweep.figures import Drawn, draw_sweep
from grouser.report.sweep.parquet import write_parquet
from grouser.report.sweep.table import MISSING, Row, SweepTable, is_number, read_table
from grouser.report.sweep.uncertainty import NO_INDICES, indices_figure, interval_rows, read_uncertainty
from grouser.report.wording import flat, number, unit_text, value_text

ROWS_SHOWN = 2000  # in the table of the page; table.csv has all


def write_sweep_report(folder: str | Path) -> Path:
    """Write tables, figures and page of a sweep from the results in its folder. Cases may still be missing."""
    folder = Path(folder)
    table = read_table(folder)
    write_atomically(folder / "table.csv", table.csv())
    write_atomically(folder / "table.md", table.markdown())
    write_parquet(table, folder / "table.parquet")
    figures = draw_sweep(table, folder / "figures")
    uncertainty = read_uncertainty(folder, table.about["digest"])
    figures = [*indices_figure(folder, uncertainty), *figures]
    return write_atomically(folder / "sweep.html", page(table, figures, uncertainty))


def page(table: SweepTable, figures: Sequence[Drawn], uncertainty: dict[str, Any] | None = None) -> str:
    """HTML page of a sweep. `uncertainty`: content of uncertainty.json, for soils drawn by `run --samples`."""
    about, shown = table.about, table.rows[:ROWS_SHOWN]
    whole = len(shown) == len(table.rows)
    return render(
        "sweep.html",
        title=str(about["title"]),
        overline="Grouser sweep",
        badges=_badges(table),
        facts=_facts(table),
        failed=table.failed,
        intervals=interval_rows(uncertainty),
        no_indices=NO_INDICES if uncertainty is not None and not uncertainty["sobol"] else "",
        ranges=_ranges(table),
        figures=[picture(figure.path, figure.title, figure.caption) for figure in figures],
        cases_title="Cases" if whole else f"The first {len(shown)} of {len(table.rows)} cases",
        heads=["case", "", *map(table.label, table.parameters), *map(table.column, table.units)],
        cases=[_case(table, row) for row in shown],
        settings=_shared(table),
        version=about["version"],
    )


def _badges(table: SweepTable) -> list[Badge]:
    missing = sum(row.status == MISSING for row in table.rows)
    badges = [
        Badge("good", f"{len(table.complete)} of {len(table.rows)} cases complete"),
        Badge("bad", f"{len(table.failed)} failed" if table.failed else ""),
        Badge("warn", f"{missing} not run" if missing else ""),
    ]
    return [badge for badge in badges if badge.text]


def _facts(table: SweepTable) -> dict[str, str]:
    seconds = sum(row.wall_s or 0.0 for row in table.rows)
    return {
        "scenario": str(table.about["scenario"]),
        "method": str(table.about["method"]),
        "seed": str(table.about["seed"]),
        "simulating, all cases": f"{number(seconds)} s",
    }


def _ranges(table: SweepTable) -> list[dict[str, Any]]:
    """Statistics of each metric over the cases, and the cases with its smallest and largest value."""
    rows = []
    for name in table.drawn_metrics():
        found = [row for row in table.complete if is_number(row.metrics.get(name))]
        values = np.array([row.metrics[name] for row in found])
        unit = unit_text(table.units[name])
        least, *between, most = (
            f"{number(float(value))} {unit}"
            for value in (values.min(), values.mean(), np.median(values), values.std(), values.max())
        )
        rows.append(
            {
                "name": name,
                "between": between,
                "least": least,
                "least_case": found[int(values.argmin())].name,
                "most": most,
                "most_case": found[int(values.argmax())].name,
            }
        )
    return rows


def _case(table: SweepTable, row: Row) -> dict[str, Any]:
    values = [*(row.parameters[path] for path in table.parameters), *map(row.metrics.get, table.units)]
    return {
        "name": row.name,
        "badge": _badge(row),
        "missed": ", ".join(row.missed) if row.status not in ("failed", MISSING) else "",
        "cells": [value_text(value) for value in values],
    }


def _badge(row: Row) -> Badge | None:
    if row.status == "failed":
        return Badge("bad", "✗ failed")
    if row.status == MISSING:
        return Badge("warn", "not run")
    return Badge("warn", "expectation missed") if row.missed else None


def _shared(table: SweepTable) -> dict[str, Any]:
    """Settings that are the same in all complete cases."""
    if not table.complete:
        return {}
    settings = [flat(row.settings) for row in table.complete]
    return {key: value for key, value in settings[0].items() if all(key in s and s[key] == value for s in settings)}
