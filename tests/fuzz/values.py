"""Values and files that are wrong, extreme or nearly right, as Hypothesis strategies."""

from __future__ import annotations

import copy
import typing
from typing import Any

import pydantic
from hypothesis import strategies as st

ODD_NUMBERS = (
    0, -1, 1, -0.0, 1e-15, 1e-12, 1e-6, 1e-3, 0.5, 90, 180, 1e3, 1e6, 1e9, 1e12, 1e15, 1e300, 5e-324, 2**31, 2**63,
    float("nan"), float("inf"), float("-inf"),
)  # fmt: skip
ODD_THINGS = (
    None, True, False, "", " ", "none", "nan", "1e400", "5 m", "5 furlongs", "-3 kPa", "~", "auto", [], {}, [[]],
    [1, 2], [1e9] * 3, {"a": 1}, {"name": "dry-sand"}, {"file": "nowhere.yaml"}, "nowhere.yaml", "../..", "/dev/null",
    "x" * 3000, "\x00", "\udcff", "\u202e\U0001f600", "${HOME}", "!!",
)  # fmt: skip
SCALES = (-1e3, -1.0, 1e-6, 1e-3, 0.01, 0.1, 0.3, 0.9, 1.1, 3.0, 10.0, 100.0, 1e3, 1e6)

odd = st.sampled_from(ODD_NUMBERS) | st.sampled_from(ODD_THINGS)
numbers = st.floats(allow_nan=True) | st.floats(-100, 100) | st.integers(-(2**70), 2**70)
anything = odd | numbers | st.text(max_size=20)


def near(value: Any) -> st.SearchStrategy[Any]:
    """Values like the one that is there, and others."""
    if isinstance(value, bool) or value is None:
        return st.booleans() | odd
    if isinstance(value, int | float):
        scaled = st.sampled_from(SCALES).map(lambda factor: value * factor)
        kept = st.sampled_from(SCALES).map(lambda factor: type(value)(value * factor))
        return scaled | kept | st.sampled_from(ODD_NUMBERS) | anything
    return anything


def paths(tree: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Places in a tree of mappings and lists."""
    items = list(tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ())
    here = [(*before, key) for key, _ in items]
    return here + [path for key, value in items for path in paths(value, (*before, key))]


@st.composite
def changed(draw: Any, tree: Any, most: int = 3) -> Any:
    """The tree with up to `most` entries replaced, removed or renamed."""
    tree = copy.deepcopy(tree)
    for _ in range(draw(st.integers(1, most))):
        places = paths(tree)
        if not places:
            break
        *above, last = draw(st.sampled_from(places))
        part = tree
        for key in above:
            part = part[key]
        action = draw(st.sampled_from(("replace", "replace", "replace", "remove", "rename")))
        if action == "replace":
            part[last] = copy.deepcopy(draw(near(part[last])))  # a later change may alter it
        elif action == "remove":
            part.pop(last)
        elif isinstance(part, dict):
            part[draw(st.text(max_size=8))] = part.pop(last)
    return tree


@st.composite
def damaged(draw: Any, whole: bytes) -> bytes:
    """The bytes with a few pieces overwritten, left out, put in twice, or cut off."""
    content = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        if not content:
            break
        start = draw(st.integers(0, len(content) - 1))
        if draw(st.booleans()):
            start %= 512  # headers
        size = draw(st.sampled_from((1, 1, 2, 4, 8, 64, 512)))
        action = draw(st.sampled_from(("bytes", "zeros", "ones", "remove", "twice", "cut", "digits")))
        end = min(start + size, len(content))
        if action == "bytes":
            content[start:end] = draw(st.binary(min_size=end - start, max_size=end - start))
        elif action in ("zeros", "ones"):
            content[start:end] = (b"\x00" if action == "zeros" else b"\xff") * (end - start)
        elif action == "digits":
            content[start:end] = draw(st.sampled_from((b"9" * 20, b"-1", b"1e999", b"nan", b"0", b"<", b'"', b": [")))
        elif action == "remove":
            del content[start:end]
        elif action == "twice":
            content[start:start] = content[start:end]
        else:
            del content[start:]
    return bytes(content)


def settings_of(model: type[pydantic.BaseModel]) -> dict[str, Any]:
    """Default values of all fields, nested, as a mapping; None where there is no default."""
    found: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True, validated_data={})
        if isinstance(default, pydantic.BaseModel):
            default = settings_of(type(default)) | default.model_dump(mode="json", exclude_none=True)
        elif default is not None and not isinstance(default, str | int | float | bool | list | dict | tuple):
            default = None
        found[name] = list(default) if isinstance(default, tuple) else default
    return found


@st.composite
def some_settings(draw: Any, model: type[pydantic.BaseModel]) -> dict[str, Any]:
    """One to four settings, dotted where they are nested: most near their defaults, so that many are accepted."""
    tree = settings_of(model)
    chosen: dict[str, Any] = {}
    places = [path for path in paths(tree) if all(isinstance(key, str) for key in path)]
    for path in draw(st.lists(st.sampled_from(places), min_size=1, max_size=4)):
        value: Any = tree
        for key in path:
            value = value[key]
        chosen[".".join(path)] = draw(choices(model, path) | near(value))
    return chosen


def choices(model: type[pydantic.BaseModel], path: tuple[str, ...]) -> st.SearchStrategy[Any]:
    """The words that a field of choices allows; nothing for others."""
    field = model.model_fields.get(path[0])
    words = [word for word in _literals(field.annotation if field else None) if len(path) == 1]
    return st.sampled_from(words) if words else st.nothing()


def _literals(annotation: Any) -> list[Any]:
    if typing.get_origin(annotation) is typing.Literal:
        return list(typing.get_args(annotation))
    return [word for part in typing.get_args(annotation) for word in _literals(part)]
