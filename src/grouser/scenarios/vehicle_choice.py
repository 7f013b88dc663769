"""The vehicle of a scenario (a built-in one by name, or a YAML file) and its initial state."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pydantic

from grouser.module import Channel
from grouser.robots.vehicle import Vehicle
from grouser.robots.vehicle_file import builtin_vehicles, vehicle
from grouser.scenarios.scenario import Settings
from grouser.simulation import Simulation

PAPER = "Morrot et al."
PAPER_VEHICLE = "vivi"  # results of the paper are expected of this vehicle only


class OnWheels(Settings):
    """Settings that have a vehicle."""

    vehicle: str = PAPER_VEHICLE  # a built-in vehicle, or a YAML file

    @pydantic.field_validator("vehicle")
    @classmethod
    def _beside(cls, name: str, info: pydantic.ValidationInfo) -> str:
        """Find a file: first next to the scenario file, then in the working directory."""
        folder = (info.context or {}).get("folder")
        if name not in builtin_vehicles() and folder is not None and (Path(folder) / name).is_file():
            return str(Path(folder) / name)
        return name

    def chosen_vehicle(self) -> Vehicle:
        return vehicle(self.vehicle)


def add_start(
    spec: mujoco.MjSpec, v: Vehicle, *, height: float, velocity: tuple[float, float, float], rolling: bool, ctrl: Any
) -> None:
    """Add a keyframe: centre of mass at `height` [m] above the origin, level, with `velocity` [m/s].

    With `rolling` the wheels turn at the speed of travel.
    """
    joints = len(v.wheels) + sum(1 for name in v.steers if name)
    wheel_speed = velocity[0] / v.tyre.radius if rolling else 0.0
    wheel_speeds: list[float] = []
    for name in v.steers:
        wheel_speeds += [0.0, wheel_speed] if name else [wheel_speed]
    position = [0, 0, height, 1, 0, 0, 0, *([0.0] * joints)]
    spec.add_key(qpos=position, qvel=[*velocity, 0, 0, 0, *wheel_speeds], ctrl=list(ctrl))


def acceleration_channel(
    sim: Simulation, name: str, bodies: Sequence[str] = ("chassis",), labels: Sequence[str] = ()
) -> Channel:
    """Acceleration [m/s^2], world axes, of the centres of mass of chassis in the last step; 0 before the first one."""
    first = [int(sim.model.jnt_dofadr[sim.model.body_jntadr[sim.model.body(body).id]]) for body in bodies]
    rows = np.array([range(k, k + 3) for k in first])

    def read() -> np.ndarray:
        engine = sim.engine
        if sim.steps == 0:
            return np.zeros((len(engine.data), *shape))
        change = [
            d.qvel[rows] - view.speed_before.numpy()[rows] for d, view in zip(engine.data, engine.views, strict=True)
        ]
        return (np.array(change) / engine.step).reshape(len(change), *shape)

    shape = (len(rows), 3) if labels else (3,)
    return Channel(name, "m/s^2", shape, frame="world", labels=tuple(labels) or ("x", "y", "z"), read=read)
