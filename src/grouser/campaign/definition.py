"""Reads the definition of a sweep (YAML file or mapping) and makes checked cases, or reports all errors."""

from __future__ import annotations

import inspect
import math
import re
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pydantic

from grouser.campaign import sampling
from grouser.campaign.case import Case, Parameter, Sweep
from grouser.campaign.distributions import DISTRIBUTIONS, Choice, Steps
from grouser.errors import InputError
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import Scenario, Settings
from grouser.scenarios.settings import own_soils, scenario_of, validated
from grouser.scenarios.source import Keys, Source, dotted, joined, overlaid, put, read_file
from grouser.scenarios.validation_errors import error_lines
from grouser.terrain.checks import nearest

MOST_CASES = 100_000  # all cases are checked before the first one runs
PATH = re.compile(r"[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)*")
SAMPLED = {"latin-hypercube": sampling.latin_hypercube, "monte-carlo": sampling.monte_carlo}


class Definition(Settings):
    """The keys of a sweep file."""

    scenario: Any = None
    method: Literal["grid", "latin-hypercube", "monte-carlo"] = "grid"
    samples: Annotated[int, pydantic.Field(ge=1, le=MOST_CASES)] | None = None
    seed: Annotated[int, pydantic.Field(ge=0)] = 0
    set: dict[str, Any] | None = None  # base settings
    parameters: Annotated[dict[str, Any], pydantic.Field(min_length=1)]
    soils: dict[str, Any] | None = None
    metrics: list[str] = []  # noqa: RUF012 - pydantic copies defaults
    recordings: bool = False
    rate: Annotated[float, pydantic.Field(gt=0), Unit("Hz")] = 100.0


@dataclass(frozen=True)
class Value:
    """One value of a parameter and where it was written."""

    value: Any
    place: str


def read_sweep(definition: str | Path | Mapping[str, Any]) -> Sweep:
    """Read a sweep from a file, or from a mapping with the same keys. Every case is checked."""
    if isinstance(definition, Mapping):
        source, where, folder, title = _from_mapping(definition), "sweep", None, None
    else:
        file = Path(definition)
        source, where, folder, title = read_file(file), str(file), file.parent, file.stem
    tree, lines = source.tree(), []
    try:
        read = Definition.model_validate(tree)
    except pydantic.ValidationError as error:
        read, lines = None, error_lines(error, Definition, source, where)
    scenario = scenario_of(Path(where), source, tree, lines)
    if read is None or scenario is None:
        raise InputError.of(lines)
    reader = _Reader(source, where, folder, read, scenario, lines)
    return reader.sweep(title or f"{scenario.name}-sweep")


def _from_mapping(given: Mapping[str, Any]) -> Source:
    """A definition from a Python mapping. Arrays, tuples and ranges become lists."""
    source = Source()
    source.values[()] = "sweep"

    def take(path: Keys, value: Any) -> None:
        source.keys[path] = source.values[path] = "sweep"
        if isinstance(value, Mapping) and value:
            for key, inner in value.items():
                take((*path, str(key)), inner)
        else:
            source.leaves[path] = _plain(value)

    for key, value in given.items():
        take((str(key),), value)
    return source


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple | range):
        return [_plain(item) for item in value]
    return value


