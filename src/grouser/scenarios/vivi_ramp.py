"""Level ground with a ramp at its end, two controllers: 001_ac5d14c10b944e50.txt section 5, Fig. 10b, 11 and 12.

The paper gives speed, gain, step, control rate, voltage and current; ramp and vehicle are assumed.
"""

from __future__ import annotations

from typing import Annotated, Any

import pydantic

from grouser.scenarios import vivi_course as course
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import Scenario
from grouser.scenarios.vehicle_choice import PAPER
from grouser.simulation import Simulation
from grouser.terrain.generators import ramp

MARGIN = 5.0  # [m] of ground behind the start and beside the lanes


class ViviRamp(course.Course):
    """Settings of `vivi-ramp`."""

    ramp_start: Annotated[float, pydantic.Field(gt=0), Unit("m")] = 60.0  # assumed: reached after about 7.5 s
    ramp_angle_deg: Annotated[float, pydantic.Field(gt=0, lt=60), Unit("degree")] = 26.0  # assumed
    ramp_height: Annotated[float, pydantic.Field(gt=0), Unit("m")] = 1.0  # assumed; level ground follows


def build(s: ViviRamp) -> Simulation:
    size = (s.speed * s.duration * 1.5 + 2 * MARGIN, 4 * MARGIN)
    terrain = ramp(s.ramp_height, s.ramp_angle_deg, s.ramp_start, size=size, spacing=0.1, origin=(-MARGIN, -2 * MARGIN))
    return course.build(s, terrain)


def metrics(s: ViviRamp) -> list[dict[str, Any]]:
    return course.metrics(s, course.outcomes(s, rolls=True))


SCENARIO = Scenario(
    name="vivi-ramp",
    summary="two controllers of a four-wheel vehicle on level ground with a ramp at its end",
    source=f"{PAPER} section 5, Fig. 10-12",
    settings=ViviRamp,
    metrics=metrics,
    figures=course.figures,
    build=build,
    duration=course.duration,
    measure=course.measure,
)
