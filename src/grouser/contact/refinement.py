"""Estimate the size of a refined mesh before it is refined."""

from __future__ import annotations

import numpy as np

from grouser.errors import InputError

MOST_PIECES = 10_000_000  # largest number of triangles


def piece_count(vertices: np.ndarray, triangles: np.ndarray, longest_edge: float) -> float:
    """Estimate the number of triangles after dividing edges longer than `longest_edge` [m]."""
    a, b, c = np.asarray(vertices)[np.asarray(triangles)].transpose(1, 0, 2)
    length = np.max([np.linalg.norm(q - p, axis=1) for p, q in ((a, b), (b, c), (c, a))], axis=0)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    return float(np.maximum(1.0, np.maximum(length / longest_edge, 2 * area / longest_edge**2)).sum())


def check_piece_count(pieces: float, what: str, longest_edge: float, most: int = MOST_PIECES) -> None:
    """Raise an InputError for more than `most` triangles. `what` names the mesh."""
    if pieces > most:
        raise InputError(
            f"{what}: edges of at most {longest_edge:g} m make {pieces:.2g} triangles or more: "
            f"allowed are {most}; is it in metres?"
        )
