"""How far MuJoCo Warp in float32 is from MuJoCo in float64, on the same robots and soil; runs on Warp's CPU device.

    python -m benchmarks.engines

Single steps: a run on the CPU is copied to MuJoCo Warp every 13 steps, and both go one step. Runs: both start alike and
go on alone; beside it the difference between two runs on the CPU that start 1e-7 m apart. Differences are relative to
the largest value, for speeds at least 0.1 m/s or rad/s.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from grouser.engine.mujoco_warp import MujocoWarp
from grouser.simulation import Simulation
from tests.engine import test_mujoco_warp_on_soil as robots

ON_WARP = partial(MujocoWarp, device="cpu")
ROBOTS: dict[str, Callable[..., Simulation]] = {"rover": robots.rover, "cart": robots.cart, "quadruped": robots.walker}
LOOKS, BETWEEN = 20, 12
RUN = 200  # steps
NUDGE = 1e-7  # [m]
KINDS = ("qpos", "qvel", "sinkage", "effective")


def single_steps(make: Callable[..., Simulation]) -> dict[str, float]:
    """Largest difference after one step from the same state, along a run."""
    reference, engine = make(), make(ON_WARP)
    most = dict.fromkeys(KINDS, 0.0)
    for _ in range(LOOKS):
        reference.step(BETWEEN)
        engine.restore(reference.checkpoint())
        reference.step()
        engine.step()
        most = {name: max(most[name], far) for name, far in robots.apart(engine, reference).items()}
    return most


def whole_run(make: Callable[..., Simulation]) -> tuple[dict[str, float], dict[str, float]]:
    """Difference after a run, and that of a run on the CPU that starts NUDGE away."""
    reference, nudged, engine = make(), make(), make(ON_WARP)
    nudged.data.qpos[:3] += NUDGE * np.random.default_rng(0).normal(size=3)
    nudged.engine.kinematics()
    for sim in (reference, nudged, engine):
        sim.step(RUN)
    return robots.apart(engine, reference), robots.apart(nudged, reference)


def main() -> int:
    print(f"{'robot':10} {'what':28} " + " ".join(f"{name:>10}" for name in KINDS))
    for name, make in ROBOTS.items():
        run, nudged = whole_run(make)
        rows = {"one step": single_steps(make), f"{RUN} steps": run, f"{RUN} steps, CPU, nudged": nudged}
        for what, far in rows.items():
            print(f"{name:10} {what:28} " + " ".join(f"{far[kind]:10.1e}" for kind in KINDS), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
