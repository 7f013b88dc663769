"""Shapes of a body that are too small for the nodes of the grid: their skin as points that each have an area.

A node speaks for a cell. A foot of a cell or two may lie between nodes, so it presses with its own points, each with
the soil's law at its place; volumes go to the four nodes round a point. See `points.py` for the stages.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from grouser.contact.soil.surface import (
    Surface,
    bounding_spheres,
    bulges,
    chunks,
    divide,
    face_normals,
    normal_cones,
    place_codes,
)  # fmt: skip
from grouser.errors import InputError

SMALL = 8.0  # cells across from which on nodes carry a push within 5 %; at 4 a ball loses a third of it
PLATE = 4.0  # the same where b of k_c / b is given, as for plates: a flat sole loses nothing there
ALONG = 4.0  # cells at least along a wheel
THIN = 1.0 - 1e-6  # cells through a shape below which it may stand between two rows of nodes
TURNED = 0.97  # times smaller along its own axes than along the frame's: less is due to the facets of a round shape
FLAT = 1e-9  # of its length: a sheet
LEAST = 0.5  # cells: nothing smaller is allowed
APART = 1.0  # cells between the boxes of two shapes from which on each stands alone
POINTS_ALONG = 4  # edges of triangles across a shape, at least
EDGES = 0.25, 1.0  # cells, shortest and longest edge of the triangles that points are laid on
MOST_POINTS = 20_000  # of a shape: longer edges are taken before it gets more
COARSER = 1.5  # times longer each time
THREE = (
    np.array([[4, 1, 1], [1, 4, 1], [1, 1, 4]]) / 6
)  # points of second order in a triangle: a third of its area each
ONE = np.array([[1, 1, 1]]) / 3  # the middle of a triangle, where there are enough of them
ENOUGH = 4.0  # cells across a shape from which on there are


@dataclass(frozen=True)
class SmallShape:
    """Points on the skin of a shape, in the body's frame."""

    points: np.ndarray  # [m], (point, 3)
    areas: np.ndarray  # [m^2], (point, 3) along the outward normal
    rim: np.ndarray  # [m], (vertex, 3) corners of the shape: the perimeter of its patch comes from them
    across: float  # [m] middle one of its three sizes
    least: float  # [m] smallest b of k_c / b


def shapes_apart(surface: Surface, spacing: float) -> list[np.ndarray]:
    """Triangles (numbers) of each shape that stands alone: pieces whose boxes are within a cell count as one."""
    piece = _pieces(surface.vertices, surface.triangles)
    count = int(piece.max()) + 1
    low, high = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
    for k in range(3):
        corner = surface.vertices[surface.triangles[:, k]]
        np.minimum.at(low, piece, corner)
        np.maximum.at(high, piece, corner)
    group = np.arange(count)
    for k in range(count):
        gap = np.maximum(low - high[k], low[k] - high).max(axis=1)
        joined = np.unique(group[gap <= APART * spacing])
        group[np.isin(group, joined)] = joined[0]
    return [np.flatnonzero(group[piece] == g) for g in np.unique(group)]


