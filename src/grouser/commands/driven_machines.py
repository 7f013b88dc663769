"""Scenarios that `grouser drive` takes: their machine with a driver in place of what drives it in a run."""

from __future__ import annotations

from typing import Any

from grouser.control import BladeDrive, Drive, DriverInput, MachineDriver, PathFollower, SideDrive, StepDrive
from grouser.control.driver import Driver
from grouser.errors import InputError
from grouser.scenarios import bulldozer_doze, tracked_machine, vivi_drive, wheel_walker_stairs
from grouser.scenarios.bulldozer_doze import BulldozerDoze
from grouser.scenarios.scenario import Scenario
from grouser.scenarios.tracked_machine import MachineSettings
from grouser.scenarios.vehicle_choice import OnWheels
from grouser.scenarios.wheel_walker_stairs import WheelWalkerStairs
from grouser.simulation import Simulation

CHAIN_SPEED = 0.8  # [m/s] at full input, where a scenario has no speed
PERIOD = 0.01  # [s] of the drives of tracks


def build(scenario: Scenario, settings: Any) -> tuple[Simulation, Driver]:
    """The simulation of a scenario with a driver, and the driver."""
    if isinstance(settings, OnWheels):
        sim, vehicle = vivi_drive.build(scenario, settings)
        driver = MachineDriver(vehicle)
        sim.use_controllers([driver, *sim.controllers])
        return sim, driver
    if isinstance(settings, MachineSettings):
        return _tracks(scenario.build(settings), settings)
    if isinstance(settings, WheelWalkerStairs):
        return _walker(scenario, settings)
    sim = scenario.build(settings)
    return sim, replace_follower(sim, float(getattr(settings, "speed", 0.1)))


def _tracks(sim: Simulation, s: MachineSettings) -> tuple[Simulation, Driver]:
    """The sprockets are driven instead of following the speeds of the scenario. Its blade load and pull stay.

    A blade that moves soil is raised and lowered by a switch.
    """
    tracks: Any = next(c for c in sim.controllers if hasattr(c, "radius"))  # of the sprockets
    rate = float(getattr(s, "speed", CHAIN_SPEED)) / tracks.radius
    drive: Any = SideDrive(("drive_left", "drive_right"), rate, ramp=tracked_machine.RAMP, period=max(PERIOD, s.step))
    if isinstance(s, BulldozerDoze):
        heights = tracks.level + s.machine.dozer_clearance, tracks.level - s.depth
        drive = BladeDrive(
            drive.actuators, rate, blade="blade", lift="blade_lift", heights=heights, period=drive.period,
            ramp=drive.ramp, lift_speed=bulldozer_doze.LIFT_SPEED, lift_time=bulldozer_doze.LIFT_TIME,
        )  # fmt: skip
    driver = MachineDriver(drive, start=tracked_machine.SETTLING)
    sim.use_controllers([driver, drive])
    return sim, driver


def _walker(scenario: Scenario, s: WheelWalkerStairs) -> tuple[Simulation, Driver]:
    """One robot, whose motors and carriers are the driver's. Carriers start as the setting `hold` says."""
    sim = scenario.build(s.model_copy(update={"compare_sides": None}))
    (drive,) = sim.controllers
    assert isinstance(drive, StepDrive)
    drive.goal = float("inf")
    driver = MachineDriver(drive, start=wheel_walker_stairs.SETTLING)
    for name in driver.switches:
        driver.switch(name, s.hold)
    sim.use_controllers([driver, drive])
    return sim, driver


def replace_follower(sim: Simulation, speed: float) -> DriverInput:
    """Replace the path follower by a driver. Returns the driver's input."""
    drive = next((c for c in sim.controllers if isinstance(c, Drive)), None)
    if drive is None:
        raise InputError(
            "this scenario has nothing to drive; allowed: rover-course, viking-rocks, rocks-and-sand, vivi-…, "
            "bulldozer-…, wheel-walker-stairs, or your own robot with --robot FILE"
        )
    followers = [c for c in sim.controllers if isinstance(c, PathFollower)]
    driver = DriverInput(drive, speed, start=max((f.start for f in followers), default=0.0))
    kept = [c for c in sim.controllers if not isinstance(c, PathFollower)]
    kept.insert(kept.index(drive), driver)
    sim.use_controllers(kept)
    return driver
