"""Compares metric values with their expected values, and writes summary.json."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grouser.errors import InputError
from grouser.files import write_atomically
from grouser.recording import Recording
from grouser.report.validity import validity

UNDECIDING = "real_time_factor"  # names with this ending are timings: shown, never passed or failed
TOLERANCES = ("rel", "abs", "min", "max")


def judge(declaration: Mapping[str, Any], value: Any) -> bool | None:
    """Whether a value meets its expectation. None if there is no expectation.

    rel: |value - expected| <= rel |expected|; abs: |value - expected| <= abs; min: value >= min; max: value <= max.
    If several are given, all must hold. If none is given, the values must be equal. NaN never passes.
    """
    expected, tolerance = declaration.get("expected"), declaration.get("tolerance") or {}
    _check_tolerance(declaration)
    if str(declaration["name"]).endswith(UNDECIDING):
        return None
    if _has_nan(value):
        return False
    if expected is None and not tolerance:
        return None
    if value is None:
        return False
    return _meets(value, expected, tolerance)


def _check_tolerance(declaration: Mapping[str, Any]) -> None:
    for kind, bound in (declaration.get("tolerance") or {}).items():
        where = f"metric {declaration['name']!r}, tolerance"
        if kind not in TOLERANCES:
            raise InputError(f"{where} {kind!r}; allowed: {', '.join(TOLERANCES)}")
        if not _is_number(bound) or math.isnan(bound) or (kind in ("rel", "abs") and bound < 0):
            raise InputError(f"{where} {kind}: {bound!r}; allowed: a number{', 0 or more' * (kind in ('rel', 'abs'))}")
        if kind in ("rel", "abs") and declaration.get("expected") is None:
            raise InputError(f"{where} {kind}: needs an expected value")


def _meets(value: Any, expected: Any, tolerance: Mapping[str, float]) -> bool:
    if isinstance(value, list | tuple):
        if expected is None:
            return all(_meets(item, None, tolerance) for item in value)
        if not isinstance(expected, list | tuple) or len(value) != len(expected):
            return False
        return all(_meets(item, target, tolerance) for item, target in zip(value, expected, strict=True))
    if not _is_number(value):
        return type(value) is type(expected) and value == expected
    if expected is not None and not _is_number(expected):
        return False
    if not tolerance:
        return value == expected
    return all(_within(kind, bound, value, expected) for kind, bound in tolerance.items())


def _within(kind: str, bound: float, value: float, expected: Any) -> bool:
    if kind == "min":
        return value >= bound
    if kind == "max":
        return value <= bound
    return abs(value - expected) <= bound * (abs(expected) if kind == "rel" else 1)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _has_nan(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(_has_nan(item) for item in value)
    return isinstance(value, float) and not math.isfinite(value)


def _finite(value: Any) -> Any:
    """Replace NaN and infinity by None, as JSON has neither."""
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def summarise(recording: Recording) -> dict[str, Any]:
    """Content of summary.json. Values that are not declared are listed without expectation."""
    header, values = recording.header, recording.metrics
    declared = {metric["name"]: metric for metric in header.get("metrics", [])}
    for name in values:
        declared.setdefault(name, {"name": name, "unit": "1"})
    return {
        "scenario": header.get("scenario"),
        "version": header.get("version"),
        "settings": _finite(header.get("settings", {})),
        "metrics": {
            name: {
                "value": _finite(values.get(name)),
                "unit": metric.get("unit", "1"),
                "expected": _finite(metric.get("expected")),
                "tolerance": metric.get("tolerance"),
                "source": metric.get("source"),
                "pass": judge(metric, values.get(name)),
            }
            for name, metric in declared.items()
        },
        "wall_s": recording.wall_s,
        "sim_s": recording.sim_s,
        "steps": recording.steps,
        "validity": _finite(validity(recording)),
        "notes": [str(note) for note in (*header.get("notes", []), *recording.notes)],
    }


def missed(summary: Mapping[str, Any]) -> list[str]:
    """Names of the metrics that missed their expectation."""
    return [name for name, metric in summary["metrics"].items() if metric["pass"] is False]


def write_summary(summary: Mapping[str, Any], directory: str | Path) -> None:
    """Write the summary of a recording as summary.json, completely or not at all."""
    write_atomically(Path(directory) / "summary.json", json.dumps(summary, indent=2, allow_nan=False) + "\n")
