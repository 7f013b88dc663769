"""Maps of the terrain from above: heights or sinkage in colours, and the paths of the bodies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.errors import InputError
from grouser.recording import Recording
from grouser.recording.selection import split
from grouser.report.lines import draw_overlay
from grouser.report.style import WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AROUND, LEGEND_HEIGHT = (1.75, 0.95), 0.28  # inch, space for labels, title and legend
MAX_HEIGHT = 6.5  # inch
MAX_NODES = 600_000
EARTH = ("#3d312b", "#6e5846", "#9d8262", "#c7b08b", "#e6dabd", "#faf6ea")  # from low to high
RUTS = ("#7a4a12", "#b5813f", "#dcbf8a", "#f7f5ef", "#b9d9e3", "#5b9fba", "#174f6c")  # from raised to sunk
PATH_COLOURS = ("#101418", "#c2185b", "#0a5fb4", "#6a3d9a", "#e65100", "#00796b")
SUN_AZIMUTH_DEG, SUN_HEIGHT_DEG = 315, 40
SHADE = 0.45  # opacity of the shadows
QUANTILE = 0.2  # percent of the values cut off at either end of the colour scale, so that outliers do not hide ruts
STRETCHED = (1 / 12, 3.0)  # outside this range of height / width of the terrain a map is not to scale
PATH_POINTS = 5000  # largest number of points of a path


def draw_map(axes: Axes, recording: Recording, figure: Mapping[str, Any]) -> None:
    field = figure.get("field", "sinkage")
    if field not in ("height", "sinkage"):
        raise InputError(f"field: {field!r}; allowed: height, sinkage")
    time = figure.get("time", "end")
    time = math.inf if time in (None, "end") else float(time)
    region = figure.get("region")
    world = int(figure.get("world", 0))
    x, y, heights, first = recording.surface_at(time, region and tuple(region), world=world, max_nodes=MAX_NODES)
    if field == "height":
        image = _heights(axes, x, y, heights)
    else:
        image = _sinkage(axes, x, y, heights, first - heights)
    _paths(axes, recording, figure, time, world, (x[0], x[-1], y[0], y[-1]))
    draw_overlay(axes, figure, 0)
    bar = axes.figure.colorbar(image, cax=axes.inset_axes((1.02, 0, 0.022, 1)), extend=_extend(image))
    bar.set_label(figure.get("label") or f"{field} [m]")
    bar.outline.set_visible(False)
    _frame(axes, x, y)
    axes.grid(visible=False)
    axes.set_xlabel(figure.get("xlabel") or "x [m]")
    axes.set_ylabel(figure.get("ylabel") or "y [m]")


GREY = ("#8d8d8d", "#e9e9e9")  # from low to high


def draw_shaded_heights(
    axes: Axes, recording: Recording, region: tuple[float, float, float, float], max_nodes: int
) -> tuple[Any, float, float]:
    """Draw the ground at the end of a run in grey, clipped to it. Returns the image, its breadth and length [m]."""
    x, y, heights, _ = recording.surface_at(math.inf, region, world=0, max_nodes=max_nodes)
    low, high = float(heights.min()), float(heights.max())
    image = _image(axes, x, y, heights, GREY, low, max(high, low + 1e-9))
    _shade(axes, x, y, heights)
    return image, region[3] - region[2], region[1] - region[0]


def _heights(axes: Axes, x: np.ndarray, y: np.ndarray, heights: np.ndarray) -> Any:
    low, high = np.percentile(heights, (QUANTILE, 100 - QUANTILE))
    if high - low < 1e-9:
        low, high = low - 0.01, high + 0.01
    image = _image(axes, x, y, heights, EARTH, low, high)
    _shade(axes, x, y, heights)
    return image


def _sinkage(axes: Axes, x: np.ndarray, y: np.ndarray, heights: np.ndarray, sinkage: np.ndarray) -> Any:
    """Draw sinkage: blue where the ground sank, brown where it rose, on the same scale."""
    moved = np.abs(sinkage[sinkage != 0])
    reach = float(np.percentile(moved, 100 - QUANTILE)) if moved.size else 0.01
    image = _image(axes, x, y, sinkage, RUTS, -reach, reach)
    _shade(axes, x, y, heights)
    return image


def _image(
    axes: Axes,
    x: np.ndarray,
    y: np.ndarray,
    values: np.ndarray,
    colours: Sequence[str],
    low: float,
    high: float,
) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    scale = LinearSegmentedColormap.from_list("ground", colours)
    return axes.imshow(values, cmap=scale, vmin=low, vmax=high, **_placed(x, y))


def _placed(x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Extent of the image with each node in the centre of its pixel."""
    half_x = (x[1] - x[0]) / 2 if len(x) > 1 else 0.5
    half_y = (y[1] - y[0]) / 2 if len(y) > 1 else 0.5
    extent = (x[0] - half_x, x[-1] + half_x, y[0] - half_y, y[-1] + half_y)
    return {"extent": extent, "origin": "lower", "interpolation": "nearest"}


