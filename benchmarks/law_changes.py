"""What single changes of the papers' soil laws do to a wheel: `python benchmarks/law_changes.py [--write]`.

`single-wheel` at slip 0.3, by the laws of Krenn and Hirzinger 2009 with one thing changed, and by the default laws with
one thing put back. The table goes to docs/theory/soil.md. Times are those of the machine: run it on an idle one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from page import ROOT, asked_to_write, number, percent, publish, table

import grouser
from grouser.contact.soil import erosion
from grouser.contact.soil.law_sets import KRENN_2008, KRENN_2009, LAW_SETS
from grouser.errors import RunStopped

PAGE = ROOT / "docs" / "theory" / "soil.md"
COARSE, FINE = 0.01, 0.005  # [m]
LONG, SHORT = 5e-3, 1e-3  # [s]
REST = 1000  # sweeps, more than are needed until no slope is too steep
PAPER, OLD = {"laws": KRENN_2009}, {"laws": KRENN_2008}
UNDONE = {"friction": "mohr-coulomb", "loose_cover": False, "erosion_sweeps": 1}  # what options can put back


@dataclass(frozen=True)
class Change:
    """Settings of `single-wheel`, and stages that the default laws keep."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    keeps: tuple[Any, ...] = ()


CHANGES = {
    "`krenn2009`": Change(PAPER),
    "sweeps until no slope is too steep": Change({**PAPER, "erosion_sweeps": REST}),
    "erosion by the default law": Change({**PAPER, "erosion_sweeps": REST}, (erosion.erode,)),
    "no erosion": Change({**PAPER, "erosion": False}),
    "no damping": Change({**PAPER, "soil.damping_time": 0.0}),
    "K_e four times as stiff": Change({**PAPER, "soil.elastic_stiffness": 2e8}),
    "explicit step": Change({**PAPER, "implicit": False}),
    "`krenn2009`, c = 0": Change({**PAPER, "soil.cohesion": 0.0}),
    "`krenn2008`, c = 0, μ = tan φ: deposit all round": Change({**OLD, "soil.cohesion": 0.0}),
    "`default`": Change(),
    "friction c + p tan φ": Change({"friction": "mohr-coulomb"}),
    "eq. 29 instead of loose cover": Change({"loose_cover": False}),
    "one sweep a step": Change({"erosion_sweeps": 1}),
    "one point a cell": Change({"options": {"samples": 1}}),
    "no steep faces": Change({"options": {"faces": False}}),
    "shear kept on the nodes": Change({"node_shear": True}),
    "damping off": Change({"soil.damping_time": 0.0}),
    "explicit": Change({"implicit": False}),
    "friction, eq. 29, one sweep, one point, no faces": Change(
        {**UNDONE, "options": {"samples": 1, "faces": False}}
    ),
}  # fmt: skip
HEAD = ["laws", "sinkage mm", "pull N", "noise", "10 to 5 mm: sinkage", "pull", "5 to 1 ms: sinkage", "pull",
        "µs a step"]  # fmt: skip


@contextmanager
def stages_kept(keeps: tuple[Any, ...]) -> Iterator[None]:
    """`krenn2009` with some stages of the default laws."""
    usual = LAW_SETS[KRENN_2009]
    left = {old: new for old, new in usual.stages().items() if old not in keeps}
    LAW_SETS[KRENN_2009] = replace(usual, stages=lambda: left)
    try:
        yield
    finally:
        LAW_SETS[KRENN_2009] = usual


def measured(change: Change, spacing: float = COARSE, step: float = LONG) -> dict[str, float] | None:
    """Metrics of a run; None if it stops."""
    with tempfile.TemporaryDirectory() as folder, stages_kept(change.keeps):
        settings = {**change.settings, "spacing": spacing, "step": step}
        try:
            return grouser.run("single-wheel", settings, out=Path(folder) / "out", report=False).metrics
        except RunStopped:
            return None


def row(name: str, change: Change) -> list[str]:
    base, fine, short = measured(change), measured(change, spacing=FINE), measured(change, step=SHORT)
    print(name, base and base["real_time_factor"], flush=True)
    if base is None:
        return [name, *["stops"] * (len(HEAD) - 1)]
    cells = [number(1e3 * base["sinkage_m"], 1), number(base["drawbar_pull_N"], 1), percent(base["load_noise_rel"], 2)]
    for other in (fine, short):
        for key in ("sinkage_m", "drawbar_pull_N"):
            cells.append(percent(other[key] / base[key] - 1) if other else "stops")
    return [name, *cells, number(1e6 * LONG / base["real_time_factor"], 0)]


def main() -> int:
    write = asked_to_write(__doc__, "docs/theory/soil.md")
    rows = [row(name, change) for name, change in CHANGES.items()]
    publish({"law-changes": table(HEAD, rows)}, write, PAGE)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
