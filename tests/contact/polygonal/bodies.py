"""Meshes, layers and rigs for the tests of polygonal contact."""

from __future__ import annotations

import numpy as np

from grouser.contact.pairs import KINDS, LOST
from grouser.contact.polygonal import Layer, Pair, PolygonalModule, Shape, shape
from tests.rig import ManufacturedMotion

RIGID = Layer(young=np.inf, name="rigid")
SOFT = Layer(young=1e7, poisson=0.3, thickness=0.02, name="soft")


def grid(x, y, height) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of z = height(x, y) over a grid, looking up."""
    X, Y = np.meshgrid(x, y)
    rows, columns = X.shape
    k = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    triangles = np.concatenate(
        [np.stack([k, k + 1, k + columns + 1], 1), np.stack([k, k + columns + 1, k + columns], 1)]
    )
    return np.stack([X, Y, height(X, Y)], -1).reshape(-1, 3), triangles


def plane(half: float = 1.0, cells: int = 1, layer: Layer = SOFT, tilt=(0.0, 0.0), **more) -> Shape:
    """A square of sides 2 half [m] that looks up, z = tilt . (x, y)."""
    along = np.linspace(-half, half, cells + 1)
    return shape(*grid(along, along, lambda x, y: tilt[0] * x + tilt[1] * y), layer, name="plane", **more)


def ball_cap(radius: float, half: float, cells: int, layer: Layer = RIGID) -> Shape:
    """The lower side of a sphere about the origin, its square patch of sides 2 half cut into cells^2 squares."""
    along = np.linspace(-half, half, cells + 1)
    vertices, triangles = grid(along, along, lambda x, y: -np.sqrt(radius**2 - x**2 - y**2))
    return shape(vertices, triangles[:, ::-1], layer, name="ball")


def trough(radius: float, half: float, length: float, cells: int, layer: Layer = RIGID) -> Shape:
    """The lower side of a cylinder about the y axis."""
    x, y = np.linspace(-half, half, cells + 1), np.array([-length / 2, length / 2])
    vertices, triangles = grid(x, y, lambda x, y: -np.sqrt(radius**2 - x**2))
    return shape(vertices, triangles[:, ::-1], layer, name="cylinder")


def box_mesh(half) -> tuple[np.ndarray, np.ndarray]:
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * np.asarray(half, float)
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return corners, np.array([t for a, b, c, d in faces for t in ((a, b, c), (a, c, d))])


def box(half, layer: Layer = RIGID, **more) -> Shape:
    return shape(*box_mesh(half), layer, **{"name": "box", **more})


def ball_mesh(radius: float, level: int) -> tuple[np.ndarray, np.ndarray]:
    """A sphere from an octahedron, every triangle divided into four `level` times."""
    v = [np.array(p, float) for p in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))]
    f = [(0, 2, 4), (2, 1, 4), (1, 3, 4), (3, 0, 4), (2, 0, 5), (1, 2, 5), (3, 1, 5), (0, 3, 5)]
    for _ in range(level):
        middle: dict[tuple[int, int], int] = {}

        def half(a, b, middle=middle):
            key = (min(a, b), max(a, b))
            if key not in middle:
                m = v[a] + v[b]
                middle[key] = len(v)
                v.append(m / np.linalg.norm(m))
            return middle[key]

        f = [
            t
            for a, b, c in f
            for ab, bc, ca in [(half(a, b), half(b, c), half(c, a))]
            for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))
        ]
    return radius * np.array(v), np.array(f)


def ball(radius: float, level: int, layer: Layer = RIGID, **more) -> Shape:
    return shape(*ball_mesh(radius, level), layer, **{"name": "ball", **more})


def on_ground(body: Shape, ground: Shape, *, step=1e-3, worlds=1, dtype="float64", device="cpu", **pair):
    """A rig of one body, "body", against one fixed shape, "ground"."""
    module = PolygonalModule({"body": body}, {"ground": ground}, [Pair("body", "ground", **pair)])
    return ManufacturedMotion(module, step=step, worlds=worlds, dtype=dtype, device=device)


def rest(rig: ManufacturedMotion, position, rotation=(0.0, 0.0, 0.0, 1.0)) -> ManufacturedMotion:
    """The wrench on bodies that stand still."""
    rig.place(position, rotation, np.zeros(3), np.zeros(3)).advance()
    assert (rig.out.status.numpy() % KINDS < LOST).all()
    return rig
