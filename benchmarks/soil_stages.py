"""Time of each stage of a wheel's soil step, with parts of the model on and off: `python -m benchmarks.soil_stages`.

`--write` puts the table into docs/validation.md. Kernels time their own stages (`contact/soil/stage_clock.py`) while
the wheel rolls, in the compiled loop in which users run it. A block of some steps gives the time of each stage; the
table has the median over the blocks, because other programs disturb some of them. The wheels take turns, so that a
machine that slows down slows all of them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import warp as wp

from benchmarks.page import asked_to_write, number, publish, table
from benchmarks.run import REFERENCE, bare_rover
from grouser.contact.soil import stage_clock
from grouser.contact.soil.stages import COMMIT, EVALUATE
from grouser.device import array, module
from grouser.scenarios.single_wheel import RUN_UP, SingleWheel, build
from grouser.simulation.simulation import Simulation

STAGES = (*COMMIT, *EVALUATE)
BLOCKS, BLOCK = 15, 10  # blocks, and steps of a block; more and the fast wheels leave their terrain
WARM = 5  # steps before a block: the wheel before has used the caches
LUGS = {"grouser_height": 0.01, "grouser_count": 30}
FAST = {"speed": 1.0, "step": 5e-3}  # 5 mm a step: half a cell


@dataclass(frozen=True)
class Wheel:
    """A wheel to time: settings of `single-wheel`."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)

    def checked(self) -> SingleWheel:
        return SingleWheel.model_validate({"speed": 0.1, **self.settings})

    def run_up(self) -> int:
        """Steps until the rut is steady."""
        return round(RUN_UP / (self.checked().speed * self.checked().chosen_step))

    def simulation(self) -> Simulation:
        return build(self.checked())


NO_FACES = {"options": {"faces": False}}
WHEELS = (
    Wheel("straight ahead"),
    Wheel("faces off", NO_FACES),
    Wheel("slip angle 10°", {"slip_angle_deg": 10.0}),
    Wheel("the same, faces off", {"slip_angle_deg": 10.0, **NO_FACES}),
    Wheel("1 m/s, in parts", FAST),
    Wheel("the same, one part", {**FAST, "options": {"part_travel": 1e6}}),
    Wheel("30 lugs", {"wheel": LUGS}),
    Wheel("on their tips", {"wheel": LUGS, "lugs": "tips"}),
    Wheel("soil 0.1 m deep", {"soil_depth": 0.1}),
)


@wp.kernel(module=module("benchmarks.soil_stages"))
def read_ticks(ticks_out: array[wp.int64]):
    ticks_out[0] = stage_clock.ticks()


@cache
def ticks_per_us(wait: float = 0.2) -> float:
    """Rate of the counter by which the kernels time their stages."""

    def both() -> tuple[float, int]:
        wp.launch(read_ticks, 1, inputs=[now], device="cpu")
        return time.perf_counter(), int(now.numpy()[0])

    now = wp.zeros(1, dtype=wp.int64, device="cpu")
    both()  # compiles the kernel
    start, first = both()
    time.sleep(wait)
    end, last = both()
    return (last - first) / (1e6 * (end - start))


def timed_block(sim: Simulation, steps: int = BLOCK) -> np.ndarray:
    """[us] a step of a rolling wheel in each of STAGES, and last of the whole step; mean over some steps."""
    soil: Any = sim.modules[0]
    laps = soil.arrays.options.laps.numpy()
    laps[:] = 0
    laps[stage_clock.ON] = 1
    start = time.perf_counter()
    sim.step(steps)
    whole = 1e6 * (time.perf_counter() - start)
    laps[stage_clock.ON] = 0
    return np.append(laps[stage_clock.FIRST :] / ticks_per_us(), whole) / steps


def stage_times(blocks: Sequence[np.ndarray]) -> dict[str, float]:
    """[us] of each stage, median over the blocks."""
    return dict(zip(STAGES, np.median(blocks, axis=0), strict=False))


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
    blocks: dict[str, list[np.ndarray]] = {name: [] for name in simulations}
    references = []
    for _ in range(BLOCKS):
        references.append(bare_rover(200, 1))
        for name, sim in simulations.items():
            sim.step(WARM)
            blocks[name].append(timed_block(sim))
    reference = float(np.percentile(references, 10))
    print(f"reference: bare rover {reference:.2f} us a step; times are scaled to {REFERENCE:.0f} us")
    columns = {name: stage_times(of_wheel) for name, of_wheel in blocks.items()}
    publish({"soil-stages": stage_table(columns, reference)}, write)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
