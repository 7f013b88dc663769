"""Shapes that are too small for the grid: their surface is sampled with points that each carry an area.

A node represents a whole cell, so a foot of one or two cells may fall between nodes. Such a shape presses with its own
surface points instead. Each point follows the soil's law at its place, and the volume it displaces is shared among the
four nodes around it. `points.py` has the device functions.
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

SMALL = 12.0  # [cells] from this size on nodes give the force within 5 %, at any position (8 cells: 9 %)
PLATE = 4.0  # [cells] the same limit where b of k_c / b is given, as for plates: a flat sole loses no force there
ALONG = 4.0  # [cells] smallest length of a wheel
THIN = 1.0 - 1e-6  # [cells] a thinner shape may stand between two rows of nodes
TURNED = 0.97  # use a shape's principal axes if it is smaller by this factor; facets of a round shape cause less
FLAT = 1e-9  # thickness over length below which a shape is a sheet
LEAST = 0.5  # [cells] smallest size allowed
APART = 1.0  # [cells] shapes whose bounding boxes are farther apart than this are separate shapes
POINTS_ALONG = 4  # smallest number of triangle edges across a shape
EDGES = 0.25, 1.0  # [cells] shortest and longest edge of the triangles that carry the points
MOST_POINTS = 20_000  # largest number of points of a shape; above it the edges are made longer
COARSER = 1.5  # factor on the edge length each time
THREE = (
    np.array([[4, 1, 1], [1, 4, 1], [1, 1, 4]]) / 6
)  # three points per triangle, second-order quadrature: a third of its area each
ONE = np.array([[1, 1, 1]]) / 3  # one point per triangle at its centroid, for shapes with many triangles
ENOUGH = 4.0  # [cells] size of a shape from which one point per triangle is enough
APART_POINTS = 1 / 15, 0.4  # [sizes] below ENOUGH, [cells] above: mean distance of points; closer ones are merged
APART_RIM = 1.6  # [distances of points] of the corners that give the perimeter: a round patch is 1 % too narrow at most


@dataclass(frozen=True)
class SmallShape:
    """Points on the surface of a small shape, body frame."""

    points: np.ndarray  # [m], (point, 3)
    areas: np.ndarray  # [m^2], (point, 3) area vector of each point, along the outward normal
    rim: np.ndarray  # [m], (vertex, 3) corners of the shape, from which the perimeter of its patch is found
    across: float  # [m] middle one of its three sizes
    least: float  # [m] lower bound of b in k_c / b
    lug_height: float = 0.0  # [m] height of the lugs whose tips the points are; 0: the shape is no lug
    lug_pitch: float = np.inf  # [m] distance of two lugs
    lug_share: float = 0.0  # share of the circle of the tips that is tip


def shapes_apart(surface: Surface, spacing: float) -> list[np.ndarray]:
    """Triangle indices of each separate shape. Pieces whose bounding boxes are within a cell count as one shape."""
    piece = pieces(surface.vertices, surface.triangles)
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


def pieces(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Index of the connected piece each triangle belongs to, (triangle,)."""
    label = np.arange(len(vertices))
    while True:
        lowest = label[triangles].min(axis=1)
        before = label.copy()
        for k in range(3):
            np.minimum.at(label, triangles[:, k], lowest)
        label = label[label]  # follow labels of labels: far fewer passes on long meshes
        if np.array_equal(label, before):
            return np.unique(label[triangles[:, 0]], return_inverse=True)[1].reshape(-1)


def sizes(vertices: np.ndarray) -> np.ndarray:
    """Three sizes [m] of a shape, smallest first.

    They are measured along the axes of the body frame, or along the principal axes of the shape if those give a clearly
    smaller size (a shape that is turned in the frame).
    """
    plain = np.sort(np.ptp(vertices, axis=0))
    if len(vertices) <= 3:
        return plain
    own = np.sort(np.ptp(vertices @ np.linalg.eigh(np.cov(vertices.T))[1], axis=0))
    return np.where(own < TURNED * plain, own, plain)


