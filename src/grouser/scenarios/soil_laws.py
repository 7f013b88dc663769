"""Settings of all soil scenarios that choose the laws of the soil: the default ones, or those of a paper."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pydantic

from grouser.scenarios.scenario import Settings

OF_SOIL = (
    "laws", "erosion_sweeps", "deposit_exponent", "erosion", "friction", "interface_friction", "faces", "lugs",
    "lug_carry", "slip_sinkage", "loose_cover", "node_shear", "options", "scale_with_gravity",
)  # fmt: skip


class SoilLaws(Settings):
    """Laws of the soil, see docs/theory/soil.md."""

    laws: Literal["default", "krenn2008", "krenn2009"] = "default"  # the papers' own laws fix most other choices
    erosion_sweeps: Annotated[int, pydantic.Field(ge=1)] | None = None  # a step; None: 1 with a paper's laws, else 1000
    deposit_exponent: Annotated[float, pydantic.Field(gt=1)] = 2.0  # m of Krenn and Hirzinger 2009, eq. 10; krenn2009

    @pydantic.model_validator(mode="after")
    def _no_choices_of_soil_with_rft(self):
        """Resistive force theory has no such choices: they would do nothing."""
        if getattr(self, "law", "soil") == "rft":
            fields = type(self).model_fields
            for name in (name for name in OF_SOIL if name in fields):
                if getattr(self, name) != fields[name].get_default(call_default_factory=True):
                    raise ValueError(f"{name}: not allowed with law 'rft', which has no such choice")
        return self

    def law_options(self) -> dict[str, Any]:
        """Fields of `SoilOptions`."""
        return {"laws": self.laws, "sweeps": self.erosion_sweeps, "deposit_exponent": self.deposit_exponent}
