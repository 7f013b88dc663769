"""Convex polyhedra: the pieces of a course and the parts of a machine (Stadukhin 2016).

box((0.4, 0.3, 0.2))                      # centred on the origin
prism(radius=0.1, width=0.05, sides=10)   # a wheel with its axis along y
hull(points)                              # convex hull of any points
piece.placed((1, 0, 0), rotation_vector)  # turned and moved
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grouser.errors import InputError

FLAT = 1e-6  # [size] corners closer to a plane than this count as lying in it
MOST_CORNERS = 128  # largest number of corners of a face
MOST_FACES = 512


@dataclass(frozen=True, eq=False)
class Polyhedron:
    """A convex solid with corners and flat faces, in body axes, or in world axes if it is fixed."""

    vertices: np.ndarray  # [m], (vertex, 3)
    faces: tuple[tuple[int, ...], ...]  # corners of every face, counter-clockwise seen from outside
    normals: np.ndarray = field(repr=False)  # (face, 3) outward unit normals
    name: str = "piece"

    @property
    def offsets(self) -> np.ndarray:
        """Distance [m], (face,) of the faces from the origin along their normals."""
        return np.array(
            [normal @ self.vertices[list(f)].mean(0) for normal, f in zip(self.normals, self.faces, strict=True)]
        )

    @property
    def size(self) -> float:
        """Longest side [m] of the bounding box."""
        return float(np.ptp(self.vertices, axis=0).max())

    @property
    def triangles(self) -> np.ndarray:
        """Triangles (triangle, 3) int32, for display."""
        return np.array([(f[0], f[k], f[k + 1]) for f in self.faces for k in range(1, len(f) - 1)], np.int32)

    @property
    def volume(self) -> float:
        """Volume [m^3]."""
        a, b, c = (self.vertices[self.triangles[:, k]] - self.vertices[0] for k in range(3))
        return float(np.einsum("ij,ij->", np.cross(a, b), c) / 6)

    def placed(self, position: Sequence[float] = (0, 0, 0), rotation: Sequence[float] = (0, 0, 0)) -> Polyhedron:
        """The same solid turned by a rotation vector [rad], then shifted by `position` [m]."""
        from scipy.spatial.transform import Rotation

        turn = Rotation.from_rotvec(np.asarray(rotation, float)).as_matrix()
        moved = self.vertices @ turn.T + np.asarray(position, float)
        return Polyhedron(moved, self.faces, self.normals @ turn.T, self.name)


def hull(points: Any, name: str = "piece") -> Polyhedron:
    """Convex hull of points [m]. Triangles that lie in one plane are merged into one face."""
    from scipy.spatial import ConvexHull, QhullError

    points = np.unique(np.asarray(points, float).reshape(-1, 3), axis=0)
    if not np.isfinite(points).all():
        raise InputError(f"{name}: a corner is not finite; allowed: finite coordinates")
    try:
        found = ConvexHull(points)
    except (QhullError, ValueError):
        raise InputError(f"{name}: its {len(points)} corners span no volume; a solid has at least 4 corners") from None
    used = np.unique(found.simplices)
    points = points[used]
    size = float(np.ptp(points, axis=0).max())
    equations = _planes(found.equations, points, FLAT * size)
    faces, normals, corners = [], [], set()
    for normal, offset in equations:
        loop = _loop(points, normal, offset, FLAT * size)
        if len(loop) < 3:
            continue
        faces.append(loop)
        normals.append(normal)
        corners.update(loop)
    if not faces:
        raise InputError(
            f"{name}: {size:g} m long and so thin that it has no faces; its corners must not lie in one plane"
        )
    most = max(len(f) for f in faces)
    if most > MOST_CORNERS or len(faces) > MOST_FACES:
        raise InputError(
            f"{name}: {len(faces)} faces, one with {most} corners; allowed: at most {MOST_FACES} and {MOST_CORNERS}"
        )
    kept = sorted(corners)
    place = {old: new for new, old in enumerate(kept)}
    return Polyhedron(points[kept], tuple(tuple(place[i] for i in f) for f in faces), np.array(normals), name)


def _planes(equations: np.ndarray, points: np.ndarray, tolerance: float) -> list[tuple[np.ndarray, float]]:
    """Distinct planes of the hull's triangles. Of two planes through the same corners the first is kept."""
    out: list[tuple[np.ndarray, float]] = []
    seen: list[frozenset[int]] = []
    for *normal, offset in equations:
        n = np.array(normal)
        inside = frozenset(np.flatnonzero(np.abs(points @ n + offset) <= tolerance).tolist())
        if any(inside <= other for other in seen):
            continue
        stale = [k for k, other in enumerate(seen) if other < inside]
        for k in reversed(stale):
            del seen[k], out[k]
        seen.append(inside)
        out.append((n, -float(offset)))
    return out


def _loop(points: np.ndarray, normal: np.ndarray, offset: float, tolerance: float) -> tuple[int, ...]:
    """Corners in a plane, counter-clockwise about its normal. Corners on the line between two others are left out."""
    inside = np.flatnonzero(np.abs(points @ normal - offset) <= tolerance)
    flat = points[inside] - points[inside].mean(0)
    first = flat[np.argmax((flat**2).sum(1))]
    e1 = first - (first @ normal) * normal
    e1 /= np.linalg.norm(e1)
    e2 = np.cross(normal, e1)
    order = inside[np.argsort(np.arctan2(flat @ e2, flat @ e1))]
    kept = []
    for k, i in enumerate(order):
        before, after = points[order[k - 1]], points[order[(k + 1) % len(order)]]
        span = np.linalg.norm(after - before)
        if span > 0 and np.linalg.norm(np.cross(points[i] - before, after - before)) / span > tolerance:
            kept.append(int(i))
    return tuple(kept)


def box(size: Sequence[float], centre: Sequence[float] = (0, 0, 0), name: str = "box") -> Polyhedron:
    """A box of sides `size` [m] about `centre`."""
    half = np.asarray(size, float) / 2
    if half.shape != (3,) or not (half > 0).all():
        raise InputError(f"{name}: size {size} is not allowed; allowed: three lengths above 0 m")
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    faces = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    normals = np.repeat(np.eye(3), 2, axis=0) * np.array([-1.0, 1.0] * 3)[:, None]
    return Polyhedron(signs * half + np.asarray(centre, float), faces, normals, name)


def prism(radius: float, width: float, sides: int, name: str = "prism") -> Polyhedron:
    """A regular prism about the y axis with corners at `radius` [m]: a wheel with flat sides, standing on one."""
    if not (radius > 0 and width > 0 and 3 <= sides <= MOST_CORNERS):
        raise InputError(
            f"{name}: radius {radius}, width {width}, sides {sides} are not allowed; lengths above 0 m and 3 to "
            f"{MOST_CORNERS} sides are"
        )
    angle = -math.pi / 2 + 2 * math.pi * (np.arange(sides) + 0.5) / sides
    ring = np.column_stack([radius * np.cos(angle), np.zeros(sides), radius * np.sin(angle)])
    shift = np.array([0, width / 2, 0])
    return hull(np.vstack([ring - shift, ring + shift]), name)
