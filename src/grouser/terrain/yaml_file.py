"""A YAML file of data, such as soils or a vehicle, as a tree."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grouser.errors import InputError


def read_yaml(file: Path, allowed: str, *, positions: bool = False) -> Mapping[str, Any]:
    """The mapping a file holds; `positions`: its nodes know line and column. `allowed` says what belongs in it."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        tree = YAML(typ="rt" if positions else "safe").load(file.read_text(encoding="utf-8"))
    except MarkedYAMLError as error:
        mark = error.problem_mark
        where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise InputError(f"{file}{where}: not readable as YAML: {_first_line(error.problem)}") from None
    except (YAMLError, OSError, ValueError, TypeError) as error:  # the latter two from tags and keys that cannot be
        raise InputError(f"{file}: not readable as YAML: {_first_line(error)}") from None
    if not isinstance(tree, Mapping) or not tree:
        raise InputError(f"{file}: holds {kind(tree)}: allowed is {allowed}")
    return tree


def kind(value: Any) -> str:
    """What a node is, in words."""
    if value is None:
        return "nothing"
    return "a list" if isinstance(value, list) else repr(value)[:40]


def _first_line(problem: Any) -> str:
    return str(problem).strip().splitlines()[0] if str(problem).strip() else "unknown problem"
