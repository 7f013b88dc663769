"""Robots on natural ground: force modules for MuJoCo (soil, rocks, tyres, tracks), scenarios, recordings, reports."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grouser import terrain
    from grouser.commands.identify import identify
    from grouser.commands.record import record
    from grouser.commands.run import run
    from grouser.commands.sweep import sweep
    from grouser.errors import GrouserError, InputError, RunStopped
    from grouser.module import Channel, Controller, ForceModule
    from grouser.recording import Recording
    from grouser.scenarios.robot import CART
    from grouser.sensors import DepthCamera, Imu, Lidar
    from grouser.simulation import Simulation, on_soil
    from grouser.terrain import ElevationGrid, Soil, load_soils, soil, soil_names

__version__ = "0.1.0"

__all__ = [
    "CART",
    "Channel",
    "Controller",
    "DepthCamera",
    "ElevationGrid",
    "ForceModule",
    "GrouserError",
    "Imu",
    "InputError",
    "Lidar",
    "Recording",
    "RunStopped",
    "Simulation",
    "Soil",
    "__version__",
    "identify",
    "load_soils",
    "on_soil",
    "record",
    "run",
    "soil",
    "soil_names",
    "sweep",
    "terrain",
]

# Imported at first use: MuJoCo and Warp alone take 0.7 s to import, and most commands need neither.
HOMES = {
    "CART": "scenarios.robot",
    "Channel": "module",
    "Controller": "module",
    "DepthCamera": "sensors",
    "ElevationGrid": "terrain",
    "ForceModule": "module",
    "GrouserError": "errors",
    "Imu": "sensors",
    "InputError": "errors",
    "Lidar": "sensors",
    "Recording": "recording",
    "RunStopped": "errors",
    "Simulation": "simulation",
    "Soil": "terrain",
    "identify": "commands.identify",
    "load_soils": "terrain",
    "on_soil": "simulation",
    "record": "commands.record",
    "run": "commands.run",
    "soil": "terrain",
    "soil_names": "terrain",
    "sweep": "commands.sweep",
}


def __getattr__(name: str) -> Any:
    if name == "terrain":
        return importlib.import_module("grouser.terrain")
    if name not in HOMES:
        raise AttributeError(f"module 'grouser' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"grouser.{HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
