"""Settings as written in YAML text or path=value options, with the location of every key and value."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grouser.errors import InputError
from grouser.terrain.checks import shortened, shown
from grouser.terrain.yaml_file import HALF, compose
from grouser.terrain.yaml_file import read_text as file_text

Keys = tuple[str | int, ...]  # ("wheel", "radius")

# YAML 1.2 core schema, so that 5e7 and 1e-3 are numbers and `no`, `on` and 1:30 are texts.
INTEGER = re.compile(r"[-+]?[0-9]+")
BASED = re.compile(r"0x[0-9a-fA-F]+|0o[0-7]+")
FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
SPECIAL = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
MOST_DIGITS = 300  # of an integer; longer ones exceed a float too, and Python refuses to read more than 4300
WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
OPTION = re.compile(r"(?P<path>[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)*)=(?P<value>.*)", re.DOTALL)


@dataclass
class Source:
    """Values by path, with mappings flattened, and the location where each path was written."""

    leaves: dict[Keys, Any] = field(default_factory=dict)
    keys: dict[Keys, str] = field(default_factory=dict)  # "wheel.yaml:3:5", or "--set wheel.radius=2"
    values: dict[Keys, str] = field(default_factory=dict)

    def tree(self) -> dict[str, Any]:
        """The values as nested mappings."""
        root: dict[Any, Any] = {}
        for path, value in self.leaves.items():
            branch = root
            for key in path[:-1]:
                branch = branch.setdefault(key, {})
            branch[path[-1]] = value
        return root

    def under(self, key: str) -> Source:
        """The part below one key, with shortened paths."""
        return Source(*({path[1:]: item for path, item in part.items() if path[:1] == (key,) and path[1:]}
                        for part in (self.leaves, self.keys, self.values)))  # fmt: skip

    def place(self, path: Keys, *, of_key: bool = False) -> str | None:
        """Location where `path` was written, or that of the nearest enclosing mapping."""
        for end in range(len(path), -1, -1):
            found = (self.keys if of_key else self.values).get(path[:end])
            if found:
                return found
        return None


def dotted(path: Iterable[str | int]) -> str:
    return ".".join(str(key) for key in path)


def scalar(text: str) -> Any:
    """Convert a plain YAML scalar to the number, bool, None or text it represents."""
    if INTEGER.fullmatch(text):
        return int(text) if len(text) <= MOST_DIGITS else float(text)
    if BASED.fullmatch(text):
        return int(text, 0) if len(text) <= MOST_DIGITS else math.inf
    if FLOAT.fullmatch(text):
        return float(text)
    if SPECIAL.fullmatch(text):
        return float(text.replace(".", "").lower())
    if text in (text.lower(), text.upper(), text.capitalize()):
        return WORDS.get(text.lower(), text)
    return text


def read_file(path: Path) -> Source:
    """Read a YAML file. Unreadable text, tabs and repeated keys raise InputError with their location."""
    return read_text(file_text(path), str(path))


def read_text(text: str, file: str) -> Source:
    """Read YAML text. `file` names it in messages."""
    node = compose(text, file)
    source = Source()
    source.values[()] = f"{file}:1:1"
    if node is None:
        return source
    if _kind(node) != "mapping":
        raise InputError(f"{place(file, node)}: holds a {_kind(node)}: allowed is a mapping")
    repeated: list[str] = []
    for path, value, where in _walk(node, file, (), repeated):
        source.keys[path], source.values[path] = where
        if not isinstance(value, _Branch):
            source.leaves[path] = value
    if repeated:
        raise InputError.of(repeated)
    return source


def place(file: str, node: Any) -> str:
    return f"{file}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"


def _kind(node: Any) -> str:
    return {"MappingNode": "mapping", "SequenceNode": "list"}.get(type(node).__name__, "single value")


class _Branch:
    """Marks a mapping that has entries."""


def _walk(node: Any, file: str, path: Keys, repeated: list[str]) -> Iterator[tuple[Keys, Any, tuple[str, str]]]:
    """Path, value and (location of key, location of value) of every entry below a mapping."""
    seen: dict[str, str] = {}
    for key_node, value_node in node.value:
        if _kind(key_node) != "single value":
            raise InputError(f"{place(file, key_node)}: a {_kind(key_node)} as a key: allowed is a word")
        key, where = key_node.value, place(file, key_node)
        below = (*path, key)
        if key in seen:
            repeated.append(f"{where}: {dotted(below)} is given twice, first at {seen[key]}")
            continue
        seen[key] = where
        value = _value(value_node, file)
        branch = _kind(value_node) == "mapping" and value_node.value
        yield below, _Branch() if branch else value, (where, place(file, value_node))
        if branch:
            yield from _walk(value_node, file, below, repeated)
        elif _kind(value_node) == "list":  # items have locations, but the list is one value
            for index, item in enumerate(value_node.value):
                yield (*below, index), _Branch(), (where, place(file, item))


def _value(node: Any, file: str) -> Any:
    """Convert a node to plain Python. A mapping inside a list stays one value."""
    if str(node.tag).startswith("!"):
        raise InputError(f"{place(file, node)}: tag {node.tag}: allowed are plain values without a tag")
    if _kind(node) == "list":
        return [_value(item, file) for item in node.value]
    if _kind(node) == "mapping":
        return {str(key.value): _value(value, file) for key, value in node.value}
    plain = node.style is None and node.tag != "tag:yaml.org,2002:str"
    return scalar(node.value) if plain else node.value


def read_options(items: Iterable[str], label: str = "--set", start: Source | None = None) -> Source:
    """Add `path=value` options, in any order, to `start`. `soil=dry-sand` with `soil.k_c=900` names the soil."""
    source = start or Source()
    for item in items:
        match = OPTION.fullmatch(item.strip())
        where = shortened(f"{label} {item}")
        if not match:
            raise InputError(f"{where}: allowed is path=value, such as {label} wheel.radius=0.2")
        put(source, tuple(match["path"].split(".")), option_value(match["value"].strip(), where), where)
    return joined(source)


def read_mapping(given: Mapping[str, Any], label: str) -> Source:
    """Read settings from a Python mapping. Names may be dotted paths, values may be mappings."""
    source = Source()
    for name, value in given.items():
        put(source, tuple(str(name).split(".")), value, shortened(f"{label} {name}={shown(value)}"))
    return joined(source)


def option_value(text: str, where: str) -> Any:
    """Value after the = of an option: a YAML scalar, or a list, mapping or quoted text."""
    if text[:1] not in tuple("[{\"'"):
        return scalar(text)
    node = compose(text, where)
    return _value(node, where)


def put(source: Source, path: Keys, value: Any, where: str) -> None:
    """Add one value. A mapping is split into its entries. A path with two different values raises InputError."""
    if isinstance(value, Mapping) and value:
        source.keys[path] = source.values[path] = where
        for key, inner in value.items():
            put(source, (*path, str(key)), inner, where)
        return
    if any(isinstance(part, str | Path) and HALF.search(str(part)) for part in (*path, value)):
        raise InputError(f"{where}: holds bytes that are not UTF-8 text")
    if path in source.leaves and source.leaves[path] != value:
        raise InputError(f"{where} contradicts {source.values[path]}")
    source.leaves[path] = value
    source.keys[path] = source.values[path] = where


def joined(source: Source) -> Source:
    """Join a text with fields at the same path: the text becomes the field `name`."""
    for path in [path for path in source.leaves if _has_below(source, path)]:
        value, where = source.leaves.pop(path), source.values[path]
        if isinstance(value, str):
            put(source, (*path, "name"), value, where)
        elif value != {}:
            below = next(p for p in source.leaves if len(p) > len(path) and p[: len(path)] == path)
            raise InputError(f"{where} contradicts {source.values[below]}")
    return source


def _has_below(source: Source, path: Keys) -> bool:
    return any(len(other) > len(path) and other[: len(path)] == path for other in source.leaves)


def overlaid(lower: Source, upper: Source) -> Source:
    """Merge both. Where they differ, the upper one is used."""
    paths = {*lower.leaves, *upper.leaves}
    parts = [_named(lower, paths), _named(upper, paths)]
    kept = {path: value for path, value in parts[0].items() if not _hidden(path, parts[1])}
    return Source(kept | parts[1], lower.keys | upper.keys, lower.values | upper.values)


def _named(source: Source, paths: set[Keys]) -> dict[Keys, Any]:
    """The leaves. A text is renamed to `name` if any of the paths lies below it."""
    above = {path[:end] for path in paths for end in range(1, len(path))}
    leaves: dict[Keys, Any] = {}
    for path, value in source.leaves.items():
        named = isinstance(value, str) and path in above
        if named:
            source.keys[(*path, "name")] = source.keys[path]
            source.values[(*path, "name")] = source.values[path]
        leaves[(*path, "name") if named else path] = value
    return leaves


def _hidden(path: Keys, leaves: Mapping[Keys, Any]) -> bool:
    """Whether one of the leaves replaces the value at `path`: at this path, above it or below it."""
    return any(other[: len(path)] == path or path[: len(other)] == other for other in leaves)
