"""Train a policy: python -m grouser.envs.train --task RoverGoal --worlds 512 --minutes 6 --out DIR

First the policy imitates the hand-written controller, then it improves by proximal policy optimisation. Meanwhile some
worlds judge it, always from the same seeds. Leaves in the folder policy.npz (the best policy judged so far), curve.csv
(a row for each policy judged) and updates.csv, after a stop too (Ctrl-C or SIGTERM).
"""

from __future__ import annotations

import argparse
import math
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grouser.envs.controllers import HAND_WRITTEN, controller_of
from grouser.envs.evaluate import bounds, measures
from grouser.envs.judged import JudgedWorlds
from grouser.errors import GrouserError, InputError
from grouser.files import write_atomically
from grouser.terrain import checks

SPARE = 1.15  # time allowed for a judgement over the time that the last one took
UPDATES = (
    "update", "wall_s", "periods", "episodes", "return", "success", "length", "slip", "energy", "distance", "reward",
    "rate", "deviation",
)  # fmt: skip
CURVE = (
    "driver", "update", "wall_s", "periods", "return", "return_low", "return_high", "success", "success_low",
    "success_high", "time", "slip", "energy",
)  # fmt: skip


class Course:
    """What training leaves: the curve of the judged policies, the best of them, and a row for each update."""

    def __init__(self, learner: Any, worlds: Any, out: Path, notes: str, start: float, deadline: float):
        """`start`, `deadline` of the command, in the time of `time.perf_counter` [s]."""
        self._learner, self._worlds, self._out, self._notes = learner, worlds, out, notes
        self._start, self._deadline, self._began, self._took = start, deadline, 0.0, 0.0
        self._curve: list[dict[str, Any]] = []
        self._updates: list[dict[str, Any]] = []
        self._best = -math.inf
        self._judging = False
        self._in_judgement: tuple[dict[str, Any], Any] = ({}, None)

    def judge(self, row: dict[str, Any], driver: Any) -> None:
        """Begin to judge a driver, as it is after the update of `row`."""
        self._judging = True
        self._in_judgement = {name: row.get(name, 0) for name in CURVE} | {"driver": row["driver"]}, driver
        self._began = time.perf_counter()
        self._worlds.judge(driver)

    def add(self, row: dict[str, float]) -> None:
        """Take the row of an update; if the judged episodes have all ended, judge the policy of now."""
        row = {**row, "wall_s": time.perf_counter() - self._start}
        self._updates.append(row)
        print(
            f"update {row['update']:4.0f}  {row['wall_s']:6.0f} s  {row['periods']:9.0f} periods  "
            f"episodes {row['episodes']:6.0f}  reward {row['reward']:7.4f}  rate {row['rate']:.1e}  "
            f"deviation {row['deviation']:.3f}",
            flush=True,
        )
        self.settle()
        if not self._judging and self._now_or_later():
            self.judge({**row, "driver": "policy"}, self._learner.policy(self._notes_at(row)))
        _write(self._out / "updates.csv", UPDATES, self._updates)

    def _now_or_later(self) -> bool:
        """Whether to judge now. The last judgement begins so late that it ends with the training, and not before."""
        left = self._deadline - time.perf_counter()
        return left > 2 * SPARE * self._took or left < SPARE * self._took

    def settle(self) -> None:
        """Take the judgement, if there is one: a row of the curve, and the policy if it is the best so far."""
        totals = self._worlds.judgement
        if not self._judging or totals is None:
            return
        self._judging, self._took = False, time.perf_counter() - self._began
        row, driver = self._in_judgement
        found = measures(totals, self._learner.env.task.period)
        row |= {name: float(one.mean()) for name, one in found.items()}
        for name in ("return", "success"):
            row[f"{name}_low"], row[f"{name}_high"] = bounds(name, found[name])
        self._curve.append(row)
        print(
            f"{row['driver']} of update {row['update']:.0f} over {len(found['return'])} episodes: return "
            f"{row['return']:.2f} ({row['return_low']:.2f} to {row['return_high']:.2f})  success {row['success']:.3f}  "
            f"time {row['time']:.1f} s  slip {row['slip']:.3f}  energy {row['energy']:.0f} J/m",
            flush=True,
        )
        _write(self._out / "curve.csv", CURVE, self._curve)
        if row["driver"] == "policy" and row["return"] > self._best:
            self._best = row["return"]
            driver.save(self._out / "policy.npz")

    def finish(self) -> None:
        """Leave a policy even if none was judged."""
        self.settle()
        if self._best == -math.inf:
            row = self._updates[-1] if self._updates else {"update": 0, "periods": 0}
            self._learner.policy(self._notes_at(row)).save(self._out / "policy.npz")
        _write(self._out / "curve.csv", CURVE, self._curve)

    def _notes_at(self, row: Mapping[str, float]) -> str:
        return f"{self._notes}, update {row['update']:.0f}, {row['periods']:.0f} control periods"