def _pieces(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """(triangle,) number of the connected piece each triangle belongs to."""
    label = np.arange(len(vertices))
    while True:
        lowest = label[triangles].min(axis=1)
        before = label.copy()
        for k in range(3):
            np.minimum.at(label, triangles[:, k], lowest)
        label = label[label]  # a label leads to another that may be lower still
        if np.array_equal(label, before):
            return np.unique(label[triangles[:, 0]], return_inverse=True)[1].reshape(-1)


def sizes(vertices: np.ndarray) -> np.ndarray:
    """Three sizes [m] of a shape in rising order: along the axes or along its own, whichever are smaller."""
    plain = np.sort(np.ptp(vertices, axis=0))
    if len(vertices) <= 3:
        return plain
    own = np.sort(np.ptp(vertices @ np.linalg.eigh(np.cov(vertices.T))[1], axis=0))
    return np.where(own < TURNED * plain, own, plain)


def refused_if_too_small(body: str, surface: Surface, spacing: float) -> None:
    """An InputError that names the spacing that would carry the smallest of a body's shapes."""
    if _needs_nodes(surface):
        return _refused_without_nodes(body, surface, spacing)
    across = least_size(surface, spacing)
    if across < (1 - 1e-9) * LEAST * spacing:
        raise InputError(
            f"spacing: {spacing:g} m is too coarse for body {body!r}: it has a shape that stands alone and is "
            f"{1e3 * across:.3g} mm across; allowed is a spacing of at most {_rounded_down(across / LEAST):g} m"
        )


def least_size(surface: Surface, spacing: float) -> float:
    """Smallest size [m] of any shape of a body that stands alone; a sheet has no thickness that would count."""
    least = []
    for triangles in shapes_apart(surface, spacing):
        size = sizes(surface.vertices[np.unique(surface.triangles[triangles])])
        least.append(float(size[0] if size[0] > FLAT * size[2] else size[1]))
    return min(least)


def _needs_nodes(surface: Surface) -> bool:
    """Slip drags soil off nodes, and points carry no grousers."""
    return surface.rolls or surface.grouser_height > 0


def _refused_without_nodes(body: str, surface: Surface, spacing: float) -> None:
    """A wheel needs four cells along it and one across it."""
    size = np.sort(np.ptp(surface.vertices, axis=0))
    allowed = min(float(size[0]), float(size[2]) / ALONG)
    if spacing > allowed:
        raise InputError(
            f"spacing: {spacing:g} m is too coarse for the wheel {body!r}, {size[0]:g} m wide and {size[2]:g} m long; "
            f"allowed is a spacing of at most {_rounded_down(allowed):g} m"
        )


def _rounded_down(length: float) -> float:
    """To three digits."""
    unit = 10.0 ** (np.floor(np.log10(length)) - 2)
    return float(unit * np.floor(length / unit * (1 + 1e-9)))


def split(surface: Surface, spacing: float) -> tuple[Surface, list[SmallShape]]:
    """The surface less its small shapes, and those."""
    if _needs_nodes(surface):
        return surface, []
    small, kept = [], []
    for triangles in shapes_apart(surface, spacing):
        corners = surface.vertices[np.unique(surface.triangles[triangles])]
        size = sizes(corners)
        thick = size[0] >= THIN * spacing or size[0] <= FLAT * size[2]  # a sheet has no thickness that could matter
        if size[1] >= (SMALL if surface.width is None else PLATE) * spacing and thick:
            kept.append(triangles)
        else:
            small.append(small_shape(surface.vertices, surface.triangles[triangles], spacing, size))
    if not small:
        return surface, []
    triangles = surface.triangles[np.sort(np.concatenate(kept))] if kept else surface.triangles[:0]
    return without(surface, triangles), small


def small_shape(vertices: np.ndarray, triangles: np.ndarray, spacing: float, size: np.ndarray) -> SmallShape:
    """Lay points on a shape; those inside another piece of it carry nothing."""
    edge = float(np.clip(size[1] / POINTS_ALONG, EDGES[0] * spacing, EDGES[1] * spacing))
    corners, faces = divide(vertices, triangles, edge)
    within = ONE if size[1] >= ENOUGH * spacing else THREE
    while len(faces) * len(within) > MOST_POINTS and len(faces) > len(triangles):
        edge *= COARSER
        corners, faces = divide(vertices, triangles, edge)
    points = np.einsum("qc,tci->tqi", within, corners[faces]).reshape(-1, 3)
    areas = np.repeat(face_normals(corners, faces) / (2 * len(within)), len(within), axis=0)
    piece = _pieces(vertices, triangles)
    if piece.max() > 0:
        point_piece = np.repeat(_pieces(corners, faces), len(within))
        outside = np.ones(len(points), bool)
        for k in range(piece.max() + 1):
            others = point_piece != k
            outside[others] &= np.abs(_winding(points[others], vertices[triangles[piece == k]])) < 0.5
        points, areas = points[outside], areas[outside]
    order = np.argsort(place_codes(points, points.min(axis=0), float(np.ptp(points, axis=0).max())), kind="stable")
    least = min(float(size[0]) or float(size[1]), spacing) / 2
    return SmallShape(points[order], areas[order], vertices[np.unique(triangles)], float(size[1]), least)


def _winding(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """How often a closed mesh of `corners` [m], (triangle, 3, 3), goes round each point: 1 inside, 0 outside.

    Solid angles of its triangles over 4 pi; van Oosterom and Strackee 1983 eq. 8.
    """
    turns = np.zeros(len(points))
    for a, b, c in corners:
        u, v, w = a - points, b - points, c - points
        x, y, z = (np.linalg.norm(e, axis=1) for e in (u, v, w))
        volume = np.einsum("ni,ni->n", u, np.cross(v, w))
        dots = [np.einsum("ni,ni->n", p, q) * r for p, q, r in ((u, v, z), (v, w, x), (w, u, y))]
        turns += np.arctan2(volume, x * y * z + sum(dots)) / (2 * np.pi)
    return turns


def without(surface: Surface, triangles: np.ndarray) -> Surface:
    """The surface with some of its triangles only, in the order they have; all vertices stay."""
    if not len(triangles):
        none = np.zeros((0, 4))
        empty = {"triangle_spheres": none, "triangle_cones": none, "bulge": none}
        return replace(surface, triangles=triangles, creases=surface.creases[:0], **empty)
    used = np.isin(surface.creases, triangles).all(axis=1)
    return replace(
        surface, triangles=triangles, creases=surface.creases[used],
        triangle_spheres=bounding_spheres([surface.vertices[np.unique(c)] for c in chunks(triangles)]),
        triangle_cones=normal_cones([face_normals(surface.vertices, c) for c in chunks(triangles)]),
        bulge=bulges(surface.vertices, surface.normals, triangles),
    )  # fmt: skip
