"""Bar charts of metrics, or of means of channels over a time window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from grouser.recording import Recording
from grouser.report.curves import Curve, axis_title, curves, frames, labels
from grouser.report.lines import draw_legend, draw_overlay, draw_zero, listed
from grouser.report.style import COLOURS, INK
from grouser.report.wording import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LETTERS_LEVEL = 70  # labels below the bars are slanted if they have more characters than this in all


class Bar(NamedTuple):
    curve: Curve
    height: float  # mean over the window, or the metric
    spread: float  # standard deviation


def draw_bars(axes: Axes, recording: Recording, figure: Mapping[str, Any]) -> None:
    bars = [bar for words in listed(figure) for bar in _bars(recording, words, frames(recording, figure))]
    places = np.arange(len(bars))
    heights, spread = np.array([bar.height for bar in bars]), np.array([bar.spread for bar in bars])
    axes.bar(places, heights, width=0.62, color=COLOURS[0], zorder=2)
    if spread.any():
        axes.errorbar(places, heights, spread, fmt="none", ecolor=INK, elinewidth=1, capsize=3, zorder=3)
    for place, bar in zip(places, bars, strict=True):
        if np.isfinite(bar.height):
            sign, side = (1, "bottom") if bar.height >= 0 else (-1, "top")
            tip = (place, bar.height + sign * bar.spread)
            text = {"textcoords": "offset points", "ha": "center", "va": side, "fontsize": 8}
            axes.annotate(number(bar.height), tip, (0, 3 * sign), **text)
    names = labels([bar.curve for bar in bars])
    slanted = sum(map(len, names)) > LETTERS_LEVEL
    axes.set_xticks(places, names, rotation=30 if slanted else 0, ha="right" if slanted else "center")
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="x", visible=False)
    draw_overlay(axes, figure, 1)
    axes.margins(y=0.14)
    draw_zero(axes)
    axes.set_xlabel(figure.get("xlabel") or "")
    axes.set_ylabel(figure.get("ylabel") or axis_title([bar.curve for bar in bars]))
    if figure.get("overlay"):
        draw_legend(axes, at_least=1)


def _bars(recording: Recording, words: str, within: slice) -> list[Bar]:
    if words not in recording and isinstance(recording.metrics.get(words), int | float):
        units = {metric["name"]: metric.get("unit", "1") for metric in recording.header.get("metrics", [])}
        curve = Curve(words, "", units.get(words, "1"), np.empty((0, 1)))
        return [Bar(curve, float(recording.metrics[words]), 0.0)]
    found = curves(recording, words, within)
    if not found[0].values.size:
        return [Bar(curve, np.nan, 0.0) for curve in found]
    return [Bar(curve, float(curve.values.mean()), float(curve.values.std())) for curve in found]
