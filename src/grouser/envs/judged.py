"""Worlds kept aside to judge policies while others train.

What ends within an update of training says little: short episodes end first. Here each policy drives the same worlds,
from the same seeds, and every episode counts once, when it has ended.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from grouser.envs.controllers import Controller
from grouser.envs.task import TOTALS

FIRST_SEED = 500_000  # of the judged worlds: neither those of training nor those of `evaluate`


class JudgedWorlds:
    """An environment whose first `judged` worlds are driven by the policy to be judged; a learner has the others."""

    def __init__(self, env: Any, judged: int):
        self._env, self._judged = env, judged
        self.num_envs = env.num_envs - judged
        self.task, self.observation_names = env.task, env.observation_names
        self.single_action_space = env.single_action_space
        self._running, self._totals = np.zeros(judged, bool), np.zeros((judged, len(TOTALS) + 1))
        self._driver: Controller | None = None
        self._observed = np.zeros((judged, 0))

    def reset(self, *, seed: int) -> tuple[Any, dict[str, Any]]:
        seeds = [*self._seeds(), *range(seed, seed + self.num_envs)]
        observed, info = self._env.reset(seed=seeds)
        return self._others(observed), info

    def judge(self, driver: Controller) -> None:
        """Begin an episode of `driver` in each judged world, from the same seeds as always."""
        if not self._judged:
            return
        mask = np.arange(self._judged + self.num_envs) < self._judged
        seeds = [*self._seeds(), *[None] * self.num_envs]
        observed, _ = self._env.reset(seed=seeds, options={"reset_mask": mask})
        self._driver, self._running = driver, np.ones(self._judged, bool)
        self._observed = self._robot(observed)

    @property
    def judgement(self) -> dict[str, np.ndarray] | None:
        """Sums of the episodes of the last driver, (world,) each, as soon as all have ended."""
        if self._driver is None or self._running.any():
            return None
        return dict(zip((*TOTALS, "length"), self._totals.T.copy(), strict=True))

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Advance all worlds by a control period. `actions` and what is returned are those of the learner's worlds."""
        judged = np.zeros((self._judged, actions.shape[1]), np.float32)
        if self._driver is not None:
            judged = self._driver(self._observed)
        observed, *rest, info = self._env.step(_joined(judged, actions))
        if self._judged:
            self._observed = self._robot(observed)
            self._take(info)
        return self._others(observed), *(one[self._judged :] for one in rest), self._others(info)

    def _take(self, info: dict[str, Any]) -> None:
        """Keep the sums of first episodes that have ended. Worlds whose episode is over go on without being counted."""
        if not info or not self._running.any():
            return
        ends = self._running & _host(info["_final_info"][: self._judged])
        final = [_host(info["final_info"][name][: self._judged]) for name in (*TOTALS, "length")]
        self._totals[ends] = np.stack(final, axis=1)[ends]
        self._running &= ~ends

    def _seeds(self) -> list[int]:
        return list(range(FIRST_SEED, FIRST_SEED + self._judged))

    def _robot(self, observed: Any) -> np.ndarray:
        robot = observed["robot"] if isinstance(observed, dict) else observed
        return _host(robot[: self._judged]).copy()

    def _others(self, values: Any) -> Any:
        """The part of the learner's worlds, of an array or of all arrays of a dict."""
        if isinstance(values, dict):
            return {name: self._others(one) for name, one in values.items()}
        return values[self._judged :]


def _host(values: Any) -> np.ndarray:
    return values.cpu().numpy() if hasattr(values, "cpu") else np.asarray(values)


def _joined(first: np.ndarray, second: Any) -> Any:
    """Actions of all worlds: an array if the second part is one, else a tensor on its device."""
    if not hasattr(second, "new_tensor"):
        return np.concatenate([first, second])
    import torch  # pyright: ignore[reportMissingImports] an optional package

    return torch.cat([second.new_tensor(first), second])
