"""Compares two runs: settings that differ, metrics, and the largest difference of each channel."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grouser.errors import InputError
from grouser.recording import Recording
from grouser.report.summary import summarise
from grouser.report.wording import NONE, flat, number, unit_text, value_text


@dataclass(frozen=True)
class Row:
    """One line of a comparison.

    For a channel, `a` and `b` are the largest magnitudes, `difference` is the largest difference at equal times, and
    `relative` is that difference divided by the largest magnitude of `a`.
    """

    kind: str  # setting, metric or channel
    name: str
    unit: str
    a: Any
    b: Any
    difference: float | None = None
    relative: float | None = None
    note: str = ""


def compare(a: str | Path, b: str | Path) -> list[Row]:
    """Compare two runs, each given as the folder of a run, a recording (.h5) or a summary (.json)."""
    first, second = _recording_path(Path(a)), _recording_path(Path(b))
    if first is None or second is None:
        return _summary_rows(_summary(Path(a)), _summary(Path(b)))
    with Recording(first) as one, Recording(second) as two:
        rows = _summary_rows(summarise(one), summarise(two))
        return rows + _channel_rows(one, two)


def _recording_path(path: Path) -> Path | None:
    if path.is_dir():
        path = path / "recording.h5"
        return path if path.exists() else None
    return None if path.suffix == ".json" else path


def _summary(path: Path) -> dict[str, Any]:
    recorded = _recording_path(path)
    if recorded is not None:
        with Recording(recorded) as recording:
            return summarise(recording)
    if path.is_dir():
        if not (path / "summary.json").is_file():
            raise InputError(f"{path}: neither recording.h5 nor summary.json found: allowed is the folder of a run")
        path = path / "summary.json"
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is neither a recording nor a summary: {error}") from None
    if not isinstance(summary, dict) or not isinstance(summary.get("metrics"), dict):
        raise InputError(f"{path} is not the summary of a run: 'metrics' missing")
    return summary


def _summary_rows(one: dict[str, Any], two: dict[str, Any]) -> list[Row]:
    rows = []
    settings = [
        {
            "scenario": summary.get("scenario"),
            "version": summary.get("version"),
            **flat(summary.get("settings", {})),
        }
        for summary in (one, two)
    ]
    for name in dict.fromkeys([*settings[0], *settings[1]]):
        a, b = (side.get(name) for side in settings)
        if a != b:
            rows.append(Row("setting", name, "", a, b, note=_only(name, *settings)))
    metrics = [summary["metrics"] for summary in (one, two)]
    for name in dict.fromkeys([*metrics[0], *metrics[1]]):
        sides = [side.get(name, {}) for side in metrics]
        a, b = (side.get("value") for side in sides)
        unit = sides[0].get("unit") or sides[1].get("unit") or "1"
        rows.append(Row("metric", name, unit, a, b, *_distance(a, b), _only(name, *metrics)))
    return rows


def _only(name: str, one: dict[str, Any], two: dict[str, Any]) -> str:
    return "" if name in one and name in two else "only in A" if name in one else "only in B"


def _distance(a: Any, b: Any) -> tuple[float | None, float | None]:
    """b - a and (b - a) / |a| if both are numbers."""
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in (a, b)):
        return None, None
    return b - a, _relative(b - a, abs(a))


def _relative(difference: float, scale: float) -> float | None:
    return difference / scale if scale else 0.0 if difference == 0 else None


def _channel_rows(one: Recording, two: Recording) -> list[Row]:
    rows = []
    for name in sorted({*one.names(), *two.names()}):
        if name not in one or name not in two:
            channel = (one if name in one else two).channel_info(name)
            rows.append(Row("channel", name, channel.unit, None, None, note=f"only in {'AB'[name not in one]}"))
            continue
        rows.append(_channel_row(name, one, two))
    return rows


def _channel_row(name: str, one: Recording, two: Recording) -> Row:
    first, second = one.channel_info(name), two.channel_info(name)
    if (first.shape, first.unit, one.worlds) != (second.shape, second.unit, two.worlds):
        return Row("channel", name, first.unit, None, None, note="shape, unit or worlds differ")
    if first.kind == "ragged" or second.kind == "ragged":
        return Row("channel", name, first.unit, None, None, note="the number of rows varies: not compared")
    a, b = one[name], two[name]
    if not len(a) or not len(b):
        return Row("channel", name, first.unit, None, None, note="no frames")
    largest_a, largest_b = float(np.max(np.abs(a), initial=0)), float(np.max(np.abs(b), initial=0))
    times, apart = _differences(one.time, a.reshape(len(a), -1), two.time, b.reshape(len(b), -1))
    if not len(times):
        return Row("channel", name, first.unit, largest_a, largest_b, note="no common time")
    worst = int(np.argmax(apart))
    difference = float(apart[worst])
    note = f"at t = {number(float(times[worst]))} s" if difference else ""
    return Row("channel", name, first.unit, largest_a, largest_b, difference, _relative(difference, largest_a), note)


def _differences(time_a: np.ndarray, a: np.ndarray, time_b: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Times and largest difference of each common frame of A. B is interpolated if its times differ.

    If a value is NaN in one run only, the difference is infinite.
    """
    if not np.array_equal(time_a, time_b):
        common = (time_a >= time_b[0]) & (time_a <= time_b[-1])
        time_a, a = time_a[common], a[common]
        b = np.stack([np.interp(time_a, time_b, column) for column in b.T], axis=1) if b.shape[1] else a
    distance = np.abs(a - b)
    distance[np.isnan(a) & np.isnan(b)] = 0
    distance[np.isnan(distance)] = np.inf
    return time_a, np.max(distance, axis=1, initial=0)


def table(rows: Sequence[Row]) -> str:
    """Format the rows as text in columns."""
    head = ("", "name", "unit", "A", "B", "difference", "relative", "")
    lines: list[tuple[str, ...]] = [head]
    for row in rows:
        relative = NONE if row.relative is None else f"{number(100 * row.relative)} %"
        difference = NONE if row.difference is None else number(row.difference)
        sides = (value_text(row.a), value_text(row.b))
        lines.append((row.kind, row.name, unit_text(row.unit), *sides, difference, relative, row.note))
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
