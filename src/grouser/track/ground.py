"""Ground under shoes: a plane, an elevation grid, a triangle mesh with soil values, or deformable soil."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import warp as wp

from grouser.device import at
from grouser.errors import InputError
from grouser.precision import Precision
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.ground import Ground
from grouser.track import types as t
from grouser.track.parts import SoilValues

RUT_INTERVAL = 5e-3  # [s] after which ruts are left again; the pressure of soil that yields does not depend on them
INSIDE = 1e-9  # weight of a vertex up to which a point counts as lying on the opposite edge


@dataclass(frozen=True)
class FlatGround:
    """An infinite horizontal plane."""

    height: float = 0.0  # [m]
    soil: SoilValues = field(default_factory=SoilValues)


@dataclass(frozen=True, eq=False)
class GridGround:
    """An elevation grid, bilinear between its nodes."""

    elevation: ElevationGrid
    soil: SoilValues = field(default_factory=SoilValues)


@dataclass(frozen=True, eq=False)
class MeshGround:
    """Triangles seen from above, one soil for all or one for each vertex (Omar 2014, eq. 47)."""

    vertices: np.ndarray  # [m], (vertex, 3)
    triangles: np.ndarray  # (triangle, 3)
    soil: SoilValues | tuple[SoilValues, ...] = field(default_factory=SoilValues)
    lists: bool = True  # False: every triangle is tested

    def __post_init__(self):
        corners = np.asarray(self.vertices, float)[np.asarray(self.triangles)]
        e, f = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
        area = e[:, 0] * f[:, 1] - e[:, 1] * f[:, 0]
        if (np.abs(area) < 1e-12).any():
            k = int(np.abs(area).argmin())
            raise InputError(
                f"ground mesh: triangle {k} is vertical or has zero area; shoes need ground seen from above"
            )
        if not isinstance(self.soil, SoilValues) and len(self.soil) != len(self.vertices):
            raise InputError(
                f"ground mesh: {len(self.soil)} soils for {len(self.vertices)} vertices; one per vertex is needed"
            )
        self._check_one_layer(corners.mean(axis=1))

    def _check_one_layer(self, centroids: np.ndarray) -> None:
        """Refuse overhangs and undersides: shoes would stand on whichever triangle comes first."""
        own, other, weights = self.covering(*centroids[:, :2].T)
        folded = (own != other) & (weights > INSIDE).all(axis=1)
        if folded.any():
            k = int(folded.argmax())
            raise InputError(
                f"ground mesh: triangle {own[k]} lies above or below triangle {other[k]}; "
                "shoes need one surface seen from above"
            )

    def covering(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All pairs of a point (x, y) [m] and a triangle that covers it: numbers of both, weights of the vertices."""
        vertices, triangles = np.asarray(self.vertices, float), np.asarray(self.triangles)
        origin, spacing, first, count, listed = buckets(vertices, triangles)
        column, row = (np.floor((np.asarray(v) - o) / spacing).astype(int) for v, o in zip((x, y), origin, strict=True))
        there = (column >= 0) & (row >= 0) & (column < count.shape[1]) & (row < count.shape[0])
        known = np.flatnonzero(there)
        first, count = first[row[known], column[known]], count[row[known], column[known]]
        point = np.repeat(known, count)
        within = np.arange(len(point)) - np.repeat(np.cumsum(count) - count, count)
        triangle = listed[np.repeat(first, count) + within]
        a, b, c = np.moveaxis(vertices[triangles[triangle]][:, :, :2], 1, 0)
        p = np.stack([np.asarray(x), np.asarray(y)], axis=-1)[point]
        area = _cross(b - a, c - a)
        weights = np.stack([_cross(b - p, c - p), _cross(c - p, a - p), _cross(a - p, b - p)], axis=-1) / area[:, None]
        over = (weights >= -INSIDE).all(axis=1)
        return point[over], triangle[over], weights[over]

    def values_at(self, of_vertices: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Values at points (n,), linear between those of the vertices (Omar 2014, eq. 47). NaN beside the mesh."""
        point, triangle, weights = self.covering(x, y)
        out = np.full(len(x), np.nan)
        out[point] = (weights * of_vertices[np.asarray(self.triangles)[triangle]]).sum(axis=1)
        return out


@dataclass(frozen=True, eq=False)
class SoilGround:
    """The deformable grid of `terrain.ground`: Bekker pressure and lasting ruts.

    Shoes compact the soil. The share 1 - `compression` of the volume is put beside them, and slopes that are too steep
    slide. There is one soil for the whole ground.
    """

    ground: Ground
    slip_damping: float = 2e4  # [N s/m^3]
    slip_speed: float = 0.5  # [m/s]
    weight: float = 1.6e4  # [N/m^3]
    erosion: bool = True  # slopes steeper than the soil can stand slide

    def __post_init__(self):
        if self.ground.depth is not None:
            raise InputError("tracks: a ground with a depth is not allowed; shoes know unlimited soil only")

    @property
    def soil(self) -> SoilValues:
        s = self.ground.soils[0]
        return SoilValues(
            s.elastic_stiffness, s.elastic_stiffness * s.damping_time, s.cohesion, s.friction_angle_deg,
            1 / s.shear_modulus, self.slip_damping, self.slip_speed, self.weight,
        )  # fmt: skip


Terrain = FlatGround | GridGround | MeshGround | SoilGround


def heights_at(ground: Terrain, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Height [m] of the undisturbed ground at points (n,). NaN beside it."""
    if isinstance(ground, FlatGround):
        return np.full(len(x), ground.height)
    if isinstance(ground, MeshGround):
        return ground.values_at(np.asarray(ground.vertices, float)[:, 2], x, y)
    elevation = ground.elevation if isinstance(ground, GridGround) else ground.ground.elevation
    x0, x1, y0, y1 = elevation.bounds
    there = (x >= x0) & (x <= x1) & (y >= y0) & (y <= y1)
    return np.where(there, elevation.height(np.clip(x, x0, x1), np.clip(y, y0, y1)), np.nan)


def soil_at(ground: Terrain, x: np.ndarray, y: np.ndarray) -> SoilValues:
    """The soil under points (n,): one for all, or values (n,) interpolated as the shoes do; NaN beside a mesh."""
    if not isinstance(ground, MeshGround) or isinstance(ground.soil, SoilValues):
        assert isinstance(ground.soil, SoilValues)
        return ground.soil
    names = [f.name for f in fields(SoilValues) if f.name != "friction_angle_deg"]
    of_vertices = {name: np.array([getattr(soil, name) for soil in ground.soil]) for name in (*names, "tan_friction")}
    found = {name: ground.values_at(values, x, y) for name, values in of_vertices.items()}
    angle = np.degrees(np.arctan(found.pop("tan_friction")))
    return SoilValues(friction_angle_deg=angle, **found)  # type: ignore[arg-type]


def ground_arrays(ground: Terrain | None, p: Precision, make, width: float) -> Any:
    """Make the device struct of a ground. `make(values, dtype)` puts an array on the device.

    `width` [m] of a shoe is b in Bekker's law. Without a ground (None) there is nothing to stand on.
    """
    g = at(t.Ground, p.name)()
    soil = ground.soil if ground is not None else SoilValues()
    soils = [soil] if isinstance(soil, SoilValues) else list(soil)
    g.kind, g.height, g.x0, g.y0, g.per_spacing = t.FLAT, -1e9, 0.0, 0.0, 1.0
    g.heights = make(np.zeros((2, 2)), p.real)
    g.vertex, g.triangle = make(np.zeros((1, 3)), p.vec3), make(np.zeros((1, 3), np.int32), wp.vec3i)
    g.first, g.count = make(np.zeros((1, 1), np.int32), wp.int32), make(np.zeros((1, 1), np.int32), wp.int32)
    g.listed = make(np.zeros(1, np.int32), wp.int32)
    g.modulus, g.exponent, g.displaced, g.tan_repose = 1.0, 1.0, 0.0, 0.0
    g.rut_interval = RUT_INTERVAL
    if isinstance(ground, SoilGround):
        first = ground.ground.soils[0]
        g.kind, g.modulus, g.exponent = t.SOIL, first.pressure_modulus(width), first.n
        g.displaced = 1 - first.compression
        g.tan_repose = first.slope_limit if ground.erosion else 0.0
    elif isinstance(ground, FlatGround):
        g.height = ground.height
    elif isinstance(ground, GridGround):
        e = ground.elevation
        g.kind, g.x0, g.y0, g.per_spacing = t.GRID, e.origin[0], e.origin[1], 1 / e.spacing
        g.heights = make(e.heights, p.real)
    elif isinstance(ground, MeshGround):
        soils = _fill_mesh(g, ground, soils, p, make)
    g.soil = make(_soil_table(soils, at(t.ShoeSoil, p.name)), at(t.ShoeSoil, p.name))
    return g


def _soil_table(soils: list[SoilValues], kind) -> np.ndarray:
    table = np.zeros(len(soils), kind.numpy_dtype())
    for name in kind.vars:
        table[name] = [getattr(s, name) for s in soils]
    return table


def _fill_mesh(g, ground: MeshGround, soils: list[SoilValues], p: Precision, make) -> list[SoilValues]:
    """Fill in the triangles, all counter-clockwise from above. Returns a soil for each vertex."""
    vertices, triangles = np.asarray(ground.vertices, float), np.array(ground.triangles, np.int32)
    e = vertices[triangles[:, 1]] - vertices[triangles[:, 0]]
    f = vertices[triangles[:, 2]] - vertices[triangles[:, 0]]
    down = e[:, 0] * f[:, 1] - e[:, 1] * f[:, 0] < 0
    triangles[down] = triangles[down][:, ::-1]
    origin, spacing, first, count, listed = buckets(vertices, triangles, ground.lists)
    g.kind, g.x0, g.y0, g.per_spacing = t.MESH, origin[0], origin[1], 1 / spacing
    g.vertex, g.triangle = make(vertices, p.vec3), make(triangles, wp.vec3i)
    g.first, g.count, g.listed = make(first, wp.int32), make(count, wp.int32), make(listed, wp.int32)
    return soils if len(soils) > 1 else soils * len(vertices)


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]


