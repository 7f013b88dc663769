"""Formats numbers, tolerances and units for reading."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

MINUS = "\N{MINUS SIGN}"
NONE = "\N{EN DASH}"
DIGITS = 4  # significant digits
ALL_DIGITS = 15


def number(value: float, digits: int = DIGITS) -> str:
    """Format with `digits` significant digits. Powers of ten only for very small and very large numbers."""
    if isinstance(value, int) or not math.isfinite(value):
        return f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}").replace("-", MINUS)
    text = f"{value:.{digits}g}"
    if "e" in text:
        mantissa, power = text.split("e")
        text = f"{mantissa}e{int(power)}"
    return text.replace("-", MINUS)


def value_text(value: Any, digits: int = DIGITS) -> str:
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return number(value, digits)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(value_text(item, digits) for item in value) + "]"
    return str(value)


def expectation_text(metric: Mapping[str, Any]) -> str:
    """For example 0.02 m ± 10 %, 40 ± 2 N, ≥ 3 m. Empty if nothing is expected."""
    expected, tolerance, unit = metric["expected"], metric["tolerance"] or {}, unit_text(metric["unit"])
    words = []
    bound = expected in [tolerance.get(kind) for kind in ("min", "max")]  # then the loop below writes it
    if expected is not None and not bound:
        around = f" ± {number(tolerance['abs'])}" if "abs" in tolerance else ""
        words.append(f"{value_text(expected)}{around} {unit}".strip())
    if "rel" in tolerance:
        words.append(f"± {number(100 * tolerance['rel'])} %")
    for kind, sign in (("min", "≥"), ("max", "≤")):
        if kind in tolerance:
            words.append(f"{sign} {number(tolerance[kind])} {unit}".strip())
    return " ".join(words)


def unit_text(unit: str | None) -> str:
    """Unit as text, empty for dimensionless numbers."""
    return "" if unit in (None, "", "1") else str(unit)


def flat(settings: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Flatten {"wheel": {"radius": 0.15}} to {"wheel.radius": 0.15}."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping) and value:
            found.update(flat(value, f"{path}{key}."))
        else:
            found[f"{path}{key}"] = value
    return found
