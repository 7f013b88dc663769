"""Draws the figures a recording declares in its header, from nothing but the recording."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.errors import InputError
from grouser.recording import Recording
from grouser.report.curves import Curve, axis_title, curves, frames, labels
from grouser.report.maps import draw_map
from grouser.report.wording import unit_text, value_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#2b6c99", "#d1543f", "#3f8f5f", "#e0a030", "#7a5ba6", "#5a6b78", "#1c9aa8", "#b0577f")
DASHES = ("-", (0, (5, 1.6)), (0, (1.2, 1.4)), (0, (5, 1.5, 1.2, 1.5)))  # for curves beyond the colours
INK, FAINT, GRID = "#22303a", "#8797a3", "#e4eaee"
SIZE = (7.2, 4.0)  # inch
DOTS_PER_INCH = 150
WORLDS_DRAWN = 32
LEGEND_BESIDE = 7  # entries from which on the legend stands beside the axes
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-4, 5),
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.direction": "out",
    "xtick.major.width": 0.8,
    "ytick.major.width": 0.8,
    "legend.frameon": True,
    "legend.framealpha": 0.9,
    "legend.edgecolor": "none",
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.5,
    "lines.solid_capstyle": "round",
    "figure.facecolor": "white",
}


def draw_figures(recording: Recording, directory: str | Path) -> list[Path]:
    """One PNG for each figure of the header, in the header's order."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    directory = Path(directory)
    declared = recording.header.get("figures", [])
    paths = [directory / f"{file_name(figure)}.png" for figure in declared]
    if len(set(paths)) < len(paths):
        raise InputError(f"figures of {recording.path}: two have the same name; names must differ")
    directory.mkdir(parents=True, exist_ok=True)
    for figure, path in zip(declared, paths, strict=True):
        with mpl.rc_context(STYLE):
            drawn = draw(recording, figure)
            FigureCanvasAgg(drawn)
            drawn.savefig(path, dpi=DOTS_PER_INCH, metadata={"Software": None})
    return paths


def file_name(figure: Mapping[str, Any]) -> str:
    """The figure's name with everything but letters, digits, '-' and '_' replaced."""
    name = re.sub(r"[^\w-]+", "-", str(figure.get("name", ""))).strip("-")
    if not name:
        raise InputError(f"figure name {figure.get('name')!r}; letters, digits, '-' and '_' allowed")
    return name


def draw(recording: Recording, figure: Mapping[str, Any]) -> Figure:
    """One figure, not yet on any canvas."""
    from matplotlib.figure import Figure

    kinds: dict[str, Callable[[Axes, Recording, Mapping[str, Any]], None]] = {
        "lines": _lines,
        "xy": _lines,
        "bars": _bars,
        "map": draw_map,
    }
    kind = figure.get("kind", "lines")
    if kind not in kinds:
        raise InputError(f"figure {figure.get('name')!r}, kind: {kind!r}; {', '.join(kinds)} allowed")
    drawn = Figure(figsize=SIZE, layout="constrained")
    axes = drawn.add_subplot()
    try:
        kinds[kind](axes, recording, figure)
    except InputError as error:
        raise InputError(f"figure {figure.get('name')!r}: {error}") from None
    if figure.get("title"):
        axes.set_title(figure["title"])
    if not len(recording) and kind != "map":
        axes.text(0.5, 0.5, "no frames recorded", transform=axes.transAxes, ha="center", color=FAINT)
    return drawn


