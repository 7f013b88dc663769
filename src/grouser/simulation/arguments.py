"""What a caller hands to `on_soil`: the wrong kind of thing is told in one line, with what is allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from grouser.contact.soil import SoilOptions, Surface
from grouser.errors import InputError
from grouser.terrain import checks
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.soils import Soil


def refuse_wrong_kinds(given: Mapping[str, Any]) -> None:
    """An InputError for the first argument, by name, that is no such thing; ranges are looked at where they matter."""
    bodies, drive, terrain = given["bodies"], given["drive"], given["terrain"]
    _only(given["robot"], "robot", (str, Path, mujoco.MjSpec), "the path of an MJCF or URDF file, or an MjSpec")
    _only(given["soil_name"], "soil_name", (str, Soil), "the name of a soil or one of grouser.load_soils(FILE)")
    _only(bodies, "bodies", (str, Sequence, Mapping), "a pattern, names, or surfaces by name")
    for name, surface in bodies.items() if isinstance(bodies, Mapping) else ():
        _only(surface, f"bodies[{name!r}]", (Surface,), "a Surface, such as grouser.contact.soil.wheel(0.12, 0.08)")
    _only(drive, "drive", (Mapping, type(None)), 'values by pattern, such as {"motor.*": 0.4}')
    for pattern, value in (drive or {}).items():
        checks.number(value, f"drive[{pattern!r}]")
    remedy = f"; read it with grouser.terrain.load({str(terrain)!r})" if isinstance(terrain, str | Path) else ""
    remedy = "; make one with grouser.terrain.from_array" if isinstance(terrain, np.ndarray) else remedy
    _only(terrain, "terrain", (ElevationGrid, type(None)), f"an ElevationGrid{remedy}")
    _only(given["options"], "options", (SoilOptions, type(None)), "SoilOptions(…) of grouser.contact.soil")
    for name in ("place", "merge_small_shapes"):
        _only(given[name], name, (bool, np.bool_), "True or False")
    for name in ("gravity", "spacing", "step"):
        _only(given[name], name, (Real, type(None)), "a number (SI)")
    checks.count(given["worlds"], "worlds", at_least=1)


def _only(value: Any, what: str, kinds: tuple[type, ...], allowed: str) -> None:
    if not isinstance(value, kinds):
        shown = type(value).__name__ if isinstance(value, np.ndarray | Mapping) else repr(value)
        raise InputError(f"{what}: {shown} is not allowed; it must be {allowed}")
