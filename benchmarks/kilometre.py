"""Speed of `traverse`: wall time of a simulated second along a kilometre's way, recorded as the command does it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import grouser
from benchmarks.run import Row

LENGTH = 20.0  # [m] of the way that is driven: over a minute of simulated time
RUNS = 2  # the faster one counts, as the other may have been disturbed
BAR = 100.0  # [ms] wall time of a simulated second: ten times real time


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        factors = [factor(Path(folder)) for _ in range(RUNS)]
    return [Row("kilometre", f"1 s of a rover at 0.3 m/s, {LENGTH:g} m, recorded", 1e3 / max(factors), "ms", BAR)]


def factor(folder: Path) -> float:
    """Simulated time over wall time of the loop of a run."""
    return grouser.run("traverse", length=LENGTH, out=folder, report=False, force=True).metrics["real_time_factor"]