class _Reader:
    """Makes cases from a definition whose form has been checked."""

    def __init__(
        self,
        source: Source,
        where: str,
        folder: Path | None,
        read: Definition,
        scenario: Scenario[Any],
        lines: list[str],
    ):
        self.source, self.where, self.folder = source, where, folder
        self.read, self.scenario, self.lines = read, scenario, lines

    def sweep(self, title: str) -> Sweep:
        read, model = self.read, self.scenario.settings
        soils = own_soils(self.source, read.soils, self.lines)
        self._check_samples()
        points = self._points()
        self._raise_mistakes()
        base = self._base()
        self._check_count(points)
        cases = tuple(self._cases(base, points, soils))
        self._check_metrics(cases)
        self._raise_mistakes()
        described = [Parameter(path, _setting(model, path.split(".")).unit) for path in read.parameters]
        return Sweep(
            title=title, scenario=self.scenario.name, method=read.method, seed=read.seed,
            parameters=tuple(described), cases=cases, metrics=tuple(read.metrics),
            recordings=read.recordings, rate=read.rate,
        )  # fmt: skip

    def _raise_mistakes(self) -> None:
        if self.lines:
            raise InputError.of(self.lines)

    def _check_samples(self) -> None:
        read = self.read
        if read.method == "grid" and read.samples is not None:
            place = self.source.place(("samples",))
            self.lines.append(
                f"{place}: samples = {read.samples}: a grid does not use samples; allowed with {', '.join(SAMPLED)}"
            )
        if read.method != "grid" and read.samples is None:
            place = self.source.place(("method",))
            self.lines.append(f"{place}: method = {read.method!r}: 'samples' is missing (the number of cases to draw)")

    def _points(self) -> list[list[Value]]:
        """Values of each parameter: the steps of the grid, or one value per sample."""
        read, columns = self.read, []
        share = None
        if read.method != "grid" and read.samples is not None:
            share = SAMPLED[read.method](read.samples, len(read.parameters), read.seed)
        for k, (path, given) in enumerate(read.parameters.items()):
            if not PATH.fullmatch(path):
                place = self.source.place(("parameters", path), of_key=True)
                self.lines.append(f"{place}: {path}: not a setting; allowed is a path such as wheel.radius")
                continue
            columns.append(self._values(path, given, None if share is None else share[:, k]))
        return columns

    def _values(self, path: str, given: Any, share: np.ndarray | None) -> list[Value]:
        above = ("parameters", path)
        try:
            setting = _setting(self.scenario.settings, path.split("."))
        except InputError as error:
            self.lines.append(f"{self.source.place(above, of_key=True)}: {path}: {error}")
            return []
        model, spec = self._kind(path, given)
        if model is None:
            return []
        try:
            read: Any = model.model_validate(spec, context={"unit": setting.unit})
        except pydantic.ValidationError as error:
            self.lines += error_lines(error, model, self.source, self.where, above)
            return []
        place = self.source.place(above) or self.where
        if isinstance(read, Choice):
            inside = above if isinstance(given, list) else (*above, "values")
            chosen = range(len(read.values)) if share is None else read.places(share)
            return [Value(read.values[i], self.source.place((*inside, i)) or place) for i in chosen]
        if isinstance(read, Steps):
            return [Value(value, place) for value in read.values()]
        if share is None:  # nothing to sample; the error has been reported
            return []
        return [Value(value, place) for value in read.at(share, setting.whole)]

    def _kind(self, path: str, given: Any) -> tuple[Any, Any]:
        """Model class for the values given for a parameter, and the values in the form that the model reads."""
        place = self.source.place(("parameters", path))
        if isinstance(given, list):
            if not given:
                self.lines.append(f"{place}: parameters.{path} = []: allowed is a list with at least one value")
            return (Choice, {"values": given}) if given else (None, None)
        grid = self.read.method == "grid"
        if not isinstance(given, Mapping):
            allowed = "{min, max, count}" if grid else "a distribution such as {min, max}"
            self.lines.append(f"{place}: parameters.{path} = {given!r}: allowed is a list of values or {allowed}")
            return None, None
        if grid:
            return Steps, given
        kind = given.get("distribution", "choice" if "values" in given else "uniform")
        if kind not in DISTRIBUTIONS:
            place = self.source.place(("parameters", path, "distribution"))
            hint, allowed = nearest(kind, DISTRIBUTIONS), ", ".join(DISTRIBUTIONS)
            self.lines.append(
                f"{place}: parameters.{path}.distribution = {kind!r}: not known{hint}; allowed: {allowed}"
            )
            return None, None
        return DISTRIBUTIONS[kind], given

    def _check_count(self, columns: Sequence[Sequence[Value]]) -> None:
        count = math.prod(map(len, columns))
        if self.read.method == "grid" and count > MOST_CASES:
            place, sizes = self.source.place(("parameters",)), " x ".join(str(len(column)) for column in columns)
            raise InputError(f"{place}: parameters: {sizes} = {count} cases: allowed are {MOST_CASES}")

    def _base(self) -> Source:
        """The settings under `set`. Names may be dotted paths there too."""
        written, base = self.source.under("set"), Source()
        for part, into in ((written.keys, base.keys), (written.values, base.values)):
            into.update({_split_at_dots(path): place for path, place in part.items()})
        for path, value in written.leaves.items():
            full = _split_at_dots(path)
            if full in base.leaves:
                place = written.place(path, of_key=True)
                raise InputError(f"{place}: set.{dotted(full)} is given twice")
            base.leaves[full] = value
        base.values[()] = self.source.place(("set",)) or self.where
        return joined(base)

    def _cases(self, base: Source, columns: list[list[Value]], soils: Mapping[str, Any]) -> Iterator[Case]:
        """Make cases with checked settings. An error is reported once, even if it occurs in many cases."""
        paths = list(self.read.parameters)
        points = sampling.grid(columns) if self.read.method == "grid" else list(zip(*columns, strict=True))
        wrong: dict[tuple[str, ...], list[str]] = {}  # error lines by place and setting
        for index, point in enumerate(points, 1):
            seed = sampling.case_seed(self.read.seed, index)
            try:
                given = overlaid(base, self._point(paths, point))
                settings = self._settings(given, seed, soils)
            except InputError as error:
                for line in str(error).splitlines():
                    place_and_setting = tuple(part.split(" = ")[0] for part in line.split(": ")[:2])
                    wrong.setdefault(place_and_setting, []).append(line)
                continue
            values = {path: _shown(settings, path, item.value) for path, item in zip(paths, point, strict=True)}
            yield Case(f"{index:0{max(4, len(str(len(points))))}}", self.scenario.name, settings, values, seed)
        for found in wrong.values():
            more = f" (in {len(found)} of {len(points)} cases)" if len(set(found)) > 1 else ""
            self.lines.append(found[0] + more)

    def _point(self, paths: Sequence[str], point: Sequence[Value]) -> Source:
        source = Source()
        for path, item in zip(paths, point, strict=True):
            keys = tuple(path.split("."))
            put(source, keys, item.value, item.place)
            source.keys[keys] = self.source.place(("parameters", path), of_key=True) or self.where
        return joined(source)

    def _settings(self, given: Source, seed: int, soils: Mapping[str, Any]) -> Settings:
        model = self.scenario.settings
        if "seed" in model.model_fields:
            given.leaves.setdefault(("seed",), seed)
        return validated(model, given, where=self.where, soils=soils, folder=self.folder)

    def _check_metrics(self, cases: Sequence[Case]) -> None:
        """Check that every requested metric is declared by some case."""
        unknown, declared = set(self.read.metrics), {}
        for case in cases:
            if not unknown:
                return
            declared |= {metric["name"]: None for metric in self.scenario.metrics(case.settings)}
            unknown -= declared.keys()
        for k, name in enumerate(self.read.metrics):
            if name in unknown and declared:
                place, hint = self.source.place(("metrics", k)), nearest(name, declared)
                self.lines.append(f"{place}: metrics: {name!r} is not known{hint}; allowed: {', '.join(declared)}")


