"""Small recordings to look at: a cart that presses a rut into a plain as it drives along x."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from grouser.module import Channel, Shape
from grouser.recording import RecordingWriter, build_header

SPEED, LENGTH, TILE, SPACING = 0.5, 4.0, 32, 0.02  # [m/s], [m], nodes, [m]
RUT = 0.08  # [m]
TILE_PERIOD = 0.2  # [s]


class Plain:
    heights = np.zeros((5, 11))
    spacing, origin = 0.64, (-1.28, -1.28)


class Hills:
    """Rough ground on a grid much finer than that of coarse patches."""

    spacing, origin = 0.08, (-1.28, -1.28)
    heights = 0.1 * np.sin(2.3 * np.arange(33))[:, None] * np.cos(1.7 * np.arange(81))


class Bumps:
    """An elevation model whose nodes are not those of the patches."""

    spacing, origin = 0.3, (-1.4, -1.4)
    heights = 0.02 * np.sin(2.3 * np.arange(10))[:, None] * np.cos(1.7 * np.arange(24))
    STEEPEST = 2 * 0.02 / spacing


class Cart:
    """A box of 0.6 m with one wheel below it."""

    def __init__(self):
        self.time = 0.0

    def pose(self) -> np.ndarray:
        x = SPEED * self.time
        return np.array([[[x, 0, 0.55, 0, 0, 0, 1], [x, 0, 0.22, 0, 0, 0, 1]]], float)

    def channels(self) -> list[Channel]:
        return [
            Channel("body/pose", "m, 1", (2, 7), kind="pose", labels=("cart", "wheel"), read=self.pose),
            Channel("soil/force", "N", (1, 3), labels=("wheel",), read=lambda: np.array([[[0.0, 0.0, 50.0]]])),
            Channel("soil/contact_area", "m^2", (1,), labels=("wheel",), read=lambda: np.array([[0.01]])),
            Channel("cart/links", "m, 1", (7,), kind="ragged", read=self.links),
        ]

    def links(self) -> np.ndarray:
        """As many stones behind the cart as it has gone half metres."""
        count = int(2 * SPEED * self.time)
        rows = np.zeros((count, 7))
        rows[:, 0], rows[:, 1], rows[:, 6] = 0.5 * np.arange(count), 0.9, 1.0
        return rows


def box(x: float, y: float, z: float) -> tuple[np.ndarray, np.ndarray]:
    corners = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]) * (x, y, z)
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return corners, np.array([t for a, b, c, d in faces for t in ((a, b, c), (a, c, d))])


SHAPES = [
    Shape("cart", *box(0.4, 0.3, 0.15), "body/pose[cart]", (0.05, 0.15, 0.9, 1)),
    Shape("wheel", *box(0.2, 0.08, 0.2), "body/pose[wheel]", (0.1, 0.1, 0.1, 1)),
    Shape("stone", *box(0.05, 0.05, 0.05), "cart/links", (0.1, 0.6, 0.1, 1)),
    Shape("wall", *box(0.05, 0.3, 0.3), "", (0.6, 0.6, 0.6, 1)),
]


def opened(path: Path, cart: Cart, block: int = 8, terrain: Any = None) -> RecordingWriter:
    tiles = {"spacing": SPACING, "origin": [-1.28, -1.28], "nx": 321, "ny": 129, "size": TILE}
    header = build_header(scenario="made", settings={}, step=0.01, duration=LENGTH / SPEED, tiles=tiles)
    return RecordingWriter(path, header, cart.channels(), terrain=terrain or Plain(), shapes=SHAPES, block=block)


def append(writer: RecordingWriter, cart: Cart, time: float) -> None:
    """One frame, and the rut so far where a tile is due."""
    cart.time = time
    writer.append(time)
    if round(time / TILE_PERIOD, 6) % 1 == 0 and time > 0:
        front = SPEED * time
        rows, columns = np.arange(1, 3), np.arange(2, 2 + int((front + 1.28) / (TILE * SPACING)) - 1)
        index = np.array([(r, c) for r in rows for c in columns], np.int32).reshape(-1, 2)
        if len(index):
            writer.append_tiles(time, 0, index, np.stack([_heights(r, c, front) for r, c in index]))


def _heights(row: int, column: int, front: float) -> np.ndarray:
    x = -1.28 + SPACING * (column * TILE + np.arange(TILE))
    y = -1.28 + SPACING * (row * TILE + np.arange(TILE))
    inside = (np.abs(y)[:, None] < 0.15) & (x >= -0.2) & (x <= front)
    return np.where(inside, -RUT, 0.0).astype(np.float32)


def recording(path: Path, duration: float = LENGTH / SPEED, rate: float = 20.0, terrain: Any = None) -> Path:
    cart = Cart()
    with opened(path, cart, terrain=terrain) as writer:
        for k in range(round(duration * rate) + 1):
            append(writer, cart, k / rate)
    return path


class Nothing:
    """Stands for a viser scene and all its nodes; counts what is sent."""

    def __init__(self):
        self.sent = []

    def __getattr__(self, name):
        def call(*arguments, **more):
            self.sent.append((name, arguments[:1]))
            return Nothing()

        return call
