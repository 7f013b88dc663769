"""What single changes of the papers' soil laws do to a wheel: `python benchmarks/law_changes.py [--write]`.

`single-wheel` at slip 0.3, by the laws of Krenn and Hirzinger 2009 with one thing changed, and by the default laws with
one thing put back. The table goes to docs/theory/soil.md. Times are processor time: what more steps cost more.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from page import ROOT, asked_to_write, number, percent, publish, table

import grouser
from grouser.contact.soil.law_sets import KRENN_2008, KRENN_2009
from grouser.errors import RunStopped

PAGE = ROOT / "docs" / "theory" / "soil.md"
COARSE, FINE = 0.01, 0.005  # [m]
LONG, SHORT = 5e-3, 1e-3  # [s]
SPEED = 0.1  # [m/s]
REST = 1000  # sweeps, more than are needed until no slope is too steep
PAPER, OLD, COHESIONLESS = {"laws": KRENN_2009}, {"laws": KRENN_2008}, {"soil.cohesion": 0.0}
PUT_BACK = {"friction": "mohr-coulomb", "loose_cover": False, "erosion_sweeps": 1, "options": {"samples": 1}}
CHANGES: dict[str, dict[str, Any]] = {
    "`krenn2009`": PAPER,
    "sweeps until no slope is too steep": {**PAPER, "erosion_sweeps": REST},
    "explicit step": {**PAPER, "implicit": False},
    "`krenn2009`, c = 0": {**PAPER, **COHESIONLESS},
    "`krenn2008`, c = 0, μ = tan φ: deposit all round": {**OLD, **COHESIONLESS},
    "`default`": {},
    "friction c + p tan φ": {"friction": "mohr-coulomb"},
    "eq. 29 instead of loose cover": {"loose_cover": False},
    "one sweep a step": {"erosion_sweeps": 1},
    "one point a cell": {"options": {"samples": 1}},
    "friction, eq. 29, one sweep and one point": PUT_BACK,
}
HEAD = ["laws", "sinkage mm", "pull N", "noise", "10 to 5 mm: sinkage", "pull", "5 to 1 ms: sinkage", "pull",
        "noise at 1 ms", "µs a step"]  # fmt: skip


def measured(settings: dict[str, Any], spacing: float = COARSE, step: float = LONG) -> dict[str, float] | None:
    """Metrics of a run, with its steps and its processor time [s]; None if it stops."""
    with tempfile.TemporaryDirectory() as folder:
        chosen = {**settings, "speed": SPEED, "spacing": spacing, "step": step}
        start = time.process_time()
        try:
            outcome = grouser.run("single-wheel", chosen, out=Path(folder) / "out", report=False)
        except RunStopped:
            return None
        return {**outcome.metrics, "steps": outcome.summary["steps"], "time": time.process_time() - start}


def row(name: str, settings: dict[str, Any]) -> list[str]:
    base, fine, short = measured(settings), measured(settings, spacing=FINE), measured(settings, step=SHORT)
    if base is None:
        return [name, *["stops"] * (len(HEAD) - 1)]
    cells = [number(1e3 * base["sinkage_m"], 1), number(base["drawbar_pull_N"], 1), percent(base["load_noise_rel"], 2)]
    for other in (fine, short):
        for key in ("sinkage_m", "drawbar_pull_N"):
            cells.append(percent(other[key] / base[key] - 1) if other else "stops")
    if short is None:
        return [name, *cells, "stops", "stops"]
    cost = (short["time"] - base["time"]) / (short["steps"] - base["steps"])  # set-up and recording cancel
    return [name, *cells, percent(short["load_noise_rel"], 2), number(1e6 * cost, 0)]


def main() -> int:
    write = asked_to_write(__doc__, "docs/theory/soil.md")
    rows = []
    for name, settings in CHANGES.items():
        rows.append(row(name, settings))
        print(" | ".join(rows[-1]), flush=True)
    publish({"law-changes": table(HEAD, rows)}, write, PAGE)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