def _split_at_dots(path: Keys) -> Keys:
    return tuple(part for key in path for part in (key.split(".") if isinstance(key, str) else (key,)))


@dataclass(frozen=True)
class _Setting:
    unit: str  # "1": none
    whole: bool  # the setting is an integer


def _setting(model: type[pydantic.BaseModel], keys: Sequence[str]) -> _Setting:
    """Unit and kind of the setting at a path. Raises InputError if a model has no such field."""
    models, parts = [model], []
    for key in keys:
        fields = [inside.model_fields[key] for inside in models if key in inside.model_fields]
        if models and not fields:
            allowed = list(dict.fromkeys(name for inside in models for name in inside.model_fields))
            raise InputError(f"unknown field{nearest(key, allowed)}; allowed: {', '.join(allowed)}")
        parts = [part for field in fields for part in (*_parts(field.annotation), *field.metadata)]
        models = [part for part in parts if inspect.isclass(part) and issubclass(part, pydantic.BaseModel)]
    unit = next((part.symbol for part in parts if isinstance(part, Unit)), "1")
    return _Setting(unit, int in parts and float not in parts)


def _parts(annotation: Any) -> Iterator[Any]:
    """Types and metadata of a field's annotation, with unions and Annotated split into their parts."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType, Annotated):
        for part in typing.get_args(annotation):
            yield from _parts(part)
    else:
        yield annotation


def _shown(settings: Settings, path: str, given: Any) -> Any:
    """The checked value of a parameter in SI. For a group of settings, the value as given."""
    value: Any = settings
    for key in path.split("."):
        value = getattr(value, key, None) if isinstance(value, pydantic.BaseModel) else None
    return value if isinstance(value, bool | int | float | str) else given
