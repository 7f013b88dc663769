"""One wheel (r 0.15 m, b 0.1 m) rolling on dry sand at slip 0.3 with everything on: what a step costs, and where."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.run import Row, bare_rover, report
from benchmarks.soil_stages import BLOCK, stage_times, timed_block
from grouser.scenarios.single_wheel import SingleWheel, build
from grouser.simulation.simulation import Simulation

BARS = {0.01: 40.0, 0.005: 115.0}  # [us] a step for the soil
GLUE_BAR = 25.0  # [us] engine and glue
WARM_UP, STEPS = 400, 2000


def measure() -> list[Row]:
    rows: list[Row] = []
    for spacing, bar in BARS.items():
        label = f"{1e3 * spacing:.0f} mm"
        sim = build(SingleWheel(speed=0.1, spacing=spacing))
        sim.step(WARM_UP)
        stages, soil, step = rolling_cost(sim)
        rows.append(Row("soil-wheel", f"{label}: soil, commit and evaluate", soil, "us", bar))
        rows.append(Row("soil-wheel", f"{label}: engine and glue", step - soil, "us", GLUE_BAR))
        rows += [Row("soil-wheel", f"{label}: of it {name}", cost, "us") for name, cost in stages.items()]
        rows.append(Row("soil-wheel", f"{label}: soil, called from Python", cost_from_python(sim), "us"))
    return rows


def rolling_cost(sim: Simulation) -> tuple[dict[str, float], float, float]:
    """[us] a step of each stage of the soil, of all stages, and of the whole step, while wheels roll.

    Blocks of steps in the compiled loop, as users run it. Each is a median over the blocks.
    """
    blocks = [timed_block(sim) for _ in range(STEPS // BLOCK)]
    soil, step = (float(np.median(values)) for values in zip(*((b[:-1].sum(), b[-1]) for b in blocks), strict=True))
    return stage_times(blocks), soil, step


def cost_from_python(sim: Simulation, steps: int = 500) -> float:
    """[us] a step of two calls from Python, commit and evaluate: what was taken for the cost of the soil before.

    It includes some six microseconds for the calls themselves, which the compiled loop does not have.
    """
    module = sim.modules[0]
    costs: list[float] = []
    calls = {name: getattr(module, name) for name in ("commit", "evaluate")}

    def timed(name):
        def call(h):
            start = time.perf_counter()
            calls[name](h)
            costs.append(time.perf_counter() - start)

        return call

    compiled, sim.compiled = sim.compiled, []  # step by step in Python, to see both calls
    module.commit, module.evaluate = timed("commit"), timed("evaluate")
    sim.step(steps)
    module.commit, module.evaluate = calls["commit"], calls["evaluate"]
    sim.compiled = compiled
    per_step = np.array(costs).reshape(-1, 2 * BLOCK).sum(axis=1) / BLOCK
    return 1e6 * float(np.median(per_step))


def one_by_one() -> Any:
    """Makes soil that is built meanwhile take its nodes one by one, not in lanes."""
    return patch("grouser.contact.soil.model.lane_stages", dict)


def main() -> int:
    """Print the times, and those with one node at a time."""
    before = bare_rover()
    rows = measure()
    with one_by_one():
        rows += [replace(row, what=f"{row.what}, one node at a time", bar=None) for row in measure()]
    report(rows, min(before, bare_rover()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
