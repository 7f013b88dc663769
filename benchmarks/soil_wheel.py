"""One wheel (r 0.15 m, b 0.1 m) rolling on dry sand at slip 0.3 with everything on: what a step costs, and where."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.run import Row
from benchmarks.soil_stages import stage_costs
from grouser.scenarios.single_wheel import SingleWheel, build
from grouser.simulation.simulation import Simulation

BARS = {0.01: 60.0, 0.005: 200.0}  # [us] a step for the soil
GLUE_BAR = 25.0  # [us] engine and glue
WARM_UP, STEPS, BLOCK = 400, 1000, 50


def measure() -> list[Row]:
    rows: list[Row] = []
    for spacing, bar in BARS.items():
        label = f"{1e3 * spacing:.0f} mm"
        sim = build(SingleWheel(speed=0.1, spacing=spacing))
        sim.step(WARM_UP)
        soil, step = soil_cost(sim), whole_cost(sim)
        rows.append(Row("soil-wheel", f"{label}: soil, commit and evaluate", soil, "us", bar))
        rows.append(Row("soil-wheel", f"{label}: engine and glue", step - soil, "us", GLUE_BAR))
        rows += [Row("soil-wheel", f"{label}: of it {name}", cost, "us") for name, cost in stage_costs(sim).items()]
    return rows


def whole_cost(sim: Simulation) -> float:
    """[us] a step of the whole simulation, mean over a stretch, best stretch."""
    costs = []
    for _ in range(STEPS // BLOCK):
        start = time.perf_counter()
        sim.step(BLOCK)
        costs.append((time.perf_counter() - start) / BLOCK)
    return 1e6 * float(np.median(costs))


def soil_cost(sim: Simulation) -> float:
    """[us] a step inside the soil's commit and evaluate while rolling, erosion steps and quiet ones in their share."""
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
    sim.step(STEPS)
    module.commit, module.evaluate = calls["commit"], calls["evaluate"]
    sim.compiled = compiled
    per_step = np.array(costs).reshape(-1, 2 * BLOCK).sum(axis=1) / BLOCK
    return 1e6 * float(np.median(per_step))
