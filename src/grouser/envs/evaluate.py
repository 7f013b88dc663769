"""Compare a policy with the hand-written controller over many seeds:

    python -m grouser.envs.evaluate --seeds 100 --soils outside

Both drive in the same worlds: seed k has the same soil, terrain and goal for both.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from grouser.envs.controllers import HAND_WRITTEN, Controller, driver_of, side_by_side
from grouser.errors import GrouserError, InputError
from grouser.files import write_atomically
from grouser.terrain import checks

RESAMPLES = 10_000  # of the bootstrap
CONFIDENCE = 0.95
NORMAL_QUANTILE = 1.959964  # of CONFIDENCE, two-sided
WHAT = {
    "success": "share of episodes",
    "return": "sum of rewards",
    "time": "s until the end of the episode",
    "slip": "m of slip per m of path",
    "energy": "J per m of path",
}


def episodes(env: Any, controller: Controller, seeds: Sequence[int]) -> dict[str, np.ndarray]:
    """Run one episode in each world. Returns totals, (world,) each: names of `task.TOTALS` and `length`."""
    observed, _ = env.reset(seed=list(seeds))
    running, out = np.ones(env.num_envs, bool), {}
    while running.any():
        observed, _, _, _, info = env.step(controller(observed))
        ends = running & info["_final_info"] if info else np.zeros_like(running)
        if ends.any():
            for name, values in info["final_info"].items():
                out.setdefault(name, np.zeros(env.num_envs))[ends] = values[ends]
            running &= ~ends
    return out


def measures(totals: dict[str, np.ndarray], period: float) -> dict[str, np.ndarray]:
    """The quantities of WHAT of each episode, (episode,). `period` [s] of control."""
    path = np.maximum(totals["distance"], 0.05)
    return {
        "success": totals["success"],
        "return": totals["return"],
        "time": period * totals["length"],
        "slip": totals["slip"] / path,
        "energy": totals["energy"] / path,
    }


def wilson(successes: float, count: int) -> tuple[float, float]:
    """Confidence bounds of a share: Wilson 1927, eq. 4."""
    z, p = NORMAL_QUANTILE, successes / count
    middle = (p + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(p * (1 - p) / count + z * z / (4 * count * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def bootstrap(values: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """Confidence bounds of a mean: percentiles of the means of resamples, Efron and Tibshirani 1993, chapter 13."""
    picks = np.random.default_rng(seed).integers(len(values), size=(RESAMPLES, len(values)))
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(values[picks].mean(axis=1), [tail, 100 - tail])
    return float(low), float(high)


def bounds(name: str, values: np.ndarray) -> tuple[float, float]:
    return wilson(float(values.sum()), len(values)) if name == "success" else bootstrap(values)


def table(found: dict[str, dict[str, np.ndarray]]) -> dict[str, Any]:
    """Mean and bounds of each measure of each controller, and of the difference of the first to the last."""
    out: dict[str, Any] = {}
    for who, values in found.items():
        out[who] = {name: {"mean": float(one.mean()), "bounds": bounds(name, one)} for name, one in values.items()}
    first, last = next(iter(found)), next(reversed(found))
    if first != last:
        apart = {name: found[first][name] - found[last][name] for name in WHAT}
        out[f"{first} - {last}"] = {
            name: {"mean": float(one.mean()), "bounds": bootstrap(one)} for name, one in apart.items()
        }
    return out


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m grouser.envs.evaluate", description=(__doc__ or "").partition("\n")[0]
    )
    made.add_argument("--task", default="RoverGoal")
    made.add_argument("--policy", default=None, help="file, or hand-written; by default that of the package")
    made.add_argument("--seeds", type=int, default=100)
    made.add_argument("--first-seed", type=int, default=1_000_000, help="not those of training")
    made.add_argument("--soils", default="outside", choices=("outside", "training"))
    made.add_argument("--device", default="cpu")
    made.add_argument("--spacing", type=float, default=None, help="of the soil grid [m]; default: that of the task")
    made.add_argument("--out", type=Path, default=None, help="file for the table as JSON")
    return made


def main(arguments: list[str] | None = None) -> int:
    args = parser().parse_args(arguments)
    try:
        evaluate(args)
    except GrouserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, InputError) else 3
    return 0


def evaluate(args: argparse.Namespace) -> dict[str, Any]:
    from grouser.envs import make, task_of

    checks.count(args.seeds, "seeds", at_least=1)
    task, drivers = task_of(args.task), {}
    names = [value.name for value in task.readings(task.spec().compile())]
    for choice in (args.policy, HAND_WRITTEN):
        who, driver = driver_of(choice, task, names)
        drivers[who] = driver
    # All drive at the same time, each in worlds of its own: a GPU takes little longer for more worlds.
    env = make(args.task, len(drivers) * args.seeds, device=args.device, soils=args.soils, spacing=args.spacing)
    seeds = [*range(args.first_seed, args.first_seed + args.seeds)] * len(drivers)
    totals = measures(episodes(env, side_by_side(list(drivers.values())), seeds), env.task.period)
    found = {
        who: {name: np.split(one, len(drivers))[k] for name, one in totals.items()} for k, who in enumerate(drivers)
    }
    made = table(found)
    print(f"{args.task} on soils {args.soils}, {args.seeds} seeds, {100 * CONFIDENCE:g} % bounds")
    for who, of_who in made.items():
        for name, one in of_who.items():
            low, high = one["bounds"]
            print(f"{who:24s} {name:8s} {one['mean']:9.3f}  {low:9.3f} to {high:9.3f}  {WHAT[name]}")
    if args.out is not None:
        about = {"task": args.task, "soils": args.soils, "seeds": args.seeds, "first_seed": args.first_seed}
        about |= {"device": args.device, "spacing": args.spacing or env.task.spacing}
        each = {who: {name: one.tolist() for name, one in of_who.items()} for who, of_who in found.items()}
        write_atomically(args.out, json.dumps({**about, "table": made, "episodes": each}, indent=1) + "\n")
    return made


if __name__ == "__main__":
    sys.exit(main())
