"""A task as data: the robot on its ground, what is drawn at a reset, what is observed, and the kernels of the task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import mujoco
import numpy as np

from grouser.contact.soil import Surface
from grouser.errors import InputError
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.soils import RANGES, Soil

TOTALS = ("return", "energy", "slip", "distance", "success")  # sums since a reset: [1], [J], [m], [m], 0 or 1
RETURN, ENERGY, SLIP_PATH, DISTANCE, SUCCESS = range(len(TOTALS))
IMU_ERRORS = tuple(f"imu_{kind}_{axis}" for kind in ("force", "turn") for axis in "xyz")


class Range(NamedTuple):
    """Bounds between which a quantity is drawn: evenly, or evenly in its logarithm."""

    low: float
    high: float
    logarithmic: bool = False


class Value(NamedTuple):
    """One observed value: scale (value - offset) of element `index` of a source, with noise of the value."""

    name: str
    source: int  # QPOS, QVEL, … of `kernels.py`
    index: int
    scale: float = 1.0
    offset: float = 0.0
    noise: float = 0.0  # standard deviation, in the unit of the source


@dataclass(frozen=True)
class Task:
    """A task. Kernels get the struct `constants` of the task, and what `kernels.py` declares."""

    name: str
    spec: Callable[[], mujoco.MjSpec]
    surfaces: Callable[[], Mapping[str, Surface]]  # of the bodies that touch soil
    terrains: Sequence[ElevationGrid]
    soil: Soil  # constants that are not drawn
    step: float  # [s] of the simulation
    steps: int  # in a control period
    limit: int  # control periods until an episode is truncated
    actions: tuple[str, ...]
    drawn: Mapping[str, Range]  # constants of `Soil` by name, and quantities that the kernels of the task know
    outside: Mapping[str, Range]  # constants of soils outside the training range, for evaluation
    features: tuple[str, ...]
    readings: Callable[[mujoco.MjModel], list[Value]]  # what the robot has
    simulator_readings: Callable[[mujoco.MjModel], list[Value]]  # what only a simulator has
    scan: tuple[np.ndarray, np.ndarray]  # [m] points of the height scan, ahead and to the left
    constants: Callable[[mujoco.MjModel, Mapping[str, int], Any], Any]  # (model, rows of `drawn`, device)
    start: Any  # kernel (mask, constants, episode, qpos_out, terrain_out)
    command: Any  # kernel (constants, robot, ctrl_out)
    judge: Any  # kernel (mask, first, constants, robot, episode): features, and unless `first` reward and end
    spacing: float = 0.01  # [m] of the soil grid
    tiles: int | None = None  # of the ground that a world on CUDA has room for; None: all
    notes: str = field(default="", compare=False)

    @property
    def period(self) -> float:
        """Control period [s]."""
        return self.step * self.steps

    @property
    def soil_constants(self) -> list[str]:
        """Constants of the soil that are drawn."""
        return [name for name in self.drawn if name in RANGES]

    def on_soils(self, which: str) -> Task:
        """The task on soils of the training range, "training", or outside it, "outside"."""
        if which not in ("training", "outside"):
            raise InputError(f"soils: {which!r} is not known; allowed: training, outside")
        return self if which == "training" else replace(self, drawn={**self.drawn, **self.outside})


def plane(gradient: tuple[float, float], x: tuple[float, float], y: tuple[float, float]) -> ElevationGrid:
    """A plane through the origin with this gradient, between the bounds x and y [m]."""
    spacing = 0.2
    along = x[0] + spacing * np.arange(round((x[1] - x[0]) / spacing) + 1)
    across = y[0] + spacing * np.arange(round((y[1] - y[0]) / spacing) + 1)
    return ElevationGrid(gradient[0] * along[None, :] + gradient[1] * across[:, None], spacing, (x[0], y[0]))
