"""A stretch of `traverse` at several steps and with rocks: `python benchmarks/traverse.py [--write]`.

Processor time, not wall time; on a machine that does other work too it still comes out too long.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from page import ROOT, asked_to_write, number, publish, quiet, table

import grouser

PAGE = ROOT / "docs" / "traverse.md"
LENGTH = 30.0  # [m]
DRIVES: dict[str, dict[str, Any]] = {
    "8 ms": {"step": 8e-3},
    "8 ms, parts of 1/8 cell": {"step": 8e-3, "part_travel": 0.125},
    "by speed, 6.4 ms": {},
    "4 ms": {"step": 4e-3},
    "2 ms": {"step": 2e-3},
    "1 ms": {"step": 1e-3},
    "with rocks, 6.4 ms": {"rocks": {}},
    "with rocks, 4 ms": {"rocks": {}, "step": 4e-3},
    "with rocks, 2 ms": {"rocks": {}, "step": 2e-3},
}
COLUMNS = {
    "energy_per_metre_J": ("energy J/m", 1, 1.0),
    "slip_mean": ("slip %", 2, 100.0),
    "sinkage_mean_m": ("sinkage mm", 2, 1e3),
    "cross_track_error_max_m": ("off the way mm", 0, 1e3),
    "tip_over_margin_min_deg": ("margin °", 1, 1.0),
}


def main() -> int:
    write = asked_to_write(__doc__, "docs/traverse.md")
    quiet()
    grouser.run("traverse", length=0.5, rocks={}, out=tempfile.mkdtemp(), report=False, force=True)  # compiles
    rows = []
    for name, settings in DRIVES.items():
        with tempfile.TemporaryDirectory() as folder:
            start = time.process_time()
            outcome = grouser.run("traverse", {"length": LENGTH, **settings}, out=Path(folder) / "out", report=False)
            used = time.process_time() - start
        values = [number(scale * outcome.metrics[key], digits) for key, (_, digits, scale) in COLUMNS.items()]
        rows.append([name, *values, number(outcome.last_time / used, 1)])
        print(rows[-1], flush=True)
    words = [word for word, _, _ in COLUMNS.values()]
    publish({"traverse-steps": table(["step", *words, "times real time"], rows)}, write, PAGE)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
