"""Time of one `single-wheel` of 1.5 m in a series, as identifications run them: one process, kernels loaded once.

python benchmarks/wheel_series.py: median over runs in different soils, for a smooth wheel and for wheels with lugs.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from grouser.commands.sweep import ScenarioRunner
from grouser.identification.constants import CONSTANTS, Prior
from grouser.identification.wheel_runs import RATE, TestedWheel, plan, spread
from grouser.terrain.soils import soil
from grouser.validation.measured import Lugs, Wheel

RUNS = 12
WHEELS = {
    "r 150 mm, smooth": Wheel(radius=0.15, width=0.10),
    "r 150 mm, 24 lugs of 10 mm": Wheel(radius=0.15, width=0.10, lugs=Lugs(count=24, height=0.01, thickness=0.004)),
    "r 85 mm, 16 lugs of 10 mm": Wheel(radius=0.085, width=0.08, lugs=Lugs(count=16, height=0.01, thickness=0.003)),
}


def main() -> None:
    prior = Prior.of(CONSTANTS, soil("dry-sand"))
    for name, wheel in WHEELS.items():
        tested = TestedWheel(wheel, 9.81, slip=(0.1, 0.6), load=(60.0, 60.0))
        cases, runner = plan(spread(tested, prior, RUNS), name).cases, ScenarioRunner(RATE, None)
        runner.warm(cases[0])
        wall, cpu = [], []
        for case in cases:
            with tempfile.TemporaryDirectory() as folder:
                started, used = time.perf_counter(), time.process_time()
                runner.run(case, Path(folder))
                wall.append(time.perf_counter() - started)
                cpu.append(time.process_time() - used)
        print(
            f"{name}: {statistics.median(wall):.2f} s, {statistics.median(cpu):.2f} s of a core, most {max(wall):.2f} s"
        )


if __name__ == "__main__":
    main()
