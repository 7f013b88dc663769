"""Many worlds of a robot on soil: soils and terrains of each world, room for tiles, the engine for a device."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import warp as wp

from grouser.engine.mujoco_warp import MujocoWarp
from grouser.errors import InputError
from grouser.quiet_warp import start_warp
from grouser.terrain import soils
from grouser.terrain.ground import TILE
from grouser.terrain.soils import Soil

PATH = 5.0  # [m] path for which a world on a device has tiles by default
SPARE = 0.1  # [m] soil around a footprint that gets tiles too

Draw = Callable[[np.random.Generator], Soil]
Soils = str | Soil | Sequence[str | Soil] | Callable[[np.random.Generator], Soil | str]


def named(soil: Soil | str) -> Soil:
    """A soil, or the built-in one of this name."""
    found = soils.soil(soil) if isinstance(soil, str) else soil
    if not isinstance(found, Soil):
        raise InputError(f"soil: {found!r} is not allowed; it must be the name of a soil or a Soil")
    return found


def soils_of_worlds(given: Soils, worlds: int, seed: int) -> tuple[list[Soil], Draw | None]:
    """Soils of all worlds, one that they share or one for each, and the function that draws new ones."""
    if isinstance(given, str | Soil):
        return [named(given)], None
    if callable(given):
        draw = given
        first = [named(draw(np.random.default_rng([seed, world]))) for world in range(worlds)]
        return first, lambda rng: named(draw(rng))
    found = [named(one) for one in given]
    if len(found) != worlds:
        raise InputError(f"soil: {len(found)} are given; allowed is one, or one for each of the {worlds} worlds")
    return found, None


def device_of(name: Any) -> str:
    """The full name of a device, such as "cpu" or "cuda:0"."""
    start_warp()
    try:
        return wp.get_device(name).alias
    except (ValueError, RuntimeError):
        known = ", ".join(repr(one.alias) for one in wp.get_devices())
        raise InputError(f"device: {name!r} is not here; this machine has {known}") from None


def engine_for(device: str, more: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of `Simulation` for the engine of a device; one that the user gives stays."""
    return {} if device == "cpu" or "engine" in more else {"engine": partial(MujocoWarp, device=device)}


def tiles_for_path(points: Mapping[str, np.ndarray], spacing: float, path: float = PATH) -> int:
    """Tiles that a robot needs on a straight path [m]: under its bodies, and along the tracks that they make.

    `points` [m]: vertices of each body in world axes. Bodies behind each other share a track.
    """
    side = TILE * spacing
    low, high = (np.array([pick(p[:, :2], axis=0) for p in points.values()]) for pick in (np.min, np.max))
    length = float(np.ptp(np.vstack([low, high]), axis=0).max()) + 2 * SPARE + path
    across, reached = 0, -math.inf
    # Widths along x and y are taken the same way: a robot may drive along either.
    for first, last in sorted(zip(low[:, 1] - SPARE, high[:, 1] + SPARE, strict=True)):
        if last > reached:
            across += math.ceil((last - max(first, reached)) / side) + (1 if first > reached else 0)
            reached = last
    return across * (math.ceil(length / side) + 1)
