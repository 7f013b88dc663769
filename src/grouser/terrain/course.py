"""A course: fixed convex pieces and the seams between them. A body must slide across a seam without a bump."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from grouser.errors import InputError
from grouser.terrain.course_cache import cache_folder, content_name, read_arrays, write_arrays
from grouser.terrain.polyhedra import Polyhedron

STEP_OUT = 1e-3  # [piece size] distance outside a face at which a neighbour is searched
SHRINK = 0.98  # sample points of a face are scaled by this towards its middle, to stay off its border
RIDGE = 0.02  # [rad] a seam that bends down by more than this is a real convex edge
KEPT = 500  # least number of pieces for which seams are cached on disk: finding them takes about 1 ms per piece
BITS = 63  # largest number of covered faces of a piece that have a bit of their own


@dataclass(frozen=True, eq=False)
class Seams:
    """Faces of a piece that are covered by other pieces. Contact must not push through them."""

    covered: np.ndarray  # (face,) bool: the whole face is covered, so it cannot be touched
    cover: np.ndarray  # (vertex,) int64: bit k is set at the corners of the k-th covered face
    ridge: np.ndarray  # (vertex,) int64: bit k is set where the corner lies on a convex edge of that face
    edges: tuple[np.ndarray, ...]  # for every face (corner,) bool: the edge from this corner to the next is a seam


@dataclass(frozen=True, eq=False)
class Course:
    """Fixed convex pieces in world axes; `len`, indexing and iteration give the pieces."""

    pieces: tuple[Polyhedron, ...]
    name: str = "course"
    seams: tuple[Seams, ...] = field(default=(), repr=False)  # computed if not given

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
        """Vertices [m], (vertex, 3) of all pieces, for display."""
        return np.concatenate([piece.vertices for piece in self.pieces])

    @property
    def triangles(self) -> np.ndarray:
        """Triangles (triangle, 3) int32 of all pieces, for display."""
        first = np.cumsum([0] + [len(piece.vertices) for piece in self.pieces])
        return np.concatenate([p.triangles + k for p, k in zip(self.pieces, first, strict=False)]).astype(np.int32)


@dataclass(frozen=True)
class Walls:
    """Pieces as intersections of half spaces, padded to the same number of faces."""

    normals: np.ndarray  # (piece, face, 3)
    offsets: np.ndarray  # [m], (piece, face); infinite for padding

    def contain(self, points: np.ndarray, tolerance: float = 0.0) -> np.ndarray:
        """Whether each point lies in any of the pieces, (point,) bool."""
        if not len(self.normals):
            return np.zeros(len(points), bool)
        depth = np.einsum("pi,mfi->pmf", points, self.normals)
        return (depth <= self.offsets + tolerance).all(2).any(1)

    def selected(self, chosen: np.ndarray) -> Walls:
        return Walls(self.normals[chosen], self.offsets[chosen])


def _kept_seams(pieces: Sequence[Polyhedron]) -> tuple[Seams, ...]:
    """Seams of the pieces. For many pieces they are cached on disk."""
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
    """Find the seams of every piece with its neighbours."""
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
        out.append(_seams_of(piece, walls.selected(near[near != k])))
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
            other, place = sides[b, a]  # the neighbouring face has this edge in the opposite direction
            if not covered[other]:
                asked.append((a, b, k, other, place, mark))
    if asked:
        probes = np.concatenate([_beyond(piece, a, b, k, other, out) for a, b, k, other, _, _ in asked])
        runs_on = [bool(contained.all()) for contained in others.contain(probes).reshape(-1, 3)]
        for (a, b, _, other, place, mark), flat in zip(asked, runs_on, strict=True):
            if flat:
                edges[other][place] = True
            else:
                ridge[[a, b]] |= mark
    return Seams(covered, cover, ridge, edges)


def valley_normals(pieces: Sequence[Polyhedron], seams: Sequence[Seams]) -> list[np.ndarray]:
    """For every face of every piece, (corner, 3): normal of the face beyond the seam that starts at the corner.

    Zero where there is no seam, or none that two faces share from end to end.
    """
    fine = 1e-7 * max(piece.size for piece in pieces)
    sides: dict[frozenset[tuple[int, ...]], list[tuple[int, int]]] = {}
    found, index = [], 0
    for piece, seam in zip(pieces, seams, strict=True):
        for face, normal, joins in zip(piece.faces, piece.normals, seam.edges, strict=True):
            found.append((np.zeros((len(face), 3)), normal))
            ends = np.rint(piece.vertices[list(face)] / fine).astype(np.int64)
            for i in np.flatnonzero(joins).tolist():
                key = frozenset((tuple(ends[i]), tuple(ends[(i + 1) % len(face)])))
                sides.setdefault(key, []).append((index, i))
            index += 1
    for shared in sides.values():
        if len(shared) == 2:
            (one, i), (two, j) = shared
            found[one][0][i], found[two][0][j] = found[two][1], found[one][1]
    return [beyond for beyond, _ in found]


def _covered(piece: Polyhedron, others: Walls, out: float) -> np.ndarray:
    """Whether each face is covered, (face,) bool: all sample points just outside it lie in other pieces."""
    samples = []
    for face, normal in zip(piece.faces, piece.normals, strict=True):
        ring = piece.vertices[list(face)]
        middle = ring.mean(0)
        spots = np.vstack([ring, (ring + np.roll(ring, -1, 0)) / 2, middle[None]])
        samples.append(middle + SHRINK * (spots - middle) + out * normal)
    contained = others.contain(np.concatenate(samples), 1e-3 * out)
    ends = np.cumsum([len(spots) for spots in samples])
    return np.array([part.all() for part in np.split(contained, ends[:-1])])


def _beyond(piece: Polyhedron, a: int, b: int, face: int, other: int, out: float) -> np.ndarray:
    """Three points beyond the edge a-b of a covered face, slightly below the plane of the face `other`.

    If they lie in a neighbour, the surface continues flat or rising. Otherwise the edge is a ridge.
    """
    one, two, normal = piece.vertices[a], piece.vertices[b], piece.normals[other]
    along = two - one
    across = np.cross(along, normal)
    across *= np.sign(across @ piece.normals[face]) / np.linalg.norm(across)
    return one + np.array([[0.05], [0.5], [0.95]]) * along + out * (across - RIDGE * normal)
