"""Vehicles from YAML files: the built-in ones by name, a user's own by path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from grouser.contact.tyre import Suspension, Tyre
from grouser.contact.tyre.tir import read_tir
from grouser.drive import Battery, LuGre, Motor
from grouser.errors import InputError
from grouser.files import is_file
from grouser.robots.vehicle import Chassis, Looks, Vehicle, WheelMount
from grouser.terrain import checks
from grouser.terrain.yaml_file import read_yaml

FOLDER = Path(__file__).with_name("vehicles")
TOP = ("name", "chassis", "wheels", "tyre", "suspension", "wheel_inertia", "motor", "battery", "steering", "looks")
FORMULA = ("B", "C", "mu", "E")


def builtin_vehicles() -> list[str]:
    return sorted(file.stem for file in FOLDER.glob("*.yaml"))


def vehicle(name: str | Path) -> Vehicle:
    """A built-in vehicle by name, or one from a YAML file."""
    if isinstance(name, str) and name in builtin_vehicles():
        return read_vehicle(FOLDER / f"{name}.yaml")
    if not is_file(name):
        known = ", ".join(builtin_vehicles())
        raise InputError(f"vehicle {str(name)!r} is not known; allowed: {known}, or a YAML file")
    return read_vehicle(name)


def read_vehicle(path: str | Path) -> Vehicle:
    """Read a vehicle from a YAML file. An error names file, field, value and what is allowed."""
    file = checks.existing_file(path, "vehicle file")
    tree = read_yaml(file, f"a mapping of {', '.join(TOP)}")
    try:
        return _vehicle(tree, file.parent)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None


def _vehicle(tree: Mapping[str, Any], folder: Path) -> Vehicle:
    _known(tree, "vehicle", TOP)
    for name in ("name", "chassis", "wheels", "tyre", "suspension", "wheel_inertia"):
        if name not in tree:
            raise InputError(f"vehicle: lacks {name}")
    wheels = tree["wheels"]
    if not isinstance(wheels, list):
        raise InputError(f"wheels = {wheels!r}: allowed is a list of name, x, y, z")
    motor = dict(_mapping(tree.get("motor") or {}, "motor"))
    if "friction" in motor:
        motor["friction"] = _made(LuGre, motor["friction"], "motor.friction")
    return Vehicle(
        name=str(tree["name"]),
        chassis=_made(Chassis, tree["chassis"], "chassis"),
        wheels=tuple(_made(WheelMount, wheel, f"wheels[{k}]") for k, wheel in enumerate(wheels)),
        tyre=_tyre(tree["tyre"], folder),
        suspension=_made(Suspension, tree["suspension"], "suspension"),
        wheel_inertia=tree["wheel_inertia"],
        motor=_made(Motor, motor, "motor"),
        battery=_made(Battery, tree.get("battery") or {}, "battery"),
        steering=tree.get("steering", "skid"),
        looks=_made(Looks, tree.get("looks") or {}, "looks"),
        folder=folder,
    )


def _tyre(given: Any, folder: Path) -> Tyre:
    """Make a tyre from a .tir file, from the simple formula (B, C, mu, E), or from the coefficients themselves."""
    given = dict(_mapping(given, "tyre"))
    if "file" in given:
        tyre = read_tir(folder / str(given.pop("file")))
        radius, load = given.pop("radius", tyre.radius), given.pop("load", tyre.load)
        _known(given, "tyre", _names(Tyre))
        return replace(tyre.scaled(radius, load), **given)
    if any(name in given for name in FORMULA):
        _known(given, "tyre", (*FORMULA, *_names(Tyre)))
        missing = [name for name in (*FORMULA, "radius", "load") if name not in given]
        if missing:
            raise InputError(f"tyre: lacks {', '.join(missing)}")
        for name in (*FORMULA, "radius", "load", "width"):
            checks.number(given.get(name, 0.0), f"tyre: {name}")
        return Tyre.simple(**given)
    return _made(Tyre, given, "tyre")


def _made(kind: type, given: Any, what: str) -> Any:
    given = _mapping(given, what)
    _known(given, what, _names(kind))
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    try:
        return kind(**given)
    except TypeError as error:
        missing = str(error).partition("argument")[2].lstrip("s: ")
        raise InputError(f"{what}: lacks {missing}" if missing else f"{what}: {error}") from None


def _mapping(given: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InputError(f"{what} = {given!r}: allowed is a mapping")
    return given


def _known(given: Mapping[str, Any], what: str, allowed: tuple[str, ...]) -> None:
    for key in given:
        if key not in allowed:
            raise InputError(
                f"{what}: field {key!r} is not known{checks.nearest(key, allowed)}; allowed: {', '.join(allowed)}"
            )


def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