def _write(path: Path, columns: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    def text(value: Any) -> str:
        return value if isinstance(value, str) else f"{value:.6g}"

    lines = [",".join(text(row[name]) for name in columns) for row in rows]
    write_atomically(path, "\n".join([",".join(columns), *lines, ""]))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m grouser.envs.train", description=(__doc__ or "").partition("\n")[0])
    made.add_argument("--task", default="RoverGoal")
    made.add_argument("--worlds", type=int, default=512)
    made.add_argument("--judged", type=int, default=112, help="worlds among them that judge and do not train")
    made.add_argument("--imitate", type=int, default=80, help="control periods of the hand-written controller; 0: none")
    made.add_argument("--minutes", type=float, default=6.0, help="of wall time, compilation of kernels included")
    made.add_argument("--updates", type=int, default=None, help="stop after so many updates")
    made.add_argument("--out", type=Path, required=True, help="folder for policy.npz, curve.csv, updates.csv")
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
    from grouser.envs.imitation import imitate

    try:
        import torch  # pyright: ignore[reportMissingImports] an optional package
    except ModuleNotFoundError:
        raise InputError("training needs torch: pip install torch") from None
    checks.count(args.judged, "judged", at_least=0)
    checks.count(args.worlds - args.judged, "worlds that train", at_least=1)
    began = time.perf_counter()
    device = str(torch.device(args.device if args.device == "cpu" or ":" in args.device else f"{args.device}:0"))
    env = make(args.task, args.worlds, device=device, arrays="torch", simulator=True, spacing=args.spacing)
    worlds = JudgedWorlds(env, args.judged)
    options = ppo.Options(horizon=args.horizon) if args.imitate == 0 else ppo.after_imitation(args.horizon)
    learner = ppo.Learner(worlds, options, args.seed, device)
    print(f"{args.task}: {args.worlds} worlds on {device}, ready after {time.perf_counter() - began:.0f} s", flush=True)
    course = Course(learner, worlds, args.out, _command(args), began, began + 60 * args.minutes)
    try:
        by_hand = controller_of(env.task, learner.names)
        course.judge({"driver": HAND_WRITTEN}, by_hand)
        if args.imitate:
            found = imitate(learner, by_hand, args.imitate)
            print(
                f"imitated after {time.perf_counter() - began:.0f} s: root mean square error of the actions "
                f"{found['error']:.4f}, their standard deviation {found['deviation']:.3f}",
                flush=True,
            )
        spent = time.perf_counter() - began
        ppo.learn(learner, 60 * args.minutes - spent, args.updates, course.add, args.imitate * worlds.num_envs)
    except KeyboardInterrupt:
        print("stopped", flush=True)
    course.finish()
    failures = int(torch.as_tensor(_host(env.sim.failures)).sum())
    print(f"worlds that failed and were reset: {failures}")
    print(f"written: {args.out / 'policy.npz'}, {args.out / 'curve.csv'}, {args.out / 'updates.csv'}")


def _command(args: argparse.Namespace) -> str:
    """The command that trains so, to be kept with the policy."""
    options = {name: value for name, value in vars(args).items() if name != "out" and value is not None}
    return "python -m grouser.envs.train " + " ".join(f"--{name} {value}" for name, value in options.items())


def _host(values: Any) -> Any:
    return values.numpy() if hasattr(values, "numpy") else values


if __name__ == "__main__":
    sys.exit(main())
