"""Formats validation errors of Pydantic as lines for the user: location, field, value and what is allowed."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

import pydantic

from grouser.scenarios.source import Keys, Source, dotted
from grouser.terrain.checks import nearest, shown

Model = type[pydantic.BaseModel]


def error_lines(
    error: pydantic.ValidationError, model: Model, given: Source, where: str, above: Keys = ()
) -> list[str]:
    """One line per path. `where` is used if a path has no location. `above` is the path from `given` to the model."""
    texts: dict[Keys, dict[str, None]] = {}
    values: dict[Keys, Any] = {}
    unknown: set[Keys] = set()
    for item in error.errors(include_url=False):
        location = item["loc"][:-1] if item["type"] == "missing" else item["loc"]
        path = (*above, *_written(location, model, given, above))
        if item["type"] == "extra_forbidden":
            unknown.add(path)
        texts.setdefault(path, {})[_text(item, model)] = None
        values[path] = item["input"]
    return [
        _line(given, where, path, values[path], " or ".join(parts), path in unknown) for path, parts in texts.items()
    ]


def model_of(annotation: Any) -> Model | None:
    """The settings model of a field, which may be optional. None if the field has no model or several types."""
    parts = [part for part in getattr(annotation, "__args__", (annotation,)) if part is not type(None)]
    if len(parts) == 1 and inspect.isclass(parts[0]) and issubclass(parts[0], pydantic.BaseModel):
        return parts[0]
    return None


def _line(given: Source, where: str, path: Keys, value: Any, text: str, unknown: bool) -> str:
    place, name = given.place(path, of_key=unknown) or where, dotted(path)
    if place.startswith(("--set ", "setting ")) and place.split(" ", 1)[1].split("=")[0] == name:
        return f"{place}: {text}"
    entered = "" if unknown or isinstance(value, Mapping) else f" = {shown(value)}"
    return f"{place}: {name}{entered}: {text}" if name else f"{place}: {text}"


def _written(location: Keys, model: Model, given: Source, above: Keys) -> Keys:
    """Pydantic's location without the names of union members, that is the path as a user writes it."""
    path: Keys = ()
    inside: Model | None = model
    for key in location:
        field = inside.model_fields.get(str(key)) if inside else None
        if field is None and not isinstance(key, int) and (*above, *path, key) not in given.keys:
            continue
        path, inside = (*path, key), model_of(field.annotation) if field else None
    return path


def _text(item: Any, model: Model) -> str:
    """Text that says what is wrong and what is allowed."""
    kind, location = item["type"], item["loc"]
    if kind == "extra_forbidden":
        allowed = _fields_at(model, location[:-1])
        return f"unknown field{nearest(location[-1], allowed)}; allowed: {', '.join(allowed)}"
    if kind == "missing":
        return f"lacks {location[-1]!r}"
    if kind in ("literal_error", "enum"):
        words = [word.strip("'") for word in item["ctx"]["expected"].replace(" or ", ", ").split(", ")]
        return f"not known{nearest(item['input'], words)}; allowed: {', '.join(words)}"
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return f"must be a mapping; allowed fields: {', '.join(_fields_at(model, location))}"
    if kind in ("too_short", "too_long"):
        bound, count = ("at least", "min_length") if kind == "too_short" else ("at most", "max_length")
        return f"has {item['ctx']['actual_length']} entries; allowed are {bound} {item['ctx'][count]}"
    message = item["msg"].removeprefix("Value error, ").split(", unable to parse")[0]
    return (
        message.replace("Input should be", "must be").replace("a valid integer", "an integer").replace("a valid ", "a ")
    )


def _fields_at(model: Model, location: Iterable[Any]) -> list[str]:
    """The field names of the model at a location."""
    for key in location:
        field = model.model_fields.get(str(key))
        model = (model_of(field.annotation) if field else None) or model
    return list(model.model_fields)
