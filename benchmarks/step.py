"""How results depend on the step: a quadruped that trots and a machine on wheels, `python benchmarks/step.py`.

Speed along the heading, sinkage weighted by load, power sum max(torque x speed, 0) of the joints (as `energy_J` of the
scenario `robot` has it); means over strides and nudged starts.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.simulation.step_robots import CASES, simulate


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--steps", type=float, nargs="*", default=[5, 2, 1, 0.5, 0.25], help="[ms]")
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--soil", default="dry-sand")
    args = parser.parse_args()
    for name in args.cases:
        print(f"{name}: step ms, speed m/s, sinkage mm, power W (spread of the mean), times real time")
        for step in args.steps:
            values, wall, sim = simulate(CASES[name], 1e-3 * step, args.starts, args.soil)
            mean, spread = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(args.starts)
            print(
                f"{step:6g} {mean[0]:.4f} ({spread[0]:.4f})  {1e3 * mean[1]:.3f} ({1e3 * spread[1]:.3f})  "
                f"{mean[2]:.3f} ({spread[2]:.3f})  {1 / wall:.1f}  {sim.engine.step * 1e3:g}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
