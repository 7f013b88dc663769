"""Train a policy: python -m grouser.envs.train --task RoverGoal --worlds 2048 --minutes 6 --out DIR

Leaves policy.npz and curve.csv in the folder, written anew every minute, after a stop too (Ctrl-C or SIGTERM).
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path
from typing import Any

from grouser.errors import GrouserError, InputError
from grouser.files import write_atomically

SAVE_EVERY = 60.0  # [s]
COLUMNS = (
    "update", "wall_s", "periods", "episodes", "return", "success", "length", "slip", "energy", "distance", "reward",
    "rate", "deviation",
)  # fmt: skip


class Curve:
    """The learning curve: printed, kept, and saved with the policy."""

    def __init__(self, learner: Any, out: Path):
        self._learner, self._out, self._saved = learner, out, time.perf_counter()
        self.rows: list[dict[str, float]] = []

    def add(self, row: dict[str, float]) -> None:
        self.rows.append(row)
        print(
            f"update {row['update']:4.0f}  {row['wall_s']:6.0f} s  {row['periods']:9.0f} periods  "
            f"episodes {row['episodes']:6.0f}  return {row['return']:7.2f}  success {row['success']:5.2f}  "
            f"length {row['length']:5.0f}  slip {row['slip']:6.3f} m  energy {row['energy']:6.0f} J  "
            f"reward {row['reward']:7.4f}  rate {row['rate']:.1e}  deviation {row['deviation']:.2f}",
            flush=True,
        )
        if time.perf_counter() - self._saved > SAVE_EVERY:
            self.save()

    def save(self) -> None:
        """Write policy and curve. A sum over episodes in an update in which none ended is left out."""
        self._saved = time.perf_counter()
        self._learner.policy().save(self._out / "policy.npz")
        lines = [",".join(f"{row[name]:.6g}" for name in COLUMNS) for row in self.rows]
        write_atomically(self._out / "curve.csv", "\n".join([",".join(COLUMNS), *lines, ""]))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m grouser.envs.train", description=(__doc__ or "").partition("\n")[0])
    made.add_argument("--task", default="RoverGoal")
    made.add_argument("--worlds", type=int, default=2048)
    made.add_argument("--minutes", type=float, default=6.0, help="of training, after kernels are compiled")
    made.add_argument("--updates", type=int, default=None, help="stop after so many updates")
    made.add_argument("--out", type=Path, required=True, help="folder for policy.npz and curve.csv")
    made.add_argument("--device", default="cuda")
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--horizon", type=int, default=16, help="control periods between two updates")
    made.add_argument("--spacing", type=float, default=None, help="of the soil grid [m]; default: that of the task")
    return made


def main(arguments: list[str] | None = None) -> int:
    args = parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # save after it, as after Ctrl-C
    try:
        train(args)
    except GrouserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, InputError) else 3
    return 0


def train(args: argparse.Namespace) -> None:
    from grouser.envs import make, ppo

    try:
        import torch  # pyright: ignore[reportMissingImports] an optional package
    except ImportError:
        raise InputError("training needs torch: pip install torch") from None
    began = time.perf_counter()
    device = str(torch.device(args.device if args.device == "cpu" or ":" in args.device else f"{args.device}:0"))
    env = make(args.task, args.worlds, device=device, arrays="torch", spacing=args.spacing)
    learner = ppo.Learner(env, ppo.Options(horizon=args.horizon), args.seed, device)
    print(f"{args.task}: {args.worlds} worlds on {device}, ready after {time.perf_counter() - began:.0f} s", flush=True)
    curve = Curve(learner, args.out)
    try:
        ppo.learn(learner, 60 * args.minutes, args.updates, curve.add)
    except KeyboardInterrupt:
        print("stopped", flush=True)
    curve.save()
    failures = int(torch.as_tensor(_host(env.sim.failures)).sum())
    print(f"worlds that failed and were reset: {failures}")
    print(f"written: {args.out / 'policy.npz'}, {args.out / 'curve.csv'}")


def _host(values: Any) -> Any:
    return values.numpy() if hasattr(values, "numpy") else values


if __name__ == "__main__":
    sys.exit(main())
