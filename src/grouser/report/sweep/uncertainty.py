"""What `grouser run --samples` leaves in its folder beside the cases: metrics with intervals, and Sobol' indices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from grouser.report.sweep.figures import Drawn
from grouser.report.wording import NONE, number, unit_text

RESULTS, SOBOL = "uncertainty.json", "sobol.png"
TITLE = "Sobol' indices over the constants of the soil"
CAPTION = (
    "First: the share of the variance that would go if this constant alone were known. Total: the share that would be "
    "left if all others were known. The percentage is what the surrogate explains of runs left out."
)
NO_INDICES = (
    "No Sobol' indices: they need 20 complete runs, scikit-learn (pip install 'grouser[identify]'), and metrics that "
    "vary and that a surrogate can follow."
)


def read_uncertainty(folder: Path, digest: str) -> dict[str, Any] | None:
    """Content of uncertainty.json, or None if there is none or it is left over from a sweep with another digest."""
    file = folder / RESULTS
    found = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return found if found.get("digest") == digest else None


def interval_rows(found: dict[str, Any] | None) -> list[dict[str, str]]:
    """Mean, deviation, median and 90 % interval of each metric as text."""
    return [] if found is None else [_row(name, one) for name, one in found["metrics"].items()]


def indices_figure(folder: Path, found: dict[str, Any] | None) -> list[Drawn]:
    """The figure of Sobol' indices, if there is one."""
    file = folder / "figures" / SOBOL
    return [Drawn(file, TITLE, CAPTION)] if found is not None and found["sobol"] and file.is_file() else []


def _row(name: str, one: dict[str, Any]) -> dict[str, str]:
    unit = unit_text(one["unit"])
    if one["mean"] is None:
        return {"name": name, "mean": NONE, "median": NONE, "interval": NONE}
    low, high = one["interval_90"]
    return {
        "name": name,
        "mean": f"{number(one['mean'], 3)} ± {number(one['deviation'], 2)} {unit}".strip(),
        "median": f"{number(one['median'], 3)} {unit}".strip(),
        "interval": f"{number(low, 3)} to {number(high, 3)} {unit}".strip(),
    }