def buckets(vertices: np.ndarray, triangles: np.ndarray, lists: bool = True):
    """Square buckets in plan view, each with the triangles whose bounding box overlaps it, in order."""
    corners = vertices[triangles][:, :, :2]
    low, high = corners.min(axis=1), corners.max(axis=1)
    origin, end = low.min(axis=0), high.max(axis=0)
    spacing = float(np.median((high - low).max(axis=1))) if lists else float((end - origin).max() * 1.001)
    shape = np.maximum(np.ceil((end - origin) / spacing - 1e-9).astype(int), 1)
    columns, row_count = int(shape[0]), int(shape[1])
    a = np.clip(np.floor((low - origin) / spacing - 1e-9).astype(int), 0, shape - 1)
    b = np.clip(np.floor((high - origin) / spacing + 1e-9).astype(int), 0, shape - 1)
    held: list[list[int]] = [[] for _ in range(columns * row_count)]
    for k in range(len(triangles)):
        for i in range(a[k, 1], b[k, 1] + 1):
            for j in range(a[k, 0], b[k, 0] + 1):
                held[i * columns + j].append(k)
    count = np.array([len(h) for h in held], np.int32)
    first = np.concatenate([[0], np.cumsum(count)[:-1]]).astype(np.int32)
    listed = np.array([k for h in held for k in h] or [0], np.int32)
    return origin, spacing, first.reshape(row_count, columns), count.reshape(row_count, columns), listed
