"""Two controllers on level ground with a ramp at its end: Morrot et al., section 5, Fig. 10b, 11 and 12.

The paper gives speed, gain, step, control rate, voltage and current; ramp and vehicle are assumed.
"""

from __future__ import annotations

from typing import Annotated

import pydantic

from grouser.scenarios.quantity import Unit
from grouser.scenarios.vehicle_choice import PAPER
from grouser.scenarios.vivi_course import Course, course
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.generators import ramp


class ViviRamp(Course):
    """Settings of `vivi-ramp`."""

    ramp_start: Annotated[float, pydantic.Field(gt=0), Unit("m")] = 60.0  # assumed: reached after about 7.5 s
    ramp_angle_deg: Annotated[float, pydantic.Field(gt=0, lt=60), Unit("degree")] = 26.0  # assumed
    ramp_height: Annotated[float, pydantic.Field(gt=0), Unit("m")] = 1.0  # assumed; level ground follows


def terrain(s: ViviRamp) -> ElevationGrid:
    return ramp(s.ramp_height, s.ramp_angle_deg, s.ramp_start, **s.extent(1.5))


SCENARIO = course(
    "vivi-ramp",
    "two controllers of a four-wheel vehicle on level ground with a ramp at its end",
    f"{PAPER}, section 5, Fig. 10-12",
    ViviRamp,
    terrain,
    rolls=True,
)
