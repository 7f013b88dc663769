"""The ground from above: heights or sinkage in colours, and where the bodies went."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.errors import InputError
from grouser.recording import Recording
from grouser.recording.selection import split

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_NODES = 600_000
PATH_COLOURS = ("#111111", "#b3123f", "#0a4d8c", "#6a3d9a")
SUN_AZIMUTH_DEG, SUN_HEIGHT_DEG = 315, 40
SHADE = 0.55  # how dark the shaded side is
QUANTILE = 0.2  # percent at either end that the colours may leave out: one odd node hides no rut
ROUND_PATH = 5000  # points a path is drawn with


def draw_map(axes: Axes, recording: Recording, figure: Mapping[str, Any]) -> None:
    field = figure.get("field", "sinkage")
    if field not in ("height", "sinkage"):
        raise InputError(f"field: {field!r}; height or sinkage allowed")
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
    _frame(axes, x, y)
    words = {"height": "height [m]", "sinkage": "sinkage [m]"}
    bar = axes.figure.colorbar(image, ax=axes, shrink=0.85, pad=0.02, aspect=28, extend=_extend(image))
    bar.set_label(figure.get("label") or words[field])
    bar.outline.set_visible(False)
    axes.grid(visible=False)
    axes.set_xlabel(figure.get("xlabel") or "x [m]")
    axes.set_ylabel(figure.get("ylabel") or "y [m]")


def _heights(axes: Axes, x: np.ndarray, y: np.ndarray, heights: np.ndarray) -> Any:
    low, high = np.percentile(heights, (QUANTILE, 100 - QUANTILE))
    if high - low < 1e-9:
        low, high = low - 0.01, high + 0.01
    image = _image(axes, x, y, heights, "cividis", low, high)
    _shade(axes, x, y, heights)
    return image


def _sinkage(axes: Axes, x: np.ndarray, y: np.ndarray, heights: np.ndarray, sinkage: np.ndarray) -> Any:
    """Blue where the ground sank, brown where it heaped up, both to the same scale."""
    moved = np.abs(sinkage[sinkage != 0])
    reach = float(np.percentile(moved, 100 - QUANTILE)) if moved.size else 0.01
    image = _image(axes, x, y, sinkage, "BrBG", -reach, reach)
    _shade(axes, x, y, heights)
    return image


def _image(axes: Axes, x: np.ndarray, y: np.ndarray, values: np.ndarray, colours: str, low: float, high: float) -> Any:
    return axes.imshow(
        values, origin="lower", extent=_extent(x, y), cmap=colours, vmin=low, vmax=high, interpolation="nearest",
        aspect="equal",
    )  # fmt: skip


def _extent(x: np.ndarray, y: np.ndarray) -> tuple[float, float, float, float]:
    half_x = (x[1] - x[0]) / 2 if len(x) > 1 else 0.5
    half_y = (y[1] - y[0]) / 2 if len(y) > 1 else 0.5
    return x[0] - half_x, x[-1] + half_x, y[0] - half_y, y[-1] + half_y


def _shade(axes: Axes, x: np.ndarray, y: np.ndarray, heights: np.ndarray) -> None:
    """Shadows as transparent black and white over the colours: ruts and mounds stand out."""
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
    axes.imshow(shadow, origin="lower", extent=_extent(x, y), interpolation="nearest", aspect="equal")


def _extend(image: Any) -> str:
    values, (low, high) = image.get_array(), image.get_clim()
    under, over = values.min() < low - 1e-12, values.max() > high + 1e-12
    return {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}[under, over]


def _paths(
    axes: Axes, recording: Recording, figure: Mapping[str, Any], time: float, world: int, shown: tuple[float, ...]
) -> None:
    drawn = 0
    stop = int(np.searchsorted(recording.time, time, "right"))
    for words in figure.get("paths") or ():
        for label, places in _places(recording, words, stop, world):
            colour = PATH_COLOURS[drawn % len(PATH_COLOURS)]
            thinned = places[:: max(1, len(places) // ROUND_PATH)]
            axes.plot(thinned[:, 0], thinned[:, 1], color="white", linewidth=2.4, alpha=0.7, solid_capstyle="round")
            axes.plot(thinned[:, 0], thinned[:, 1], color=colour, linewidth=1.1, label=label)
            if len(places):
                axes.plot(*places[0, :2], marker="o", color=colour, markersize=4, markeredgecolor="white")
                axes.plot(*places[-1, :2], marker="s", color=colour, markersize=4, markeredgecolor="white")
            drawn += 1
    axes.set_xlim(shown[0], shown[1])
    axes.set_ylim(shown[2], shown[3])
    if drawn:
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=min(drawn, 5), handlelength=1.4, frameon=False)


def _places(recording: Recording, words: str, stop: int, world: int) -> list[tuple[str, np.ndarray]]:
    """Label and (frame, 2 or more) positions of one body or of all that the channel holds."""
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
    """The figure takes the shape of the ground, within reason."""
    figure = axes.figure
    ratio = (y[-1] - y[0]) / max(x[-1] - x[0], 1e-9)
    width = 7.2
    figure.set_size_inches(width, min(max(width * 0.82 * ratio + 1.2, 2.2), 6.5))
