"""Rocks along a way: those of a field without end that lie near it.

The field is made of squares, each with its own seed from its place. Rocks therefore belong to the ground: every way
that comes by meets the same ones, and only squares near the way are made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from grouser.errors import InputError
from grouser.terrain import checks
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.rock_shapes import DIVISIONS
from grouser.terrain.rock_sizes import SizeLaw
from grouser.terrain.rocks import BURIAL, MOST_ROCKS, Rock, rock_field

SQUARE = 3.0  # [m] side of a square
SAMPLING = 0.25  # [m] between points of a way: a rock is 5 mm nearer than its nearest point says
MIDDLE = 1 << 20  # number of the square at the origin, so that seeds are not negative


def rocks_along(
    law: SizeLaw,
    way: np.ndarray,
    beside: float,
    *,
    ground: ElevationGrid | None = None,
    seed: int = 0,
    burial: float | tuple[float, float] = BURIAL,
    keep_out: Sequence[tuple[float, float, float]] = (),
    divisions: int = DIVISIONS,
) -> tuple[Rock, ...]:
    """Fixed rocks that reach within `beside` [m] of a way, straight between its points [m] (point, 2).

    In each square of the ground rocks are those of `rock_field` with the square's own seed, and lie inside it with all
    of their surface: rocks of neighbouring squares do not overlap, and the number of rocks per area is that of the law.
    """
    points = resampled(np.asarray(way, float))
    wide = checks.number(beside, "rocks along a way: beside", above=0.0)
    squares = squares_near(points, wide)
    expected = law.density() * len(squares) * SQUARE**2
    if expected > MOST_ROCKS:
        raise InputError(
            f"rocks along a way: {expected:.3g} rocks are expected near it: allowed are at most {MOST_ROCKS}; use a "
            "shorter way or omit the smallest rocks"
        )
    rocks: list[Rock] = []
    for row, column in squares:
        own = np.random.SeedSequence([checks.count(seed, "rocks along a way: seed", at_least=0), row, column])
        field = rock_field(
            law, size=(SQUARE, SQUARE), origin=((column - MIDDLE) * SQUARE, (row - MIDDLE) * SQUARE), ground=ground,
            seed=int(own.generate_state(1)[0]), burial=burial, keep_out=keep_out, whole=True, divisions=divisions,
        )  # fmt: skip
        for rock in field.rocks:
            distance = np.hypot(*(points - rock.position[:2]).T).min()
            if distance < wide + rock.reach:
                rocks.append(replace(rock, name=f"rock{len(rocks)}"))
    return tuple(rocks)


def resampled(way: np.ndarray) -> np.ndarray:
    """Points [m], (point, 2) every SAMPLING along a way."""
    arc = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(way, axis=0).T))])
    at = np.linspace(0.0, arc[-1], max(2, math.ceil(arc[-1] / SAMPLING) + 1))
    return np.column_stack([np.interp(at, arc, way[:, k]) for k in (0, 1)])


def squares_near(points: np.ndarray, beside: float) -> list[tuple[int, int]]:
    """Rows and columns of the squares that lie within `beside` [m] of points, in order."""
    count = math.ceil(beside / SQUARE)
    own = np.floor(points / SQUARE).astype(int)
    near = []
    for shift in np.ndindex(2 * count + 1, 2 * count + 1):
        square = own + np.array(shift) - count
        gap = np.maximum(np.maximum(square * SQUARE - points, points - (square + 1) * SQUARE), 0.0)
        near.append(square[np.hypot(gap[:, 0], gap[:, 1]) < beside])
    return [(row + MIDDLE, column + MIDDLE) for column, row in np.unique(np.concatenate(near), axis=0).tolist()]