def _lines(axes: Axes, recording: Recording, figure: Mapping[str, Any]) -> None:
    within = frames(recording, figure)
    across = curves(recording, figure.get("x", "time"), within)
    up = [curve for words in _listed(figure.get("y")) for curve in curves(recording, words, within)]
    partner = {curve.label: curve for curve in across}
    for place, (curve, label) in enumerate(zip(up, labels(up), strict=True)):
        x = across[0] if len(across) == 1 else partner.get(curve.label)
        if x is None:
            raise InputError(f"x {figure['x']!r} has no {curve.label!r} to go with {curve.channel!r}")
        look = {"color": COLOURS[place % len(COLOURS)], "linestyle": DASHES[place // len(COLOURS) % len(DASHES)]}
        _draw_worlds(axes, x.values, curve.values, label, look, figure.get("x", "time") == "time")
    _overlay(axes, figure, len(up))
    _zero_line(axes)
    axes.set_xlabel(figure.get("xlabel") or axis_title(across))
    axes.set_ylabel(figure.get("ylabel") or axis_title(up))
    axes.margins(x=0.01 if figure.get("x", "time") == "time" else 0.04, y=0.08)
    if figure.get("equal"):
        axes.set_aspect("equal", adjustable="datalim")
    _legend(axes)


def _draw_worlds(
    axes: Axes, x: np.ndarray, y: np.ndarray, label: str, look: Mapping[str, Any], common_x: bool
) -> None:
    """A batch is drawn as thin lines, one per world, with the median over them where they share the time."""
    worlds = y.shape[1]
    if worlds == 1:
        axes.plot(x[:, 0], y[:, 0], label=label, **look)
        return
    thin = {**look, "linewidth": 0.7, "alpha": 0.35}
    drawn = min(worlds, WORLDS_DRAWN)
    for world in range(drawn):
        first = {"label": label} if world == 0 and not common_x else {}
        axes.plot(x[:, world], y[:, world], **thin, **first)
    if common_x and len(y):
        axes.plot(x[:, 0], np.median(y, axis=1), label=f"{label} (median of {worlds} worlds)", **look)


def _overlay(axes: Axes, figure: Mapping[str, Any], used: int) -> None:
    """Curves given as data: measurements as points, theory as dashed lines."""
    colours = (INK, *(COLOURS[(used + k) % len(COLOURS)] for k in range(len(COLOURS))))
    for place, extra in enumerate(figure.get("overlay") or ()):
        x, y = np.asarray(extra["x"], dtype=float), np.asarray(extra["y"], dtype=float)
        if x.shape != y.shape or x.ndim != 1:
            raise InputError(f"overlay {extra.get('label')!r}: {x.size} x and {y.size} y values; as many allowed")
        colour = colours[place % len(colours)]
        if extra.get("style", "points") == "line":
            axes.plot(x, y, color=colour, linestyle=(0, (4, 2)), linewidth=1.3, label=extra.get("label"), zorder=3)
        else:
            axes.plot(
                x, y, linestyle="none", marker="o", markersize=5, markerfacecolor="white", markeredgewidth=1.3,
                markeredgecolor=colour, label=extra.get("label"), zorder=4,
            )  # fmt: skip


def _bars(axes: Axes, recording: Recording, figure: Mapping[str, Any]) -> None:
    """The mean of each channel over the window, with its standard deviation; or the value of a metric."""
    within = frames(recording, figure)
    bars: list[tuple[Curve, float, float]] = []
    for words in _listed(figure.get("y")):
        if words not in recording and words in recording.metrics:
            unit = next((m.get("unit", "1") for m in recording.header["metrics"] if m["name"] == words), "1")
            bars.append((Curve(words, "", unit, np.empty((0, 1))), float(recording.metrics[words]), 0.0))
            continue
        for curve in curves(recording, words, within):
            filled = curve.values.size > 0
            bars.append((curve, float(curve.values.mean()) if filled else np.nan, float(curve.values.std()) if filled else 0.0))
    drawn = [bar[0] for bar in bars]
    heights, spread = np.array([bar[1] for bar in bars]), np.array([bar[2] for bar in bars])
    places = np.arange(len(bars))
    axes.bar(places, heights, width=0.62, color=COLOURS[0], zorder=2)
    if spread.any():
        axes.errorbar(places, heights, spread, fmt="none", ecolor=INK, elinewidth=1, capsize=3, zorder=3)
    for place, height, error in zip(places, heights, spread, strict=True):
        if np.isfinite(height):
            above = height >= 0
            axes.annotate(
                value_text(height), (place, height + error if above else height - error), (0, 3 if above else -3),
                textcoords="offset points", ha="center", va="bottom" if above else "top", fontsize=8,
            )  # fmt: skip
    names = labels(drawn)
    slanted = max(map(len, names), default=0) * len(names) > 70
    axes.set_xticks(places, names, rotation=30 if slanted else 0, ha="right" if slanted else "center")
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="x", visible=False)
    _overlay(axes, figure, 1)
    _zero_line(axes)
    axes.margins(y=0.14)
    axes.set_xlabel(figure.get("xlabel") or "")
    axes.set_ylabel(figure.get("ylabel") or axis_title(drawn))
    if figure.get("overlay"):
        _legend(axes, at_least=1)


def _listed(value: Any) -> Sequence[str]:
    if not value:
        raise InputError("y names no channel")
    return [value] if isinstance(value, str) else value


def _zero_line(axes: Axes) -> None:
    low, high = axes.get_ylim()
    if low < 0 < high:
        axes.axhline(0, color=FAINT, linewidth=0.8, zorder=1)


def _legend(axes: Axes, at_least: int = 2) -> None:
    count = len(axes.get_legend_handles_labels()[1])
    if count < at_least:
        return
    if count >= LEGEND_BESIDE:
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0)
    else:
        axes.legend(loc="best", ncols=2 if count > 3 else 1)
