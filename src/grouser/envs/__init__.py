"""Gymnasium environments of robots on soil. Importing this registers them.

import gymnasium, grouser.envs
env = gymnasium.make_vec("Grouser/RoverGoal-v0", num_envs=4)
"""

from __future__ import annotations

from typing import Any

from grouser.errors import InputError

try:
    import gymnasium
    from gymnasium.vector import VectorEnv
except ModuleNotFoundError:
    raise InputError("grouser.envs needs gymnasium: pip install 'grouser[rl]'") from None

from grouser.envs.task import Task
from grouser.envs.vector_env import SoilVectorEnv

TASKS = ("RoverGoal", "RoverSlope", "QuadrupedSand")

__all__ = ["TASKS", "SoilVectorEnv", "Task", "make", "task_of"]


def task_of(name: str) -> Task:
    """A task by name."""
    from grouser.envs import quadruped_task, rover_tasks

    made = {
        "RoverGoal": rover_tasks.rover_goal,
        "RoverSlope": rover_tasks.rover_slope,
        "QuadrupedSand": quadruped_task.quadruped_sand,
    }
    if name not in made:
        raise InputError(f"task: {name!r} is not known; allowed: {', '.join(made)}")
    return made[name]()


def make(task: str, num_envs: int = 1, **options: Any) -> SoilVectorEnv:
    """Worlds of a task; `options` are those of `SoilVectorEnv`."""
    return SoilVectorEnv(task_of(task), num_envs, **options)


def _entry(task: str) -> Any:
    def vector_entry_point(num_envs: int = 1, **options: Any) -> VectorEnv:
        return make(task, num_envs, **options)

    return vector_entry_point


for _name in TASKS:
    gymnasium.register(f"Grouser/{_name}-v0", vector_entry_point=_entry(_name))
