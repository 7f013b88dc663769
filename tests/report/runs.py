"""A made-up rover run that fills every part of a report: ruts, slip, forces, metrics that pass and miss."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from grouser.module import Channel
from grouser.recording import Recording, RecordingWriter, build_header

WHEELS = ("front left", "front right", "rear left", "rear right")
SPEED, TRACK, BASE = 0.1, 0.6, 0.8  # m/s, m, m
ENERGY = {"stored": 0.0, "sinkage": 0.25, "shear": 0.74, "unaccounted": 0.01}  # shares of the work
TILE, SPACING = 32, 0.02  # -, m
METRICS: list[dict[str, Any]] = [
    {
        "name": "sinkage_m",
        "unit": "m",
        "definition": "mean sinkage of the four wheels over the last metre",
        "expected": 0.02,
        "tolerance": {"rel": 0.1},
        "source": "Ding 2011, table 4",
    },
    {
        "name": "drawbar_pull_N",
        "unit": "N",
        "definition": "mean pull of the rover over the last metre",
        "expected": 40.0,
        "tolerance": {"abs": 2.0},
        "source": "closed form",
    },
    {"name": "slip", "unit": "1", "definition": "1 - v / (ω r)", "expected": None, "tolerance": {"max": 0.4}},
    {
        "name": "real_time_factor",
        "unit": "1",
        "definition": "simulated over wall-clock time",
        "expected": None,
    },
]
FIGURES: list[dict[str, Any]] = [
    {
        "name": "sinkage",
        "title": "Sinkage of the wheels",
        "kind": "lines",
        "x": "time",
        "y": ["soil/sinkage"],
        "xlabel": "time [s]",
        "ylabel": "sinkage [m]",
        "window": None,
        "caption": "Each wheel settles within two seconds; the rear ones run in the ruts of the front ones.",
        "overlay": [{"label": "Bekker, front", "x": [0, 20], "y": [0.022, 0.022], "style": "line"}],
    },
    {
        "name": "pull-over-slip",
        "title": "Drawbar pull over slip",
        "kind": "xy",
        "x": "soil/slip[front left]",
        "y": ["soil/pull"],
        "xlabel": "slip [–]",
        "ylabel": "drawbar pull [N]",
        "overlay": [
            {"label": "measured", "x": [0.05, 0.1, 0.2, 0.3], "y": [11, 19, 30, 37], "style": "points"},
            {"label": "Wong–Reece", "x": [0, 0.1, 0.2, 0.3, 0.4], "y": [0, 20, 31, 38, 42], "style": "line"},
        ],
    },
    {
        "name": "load",
        "title": "Load on the wheels",
        "kind": "bars",
        "y": ["soil/load"],
        "ylabel": "load [N]",
        "window": [5, 20],
        "caption": "Mean and standard deviation from 5 s on.",
    },
    {
        "name": "ruts",
        "title": "Ruts",
        "kind": "map",
        "field": "sinkage",
        "time": "end",
        "paths": ["body/pose[rover]"],
        "caption": "Sinkage of the ground at the end.",
    },
    {"name": "ground", "title": "Ground", "kind": "map", "field": "height", "paths": ["body/pose"]},
]


class Hills:
    spacing, origin = 0.1, (-1.0, -2.0)

    @property
    def heights(self) -> np.ndarray:
        x, y = np.meshgrid(-1.0 + 0.1 * np.arange(51), -2.0 + 0.1 * np.arange(41))
        return hills(x, y)


def hills(x: Any, y: Any) -> Any:
    return 0.05 * np.sin(1.3 * x) * np.cos(1.1 * y) + 0.02 * np.sin(2.9 * x + 1)


class Rover:
    """Drives a gentle curve; everything is a function of time."""

    def __init__(self) -> None:
        self.time, self.noise = 0.0, np.random.default_rng(5)

    def place(self) -> tuple[float, float]:
        return SPEED * self.time, 0.25 * np.sin(0.3 * self.time)

    def slip(self) -> np.ndarray:
        return 0.02 * self.time + np.array([[0.0, 0.003, 0.012, 0.008]])

    def sinkage(self) -> np.ndarray:
        settled = 1 - np.exp(-2 * self.time)
        return settled * np.array([[0.021, 0.0205, 0.026, 0.0255]]) + self.noise.normal(0, 2e-4, (1, 4))

    def pull(self) -> np.ndarray:
        return 45 * (1 - np.exp(-6 * self.slip()[:, 0])) + self.noise.normal(0, 0.4, 1)

    def load(self) -> np.ndarray:
        return np.array([[61.0, 60.2, 58.4, 58.9]]) + self.noise.normal(0, 1.5, (1, 4))

    def work(self) -> np.ndarray:
        """Work of each wheel on the soil [J]; the last one hangs in the air."""
        return self.time * np.array([[2.0, 1.0, 1.0, 0.0]])

    def pose(self) -> np.ndarray:
        x, y = self.place()
        wheels = [(x + sx * BASE / 2, y + sy * TRACK / 2) for sx in (1, -1) for sy in (1, -1)]
        return np.array([[[*where, 0.1, 0, 0, 0, 1] for where in ((x, y), *wheels)]])

    def channels(self) -> list[Channel]:
        return [
            Channel("soil/sinkage", "m", (4,), "", labels=WHEELS, read=self.sinkage),
            Channel("soil/slip", "1", (4,), "", labels=WHEELS, read=self.slip),
            Channel("soil/pull", "N", (), "", read=self.pull),
            Channel("soil/load", "N", (4,), "", labels=WHEELS, read=self.load),
            Channel("soil/work", "J", (4,), "", labels=WHEELS, read=self.work),
            *(
                Channel(f"soil/energy_{kind}", "J", (4,), "", labels=WHEELS, read=lambda part=part: part * self.work())
                for kind, part in ENERGY.items()
            ),
            Channel("body/pose", "1", (5, 7), kind="pose", labels=("rover", *WHEELS), read=self.pose),
        ]


class Ground:
    """The fine grid with ruts: what a wheel presses down lies as a mound beside it."""

    nx, ny = 250, 200

    def __init__(self) -> None:
        self.x = Hills.origin[0] + SPACING * np.arange(self.nx)
        self.y = Hills.origin[1] + SPACING * np.arange(self.ny)
        self.heights = hills(self.x[None, :], self.y[:, None])
        self.first = self.heights.copy()

    def press(self, x: float, y: float, depth: float) -> list[tuple[int, int]]:
        along, beside = self.x[None, :] - x, np.abs(self.y[:, None] - y)
        under = (np.abs(along) < 0.05) & (beside < 0.07)
        mound = (np.abs(along) < 0.05) & (beside >= 0.07) & (beside < 0.13)
        self.heights[under] = np.minimum(self.heights[under], self.first[under] - depth)
        self.heights[mound] = np.maximum(self.heights[mound], self.first[mound] + 0.35 * depth)
        rows, columns = np.nonzero(under | mound)
        return list({(r // TILE, c // TILE) for r, c in zip(rows.tolist(), columns.tolist(), strict=True)})

    def tile(self, row: int, column: int) -> np.ndarray:
        found = np.zeros((TILE, TILE))
        part = self.heights[row * TILE : (row + 1) * TILE, column * TILE : (column + 1) * TILE]
        found[: part.shape[0], : part.shape[1]] = part
        return found


def header(**changes: Any) -> dict[str, Any]:
    tiles = {"spacing": SPACING, "origin": list(Hills.origin), "nx": Ground.nx, "ny": Ground.ny, "size": TILE}
    given: dict[str, Any] = {
        "scenario": "rover-drive",
        "settings": {"soil": "dry-sand", "wheel": {"radius": 0.15, "width": 0.1}, "erosion": True},
        "step": 0.002,
        "duration": 20.0,
        "seed": 7,
        "metrics": METRICS,
        "figures": FIGURES,
        "command": "grouser run rover-drive",
        "tiles": tiles,
    }
    return build_header(**{**given, **changes})


def start(path: Path, duration: float = 20.0, period: float = 0.1, **changes: Any) -> RecordingWriter:
    """Drive for `duration` seconds; the recording is left open."""
    rover, ground = Rover(), Ground()
    writer = RecordingWriter(path, header(**changes), rover.channels(), terrain=Hills())
    for frame in range(round(duration / period)):
        rover.time = frame * period
        writer.append(rover.time)
        changed = set()
        for x, y in rover.pose()[0, 1:, :2]:
            changed.update(ground.press(x, y, 0.022))
        places = sorted(changed)
        writer.append_tiles(rover.time, 0, np.array(places), np.array([ground.tile(*place) for place in places]))
    return writer


def finished(path: Path, metrics: Mapping[str, Any] | None = None, **changes: Any) -> Recording:
    """A complete run with the given values of its metrics."""
    values = {"sinkage_m": 0.0212, "drawbar_pull_N": 43.1, "slip": 0.38, "real_time_factor": 0.4}
    start(path, **changes).close(
        "complete", metrics=values if metrics is None else metrics, wall_s=5.0, steps=10_000,
        notes=["contact of 4 wheels with the ground is taken over by the soil"],
    )  # fmt: skip
    return Recording(path)
