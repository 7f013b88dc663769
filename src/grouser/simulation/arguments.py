"""Type checks for the arguments of `on_soil`. An error is one line that says what is allowed."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from grouser.contact.rft import RftOptions
from grouser.contact.soil import SoilOptions, Surface
from grouser.errors import InputError
from grouser.module import ForceModule
from grouser.terrain import checks
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.soils import Soil


def check_argument_types(given: Mapping[str, Any]) -> None:
    """Raise an InputError for the first argument of a wrong type. Ranges are checked where the values are used."""
    bodies, drive, terrain = given["bodies"], given["drive"], given["terrain"]
    _check_type(given["robot"], "robot", (str, Path, mujoco.MjSpec), "the path of an MJCF or URDF file, or an MjSpec")
    if not callable(given["soil"]):
        allowed = (
            "the name of a soil or one of grouser.load_soils(FILE), one for each world, or a function that draws one"
        )
        _check_type(given["soil"], "soil", (str, Soil, Sequence), allowed)
    _check_type(given["below"], "below", (str, Soil, type(None)), "the name of a soil or a Soil")
    _check_type(bodies, "bodies", (str, Sequence, Mapping), "a pattern, names, or surfaces by name")
    for name, surface in bodies.items() if isinstance(bodies, Mapping) else ():
        _check_type(
            surface, f"bodies[{name!r}]", (Surface,), "a Surface, such as grouser.contact.soil.wheel(0.12, 0.08)"
        )
    _check_type(drive, "drive", (Mapping, type(None)), 'values by pattern, such as {"motor.*": 0.4}')
    for pattern, value in (drive or {}).items():
        checks.number(value, f"drive[{pattern!r}]")
    remedy = f"; read it with grouser.terrain.load({str(terrain)!r})" if isinstance(terrain, str | Path) else ""
    remedy = "; make one with grouser.terrain.from_array" if isinstance(terrain, np.ndarray) else remedy
    for one in terrain if isinstance(terrain, list | tuple) and terrain else [terrain]:
        _check_type(one, "terrain", (ElevationGrid, type(None)), f"an ElevationGrid{remedy}")
    _check_type(given["options"], "options", (SoilOptions, RftOptions, type(None)), "SoilOptions(…) or RftOptions(…)")
    modules = given["modules"]
    _check_type(modules, "modules", (Sequence,), "a list of force modules")
    for module in modules:
        _check_type(module, "modules", (ForceModule,), "a list of force modules")
    for name in ("place", "merge_small_shapes", "scale_with_gravity"):
        _check_type(given[name], name, (bool, np.bool_), "True or False")
    for name in ("gravity", "spacing", "step"):
        _check_type(given[name], name, (Real, type(None)), "a number (SI)")
    _check_type(given["settle"], "settle", (bool, np.bool_, type(None)), "True, False or None")
    _check_type(given["start"], "start", (Mapping, type(None)), 'values by name, such as {"qpos": […]}')
    checks.count(given["worlds"], "worlds", at_least=1)


def check_names(given: Mapping[str, Any], *functions: Callable[..., Any]) -> None:
    """Raise an InputError for further arguments that none of the functions has; a similar name is offered."""
    known = [name for one in functions for name in inspect.signature(one).parameters if name != "more"]
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise InputError(f"on_soil: {name!r} is no argument" + (f"; use {near[0]!r}" if near else ""))


def _check_type(value: Any, what: str, kinds: tuple[type, ...], allowed: str) -> None:
    if not isinstance(value, kinds):
        shown = type(value).__name__ if isinstance(value, np.ndarray | Mapping) else repr(value)
        raise InputError(f"{what}: {shown} is not allowed; it must be {allowed}")
