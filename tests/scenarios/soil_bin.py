"""Single wheels for tests: whole runs as a user makes them, and simulations to step by hand."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import grouser
from grouser.scenarios import single_wheel
from grouser.scenarios.settings import from_python
from grouser.simulation import Simulation
from tests.scenarios.wheel_table import TABLE

_done: dict[str, dict[str, Any]] = {}


def rolled(**changes: Any) -> dict[str, Any]:
    """Metrics of `single-wheel` with these settings; equal runs are made once. Dots in names are written __."""
    settings = {name.replace("__", "."): value for name, value in changes.items()}
    key = repr(sorted(settings.items()))
    if key not in _done:
        _done[key] = recorded(settings)[0]
    return _done[key]


def recorded(settings: dict[str, Any], *channels: str) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Metrics of a run and some of its channels."""
    folder = Path(tempfile.mkdtemp())
    try:
        outcome = grouser.run("single-wheel", settings, out=folder / "out", report=False)
        with grouser.Recording(outcome.recording) as recording:
            values = [np.array(recording.time if name == "time" else recording[name]) for name in channels]
        return {**outcome.metrics, "notes": outcome.notes}, values
    finally:
        shutil.rmtree(folder)


def walked(**changes: Any) -> dict[str, Any]:
    """Means over every step of the steady metre; recorded frames may all come right after soil has slid."""
    key = "walked " + repr(sorted(changes.items()))
    if key not in _done:
        settings, simulation = built(**changes)
        names = {"soil/sinkage": "sinkage_m", "wheel/drawbar_pull": "drawbar_pull_N", "wheel/load": "load_N"}
        channels = [channel for channel in simulation.channels() if channel.name in names]
        steps = round(single_wheel.STEADY / settings.speed / simulation.step_size)
        simulation.step(round(single_wheel.RUN_UP / settings.speed / simulation.step_size))
        values = np.zeros((steps, len(channels)))
        for row in values:
            simulation.step()
            row[:] = [channel.read().item() for channel in channels]
        means = {names[c.name]: float(mean) for c, mean in zip(channels, values.mean(axis=0), strict=True)}
        load = values[:, [c.name for c in channels].index("wheel/load")]
        _done[key] = {**means, "torque_Nm": 0.0, "load_noise_rel": load.std() / load.mean(), "notes": simulation.notes}
    return _done[key]


def built(**changes: Any) -> tuple[single_wheel.SingleWheel, Simulation]:
    """Settings and a simulation ready to step."""
    settings = from_python("single-wheel", {name.replace("__", "."): value for name, value in changes.items()}).settings
    return settings, single_wheel.build(settings)


def in_column(column: str) -> dict[str, Any]:
    """Settings of a column of the table."""
    if column == "frictionless":
        return {"friction": "none", "slip": 0.1}
    if column == "full shear":
        return {"soil__shear_modulus": 1e-5, "slip": 0.3}
    return {"slip": float(column.removeprefix("slip "))}


def errors(metrics: dict[str, Any], sinkage: float, pull: float, torque: float, resistance: float) -> dict[str, float]:
    """Relative errors against sinkage [m], pull [N], torque [N m]; pull over max(|pull|, frictionless resistance).

    Where there is no torque, what is left of it is seen against the resistance at the rim (r 0.15 m).
    """
    return {
        "sinkage": metrics["sinkage_m"] / sinkage - 1,
        "pull": (metrics["drawbar_pull_N"] - pull) / max(abs(pull), resistance),
        "torque": (metrics["torque_Nm"] - torque) / (torque if torque > 0 else 0.15 * resistance),
    }


def table_errors(soil: str, column: str, values: tuple[float, float, float], **changes: Any) -> dict[str, float]:
    """A free wheel in the engine against an entry of the table."""
    sinkage, pull, torque = values
    resistance = abs(TABLE[soil, 5e7][0][1])
    metrics = rolled(soil=soil, compression=1.0, **in_column(column), **changes)
    return errors(metrics, 1e-3 * sinkage, pull, torque, resistance)