def check_shape_sizes(body: str, surface: Surface, spacing: float) -> None:
    """Raise an InputError if a shape of the body is too small for the grid; it names the largest allowed spacing."""
    if _needs_nodes(surface):
        return _check_wheel_nodes(body, surface, spacing)
    across = least_size(surface, spacing)
    if across < (1 - 1e-9) * LEAST * spacing:
        raise InputError(
            f"spacing: {spacing:g} m is too coarse for body {body!r}: it has a separate shape that is "
            f"{1e3 * across:.3g} mm across; allowed is a spacing of at most {_rounded_down(across / LEAST):g} m"
        )


def least_size(surface: Surface, spacing: float) -> float:
    """Smallest size [m] of any separate shape of a body. The thickness of a sheet is ignored."""
    least = []
    for triangles in shapes_apart(surface, spacing):
        size = sizes(surface.vertices[np.unique(surface.triangles[triangles])])
        least.append(float(size[0] if size[0] > FLAT * size[2] else size[1]))
    return min(least)


def _needs_nodes(surface: Surface) -> bool:
    """Whether a body cannot use points: digging by slip works on nodes only, and points have no grousers."""
    return surface.rolls or surface.grouser_height > 0


def _check_wheel_nodes(body: str, surface: Surface, spacing: float) -> None:
    """Raise an InputError if a wheel is shorter than four cells or narrower than one."""
    size = np.sort(np.ptp(surface.vertices, axis=0))
    allowed = min(float(size[0]), float(size[2]) / ALONG)
    if spacing > allowed:
        raise InputError(
            f"spacing: {spacing:g} m is too coarse for the wheel {body!r}, {size[0]:g} m wide and {size[2]:g} m long; "
            f"allowed is a spacing of at most {_rounded_down(allowed):g} m"
        )


def _rounded_down(length: float) -> float:
    """Round a length down to three significant digits."""
    unit = 10.0 ** (np.floor(np.log10(length)) - 2)
    return float(unit * np.floor(length / unit * (1 + 1e-9)))


def presses_on_nodes(surface: Surface, corners: np.ndarray, spacing: float) -> bool:
    """Whether a separate shape of a surface, given by its corners [m], is large enough for the nodes of the grid."""
    if _needs_nodes(surface):
        return True
    size = sizes(corners)
    thick = size[0] >= THIN * spacing or size[0] <= FLAT * size[2]  # thickness is ignored for a sheet
    return bool(size[1] >= (SMALL if surface.width is None else PLATE) * spacing and thick)


def split(surface: Surface, spacing: float) -> tuple[Surface, list[SmallShape]]:
    """Split a surface into the part that presses on nodes and its small shapes, which press with points."""
    if _needs_nodes(surface):
        return surface, []
    small, kept = [], []
    for triangles in shapes_apart(surface, spacing):
        corners = surface.vertices[np.unique(surface.triangles[triangles])]
        if presses_on_nodes(surface, corners, spacing):
            kept.append(triangles)
        else:
            small.append(small_shape(surface.vertices, surface.triangles[triangles], spacing, sizes(corners)))
    if not small:
        return surface, []
    triangles = surface.triangles[np.sort(np.concatenate(kept))] if kept else surface.triangles[:0]
    return keep_triangles(surface, triangles), small


