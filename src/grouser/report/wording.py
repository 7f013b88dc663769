"""Numbers, tolerances and units as a reader wants to see them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

MINUS = "\N{MINUS SIGN}"
NONE = "\N{EN DASH}"
DIGITS = 4  # significant ones


def number(value: float) -> str:
    """Four significant digits; powers of ten only for the very small and very large."""
    if isinstance(value, int) or not math.isfinite(value):
        return f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}").replace("-", MINUS)
    text = f"{value:.{DIGITS}g}"
    if "e" in text:
        digits, power = text.split("e")
        text = f"{digits}e{int(power)}"
    return text.replace("-", MINUS)


def value_text(value: Any) -> str:
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(value_text(item) for item in value) + "]"
    return str(value)


def tolerance_text(tolerance: Mapping[str, float] | None) -> str:
    """± 2 %, ± 0.01, ≥ 3, ≤ 5; "exact" where nothing is said."""
    if not tolerance:
        return "exact"
    words = {
        "rel": lambda x: f"± {number(100 * x)} %",
        "abs": lambda x: f"± {number(x)}",
        "min": lambda x: f"≥ {number(x)}",
        "max": lambda x: f"≤ {number(x)}",
    }
    return ", ".join(words[kind](bound) for kind, bound in tolerance.items())


def unit_text(unit: str | None) -> str:
    """Nothing for dimensionless numbers."""
    return "" if unit in (None, "", "1") else str(unit)


def flat(settings: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """{"wheel": {"radius": 0.15}} as {"wheel.radius": 0.15}."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping) and value:
            found.update(flat(value, f"{path}{key}."))
        else:
            found[f"{path}{key}"] = value
    return found
