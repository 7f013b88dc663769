"""The rover of exomars-drawbar, six wheels, 10 mm grid, erosion on: what a step costs, and where, and how good it is.

The accuracy is that of the whole scenario against a tenth of the step, which takes ten times as long. A rover that digs
itself in is sensitive to the last digit of its speed, so both are the medians of three runs at nearly the same speed.
The six runs share the cores, after everything that is timed: three minutes on two of them. `python -m benchmarks.rover`
prints the times alone, also with one node at a time. The rover has its own wheels of 0.12 m here, drives faster and has
a softer spring, as it had when the history of this benchmark began.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import grouser
from benchmarks.run import Row, bare_rover, report
from benchmarks.soil_wheel import one_by_one, rolling_cost
from grouser.scenarios.exomars_drawbar import ExoMarsDrawbar, build

BAR = 330.0  # [us] a step of 8 ms: 24 times faster than real time
WARM_UP = 20.0  # [s] after which the rover has left its pits
CLOSE = 0.03  # of the values with a tenth of the step
SPEED = 0.03  # [m/s]
CASE = {"rover": {"wheel_width": 0.12}, "stiffness": 70.0}
NEARLY = (1.0, 1.0001, 0.9999)  # of that speed
UNITS = {"_N": "N", "_m": "m"}
COMPARED = ("drawbar_pull_max_N", "front_sinkage_m", "middle_sinkage_m", "rear_sinkage_m", "slip_final")


def settings() -> ExoMarsDrawbar:
    return ExoMarsDrawbar(**CASE, speed=SPEED)  # type: ignore[arg-type]


def measure() -> list[Row]:
    return times() + accuracy(settings().chosen_step)


def times() -> list[Row]:
    """What a step costs."""
    step = settings().chosen_step
    sim = build(settings())
    sim.step(round(WARM_UP / step))
    stages, soil, whole = rolling_cost(sim)
    rows = [
        Row("rover", f"step of {1e3 * step:g} ms, all", whole, "us", BAR),
        Row("rover", "soil, commit and evaluate, six wheels", soil, "us"),
        Row("rover", "engine and glue", whole - soil, "us"),
    ]
    rows += [Row("rover", f"of it {name}", cost, "us") for name, cost in stages.items()]
    return rows


def accuracy(step: float) -> list[Row]:
    """Relative differences to a run with a tenth of the step, and how far runs of one step are apart."""
    cases = [(size, factor) for size in (step / 10, step) for factor in NEARLY]
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        results = list(pool.map(pulled, *zip(*cases, strict=True)))
    rows = []
    for name in COMPARED:
        fine, coarse = ([r[name] for r in part] for part in (results[: len(NEARLY)], results[len(NEARLY) :]))
        middle, reference = statistics.median(coarse), statistics.median(fine)
        spread = max((max(part) - min(part)) / statistics.median(part) for part in (coarse, fine))
        rows.append(Row("rover", f"{name}", middle, UNITS.get(name[-2:], "1"), None, False))
        rows.append(Row("rover", "  against a tenth of the step", abs(middle / reference - 1), "1", CLOSE, False))
        rows.append(Row("rover", "  between three runs", spread, "1", None, False))
    return rows


def pulled(step: float, factor: float) -> dict[str, float]:
    """Metrics of a run at a factor times the speed."""
    settings = {**CASE, "step": step, "speed": factor * SPEED}
    with tempfile.TemporaryDirectory() as folder:
        return grouser.run("exomars-drawbar", settings, out=Path(folder) / "out", report=False).metrics


def main() -> int:
    before = bare_rover()
    rows = times()
    with one_by_one():
        rows += [replace(row, what=f"{row.what}, one node at a time", bar=None) for row in times()]
    report(rows, min(before, bare_rover()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
