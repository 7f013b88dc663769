"""Slopes a rover climbs (Krenn and Hirzinger 2009, Fig. 19): `python benchmarks/gradeability.py [--write]`."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np
from multi_pass import COLOURS
from page import FIGURES, asked_to_write, number, publish, table
from PIL import Image

import grouser
from grouser.scenarios import exomars_gradeability as eg

RUNS = {
    "as it stands": {},
    "climb 40 s": {"climb": 40.0},
    "fails above slip 0.8": {"failing_slip": 0.8},
    "no grousers": {"rover.grouser_height": 0.0},
    "φ = 35°": {"soil.friction_angle_deg": 35.0},
    "c = 1 kPa": {"soil.cohesion": 1000.0},
    "dry sand": {"soil": "dry-sand"},
}
PICTURES = {"slip-slope": "gradeability-slip", "soil": "gradeability-soil"}


def main() -> int:
    write = asked_to_write(__doc__)
    limits, parts = [], {}
    for name, settings in RUNS.items():
        metrics, results, figures = ran(settings, report=not settings)
        limits.append([name, *limit(metrics)])
        if not settings:
            parts["gradeability-trials"] = trials(results, ("slope_deg", "slip", "energy_per_metre", "sinkage"))
            if write:
                keep(figures)
    _, across, _ = ran({"heading": "cross"})
    parts["gradeability-cross"] = trials(across, ("slope_deg", "drift", "slip", "energy_per_metre"))
    head = ["run", "climbed °", "failed °", "slip 0.5 at °", "slip, level", "slip, 5°", "J/m, level", "J/m, 5°"]
    publish({**parts, "gradeability": table(head, limits)}, write)
    return 0


def ran(settings: dict, report: bool = False) -> tuple[dict, dict[str, np.ndarray], dict[str, Image.Image]]:
    with tempfile.TemporaryDirectory() as folder:
        outcome = grouser.run("exomars-gradeability", settings, out=Path(folder) / "out", report=report)
        with grouser.Recording(outcome.recording) as recording:
            results = {name: recording[f"trials/{name}"][-1] for name in eg.RESULTS}
        pictures = {}
        for name in PICTURES if report else ():
            with Image.open(outcome.folder / "figures" / f"{name}.png") as picture:
                pictures[name] = picture.convert("RGB")
    return outcome.metrics, results, pictures


def limit(m: dict) -> list[str]:
    names = (
        "max_grade_deg", "failing_grade_deg", "half_slip_grade_deg", "slip_level", "slip_stated",
        "energy_per_metre_level_J", "energy_per_metre_J",
    )  # fmt: skip
    return [shown(m[name], digits) for name, digits in zip(names, (1, 1, 1, 2, 2, 0, 0), strict=True)]


def trials(results: dict[str, np.ndarray], names: tuple[str, ...]) -> str:
    """The trials in the order of their slopes."""
    words = {"slope_deg": "slope °", "slip": "slip", "energy_per_metre": "J/m", "sinkage": "sinkage mm",
             "drift": "down over ahead"}  # fmt: skip
    digits = {"slope_deg": 2, "slip": 2, "energy_per_metre": 0, "sinkage": 0, "drift": 3}
    scale = {"sinkage": 1e3}
    order = np.argsort(results["slope_deg"])
    rows = [[shown(float(scale.get(n, 1.0) * results[n][k]), digits[n]) for n in names] for k in order]
    return table([words[n] for n in names], rows)


def shown(value: float | None, digits: int) -> str:
    return "–" if value is None or math.isnan(value) else number(float(value), digits)


def keep(pictures: dict[str, Image.Image]) -> None:
    for name, picture in pictures.items():
        picture.quantize(COLOURS).save(FIGURES / f"{PICTURES[name]}.png", optimize=True)


if __name__ == "__main__":
    raise SystemExit(main())
