"""A sinusoidal terrain, two controllers: 001_ac5d14c10b944e50.txt section 5, Fig. 10a.

The paper gives speed, gain, step, control rate, voltage and current; terrain and vehicle are assumed.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pydantic

from grouser.scenarios import vivi_course as course
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import Scenario
from grouser.scenarios.vehicle_choice import PAPER
from grouser.simulation import Simulation
from grouser.terrain.generators import from_function

MARGIN = 5.0  # [m] of ground behind the start and beside the lanes


class ViviSinusoid(course.Course):
    """Settings of `vivi-sinusoid`."""

    amplitude: Annotated[float, pydantic.Field(ge=0), Unit("m")] = 0.25  # assumed
    wavelength: Annotated[float, pydantic.Field(gt=0.5), Unit("m")] = 10.0  # assumed


def build(s: ViviSinusoid) -> Simulation:
    size = (s.speed * s.duration * 1.3 + 2 * MARGIN, 4 * MARGIN)
    wave = 2 * np.pi / s.wavelength

    def heights(x, y):
        """Level at the start, then waves: A (1 - cos(2 pi x / wavelength))."""
        return s.amplitude * (1 - np.cos(wave * np.maximum(x - 1.0, 0.0)))

    terrain = from_function(heights, size=size, spacing=0.1, origin=(-MARGIN, -2 * MARGIN))
    return course.build(s, terrain)


def metrics(s: ViviSinusoid) -> list[dict[str, Any]]:
    return course.metrics(s, course.outcomes(s, rolls=False))


SCENARIO = Scenario(
    name="vivi-sinusoid",
    summary="two controllers of a four-wheel vehicle on waves of ground",
    source=f"{PAPER} section 5, Fig. 10a",
    settings=ViviSinusoid,
    metrics=metrics,
    figures=course.figures,
    build=build,
    duration=course.duration,
    measure=course.measure,
)
