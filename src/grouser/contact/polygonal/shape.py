"""Surfaces for contact: triangle meshes with elastic layers, checked, repaired where that is safe, and sorted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grouser.contact.layers import Layer
from grouser.contact.polygonal.mesh_checks import (
    count_pieces,
    double_area,
    is_closed,
    neighbours,
    oriented,
    self_intersections,
    signed_volume,
    weld,
)
from grouser.contact.refinement import check_piece_count, piece_count
from grouser.errors import InputError
from grouser.terrain.elevation import BARE, ElevationGrid

LEAF = 4  # largest number of faces in a leaf of the tree
MORTON_BITS = 20  # per axis
MORTON_CELLS = (1 << MORTON_BITS) - 1
SLIVER = 1e-12  # twice the area over the longest edge squared below which a triangle is degenerate


@dataclass(frozen=True, eq=False)
class Shape:
    """A surface ready for contact, in body axes or, if it is fixed, in world axes."""

    vertices: np.ndarray  # [m], (vertex, 3)
    triangles: np.ndarray  # (face, 3) int32, counter-clockwise from outside, sorted by position
    layers: tuple[Layer, ...]
    face_layer: np.ndarray  # (face,) int32, index into `layers`
    closed: bool
    name: str = "shape"
    notes: tuple[str, ...] = ()  # what was repaired

    @property
    def corners(self) -> np.ndarray:
        """Corners of all faces [m], (face, 3, 3)."""
        return self.vertices[self.triangles]

    @cached_property
    def normals(self) -> np.ndarray:
        """Outward unit normals, (face, 3)."""
        a, b, c = self.corners.transpose(1, 0, 2)
        normal = np.cross(b - a, c - a)
        return normal / np.linalg.norm(normal, axis=1)[:, None]

    @property
    def radius(self) -> float:
        """Largest distance [m] of a vertex from the frame origin."""
        return float(np.linalg.norm(self.vertices, axis=1).max())

    @cached_property
    def edge(self) -> float:
        """Mean length [m] of the edges."""
        corners = self.corners
        return float(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).mean())

    @cached_property
    def longest(self) -> float:
        """Length [m] of the longest edge."""
        corners = self.corners
        return float(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max())

    @cached_property
    def sharpest(self) -> float:
        """Largest angle [rad] between the normals of two neighbouring faces."""
        one, two = neighbours(self.triangles)
        cosine = np.einsum("ij,ij->i", self.normals[one], self.normals[two])
        return float(np.arccos(np.clip(cosine, -1, 1)).max(initial=0.0))

    @cached_property
    def pieces(self) -> int:
        """Number of connected pieces."""
        return count_pieces(self.triangles)

    @property
    def broadest(self) -> float:
        """Area [m^2] of the largest side of the bounding box."""
        sides = np.sort(np.ptp(self.vertices, axis=0))
        return float(sides[1] * sides[2])


def shape(
    vertices,
    triangles,
    layer: Layer | Sequence[Layer],
    *,
    face_layer=None,
    longest_edge: float | None = None,
    check_intersections: bool = True,
    name: str = "shape",
) -> Shape:
    """Make a `Shape`: check a mesh, repair it where that is safe, divide edges above `longest_edge` [m], and sort it.

    `face_layer` is the index of each triangle's layer. These faults are repaired, with a note: repeated vertices,
    triangles without area, mixed winding, a closed mesh turned inside out. These raise an InputError: no triangles,
    coordinates that are not finite, edges with more than two faces, one-sided surfaces, self-intersections. Open meshes
    are allowed: their faces act on the side their normals point to.
    """
    layers = (layer,) if isinstance(layer, Layer) else tuple(layer)
    if not layers or not all(isinstance(entry, Layer) for entry in layers):
        raise InputError(f"mesh {name!r}: layer must be a Layer or a sequence of them, not {layer!r}")
    vertices, triangles = _arrays(vertices, triangles, name)
    index = _face_layer(face_layer, len(triangles), len(layers), name)
    notes: list[str] = []
    vertices, triangles, index = _clean(vertices, triangles, index, name, notes)
    closed = is_closed(triangles)
    triangles = _consistently_wound(vertices, triangles, closed, name, notes)
    if check_intersections:
        crossing = self_intersections(vertices, triangles)
        if len(crossing):
            a, b = crossing[0]
            raise InputError(
                f"mesh {name!r}: it crosses itself ({len(crossing)} pairs of triangles, the first {a} and {b}); "
                "allowed is a surface that does not cross itself"
            )
    if longest_edge is not None:
        if not longest_edge > 0:
            raise InputError(f"mesh {name!r}: longest_edge {longest_edge} m is not allowed; it must be above 0")
        check_piece_count(piece_count(vertices, triangles, longest_edge), f"mesh {name!r}", longest_edge)
        vertices, triangles, index = divide(vertices, triangles, index, longest_edge)
    order = order_in_space(vertices[triangles].mean(axis=1))
    return Shape(
        vertices, np.ascontiguousarray(triangles[order], np.int32), layers,
        np.ascontiguousarray(index[order], np.int32), closed, name, tuple(notes),
    )  # fmt: skip


def hard_ground(grid: ElevationGrid, layer: Layer, *, bare_only: bool = False, name: str = "ground") -> Shape:
    """Make a fixed surface of an elevation grid, two triangles per cell.

    `bare_only`: use only cells whose four nodes carry no soil. In a twisted cell the two triangles deviate from the
    bilinear surface by up to a quarter of the twist.
    """
    rows, columns = grid.heights.shape
    x, y = np.meshgrid(grid.x, grid.y)
    vertices = np.stack([x, y, grid.heights], axis=-1).reshape(-1, 3)
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    if bare_only:
        bare = np.zeros((rows, columns), bool) if grid.soil_index is None else grid.soil_index == BARE
        whole = bare[:-1, :-1] & bare[1:, :-1] & bare[:-1, 1:] & bare[1:, 1:]
        corner = corner[whole.ravel()]
    if not len(corner):
        raise InputError(f"ground {name!r}: no cell of the grid is bare; there is no hard ground to touch")
    first = np.stack([corner, corner + 1, corner + columns + 1], axis=1)
    second = np.stack([corner, corner + columns + 1, corner + columns], axis=1)
    triangles = np.concatenate([first, second]).astype(np.int32)
    order = order_in_space(vertices[triangles].mean(axis=1))
    return Shape(vertices, triangles[order], (layer,), np.zeros(len(triangles), np.int32), False, name)


def merged(shapes: Sequence[Shape], name: str = "shapes") -> Shape:
    """Join several shapes into one, such as the stones of a field. They then need only one pair per body."""
    if not shapes:
        raise InputError(f"mesh {name!r}: no shape is given to merge")
    layers = tuple(dict.fromkeys(layer for s in shapes for layer in s.layers))
    number = {layer: k for k, layer in enumerate(layers)}
    starts = np.cumsum([0] + [len(s.vertices) for s in shapes])
    vertices = np.vstack([s.vertices for s in shapes])
    triangles = np.vstack([s.triangles + start for s, start in zip(shapes, starts[:-1], strict=True)])
    index = np.concatenate([np.array([number[layer] for layer in s.layers])[s.face_layer] for s in shapes])
    order = order_in_space(vertices[triangles].mean(axis=1))
    notes = tuple(note for s in shapes for note in s.notes)
    closed = all(s.closed for s in shapes)
    return Shape(
        vertices, triangles[order].astype(np.int32), layers, index[order].astype(np.int32), closed, name, notes
    )


# ---- checks and repairs -------------------------------------------------------------------------------


def _arrays(vertices, triangles, name: str) -> tuple[np.ndarray, np.ndarray]:
    vertices, triangles = np.array(vertices, float), np.asarray(triangles)
    if vertices.size == 0 or triangles.size == 0:
        raise InputError(f"mesh {name!r}: it is empty; at least one triangle is needed")
    if vertices.ndim != 2 or vertices.shape[1] != 3 or triangles.ndim != 2 or triangles.shape[1] != 3:
        raise InputError(
            f"mesh {name!r}: vertices {vertices.shape} and triangles {triangles.shape} are not allowed; allowed: "
            "(n, 3) and (m, 3)"
        )
    if triangles.dtype.kind not in "iu":
        raise InputError(f"mesh {name!r}: triangles are {triangles.dtype}; indices must be integers")
    bad = np.flatnonzero(~np.isfinite(vertices).all(axis=1))
    if len(bad):
        raise InputError(f"mesh {name!r}: vertex {bad[0]} is {vertices[bad[0]]}; coordinates must be finite")
    if triangles.min() < 0 or triangles.max() >= len(vertices):
        wrong = triangles.min() if triangles.min() < 0 else triangles.max()
        raise InputError(f"mesh {name!r}: triangle index {wrong} is not allowed; allowed: 0 to {len(vertices) - 1}")
    return vertices, triangles.astype(np.int32)


def _face_layer(given, faces: int, layers: int, name: str) -> np.ndarray:
    if given is None:
        return np.zeros(faces, np.int32)
    index = np.asarray(given)
    if index.shape != (faces,) or index.dtype.kind not in "iu":
        raise InputError(f"mesh {name!r}: face_layer is {index.dtype} {index.shape}; integers ({faces},) are needed")
    if index.min() < 0 or index.max() >= layers:
        wrong = index.min() if index.min() < 0 else index.max()
        raise InputError(f"mesh {name!r}: face_layer {wrong} is not allowed; allowed: 0 to {layers - 1}")
    return index.astype(np.int32)


def _clean(vertices, triangles, index, name: str, notes: list[str]):
    """Merge repeated vertices and remove triangles of zero area; adds to `notes`."""
    size = float(np.ptp(vertices[np.unique(triangles)], axis=0).max())
    count = len(vertices)
    vertices, triangles = weld(vertices, triangles, 1e-9 * size)
    if len(vertices) < count:
        notes.append(f"mesh {name!r}: {count - len(vertices)} repeated or unused vertices were merged or removed")
    area = double_area(vertices, triangles)
    corners = vertices[triangles]
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    good = area > SLIVER * np.maximum(longest, 1e-300) ** 2
    if not good.any():
        raise InputError(f"mesh {name!r}: every triangle has zero area; a surface is needed")
    if not good.all():
        notes.append(f"mesh {name!r}: {(~good).sum()} triangles with zero area were removed")
    return vertices, triangles[good], index[good]


def _consistently_wound(vertices, triangles, closed: bool, name: str, notes: list[str]) -> np.ndarray:
    """Make the winding of each piece consistent, and that of closed pieces outward; adds to `notes`."""
    triangles, turned, piece, fault = oriented(triangles)
    if fault:
        raise InputError(f"mesh {name!r}: {fault}; allowed is a surface with two sides and at most two faces per edge")
    if turned:
        notes.append(f"mesh {name!r}: {turned} triangles were wound opposite to their neighbours and were flipped")
    if closed:
        volume = signed_volume(vertices, triangles, piece)
        inside_out = volume < 0
        if inside_out.any() and volume.sum() < 0:
            triangles = np.where(inside_out[piece][:, None], triangles[:, ::-1], triangles)
            notes.append(f"mesh {name!r}: it was inside out and was flipped")
    return triangles


# ---- order and refinement -----------------------------------------------------------------------------


def divide(vertices, triangles, index, longest_edge: float):
    """Halve the longest edge of every triangle until none is above `longest_edge` [m].

    The neighbour of a divided edge need not be divided too: both halves stay in the plane of their triangle, so no gap
    opens.
    """
    corners, layer = vertices[triangles], index
    while True:
        length = np.linalg.norm(corners - np.roll(corners, -1, axis=1), axis=2)  # edge k from corner k to k + 1
        long = length.max(axis=1) > longest_edge
        if not long.any():
            break
        k = length[long].argmax(axis=1)
        rows = np.arange(len(k))
        a, b, c = (corners[long][rows, (k + i) % 3] for i in range(3))
        middle = (a + b) / 2
        corners = np.concatenate([corners[~long], np.stack([a, middle, c], 1), np.stack([middle, b, c], 1)])
        layer = np.concatenate([layer[~long], layer[long], layer[long]])
    faces = np.arange(3 * len(corners), dtype=np.int32).reshape(-1, 3)
    size = float(np.ptp(vertices, axis=0).max())
    vertices, triangles = weld(corners.reshape(-1, 3), faces, 1e-9 * size)
    return vertices, triangles, layer


def tree_depth(faces: int) -> int:
    """Number of levels below the root of a tree whose leaves hold at most LEAF faces."""
    return max(0, math.ceil(math.log2(max(faces, 1) / LEAF)))


def order_in_space(centres: np.ndarray) -> np.ndarray:
    """Order of the faces along a Morton curve, so that every branch of the tree holds neighbouring faces."""
    low = centres.min(axis=0)
    cells = ((centres - low) * (MORTON_CELLS / max(float(np.ptp(centres, axis=0).max()), 1e-300))).astype(np.int64)
    code = np.zeros(len(centres), np.int64)
    for bit in range(MORTON_BITS):
        for axis in range(3):
            code |= ((cells[:, axis] >> bit) & 1) << (3 * bit + axis)
    return np.argsort(code, kind="stable")


def tree_boxes(surface: Shape, inward: float) -> tuple[np.ndarray, np.ndarray]:
    """Centres and half sides [m], (node, 3) each, of the tree of boxes over the faces, extended by `inward` [m].

    The tree is a heap, see `types.Pairs`.
    """
    count, depth = len(surface.triangles), tree_depth(len(surface.triangles))
    leaves = 1 << depth
    starts = np.array([count * k // leaves for k in range(leaves)])
    corners, offset = surface.corners, -inward * surface.normals
    low = np.minimum.reduceat(corners.min(axis=1) + np.minimum(offset, 0), starts, axis=0)
    high = np.maximum.reduceat(corners.max(axis=1) + np.maximum(offset, 0), starts, axis=0)
    lows, highs = [low], [high]
    for _ in range(depth):
        low, high = np.minimum(low[::2], low[1::2]), np.maximum(high[::2], high[1::2])
        lows.append(low)
        highs.append(high)
    low, high = np.concatenate(lows[::-1]), np.concatenate(highs[::-1])
    return (low + high) / 2, (high - low) / 2
