"""Record an episode of a policy, or of the hand-written controller, with figures, report and replay for a browser:

python -m grouser.envs.replay --seed 1000007 --out DIR     # then: grouser view DIR
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from grouser.envs import make
from grouser.envs.controllers import driver_of
from grouser.envs.task import TOTALS
from grouser.envs.vector_env import SoilVectorEnv
from grouser.errors import GrouserError, InputError
from grouser.module import Channel


class EpisodeDriver:
    """A controller of a simulation that lets a policy drive an environment with one world until the episode ends."""

    def __init__(self, env: SoilVectorEnv, policy: Callable[[np.ndarray], np.ndarray], seed: int):
        if env.num_envs != 1:
            raise InputError(f"replay: {env.num_envs} worlds; allowed is an environment with one")
        self.env, self.period, self._policy = env, env.task.period, policy
        self._observed, _ = env.reset(seed=seed)
        self._acted = False

    @property
    def totals(self) -> dict[str, float]:
        """Sums since the start of the episode."""
        return dict(zip(TOTALS, self.env.episode.totals.numpy()[0].tolist(), strict=True))

    def act(self, time: float, sensors: Any, command: Any) -> None:
        env = self.env
        if self._acted:
            self._observed = env.judge()
            ends = env.episode.terminated.numpy()[0] or env.episode.truncated.numpy()[0]
            env.sim.finished = env.sim.finished or bool(ends)
        self._acted = True
        env.act(self._policy(self._observed))
        command[:] = env.ctrl[0]

    def state(self) -> dict[str, Any]:
        return {}

    def reset(self, worlds: Sequence[int]) -> None:
        self._acted = False

    def channels(self) -> list[Channel]:
        env = self.env
        names = env.task.actions
        return [Channel("policy/action", "1", (len(names),), "", labels=names, read=lambda: env.robot.action.numpy())]


def record_episode(env: SoilVectorEnv, driver: EpisodeDriver, out: str | Path, *, force: bool = False) -> Any:
    """Record the episode from its start to its end in the folder `out`."""
    import grouser

    env.sim.use_controllers([driver])
    seconds = env.task.period * env.task.limit
    return grouser.record(env.sim, out, seconds, name=env.task.name, force=force)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m grouser.envs.replay", description=(__doc__ or "").partition("\n")[0])
    made.add_argument("--task", default="RoverGoal")
    made.add_argument("--policy", default=None, help="file, or hand-written; by default that of the package")
    made.add_argument("--seed", type=int, default=1_000_000)
    made.add_argument("--soils", default="outside", choices=("outside", "training"))
    made.add_argument("--spacing", type=float, default=None, help="of the soil grid [m]; default: that of the task")
    made.add_argument("--out", type=Path, required=True)
    made.add_argument("--force", action="store_true", help="replace what is in the folder")
    return made


def main(arguments: list[str] | None = None) -> int:
    args = parser().parse_args(arguments)
    try:
        env = make(args.task, 1, soils=args.soils, spacing=args.spacing)
        names = env.observation_names["robot"]
        who, policy = driver_of(args.policy, env.task, names)
        driver = EpisodeDriver(env, policy, args.seed)
        record_episode(env, driver, args.out, force=args.force)
    except GrouserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, InputError) else 3
    print(f"{who}:", "  ".join(f"{name} {value:.3g}" for name, value in driver.totals.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
