"""Split a faceted course, a closed mesh or an elevation grid into convex solids before a run.

Stadukhin 2016 grows a piece over neighbouring triangles as long as each new triangle is convex with its neighbours; the
pieces are open shells. Here convexity is checked for the whole piece, and each piece becomes a solid with some
thickness behind its faces.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from grouser.errors import InputError
from grouser.terrain import checks
from grouser.terrain.course_cache import cache_folder, content_name, read_arrays, write_arrays
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.mesh_file import _read as read_mesh
from grouser.terrain.polyhedra import Polyhedron, hull

CONVEX = 1e-6  # [patch size] largest distance of a corner in front of a face's plane
FACING = 0.1  # least cosine between a face normal and the mean of its patch, so that the solid stays behind the face
METHODS = ("coacd", "patches")


def split_mesh(source, method: str, thickness: float, threshold: float, cache: str | Path | None) -> list[Polyhedron]:
    """Split a mesh into convex pieces. The result is cached on disk under the content of mesh and options."""
    what, vertices, triangles = read_mesh(source)
    checks.choice(method, f"{what}: method", METHODS)
    checks.number(thickness, f"{what}: thickness", above=0.0)
    checks.number(threshold, f"{what}: threshold", above=0.0)
    option = thickness if method == "patches" else threshold
    content = (np.asarray(vertices, float), np.asarray(triangles, np.int64))
    file = (Path(cache) if cache else cache_folder()) / content_name(f"{method}, cut, {option!r}", content)
    kept = read_arrays(file)
    if kept is not None:
        clouds = np.split(kept["points"], kept["first"][1:-1])
    else:
        patches = method == "patches"
        clouds = grow_patches(*content, thickness) if patches else _coacd(*content, threshold)
        write_arrays(file, points=np.concatenate(clouds), first=np.cumsum([0] + [len(c) for c in clouds]))
    return [hull(points, f"piece {k + 1}") for k, points in enumerate(clouds)]


def _coacd(vertices: np.ndarray, triangles: np.ndarray, threshold: float) -> list[np.ndarray]:
    try:
        import coacd
    except ModuleNotFoundError:
        raise InputError("method 'coacd' needs the package coacd: pip install 'grouser[convex]'") from None
    coacd.set_log_level("error")
    return [points for points, _ in coacd.run_coacd(coacd.Mesh(vertices, triangles), threshold=threshold, seed=0)]


def grow_patches(vertices: np.ndarray, triangles: np.ndarray, thickness: float) -> list[np.ndarray]:
    """Corners of a solid for each convex patch. Triangles are counter-clockwise seen from outside."""
    vertices, triangles = np.asarray(vertices, float), np.asarray(triangles, np.int64)
    vertices, place = np.unique(vertices.round(9), axis=0, return_inverse=True)
    triangles = place.reshape(-1)[triangles]
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    double = np.cross(b - a, c - a)
    area = np.linalg.norm(double, axis=1)
    whole = area > 0
    triangles, normals = triangles[whole], double[whole] / area[whole, None]
    area = area[whole] / 2
    neighbours = _neighbours(triangles)
    tolerance = CONVEX * float(np.ptp(vertices, axis=0).max())
    free = np.ones(len(triangles), bool)
    clouds = []
    for seed in range(len(triangles)):
        if not free[seed]:
            continue
        patch, edge = [seed], list(neighbours[seed])
        free[seed] = False
        while edge:
            t = edge.pop(0)
            if free[t] and _stays_convex([*patch, t], vertices, triangles, normals, area, tolerance):
                patch.append(t)
                free[t] = False
                edge = list(
                    dict.fromkeys([*edge, *neighbours[t], *(n for p in patch for n in neighbours[p] if free[n])])
                )
        corners = vertices[np.unique(triangles[patch])]
        inward = -_mean(normals[patch], area[patch])
        around = sorted({n for p in patch for n in neighbours[p]} - set(patch))
        planes = [(normals[n], vertices[triangles[n, 0]]) for n in around]
        clouds.append(_behind(corners, thickness * inward, planes, tolerance))
    return clouds


def _behind(corners: np.ndarray, shift: np.ndarray, planes: list[tuple[np.ndarray, np.ndarray]], tolerance: float):
    """Corners of the solid between a patch and its copy moved by `shift` [m], cut by the planes of faces round it.

    Below an overhang the solid would otherwise stick out through the tread above. A face that meets the patch in a
    valley has corners of the patch in front of it and cuts nothing off.
    """
    from scipy.spatial import ConvexHull, HalfspaceIntersection

    cloud = np.vstack([corners, corners + shift])
    cutting = [
        (normal, point)
        for normal, point in planes
        if ((corners - point) @ normal).max() <= tolerance and ((cloud - point) @ normal).max() > tolerance
    ]
    if not cutting:
        return cloud
    walls = np.vstack([ConvexHull(cloud).equations, *([[*normal, -normal @ point]] for normal, point in cutting)])
    inner = corners.mean(axis=0)
    for share in (0.5, 0.1, 0.02):  # a point inside: behind the middle of the patch, near enough to it
        if (walls[:, :3] @ (inner + share * shift) + walls[:, 3]).max() < 0:
            return HalfspaceIntersection(walls, inner + share * shift).intersections
    return cloud


def _neighbours(triangles: np.ndarray) -> list[list[int]]:
    """For each triangle, the triangles that share an edge with it."""
    at: dict[tuple[int, int], list[int]] = {}
    for t, corners in enumerate(triangles.tolist()):
        for i in range(3):
            at.setdefault((min(corners[i], corners[i - 1]), max(corners[i], corners[i - 1])), []).append(t)
    out: list[list[int]] = [[] for _ in range(len(triangles))]
    for shared in at.values():
        for t in shared:
            out[t] += [other for other in shared if other != t]
    return out


def _mean(normals: np.ndarray, area: np.ndarray) -> np.ndarray:
    mean = (normals * area[:, None]).sum(0)
    return mean / np.linalg.norm(mean)


def _stays_convex(patch, vertices, triangles, normals, area, tolerance: float) -> bool:
    """Check that a whole patch is convex.

    No corner lies in front of any face, all faces point to the same side, and the outline seen from there is convex
    and without holes.
    """
    mean = (normals[patch] * area[patch, None]).sum(0)
    size = np.linalg.norm(mean)
    if size <= 0 or (normals[patch] @ mean).min() < FACING * size:
        return False
    corners = vertices[np.unique(triangles[patch])]
    first = vertices[triangles[patch, 0]]
    height = (corners[None] - first[:, None]) @ normals[patch][:, :, None]
    if height.max() > tolerance:
        return False
    mean = mean / size
    return bool(_outline_area(corners, mean) - size <= tolerance * np.ptp(corners, axis=0).max() + 1e-9 * size)


def _outline_area(corners: np.ndarray, direction: np.ndarray) -> float:
    """Area [m^2] of the convex hull of corners seen along `direction`."""
    from scipy.spatial import ConvexHull

    helper = np.eye(3)[np.argmin(np.abs(direction))]
    e1 = np.cross(direction, helper)
    e1 /= np.linalg.norm(e1)
    return float(ConvexHull(np.column_stack([corners @ e1, corners @ np.cross(direction, e1)])).volume)


def grid_prisms(elevation: ElevationGrid, depth: float) -> list[Polyhedron]:
    """Two triangular prisms under every cell, from the surface down to one common level.

    Each cell is split along the diagonal whose ends differ less in height.
    """
    z, x, y = elevation.heights, elevation.x, elevation.y
    level = float(z.min()) - depth
    rows, columns = z.shape
    pieces = []
    for i in range(rows - 1):
        for j in range(columns - 1):
            a, b, c, d = (
                (x[j + v], y[i + u], z[i + u, j + v]) for u, v in ((0, 0), (0, 1), (1, 1), (1, 0))
            )  # fmt: skip
            for corners in ((a, b, c), (a, c, d)) if abs(a[2] - c[2]) <= abs(b[2] - d[2]) else ((a, b, d), (b, c, d)):
                pieces.append(_prism(np.array(corners), level))
    return pieces


_PRISM = ((0, 1, 2), (5, 4, 3), (0, 3, 4, 1), (1, 4, 5, 2), (2, 5, 3, 0))


def _prism(top: np.ndarray, level: float) -> Polyhedron:
    """The prism under a triangle, which is counter-clockwise seen from above."""
    bottom = top.copy()
    bottom[:, 2] = level
    vertices = np.vstack([top, bottom])
    normals = []
    for face in _PRISM:
        a, b, c = vertices[list(face[:3])]
        n = np.cross(b - a, c - a)
        normals.append(n / np.linalg.norm(n))
    return Polyhedron(vertices, _PRISM, np.array(normals), "prism")
