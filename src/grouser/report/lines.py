"""Line plots: channels over time or over each other, with theory and measurements overlaid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.errors import InputError
from grouser.recording import Recording
from grouser.report.curves import axis_title, curves, frames, labels
from grouser.report.style import COLOURS, DASHES, FAINT, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WORLDS_DRAWN = 32
LEGEND_BESIDE = 7  # with this many entries or more the legend is beside the axes


def draw_lines(axes: Axes, recording: Recording, figure: Mapping[str, Any]) -> None:
    """Draw y over x. If there are several x curves, each goes with the y curve of the same label."""
    within = frames(recording, figure)
    over_time = figure.get("x", "time") == "time"
    across = curves(recording, figure.get("x", "time"), within)
    up = [curve for words in listed(figure) for curve in curves(recording, words, within)]
    partner = {curve.label: curve for curve in across}
    for place, (curve, label) in enumerate(zip(up, labels(up), strict=True)):
        x = across[0] if len(across) == 1 else partner.get(curve.label)
        if x is None:
            raise InputError(f"x {figure['x']!r} has no {curve.label!r}, which {curve.channel!r} needs")
        style = {
            "color": COLOURS[place % len(COLOURS)],
            "linestyle": DASHES[place // len(COLOURS) % len(DASHES)],
        }
        _draw_worlds(axes, x.values, curve.values, label, style, over_time)
    draw_overlay(axes, figure, len(up))
    axes.set_xlabel(figure.get("xlabel") or axis_title(across))
    axes.set_ylabel(figure.get("ylabel") or axis_title(up))
    axes.margins(x=0.01 if over_time else 0.04, y=0.08)
    if figure.get("equal"):
        axes.set_aspect("equal", adjustable="datalim")
    draw_zero(axes)
    draw_legend(axes)


def _draw_worlds(
    axes: Axes, x: np.ndarray, y: np.ndarray, label: str, style: Mapping[str, Any], over_time: bool
) -> None:
    """Draw a batch: one thin line per world, and their median if plotted over time."""
    worlds = y.shape[1]
    if worlds == 1:
        axes.plot(x[:, 0], y[:, 0], label=label, **style)
        return
    for world in range(min(worlds, WORLDS_DRAWN)):
        named = label if world == 0 and not over_time else None
        axes.plot(x[:, world], y[:, world], **{**style, "linewidth": 0.7, "alpha": 0.35, "label": named})
    if over_time and len(y):
        axes.plot(x[:, 0], np.median(y, axis=1), label=f"{label} (median of {worlds} worlds)", **style)


def draw_overlay(axes: Axes, figure: Mapping[str, Any], used: int) -> None:
    """Draw curves given as data: measurements as points, theory as dashed lines.

    `scatter` gives points error bars of this half height, one for each of them.
    """
    colours = (INK, *(COLOURS[(used + k) % len(COLOURS)] for k in range(len(COLOURS))))
    for place, extra in enumerate(figure.get("overlay") or ()):
        label = extra.get("label")
        x, y = np.asarray(extra["x"], dtype=float), np.asarray(extra["y"], dtype=float)
        if x.shape != y.shape or x.ndim != 1:
            raise InputError(f"overlay {label!r}: {x.size} x and {y.size} y values; the numbers must be equal")
        colour = colours[place % len(colours)]
        if extra.get("style", "points") == "line":
            axes.plot(x, y, color=colour, linestyle=(0, (4, 2)), linewidth=1.3, label=label, zorder=3)
        else:
            ring = {"markerfacecolor": "white", "markeredgecolor": colour, "markeredgewidth": 1.3}
            if extra.get("scatter") is not None:
                axes.errorbar(x, y, yerr=_half_heights(extra, y), fmt="none", ecolor=colour, elinewidth=1, zorder=3)
            axes.plot(x, y, linestyle="none", marker="o", markersize=5, label=label, zorder=4, **ring)


def _half_heights(extra: Mapping[str, Any], y: np.ndarray) -> np.ndarray:
    scatter = np.asarray(extra["scatter"], dtype=float)
    if scatter.shape != y.shape:
        raise InputError(
            f"overlay {extra.get('label')!r}: {y.size} y and {scatter.size} scatter values; the numbers must be equal"
        )
    return scatter


def listed(figure: Mapping[str, Any]) -> Sequence[str]:
    """Names of the channels on the y axis."""
    value = figure.get("y")
    if not value:
        raise InputError("y names no channel")
    return [value] if isinstance(value, str) else value


def draw_zero(axes: Axes) -> None:
    low, high = axes.get_ylim()
    if low < 0 < high:
        axes.axhline(0, color=FAINT, linewidth=0.8, zorder=1)


def draw_legend(axes: Axes, at_least: int = 2) -> None:
    count = len(axes.get_legend_handles_labels()[1])
    if count < at_least:
        return
    if count >= LEGEND_BESIDE:
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0)
    else:
        legend = axes.legend(loc="best", ncols=2 if count > 3 else 1)
        legend.set_in_layout(False)  # inside the axes it needs no space, and finding its position is slow
