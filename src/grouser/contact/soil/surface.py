"""Prepare a body's mesh for soil contact: triangles in compact chunks, vertex normals, crease edges."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from grouser.contact.refinement import check_piece_count, piece_count
from grouser.errors import InputError

CHUNK = 16  # number of triangles or vertices that share one bounding sphere
CREASE_COSINE = 0.7  # an edge is a crease if its faces meet at more than about 45 degrees; creases bound the footprint
FLAT = 1e-9  # largest bulge of a flat triangle: round-off of the sides of a box is 1e-18, a ball of 1 m has 1e-4
SMOOTH_COSINE = 0.85  # a face within about 30 degrees of its vertex normals is part of a rounded surface
UPRIGHT = 0.1  # vertical component of the normal below which a face is a wall and does not press (within 6 degrees)
STRIP = 0.06  # [m] widest strip of a wheel's tread
LARGEST_BODY = 20.0  # [m] largest size of a body that touches soil
MOST_TRIANGLES = 1_000_000  # of one body: they take some 15 s of a processor before the first step
LONGEST_EDGE = 0.03  # [m] coarser meshes are divided down to this, because vertices carry the shear state


@dataclass(frozen=True)
class Surface:
    """A triangle mesh in the body frame, prepared for soil contact."""

    vertices: np.ndarray  # [m], (vertex, 3)
    normals: np.ndarray  # (vertex, 3) outward, zero at a crease
    triangles: np.ndarray  # (triangle, 3) int32, counter-clockwise from outside
    creases: np.ndarray  # (crease, 2) int32
    triangle_spheres: np.ndarray  # [m], (chunk, 4) centre and radius
    triangle_cones: np.ndarray  # (chunk, 4) mean normal; world z of it from which on no face of the chunk faces down
    vertex_spheres: np.ndarray  # [m], (chunk, 4) centre and radius
    bulge: np.ndarray  # (triangle, 4) 4 x sag [m] of its three edges, 1 / (2 area) [1/m^2]; see `bulges`
    lugs: np.ndarray  # (vertex,) share of the surface around the vertex that carries a grouser
    grouser_height: float = 0.0  # [m] distance of the shear plane outside the surface
    grouser_count: int = 0
    grouser_width: float = 0.0  # [m] along the circumference
    width: float | None = None  # [m] b of k_c / b; None: found from the contact patch
    rolls: bool = False  # a wheel: it always presses on nodes, because slip digs on nodes only
    name: str = "body"

    @property
    def radius(self) -> float:
        """Largest distance [m] of a vertex from the frame origin."""
        return float(np.linalg.norm(self.vertices, axis=1).max())

    @property
    def reach(self) -> float:
        """Largest distance [m] of a vertex from the centre of the bounding box; independent of the frame origin."""
        middle = (self.vertices.min(axis=0) + self.vertices.max(axis=0)) / 2
        return float(np.linalg.norm(self.vertices - middle, axis=1).max())

    @property
    def rounded(self) -> bool:
        """Whether some part of it is rounded."""
        return bool((np.abs(self.bulge[:, :3]) > FLAT).any())

    @property
    def longest_edge(self) -> float:
        corners = self.vertices[self.triangles]
        return float(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max())


def prepare(
    vertices: np.ndarray,
    triangles: np.ndarray,
    *,
    width: float | None = None,
    grouser_height: float = 0.0,
    lugs: np.ndarray | None = None,
    normals: np.ndarray | None = None,
    longest_edge: float = LONGEST_EDGE,
    name: str = "body",
) -> Surface:
    """Check, refine and sort a mesh given in the body frame [m].

    With `normals`, (vertex, 3), the mesh is used as it is: it is not welded or refined.
    """
    vertices = np.asarray(vertices, float).reshape(-1, 3)
    triangles = np.asarray(triangles, np.int32).reshape(-1, 3)
    if len(vertices) == 0 or len(triangles) == 0:
        raise InputError(f"mesh of {name!r}: it is empty; at least one triangle is needed")
    bad = np.flatnonzero(~np.isfinite(vertices).all(axis=1))
    if len(bad):
        raise InputError(f"mesh of {name!r}: vertex {bad[0]} is {vertices[bad[0]]}; coordinates must be finite")
    if triangles.min() < 0 or triangles.max() >= len(vertices):
        wrong = triangles.min() if triangles.min() < 0 else triangles.max()
        raise InputError(f"mesh of {name!r}: triangle index {wrong} is not allowed; allowed: 0 to {len(vertices) - 1}")
    if normals is None:
        what = f"mesh of {name!r}"
        check_piece_count(piece_count(vertices, triangles, longest_edge), what, longest_edge, MOST_TRIANGLES)
        vertices, triangles = divide(*weld(vertices, triangles), longest_edge, what)
    triangles = triangles[np.linalg.norm(face_normals(vertices, triangles), axis=1) > 0]
    if not len(triangles):
        raise InputError(f"mesh of {name!r}: every triangle has zero area")
    if normals is None:
        normals = vertex_normals(vertices, triangles)
    if lugs is None:
        lugs = np.zeros(len(vertices))
    order, triangles = order_in_space(vertices, triangles, smooth_patches(vertices, triangles))
    vertices, normals, lugs = vertices[order], normals[order], lugs[order]
    creases = crease_edges(vertices, triangles)
    return Surface(
        vertices=vertices,
        normals=normals,
        triangles=triangles,
        creases=creases,
        triangle_spheres=bounding_spheres([vertices[np.unique(c)] for c in chunks(triangles)]),
        triangle_cones=normal_cones([face_normals(vertices, c) for c in chunks(triangles)]),
        vertex_spheres=bounding_spheres(chunks(vertices)),
        bulge=bulges(vertices, normals, triangles),
        lugs=lugs,
        grouser_height=grouser_height,
        width=width,
        name=name,
    )


def chunks(items: np.ndarray) -> list[np.ndarray]:
    return [items[k : k + CHUNK] for k in range(0, len(items), CHUNK)]


def bounding_spheres(groups: list[np.ndarray]) -> np.ndarray:
    """Bounding sphere of each group of points, (group, 4): centre of the bounding box and radius [m]."""
    out = np.zeros((len(groups), 4))
    for sphere, points in zip(out, groups, strict=True):
        sphere[:3] = (points.min(axis=0) + points.max(axis=0)) / 2
        sphere[3] = np.linalg.norm(points - sphere[:3], axis=1).max()
    return out


def normal_cones(groups: list[np.ndarray]) -> np.ndarray:
    """Cone that contains the normals of each group, (group, 4): mean direction, and the limit of `types.Cone`.

    The limit is the sine of the largest angle to the mean direction, less the angle of walls. It is 2, which is never
    reached, if that angle is 90 degrees or more.
    """
    out = np.zeros((len(groups), 4))
    for cone, normals in zip(out, groups, strict=True):
        unit = normals / np.linalg.norm(normals, axis=1)[:, None]
        axis = unit.sum(axis=0)
        length = np.linalg.norm(axis)
        cosine = (unit @ axis).min() / length if length > 0 else -1.0
        cone[:3] = axis / length if length > 0 else (0, 0, 1)
        cone[3] = np.sin(np.arccos(min(cosine, 1.0)) - np.arcsin(UPRIGHT)) if cosine > 0 else 2.0
    return out


def face_normals(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Normals whose length is twice the triangle's area, (triangle, 3) [m^2]."""
    a, b, c = vertices[triangles].transpose(1, 0, 2)
    return np.cross(b - a, c - a)


