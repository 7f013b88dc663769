"""Reads measurements of a soil from YAML or a mapping (docs/identify.md). Every list names its unit.

Errors name file:line:column. Values far outside of what soil can be are refused, because a list in millimetres that is
taken for metres would give a soil without a word.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import pydantic
from pydantic_core import PydanticCustomError

from grouser.errors import InputError
from grouser.identification.constants import CONSTANTS, PRESSURE, Range
from grouser.scenarios.quantity import Unit, in_unit
from grouser.scenarios.scenario import Settings
from grouser.scenarios.soil_choice import SoilChoice
from grouser.scenarios.source import Source, read_file, read_mapping
from grouser.scenarios.validation_errors import error_lines
from grouser.terrain import units
from grouser.terrain.checks import nearest
from grouser.terrain.soil_file import UNITS
from grouser.validation.measured import Number, Slip, Text, Wheel

MOST_LOAD = 1e6  # [N] of one wheel
MOST_GRAVITY = 100.0  # [m/s^2] four times that of Jupiter: more is a slip of the pen
MOST_FORCE = 5.0  # of a wheel over its load, and torque over load times radius; measured ones reach 1 (assumed)
# Below these all soils of the default priors are far stronger: mostly kPa that are taken for Pa (assumed).
LEAST_PRESSURE = 100.0  # [Pa] largest pressure of a plate test
LEAST_STRESS = 20.0  # [Pa] largest stress of a shear test, and its normal pressure if it has one
LEAST = "at least "  # before a scatter of which only a part is known, such as how well a figure can be read
MOST_POINTS = 2000  # of one list; more say nothing new about six constants, and covariances grow with the square


class Scatter(Settings):
    """Standard deviation of a single measured value: a share of it ("5 %"), or in the unit of the quantity."""

    share: float | None = None  # [1]
    value: float | None = None  # SI
    least: bool = False  # the scatter may be larger, which is estimated


def _scatter(given: Any, unit: str) -> Any:
    """Read a text such as "5 %", "0.5 N" or "at least 0.5 N"."""
    if given is None or isinstance(given, Scatter):
        return given
    allowed = (f"allowed is a share such as '5 %', up to 100 %, or a text with a unit such as '0.5 {unit}', above 0, "
               f"or either after '{LEAST}'")  # fmt: skip
    if isinstance(given, str):
        least, size = given.startswith(LEAST), given.removeprefix(LEAST)
        share = "%" in size  # a degree has no dimension either, so that the dimension does not tell
        try:
            number = units.in_unit(size, "" if share else unit)
        except ValueError:
            number = 0.0
        if 0 < number <= (1 if share else math.inf):
            return Scatter(share=number, least=least) if share else Scatter(value=number, least=least)
    raise PydanticCustomError("scatter", "{text}", {"text": allowed})


class Series(Settings):
    """A list of measured values in `unit`, at the order of the other lists of the test."""

    si_unit: ClassVar[str] = "1"
    smallest: ClassVar[float] = -1e9  # [SI] magnitudes that a measurement may have
    largest: ClassVar[float] = 1e9

    unit: Text
    values: Annotated[tuple[Number, ...], pydantic.Field(min_length=1, max_length=MOST_POINTS)]

    @pydantic.field_validator("unit")
    @classmethod
    def _convertible(cls, unit: str) -> str:
        try:
            units.in_unit(f"1 {unit}", cls.si_unit)
        except ValueError:
            text = f"is no unit of this quantity: allowed is {cls.si_unit} and what converts to it"
            raise PydanticCustomError("unit", "{text}", {"text": text}) from None
        return unit

    @pydantic.model_validator(mode="after")
    def _plausible(self) -> Self:
        for value in self.si:
            if not self.smallest <= value <= self.largest:
                raise PydanticCustomError("range", "{text}", {"text": (
                    f"{value:g} {self.si_unit}: allowed is {self.smallest:g} to {self.largest:g} {self.si_unit}; "
                    f"is the unit {self.unit!r} right?")})  # fmt: skip
        return self

    @property
    def si(self) -> tuple[float, ...]:
        scale = units.in_unit(f"1 {self.unit}", self.si_unit)
        return tuple(scale * value for value in self.values)


class Depths(Series):
    """Sinkage of a plate."""

    si_unit: ClassVar[str] = "m"
    smallest: ClassVar[float] = 0.0
    largest: ClassVar[float] = 0.5


class Displacements(Depths):
    """Shear displacement."""


class Pressures(Series):
    si_unit: ClassVar[str] = "Pa"
    smallest: ClassVar[float] = 0.0
    largest: ClassVar[float] = 2e7


class Measured(Series):
    """A quantity of a wheel with its scatter."""

    scatter: Scatter | None = None

    @pydantic.field_validator("scatter", mode="before")
    @classmethod
    def _read_scatter(cls, given: Any) -> Any:
        return _scatter(given, cls.si_unit)


class Force(Measured):
    si_unit: ClassVar[str] = "N"
    smallest: ClassVar[float] = -1e6
    largest: ClassVar[float] = 1e6


class WheelSinkage(Measured):
    si_unit: ClassVar[str] = "m"
    smallest: ClassVar[float] = -0.1
    largest: ClassVar[float] = 1.0


class Torque(Measured):
    si_unit: ClassVar[str] = "N m"
    smallest: ClassVar[float] = -1e6
    largest: ClassVar[float] = 1e6


def _equal_lengths(one: Settings, names: tuple[str, str]) -> None:
    first, second = (len(getattr(one, name).values) for name in names)
    if first != second:
        raise ValueError(f"{names[0]} has {first} values, {names[1]} has {second}: allowed is one each")


def _strong_enough(what: str, value: float, least: float, unit: str) -> None:
    """Refuse a pressure that no soil is as weak as."""
    if value < least:
        raise ValueError(f"{what} {value:g} Pa: allowed is {least:g} Pa or more; is the unit {unit!r} right?")


class PlateTest(Settings):
    """A plate pressed into fresh soil: pressure over sinkage."""

    width: Annotated[float, pydantic.Field(gt=1e-3, le=2), Unit("m")]  # smaller side, or radius of a round plate
    sinkage: Depths
    pressure: Pressures
    scatter: Scatter | None = None

    @pydantic.field_validator("scatter", mode="before")
    @classmethod
    def _read_scatter(cls, given: Any) -> Any:
        return _scatter(given, "Pa")

    @pydantic.model_validator(mode="after")
    def _complete(self) -> Self:
        _equal_lengths(self, ("sinkage", "pressure"))
        if not any(z > 0 and p > 0 for z, p in self.points):
            raise ValueError("allowed is at least one point with sinkage and pressure above 0")
        _strong_enough("largest pressure", max(self.pressure.si), LEAST_PRESSURE, self.pressure.unit)
        return self

    @property
    def points(self) -> list[tuple[float, float]]:
        """Sinkage [m] and pressure [Pa] of points that say something: at the surface both are 0."""
        pairs = zip(self.sinkage.si, self.pressure.si, strict=True)
        return [(z, p) for z, p in pairs if z > 0 and p > 0]


class ShearTest(Settings):
    """Soil sheared under a constant normal pressure: stress over displacement."""

    pressure: Annotated[float, pydantic.Field(ge=0, le=2e7), Unit("Pa")]
    displacement: Displacements
    stress: Pressures
    scatter: Scatter | None = None

    @pydantic.field_validator("scatter", mode="before")
    @classmethod
    def _read_scatter(cls, given: Any) -> Any:
        return _scatter(given, "Pa")

    @pydantic.model_validator(mode="after")
    def _complete(self) -> Self:
        _equal_lengths(self, ("displacement", "stress"))
        if not self.points:
            raise ValueError("allowed is at least one point with displacement and stress above 0")
        _strong_enough("largest stress", max(self.stress.si), LEAST_STRESS, self.stress.unit)
        if 0 < self.pressure < LEAST_STRESS:
            raise ValueError(
                f"normal pressure {self.pressure:g} Pa: allowed is 0, or {LEAST_STRESS:g} Pa or more; is it in kPa?"
            )
        return self

    @property
    def points(self) -> list[tuple[float, float]]:
        """Displacement [m] and stress [Pa] of points that say something: at the start both are 0."""
        pairs = zip(self.displacement.si, self.stress.si, strict=True)
        return [(j, t) for j, t in pairs if j > 0 and t > 0]


class WheelTest(Settings):
    """Runs of one wheel in a soil bin. Slip, load and slip angle are lists of one length, or one value for all."""

    QUANTITIES: ClassVar[tuple[str, ...]] = ("pull", "sinkage", "torque", "side_force")

    wheel: Wheel
    gravity: Annotated[float, pydantic.Field(gt=0, le=MOST_GRAVITY), Unit("m/s^2")] = 9.81
    slip_of: Literal["rim", "tips"] = "rim"  # the radius that slip refers to
    sinkage_of: Literal["rim", "tips"] = "rim"  # what is lowest
    slip: tuple[Slip, ...]
    predict_slip: tuple[Slip, ...] = ()  # further slips that the emulator shall reach
    load: tuple[Annotated[float, pydantic.Field(gt=0, le=MOST_LOAD), Unit("N")], ...]
    slip_angle_deg: tuple[Annotated[float, pydantic.Field(ge=-60, le=60), Unit("degree")], ...] = (0.0,)
    pull: Force | None = None
    sinkage: WheelSinkage | None = None
    torque: Torque | None = None
    side_force: Force | None = None

    @pydantic.field_validator("load", "slip_angle_deg", mode="before")
    @classmethod
    def _listed(cls, given: Any) -> Any:
        return given if isinstance(given, list | tuple) else (given,)

    @pydantic.model_validator(mode="after")
    def _complete(self) -> Self:
        count = len(self.slip)
        for name in ("load", "slip_angle_deg"):
            if len(getattr(self, name)) not in (1, count):
                raise ValueError(
                    f"{name} has {len(getattr(self, name))} values for {count} slips: allowed is 1 or {count}"
                )
        if not self.quantities:
            raise ValueError(f"holds no quantity: allowed are {', '.join(self.QUANTITIES)}")
        for name, series in self.quantities.items():
            if len(series.values) != count:
                raise ValueError(f"{name} has {len(series.values)} values for {count} slips: allowed is one each")
        if self.wheel.lugs is None and "tips" in (self.slip_of, self.sinkage_of):
            raise ValueError("slip or sinkage of the tips of a wheel without lugs")
        if self.side_force is not None and not any(self.slip_angle_deg):
            raise ValueError(
                "side_force without a slip angle: allowed is slip_angle_deg other than 0, or no side_force"
            )
        self._check_sizes()
        return self

    def _check_sizes(self) -> None:
        """Refuse values that no wheel under this load has: mostly a wrong unit."""
        radius = self.wheel.radius + self.wheel.lug_height
        loads = self.load if len(self.load) > 1 else self.load * len(self.slip)
        for name, series in self.quantities.items():
            unit = series.si_unit
            for value, load in zip(series.si, loads, strict=True):
                force = MOST_FORCE * load, f"load times {MOST_FORCE:g}"
                limits = {"sinkage": (2 * radius, "diameter of the wheel"),
                          "torque": (force[0] * radius, f"{force[1]} and the radius")}  # fmt: skip
                most, of = limits.get(name, force)
                if abs(value) > most:
                    raise ValueError(f"{name} {value:g} {unit}: allowed is at most the {of}, {most:g} {unit}; "
                                     f"is the unit {series.unit!r} right?")  # fmt: skip

    @property
    def quantities(self) -> dict[str, Measured]:
        """The measured quantities by name."""
        return {name: getattr(self, name) for name in self.QUANTITIES if getattr(self, name) is not None}


class Slopes(Measured):
    """Slopes that a rover climbs: angles, or the rise over the run, in % for example."""

    si_unit: ClassVar[str] = "degree"
    smallest: ClassVar[float] = -45.0
    largest: ClassVar[float] = 45.0

    @property
    def si(self) -> tuple[float, ...]:
        if not units.is_ratio(self.unit):
            return super().si
        scale = units.in_unit(f"1 {self.unit}", "")
        return tuple(math.degrees(math.atan(scale * value)) for value in self.values)


class RoverTest(Settings):
    """A rover that climbs straight up: the slope, and the slip at which it does so.

    Every wheel carries the same share of the weight, in fresh soil: load W cos(a)/N, and a pull of W sin(a)/N. The
    transfer of load and the ruts of the wheels ahead are not in it; they are left to the discrepancy.
    """

    wheel: Wheel
    wheels: Annotated[int, pydantic.Field(ge=1, le=20)]
    mass: Annotated[float, pydantic.Field(gt=0, le=1e5), Unit("kg")]
    gravity: Annotated[float, pydantic.Field(gt=0, le=MOST_GRAVITY), Unit("m/s^2")] = 9.81
    slip_of: Literal["rim", "tips"] = "rim"
    slip: tuple[Slip, ...]
    slope: Slopes

    @pydantic.model_validator(mode="after")
    def _complete(self) -> Self:
        if len(self.slope.values) != len(self.slip):
            raise ValueError(
                f"slope has {len(self.slope.values)} values for {len(self.slip)} slips: allowed is one each"
            )
        if self.wheel.lugs is None and self.slip_of == "tips":
            raise ValueError("slip of the tips of a wheel without lugs")
        if self.share > MOST_LOAD:
            raise ValueError(f"a wheel carries {self.share:g} N: allowed are {MOST_LOAD:g} N at most")
        return self

    @property
    def share(self) -> float:
        """Weight that one wheel carries on level ground [N]."""
        return self.mass * self.gravity / self.wheels

    def as_wheel(self) -> WheelTest:
        """One of its wheels, as a test of a wheel."""
        share = self.share
        slopes = [math.radians(slope) for slope in self.slope.si]
        scatter = self.slope.scatter
        if scatter is not None and scatter.value is not None:
            scatter = Scatter(value=share * math.radians(scatter.value), least=scatter.least)
        pull = Force(unit="N", values=tuple(share * math.sin(slope) for slope in slopes), scatter=scatter)
        load = tuple(share * math.cos(slope) for slope in slopes)
        return WheelTest(
            wheel=self.wheel, gravity=self.gravity, slip_of=self.slip_of, slip=self.slip, load=load, pull=pull
        )


class DataFile(Settings):
    """The keys of a file. Tests and priors are checked one by one, so that each error has its place."""

    format: Literal[1] = 1
    title: Text = "identified-soil"
    start: SoilChoice = SoilChoice(name="dry-sand")  # soil of the constants that are not identified
    priors: None = None
    plates: None = None
    shear: None = None
    wheels: None = None
    rovers: None = None


@dataclass(frozen=True)
class Measurements:
    """All measurements of one soil, checked."""

    title: str
    start: Any  # Soil of constants that are not identified
    priors: dict[str, Range]  # by constant, SI
    plates: dict[str, PlateTest]
    shear: dict[str, ShearTest]
    wheels: dict[str, WheelTest]  # those of rovers among them
    rovers: frozenset[str] = frozenset()  # names of wheels that are those of rovers


MODELS: dict[str, type[Settings]] = {
    "plates": PlateTest,
    "shear": ShearTest,
    "wheels": WheelTest,
    "rovers": RoverTest,
}


def read_measurements(given: str | Path | Mapping[str, Any]) -> Measurements:
    """Read measurements from a YAML file, or from a mapping with the same keys. Raises InputError."""
    if isinstance(given, Mapping):
        source, where, folder = read_mapping(given, "identify:"), "identify", None
    else:
        file = Path(given)
        source, where, folder = read_file(file), str(file), file.parent
    tree, lines = source.tree(), []
    try:
        parts = dict.fromkeys(tree.keys() & {*MODELS, "priors"})
        read = DataFile.model_validate(tree | parts, context={"folder": folder})
    except pydantic.ValidationError as error:
        raise InputError.of(error_lines(error, DataFile, source, where)) from None
    tests = {kind: _tests(kind, tree.get(kind), source, lines) for kind in MODELS}
    priors = _priors(tree.get("priors"), source, lines)
    rovers = tests.pop("rovers")
    for name, rover in rovers.items():
        if name in tests["wheels"]:
            lines.append(f"{source.place(('rovers', name), of_key=True)}: rovers.{name}: a wheel has the same name")
        tests["wheels"][name] = rover.as_wheel()
    if not lines and not any(tests.values()):
        lines.append(f"{where}: holds no measurement: allowed are {', '.join(MODELS)}")
    if lines:
        raise InputError.of(lines)
    return Measurements(read.title, read.start.resolve(), priors, **tests, rovers=frozenset(rovers))


def _tests(kind: str, given: Any, source: Source, lines: list[str]) -> dict[str, Any]:
    """The tests of one kind by name. Mistakes go to `lines`."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        lines.append(f"{source.place((kind,))}: {kind} = {given!r}: allowed is a mapping of names")
        return {}
    found, model = {}, MODELS[kind]
    for name, fields in given.items():
        try:
            found[name] = model.model_validate(fields)
        except pydantic.ValidationError as error:
            lines += error_lines(error, model, source, str(source.place((kind, name))), (kind, name))
    return found


