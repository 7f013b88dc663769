"""The runs of `single-wheel` that stand against measured points."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import pydantic

from grouser.campaign import Case, Parameter, Sweep
from grouser.contact.soil import SoilOptions
from grouser.errors import InputError
from grouser.scenarios.scenario import RATE, Settings
from grouser.scenarios.settings import validated
from grouser.scenarios.single_wheel import SCENARIO
from grouser.scenarios.soil_choice import SoilChoice
from grouser.scenarios.source import Source, overlaid, read_mapping, read_options
from grouser.terrain.checks import nearest
from grouser.terrain.soils import RANGES, Soil
from grouser.validation.measured import MeasuredWheel, Wheel

FROM_DATA = ("mode", "slip", "slip_angle_deg", "load", "wheel", "gravity")  # settings that the data file decides
# Grid of the wheel of 0.15 m for which the closed forms are checked; finer in proportion for smaller wheels.
SPACING, SPACING_RADIUS = 0.01, 0.15  # [m]
PLAIN = "default"
OPTIONS = "allowed are options such as 'erosion=false spacing=0.005'"


@dataclass(frozen=True)
class Law:
    """Settings that are common to all runs of a comparison: laws, grid, constants of the soil."""

    name: str
    changes: Source


@dataclass(frozen=True)
class Entry:
    """A measured wheel with the soil to run it in."""

    wheel: MeasuredWheel
    soil: Soil
    blind: bool  # the soil is the source's own, not named by the user


def laws(options: Sequence[str], also: Iterable[str]) -> list[Law]:
    """The law of `--set` and one more for each `--also`, which is a list of options in one text."""
    common = _changes(options, "--set")
    found = [Law(" ".join(options) or PLAIN, common)]
    for text in also:
        try:
            parts = shlex.split(text)
        except ValueError as error:
            raise InputError(f"--also {text}: {error}: {OPTIONS}") from None
        if not parts:
            raise InputError(f"--also: is empty: {OPTIONS}")
        found.append(Law(" ".join((*options, text)), overlaid(common, _changes(parts, "--also"))))
    names = [law.name for law in found]
    if len(set(names)) < len(names):
        raise InputError(f"--also {next(n for n in names if names.count(n) > 1)}: is given twice")
    return found


def _changes(options: Sequence[str], label: str) -> Source:
    """Read options. A field of SoilOptions that is no setting of the scenario goes to the setting `options`."""
    own = [name for name in SCENARIO.settings.model_fields if name not in FROM_DATA]
    further = [field.name for field in fields(SoilOptions) if field.name not in own]
    source = read_options(options, label)
    for path in source.leaves:
        where, first = source.values[path], path[0]
        if first in FROM_DATA:
            raise InputError(
                f"{where}: {first} comes from the data file: allowed are the other settings of single-wheel"
            )
        if first == "soil" and path[1:] not in [(name,) for name in RANGES]:
            raise InputError(f"{where}: allowed is a constant such as soil.compression=0.3; --soil names a soil")
        if first not in (*own, *further):
            raise InputError(f"{where}: not known{nearest(first, own + further)}; allowed: {', '.join(own + further)}")
    moved = [{("options", *path) if path[0] in further else path: item for path, item in part.items()}
             for part in (source.leaves, source.keys, source.values)]  # fmt: skip
    places = [where for path, where in moved[2].items() if path[0] == "options"]
    if places:  # the options are checked together, as one setting
        moved[1]["options",] = moved[2]["options",] = " ".join(dict.fromkeys(places))
    return Source(*moved)


def named_soil(text: str) -> Soil:
    """The soil of `--soil`: NAME, FILE.yaml with one soil, or FILE.yaml:NAME."""
    file, mark, name = text.rpartition(":")
    if not mark:
        file, name = (text, "") if text.endswith((".yaml", ".yml")) else ("", text)
    given = {key: value for key, value in (("file", file), ("name", name)) if value}
    try:
        return SoilChoice.model_validate(given).resolve()
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"--soil {text}: {first['msg']}") from None


def rim_slip(wheel: MeasuredWheel, slip: float) -> float:
    """Slip of the rim, where the source may mean the tips of the lugs."""
    return slip if wheel.given.slip_of == "rim" else tip_to_rim(wheel.given.wheel, slip)


def tip_to_rim(wheel: Wheel, slip: float) -> float:
    """Slip of the rim from that of the tips of the lugs: v = (1 - s) w (r + h); below 0 it is r w/v - 1."""
    tip = 1 + wheel.lug_height / wheel.radius
    share = (1 - slip if slip >= 0 else 1 / (1 + slip)) * tip  # v/(r w)
    return 1 - share if share <= 1 else 1 / share - 1


def settings(entry: Entry, slip: float, law: Law) -> Settings:
    """Checked settings of `single-wheel` at a slip as the source defines it."""
    given, soil = entry.wheel.given, entry.soil
    base: dict[str, Any] = {
        "mode": "forced-slip",
        "slip": rim_slip(entry.wheel, slip),
        "load": given.load,
        "gravity": given.gravity,
        "spacing": SPACING * min(1.0, given.wheel.radius / SPACING_RADIUS),
        "wheel": {"radius": given.wheel.radius, "width": given.wheel.width},
        "soil": {"name": soil.name, **{field: getattr(soil, field) for field in RANGES}},
    }
    if given.speed is not None:
        base["speed"] = given.speed
    if given.wheel.lugs is not None:
        lugs = given.wheel.lugs
        base["wheel"] |= {"grouser_count": lugs.count, "grouser_height": lugs.height, "grouser_width": lugs.thickness}
    if given.wheel.friction == "two-thirds":
        base["soil"]["wheel_friction"] = math.tan(math.radians(soil.friction_angle_deg) * 2 / 3)
    elif given.wheel.friction is not None:
        base["soil"]["wheel_friction"] = given.wheel.friction
    where = entry.wheel.name
    return validated(SCENARIO.settings, overlaid(read_mapping(base, where), law.changes), where=where)


def slips(wheel: MeasuredWheel) -> list[float]:
    """All slips at which something was measured."""
    return sorted({slip for points in wheel.points.values() for slip in points.slips})


def plan(entries: Sequence[Entry], compared: Sequence[Law]) -> Sweep:
    """One case for each law, set and slip."""
    cases = tuple(
        Case(f"{k:04d}", SCENARIO.name, chosen, {"law": law.name, "set": entry.wheel.name, "slip": slip}, seed=0)
        for k, (law, entry, slip, chosen) in enumerate(_points(entries, compared), start=1)
    )
    parameters = tuple(Parameter(name, "1") for name in ("law", "set", "slip"))
    return Sweep("validate", SCENARIO.name, "grid", 0, parameters, cases, (), False, RATE)


def _points(entries: Sequence[Entry], compared: Sequence[Law]) -> Iterator[tuple[Law, Entry, float, Settings]]:
    for law in compared:
        for entry in entries:
            for slip in slips(entry.wheel):
                yield law, entry, slip, settings(entry, slip, law)
