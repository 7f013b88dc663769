"""A map of a route: the way of a body over the terrain, coloured by a quantity along it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.errors import InputError
from grouser.recording import Recording
from grouser.report.lines import draw_overlay
from grouser.report.maps import draw_shaded_heights, size_to_scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_NODES = 400_000
MARGIN = 0.06  # of the longer side, around the route
LEAST_MARGIN = 3.0  # [m]
PIECES = 1500  # largest number of pieces of the line
QUANTILE = 1.0  # percent of the values beyond either end of the colour scale


def draw_route(axes: Axes, recording: Recording, figure: Mapping[str, Any]) -> None:
    """Draw `path` (positions or poses of a body) over the terrain, coloured by the channel `value`.

    `along`: channel of the distance [m] driven. A piece of the line shows the mean of `value` over `over` [m] of it, or
    with `rate` its change per metre. Of several columns the mean is shown.
    """
    from matplotlib.collections import LineCollection

    world = int(figure.get("world", 0))
    place, along, value = (_column(recording, figure[key], world) for key in ("path", "along", "value"))
    if place.ndim != 2 or place.shape[1] < 2:
        raise InputError(f"path {figure['path']!r}: positions (x, y, ...) or poses of one body needed")
    value = value.mean(axis=1) if value.ndim > 1 else value
    ends, shown = pieces(along, value, float(figure.get("over", 1.0)), bool(figure.get("rate")))
    x, y = (np.interp(ends, along, place[:, axis]) for axis in (0, 1))
    region = _region(x, y, recording)
    _, height, width = draw_shaded_heights(axes, recording, region, MAX_NODES)
    points = np.column_stack([x, y])
    lines = LineCollection(
        list(np.stack([points[:-1], points[1:]], axis=1)), cmap="viridis", linewidths=3.0, capstyle="round", zorder=3
    )
    lines.set_array(shown)
    if len(shown):
        lines.set_clim(*np.percentile(shown, (QUANTILE, 100 - QUANTILE)))
    axes.add_collection(lines)
    draw_overlay(axes, figure, 0)
    axes.set_xlim(region[0], region[1])
    axes.set_ylim(region[2], region[3])
    bar = axes.figure.colorbar(lines, cax=axes.inset_axes((1.02, 0, 0.022, 1)), extend="both")
    bar.set_label(figure.get("label") or str(figure["value"]))
    bar.outline.set_visible(False)
    size_to_scale(axes, width, height)
    axes.grid(visible=False)
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")


def pieces(along: np.ndarray, value: np.ndarray, over: float, rate: bool) -> tuple[np.ndarray, np.ndarray]:
    """Ends [m], (n + 1,) of equal pieces of the distance driven, and what is shown on each, (n,).

    The mean of `value` over the piece, by distance; with `rate` its change per metre.
    """
    moved = np.concatenate([[True], np.diff(along) > 0])
    along, value = along[moved], value[moved]
    if len(along) < 2:
        return along[:1], np.zeros(0)
    length = along[-1] - along[0]
    count = int(np.clip(np.ceil(length / over), 1, PIECES))
    ends = np.linspace(along[0], along[-1], count + 1)
    total = value if rate else np.concatenate([[0.0], np.cumsum(np.diff(along) * (value[1:] + value[:-1]) / 2)])
    return ends, np.diff(np.interp(ends, along, total)) * count / length


def _column(recording: Recording, name: str, world: int) -> np.ndarray:
    values = recording[name]
    return values[:, world] if recording.worlds > 1 else values


def _region(x: np.ndarray, y: np.ndarray, recording: Recording) -> tuple[float, float, float, float]:
    """Bounds [m] of the route with a margin, a third of its length if it is narrow, as far as there is terrain."""
    (west, south), spacing = recording.terrain_place()
    ny, nx = recording.terrain_shape()
    size = max(np.ptp(x), np.ptp(y), 1e-3)
    margin = max(MARGIN * size, LEAST_MARGIN)
    ends: list[float] = []
    for side, first, count in ((x, west, nx), (y, south, ny)):
        middle, half = (side.min() + side.max()) / 2, max(np.ptp(side) / 2 + margin, size / 6)
        ends += [max(middle - half, first), min(middle + half, first + spacing * (count - 1))]
    return ends[0], ends[1], ends[2], ends[3]
