"""Sections through the ground at several times, with the outline of a body at each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.errors import InputError
from grouser.recording import Recording
from grouser.report.lines import draw_legend
from grouser.report.snapshots import side_outline
from grouser.report.style import COLOURS, FAINT, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STRETCHES = (1, 2, 5, 10)  # factors by which heights may be stretched
FLATTEST = 0.5  # height of the axes over their width


def draw_profiles(axes: Axes, recording: Recording, figure: Mapping[str, Any]) -> None:
    """Draw heights over x at y = `across` [m] (default 0) at `times` [s]. Times after the end of the run are left out.

    `body` and `corners` (n, 3) in body axes are an outline to draw at each time.
    """
    times = figure.get("times")
    if not times:
        raise InputError("profiles: times are needed")
    first, last = (float(recording.time[0]), float(recording.time[-1])) if len(recording) else (0.0, -np.inf)
    shown = [time for time in times if time <= last + 1e-6 * max(last - first, 1.0)]
    x, z = None, None
    for place, time in enumerate(shown):
        x, y, heights, before = recording.surface_at(time)
        row = int(np.argmin(np.abs(y - float(figure.get("across", 0.0)))))
        z = before[row]
        axes.plot(x, heights[row], color=COLOURS[place % len(COLOURS)], label=f"{time:.3g} s")
        if figure.get("body"):
            pose = np.asarray(recording[f"body/pose[{figure['body']}]"], float).reshape(len(recording), -1, 7)[:, 0]
            frame = min(int(np.searchsorted(recording.time, time)), len(recording) - 1)
            ring = side_outline(np.asarray(figure["corners"], float), pose[frame])
            axes.fill(*ring.T, facecolor=COLOURS[place % len(COLOURS)], edgecolor=INK, linewidth=0.5, alpha=0.5)
    if x is not None and z is not None:
        axes.plot(x, z, color=FAINT, linewidth=0.8, linestyle=(0, (4, 2)), label="before")
    stretch = height_stretch(axes)
    axes.set_aspect(stretch, adjustable="datalim")
    axes.set_xlabel(figure.get("xlabel", "x [m]"))
    axes.set_ylabel(figure.get("ylabel", "z [m]") + (f", {stretch} times as high as to scale" if stretch > 1 else ""))
    draw_legend(axes)


def height_stretch(axes: Axes) -> int:
    """How many times as high as to scale heights are drawn: the largest choice with which all fit into the axes.

    A section of 20 m through a pile of 1 m, drawn to scale, is a line.
    """
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    room = FLATTEST * (right - left) / max(high - low, 1e-12)
    return max(factor for factor in STRETCHES if factor <= max(room, 1.0))
