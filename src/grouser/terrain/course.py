"""A course: fixed convex pieces, and where they adjoin, so that a body sliding across a seam does not feel it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from grouser.errors import InputError
from grouser.terrain.course_cache import cache_folder, content_name, read_arrays, write_arrays
from grouser.terrain.polyhedra import Polyhedron

STEP_OUT = 1e-3  # of a piece's size: how far outside a face a neighbour is looked for
SHRINK = 0.98  # samples of a face keep off its border by the rest
RIDGE = 0.02  # [rad] beyond this a seam is a real, convex edge
KEPT = 500  # pieces from which on seams are kept on disk: finding them takes about a millisecond a piece
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
            object.__setattr__(self, "seams", _kept_seams(self.pieces))

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


@dataclass(frozen=True)
class Walls:
    """Half spaces of pieces, filled up to the same number of faces."""

    normals: np.ndarray  # (piece, face, 3)
    offsets: np.ndarray  # [m], (piece, face); infinite where there is no face

    def hold(self, points: np.ndarray, tolerance: float = 0.0) -> np.ndarray:
        """(point,) whether points lie in any of the pieces."""
        if not len(self.normals):
            return np.zeros(len(points), bool)
        depth = np.einsum("pi,mfi->pmf", points, self.normals)
        return (depth <= self.offsets + tolerance).all(2).any(1)

    def some(self, chosen: np.ndarray) -> Walls:
        return Walls(self.normals[chosen], self.offsets[chosen])


def _kept_seams(pieces: Sequence[Polyhedron]) -> tuple[Seams, ...]:
    """Seams found now, or read from disk where these pieces, many of them, were seen before."""
    if len(pieces) < KEPT:
        return find_seams(pieces)
    corners = [np.array([i for f in p.faces for i in f]) for p in pieces]
    file = cache_folder() / content_name("seams", [*(p.vertices for p in pieces), *corners])
    kept = read_arrays(file)
    if kept is None:
        seams = find_seams(pieces)
        fields = {n: np.concatenate([getattr(s, n) for s in seams]) for n in ("covered", "cover", "ridge")}
        write_arrays(file, edges=np.concatenate([e for s in seams for e in s.edges]), **fields)
        return seams
    faces, vertices = (np.cumsum([len(getattr(p, n)) for p in pieces])[:-1] for n in ("faces", "vertices"))
    sizes = np.cumsum([len(f) for p in pieces for f in p.faces])[:-1]
    edges = iter(np.split(kept["edges"], sizes))
    covered = np.split(kept["covered"], faces)
    cover, ridge = (np.split(kept[n], vertices) for n in ("cover", "ridge"))
    return tuple(
        Seams(covered[k], cover[k], ridge[k], tuple(next(edges) for _ in p.faces)) for k, p in enumerate(pieces)
    )


def find_seams(pieces: Sequence[Polyhedron]) -> tuple[Seams, ...]:
    """Seams of every piece with its neighbours."""
    low = np.array([p.vertices.min(0) for p in pieces])
    high = np.array([p.vertices.max(0) for p in pieces])
    most = max(len(p.faces) for p in pieces)
    walls = Walls(np.zeros((len(pieces), most, 3)), np.full((len(pieces), most), np.inf))
    for k, piece in enumerate(pieces):
        walls.normals[k, : len(piece.faces)], walls.offsets[k, : len(piece.faces)] = piece.normals, piece.offsets
    out = []
    for k, piece in enumerate(pieces):
        reach = 2 * STEP_OUT * piece.size
        near = np.flatnonzero(((low <= high[k] + reach) & (high >= low[k] - reach)).all(1))
        out.append(_seams_of(piece, walls.some(near[near != k])))
    return tuple(out)


def _seams_of(piece: Polyhedron, others: Walls) -> Seams:
    out = STEP_OUT * piece.size
    covered = _covered(piece, others, out)
    cover, ridge = (np.zeros(len(piece.vertices), np.int64) for _ in range(2))
    edges = tuple(np.zeros(len(f), bool) for f in piece.faces)
    sides = {(f[i], f[(i + 1) % len(f)]): (k, i) for k, f in enumerate(piece.faces) for i in range(len(f))}
    asked = []
    for bit, k in enumerate(np.flatnonzero(covered).tolist()):
        face = piece.faces[k]
        mark = np.int64(1) << np.int64(bit) if bit < BITS else np.int64(0)
        cover[list(face)] |= mark
        for i, a in enumerate(face):
            b = face[(i + 1) % len(face)]
            other, place = sides[b, a]  # the face across this edge has it the other way round
            if not covered[other]:
                asked.append((a, b, k, other, place, mark))
    if asked:
        probes = np.concatenate([_beyond(piece, a, b, k, other, out) for a, b, k, other, _, _ in asked])
        runs_on = [bool(held.all()) for held in others.hold(probes).reshape(-1, 3)]
        for (a, b, _, other, place, mark), flat in zip(asked, runs_on, strict=True):
            if flat:
                edges[other][place] = True
            else:
                ridge[[a, b]] |= mark
    return Seams(covered, cover, ridge, edges)


def _covered(piece: Polyhedron, others: Walls, out: float) -> np.ndarray:
    """(face,) whether samples just outside a face, all over it, lie in other pieces."""
    samples = []
    for face, normal in zip(piece.faces, piece.normals, strict=True):
        ring = piece.vertices[list(face)]
        middle = ring.mean(0)
        spots = np.vstack([ring, (ring + np.roll(ring, -1, 0)) / 2, middle[None]])
        samples.append(middle + SHRINK * (spots - middle) + out * normal)
    held = others.hold(np.concatenate(samples), 1e-3 * out)
    ends = np.cumsum([len(spots) for spots in samples])
    return np.array([part.all() for part in np.split(held, ends[:-1])])


def _beyond(piece: Polyhedron, a: int, b: int, face: int, other: int, out: float) -> np.ndarray:
    """Three places beyond the edge a-b of a covered face, on the surface `other` or a little below it.

    Where they lie in a neighbour the surface goes on, flat or rising; else the edge is a ridge.
    """
    one, two, normal = piece.vertices[a], piece.vertices[b], piece.normals[other]
    along = two - one
    across = np.cross(along, normal)
    across *= np.sign(across @ piece.normals[face]) / np.linalg.norm(across)
    return one + np.array([[0.05], [0.5], [0.95]]) * along + out * (across - RIDGE * normal)
