"""Slopes a rover climbs (Krenn and Hirzinger 2009, Fig. 19): `python benchmarks/gradeability.py [--write]`.

Every run is a search by some 15 trials, with lugged and smooth wheels and with two lengths of a trial. Slip on the
slopes is compared with that of `exomars-drawbar` at the same pull, with a spring so soft that the rover leaves the pits
of its drop before it pulls.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np
from multi_pass import COLOURS
from page import FIGURES, asked_to_write, number, publish, table
from PIL import Image

import grouser
from grouser.robots.exomars import MARS
from grouser.scenarios import exomars_drawbar as drawbar
from grouser.scenarios import exomars_gradeability as eg
from grouser.scenarios.exomars_drawbar import ExoMarsDrawbar

SMOOTH = {"rover.grouser_height": 0.0}
RUNS = {
    "as it stands": {},
    "length 5 m": {"length": 5.0},
    "no grousers": SMOOTH,
    "no grousers, length 5 m": {**SMOOTH, "length": 5.0},
    "dry sand": {"soil": "dry-sand"},
    "dry sand, no grousers": {**SMOOTH, "soil": "dry-sand"},
}
SOFT = 40.0  # [N/m] spring of the drawbar run
PICTURES = {"slip-slope": "gradeability-slip", "soil": "gradeability-soil"}


def main() -> int:
    write = asked_to_write(__doc__)
    limits, parts = [], {}
    for name, settings in RUNS.items():
        metrics, results, figures = ran(settings, report=not settings)
        limits.append([name, *limit(metrics)])
        print(*limits[-1], sep=", ", flush=True)  # a run takes minutes
        if not settings:
            names = ("slope_deg", "settled", *metres(results), "distance", "energy_per_metre", "sinkage")
            parts["gradeability-trials"] = trials(results, names)
            parts["gradeability-drawbar"] = against_drawbar(results)
            if write:
                keep(figures)
    _, across, _ = ran({"heading": "cross"})
    parts["gradeability-cross"] = trials(across, ("slope_deg", "drift", "slip", "energy_per_metre"))
    head = ["run", "climbed °", "failed °", "largest settled slip", "slip 0.5 at °", "slip, level", "J/m, level"]
    publish({**parts, "gradeability": table(head, limits)}, write)
    return 0


def ran(settings: dict, report: bool = False) -> tuple[dict, dict[str, np.ndarray], dict[str, Image.Image]]:
    with tempfile.TemporaryDirectory() as folder:
        outcome = grouser.run("exomars-gradeability", settings, out=Path(folder) / "out", report=report)
        with grouser.Recording(outcome.recording) as recording:
            results = {name: recording[f"trials/{name}"][-1] for name in eg.RESULTS}
            slips = recording["trials/slips"][-1]
            results |= {f"slip, part {k + 1}": slips[:, k] for k in range(slips.shape[1])}
        pictures = {}
        for name in PICTURES if report else ():
            with Image.open(outcome.folder / "figures" / f"{name}.png") as picture:
                pictures[name] = picture.convert("RGB")
    return outcome.metrics, results, pictures


def limit(m: dict) -> list[str]:
    names = (
        "max_grade_deg", "failing_grade_deg", "settled_slip_max", "half_slip_grade_deg", "slip_level",
        "energy_per_metre_level_J",
    )  # fmt: skip
    return [shown(m[name], digits) for name, digits in zip(names, (2, 2, 2, 1, 2, 0), strict=True)]


def against_drawbar(results: dict[str, np.ndarray]) -> str:
    """Slip on slopes where it has settled, and slip of the drawbar test where its pull is m g sin(slope)."""
    with tempfile.TemporaryDirectory() as folder:
        run = grouser.run("exomars-drawbar", {"stiffness": SOFT}, out=Path(folder) / "out", report=False)
        with grouser.Recording(run.recording) as recording:
            late = recording.time >= drawbar.GROWTH_FROM
            pulls = np.maximum.accumulate(recording["drawbar/pull"][late])
            slips = recording["drawbar/smooth_slip"][late]
    weight, rows = ExoMarsDrawbar().parameters.mass * MARS, []
    for slope in np.unique(results["slope_deg"][results["settled"] > 0]):
        here = (results["slope_deg"] == slope) & (results["settled"] > 0)
        pull, slip = weight * math.sin(math.radians(slope)), float(np.median(results["slip"][here]))
        there = float(np.interp(pull, pulls, slips)) if pulls[0] <= pull <= pulls[-1] else math.nan
        rows.append([number(slope, 2), number(pull, 0), *(shown(x, 2) for x in (slip, there, slip - there))])
    return table(["slope °", "m g sin α N", "slip, slope", "slip, drawbar", "difference"], rows)


def trials(results: dict[str, np.ndarray], names: tuple[str, ...]) -> str:
    """The trials in the order of their slopes."""
    words = {"slope_deg": "slope °", "energy_per_metre": "J/m", "sinkage": "sinkage mm", "drift": "down over ahead",
             "distance": "distance m"}  # fmt: skip
    digits = {"energy_per_metre": 0, "sinkage": 0, "drift": 3, "settled": 0}
    scale = {"sinkage": 1e3}
    made = int(np.isfinite(results["settled"]).sum())
    order = np.argsort(results["slope_deg"][:made], kind="stable")
    rows = [[shown(float(scale.get(n, 1.0) * results[n][k]), digits.get(n, 2)) for n in names] for k in order]
    return table([words.get(n, n) for n in names], rows)


def metres(results: dict[str, np.ndarray]) -> list[str]:
    """Names of the slips over each window of a trial."""
    return [name for name in results if name.startswith("slip, part")]


def shown(value: float | None, digits: int) -> str:
    return "–" if value is None or math.isnan(value) else number(float(value), digits)


def keep(pictures: dict[str, Image.Image]) -> None:
    for name, picture in pictures.items():
        picture.quantize(COLOURS).save(FIGURES / f"{PICTURES[name]}.png", optimize=True)


if __name__ == "__main__":
    raise SystemExit(main())
