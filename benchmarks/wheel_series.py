"""Time of one `single-wheel` of 1.5 m in a series, as identifications run them: one process, kernels loaded once.

`make bench NAME=wheel-series`: median over runs in different soils, for a smooth wheel and for wheels with lugs.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.run import Row
from grouser.commands.sweep import ScenarioRunner
from grouser.identification.constants import CONSTANTS, Prior
from grouser.identification.wheel_runs import RATE, TestedWheel, plan, spread
from grouser.terrain.soils import soil
from grouser.validation.measured import Lugs, Wheel

BAR = 0.5  # [s] of wall time on one core
RUNS = 12
WHEELS = {
    "r 150 mm, smooth": Wheel(radius=0.15, width=0.10),
    "r 150 mm, 24 lugs of 10 mm": Wheel(radius=0.15, width=0.10, lugs=Lugs(count=24, height=0.01, thickness=0.004)),
    "r 85 mm, 16 lugs of 10 mm": Wheel(radius=0.085, width=0.08, lugs=Lugs(count=16, height=0.01, thickness=0.003)),
}


def measure() -> list[Row]:
    rows = []
    for name, wheel in WHEELS.items():
        wall = timed(name, wheel)
        rows.append(Row("wheel-series", f"{name}, median", statistics.median(wall), "s", BAR))
        rows.append(Row("wheel-series", f"{name}, slowest", max(wall), "s"))
    return rows


def timed(name: str, wheel: Wheel) -> list[float]:
    """[s] of each run of a wheel."""
    prior = Prior.of(CONSTANTS, soil("dry-sand"))
    tested = TestedWheel(wheel, 9.81, slip=(0.1, 0.6), load=(60.0, 60.0))
    cases, runner = plan(spread(tested, prior, RUNS), name).cases, ScenarioRunner(RATE, None)
    runner.warm(cases[0])
    wall = []
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            started = time.perf_counter()
            runner.run(case, Path(folder))
            wall.append(time.perf_counter() - started)
    return wall
