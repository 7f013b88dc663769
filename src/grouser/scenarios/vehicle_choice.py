"""The vehicle of a scenario (a built-in one by name, or a YAML file) and its initial state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pydantic

from grouser.files import is_file
from grouser.module import Channel
from grouser.robots.vehicle import Vehicle
from grouser.robots.vehicle_file import builtin_vehicles, vehicle
from grouser.scenarios.scenario import Settings
from grouser.scenarios.terrain_choice import TerrainChoice, height_at
from grouser.simulation import Simulation
from grouser.terrain.elevation import ElevationGrid

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
        if name not in builtin_vehicles() and folder is not None and is_file(Path(folder) / name):
            return str(Path(folder) / name)
        return name

    def chosen_vehicle(self) -> Vehicle:
        return vehicle(self.vehicle)


class OnOwnGround(OnWheels):
    """Settings that have a vehicle and may have a terrain of the user."""

    terrain: TerrainChoice | None = None  # a file instead of the scenario's own ground; driven along x
    at: tuple[float, float] = (0.0, 0.0)  # [m] x and y of the start on that terrain


def add_start(
    spec: mujoco.MjSpec, v: Vehicle, *, height: float, velocity: tuple[float, float, float], rolling: bool, ctrl: Any
) -> None:
    """Add a keyframe: centre of mass at `height` [m] above the origin, level, with `velocity` [m/s].

    With `rolling` the wheels turn at the speed of travel.
    """
    add_start_on(spec, v, (0.0, 0.0, 0.0), 0.0, height=height, velocity=velocity, rolling=rolling, ctrl=ctrl)


def ground_below(
    terrain: ElevationGrid, v: Vehicle, at: tuple[float, float]
) -> tuple[tuple[float, float, float], float]:
    """Point of the ground below a vehicle at x, y [m], and the slope [rad] along x between its end axles."""
    x, y = at
    wheels = [wheel.x for wheel in v.wheels]
    rear, front = (height_at(terrain, x + ahead, y, "the start") for ahead in (min(wheels), max(wheels)))
    slope = math.atan2(front - rear, max(wheels) - min(wheels))
    return (x, y, height_at(terrain, x, y, "the start")), slope


def add_start_on(
    spec: mujoco.MjSpec, v: Vehicle, point: tuple[float, float, float], slope: float, *, height: float,
    velocity: tuple[float, float, float], rolling: bool, ctrl: Any,
) -> None:  # fmt: skip
    """Add a keyframe as `add_start` does, on ground with a slope [rad] along x at `point` [m].

    `height` [m] is measured across the ground, `velocity` [m/s] along and across it.
    """
    along, up = (math.cos(slope), 0.0, math.sin(slope)), (-math.sin(slope), 0.0, math.cos(slope))
    turned = [a * velocity[0] + b * velocity[2] for a, b in zip(along, up, strict=True)]
    place = [p + height * b for p, b in zip(point, up, strict=True)]
    joints = len(v.wheels) + sum(1 for name in v.steers if name)
    wheel_speed = velocity[0] / v.tyre.radius if rolling else 0.0
    wheel_speeds: list[float] = []
    for name in v.steers:
        wheel_speeds += [0.0, wheel_speed] if name else [wheel_speed]
    position = [*place, math.cos(slope / 2), 0, -math.sin(slope / 2), 0, *([0.0] * joints)]
    spec.add_key(qpos=position, qvel=[turned[0], velocity[1], turned[2], 0, 0, 0, *wheel_speeds], ctrl=list(ctrl))


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
