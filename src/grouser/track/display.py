"""Meshes of tracks for display: links with rails and grousers, wheels on their bodies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from grouser.module import Shape
from grouser.track.ground import FlatGround, MeshGround
from grouser.track.parts import Link, TrackWheel

if TYPE_CHECKING:
    from grouser.track.model import Track

STEEL, DARK = (0.42, 0.41, 0.39, 1.0), (0.26, 0.26, 0.27, 1.0)
PLATE = 0.02  # [m] thickness of a shoe, for display only, as the widths below
GAP = 0.98  # share of the pitch that a link fills
TOOTH_WIDTH = 0.09  # [m]
SIDES = 32
FLOOR, EARTH = 20.0, (0.66, 0.56, 0.42, 1.0)  # [m] half side of the square that shows an infinite plane; its colour

Mesh = tuple[np.ndarray, np.ndarray]


def shapes(track: Track, poses: str) -> list[Shape]:
    """Shapes of one track. `poses` is the channel of its links' poses."""
    return [Shape(f"{track.name}/link", *link_mesh(track.link), poses, STEEL)] + [
        Shape(f"{track.name}/{wheel.name}", *wheel_mesh(wheel), f"body/pose[{wheel.body}]", DARK)
        for wheel in track.wheels
    ]


def floor(ground: object) -> list[Shape]:
    """Shapes of flat ground and mesh ground. Grids are drawn as terrain."""
    if isinstance(ground, FlatGround):
        corners = np.array([(-FLOOR, -FLOOR, 0), (FLOOR, -FLOOR, 0), (FLOOR, FLOOR, 0), (-FLOOR, FLOOR, 0)], float)
        return [Shape("floor", corners + np.array([0, 0, ground.height]), np.array([(0, 1, 2), (0, 2, 3)]), "", EARTH)]
    if isinstance(ground, MeshGround):
        return [Shape("ground", np.asarray(ground.vertices), np.asarray(ground.triangles), "", EARTH)]
    return []


def link_mesh(link: Link) -> Mesh:
    """Mesh of a link in its own frame: pins at z = 0, the shoe below."""
    shoe, half = link.shoe, GAP * link.pitch / 2
    tips = (np.arange(shoe.grousers) + 0.5) / max(shoe.grousers, 1) * link.pitch - link.pitch / 2
    y = [abs(place) for section in link.rail.sections for place, _ in section]
    parts = [box((-half, half), (-shoe.width / 2, shoe.width / 2), (-shoe.depth, PLATE - shoe.depth))]
    parts += [
        box((-half, half), side, (-shoe.depth, link.rail.height)) for side in ((min(y), max(y)), (-max(y), -min(y)))
    ]
    thin = shoe.grouser_thickness / 2
    for tip in tips:
        edge = (-shoe.depth - shoe.grouser_height, -shoe.depth)
        parts.append(box((tip - thin, tip + thin), (-shoe.width / 2, shoe.width / 2), edge))
    return joined(parts)


def wheel_mesh(wheel: TrackWheel) -> Mesh:
    """Mesh of a wheel in its body's frame: a sprocket with teeth, any other wheel as its profile revolved."""
    if wheel.sprocket is not None:
        gap = np.array(wheel.sprocket.gap)  # across, outwards
        turns = 2 * math.pi * np.arange(wheel.sprocket.teeth) / wheel.sprocket.teeth
        outline = np.concatenate(
            [np.column_stack([math.cos(a) * gap[:, 0] + math.sin(a) * gap[:, 1],
                              math.cos(a) * gap[:, 1] - math.sin(a) * gap[:, 0]]) for a in turns]
        )  # fmt: skip
        rings = [(-TOOTH_WIDTH / 2, outline), (TOOTH_WIDTH / 2, outline)]
    else:
        angle = 2 * math.pi * np.arange(SIDES) / SIDES
        circle = np.column_stack([np.cos(angle), np.sin(angle)])
        rings = [(along, radius * circle) for along, radius in wheel.profile]
    vertices, triangles = closed(rings)
    return vertices @ _to_axis(wheel.axis).T + np.array(wheel.place), triangles


def closed(rings: list[tuple[float, np.ndarray]]) -> Mesh:
    """Join outlines (n, 2) in x and z, given at positions along y, to a closed mesh with flat ends."""
    sides, count = len(rings[0][1]), len(rings)
    vertices = [np.column_stack([ring[:, 0], np.full(sides, y), ring[:, 1]]) for y, ring in rings]
    ends = np.array([[0.0, rings[0][0], 0.0], [0.0, rings[-1][0], 0.0]])
    here, ahead = np.arange(sides), (np.arange(sides) + 1) % sides
    first, last = count * sides, count * sides + 1
    triangles = [np.stack([np.full(sides, first), here, ahead], -1)]
    for k in range(count - 1):
        a, b = k * sides, (k + 1) * sides
        triangles += [np.stack([here + a, here + b, ahead + b], -1), np.stack([here + a, ahead + b, ahead + a], -1)]
    end = (count - 1) * sides
    triangles.append(np.stack([np.full(sides, last), ahead + end, here + end], -1))
    return np.vstack([*vertices, ends]), np.concatenate(triangles)


def _to_axis(axis: tuple[float, float, float]) -> np.ndarray:
    """Rotation matrix (3, 3) that maps y to an axis."""
    y = np.array(axis) / np.linalg.norm(axis)
    x = np.cross(y, (0.0, 0.0, 1.0))
    x = np.array([1.0, 0.0, 0.0]) if np.linalg.norm(x) < 1e-9 else x / np.linalg.norm(x)
    return np.column_stack([x, y, np.cross(x, y)])


def box(x: tuple[float, float], y: tuple[float, float], z: tuple[float, float]) -> Mesh:
    corners = np.array([[a, b, c] for a in x for b in y for c in z])
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return corners, np.array([t for a, b, c, d in faces for t in ((a, b, c), (a, c, d))])


def joined(parts: list[Mesh]) -> Mesh:
    starts = np.cumsum([0, *(len(v) for v, _ in parts[:-1])])
    return np.vstack([v for v, _ in parts]), np.vstack([t + s for (_, t), s in zip(parts, starts, strict=True)])
