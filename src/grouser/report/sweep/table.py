"""Table of a sweep: one row per case with its parameters and metrics, as CSV and Markdown."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from grouser.errors import InputError
from grouser.report.summary import UNDECIDING
from grouser.report.wording import unit_text, value_text

MISSING = "missing"  # status of a case that has not been run


@dataclass(frozen=True)
class Row:
    """One case."""

    name: str
    status: str  # complete, failed or missing
    parameters: Mapping[str, Any]
    metrics: Mapping[str, Any]  # values by name; empty for a failed case
    missed: Sequence[str]  # metrics that do not meet their expectation
    wall_s: float | None
    reason: str  # why it failed
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class SweepTable:
    """All cases in order. `about` is the content of sweep.json."""

    about: Mapping[str, Any]
    rows: Sequence[Row]
    units: Mapping[str, str]  # of the metrics that are shown, in order

    @property
    def parameters(self) -> list[str]:
        return [parameter["path"] for parameter in self.about["parameters"]]

    @cached_property
    def complete(self) -> list[Row]:
        return [row for row in self.rows if row.status == "complete"]

    @cached_property
    def steps(self) -> dict[str, list[Any]]:
        """Distinct values of each parameter: numbers sorted, others in order of appearance."""
        found = {}
        for path in self.parameters:
            values = list({value_key(row.parameters[path]): row.parameters[path] for row in self.rows}.values())
            found[path] = sorted(values) if all(map(is_number, values)) else values
        return found

    @property
    def failed(self) -> dict[str, str]:
        """Reason by name of the case."""
        return {row.name: row.reason for row in self.rows if row.status == "failed"}

    def label(self, path: str) -> str:
        """Name of a parameter with its unit."""
        units = {parameter["path"]: unit_text(parameter["unit"]) for parameter in self.about["parameters"]}
        return f"{path} [{units[path]}]" if units[path] else path

    def column(self, metric: str) -> str:
        """Column name of a metric; differs from the metric's name if a parameter has the same name."""
        return f"{metric} (metric)" if metric in self.parameters else metric

    def drawn_metrics(self) -> list[str]:
        """Metrics that are numbers. Timings only if they were requested."""
        chosen = self.about["metrics"]
        return [
            name
            for name in self.units
            if any(is_number(row.metrics.get(name)) for row in self.complete)
            and (name in chosen or not name.endswith(UNDECIDING))
        ]

    def lines(self) -> list[list[Any]]:
        """Header and one line for each case."""
        metrics = map(self.column, self.units)
        head = ["case", "status", *self.parameters, *metrics, "missed", "wall_s", "reason"]
        return [head] + [
            [
                row.name, row.status, *(row.parameters[path] for path in self.parameters),
                *(row.metrics.get(name) for name in self.units), " ".join(row.missed), row.wall_s, row.reason,
            ]
            for row in self.rows
        ]  # fmt: skip

    def csv(self) -> str:
        """The table as CSV with all digits. Values other than numbers and texts are JSON."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        for line in self.lines():
            writer.writerow([_cell(value) for value in line])
        return text.getvalue()

    def markdown(self) -> str:
        """The table as Markdown, rounded and with units. Columns that are empty in every row are left out."""
        head, *body = self.lines()
        head = [self.label(name) if name in self.parameters else name for name in head]
        used = [k for k in range(len(head)) if any(line[k] not in (None, "") for line in body)]
        rows = [[head[k] for k in used], ["---"] * len(used)]
        rows += [["" if line[k] in (None, "") else value_text(line[k]) for k in used] for line in body]
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows) + "\n"


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def value_key(value: Any) -> Any:
    """Key by which values are told apart; true and 1 are different."""
    return value if is_number(value) else json.dumps(value)


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, bool | list | dict) else value


def read_table(folder: str | Path) -> SweepTable:
    """Read the table from the folder of a sweep. Cases without a result have the status "missing"."""
    folder = Path(folder)
    about = _read(folder / "sweep.json")
    if about is None:
        raise InputError(f"{folder}: no sweep found: allowed is the folder of a sweep, with its sweep.json")
    rows, units = [], {}
    for case in about["cases"]:
        found = _read(folder / "cases" / f"{case['name']}.json") or {}
        found = found if found.get("digest") == about["digest"] else {}
        complete = found.get("status") == "complete"
        metrics = found.get("metrics", {}) if complete else {}
        units |= {name: metric["unit"] for name, metric in metrics.items()}
        rows.append(
            Row(
                name=case["name"],
                status=found.get("status", MISSING),
                parameters=case["parameters"],
                metrics={name: metric["value"] for name, metric in metrics.items()},
                missed=[name for name, metric in metrics.items() if metric["pass"] is False],
                wall_s=found.get("wall_s"),
                reason=found.get("reason", ""),
                settings=found.get("settings", {}),
            )
        )
    chosen = about["metrics"] or list(units)
    return SweepTable(about, rows, {name: units.get(name, "1") for name in chosen})


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
