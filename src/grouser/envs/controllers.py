"""Hand-written controllers to compare policies with. They see the same observations (world, observed)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from grouser.envs.policy import load_policy, trained_policy
from grouser.envs.quadruped_kernels import REACH
from grouser.envs.rover_kernels import CURVATURE
from grouser.envs.task import Task
from grouser.robots import quadruped

HAND_WRITTEN = "hand-written"
CRUISE = 0.6  # action: four fifths of the greatest speed
LEAST_DISTANCE = 0.3  # [m] at which the arc to the goal is not made narrower

Controller = Callable[[np.ndarray], np.ndarray]


def controller_of(task: Task, names: Sequence[str]) -> Controller:
    """The hand-written controller of a task; `names` of the observed values."""
    at = {name: k for k, name in enumerate(names)}
    if task.name == "QuadrupedSand":
        return lambda observed: trot(observed, at)
    return lambda observed: pursuit(observed, at)


def driver_of(choice: str | None, task: Task, names: Sequence[str]) -> tuple[str, Controller]:
    """Who drives, and how it is called: a policy file, or "hand-written"; by default the policy of the package."""
    path = trained_policy(task.name) if choice is None else Path(choice)
    if path is None or choice == HAND_WRITTEN:
        return HAND_WRITTEN, controller_of(task, names)
    return "policy", load_policy(path, task.name, names)


def side_by_side(drivers: Sequence[Controller]) -> Controller:
    """One controller of which each driver has an equal share of the worlds, one after the other."""

    def act(observed: np.ndarray) -> np.ndarray:
        parts = np.split(observed, len(drivers))
        return np.concatenate([driver(part) for driver, part in zip(drivers, parts, strict=True)])

    return act


def pursuit(observed: np.ndarray, at: dict[str, int]) -> np.ndarray:
    """Pure pursuit at constant speed: the arc through the goal has curvature 2 sin(bearing) / distance."""
    distance = np.maximum(observed[:, at["goal_distance"]], LEAST_DISTANCE)
    sine = observed[:, at["goal_left"]] / 2.0  # it is observed times 2
    actions = np.zeros((len(observed), 4), np.float32)
    actions[:, 0] = CRUISE
    actions[:, 1] = np.clip(2 * sine / distance / CURVATURE, -1, 1)
    return actions


def trot(observed: np.ndarray, at: dict[str, int]) -> np.ndarray:
    """Open-loop trot whose strides are the wanted speed of each side times the period."""
    phase = np.arctan2(observed[:, at["phase_sine"]], observed[:, at["phase_cosine"]]) / (2 * np.pi) % 1.0
    speed, turn = (observed[:, at[name]] / 2.0 for name in ("wanted_speed", "wanted_turn"))  # observed times 2
    arm = abs(quadruped.LEGS["fl"][1])
    strides = np.stack([speed - turn * arm, speed + turn * arm], axis=1) * quadruped.PERIOD
    angles = np.stack([quadruped.trot(p, (s[0], s[1])) for p, s in zip(phase, strides, strict=True)])
    return np.clip((angles - quadruped.stance()) / REACH, -1, 1).astype(np.float32)
