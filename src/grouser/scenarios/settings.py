"""Reads and checks the settings of a scenario, from its name or YAML file and `--set` options. Reports all errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import pydantic

from grouser.errors import MOST_LINES, InputError
from grouser.files import is_there
from grouser.scenarios import registry
from grouser.scenarios.scenario import Scenario, Settings
from grouser.scenarios.soil_choice import SoilChoice, SoilDefinition
from grouser.scenarios.source import Source, overlaid, read_file, read_mapping, read_options
from grouser.scenarios.validation_errors import error_lines, model_of
from grouser.terrain.checks import nearest
from grouser.terrain.soils import Soil, builtin_soils

__all__ = ["Experiment", "SoilChoice", "file_schema", "from_command", "from_python", "parse_overrides"]

FILE_KEYS = ("scenario", "settings", "soils")
ROBOTS = (".xml", ".mjcf", ".urdf")  # suffixes of robot files, which are not scenarios


@dataclass(frozen=True)
class Experiment:
    """A scenario and the settings to run it with."""

    scenario: Scenario[Any]
    settings: Settings

    @cached_property
    def duration(self) -> float:
        """Duration of the run [s]."""
        return self.scenario.duration(self.settings)


def parse_overrides(items: Iterable[str]) -> dict[str, Any]:
    """Convert ["soil=dry-sand", "soil.k_c=900"], in any order, to {"soil": {"name": "dry-sand", "k_c": 900}}."""
    return read_options(items).tree()


def from_command(target: str, options: Iterable[str] = (), short: Source | None = None) -> Experiment:
    """The experiment of `grouser run TARGET --set …`. TARGET is the name of a scenario or a YAML file."""
    return _experiment(target, read_options(options, start=short))


def from_python(target: str | Path, given: Mapping[str, Any]) -> Experiment:
    """The experiment of `grouser.run(target, **given)`."""
    return _experiment(str(target), read_mapping(given, "setting"))


def _experiment(target: str, changes: Source) -> Experiment:
    if target in registry.NAMES:
        scenario = registry.scenario(target)
        return Experiment(scenario, validated(scenario.settings, changes, where=target))
    if target.lower().endswith(ROBOTS):
        raise InputError(f"{target}: is a robot, not a scenario: allowed is --robot {target}")
    if not (target.endswith((".yaml", ".yml")) or is_there(target)):
        allowed = ", ".join(registry.NAMES)
        hint = nearest(target, registry.NAMES, most=3)
        raise InputError(f"scenario {target!r} is not known{hint}; allowed: {allowed}, or a YAML file")
    return _from_file(Path(target), changes)


def _from_file(file: Path, changes: Source) -> Experiment:
    """Read a file and report all its errors at once. Settings can be checked only if the scenario is known."""
    source = read_file(file)
    tree = source.tree()
    lines: list[str] = []
    for key in islice((key for key in tree if key not in FILE_KEYS), MOST_LINES + 1):
        place, hint = source.place((key,), of_key=True), nearest(key, FILE_KEYS)
        lines.append(f"{place}: {key}: unknown field{hint}; allowed: {', '.join(FILE_KEYS)}")
    for key in ("settings", "soils"):
        if not isinstance(tree.get(key) or {}, dict):
            lines.append(f"{source.place((key,))}: {key} = {tree[key]!r}: allowed is a mapping")
    soils = own_soils(source, tree.get("soils"), lines)
    scenario = scenario_of(file, source, tree, lines)
    settings = None
    if scenario is not None and isinstance(tree.get("settings") or {}, dict):
        try:
            given = overlaid(source.under("settings"), changes)
            given.values[()] = source.place(("settings",)) or str(file)
            settings = validated(scenario.settings, given, where=str(file), soils=soils, folder=file.parent)
        except InputError as error:
            lines.append(str(error))
    if lines or scenario is None or settings is None:
        raise InputError.of(lines)
    return Experiment(scenario, settings)


def scenario_of(file: Path, source: Source, tree: dict[str, Any], lines: list[str]) -> Scenario[Any] | None:
    name, allowed = tree.get("scenario"), ", ".join(registry.NAMES)
    if name in registry.NAMES:
        return registry.scenario(name)
    if name is None:
        lines.append(f"{source.place(('scenario',)) or file}: scenario: missing; allowed: {allowed}")
    else:
        place, hint = source.place(("scenario",)), nearest(name, registry.NAMES)
        lines.append(f"{place}: scenario = {name!r}: not known{hint}; allowed: {allowed}")
    return None


def own_soils(source: Source, tree: Any, lines: list[str]) -> dict[str, Soil]:
    """The soils defined in the file itself. A later one may be `like` an earlier one."""
    own: dict[str, Soil] = {}
    for name, fields in tree.items() if isinstance(tree, dict) else ():
        try:
            own[name] = SoilDefinition.model_validate(fields).soil(name, builtin_soils() | own)
            continue
        except pydantic.ValidationError as error:
            lines += error_lines(error, SoilDefinition, source, "soils", ("soils", name))
        except InputError as error:
            lines.append(f"{source.place(('soils', name), of_key=True)}: {error}")
        own[name] = next(iter(builtin_soils().values()))  # keeps the name known, so that the error is reported once
    return own


def validated(
    model: type[Settings],
    given: Source,
    *,
    where: str,
    soils: Mapping[str, Soil] | None = None,
    folder: Path | None = None,
) -> Any:
    """Make settings from the given values. Raises InputError with one line per error."""
    try:
        filled = _with_defaults(model, given.tree())
        return model.model_validate(filled, context={"soils": soils or {}, "folder": folder})
    except pydantic.ValidationError as error:
        raise InputError.of(error_lines(error, model, given, where)) from None


def _with_defaults(model: type[pydantic.BaseModel], given: Mapping[str, Any]) -> dict[str, Any]:
    """Merge mappings with the default values: wheel.radius alone keeps the rest of the scenario's wheel.

    A mapping with a `name` or `file` starts from that instead.
    """
    filled = dict(given)
    for name, field in model.model_fields.items():
        value, inner = given.get(name), model_of(field.annotation)
        if not isinstance(value, Mapping) or inner is None:
            continue
        default = field.get_default(call_default_factory=True, validated_data={})
        if isinstance(default, pydantic.BaseModel) and not {"name", "file"} & value.keys():
            value = _merged(default.model_dump(exclude_unset=True), value)
        filled[name] = _with_defaults(inner, value)
    return filled


def _merged(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    both = {key: _merged(lower[key], upper[key]) for key in lower.keys() & upper.keys()
            if isinstance(lower[key], Mapping) and isinstance(upper[key], Mapping)}  # fmt: skip
    return {**lower, **upper, **both}


def file_schema(scenario: Scenario[Any]) -> dict[str, Any]:
    """JSON Schema of a YAML file for this scenario, for editors."""
    settings = scenario.settings.model_json_schema(ref_template="#/$defs/{model}")
    soils = SoilDefinition.model_json_schema()
    definitions = settings.pop("$defs", {})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"grouser {scenario.name}",
        "description": scenario.summary,
        "type": "object",
        "properties": {
            "scenario": {"const": scenario.name},
            "settings": settings,
            "soils": {"type": "object", "additionalProperties": soils},
        },
        "required": ["scenario"],
        "additionalProperties": False,
        "$defs": definitions,
    }
