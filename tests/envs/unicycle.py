"""A point that drives to a goal, without soil: the interface of an environment at the price of some lines of NumPy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np

PERIOD, LIMIT, SPEED, CURVATURE, ARRIVED = 0.2, 60, 0.3, 2.0, 0.2  # [s], periods, [m/s], [1/m], [m]


class Unicycle:
    """Worlds of a point with a heading; actions are speed and curvature."""

    def __init__(self, worlds: int):
        self.num_envs, self.task = worlds, SimpleNamespace(name="Unicycle", period=PERIOD)
        self.observation_names = {"robot": ("distance", "ahead", "left")}
        self.single_action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)

        self._random: list[Any] = [None] * worlds
        self._place = np.zeros((worlds, 3))
        self._goal, self._elapsed = np.zeros((worlds, 2)), np.zeros(worlds, int)
        self._totals = np.zeros((worlds, 5))

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        """World k has the seed `seed` + k, or one of a list, in which None leaves a world as it is."""
        seeds = range(seed, seed + self.num_envs) if isinstance(seed, int) else seed
        for k, one in enumerate(seeds):
            self._random[k] = self._random[k] if one is None else np.random.default_rng(one)
        self._restart(options["reset_mask"] if options else np.ones(self.num_envs, bool))
        return self._observed(), {}

    def step(self, actions: np.ndarray):
        a = np.clip(np.asarray(actions, float), -1, 1)
        before = self._distance()
        along = 0.5 * (a[:, 0] + 1) * SPEED * PERIOD
        self._place[:, 2] += along * CURVATURE * a[:, 1]
        self._place[:, :2] += along[:, None] * np.stack([np.cos(self._place[:, 2]), np.sin(self._place[:, 2])], 1)
        self._elapsed += 1
        arrived = self._distance() < ARRIVED
        reward = (8 * (before - self._distance()) + 3 * arrived - 0.02).astype(np.float32)
        truncated = (self._elapsed >= LIMIT) & ~arrived
        self._totals[:, 0] += reward
        self._totals[:, 3] += along
        self._totals[:, 4] = arrived
        ends, info = arrived | truncated, {}
        if ends.any():
            names = ("return", "energy", "slip", "distance", "success")
            final = dict(zip(names, self._totals.T.copy(), strict=True)) | {"length": self._elapsed.copy()}
            info = {"final_obs": self._observed(), "_final_obs": ends, "final_info": final, "_final_info": ends}
            self._restart(ends)
        return self._observed(), reward, arrived, truncated, info

    def _restart(self, worlds: np.ndarray) -> None:
        drawn = [
            (r.uniform(-1.5, 1.5), r.uniform(1.0, 2.0)) for r, one in zip(self._random, worlds, strict=True) if one
        ]
        bearing, distance = np.array(drawn).reshape(-1, 2).T
        self._place[worlds], self._elapsed[worlds], self._totals[worlds] = 0, 0, 0
        self._goal[worlds] = distance[:, None] * np.stack([np.cos(bearing), np.sin(bearing)], axis=1)

    def _distance(self) -> np.ndarray:
        return np.linalg.norm(self._goal - self._place[:, :2], axis=1)

    def _observed(self) -> np.ndarray:
        apart, c, s = self._goal - self._place[:, :2], np.cos(self._place[:, 2]), np.sin(self._place[:, 2])
        per = 1 / np.maximum(self._distance(), 1e-3)
        ahead, left = per * (c * apart[:, 0] + s * apart[:, 1]), per * (c * apart[:, 1] - s * apart[:, 0])
        return np.stack([self._distance(), ahead, left], axis=1).astype(np.float32)


def pursue(observed: np.ndarray) -> np.ndarray:
    """Full speed on an arc towards the goal."""
    return np.stack([np.full(len(observed), 1.0), np.clip(observed[:, 2], -1, 1)], axis=1).astype(np.float32)
