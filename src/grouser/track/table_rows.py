"""Rows of the tables of a track: segments of profiles, stations and sections of rails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def segments(profile: Sequence[tuple[float, float]], dtype: Any) -> Any:
    """Segment that starts at each point of a profile, (point,); empty for the last."""
    step = np.diff(np.array(profile, float), axis=0)
    length = np.linalg.norm(step, axis=1)
    table: Any = np.zeros(len(profile), dtype)
    table["direction"][:-1], table["length"][:-1] = step / length[:, None], length
    table["slope"][:-1] = np.divide(step[:, 1], step[:, 0], out=np.zeros(len(step)), where=step[:, 0] != 0)
    return table


def per_station(stations: Sequence[float]) -> np.ndarray:
    """One over the distance to the next station [1/m], (station,); 0 at the last."""
    return np.append(1 / np.diff(np.array(stations, float)), 0.0)


def padded(values: np.ndarray, points: int) -> np.ndarray:
    """Pad the second axis with zeros up to `points`."""
    room = [(0, 0), (0, points - values.shape[1])] + [(0, 0)] * (values.ndim - 2)
    return np.pad(values, room)
