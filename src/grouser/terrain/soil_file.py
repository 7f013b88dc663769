"""Read user-defined soils from YAML. Every error names file:line:column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from grouser.errors import InputError
from grouser.terrain import checks, units
from grouser.terrain.soil_uncertainty import parsed
from grouser.terrain.soils import OPTIONAL, RANGES, Soil, builtin_soils
from grouser.terrain.yaml_file import kind, read_yaml

UNITS: dict[str, str | None] = {  # unit to which a text such as "1.2 kPa" is converted; None: plain numbers only
    "n": "dimensionless",
    "k_c": None,
    "k_phi": None,
    "cohesion": "Pa",
    "friction_angle_deg": "degree",
    "shear_modulus": "m",
    "elastic_stiffness": "Pa/m",
    "damping_time": "s",
    "wheel_friction": "dimensionless",
    "compression": "dimensionless",
    "repose_angle_deg": "degree",
    "density": "kg/m^3",
    "wall_friction_deg": "degree",
}
REQUIRED = ("n", "k_c", "k_phi", "cohesion", "friction_angle_deg", "shear_modulus")
ASSUMED = dict.fromkeys(("elastic_stiffness", "damping_time", "compression", "density"), "assumed")
KEYS = ("like", *RANGES, "sources", "uncertainty")


def read_soils(path: str | Path) -> dict[str, Soil]:
    """Read all soils of a file, by name. The InputError has one line for each problem found."""
    file = checks.existing_file(path, "soil file")
    tree = read_yaml(file, "a mapping of soil names to their fields", positions=True)
    soils: dict[str, Soil] = {}
    problems: dict[str, str] = {}
    for name, fields in tree.items():
        if isinstance(fields, Mapping) and fields.get("like") in list(problems):
            continue  # the soil named by `like` is faulty and has its own error line
        try:
            soils[name] = _soil(name, fields, soils, _Place(file, tree))
        except InputError as error:
            problems[name] = str(error)
    if problems:
        raise InputError.of(problems.values())
    return soils


class _Place:
    """Position in the file of a mapping and its keys."""

    def __init__(self, file: Path, node: Any):
        self.file, self.node = file, node

    def key(self, key: Any) -> str:
        return self._at(self.node.lc.key, key)

    def value(self, key: Any) -> str:
        """Position of a value. For an empty value that of its key, as the parser reports the start of the next line."""
        return self.key(key) if self.node[key] is None else self._at(self.node.lc.value, key)

    def _at(self, position: Callable[[Any], tuple[int, int]], key: Any) -> str:
        try:
            line, column = position(key)
        except KeyError:  # a key merged in from an anchor has no position of its own
            line, column = self.node.lc.line, self.node.lc.col
        return f"{self.file}:{line + 1}:{column + 1}"


def _soil(name: Any, fields: Any, earlier: dict[str, Soil], place: _Place) -> Soil:
    """Make one soil. Raises an InputError with one line for each problem."""
    if not isinstance(name, str):
        raise InputError(f"{place.key(name)}: soil name {name!r}: allowed is a text")
    if not isinstance(fields, Mapping):
        raise InputError(f"{place.key(name)}: soil {name!r} holds {kind(fields)}: allowed is a mapping of fields")
    inside = _Place(place.file, fields)
    start = _start(name, fields, earlier, inside)
    problems: list[str] = []
    values: dict[str, Any] = {}
    for key in fields:
        if key not in KEYS:
            problems.append(_unknown(inside.key(key), name, "field", key, KEYS))
        elif key in RANGES:
            try:
                values[key] = _value(f"{inside.value(key)}: soil {name!r}", key, fields[key])
            except InputError as error:
                problems.append(str(error))
    if "uncertainty" in fields:
        try:
            parsed(fields["uncertainty"], f"{inside.value('uncertainty')}: soil {name!r}: uncertainty")
        except InputError as error:
            problems.append(str(error))
    sources = _sources(name, fields, inside, problems)
    missing = [key for key in REQUIRED if key not in fields]
    if missing and start is None:
        problems.append(f"{place.key(name)}: soil {name!r} lacks {', '.join(missing)} (or `like: NAME`)")
    if problems:
        raise InputError.of(problems)
    stated = dict.fromkeys(values, place.file.name) | sources
    if start is None:
        return Soil(name=name, **values, sources=ASSUMED | stated)
    return start.replace(name=name, **values, sources=stated)


def _unknown(where: str, name: str, what: str, key: Any, allowed: Iterable[str]) -> str:
    hint = checks.nearest(key, allowed)
    return f"{where}: soil {name!r}: {what} {key!r} is not known{hint}; allowed: {', '.join(allowed)}"


def _start(name: str, fields: Mapping[str, Any], earlier: dict[str, Soil], inside: _Place) -> Soil | None:
    """The soil named by `like`: a built-in one, or one defined earlier in the same file."""
    if "like" not in fields:
        return None
    known = builtin_soils() | earlier
    like = fields["like"]
    if not isinstance(like, str) or like not in known:
        raise InputError(_unknown(inside.value("like"), name, "like", like, known))
    return known[like]


def _sources(name: str, fields: Mapping[str, Any], inside: _Place, problems: list[str]) -> dict[str, str]:
    """Sources of the values as given by the user, by field."""
    sources = fields.get("sources", {})
    if not isinstance(sources, Mapping):
        problems.append(f"{inside.value('sources')}: soil {name!r}: sources = {sources!r}: allowed is a mapping")
        return {}
    place = _Place(inside.file, sources)
    problems += [_unknown(place.key(key), name, "source of field", key, RANGES) for key in sources if key not in RANGES]
    return {str(key): str(text) for key, text in sources.items()}


def _value(where: str, key: str, value: Any) -> float | None:
    """Return a field as a number in SI units after checking its range."""
    if value is None and key in OPTIONAL:
        return None
    if isinstance(value, str):
        value = _in_unit(where, key, value)
    return checks.number(value, f"{where}: {key}", **RANGES[key])


def _in_unit(where: str, key: str, text: str) -> float:
    """Convert a text such as "1.2 kPa" to a number in the field's own unit."""
    try:
        return float(text)
    except ValueError:
        pass
    unit = UNITS[key]
    if unit is None:
        raise InputError(f"{where}: {key} = {text!r}: allowed is a plain SI number, its unit depends on n")
    try:
        return units.in_unit(text, unit)
    except ValueError as error:
        allowed = f"a number or a text in units of {unit}"
        raise InputError(f"{where}: {key} = {text!r} {error}: allowed is {allowed}") from None
