"""Sensors of a simulation: mounted, and sampled when they are due."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grouser import module as optional
from grouser.engine.mujoco_warp import MujocoWarp
from grouser.errors import InputError
from grouser.module import RoundSurface
from grouser.sensors import Instrument, Scene, Sensor, instrument

if TYPE_CHECKING:
    from grouser.simulation.simulation import Simulation


DUE = 1e-4  # [steps] by which sensors and controllers may act early: due times are sums, and rounding adds up


def sample_due(sim: Simulation) -> None:
    """Let sensors that are due take a sample."""
    for name, due in sim.sensor_due.items():
        if sim.time >= due - DUE * sim.step_size:
            sim.sensors[name].sample(sim.time, sim.engine.data)
            sim.sensor_due[name] = due + sim.sensors[name].period


def mount(sim: Simulation, sensor: Sensor) -> Instrument:
    """Mount a `DepthCamera`, `Lidar` or `Imu` (docs/sensors.md). Its first sample is due now.

    Returns the sensor at work, `sensors[name]`, which has the values of the last sample.
    """
    if isinstance(sim.engine, MujocoWarp):
        raise InputError(f"sensor {sensor.name!r}: worlds on a device have none; allowed with device='cpu'")
    if not isinstance(sensor, Sensor):
        raise InputError(f"sensor {sensor!r}: allowed are DepthCamera, Lidar and Imu")
    if sensor.name in sim.sensors:
        raise InputError(f"sensor {sensor.name!r} is there already; names must differ")
    if sensor.rate * sim.step_size > 1 + DUE:
        most = f"{1 / sim.step_size:g} Hz"
        raise InputError(f"sensor {sensor.name!r}: rate {sensor.rate:g} Hz: allowed is one sample a step, {most}")
    if sim.scene is None:
        sim.scene = Scene(sim.model, sim.ground, fixed_meshes(sim))
    made = sim.sensors[sensor.name] = instrument(sensor, sim.model, sim.worlds, sim.scene)
    sim.sensor_due[sensor.name] = sim.time
    return made


def fixed_meshes(sim: Simulation) -> list[tuple[np.ndarray, np.ndarray]]:
    """Fixed shapes of modules that are no geoms of the model, world axes."""
    shapes = [shape for m in sim.modules if isinstance(m, optional.HasFixedShapes) for shape in m.fixed.values()]
    return [s.mesh() if isinstance(s, RoundSurface) else (s.vertices, s.triangles) for s in shapes]
