"""What `grouser drive --robot` adds to a robot on soil: a driver for its wheels, or for the user's controller."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from grouser.control import Drive, DriverInput
from grouser.control.find_wheels import find_axles, wheels_of
from grouser.control.function import DrivenFunction
from grouser.simulation import Simulation

SPEED = 0.2  # [m/s] at full input, if none is given (assumed)


@dataclass(frozen=True)
class RobotDrive:
    """Options of `grouser drive --robot`."""

    wheels: str | None = None  # regular expression for the joints or actuators of driven wheels; None: found
    steer: str | None = None  # the same for steering; None: found
    speed: float = SPEED  # [m/s] at full input

    def build(self, scenario: Any, settings: Any) -> tuple[Simulation, DriverInput]:
        """The simulation with a driver, and the driver's input. A controller of the settings drives, else the wheels.

        Wheel joints without a motor get velocity servos.
        """
        sim = scenario.build(settings)
        if settings.controller is not None:
            (function,) = sim.controllers
            assert isinstance(function, DrivenFunction)
            driver = DriverInput(function, self.speed)
            sim.use_controllers([driver, function])
            return sim, driver
        chassis, axles = find_axles(sim.model, _vertices(sim), self.wheels, self.steer)
        bare = [axle.joint for axle in axles if axle.servo is None and axle.motor is None]
        if bare:
            servos = {re.escape(joint): 0.0 for joint in bare}
            sim = scenario.build(settings.model_copy(update={"drive": servos | settings.drive}))
            chassis, axles = find_axles(sim.model, _vertices(sim), self.wheels, self.steer)
        drive = Drive(wheels_of(sim.model, chassis, axles))
        driver = DriverInput(drive, self.speed)
        sim.use_controllers([driver, drive])
        steered = sum(axle.steer is not None for axle in axles)
        how = f"{steered} of them steered" if steered else "skid steering"
        sim.notes.append(f"driven: {', '.join(axle.joint for axle in axles)}; {how}; {self.speed:g} m/s at full input")
        return sim, driver


def _vertices(sim: Simulation) -> dict[str, Any]:
    return {name: surface.vertices for name, surface in sim.soil.surfaces.items()}
