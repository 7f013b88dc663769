"""`grouser run --robot`: command-line options that are shorthand for settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from grouser.errors import InputError
from grouser.scenarios import registry
from grouser.scenarios.source import Source, option_value, put

PLAIN_TEXT = ("robot", "bodies", "terrain", "at")  # options that are no numbers
SCENARIO = "robot"  # scenario that `--robot FILE` runs


def scenario_name(target: str | None, robot: Any) -> str:
    """Name of the scenario, from the argument or from `--robot`. One of the two must be given."""
    if robot is not None and target not in (None, SCENARIO):
        raise InputError(f"--robot {robot}: it cannot be combined with {target!r}; give one of them")
    if robot is None and target is None:
        names = ", ".join(registry.NAMES)
        raise InputError(f"NAME is missing: allowed are {names}, a YAML file, or --robot FILE (see grouser run --help)")
    return target or SCENARIO


def shorthand(drive: Iterable[str], **options: str | None) -> Source:
    """`--soil clay` is short for `--set soil=clay`, `--drive 'motor.*=1'` for an entry of `drive`."""
    source = Source()
    for name, text in options.items():
        if text is not None:
            where = f"--{name.split('_')[0]} {text}"
            value = text if name in PLAIN_TEXT else option_value(text, where)
            put(source, (name,), value, where)
    for item in drive:
        pattern, equals, value = item.rpartition("=")
        where = f"--drive {item}"
        if not (pattern and equals):
            raise InputError(f"{where}: allowed is PATTERN=VALUE, such as --drive 'motor.*=1.0'")
        put(source, ("drive", pattern), option_value(value, where), where)
    return source
