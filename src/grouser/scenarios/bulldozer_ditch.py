"""A bulldozer drives through a V-shaped ditch, straight or oblique: Omar 2014, Fig. 16.

The paper shows a picture and gives no numbers; the ditch (sides of 3 m at 20 degrees) and the machine are assumed.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
import pydantic

from grouser.recording import Recording
from grouser.scenarios import tracked_machine as tracked
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import metric, scenario_of
from grouser.scenarios.tracked_machine import RAMP, SETTLING, MachineSettings
from grouser.simulation import Simulation
from grouser.terrain.generators import v_ditch
from grouser.track import GridGround

APPROACH = 0.6  # [m] from the foremost shoe to the ditch at the start
BEYOND = 1.0  # [m] that the machine drives on after the ditch
FRONT = 3.9  # [m] from the sprockets to the foremost shoe
REAR = 0.6  # [m] length of the machine behind the sprockets
SPACING = 0.05  # [m] spacing of the grid


class BulldozerDitch(MachineSettings):
    """Settings of `bulldozer-ditch`."""

    slope_deg: Annotated[float, pydantic.Field(ge=0, le=35), Unit("degree")] = 20.0
    side: Annotated[float, pydantic.Field(gt=0, le=10), Unit("m")] = 3.0  # length of each side
    oblique_deg: Annotated[float, pydantic.Field(ge=-60, le=60), Unit("degree")] = 0.0  # from square to the path
    speed: Annotated[float, pydantic.Field(gt=0, le=3), Unit("m/s")] = 1.0
    time: Annotated[float, pydantic.Field(gt=0), Unit("s")] | None = None  # None: until the machine is out of the ditch

    @property
    def width(self) -> float:
        """Width of the ditch [m]."""
        return 2 * self.side * math.cos(math.radians(self.slope_deg))

    @property
    def depth(self) -> float:
        return self.side * math.sin(math.radians(self.slope_deg))

    @property
    def centre(self) -> float:
        """Distance [m] of the ditch's centre ahead of the sprockets, along the path."""
        reach = self.machine.gauge / 2 + 0.4
        slant = abs(math.tan(math.radians(self.oblique_deg))) * reach
        return FRONT + APPROACH + slant + self.width / 2 / math.cos(math.radians(self.oblique_deg))

    @property
    def distance(self) -> float:
        """Distance [m] to drive until the whole machine is out of the ditch."""
        return 2 * self.centre - FRONT - APPROACH + REAR + BEYOND


def terrain(s: BulldozerDitch):
    length, breadth = s.distance + FRONT + 6.0, 8.0
    across = math.cos(math.radians(s.oblique_deg))
    return v_ditch(
        s.depth, s.width, s.centre * across, s.oblique_deg, size=(length, breadth), spacing=SPACING,
        origin=(-3.0, -breadth / 2),
    )  # fmt: skip


def build(s: BulldozerDitch) -> Simulation:
    speeds = tracked.ramped([(SETTLING, s.speed, s.speed)])
    return tracked.simulate(s, speeds, None if s.terrain else GridGround(terrain(s), s.soil.values()))


def duration(s: BulldozerDitch) -> float:
    return SETTLING + (s.time if s.time is not None else RAMP + s.distance / s.speed)


def metrics(s: BulldozerDitch) -> list[dict[str, Any]]:
    return [
        *tracked.shared_metrics(s, False),
        metric("pitch_max_deg", "degree", "largest absolute pitch of the chassis"),
        metric("roll_max_deg", "degree", "largest absolute roll of the chassis"),
        metric("torque_max_Nm", "N m", "largest torque of a sprocket's drive"),
        metric("distance_m", "m", "distance of the chassis along x", *_out(s)),
    ]


def _out(s: BulldozerDitch) -> tuple[Any, Any, Any]:
    """Expected distance: in a run of default length the whole machine is past the ditch at the end."""
    if s.time is not None or s.terrain is not None:
        return None, None, None
    return None, {"min": s.distance - BEYOND}, "geometry: the rear of the machine has passed the far edge of the ditch"


def figures(s: BulldozerDitch) -> list[dict[str, Any]]:
    x = np.linspace(-2.0, s.distance + FRONT, 200)
    ground = None
    if s.terrain is None:
        ground = (x.tolist(), terrain(s).height(x, 0 * x + s.machine.gauge / 2).tolist())
    end = duration(s)
    start = SETTLING + RAMP
    times = [SETTLING, start + 0.33 * (end - start), start + 0.62 * (end - start), end]
    return [
        *tracked.shared_figures(s, times, ground, sides=("left",)),
        {
            "name": "attitude", "title": "Attitude of the chassis", "kind": "lines", "x": "time",
            "y": ["machine/pitch", "machine/roll"], "ylabel": "angle [rad]",
            "caption": "Pitch is positive with the nose up, roll with the left side up.",
        },
        {
            "name": "torque", "title": "Torque of the drives", "kind": "lines", "x": "time", "y": ["actuator/force"],
            "ylabel": "torque [N m]", "caption": "Of the speed servos of both sprockets.",
        },
    ]  # fmt: skip


def measure(s: BulldozerDitch, recording: Recording) -> dict[str, Any]:
    x = recording["body/pose[chassis]"][:, 0]
    return {
        **tracked.shared_measures(s, recording),
        "pitch_max_deg": float(np.degrees(np.abs(recording["machine/pitch"]).max())),
        "roll_max_deg": float(np.degrees(np.abs(recording["machine/roll"]).max())),
        "torque_max_Nm": float(np.abs(recording["actuator/force"]).max()),
        "distance_m": float(x[-1] - x[0]),
    }


SCENARIO = scenario_of(
    __name__, BulldozerDitch, rate=25.0,
    summary="a bulldozer with 46 links a side drives through a V-shaped ditch, straight or oblique",
    source="Omar 2014, section 7, Fig. 15 and 16",
)  # fmt: skip
