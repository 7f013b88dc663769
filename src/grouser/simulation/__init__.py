"""Simulations: robots put on soil, the step, recording and checkpoints."""

from grouser.simulation.recorded_run import RunResult
from grouser.simulation.simulation import Simulation
from grouser.simulation.soil_robot import on_soil

__all__ = ["RunResult", "Simulation", "on_soil"]