def weld(vertices: np.ndarray, triangles: np.ndarray, tolerance: float = 1e-7):
    """Merge vertices at the same place. Mesh files often repeat vertices for shading."""
    _, first, inverse = np.unique(
        np.round(vertices / tolerance).astype(np.int64), axis=0, return_index=True, return_inverse=True
    )
    return vertices[first], inverse.reshape(-1)[triangles].astype(np.int32)


def divide(vertices: np.ndarray, triangles: np.ndarray, longest_edge: float, what: str = "mesh"):
    """Halve every edge longer than `longest_edge` [m], in both of its triangles at once, until none is left.

    Raises an InputError, which names `what`, instead of making more than MOST_TRIANGLES: long thin triangles give many
    more pieces than their area says.
    """
    while True:
        ends = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]], axis=2).astype(np.int64)  # (triangle, edge, 2)
        length = np.linalg.norm(vertices[ends[..., 0]] - vertices[ends[..., 1]], axis=2)
        count = len(vertices)
        code = ends[..., 0] * count + ends[..., 1]
        wanted = np.unique(code[length > longest_edge])
        if not len(wanted):
            return vertices, triangles
        vertices = np.vstack([vertices, vertices[np.stack([wanted // count, wanted % count], axis=1)].mean(axis=1)])
        place = np.minimum(np.searchsorted(wanted, code), len(wanted) - 1)
        cut = wanted[place] == code
        check_piece_count(len(triangles) + int(cut.sum()), what, longest_edge, MOST_TRIANGLES)
        triangles = _cut_at_midpoints(triangles, np.where(cut, count + place, -1)).astype(np.int32)


def _cut_at_midpoints(triangles: np.ndarray, middle: np.ndarray) -> np.ndarray:
    """Cut triangles at the midpoints of their edges. `middle`: (triangle, 3) vertex of each midpoint, -1: not cut."""
    cut = middle >= 0
    cuts = cut.sum(axis=1)
    # Rotate the corners until the cut edges come first.
    first = np.where(cuts == 1, cut.argmax(axis=1), np.where(cuts == 2, (cut.argmin(axis=1) + 1) % 3, 0))
    turned = (first[:, None] + np.arange(3)) % 3
    a, b, c = np.take_along_axis(triangles, turned, axis=1).T
    ab, bc, ca = np.take_along_axis(middle, turned, axis=1).T
    by_cuts = [
        [(a, b, c)],
        [(a, ab, c), (ab, b, c)],
        [(ab, b, bc), (a, ab, bc), (a, bc, c)],
        [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)],
    ]
    pieces = np.zeros((len(triangles), 4, 3), np.int64)
    for number, parts in enumerate(by_cuts):
        chosen = cuts == number
        for k, corners in enumerate(parts):
            pieces[chosen, k] = np.stack(corners, axis=1)[chosen]
    return pieces[np.arange(4) <= cuts[:, None]]


def smooth_patches(vertices: np.ndarray, triangles: np.ndarray, cosine: float = CREASE_COSINE) -> np.ndarray:
    """Index of the patch between sharp edges each triangle belongs to, (triangle,). `cosine` as in `edges_of`."""
    _, faces, sharp = edges_of(vertices, triangles, cosine)
    parent = list(range(len(triangles)))

    def root(t: int) -> int:
        while parent[t] != t:
            parent[t] = parent[parent[t]]
            t = parent[t]
        return t

    for one, other in faces[~sharp].tolist():
        parent[root(one)] = root(other)
    return np.array([root(t) for t in range(len(triangles))])


def order_in_space(vertices: np.ndarray, triangles: np.ndarray, patch: np.ndarray):
    """Sort vertices and triangles so that neighbours in space are neighbours in memory; triangles patch by patch.

    Chunks then have small bounding spheres and narrow cones. Returns the order of the vertices and the new triangles.
    """
    low, length = vertices.min(axis=0), float(np.ptp(vertices, axis=0).max())

    def code(points):
        return place_codes(points, low, length)

    order = np.argsort(code(vertices), kind="stable")
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    by_place = np.lexsort((code(vertices[triangles].mean(axis=1)), patch))
    return order, rank[triangles[by_place]]


def place_codes(points: np.ndarray, low: np.ndarray, length: float) -> np.ndarray:
    """Morton code of each point, (point,), in a cube of side `length` [m] at `low`. Near points have near codes."""
    q = ((points - low) * (1023.0 / max(length, 1e-12))).astype(np.int64)
    z = np.zeros(len(points), np.int64)
    for bit in range(10):
        for axis in range(3):
            z |= ((q[:, axis] >> bit) & 1) << (3 * bit + axis)
    return z


def edges_of(
    vertices: np.ndarray, triangles: np.ndarray, cosine: float = CREASE_COSINE
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edges (edge, 2) in the order of the triangles, their two faces (edge, 2), and whether they are sharp.

    Sharp are open edges, edges of more than two faces, and those between whose faces the normal turns by more than the
    angle of this `cosine`.
    """
    ends = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]], axis=2).reshape(-1, 2)
    code = ends[:, 0].astype(np.int64) * len(vertices) + ends[:, 1]
    order = np.argsort(code, kind="stable")
    starts = np.flatnonzero(np.diff(code[order], prepend=-1))
    uses = np.diff(np.append(starts, len(order)))
    first, last = order[starts], order[starts + uses - 1]
    n = face_normals(vertices, triangles)
    n /= np.linalg.norm(n, axis=1)[:, None]
    sharp = (uses != 2) | (np.einsum("ei,ei->e", n[first // 3], n[last // 3]) < cosine)
    by_first = np.argsort(first)
    faces = np.stack([first // 3, last // 3], axis=1)
    return ends[first][by_first], faces[by_first], sharp[by_first]


def crease_edges(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Open edges, and edges whose two faces meet at a sharp angle: there a footprint may end between two nodes."""
    edges, _, sharp = edges_of(vertices, triangles)
    return edges[sharp].astype(np.int32).reshape(-1, 2)


def vertex_normals(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Mean of the face normals at each vertex; zero at a crease, where no direction is normal to all faces."""
    unit = face_normals(vertices, triangles)
    unit /= np.linalg.norm(unit, axis=1)[:, None]
    normals = np.zeros_like(vertices)
    for k in range(3):
        np.add.at(normals, triangles[:, k], unit)
    length = np.linalg.norm(normals, axis=1)
    normals[length > 0] /= length[length > 0, None]
    sharp = np.zeros(len(vertices), bool)
    for k in range(3):
        corner = triangles[:, k]
        sharp[corner[np.einsum("ti,ti->t", normals[corner], unit) < SMOOTH_COSINE]] = True
    normals[sharp] = 0.0
    return normals


def bulges(vertices: np.ndarray, normals: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Outward curvature of each triangle of a rounded surface, from its vertex normals; zero where the body is sharp.

    An edge d of a circle with the end normals n_a and n_b sags by d.(n_b - n_a) / 8 at its middle. At the barycentric
    coordinates l the surface lies 4 (sag_ab l_a l_b + sag_bc l_b l_c + sag_ca l_c l_a) outside the flat triangle.
    Without this the corners of a slipping wheel's polygon would press the soil and its flats carry nothing.
    """
    face = face_normals(vertices, triangles)
    area = np.linalg.norm(face, axis=1)
    corner = normals[triangles]
    smooth = (np.einsum("tci,ti->tc", corner, face / area[:, None]) > SMOOTH_COSINE).all(axis=1)
    out = np.zeros((len(triangles), 4))
    for k in range(3):
        a, b = triangles[:, k], triangles[:, (k + 1) % 3]
        out[:, k] = np.einsum("ti,ti->t", vertices[b] - vertices[a], normals[b] - normals[a]) / 2
    out[~smooth, :3] = 0.0
    out[:, 3] = 1 / area
    return out


def wheel(
    radius: float,
    width: float,
    *,
    facets: int = 144,
    strips: int | None = None,
    grouser_height: float = 0.0,
    grouser_count: int = 0,
    grouser_width: float = 0.004,
    name: str = "wheel",
) -> Surface:
    """Surface of a wheel that turns about its y axis; lengths in [m].

    The rim is smooth. Grousers are not meshed: they move the shear plane outwards and add pressure of their own.
    """
    for what, value in (("radius", radius), ("width", width)):
        if not 0 < value <= LARGEST_BODY:
            raise InputError(
                f"wheel.{what}: {value} m is not allowed; it must be above 0 and at most {LARGEST_BODY:g} m"
            )
    for what, value in (("grouser_height", grouser_height), ("grouser_count", grouser_count)):
        if not (np.isfinite(value) and value >= 0):
            raise InputError(f"wheel.{what}: {value} is not allowed; it must be 0 or more")
    vertices, triangles = wheel_mesh(radius, width, facets, strips or int(np.ceil(width / STRIP)))
    outward = vertices * (1.0, 0.0, 1.0)
    middle = np.linalg.norm(outward, axis=1) < 1e-9
    outward[middle] = vertices[middle] * (0.0, 1.0, 0.0)
    normals = outward / np.linalg.norm(outward, axis=1)[:, None]
    lugs = np.zeros(len(vertices))
    if grouser_count and grouser_height:
        angle = np.arctan2(vertices[:, 2], vertices[:, 0])
        on_rim = np.linalg.norm(vertices[:, ::2], axis=1) > radius * (1 - 1e-9)
        share = lug_share(angle, 2 * np.pi / facets, radius, grouser_count, grouser_width)
        lugs = np.where(on_rim, share, 0.0)
    rim = prepare(
        vertices, triangles, width=width, normals=normals, lugs=lugs, name=name,
        grouser_height=grouser_height if grouser_count else 0.0,
    )  # fmt: skip
    if not (grouser_count and grouser_height):
        return replace(rim, rolls=True)
    return replace(rim, rolls=True, grouser_count=int(grouser_count), grouser_width=grouser_width)


def wheel_mesh(radius: float, width: float, facets: int, strips: int) -> tuple[np.ndarray, np.ndarray]:
    """Mesh of tread and side discs of a wheel about the y axis: vertices [m], triangles."""
    angle = 2 * np.pi * np.arange(facets) / facets
    y = np.linspace(-width / 2, width / 2, strips + 1)
    tread = np.zeros((facets, strips + 1, 3))
    tread[..., 0], tread[..., 1], tread[..., 2] = radius * np.cos(angle)[:, None], y, radius * np.sin(angle)[:, None]
    here = np.arange(facets)[:, None] * (strips + 1) + np.arange(strips)
    ahead = np.roll(here, -1, axis=0)
    triangles = [np.stack([here, here + 1, ahead], -1), np.stack([here + 1, ahead + 1, ahead], -1)]
    flat, faces = disc(radius, facets)
    vertices = [tread.reshape(-1, 3)]
    for side, turned in ((0, faces), (strips, faces[:, ::-1])):
        inner = np.insert(flat[facets:], 1, y[side], axis=1)
        start = sum(map(len, vertices)) - facets
        triangles.append(np.where(turned < facets, turned * (strips + 1) + side, turned + start))
        vertices.append(inner)
    return np.vstack(vertices), np.concatenate([t.reshape(-1, 3) for t in triangles]).astype(np.int32)


def disc(radius: float, facets: int, edge: float = 0.025) -> tuple[np.ndarray, np.ndarray]:
    """Mesh of a disc in the (x, z) plane as rings of triangles: points [m], (point, 2), and triangles, (triangle, 3).

    The `facets` points on the rim come first. `edge` [m] is the length of the triangles' edges.
    """
    count = max(1, round(radius / edge))
    radii = radius * (1 - np.arange(count) / count)
    sizes = [facets] + [max(6, round(2 * np.pi * r / edge)) for r in radii[1:]]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    points = [r * np.stack([np.cos(a), np.sin(a)], -1) for r, a in zip(radii, _ring_angles(sizes), strict=True)]
    faces = []
    for ring in range(count - 1):
        outer, inner, i, j = sizes[ring], sizes[ring + 1], 0, 0
        while i < outer or j < inner:
            a, b = starts[ring] + i % outer, starts[ring + 1] + j % inner
            if j >= inner or (i < outer and (i + 1) * inner <= (j + 1) * outer):
                i += 1
                faces.append((a, starts[ring] + i % outer, b))
            else:
                j += 1
                faces.append((a, starts[ring + 1] + j % inner, b))
    last, centre = sizes[-1], starts[-1]
    faces += [(starts[-2] + k, starts[-2] + (k + 1) % last, centre) for k in range(last)]
    return np.vstack([*points, [[0.0, 0.0]]]), np.array(faces)


def _ring_angles(sizes: list[int]) -> list[np.ndarray]:
    return [2 * np.pi * np.arange(n) / n for n in sizes]


def lug_share(angle, pitch, radius, count, width):
    """Share of the arc `pitch` [rad] centred at each `angle` [rad] that `count` grousers of `width` [m] cover."""
    fine = (np.arange(64) + 0.5) / 64 - 0.5
    at = np.asarray(angle)[:, None] + pitch * fine[None, :]
    spacing = 2 * np.pi / count
    away = np.abs((at + spacing / 2) % spacing - spacing / 2)
    return (away < width / (2 * radius)).mean(axis=1)
