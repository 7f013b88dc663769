"""Two controllers on sinusoidal terrain: Morrot et al., section 5, Fig. 10a.

The paper gives speed, gain, step, control rate, voltage and current; terrain and vehicle are assumed.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pydantic

from grouser.scenarios.quantity import Unit
from grouser.scenarios.vehicle_choice import PAPER
from grouser.scenarios.vivi_course import Course, course
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.generators import from_function


class ViviSinusoid(Course):
    """Settings of `vivi-sinusoid`."""

    amplitude: Annotated[float, pydantic.Field(ge=0), Unit("m")] = 0.25  # assumed
    wavelength: Annotated[float, pydantic.Field(gt=0.5), Unit("m")] = 10.0  # assumed


def terrain(s: ViviSinusoid) -> ElevationGrid:
    wave = 2 * np.pi / s.wavelength

    def heights(x, y):
        """Heights: level at the start, then waves A (1 - cos(2 pi x / wavelength))."""
        return s.amplitude * (1 - np.cos(wave * np.maximum(x - 1.0, 0.0)))

    return from_function(heights, **s.extent(1.3))


SCENARIO = course(
    "vivi-sinusoid",
    "two controllers of a four-wheel vehicle on wavy ground",
    f"{PAPER}, section 5, Fig. 10a",
    ViviSinusoid,
    terrain,
    rolls=False,
)
