"""Settings of all soil scenarios that choose the laws of the soil: the default ones, or those of a paper."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pydantic

from grouser.scenarios.scenario import Settings


class SoilLaws(Settings):
    """Laws of the soil, see docs/theory/soil.md."""

    laws: Literal["default", "krenn2008", "krenn2009"] = "default"  # the papers' own laws fix most other choices
    erosion_sweeps: Annotated[int, pydantic.Field(ge=1)] | None = None  # a step; None: 1 with a paper's laws, else 1000
    deposit_exponent: Annotated[float, pydantic.Field(gt=1)] = 2.0  # m of Krenn and Hirzinger 2009, eq. 10; krenn2009

    def law_options(self) -> dict[str, Any]:
        """Fields of `SoilOptions`."""
        return {"laws": self.laws, "sweeps": self.erosion_sweeps, "deposit_exponent": self.deposit_exponent}
