"""Figures of final values: the last frame of channels with several numbers, one point per number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.errors import InputError
from grouser.recording import Recording
from grouser.report.curves import Curve, axis_title, curves, frames, labels
from grouser.report.lines import draw_legend, draw_overlay, draw_zero, listed
from grouser.report.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_points(axes: Axes, recording: Recording, figure: Mapping[str, Any]) -> None:
    """Draw the last frame of `y` over that of `x`, sorted by x. Numbers that were never set are left out.

    `markers` false: a line only, for example an outline. `legend` false: no legend. `x_ticks`: at most so many
    intervals between ticks of x, for narrow panels with long numbers.
    """
    within = frames(recording, figure)
    across = curves(recording, str(figure.get("x", "")), within)
    x, up = _last(across), [curves(recording, words, within) for words in listed(figure)]
    names = labels([Curve(found[0].channel, "", found[0].unit, found[0].values) for found in up])
    for place, (found, name) in enumerate(zip(up, names, strict=True)):
        y = _last(found)
        if x.shape != y.shape:
            raise InputError(
                f"x {figure['x']!r} has {len(x)} numbers, {found[0].channel!r} {len(y)}; the numbers must be equal"
            )
        known = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
        order = known[np.argsort(x[known], kind="stable")]
        marker = "o" if figure.get("markers", True) else ""
        axes.plot(x[order], y[order], marker=marker, markersize=5, color=COLOURS[place % len(COLOURS)], label=name)
    draw_overlay(axes, figure, len(up))
    axes.set_xlabel(figure.get("xlabel") or axis_title(across))
    axes.set_ylabel(figure.get("ylabel") or axis_title([found[0] for found in up]))
    axes.margins(x=0.04, y=0.08)
    if "x_ticks" in figure:
        axes.locator_params(axis="x", nbins=int(figure["x_ticks"]))
    draw_zero(axes)
    if figure.get("legend", True):
        draw_legend(axes, at_least=1 if figure.get("overlay") else 2)


def _last(found: list[Curve]) -> np.ndarray:
    """Values, (number,), of the first world at the last frame."""
    return np.array([curve.values[-1, 0] if len(curve.values) else np.nan for curve in found])
