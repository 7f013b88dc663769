"""A vehicle on the ground of a `vivi-…` scenario, ready to be driven with and without traction control."""

from __future__ import annotations

from grouser.control import Cdta, SpeedController, TorqueShares
from grouser.scenarios.scenario import Scenario
from grouser.scenarios.vehicle_choice import OnWheels
from grouser.scenarios.vivi_course import Course
from grouser.scenarios.vivi_course import build as build_course
from grouser.simulation import Simulation
from grouser.terrain.generators import flat

PLAIN = 100.0  # [m] side of the level ground
FIELD = 20.0  # [m] of ground around a course at least: room to turn
PERIOD = 5e-3  # [s] of the controllers, unless the settings give one


def build(scenario: Scenario, s: OnWheels) -> tuple[Simulation, TorqueShares]:
    """The simulation of a course with one vehicle, or a vehicle on level ground where a scenario has no course."""
    if isinstance(s, Course):
        period = s.control_period if "control_period" in s.model_fields_set else max(PERIOD, s.step)
        margin = max(s.margin, FIELD)
        course: Course = s.model_copy(update={"controller": "cdta", "control_period": period, "margin": margin})
        sim = scenario.build(course)
    else:
        same = {name: getattr(s, name) for name in ("vehicle", "gravity", "slices") if hasattr(s, name)}
        course = Course(controller="cdta", control_period=PERIOD, **same)
        sim = build_course(course, flat(size=(PLAIN, PLAIN), spacing=1.0, origin=(-PLAIN / 2, -PLAIN / 2)))
    traction, pack = sim.controllers
    assert isinstance(traction, Cdta)
    plain = SpeedController(
        traction.sensors, traction.axles, traction.actuators, traction.gears, mass=traction.mass, speed=0.0,
        gain=traction.gain, gravity=traction.gravity, period=traction.period,
    )  # fmt: skip
    machine = TorqueShares(
        course.chosen_vehicle(), plain, traction, speed=course.speed, friction=traction.friction, prefix=traction.prefix
    )
    sim.use_controllers([machine, pack])
    return sim, machine
