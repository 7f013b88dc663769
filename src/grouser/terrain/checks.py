"""Checks of user input. Each function returns the checked value or raises an InputError of one line."""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from grouser.errors import InputError
from grouser.files import is_file, is_there

HIGHEST = 1e7  # [m] largest height or depth of the ground; maps of planets may give the distance from the centre
FARTHEST = 1e9  # [m] largest distance of the grid's first node from the world origin; float64 still resolves 0.1 um
FINEST, COARSEST = 1e-6, 1e6  # [m] smallest and largest distance between nodes
LONGEST_SHOWN = 200  # [characters] longest value that is printed in full in a message


def number(
    value: Any,
    what: str,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
) -> float:
    """Return `value` as a float after checking its range. `what` names it in the message."""
    bounds = [
        (above, "above", lambda v, bound: v > bound),
        (at_least, "at least", lambda v, bound: v >= bound),
        (below, "below", lambda v, bound: v < bound),
        (at_most, "at most", lambda v, bound: v <= bound),
    ]
    stated = [(bound, word, holds) for bound, word, holds in bounds if bound is not None]
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not (is_number and _is_finite(value) and all(holds(value, bound) for bound, _, holds in stated)):
        allowed = " and ".join(f"{word} {bound:g}" for bound, word, _ in stated)
        raise InputError(f"{what} = {shown(value)}: allowed is a finite number{' ' if allowed else ''}{allowed}")
    return float(value)


def shown(value: Any) -> str:
    """Text of a value for a message. The middle of a long text is left out."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    try:
        return shortened(str(value) if is_number else repr(value))
    except ValueError:  # Python does not print integers of more than 4300 digits
        return "an integer of thousands of digits"


def shortened(text: str) -> str:
    half = LONGEST_SHOWN // 2
    return text if len(text) <= LONGEST_SHOWN else f"{text[:half]} … {text[-half:]}"


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer of more than 308 digits
        return False


def fields_in_range(
    data: Any,
    what: str,
    *,
    may_be_negative: Collection[str] = (),
    may_be_zero: Collection[str] = (),
    at_most: Mapping[str, float] = MappingProxyType({}),
) -> None:
    """Check that every number of a dataclass, and of tuples in it, is positive, except the fields named.

    `at_most`: largest magnitude allowed for some fields.
    """
    for field in fields(data):
        value, name = getattr(data, field.name), f"{what}: {field.name}"
        for one in value if isinstance(value, tuple) else (value,):
            most = at_most.get(field.name)
            if field.name in may_be_negative:
                number(one, name, at_least=None if most is None else -most, at_most=most)
            elif field.name in may_be_zero:
                number(one, name, at_least=0.0, at_most=most)
            else:
                number(one, name, above=0.0, at_most=most)


def spacing(value: Any, what: str) -> float:
    """Return `value` as a distance between nodes [m] after checking its range."""
    number(value, what, above=0.0)
    return number(value, what, at_least=FINEST, at_most=COARSEST)


def count(value: Any, what: str, *, at_least: int) -> int:
    """Return `value` as an int after checking that it is at least `at_least`."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < at_least:
        raise InputError(f"{what} = {shown(value)}: allowed is an integer of at least {at_least}")
    return int(value)


def pair(value: Any, what: str, **bounds: float) -> tuple[float, float]:
    """Return two numbers after checking each as `number` does."""
    try:
        first, second = value
    except (TypeError, ValueError):
        raise InputError(f"{what} = {shown(value)}: allowed are two numbers") from None
    return number(first, f"{what}[0]", **bounds), number(second, f"{what}[1]", **bounds)


def choice(value: Any, what: str, allowed: Iterable[str]) -> str:
    """Return `value` if it is one of the allowed words. The error message suggests the nearest one."""
    words = list(allowed)
    if value not in words:
        raise InputError(f"{what} {shown(value)} is not known{nearest(value, words)}; allowed: {', '.join(words)}")
    return value


def nearest(word: Any, words: Iterable[str], most: int = 1) -> str:
    """Text `, did you mean 'x'?` with up to `most` similar words, or an empty text."""
    close = [repr(found) for found in difflib.get_close_matches(shown(word).strip("'"), list(words), n=most)]
    return f", did you mean {' or '.join(close)}?" if close else ""


def existing_file(path: str | Path, what: str) -> Path:
    """Return `path` if it is an existing file."""
    file = Path(path)
    if not is_file(file):
        reason = "is a folder, not a file" if is_there(file) else "does not exist"
        raise InputError(f"{what} {str(path)!r} {reason}")
    return file
