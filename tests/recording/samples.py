"""Small recordings whose numbers are known in closed form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grouser.module import Channel
from grouser.recording import RecordingWriter, build_header

WHEELS = ("front left", "front right", "rear left", "rear right")
PERIOD = 0.01  # s
TILE = 8
SPACING = 0.05  # m, fine grid
PLACEMENT = {"spacing": SPACING, "origin": [-1.0, -0.5], "nx": 81, "ny": 41, "size": TILE}


@dataclass
class Slope:
    """A coarse terrain that rises by 0.1 along x and 0.2 along y: bilinear sampling gives it back exactly."""

    spacing: float = 0.5
    origin: tuple[float, float] = (-1.0, -0.5)

    @property
    def heights(self) -> np.ndarray:
        x = self.origin[0] + self.spacing * np.arange(9)
        y = self.origin[1] + self.spacing * np.arange(5)
        return height(x[None, :], y[:, None])


def height(x: Any, y: Any) -> Any:
    return 0.1 * x + 0.2 * y


@dataclass
class Clock:
    """Stands in for a simulation: channels are functions of its time."""

    time: float = 0.0
    worlds: int = 1

    def sinkage(self) -> np.ndarray:
        return np.array([[k + 10 * w + self.time for k in range(4)] for w in range(self.worlds)])

    def power(self) -> np.ndarray:
        return np.array([np.pi * self.time + w for w in range(self.worlds)])

    def pose(self) -> np.ndarray:
        one = [[self.time, 2 * self.time, 0.1, 0, 0, 0, 1], [self.time - 1, 0, 0.2, 0, 0, 0, 1]]
        return np.array([one] * self.worlds)

    def contacts(self) -> Any:
        count = round(self.time / PERIOD) % 3
        parts = [np.arange(3 * (count + w), dtype=float).reshape(-1, 3) + self.time for w in range(self.worlds)]
        return parts[0] if self.worlds == 1 else parts

    def channels(self) -> list[Channel]:
        return [
            Channel("soil/sinkage", "m", (4,), "", labels=WHEELS, read=self.sinkage),
            Channel("drive/power", "W", (), "", read=self.power),
            Channel("body/pose", "1", (2, 7), kind="pose", labels=("rover", "mast"), read=self.pose),
            Channel("contact/points", "m", (3,), kind="ragged", read=self.contacts),
        ]


def header(**changes: Any) -> dict[str, Any]:
    settings = {"soil": "dry-sand", "wheel": {"radius": 0.15}}
    return build_header(
        scenario="sample", settings=settings, step=0.002, duration=1.0, seed=7, command="sample", **changes
    )


def triangle() -> Mapping[str, Mapping[str, np.ndarray]]:
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
    return {"rover/hull": {"vertices": vertices, "triangles": np.array([[0, 1, 2]], np.int32)}}


def sample(path: Path, clock: Clock, *, block: int = 64, **changes: Any) -> RecordingWriter:
    """A writer with all kinds of channels, terrain, tiles and geometry."""
    return RecordingWriter(
        path,
        header(tiles=PLACEMENT, **changes),
        clock.channels(),
        worlds=clock.worlds,
        block=block,
        terrain=Slope(),
        tile_shape=(TILE, TILE),
        geometry=triangle(),
    )


def fill(writer: RecordingWriter, clock: Clock, frames: int) -> None:
    for _ in range(frames):
        clock.time = writer.frames * PERIOD
        writer.append(clock.time)
