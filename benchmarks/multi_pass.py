"""Wheels in the tracks of others, Krenn et al. 2008, Fig. 12-14: `python benchmarks/multi_pass.py [--write]`.

`--keep DIR` leaves the runs in DIR, and does not run again what is there with the same settings.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from page import FIGURES, ROOT, number, percent, publish, quiet, table
from PIL import Image

import grouser
from grouser.scenarios import multi_pass as mp
from grouser.scenarios.settings import from_python
from grouser.terrain import soil

sys.path.insert(0, str(ROOT))
PAPER: dict[str, Any] = {"laws": "krenn2008"}
REST = {**PAPER, "erosion_sweeps": 1000}  # more than are needed until no slope is too steep
FINE = {"spacing": 0.005}
SHALLOW = {"wheelbase": 0.35, "least_sinkage": 0.015, "greatest_sinkage": 0.025}
LAWS: dict[str, dict[str, Any]] = {
    "sweeps until no slope is too steep, 30 to 60 mm deep, 10 mm grid": REST,
    "one sweep a step": PAPER,
    "sweeps until no slope is too steep, 15 to 25 mm deep, 10 mm grid": {**REST, **SHALLOW},
    "5 mm grid": {**REST, **SHALLOW, **FINE},
}
DEEP: dict[str, dict[str, Any]] = {  # tens of minutes
    "30 to 60 mm deep, 5 mm grid": {**REST, **FINE},
    "one sweep a step, 30 to 60 mm deep, 5 mm grid": {**PAPER, **FINE},
}
LAWS_HEAD = ["`krenn2008`", "χ = 0", "χ = 0.5", "difference", "ripple",
             "default laws, loose cover: χ = 0", "χ = 0.5", "difference", "ripple"]  # fmt: skip
SMOOTH: dict[str, Any] = {"smooth_left": True}
RUNS: dict[str, dict[str, Any]] = {
    "as it stands": SMOOTH,
    "5 mm grid": {**SMOOTH, **FINE},
    "step 2 ms": {**SMOOTH, "step": 0.002},
    "without friction": {**SMOOTH, "friction": "none", "slip": 0.0},
    "lunar soil": {**SMOOTH, "soil": "lunar-nominal"},
    "sandy loam": {**SMOOTH, "soil": "sandy-loam"},
}
RUNS_HEAD = ["run", "eq. 29: χ = 0", "χ = 0.5", "difference", "loose cover: χ = 0", "χ = 0.5", "difference",
             "lugs: ripple N", "smooth: ripple N"]  # fmt: skip
SUNK, BEFORE = 0.05, 0.25  # [m] the leader at the rut looked at, and the follower from it
PICTURES = {"resistance": "resistance", "forces-paper-compressible": "forces"}
DRAWN = {"multi-pass": SMOOTH, "multi-pass-krenn2008": REST}  # runs of which pictures are kept, by the names of these
COLOURS = 64  # of a picture in the docs


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="put tables and figures into docs/validation.md")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="folder for the runs")
    parser.add_argument("--laws", action="store_true", help="only the table of the paper's own laws")
    parser.add_argument("--deep", action="store_true", help="that table with its slowest runs too")
    asked = parser.parse_args()
    quiet()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or Path(temporary)
        parts = {"multi-pass-laws": laws_table(folder, {**LAWS, **(DEEP if asked.deep else {})})}
        if not asked.laws:
            parts |= {"multi-pass": runs_table(folder), "multi-pass-ruts": rut_table(folder)}
            parts["multi-pass-lugs"] = lug_table()
        drawn = {named: run for named, run in DRAWN.items() if run == REST or not asked.laws}
        for named, run in drawn.items() if asked.write else ():
            keep_pictures(done(run, folder) / "figures", named)
        publish(parts, asked.write)
    return 0


def laws_table(folder: Path, runs: dict[str, dict[str, Any]]) -> str:
    rows = []
    for name, settings in runs.items():
        with recorded(settings, folder) as recording:
            rows.append([name, *laws_row(recording)])
    return table(LAWS_HEAD, rows)


def runs_table(folder: Path) -> str:
    rows = []
    for name, settings in RUNS.items():
        with recorded(settings, folder) as recording:
            rows.append([name, *ratios(recording.metrics)])
    return table(RUNS_HEAD, rows)


def recorded(settings: dict[str, Any], folder: Path) -> grouser.Recording:
    return grouser.Recording(done(settings, folder) / "recording.h5")


def done(settings: dict[str, Any], folder: Path) -> Path:
    """Folder of a run with these settings, which is run if it is not there."""
    place = folder / ("-".join(f"{key}={value}" for key, value in settings.items()) or "default")
    if (place / "summary.json").exists():
        with grouser.Recording(place / "recording.h5") as recording:
            wanted = from_python("multi-pass", settings).settings.model_dump(mode="json")
            if recording.header["settings"] == wanted and recording.metrics:
                return place
    grouser.run("multi-pass", settings, out=place, report=settings in DRAWN.values(), force=True)
    return place


def laws_row(recording: grouser.Recording) -> list[str]:
    """Ratios, their difference, and the ripple in compressible soil over the radial force, for both halves."""
    m, s = recording.metrics, mp.MultiPass.model_validate(recording.header["settings"])
    cells = []
    for law, which in (("paper", "follower_resistance_ratio"), ("cover", "loose_cover_ratio")):
        loose, firm = (m[f"{which}_{share}"] for share in mp.SOILS)
        case = mp.Case(law, "compressible")
        ripple = min(mp.ripple(s, recording, case, t) / mp.radial_force(s, recording, case, t) for t in mp.TRACKS)
        cells += [number(loose, 2), number(firm, 2), number(loose - firm, 2), percent(ripple)]
    return cells


def ratios(m: dict) -> list[str]:
    letter = [m[f"follower_resistance_ratio_{share}"] for share in mp.SOILS]
    cover = [m[f"loose_cover_ratio_{share}"] for share in mp.SOILS]
    values = [*letter, letter[0] - letter[1], *cover, cover[0] - cover[1]]
    return [number(v, 2) for v in values] + [number(m[f"{kind}_ripple_N"], 1) for kind in ("grouser", "smooth")]


def lug_table() -> str:
    """Ripple of a leader without friction in soil that is only compacted, against the law of the lugs."""
    from tests.scenarios.test_multi_pass import ripples_of_a_leader

    rows = []
    for spacing in (0.01, 0.005):
        with tempfile.TemporaryDirectory() as folder:
            values = ripples_of_a_leader(Path(folder), spacing)
            rows.append([f"{1e3 * spacing:g} mm", *(number(value, 2) for value in values)])
    return table(["grid", "bars one by one, N", "lugged leader, N", "smooth leader, N"], rows)


def rut_table(folder: Path) -> str:
    with recorded(SMOOTH, folder) as recording:
        return ruts(mp.MultiPass(), recording, recording.metrics)


def ruts(s: mp.MultiPass, recording: grouser.Recording, metrics: dict) -> str:
    """What a follower finds in a rut, and what that costs it strip by strip if no more than the rut counts."""
    n = soil("dry-sand").n + 1
    rows = []
    for lane, case in enumerate(mp.CASES):
        filled = fill(s, recording, lane)
        cost = 1 - (1 - filled) ** n if case.law == "paper" else filled**n
        which = "follower_resistance" if case.law == "paper" else "loose_cover"
        measured = metrics[f"{which}_ratio_{case.soil}"]
        law, share = {"paper": "eq. 29", "cover": "loose cover"}[case.law], {"incompressible": 0, "compressible": 0.5}
        middle = filled[len(filled) // 2]
        cells = (filled.mean(), middle, cost.mean(), measured)
        rows.append([law, f"{share[case.soil]:g}", *(number(value, 2) for value in cells)])
    head = ["law", "χ", "rut filled, mean", "in the middle", "ratio by strips", "ratio of the run"]
    return table(head, rows)


def fill(s: mp.MultiPass, recording: grouser.Recording, lane: int) -> np.ndarray:
    """Across the wheel, the share of a leader's sinkage that soil has filled again when the follower comes."""
    x = SUNK / s.fall
    time = (x + s.wheelbase - BEFORE) / s.speed
    y = lane * s.lane - s.gauge / 2
    half = s.width / 2 - s.spacing / 2  # nodes well under the wheel
    heights = recording.surface_at(time, (x - s.spacing / 2, x + s.spacing / 2, y - half, y + half))[2]
    return np.clip(1 + heights.mean(axis=1) / SUNK, 0, 1)


def keep_pictures(folder: Path, named: str) -> None:
    for name, kept in PICTURES.items():
        with Image.open(folder / f"{name}.png") as picture:
            picture.convert("RGB").quantize(COLOURS).save(FIGURES / f"{named}-{kept}.png", optimize=True)


if __name__ == "__main__":
    raise SystemExit(main())
