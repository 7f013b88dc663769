"""One world of a vector environment as a plain Gymnasium environment, for Gymnasium's own checker."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np

from grouser.envs import SoilVectorEnv


class SingleEnv(gymnasium.Env):
    """An environment with one world. A world that ends has been reset already: the last observation is in the info."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}
    render_mode = None

    def __init__(self, env: SoilVectorEnv):
        self.env = env
        self.observation_space, self.action_space = env.single_observation_space, env.single_action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        observed, info = self.env.reset(seed=seed)
        return self._first(observed), info

    def step(self, action: np.ndarray):
        observed, reward, terminated, truncated, info = self.env.step(np.asarray(action)[None])
        if terminated[0] or truncated[0]:
            observed = info["final_obs"]
        return self._first(observed), float(reward[0]), bool(terminated[0]), bool(truncated[0]), {}

    @staticmethod
    def _first(observed: Any) -> Any:
        return {name: one[0] for name, one in observed.items()} if isinstance(observed, dict) else observed[0]
