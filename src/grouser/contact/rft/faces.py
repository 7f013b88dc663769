"""Face elements of a body under resistive force theory: its triangles, checked, and cut to the size of a cell.

The law pushes on the side that a triangle faces. Parts whose triangles face inward are turned. Faces inside another
part of the body meet no soil and are left out.
"""

from __future__ import annotations

import numpy as np

from grouser.contact.rft.wetted import subdivided
from grouser.errors import InputError
from grouser.module import Mesh

SAME_PLACE = 1e-7  # [m] vertices closer than this are one
BESIDE = 1e-5  # [m] distance beside a face at which it is decided what lies there
MOST_PAIRS = 2_000_000  # points times triangles of one piece of work


def face_corners(mesh: Mesh, name: str, longest: float, notes: list[str]) -> np.ndarray:
    """Corners [m] of the face elements of body `name`, (face, corner, 3), with no edge above `longest` [m].

    What was changed, and what the law cannot do with the mesh, is added to `notes`.
    """
    corners, piece = outward(mesh, name, notes)
    parts = [corners[piece == k] for k in range(int(piece.max()) + 1)]
    if len(parts) == 1:
        return subdivided(corners, longest)
    cut = [subdivided(part, longest) for part in parts]
    return np.concatenate([faces[meets_soil(k, faces, parts)] for k, faces in enumerate(cut)])


def outward(mesh: Mesh, name: str, notes: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Corners [m] of the triangles, (triangle, corner, 3), that face outward, and the part that each belongs to."""
    given = np.asarray(mesh.vertices, float)[np.asarray(mesh.triangles)]
    keys = np.round(given.reshape(-1, 3) / SAME_PLACE).astype(np.int64)
    index = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1, 3)
    whole = np.cross(given[:, 1] - given[:, 0], given[:, 2] - given[:, 0]).any(axis=1)
    corners, index = given[whole], index[whole]
    ends = np.stack([index, np.roll(index, -1, axis=1)], axis=2).reshape(-1, 2)
    forward = np.where(ends[:, 0] < ends[:, 1], 1, -1)
    edge = np.unique(np.sort(ends, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    uses, balance = np.bincount(edge), np.bincount(edge, forward)
    if ((uses % 2 == 0) & (balance != 0)).any():
        raise InputError(
            f"body {name!r}: neighbouring triangles of its mesh face opposite sides; with law 'rft' all must be "
            "counter-clockwise seen from outside"
        )
    if (uses % 2).any():
        notes.append(f"body {name!r}: its mesh is open; law 'rft' pushes only on the side that its triangles face")
    piece = pieces(edge.reshape(-1, 3), uses)
    volume = np.bincount(piece, np.einsum("ti,ti->t", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])))
    open_piece = np.bincount(piece, (uses[edge] % 2).reshape(-1, 3).any(axis=1)) > 0
    inward = (volume < 0) & ~open_piece
    if inward.any():
        notes.append(f"body {name!r}: {int(inward.sum())} parts of its mesh face inward and were turned, for law 'rft'")
    corners = np.where(inward[piece][:, None, None], corners[:, ::-1], corners)
    return corners, piece


def pieces(edge: np.ndarray, uses: np.ndarray) -> np.ndarray:
    """Connected part of each triangle, (triangle,), by the edges of each, (triangle, 3), and the uses of each edge.

    Only edges of two triangles connect: where two parts touch along an edge, it has four.
    """
    label, own = np.arange(len(edge)), uses[edge] == 2
    lowest = np.full(len(uses), len(edge))
    while True:
        before = label.copy()
        for k in range(3):
            np.minimum.at(lowest, edge[own[:, k], k], label[own[:, k]])
        for k in range(3):
            label[own[:, k]] = np.minimum(label[own[:, k]], lowest[edge[own[:, k], k]])
        label = label[label]  # follow labels of labels: far fewer passes on long meshes
        if np.array_equal(label, before):
            return np.unique(label, return_inverse=True)[1].reshape(-1)


def meets_soil(k: int, faces: np.ndarray, parts: list[np.ndarray]) -> np.ndarray:
    """Whether each of the `faces` of part k, (face,), lies outside the other `parts`, (triangle, corner, 3) [m] each.

    Where faces of two parts coincide, that of the first part counts.
    """
    normals = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    middle = faces.mean(axis=1)
    free = np.ones(len(faces), bool)
    for j, other in enumerate(parts):
        low, high = other.min(axis=(0, 1)) - BESIDE, other.max(axis=(0, 1)) + BESIDE
        near = np.flatnonzero(free & (middle > low).all(axis=1) & (middle < high).all(axis=1))
        if j == k or not len(near):
            continue
        covered = winding(middle[near] + BESIDE * normals[near], other) > 0.5
        if j < k:
            covered |= winding(middle[near] - BESIDE * normals[near], other) > 0.5
        free[near[covered]] = False
    return free


def winding(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Winding number of closed triangles with `corners` [m] at each point, (point,): 1 inside, 0 outside.

    Sum of their solid angles over 4 pi; van Oosterom and Strackee 1983, eq. 8.
    """
    found = np.empty(len(points))
    size = max(1, MOST_PAIRS // len(corners))
    for start in range(0, len(points), size):
        some = slice(start, start + size)
        a, b, c = (corners[None, :, k] - points[some, None] for k in range(3))
        x, y, z = (np.linalg.norm(v, axis=2) for v in (a, b, c))
        volume = np.einsum("pti,pti->pt", a, np.cross(b, c))
        below = x * y * z + (a * b).sum(axis=2) * z + (b * c).sum(axis=2) * x + (c * a).sum(axis=2) * y
        found[some] = np.arctan2(volume, below).sum(axis=1) / (2 * np.pi)
    return found
