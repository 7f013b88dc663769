"""summary.json: the measured metrics beside what was expected of them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from grouser.errors import GrouserError

TIMING = "real_time_factor"  # a metric whose name ends so depends on the machine and never decides


def judged(declared: Iterable[Mapping[str, Any]], values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Every declared metric with its value and whether it passes; None where nothing is expected of it."""
    metrics: dict[str, dict[str, Any]] = {}
    for metric in declared:
        value = plain(values.get(metric["name"]))
        metrics[metric["name"]] = {
            "value": value,
            "unit": metric["unit"],
            "expected": metric.get("expected"),
            "tolerance": metric.get("tolerance"),
            "source": metric.get("source"),
            "pass": passes(metric, value),
        }
    strays = sorted(values.keys() - metrics.keys())
    if strays:
        raise GrouserError(f"measured but not declared as metrics: {', '.join(strays)}")
    return metrics


def passes(metric: Mapping[str, Any], value: Any) -> bool | None:
    """Whether a value meets its expectation; a value that is missing or not finite meets none."""
    expected, tolerance = metric.get("expected"), metric.get("tolerance") or {}
    if metric["name"].endswith(TIMING):
        return None
    if value is None or (isinstance(value, list) and None in value):
        return False
    if expected is None and not tolerance:
        return None
    if not value >= tolerance.get("min", value) or not value <= tolerance.get("max", value):
        return False
    return expected is None or "min" in tolerance or "max" in tolerance or near(value, expected, tolerance)


def near(value: Any, expected: Any, tolerance: Mapping[str, float]) -> bool:
    """Within the larger of the absolute and relative tolerance; words, bools and counts are equal or not."""
    if isinstance(expected, list):
        return isinstance(value, list) and len(value) == len(expected) and all(
            near(one, other, tolerance) for one, other in zip(value, expected, strict=True)
        )  # fmt: skip
    if isinstance(expected, bool | str) or not tolerance:
        return value == expected
    return abs(value - expected) <= max(tolerance.get("abs", 0.0), tolerance.get("rel", 0.0) * abs(expected))


def missed(summary: Mapping[str, Any]) -> list[str]:
    """The names of the metrics that fail."""
    return [name for name, metric in summary["metrics"].items() if metric["pass"] is False]


def plain(value: Any) -> Any:
    """NumPy numbers and arrays as Python's own; what is not finite becomes None."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def write(path: Path, summary: Mapping[str, Any]) -> None:
    """The file appears whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(plain(summary), indent=2, allow_nan=False) + "\n", encoding="utf-8")
    part.replace(path)
