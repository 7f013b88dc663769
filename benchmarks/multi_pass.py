"""Wheels in the tracks of others, Krenn et al. 2008, Fig. 12-14: `python benchmarks/multi_pass.py [--write]`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from page import FIGURES, ROOT, asked_to_write, number, publish, table
from PIL import Image

import grouser
from grouser.scenarios import multi_pass as mp
from grouser.terrain import soil

sys.path.insert(0, str(ROOT))
RUNS = {
    "as it stands": {},
    "5 mm grid": {"spacing": 0.005},
    "step 2 ms": {"step": 0.002},
    "without friction": {"friction": "none", "slip": 0.0},
    "lunar soil": {"soil": "lunar-nominal"},
    "sandy loam": {"soil": "sandy-loam"},
}
SUNK, BEFORE = 0.05, 0.25  # [m] the leader at the rut looked at, and the follower from it
PICTURES = {"resistance": "multi-pass-resistance", "forces-paper-compressible": "multi-pass-forces"}
COLOURS = 64  # of a picture in the docs


def main() -> int:
    write = asked_to_write(__doc__)
    rows, ruts = [], ""
    for name, settings in RUNS.items():
        with tempfile.TemporaryDirectory() as folder:
            outcome = grouser.run("multi-pass", settings, out=Path(folder) / "out", report=not settings)
            rows.append([name, *ratios(outcome.metrics)])
            if not settings:
                with grouser.Recording(outcome.recording) as recording:
                    ruts = rut_table(mp.MultiPass(), recording, outcome.metrics)
                if write:
                    keep_pictures(outcome.folder / "figures")
    head = ["run", "eq. 29: χ = 0", "χ = 0.5", "difference", "loose cover: χ = 0", "χ = 0.5", "difference",
            "lugs: ripple N", "smooth: ripple N"]  # fmt: skip
    publish({"multi-pass": table(head, rows), "multi-pass-ruts": ruts, "multi-pass-lugs": lug_table()}, write)
    return 0


def lug_table() -> str:
    """Ripple of a leader without friction in soil that is only compacted, against the law of the lugs."""
    from tests.scenarios.test_multi_pass import ripples_of_a_leader

    rows = []
    for spacing in (0.01, 0.005):
        with tempfile.TemporaryDirectory() as folder:
            values = ripples_of_a_leader(Path(folder), spacing)
            rows.append([f"{1e3 * spacing:g} mm", *(number(value, 2) for value in values)])
    return table(["grid", "bars one by one, N", "lugged leader, N", "smooth leader, N"], rows)


def ratios(m: dict) -> list[str]:
    letter = [m[f"follower_resistance_ratio_{share}"] for share in mp.SOILS]
    cover = [m[f"loose_cover_ratio_{share}"] for share in mp.SOILS]
    values = [*letter, letter[0] - letter[1], *cover, cover[0] - cover[1]]
    return [number(v, 2) for v in values] + [number(m[f"{kind}_ripple_N"], 1) for kind in ("grouser", "smooth")]


def rut_table(s: mp.MultiPass, recording: grouser.Recording, metrics: dict) -> str:
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


def keep_pictures(folder: Path) -> None:
    for name, kept in PICTURES.items():
        with Image.open(folder / f"{name}.png") as picture:
            picture.convert("RGB").quantize(COLOURS).save(FIGURES / f"{kept}.png", optimize=True)


if __name__ == "__main__":
    raise SystemExit(main())
