"""Selects one curve of a channel by names: "soil/sinkage[front left]", "body/pose[rover, z]"."""

from __future__ import annotations

import re
from difflib import get_close_matches

import numpy as np

from grouser.errors import InputError
from grouser.module import Channel

COMPONENTS = {
    3: ("x", "y", "z"),
    4: ("qx", "qy", "qz", "qw"),
    6: ("fx", "fy", "fz", "tx", "ty", "tz"),
    7: ("x", "y", "z", "qx", "qy", "qz", "qw"),
}


def split(words: str) -> tuple[str, str]:
    """Split into the name of the channel and the text in the brackets."""
    match = re.fullmatch(r"\s*([^\[\]]+?)\s*(?:\[(.*)\]\s*)?", words)
    if match is None:
        raise InputError(f"{words!r} is not a channel; allowed: 'name', 'name[label]' or 'name[label, component]'")
    return match.group(1), (match.group(2) or "").strip()


def unknown(name: str, allowed: list[str]) -> InputError:
    near = get_close_matches(name, allowed, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"recorded: {', '.join(allowed) or 'none'}"
    return InputError(f"channel {name!r} is not in the recording; {hint}")


def axis_names(channel: Channel, axis: int) -> tuple[str, ...]:
    """Names along one axis of the channel's shape, or numbers if it has no labels."""
    if axis == 0 and channel.labels:
        return channel.labels
    size = channel.shape[axis]
    return COMPONENTS.get(size) or tuple(map(str, range(size)))


def select(values: np.ndarray, channel: Channel, inside: str, first_axis: int) -> np.ndarray:
    """Index `values` by the names in the brackets, one for each axis from `first_axis` on."""
    if not inside:
        return values
    keys = [inside] if inside in channel.labels else [key.strip() for key in inside.split(",")]
    if len(keys) > len(channel.shape):
        raise InputError(f"'{channel.name}[{inside}]': {len(keys)} places for shape {channel.shape}")
    for axis, key in enumerate(keys):
        names = axis_names(channel, axis)
        if key in names:
            place = names.index(key)
        elif key.isdigit() and int(key) < channel.shape[axis]:
            place = int(key)
        else:
            raise InputError(
                f"'{channel.name}[{inside}]': no {key!r}; allowed: {', '.join(names)} or 0 to {channel.shape[axis] - 1}"
            )
        values = values.take(place, axis=first_axis)
    return values
