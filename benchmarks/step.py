"""How results depend on the step: a quadruped that trots and a machine on wheels, `python benchmarks/step.py --write`.

Speed along the heading, sinkage weighted by load, power sum max(torque x speed, 0) of the joints (as `energy_J` of the
scenario `robot` has it); means over strides and nudged starts, in brackets against the smallest step.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import page
from tests.simulation.step_robots import CASES, RIM, Case, simulate

TABLE = ("trot-0.35", "trot-0.6", "wheels-1", "wheels-2")  # the cases of the table
STEPS = (5.0, 2.0, 1.0, 0.5, 0.25)  # [ms]
HEAD = ("robot", "step ms", "speed m/s", "sinkage mm", "power W")
SCALES = (1.0, 1e3, 1.0)  # from SI to the units of HEAD
DIGITS = (4, 2, 2)


def rows(case: Case, steps: list[float], starts: int, soil: str) -> list[list[str]]:
    """One row a step; the last step is the reference."""
    means = []
    for step in steps:
        values, wall, _ = simulate(case, 1e-3 * step, starts, soil)
        means.append(values.mean(axis=0) * SCALES)
        spread = values.std(axis=0, ddof=1) / np.sqrt(starts) * SCALES
        print(f"{case.name}, {step:g} ms: {means[-1]} +- {spread}, {1 / wall:.1f} times real time", flush=True)
    return [
        [case.name, f"{step:g}", *(cell(*parts) for parts in zip(mean, means[-1], DIGITS, strict=True))]
        for step, mean in zip(steps, means, strict=True)
    ]


def cell(value: float, reference: float, digits: int) -> str:
    text = page.number(value, digits)
    return text if value == reference else f"{text} ({page.percent(value / reference - 1)})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(TABLE), help=f"of {', '.join(CASES)}")
    parser.add_argument("--steps", type=float, nargs="*", default=list(STEPS), help="[ms], the reference last")
    parser.add_argument("--starts", type=int, default=5, help="at least 2")
    parser.add_argument("--soil", default="dry-sand")
    parser.add_argument("--radius", type=float, default=RIM, help="[m] of the wheels")
    parser.add_argument("--write", action="store_true", help="put the table into docs/validation.md")
    args = parser.parse_args()
    page.quiet()
    cases = [dataclasses.replace(CASES[name], radius=args.radius) for name in args.cases]
    lines = [row for case in cases for row in rows(case, args.steps, args.starts, args.soil)]
    page.publish({"steps-of-robots": page.table(HEAD, lines)}, args.write)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