def small_shape(vertices: np.ndarray, triangles: np.ndarray, spacing: float, size: np.ndarray) -> SmallShape:
    """Place points on the surface of a shape. Points inside another piece of the same shape are left out."""
    edge = float(np.clip(size[1] / POINTS_ALONG, EDGES[0] * spacing, EDGES[1] * spacing))
    corners, faces = divide(vertices, triangles, edge)
    within = ONE if size[1] >= ENOUGH * spacing else THREE
    while len(faces) * len(within) > MOST_POINTS and len(faces) > len(triangles):
        edge *= COARSER
        corners, faces = divide(vertices, triangles, edge)
    points = np.einsum("qc,tci->tqi", within, corners[faces]).reshape(-1, 3)
    areas = np.repeat(face_normals(corners, faces) / (2 * len(within)), len(within), axis=0)
    piece = pieces(vertices, triangles)
    if piece.max() > 0:
        point_piece = np.repeat(pieces(corners, faces), len(within))
        outside = np.ones(len(points), bool)
        for k in range(piece.max() + 1):
            others = point_piece != k
            outside[others] &= np.abs(_winding(points[others], vertices[triangles[piece == k]])) < 0.5
        points, areas = points[outside], areas[outside]
    apart = APART_POINTS[0] * float(size[1]) if within is THREE else APART_POINTS[1] * spacing
    rim = vertices[np.unique(triangles)]
    rim = rim[spread(rim, int(np.ceil(np.linalg.norm(areas, axis=1).sum() / (APART_RIM * apart) ** 2)))[0]]
    points, areas = merged(points, areas, apart)
    # Sort the points in space, so that the chunks of `points.py` have small bounding spheres.
    order = np.argsort(place_codes(points, points.min(axis=0), float(np.ptp(points, axis=0).max())), kind="stable")
    least = min(float(size[0]) or float(size[1]), spacing) / 2
    return SmallShape(points[order], areas[order], rim, float(size[1]), least)


def merged(points: np.ndarray, areas: np.ndarray, apart: float) -> tuple[np.ndarray, np.ndarray]:
    """Merge points that lie closer than `apart` [m] and face alike: sum of their areas, centroid of their places.

    A round geom has far more triangles than its grid can tell apart, and every point costs time.
    """
    sizes = np.linalg.norm(areas, axis=1)
    places = np.hstack([points, apart * areas / np.maximum(sizes, 1e-30)[:, None]])  # normals count as places
    chosen, nearest = spread(places, int(np.ceil(sizes.sum() / apart**2)))
    total = np.zeros((len(chosen), 7))
    np.add.at(total, nearest, np.column_stack([sizes[:, None] * points, areas, sizes]))
    total = total[total[:, 6] > 0]
    return total[:, :3] / total[:, 6:], total[:, 3:6]


def spread(places: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Choose `count` of some places, each as far from the others as can be. All are kept if few would be left out.

    Returns the indices of the chosen places, and for every place which of them is nearest.
    """
    if count > len(places) / 2:
        return np.arange(len(places)), np.arange(len(places))
    chosen, nearest, gap = np.zeros(count, int), np.zeros(len(places), int), np.full(len(places), np.inf)
    for k in range(count):
        chosen[k] = gap.argmax()
        distance = ((places - places[chosen[k]]) ** 2).sum(axis=1)
        closer = distance < gap
        nearest[closer], gap[closer] = k, distance[closer]
    return chosen, nearest


def _winding(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Winding number of a closed mesh of `corners` [m], (triangle, 3, 3), at each point: 1 inside, 0 outside.

    Sum of the solid angles of the triangles over 4 pi; van Oosterom and Strackee 1983, eq. 8.
    """
    turns = np.zeros(len(points))
    for a, b, c in corners:
        u, v, w = a - points, b - points, c - points
        x, y, z = (np.linalg.norm(e, axis=1) for e in (u, v, w))
        volume = np.einsum("ni,ni->n", u, np.cross(v, w))
        dots = [np.einsum("ni,ni->n", p, q) * r for p, q, r in ((u, v, z), (v, w, x), (w, u, y))]
        turns += np.arctan2(volume, x * y * z + sum(dots)) / (2 * np.pi)
    return turns


def keep_triangles(surface: Surface, triangles: np.ndarray) -> Surface:
    """The surface reduced to the given triangles, in their order. All vertices stay."""
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
