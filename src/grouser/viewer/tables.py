"""Writes CSV: one table of all fixed channels over time, and one table per ragged channel."""

from __future__ import annotations

import csv
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np

from grouser.files import atomic_file
from grouser.recording import Recording
from grouser.recording.selection import axis_names

ROWS = 2000  # frames read at a time


def write_tables(
    recording: Recording, folder: Path, progress: Callable[[int, int], None] = lambda done, total: None
) -> list[Path]:
    """Write channels.csv, and NAME.csv for each ragged channel. Columns are named as in a recording, with units."""
    fixed = [name for name in recording.names() if recording.channel_info(name).kind in ("fixed", "pose")]
    ragged = [name for name in recording.names() if recording.channel_info(name).kind == "ragged"]
    folder.mkdir(parents=True, exist_ok=True)
    count = len(recording)
    paths = [folder / "channels.csv"]
    with atomic_file(paths[0]) as part_file, part_file.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["time [s]", *(title for name in fixed for title in titles(recording, name))])
        for start in range(0, count, ROWS):
            part = slice(start, min(start + ROWS, count))
            columns = [recording.time[part][:, None]]
            columns += [recording.read(name, part).reshape(part.stop - part.start, -1) for name in fixed]
            table.writerows(_text(np.hstack(columns)))
            progress(part.stop, count * (1 + len(ragged)))
    for k, name in enumerate(ragged):
        paths.append(folder / f"{name.replace('/', '-')}.csv")
        _write_ragged(recording, name, paths[-1])
        progress((k + 2) * count, count * (1 + len(ragged)))
    return paths


def titles(recording: Recording, name: str) -> list[str]:
    """Column titles such as `soil/force[wheel_fl, x] [N]`, one for each number of a frame, worlds first."""
    channel = recording.channel_info(name)
    axes = [axis_names(channel, axis) for axis in range(len(channel.shape))]
    worlds = [f"world {w}" for w in range(recording.worlds)] if recording.worlds > 1 else [""]
    found = []
    for world, *places in product(worlds, *axes):
        inside = ", ".join(filter(None, (world, *places)))
        found.append(f"{name}[{inside}] [{channel.unit}]" if inside else f"{name} [{channel.unit}]")
    return found


def _write_ragged(recording: Recording, name: str, path: Path) -> None:
    channel, count = recording.channel_info(name), len(recording)
    inner = [", ".join(places) for places in product(*(axis_names(channel, a) for a in range(len(channel.shape))))]
    with atomic_file(path) as part_file, part_file.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        head = [f"{name}[{words}] [{channel.unit}]" if words else f"{name} [{channel.unit}]" for words in inner]
        table.writerow(["time [s]", "world", *head])
        for start in range(0, count, ROWS):
            frames = recording.read(name, slice(start, min(start + ROWS, count)))
            for time, frame in zip(recording.time[start:], frames, strict=False):
                for world, rows in enumerate([frame] if recording.worlds == 1 else frame):
                    for row in _text(np.asarray(rows).reshape(len(rows), len(inner))):
                        table.writerow([_number(float(time)), world, *row])


def _text(values: np.ndarray) -> list[list[str]]:
    return [[_number(value) for value in row] for row in values.tolist()]


def _number(value: float) -> str:
    """Format a number. Nine digits restore a float32 exactly; times keep all relevant digits."""
    return f"{value:.9g}"
