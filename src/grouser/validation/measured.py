"""Reads files of measured wheels (docs/measured-wheels.md). Every error names file:line:column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pydantic
from pydantic_core import PydanticCustomError

from grouser.errors import InputError
from grouser.scenarios.grousers import check_grousers_fit
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import Settings
from grouser.scenarios.settings import own_soils
from grouser.scenarios.source import Source, read_file
from grouser.scenarios.validation_errors import error_lines
from grouser.terrain import units
from grouser.terrain.checks import nearest
from grouser.terrain.soils import RANGES, Soil, builtin_soils

QUANTITIES = ("pull", "sinkage", "torque")
NOT_GIVEN = "not given"  # a soil whose constants the source does not state

Text = Annotated[str, pydantic.Field(min_length=1)]
Metres = Annotated[float, pydantic.Field(gt=0, le=5), Unit("m")]
Number = Annotated[float, pydantic.Field(strict=True)]  # of a list: a text or a truth value is a slip of the pen
Slip = Annotated[float, pydantic.Field(strict=True, ge=-0.95, lt=1)]  # driving 1 - v/(r w), braking r w/v - 1


class Origin(Settings):
    """Where the values are from."""

    citation: Text
    digitised: Text  # how numbers were taken from it
    uncertainty: Text  # how the uncertainties of the sets were found
    doi: Text | None = None
    notes: Text | None = None


class Lugs(Settings):
    """Straight bars across the rim."""

    count: Annotated[int, pydantic.Field(ge=1, le=200)]
    height: Metres  # above the rim
    thickness: Metres  # along the rim


class Wheel(Settings):
    """A rigid wheel. `radius` is that of the rim, without lugs."""

    radius: Metres
    width: Metres
    lugs: Lugs | None = None
    # Rim on soil, or tan(2/3 phi) of the soil. None: the soil's own limit, as if soil sheared on soil.
    friction: Annotated[float, pydantic.Field(ge=0)] | Literal["two-thirds"] | None = None

    @pydantic.model_validator(mode="after")
    def _lugs_fit(self) -> Wheel:
        if self.lugs is not None:
            check_grousers_fit(self.radius, self.lugs.height, self.lugs.count, self.lugs.thickness)
        return self

    @property
    def lug_height(self) -> float:
        """Height of the lugs above the rim [m], 0 without lugs."""
        return self.lugs.height if self.lugs else 0.0


class Quantity(Settings):
    """Measured values of one quantity over slip, with half the width of their uncertainty, both in `unit`.

    A quantity that is not scored may go without values: the file then says only that it was measured.
    """

    si_unit: ClassVar[str] = "1"

    unit: Text | None = None
    values: Annotated[tuple[Number, ...], pydantic.Field(min_length=1)] | None = None
    uncertainty: Annotated[float, pydantic.Field(ge=0)] | None = None
    scored: bool
    reason: Text | None = None  # why it is not scored
    slip: Annotated[tuple[Slip, ...], pydantic.Field(min_length=1)] | None = None  # None: the slips of the set

    @pydantic.field_validator("unit")
    @classmethod
    def _convertible(cls, unit: str | None) -> str | None:
        if unit is None:
            return None
        try:
            units.in_unit(f"1 {unit}", cls.si_unit)
        except ValueError:
            text = f"is no unit of this quantity: allowed is {cls.si_unit} and what converts to it"
            raise PydanticCustomError("unit", "{text}", {"text": text}) from None
        return unit

    @pydantic.model_validator(mode="after")
    def _reasoned(self) -> Quantity:
        if not self.scored and self.reason is None:
            raise ValueError("scored is false: say why in 'reason'")
        parts = ("unit", "values", "uncertainty")
        missing = [part for part in parts if getattr(self, part) is None]
        if missing and (self.scored or len(missing) < len(parts)):
            raise ValueError(f"lacks {', '.join(missing)}: allowed is all of {', '.join(parts)}; none if not scored")
        return self


class Pull(Quantity):
    si_unit: ClassVar[str] = "N"


class Sinkage(Quantity):
    si_unit: ClassVar[str] = "m"


class Torque(Quantity):
    si_unit: ClassVar[str] = "N m"


class Table(Settings):
    """The measured quantities of one wheel. A quantity may have slips of its own."""

    slip: Annotated[tuple[Slip, ...], pydantic.Field(min_length=1)] | None = None
    pull: Pull | None = None
    sinkage: Sinkage | None = None
    torque: Torque | None = None

    @pydantic.model_validator(mode="after")
    def _complete(self) -> Table:
        given = {name: getattr(self, name) for name in QUANTITIES if getattr(self, name) is not None}
        if not given:
            raise ValueError(f"holds no quantity: allowed are {', '.join(QUANTITIES)}")
        for name, quantity in given.items():
            if quantity.values is None:
                continue
            slips = quantity.slip or self.slip
            if slips is None:
                raise ValueError(f"{name} has no slips: give 'slip' here or in {name}")
            if len(slips) != len(quantity.values):
                raise ValueError(
                    f"{name} has {len(quantity.values)} values for {len(slips)} slips: allowed is one each"
                )
        return self


class WheelSet(Settings):
    """One wheel under one load in one soil, over slip."""

    title: Text
    wheel: Wheel
    load: Annotated[float, pydantic.Field(gt=0), Unit("N")]
    gravity: Annotated[float, pydantic.Field(gt=0), Unit("m/s^2")] = 9.81
    speed: Annotated[float, pydantic.Field(gt=0, le=20), Unit("m/s")] | None = None  # of travel; None: not stated
    soil: Text  # of `soils` in this file, built in, or "not given"
    slip_of: Literal["rim", "tips"]  # the radius that slip refers to
    sinkage_of: Literal["rim", "tips"] = "rim"  # what is lowest
    assumed: dict[str, Text] = {}  # noqa: RUF012 - pydantic copies defaults. Why, by path in this set
    measured: Table


class DataFile(Settings):
    """The keys of a file. What is in sets and soils is checked one by one, so that each error has its place."""

    format: Literal[1]
    source: Origin
    soils: None = None
    sets: None


@dataclass(frozen=True)
class Points:
    """One measured quantity in SI over slip as the source defines it."""

    slips: tuple[float, ...]
    values: tuple[float, ...]
    uncertainty: float
    unit: str
    scored: bool
    reason: str  # why it is not scored


@dataclass(frozen=True)
class MeasuredWheel:
    """One set of a file, checked, with its soil."""

    name: str  # "ding2011:smooth"
    file: Path
    source: Origin
    given: WheelSet
    soil: Soil | None  # None: the source states no constants

    @property
    def points(self) -> dict[str, Points]:
        """The measured quantities by name, those with values."""
        table = self.given.measured
        found: dict[str, Points] = {}
        for name in QUANTITIES:
            q: Quantity | None = getattr(table, name)
            if q is not None and q.values is not None:
                scale = units.in_unit(f"1 {q.unit}", q.si_unit)
                values, slips = tuple(scale * value for value in q.values), q.slip or table.slip or ()
                found[name] = Points(slips, values, scale * (q.uncertainty or 0), q.si_unit, q.scored, q.reason or "")
        return found

    @property
    def not_scored(self) -> dict[str, str]:
        """Why a quantity is not scored, by its name."""
        measured = {name: getattr(self.given.measured, name) for name in QUANTITIES}
        return {name: q.reason for name, q in measured.items() if q is not None and not q.scored}


@dataclass(frozen=True)
class OpenFile:
    """A data file with its origin and soils checked, and its sets as they are written."""

    source: Source
    origin: Origin
    soils: dict[str, Soil]  # those of the file
    sets: dict[str, Any]
    lines: list[str]  # mistakes so far


def open_data(file: Path) -> OpenFile:
    """Read all of a data file but its sets. Mistakes that leave sets readable are collected in `lines`."""
    source = read_file(file)
    tree, lines = source.tree(), []
    try:
        read = DataFile.model_validate(tree | dict.fromkeys(tree.keys() & {"sets", "soils"}))
    except pydantic.ValidationError as error:
        raise InputError.of(error_lines(error, DataFile, source, str(file))) from None
    for key in ("sets", "soils"):
        if not isinstance(tree.get(key) or {}, dict):
            lines.append(f"{source.place((key,))}: {key} = {tree[key]!r}: allowed is a mapping of names")
    if not tree["sets"]:
        lines.append(f"{source.place(('sets',))}: sets: is empty; allowed is at least one set")
    if lines:
        raise InputError.of(lines)
    soils = own_soils(source, tree.get("soils"), lines)
    _check_soil_sources(source, tree.get("soils") or {}, lines)
    return OpenFile(source, read.source, soils, tree["sets"], lines)


def read_wheels(file: Path) -> dict[str, MeasuredWheel]:
    """Read all sets of a file by name. The InputError has one line for each mistake."""
    data = open_data(file)
    found: dict[str, MeasuredWheel] = {}
    for name, fields in data.sets.items():
        given = _wheel_set(data.source, name, fields, data.soils, data.lines)
        if given is not None:
            soil = None if given.soil == NOT_GIVEN else (builtin_soils() | data.soils)[given.soil]
            found[name] = MeasuredWheel(f"{file.stem}:{name}", file, data.origin, given, soil)
    if data.lines:
        raise InputError.of(data.lines)
    return found


def _wheel_set(source: Source, name: str, fields: Any, soils: dict[str, Soil], lines: list[str]) -> WheelSet | None:
    """One checked set, or None with its mistakes in `lines`."""
    above = ("sets", name)
    try:
        given = WheelSet.model_validate(fields)
    except pydantic.ValidationError as error:
        lines += error_lines(error, WheelSet, source, str(source.place(above)), above)
        return None
    before = len(lines)
    check_soil_name(source, (*above, "soil"), given.soil, [NOT_GIVEN, *(builtin_soils() | soils)], lines)
    if given.wheel.lugs is None and "tips" in (given.slip_of, given.sinkage_of):
        lines.append(f"{source.place(above)}: sets.{name}: slip or sinkage of the tips of a wheel without lugs")
    check_assumed(source, name, given.assumed, lines, "load")
    return given if len(lines) == before else None


def check_soil_name(source: Source, path: tuple[str, ...], soil: str, allowed: list[str], lines: list[str]) -> None:
    """The soil of a set is one of `allowed`."""
    if soil not in allowed:
        hint = nearest(soil, allowed)
        lines.append(
            f"{source.place(path)}: {'.'.join(path)} = {soil!r}: not known{hint}; allowed: {', '.join(allowed)}"
        )


def check_assumed(source: Source, name: str, assumed: Mapping[str, str], lines: list[str], example: str) -> None:
    """What a set calls assumed is one of its values."""
    for path in assumed:
        if ("sets", name, *path.split(".")) not in source.keys:
            where = source.place(("sets", name, "assumed", path), of_key=True)
            lines.append(
                f"{where}: sets.{name}.assumed: {path!r} is no value of this set: allowed is a path such as {example}"
            )


def _check_soil_sources(source: Source, soils: dict[str, Any], lines: list[str]) -> None:
    """Every constant must say where it is from, be it "assumed"."""
    for name, fields in soils.items():
        stated = fields if isinstance(fields, dict) else {}
        named = stated.get("sources")
        for field in stated.keys() & RANGES.keys() - (named.keys() if isinstance(named, dict) else set()):
            where = source.place(("soils", name, field), of_key=True)
            lines.append(f"{where}: soils.{name}.{field} has no source: name it in soils.{name}.sources, or 'assumed'")
