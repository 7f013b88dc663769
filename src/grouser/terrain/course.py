"""A course: fixed convex pieces, and where they adjoin, so that a body sliding across a seam does not feel it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from grouser.errors import InputError
from grouser.terrain.polyhedra import Polyhedron

STEP_OUT = 1e-3  # of a piece's size: how far outside a face a neighbour is looked for
SHRINK = 0.98  # samples of a face keep off its border by the rest
RIDGE = 0.02  # [rad] beyond this a seam is a real, convex edge
BITS = 63  # covered faces of a piece that are told apart


@dataclass(frozen=True, eq=False)
class Seams:
    """Which faces of a piece adjoin others; no contact may push through them."""

    covered: np.ndarray  # (face,) bool: no part of it can be touched
    cover: np.ndarray  # (vertex,) int64: bit k of a corner of the k-th covered face
    ridge: np.ndarray  # (vertex,) int64: bit k where the corner lies on a convex edge of that face
    edges: tuple[np.ndarray, ...]  # for every face (corner,) bool: the edge from that corner on runs along a seam


@dataclass(frozen=True, eq=False)
class Course:
    """Fixed convex pieces in world axes; `len`, indexing and iteration give the pieces."""

    pieces: tuple[Polyhedron, ...]
    name: str = "course"
    seams: tuple[Seams, ...] = field(default=(), repr=False)  # found where not given

    def __post_init__(self):
        if not self.pieces:
            raise InputError(f"course {self.name!r}: it has no pieces; at least one is needed")
        if not self.seams:
            object.__setattr__(self, "seams", find_seams(self.pieces))

    def __len__(self) -> int:
        return len(self.pieces)

    def __getitem__(self, k: int) -> Polyhedron:
        return self.pieces[k]

    def __iter__(self) -> Iterator[Polyhedron]:
        return iter(self.pieces)

    @property
    def vertices(self) -> np.ndarray:
        """[m], (vertex, 3) of all pieces, for display."""
        return np.concatenate([piece.vertices for piece in self.pieces])

    @property
    def triangles(self) -> np.ndarray:
        """(triangle, 3) int32, for display."""
        first = np.cumsum([0] + [len(piece.vertices) for piece in self.pieces])
        return np.concatenate([p.triangles + k for p, k in zip(self.pieces, first, strict=False)]).astype(np.int32)


def find_seams(pieces: Sequence[Polyhedron]) -> tuple[Seams, ...]:
    """Seams of every piece with its neighbours."""
    low = np.array([p.vertices.min(0) for p in pieces])
    high = np.array([p.vertices.max(0) for p in pieces])
    offsets = [p.offsets for p in pieces]
    out = []
    for k, piece in enumerate(pieces):
        reach = 2 * STEP_OUT * piece.size
        near = np.flatnonzero((low <= high[k] + reach).all(1) & (high >= low[k] - reach).all(1))
        others = [(pieces[i].normals, offsets[i]) for i in near.tolist() if i != k]
        out.append(_seams_of(piece, others))
    return tuple(out)


def _inside(points: np.ndarray, others: list[tuple[np.ndarray, np.ndarray]], tolerance: float) -> np.ndarray:
    """(point,) whether points lie in any of the others."""
    found = np.zeros(len(points), bool)
    for normals, offsets in others:
        found |= (points @ normals.T <= offsets + tolerance).all(1)
    return found


def _seams_of(piece: Polyhedron, others: list[tuple[np.ndarray, np.ndarray]]) -> Seams:
    out, tolerance = STEP_OUT * piece.size, 1e-3 * STEP_OUT * piece.size
    corners = [piece.vertices[list(f)] for f in piece.faces]
    covered = np.zeros(len(piece.faces), bool)
    cover, ridge = (np.zeros(len(piece.vertices), np.int64) for _ in range(2))
    edges = tuple(np.zeros(len(f), bool) for f in piece.faces)
    if not others:
        return Seams(covered, cover, ridge, edges)
    for k, ring in enumerate(corners):
        middle = ring.mean(0)
        samples = np.vstack([ring, (ring + np.roll(ring, -1, 0)) / 2, middle[None]])
        samples = middle + SHRINK * (samples - middle) + out * piece.normals[k]
        covered[k] = _inside(samples, others, tolerance).all()
    sides = {(f[i], f[(i + 1) % len(f)]): (k, i) for k, f in enumerate(piece.faces) for i in range(len(f))}
    for bit, k in enumerate(np.flatnonzero(covered)):
        face = piece.faces[k]
        mark = np.int64(1) << np.int64(bit) if bit < BITS else np.int64(0)
        cover[list(face)] |= mark
        for i, a in enumerate(face):
            b = face[(i + 1) % len(face)]
            other, place = sides[b, a]  # the face across this edge has it the other way round
            if covered[other]:
                continue
            if _runs_on(piece, a, b, piece.normals[other], piece.normals[k], others, out):
                edges[other][place] = True
            else:
                ridge[[a, b]] |= mark
    return Seams(covered, cover, ridge, edges)


def _runs_on(piece: Polyhedron, a: int, b: int, normal: np.ndarray, outward: np.ndarray, others, out: float) -> bool:
    """Whether the surface with `normal` goes on flat or rises beyond the edge a-b, seen from the piece."""
    one, two = piece.vertices[a], piece.vertices[b]
    along = two - one
    across = np.cross(along, normal)
    across *= np.sign(across @ outward) / np.linalg.norm(across)
    points = one + np.array([[0.05], [0.5], [0.95]]) * along + out * (across - RIDGE * normal)
    return bool(_inside(points, others, 0.0).all())
