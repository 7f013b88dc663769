"""Pairs of shapes that may touch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grouser.contact.polygonal.shape import Shape
from grouser.errors import InputError

LINEAR, EXACT = "linear", "exact"


@dataclass(frozen=True)
class Pair:
    """Two shapes that may touch: `body` moves, `other` is another body or a fixed shape."""

    body: str
    other: str
    friction: tuple[float, float] | None = None  # stick, slip; None: the smaller values of the two surfaces (assumed)
    reach: float | None = None  # [m] depth up to which faces are searched; None: twice the thickness of both layers
    margin: float | None = None  # [m] relative motion after which the list of candidates is rebuilt
    largest_area: float | None = None  # [m^2] largest contact area of two bodies, for the step limit
    capacity: int | None = None  # largest number of candidates on a list
    listed: int | None = None  # largest number of elements on a list; None: all, of a large shape 8192
    elements: str | None = None  # the shape that carries the elements; None: the smaller one
    depth: str | None = None  # "linear" between an element's corners or "exact"; None: linear if both are smooth

    def __str__(self) -> str:
        return f"pair ({self.body!r}, {self.other!r})"


def check_pairs(name: str, pairs: Sequence[Pair], bodies: Mapping[str, Shape], fixed: Mapping[str, Shape]) -> None:
    """Raise an InputError for pairs that are invalid or given twice."""
    both = set(bodies) & set(fixed)
    if both:
        raise InputError(f"{name}: {sorted(both)[0]!r} is both a body and fixed; a name must belong to one shape")
    if not pairs:
        raise InputError(f"{name}: no pair is given; name at least one body and what it may touch")
    for pair in pairs:
        where, others = f"{name}: {pair}", [n for n in (*bodies, *fixed) if n != pair.body]
        if pair.body not in bodies:
            raise InputError(f"{where}: no body {pair.body!r}; there are {', '.join(bodies) or 'none'}")
        if pair.other not in others:
            raise InputError(f"{where}: no other shape {pair.other!r}; there are {', '.join(others) or 'none'}")
        if pair.elements not in (None, pair.body, pair.other):
            raise InputError(f"{where}: elements on {pair.elements!r}; allowed is one of the two")
        if pair.depth not in (None, LINEAR, EXACT):
            raise InputError(f"{where}: depth {pair.depth!r} is not allowed; allowed: {LINEAR!r}, {EXACT!r}")
        for field in ("reach", "margin", "largest_area", "capacity", "listed"):
            value = getattr(pair, field)
            if value is not None and not 0 < value < math.inf:
                raise InputError(f"{where}: {field} {value} is not allowed; it must be above 0")
        if pair.friction is not None and not 0 <= pair.friction[1] <= pair.friction[0] < math.inf:
            raise InputError(
                f"{where}: friction {pair.friction} is not allowed; allowed: (stick, slip) with 0 <= slip <= stick"
            )
    ends = [{pair.body, pair.other} for pair in pairs]
    twice = [pair for k, pair in enumerate(pairs) if ends[k] in ends[:k]]
    if twice:
        raise InputError(f"{name}: {twice[0]} is given twice")
