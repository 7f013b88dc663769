"""From a description to moving bodies: the model, the step, the loop."""

from grouser.simulation.simulation import RunResult, Simulation
from grouser.simulation.soil_robot import on_soil

__all__ = ["RunResult", "Simulation", "on_soil"]
