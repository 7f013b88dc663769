"""Time of each stage of a wheel's soil step, with parts of the model on and off: `python -m benchmarks.soil_stages`.

`--write` puts the table into docs/validation.md. A commit is cut short after each of its stages in turn, on the same
state of the soil; the time of a stage is the difference of two such commits. `evaluate` likewise. Mean over some states
of the soil, because in some soil slides and in others none. The wheels take turns, so that a machine that slows down
slows all of them. In a step of several parts, soil that is not written back is displaced and slides again in the next
part: there only the sum is exact.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.page import asked_to_write, number, publish, table
from benchmarks.run import REFERENCE, bare_rover
from grouser.contact.soil import model
from grouser.contact.soil.stages import COMMIT, EVALUATE
from grouser.scenarios.single_wheel import RUN_UP, SingleWheel, build
from grouser.simulation.simulation import Simulation

STAGES = (*COMMIT, *EVALUATE)
STATES, REPEATS = 15, 20  # of the soil, and how often each stage is timed in one of them
APART = 7  # [steps] between two states
LUGS = {"grouser_height": 0.01, "grouser_count": 30}
FAST = {"speed": 1.0, "step": 5e-3}  # 5 mm a step: half a cell


@dataclass(frozen=True)
class Wheel:
    """A wheel to time: settings of `single-wheel`, and whether the soil follows it through a step in parts."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    parts: bool = True

    def checked(self) -> SingleWheel:
        return SingleWheel.model_validate({"speed": 0.1, **self.settings})

    def run_up(self) -> int:
        """Steps until the rut is steady."""
        return round(RUN_UP / (self.checked().speed * self.checked().chosen_step))

    def simulation(self) -> Simulation:
        with patch.object(model, "PART_TRAVEL", model.PART_TRAVEL if self.parts else math.inf):
            return build(self.checked())


NO_FACES = {"options": {"faces": False}}
WHEELS = (
    Wheel("straight ahead"),
    Wheel("faces off", NO_FACES),
    Wheel("slip angle 10°", {"slip_angle_deg": 10.0}),
    Wheel("the same, faces off", {"slip_angle_deg": 10.0, **NO_FACES}),
    Wheel("1 m/s, in parts", FAST),
    Wheel("the same, one part", FAST, parts=False),
    Wheel("30 lugs", {"wheel": LUGS}),
    Wheel("on their tips", {"wheel": LUGS, "lugs": "tips"}),
    Wheel("soil 0.1 m deep", {"soil_depth": 0.1}),
)


def timings(sim: Simulation, repeats: int = REPEATS) -> list[list[float]]:
    """Times [s] of commits and evaluations that are cut short, in the state that the soil is in. It stays in it.

    One row a repeat, one column for each of STAGES: all stages see the same disturbances of the machine.
    """
    module = sim.modules[0]
    saved = [(a.numpy(), a.numpy().copy()) for a in (*module.state().values(), *sim.ground.state().values())]
    limits = module.arrays.options.stages.numpy()

    def restore() -> None:
        for view, value in saved:
            view[...] = value

    def timed(call: Callable[[float], None]) -> float:
        start = time.perf_counter()
        call(sim.step_size)
        return time.perf_counter() - start

    rows = []
    for _ in range(repeats):
        row = []
        for limits[0] in range(1, len(COMMIT) + 1):
            restore()
            row.append(timed(module.commit))
        for limits[1] in range(1, len(EVALUATE) + 1):
            row.append(timed(module.evaluate))
        rows.append(row)
    restore()
    return rows


def stage_times(states: Sequence[Sequence[Sequence[float]]]) -> dict[str, float]:
    """[us] of each stage from the times [s] after it in some states of the soil. They add up to the whole.

    The first stages of commit and evaluate include the call of the kernel.
    """
    after = np.mean([np.median(rows, axis=0) for rows in states], axis=0)
    commit, evaluate = after[: len(COMMIT)], after[len(COMMIT) :]
    each = np.concatenate([np.diff(commit, prepend=0.0), np.diff(evaluate, prepend=0.0)])
    return dict(zip(STAGES, 1e6 * each, strict=True))


def stage_costs(sim: Simulation) -> dict[str, float]:
    """[us] of each stage of the soil on the way of a simulation."""
    states = []
    for _ in range(STATES):
        sim.step(APART)
        states.append(timings(sim))
    return stage_times(states)


def stage_table(columns: dict[str, dict[str, float]], reference: float) -> str:
    """A row a stage, a column a wheel, [us] scaled to the machine of the bars; the last row is the sum."""
    scale = REFERENCE / reference
    rows = [(stage, *(number(scale * costs[stage], 1) for costs in columns.values())) for stage in STAGES]
    rows.append(("all", *(number(scale * sum(costs.values()), 1) for costs in columns.values())))
    return table(("stage, µs", *columns), rows)


def main() -> int:
    write = asked_to_write(__doc__)
    simulations = {wheel.name: wheel.simulation() for wheel in WHEELS}
    for wheel in WHEELS:
        simulations[wheel.name].step(wheel.run_up())
    states: dict[str, list[list[list[float]]]] = {name: [] for name in simulations}
    references = []
    for _ in range(STATES):
        references.append(bare_rover())
        for name, sim in simulations.items():
            sim.step(APART)
            states[name].append(timings(sim))
    reference = min(references)
    print(f"reference: bare rover {reference:.2f} us a step; times are scaled to {REFERENCE:.0f} us")
    columns = {name: stage_times(of_wheel) for name, of_wheel in states.items()}
    publish({"soil-stages": stage_table(columns, reference)}, write)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
