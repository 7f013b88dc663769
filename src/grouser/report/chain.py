"""Figures of tracks: side view of links and wheels, coloured by a channel; values of a channel along the track."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.errors import InputError
from grouser.recording import Recording
from grouser.recording.selection import split
from grouser.report.lines import draw_legend, draw_overlay, draw_zero, listed
from grouser.report.style import COLOURS, FAINT, INK, WIDTH
from grouser.report.wording import unit_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FRAME_HEIGHT, HEIGHTS = 1.5, (2.4, 6.0)  # inch: title, axis and colour bar; smallest and largest height


def draw_chain(axes: Axes, recording: Recording, figure: Mapping[str, Any]) -> None:
    """Draw each pose of `pose` at `times` [s] as a line of length `pitch` [m] along its x axis, coloured by `value`.

    `wheels` is a channel of wheel centres (wheel, 3), `radii` [m] are their radii. The figure shows x and z, or x and y
    with `plan`.
    """
    from matplotlib.collections import LineCollection

    shown, up = frames_at(recording, figure), 1 if figure.get("plan") else 2
    value = split(figure["value"])[0]
    unit, half = recording.channel_info(value).unit, figure["pitch"] / 2
    values = [recording.read(figure["value"], slice(k, k + 1))[0] for k in shown]
    low, high = min(map(np.min, values)), max(map(np.max, values))
    strokes: Any = None
    for k, coloured in zip(shown, values, strict=True):
        pose = recording.read(figure["pose"], slice(k, k + 1))[0]
        ahead = _x_axis(pose[:, 3:])
        ends = np.stack([pose[:, :3] - half * ahead, pose[:, :3] + half * ahead], axis=1)[:, :, [0, up]]
        strokes = LineCollection(list(ends), cmap="viridis", array=coloured, linewidths=3, capstyle="round")
        strokes.set_clim(low, high if high > low else low + 1)
        axes.add_collection(strokes)
        if "wheels" in figure and up == 2:
            _draw_wheels(axes, recording.read(figure["wheels"], slice(k, k + 1))[0], figure["radii"])
    draw_overlay(axes, figure, 0)
    axes.autoscale()
    axes.set_aspect("equal", adjustable="box")
    whole: Any = axes.figure
    if len(whole.axes) == 1:  # a single plot: height of the figure from the shape of the data
        across, high = axes.get_xlim(), axes.get_ylim()
        shape = (high[1] - high[0]) / (across[1] - across[0])
        whole.set_size_inches(WIDTH, float(np.clip(FRAME_HEIGHT + WIDTH * shape, *HEIGHTS)))
    axes.set_xlabel(figure.get("xlabel", "x [m]"))
    axes.set_ylabel(figure.get("ylabel", "y [m]" if up == 1 else "z [m]"))
    words = figure.get("label") or f"{value.rsplit('/', 1)[-1].replace('_', ' ')} [{unit_text(unit)}]"
    whole.colorbar(strokes, ax=axes, label=words, location="bottom", shrink=0.5, aspect=40)
    draw_legend(axes, at_least=1)


def _draw_wheels(axes: Axes, centres: np.ndarray, radii) -> None:
    from matplotlib.patches import Circle

    for centre, radius in zip(centres, radii, strict=True):
        axes.add_patch(Circle((centre[0], centre[2]), radius, fill=False, edgecolor=FAINT, linewidth=0.9))


def draw_loop(axes: Axes, recording: Recording, figure: Mapping[str, Any]) -> None:
    """Draw channels with one number per link over the link index, at `times` [s]."""
    shown, place = frames_at(recording, figure), 0
    for words in listed(figure):
        for k in shown:
            values = recording.read(words, slice(k, k + 1))[0]
            label = words.rsplit("/", 1)[-1].replace("_", " ")
            if len(shown) > 1:
                label += f", t = {recording.time[k]:.2f} s"
            axes.plot(np.arange(len(values)), values, color=COLOURS[place % len(COLOURS)], marker=".", label=label)
            place += 1
    unit = unit_text(recording.channel_info(listed(figure)[0]).unit)
    axes.set_xlabel(figure.get("xlabel", "link"))
    axes.set_ylabel(figure.get("ylabel", f"[{unit}]"))
    axes.tick_params(colors=INK)
    draw_zero(axes)
    draw_legend(axes)


def frames_at(recording: Recording, figure: Mapping[str, Any]) -> list[int]:
    """Frames nearest to the figure's `times` [s] (default: the last frame), without duplicates."""
    if not len(recording):
        raise InputError("no frames recorded")
    times = figure.get("times") or [recording.time[-1]]
    return list(dict.fromkeys(int(np.abs(recording.time - time).argmin()) for time in times))


def _x_axis(q: np.ndarray) -> np.ndarray:
    """Unit x axes, (n, 3), of frames with quaternions xyzw."""
    x, y, z, w = q.T
    return np.stack([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)], axis=1)
