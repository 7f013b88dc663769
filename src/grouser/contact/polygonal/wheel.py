"""Mesh of a wheel for contact with rocks and hard ground: closed, without sharp edges."""

from __future__ import annotations

import math

import numpy as np

from grouser.errors import InputError

FACETS = 120  # number of facets around a wheel: 7.5 mm each at a radius of 0.14 m
STRIP = 0.0125  # [m] approximate width of the faces across the tread


def wheel_mesh(
    radius: float, width: float, shoulder: float, *, facets: int = FACETS, strip: float = STRIP
) -> tuple[np.ndarray, np.ndarray]:
    """Closed mesh of a wheel about the y axis with round shoulders; lengths in [m]. Returns vertices and triangles.

    The shoulders are round for a reason: with a sharp edge that grazes a rock, slivers of the wheel's side would lie
    deep in the rock, measured along the side's normal.
    """
    for what, value in (("radius", radius), ("width", width), ("shoulder", shoulder), ("strip", strip)):
        if not 0 < value < math.inf:
            raise InputError(f"wheel: {what} {value} m is not allowed; it must be above 0")
    if shoulder > min(radius, width / 2):
        raise InputError(
            f"wheel: shoulder {shoulder:g} m is not allowed; at most the radius and half of the width, "
            f"{min(radius, width / 2):g} m"
        )
    arc = np.linspace(0, math.pi / 2, 5)
    half = width / 2 - shoulder
    inner = radius - shoulder
    side = np.linspace(0, inner, 4)[1:-1]
    flat = np.linspace(-half, half, max(1, round(2 * half / strip)) + 1)[1:-1]
    r = np.concatenate([side, inner + shoulder * np.sin(arc), np.full(len(flat), radius)])
    y = np.concatenate([np.full(len(side), -width / 2), -half - shoulder * np.cos(arc), flat])
    middle = len(flat)
    r = np.concatenate([r, r[: len(r) - middle][::-1]])
    y = np.concatenate([y, -y[: len(y) - middle][::-1]])
    return revolved(r, y, facets)


def revolved(r: np.ndarray, y: np.ndarray, facets: int) -> tuple[np.ndarray, np.ndarray]:
    """Mesh of a profile r(y) [m] rotated about the y axis, closed by a point on the axis at both ends."""
    angle = 2 * math.pi * np.arange(facets) / facets
    circle = np.column_stack([np.sin(angle), np.zeros(facets), np.cos(angle)])
    rings = r[:, None, None] * circle + np.array([0.0, 1.0, 0.0]) * y[:, None, None]
    ends = [[0.0, y[0], 0.0], [0.0, y[-1], 0.0]]
    vertices = np.vstack([rings.reshape(-1, 3), ends])
    here = np.arange(facets) + facets * np.arange(len(r) - 1)[:, None]
    ahead = np.roll(here, -1, axis=1)
    first, last = here[0], here[-1] + facets
    left, right = (np.full(facets, len(vertices) - k) for k in (2, 1))
    parts = [
        (here, ahead, ahead + facets), (here, ahead + facets, here + facets),
        (left, np.roll(first, -1), first), (right, last, np.roll(last, -1)),
    ]  # fmt: skip
    triangles = [np.stack(part, axis=-1).reshape(-1, 3) for part in parts]
    return vertices, np.concatenate(triangles).astype(np.int32)