def _shade(axes: Axes, x: np.ndarray, y: np.ndarray, heights: np.ndarray) -> None:
    """Draw shadows as transparent black and white over the colours, so that ruts and mounds stand out."""
    from matplotlib.colors import LightSource

    if min(heights.shape) < 3 or np.ptp(heights) == 0:
        return
    sun = LightSource(SUN_AZIMUTH_DEG, SUN_HEIGHT_DEG)
    spacing = x[1] - x[0]
    light = sun.hillshade(heights, vert_exag=3.0, dx=spacing, dy=-spacing)
    flat = math.sin(math.radians(SUN_HEIGHT_DEG))
    light = light - np.median(light) if np.ptp(light) > 0 else light - flat
    shadow = np.zeros((*heights.shape, 4), np.float32)
    shadow[..., :3] = (light > 0)[..., None]
    shadow[..., 3] = np.clip(np.abs(light), 0, 1) * SHADE
    axes.imshow(shadow, **_placed(x, y))


def _extend(image: Any) -> str:
    values, (low, high) = image.get_array(), image.get_clim()
    under, over = values.min() < low - 1e-12, values.max() > high + 1e-12
    return {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}[under, over]


def _paths(
    axes: Axes,
    recording: Recording,
    figure: Mapping[str, Any],
    time: float,
    world: int,
    shown: tuple[float, ...],
) -> None:
    drawn = 0
    stop = int(np.searchsorted(recording.time, time, "right"))
    for words in figure.get("paths") or ():
        for label, places in _places(recording, words, stop, world):
            colour = PATH_COLOURS[drawn % len(PATH_COLOURS)]
            thinned = places[:: max(1, len(places) // PATH_POINTS)]
            axes.plot(thinned[:, 0], thinned[:, 1], color="white", linewidth=2.4, alpha=0.7, solid_capstyle="round")
            axes.plot(thinned[:, 0], thinned[:, 1], color=colour, linewidth=1.1, label=label)
            if len(places):
                axes.plot(*places[0, :2], marker="o", color=colour, markersize=4, markeredgecolor="white")
                axes.plot(*places[-1, :2], marker="s", color=colour, markersize=4, markeredgecolor="white")
            drawn += 1
    axes.set_xlim(shown[0], shown[1])
    axes.set_ylim(shown[2], shown[3])
    if drawn:
        axes.figure.legend(loc="outside lower center", ncols=min(drawn, 5), handlelength=1.4, frameon=False)


def _places(recording: Recording, words: str, stop: int, world: int) -> list[tuple[str, np.ndarray]]:
    """Label and positions, (frame, 2 or more), of one body or of all bodies of the channel."""
    name, inside = split(words)
    channel = recording.channel_info(name)
    values = recording.read(words, slice(0, stop))
    if recording.worlds > 1:
        values = values[:, world]
    if values.ndim == 2 and values.shape[1] >= 2:
        return [(inside or name.rsplit("/", 1)[-1], values)]
    if values.ndim == 3 and values.shape[2] >= 2:
        names = channel.labels or tuple(map(str, range(values.shape[1])))
        return [(label, values[:, k]) for k, label in enumerate(names)]
    raise InputError(f"path {words!r} of shape {channel.shape}; positions (x, y, ...) or poses needed")


def _frame(axes: Axes, x: np.ndarray, y: np.ndarray) -> None:
    size_to_scale(axes, x[-1] - x[0], y[-1] - y[0])


def size_to_scale(axes: Axes, length: float, breadth: float) -> None:
    """Size the figure by the terrain, to scale. Long strips are stretched, or nothing would be visible."""
    figure: Any = axes.figure
    ratio = breadth / max(length, 1e-9)
    to_scale = STRETCHED[0] <= ratio <= STRETCHED[1]
    axes.set_aspect("equal" if to_scale else "auto")
    around = AROUND[1] + LEGEND_HEIGHT * bool(figure.legends)
    height = (WIDTH - AROUND[0]) * ratio if to_scale else 1.5 if ratio < 1 else MAX_HEIGHT
    figure.set_size_inches(WIDTH, min(height + around, MAX_HEIGHT))