def _priors(given: Any, source: Source, lines: list[str]) -> dict[str, Range]:
    """Ranges by constant, in SI."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        lines.append(f"{source.place(('priors',))}: priors = {given!r}: allowed is a mapping of constants")
        return {}
    found: dict[str, Range] = {}
    allowed = (*CONSTANTS, PRESSURE)
    for name, ends in given.items():
        place = source.place(("priors", name), of_key=True)
        if name not in allowed:
            lines.append(f"{place}: priors.{name}: not known{nearest(name, allowed)}; allowed: {', '.join(allowed)}")
            continue
        try:
            found[name] = _range(name, ends)
        except ValueError as error:
            lines.append(f"{place}: priors.{name} = {ends!r}: {error}")
    return found


def _range(name: str, ends: Any) -> Range:
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        raise ValueError("allowed are two ends such as [0.5, 1.2]")
    unit = "Pa" if name == PRESSURE else UNITS[name]
    low, high = (_end(one, unit) for one in ends)
    if not low < high:
        raise ValueError("allowed are two ends, the lower one first")
    return low, high


def _end(given: Any, unit: str | None) -> float:
    if isinstance(given, str):
        if unit is None:
            raise ValueError("allowed are plain SI numbers, their unit depends on n")
        try:
            return in_unit(given, "1" if unit == "dimensionless" else unit)
        except PydanticCustomError as error:
            raise ValueError(error.message_template.format(**(error.context or {}))) from None
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise ValueError("allowed are numbers")
    return float(given)
