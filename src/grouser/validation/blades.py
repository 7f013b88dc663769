"""Reads files of measured blades (docs/validation.md, "Draught of a blade") and makes runs of `blade` of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pydantic

from grouser.errors import InputError
from grouser.scenarios.blade import BladeSettings
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import Settings
from grouser.scenarios.validation_errors import error_lines
from grouser.terrain import units
from grouser.terrain.soils import RANGES, Soil, builtin_soils
from grouser.validation.measured import Number, OpenFile, Origin, Text, check_assumed, check_soil_name, open_data

Metres = Annotated[float, pydantic.Field(gt=0), Unit("m")]
Speed = Annotated[float, pydantic.Field(gt=0), Unit("m/s")]
Numbers = Annotated[tuple[Number, ...], pydantic.Field(min_length=1)]


class Force(Settings):
    """Measured values of a force over travel with their standard deviations, both in `unit`."""

    unit: Text
    values: Numbers
    scatter: Numbers
    scored: bool
    reason: Text | None = None  # why it is not scored

    @pydantic.model_validator(mode="after")
    def _reasoned(self) -> Force:
        if not self.scored and self.reason is None:
            raise ValueError("scored is false: say why in 'reason'")
        try:
            self.newtons(1.0)
        except ValueError:
            raise ValueError(f"unit {self.unit!r}: allowed is N and what converts to it") from None
        return self

    def newtons(self, value: float) -> float:
        return value * units.in_unit(f"1 {self.unit}", "N")


class Table(Settings):
    """Draught against the motion, and lift upwards, over travel."""

    travel: Numbers  # [m]
    draught: Force
    lift: Force | None = None

    @pydantic.model_validator(mode="after")
    def _complete(self) -> Table:
        for name, force in (("draught", self.draught), ("lift", self.lift)):
            for part in ("values", "scatter"):
                count = len(getattr(force, part)) if force is not None else len(self.travel)
                if count != len(self.travel):
                    raise ValueError(
                        f"{name} has {count} {part} for {len(self.travel)} places of travel: allowed is one each"
                    )
        return self


class BladeSet(Settings):
    """One blade at one depth in one soil, over travel."""

    title: Text
    blade: BladeSettings
    depth: Metres
    speed: Speed
    entry_speed: Speed
    entry_angle_deg: Annotated[float, pydantic.Field(gt=0, le=90), Unit("degree")] = 90.0
    scored_from: Annotated[float, pydantic.Field(ge=0), Unit("m")] = 0.0  # points before are shown, not scored
    stretch: Annotated[float, pydantic.Field(ge=0), Unit("m")] = 0.0  # of travel, over which a value is a mean
    gravity: Annotated[float, pydantic.Field(gt=0), Unit("m/s^2")] = 9.81
    soil: Text  # of `soils` in this file, or built in
    also: tuple[Text, ...] = ()  # further soils that the source gives; shown, not scored
    assumed: dict[str, Text] = {}  # noqa: RUF012 - pydantic copies defaults. Why, by path in this set
    measured: Table


@dataclass(frozen=True)
class MeasuredBlade:
    """One set of a file, checked, with its soils."""

    name: str  # "haeri2020:50mm"
    source: Origin
    given: BladeSet
    soils: dict[str, Soil]  # the scored one first

    def settings(self, soil: Soil | None = None, changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Settings of the scenario `blade`, with the measured points. Without `soil` in the soil that is scored.

        `changes` replaces some of them, by paths such as "blade.width".
        """
        given, table = self.given, self.given.measured
        chosen = soil or next(iter(self.soils.values()))
        settings: dict[str, Any] = {
            "soil": {"name": chosen.name, **{field: getattr(chosen, field) for field in RANGES}},
            "blade": given.blade.model_dump(),
            **{name: getattr(given, name) for name in ("depth", "speed", "entry_speed", "entry_angle_deg", "gravity")},
            "travel": table.travel[-1] + given.stretch / 2,
            "measured": {
                "source": self.name,
                "travel": table.travel,
                "draught": [table.draught.newtons(value) for value in table.draught.values],
                "scatter": [table.draught.newtons(value) for value in table.draught.scatter],
                "scored_from": given.scored_from,
                "stretch": given.stretch,
            },
        }
        for path, value in (changes or {}).items():
            *above, last = path.split(".")
            place = settings
            for key in above:
                place = place[key]
            place[last] = value
        return settings


def read_blades(file: Path) -> dict[str, MeasuredBlade]:
    """Read all sets of a file by name. The InputError has one line for each mistake."""
    data = open_data(file)
    found: dict[str, MeasuredBlade] = {}
    for name, fields in data.sets.items():
        given = _blade_set(data, name, fields)
        if given is not None:
            known = builtin_soils() | data.soils
            soils = {soil: known[soil] for soil in (given.soil, *given.also)}
            found[name] = MeasuredBlade(f"{file.stem}:{name}", data.origin, given, soils)
    if data.lines:
        raise InputError.of(data.lines)
    return found


def _blade_set(data: OpenFile, name: str, fields: Any) -> BladeSet | None:
    """One checked set, or None with its mistakes in the lines of the file."""
    above, before = ("sets", name), len(data.lines)
    try:
        given = BladeSet.model_validate(fields)
    except pydantic.ValidationError as error:
        data.lines.extend(error_lines(error, BladeSet, data.source, str(data.source.place(above)), above))
        return None
    allowed = list(builtin_soils() | data.soils)
    for path, soil in [("soil", given.soil), *(("also", other) for other in given.also)]:
        check_soil_name(data.source, (*above, path), soil, allowed, data.lines)
    check_assumed(data.source, name, given.assumed, data.lines, "blade.rake_deg")
    return given if len(data.lines) == before else None
