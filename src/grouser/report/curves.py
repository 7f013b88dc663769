"""Reads the channels that a figure names as labelled curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grouser.errors import InputError
from grouser.recording import Recording
from grouser.recording.selection import axis_names, split
from grouser.report.wording import unit_text


@dataclass(frozen=True)
class Curve:
    """One line of a figure."""

    channel: str
    label: str  # along the channel's axis; empty if the channel is a single number
    unit: str
    values: np.ndarray  # (frame, world)


def frames(recording: Recording, figure: Mapping[str, Any]) -> slice:
    """The frames inside the figure's time window."""
    window = figure.get("window")
    if window is None:
        return slice(0, len(recording))
    start, stop = (
        np.inf if bound is None and k else -np.inf if bound is None else bound for k, bound in enumerate(window)
    )
    if not start < stop:
        raise InputError(f"figure {figure['name']!r}, window: {list(window)}; allowed: [start, stop] with start < stop")
    return slice(
        int(np.searchsorted(recording.time, start, "left")),
        int(np.searchsorted(recording.time, stop, "right")),
    )


def curves(recording: Recording, words: str, within: slice) -> list[Curve]:
    """Read a channel as one curve per label. "time" is allowed too."""
    if words == "time":
        values = recording.time[within]
        return [Curve("time", "", "s", np.repeat(values[:, None], recording.worlds, axis=1))]
    name, inside = split(words)
    channel = recording.channel_info(name)
    if channel.kind == "ragged":
        raise InputError(f"channel {name!r} has a varying number of rows; a figure cannot show it")
    values = recording.read(words, within)
    if recording.worlds == 1:
        values = values[:, None]
    if values.ndim == 2:
        return [Curve(name, inside, channel.unit, values)]
    if values.ndim > 3:
        raise InputError(f"{words!r} has shape {channel.shape}; a figure needs '{name}[label, component]'")
    axis = len(channel.shape) - 1
    names = axis_names(channel, axis)
    return [
        Curve(name, ", ".join(filter(None, (inside, label))), channel.unit, values[:, :, k])
        for k, label in enumerate(names)
    ]


def labels(drawn: Sequence[Curve]) -> list[str]:
    """The shortest labels that are all different."""
    channels = {curve.channel for curve in drawn}
    short = {name: name.rsplit("/", 1)[-1].replace("_", " ") for name in channels}
    if len(set(short.values())) < len(channels):
        short = {name: name for name in channels}
    if len(channels) == 1 and all(curve.label for curve in drawn):
        return [curve.label for curve in drawn]
    return [f"{short[c.channel]}, {c.label}" if c.label else short[c.channel] for c in drawn]


def axis_title(drawn: Sequence[Curve]) -> str:
    """Quantity and unit, for an axis to which the scenario gives no title."""
    names = list(dict.fromkeys(curve.channel.rsplit("/", 1)[-1].replace("_", " ") for curve in drawn))
    units = list(dict.fromkeys(unit_text(curve.unit) for curve in drawn))
    unit = f" [{units[0]}]" if len(units) == 1 and units[0] else ""
    return (names[0] if len(names) == 1 else "") + unit
