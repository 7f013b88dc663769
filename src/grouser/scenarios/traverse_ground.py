"""Ground of a traverse: an elevation model, and roughness below its resolution."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Annotated

import numpy as np
import pydantic

from grouser.control import Path
from grouser.errors import InputError
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import Settings
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.importers import jacksboro
from grouser.terrain.roughness import HURST, Roughness, measured, roughened

MARGIN = 8.0  # [m] ground around the way
MOST_NODES = 10_000_000  # of the ground with its roughness
MODEL_SPACING = 5.0  # [m] of the model that is driven over if none is given
FLATTER = 0.25  # its heights over those of the true shape: sand does not carry a rover up slopes of 25 degrees


class RoughnessChoice(Settings):
    """Roughness below the resolution of the model, `grouser.terrain.roughness`."""

    spacing: Annotated[float, pydantic.Field(gt=0), Unit("m")] = 0.2  # of the ground with roughness (assumed)
    deviation: Annotated[float, pydantic.Field(ge=0), Unit("m")] | None = None  # RMS at 1 m; None: the model's own
    hurst: Annotated[float, pydantic.Field(ge=HURST[0], le=HURST[1])] | None = None  # None: the model's own
    seed: Annotated[int, pydantic.Field(ge=0)] = 0

    def law(self, model: ElevationGrid) -> Roughness:
        own = measured(model) if None in (self.deviation, self.hurst) else Roughness(0.0, 0.5)
        if self.hurst is not None:
            own = Roughness(own.at(model.spacing) / model.spacing**self.hurst, self.hurst)
        return own if self.deviation is None else replace(own, deviation=self.deviation)


def default_model() -> ElevationGrid:
    """A real elevation model on a smaller scale, and flatter: see `terrain.jacksboro`."""
    return _jacksboro()


@cache
def _jacksboro() -> ElevationGrid:
    true = jacksboro(spacing=MODEL_SPACING)
    return ElevationGrid(FLATTER * true.heights, true.spacing, true.origin)


def rough_ground(model: ElevationGrid, way: Path, choice: RoughnessChoice) -> ElevationGrid:
    """The part of the model around the way, with roughness."""
    (x0, y0), spacing, heights = model.origin, model.spacing, model.heights
    low, high = way.points.min(axis=0) - MARGIN, way.points.max(axis=0) + MARGIN
    column0, column1 = math.floor((low[0] - x0) / spacing), math.ceil((high[0] - x0) / spacing)
    row0, row1 = math.floor((low[1] - y0) / spacing), math.ceil((high[1] - y0) / spacing)
    if min(row0, column0) < 0 or row1 >= heights.shape[0] or column1 >= heights.shape[1]:
        west, east, south, north = model.bounds
        raise InputError(
            f"waypoints: the way comes nearer than {MARGIN:g} m to the border of the terrain, x {west:g} to {east:g} m "
            f"and y {south:g} to {north:g} m"
        )
    nodes = (row1 - row0) * (column1 - column0) * (spacing / choice.spacing) ** 2
    if nodes > MOST_NODES:
        least = choice.spacing * math.sqrt(nodes / MOST_NODES)
        raise InputError(
            f"roughness.spacing: {choice.spacing:g} m makes {nodes:.3g} nodes of the ground around the way: allowed "
            f"are {MOST_NODES:.0e}, a spacing above {least:.2g} m"
        )
    part = heights[row0 : row1 + 1, column0 : column1 + 1].copy()
    cut = ElevationGrid(part, spacing, (x0 + spacing * column0, y0 + spacing * row0))
    return roughened(cut, choice.spacing, choice.law(model), choice.seed)


def way_of(waypoints: tuple[tuple[float, float], ...], length: float | None) -> Path:
    """A spline through the way points, cut after `length` [m]."""
    whole = Path(waypoints, smooth=True)
    if length is None or length >= whole.length:
        return whole
    arc = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(whole.points, axis=0).T))])
    count = max(2, int(np.searchsorted(arc, length)) + 1)
    return Path(whole.points[:count].tolist())
