"""Checks of a triangle mesh: is it closed, consistently wound, free of self-intersections?"""

from __future__ import annotations

import numpy as np
import warp as wp

from grouser.contact.polygonal.crossing import find_crossings

TOUCH = 1e-9  # share of the mesh's size; triangles that overlap by less only touch and do not intersect


def double_area(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    a, b, c = vertices[triangles].transpose(1, 0, 2)
    return np.linalg.norm(np.cross(b - a, c - a), axis=1)


def weld(vertices: np.ndarray, triangles: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Merge vertices at the same place, and drop vertices that no triangle uses."""
    used, corner = np.unique(triangles, return_inverse=True)
    points = vertices[used]
    keys = np.round((points - points.min(axis=0)) / max(tolerance, 1e-300)).astype(np.int64)
    _, first, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return points[first], number.reshape(-1)[corner.reshape(triangles.shape)].astype(np.int32)


def edge_table(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Undirected edge of each side of a face, (face, 3); its direction, (face, 3) bool; number of faces per edge."""
    ends = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2)
    ordered = np.sort(ends, axis=2).reshape(-1, 2)
    _, number, count = np.unique(ordered, axis=0, return_inverse=True, return_counts=True)
    return number.reshape(triangles.shape), ends[..., 0] < ends[..., 1], count


def neighbours(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two faces of every edge that has exactly two."""
    ends = np.sort(
        np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2).reshape(-1, 2).astype(np.int64), axis=1
    )
    key = ends[:, 0] * (1 + int(triangles.max())) + ends[:, 1]  # one number per edge: much faster to sort than rows
    order = np.argsort(key, kind="stable")
    twin = np.flatnonzero(np.diff(key[order]) == 0)
    return order[twin] // 3, order[twin + 1] // 3


def count_pieces(triangles: np.ndarray) -> int:
    """Number of connected pieces; faces with a common edge belong together."""
    return int(_pieces(len(triangles), *neighbours(triangles)).max()) + 1


def is_closed(triangles: np.ndarray) -> bool:
    """Whether every edge has exactly two faces."""
    return bool((edge_table(triangles)[2] == 2).all())


def oriented(triangles: np.ndarray) -> tuple[np.ndarray, int, np.ndarray, str]:
    """Make the winding of all triangles consistent.

    Returns the triangles, the number of triangles that were reversed, the piece of each triangle, and the reason why it
    is impossible ("" if it is possible). Of the two possible windings of a piece, the one that reverses fewer triangles
    is taken.
    """
    number, forward, count = edge_table(triangles)
    faces = len(triangles)
    if count.max() > 2:
        return triangles, 0, np.zeros(faces, int), f"an edge has {count.max()} faces"
    shared = np.argsort(number.reshape(-1), kind="stable")
    sorted_number = number.reshape(-1)[shared]
    twin = np.flatnonzero(sorted_number[1:] == sorted_number[:-1])
    one, two = shared[twin], shared[twin + 1]  # two directed edges, face * 3 + k, of the same undirected edge
    against = forward.reshape(-1)[one] == forward.reshape(-1)[two]
    a, b = one // 3, two // 3
    piece, turn = np.arange(faces), np.zeros(faces, bool)
    if against.any():
        piece, turn, fault = _faces_to_reverse(faces, a, b, against)
        if fault:
            return triangles, 0, piece, "it is not orientable"
    else:
        piece = _pieces(faces, a, b)
    turned = triangles.copy()
    turned[turn] = turned[turn][:, ::-1]
    return turned, int(turn.sum()), piece, ""


def _pieces(faces: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Index of the connected piece of each face, (face,)."""
    label = np.arange(faces)
    while True:
        low = np.minimum(label[a], label[b])
        new = label.copy()
        np.minimum.at(new, a, low)
        np.minimum.at(new, b, low)
        new = new[new]
        if (new == label).all():
            return np.unique(label, return_inverse=True)[1]
        label = new


def _faces_to_reverse(faces: int, a: np.ndarray, b: np.ndarray, against: np.ndarray):
    """Pieces, the faces to reverse so that the winding of neighbours agrees, and whether that is impossible."""
    piece = _pieces(faces, a, b)
    neighbours: list[list[tuple[int, bool]]] = [[] for _ in range(faces)]
    for i, j, flip in zip(a.tolist(), b.tolist(), against.tolist(), strict=True):
        neighbours[i].append((j, flip))
        neighbours[j].append((i, flip))
    turn = np.full(faces, -1)
    for start in range(faces):
        if turn[start] >= 0:
            continue
        turn[start] = 0
        waiting, members = [start], [start]
        while waiting:
            i = waiting.pop()
            for j, flip in neighbours[i]:
                wanted = int(turn[i]) ^ int(flip)
                if turn[j] < 0:
                    turn[j] = wanted
                    waiting.append(j)
                    members.append(j)
                elif turn[j] != wanted:
                    return piece, turn > 0, True
        if 2 * int(turn[members].sum()) > len(members):
            turn[members] = 1 - turn[members]
    return piece, turn > 0, False


def signed_volume(vertices: np.ndarray, triangles: np.ndarray, piece: np.ndarray) -> np.ndarray:
    """Enclosed volume [m^3] of each piece, (piece,); negative if its faces point inward."""
    a, b, c = (vertices - vertices.mean(axis=0))[triangles].transpose(1, 0, 2)
    return np.bincount(piece, np.einsum("fi,fi->f", a, np.cross(b, c)) / 6)


def self_intersections(vertices: np.ndarray, triangles: np.ndarray, most: int = 1000) -> np.ndarray:
    """Pairs of triangles without a common vertex that intersect, (n, 2). At most `most` pairs are returned."""
    corners = vertices[triangles]
    middle = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    size = float(np.ptp(vertices, axis=0).max())
    low, high = corners.min(axis=1) - middle, corners.max(axis=1) - middle
    pad = 1e-6 * size
    lower, upper = (
        wp.array((bound + side * pad).astype(np.float32), dtype=wp.vec3, device="cpu")
        for bound, side in ((low, -1), (high, 1))
    )
    tree = wp.Bvh(lower, upper)
    found = wp.zeros(1, dtype=wp.int32, device="cpu")
    pairs = wp.zeros(most, dtype=wp.vec2i, device="cpu")
    wp.launch(
        find_crossings, dim=len(triangles), device="cpu",
        inputs=[
            tree.id, lower, upper,
            wp.array(np.ascontiguousarray(corners - middle), dtype=wp.vec3d, ndim=2, device="cpu"),
            wp.array(triangles, dtype=wp.vec3i, device="cpu"), TOUCH * size, found, pairs,
        ],
    )  # fmt: skip
    return pairs.numpy()[: min(int(found.numpy()[0]), most)]
