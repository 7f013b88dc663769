"""Irregular rocks as closed triangle meshes, and the volume, centre of mass and inertia of a mesh."""

from __future__ import annotations

from functools import cache

import numpy as np

DIVISIONS = 2  # of an icosahedron: 162 vertices, 320 triangles
PLANES = 14  # number of planes that shape a rock (this and the ratios below are assumed after pictures of Mars)
DISTANCE = (0.72, 1.0)  # smallest and largest distance of the planes from the middle
SHARPNESS = 9.0  # exponent p: larger values give sharper edges
WIDTH = (0.65, 0.95)  # over length
HEIGHT = (0.5, 0.75)  # over length
ROUGHNESS = 0.025  # [radius] standard deviation of the bumps


def rock_mesh(
    diameter: float, random: np.random.Generator, divisions: int = DIVISIONS
) -> tuple[np.ndarray, np.ndarray]:
    """Vertices [m], (162, 3) and outward triangles (320, 3) of a random rock with its centre of mass at the origin.

    With one division less: 42 vertices and 80 triangles of the same rock.

    The mean of its length and width seen from above is `diameter` [m]. The shape is a rounded polyhedron, the unit ball
    of the gauge (sum_j max(0, d.n_j / h_j)^p)^(1/p), which is then flattened and roughened. Every ray from its middle
    crosses the surface once, so the mesh is closed and does not intersect itself.
    """
    directions, triangles = icosphere(divisions)
    facing = np.maximum(directions @ _spread_directions(PLANES, random).T, 0.0) / random.uniform(*DISTANCE, PLANES)
    radius = (facing**SHARPNESS).sum(axis=1) ** (-1 / SHARPNESS) * (1 + ROUGHNESS * _bumps(directions, random))
    vertices = radius[:, None] * directions
    extent = np.ptp(vertices, axis=0)
    wanted = np.array([1.0, random.uniform(*WIDTH), random.uniform(*HEIGHT)])
    vertices *= wanted / extent * diameter / wanted[:2].mean()
    return vertices - mass_properties(vertices, triangles)[1], triangles


def mass_properties(vertices: np.ndarray, triangles: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume [m^3], centre of mass [m], (3,), and inertia about it for a density of one [m^5], (3, 3).

    Sums over the tetrahedra between the origin and each face of a closed mesh.
    """
    corners = vertices[triangles]
    volumes = np.linalg.det(corners) / 6
    volume = float(volumes.sum())
    sums = corners.sum(axis=1)
    centre = (volumes[:, None] * sums).sum(axis=0) / (4 * volume)
    second = np.einsum("f,fi,fj->ij", volumes, sums, sums) + np.einsum("f,fki,fkj->ij", volumes, corners, corners)
    second = second / 20 - volume * np.outer(centre, centre)  # integral of r r^T about the centre
    return volume, centre, np.trace(second) * np.eye(3) - second


@cache
def icosphere(divisions: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors (vertex, 3) and outward triangles of an icosahedron whose triangles are split in four repeatedly."""
    g = (1 + 5**0.5) / 2
    vertices = np.array(
        [(-1, g, 0), (1, g, 0), (-1, -g, 0), (1, -g, 0), (0, -1, g), (0, 1, g),
         (0, -1, -g), (0, 1, -g), (g, 0, -1), (g, 0, 1), (-g, 0, -1), (-g, 0, 1)]
    )  # fmt: skip
    triangles = np.array(
        [(0, 11, 5), (0, 5, 1), (0, 1, 7), (0, 7, 10), (0, 10, 11), (1, 5, 9), (5, 11, 4), (11, 10, 2), (10, 7, 6),
         (7, 1, 8), (3, 9, 4), (3, 4, 2), (3, 2, 6), (3, 6, 8), (3, 8, 9), (4, 9, 5), (2, 4, 11), (6, 2, 10),
         (8, 6, 7), (9, 8, 1)], np.int32
    )  # fmt: skip
    for _ in range(divisions):
        edges = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]], axis=2).reshape(-1, 2)
        ends, number = np.unique(edges, axis=0, return_inverse=True)
        ab, bc, ca = (number.reshape(-1, 3) + len(vertices)).T
        a, b, c = triangles.T
        vertices = np.vstack([vertices, vertices[ends].mean(axis=1)])
        parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        triangles = np.concatenate([np.stack(part, axis=1) for part in parts]).astype(np.int32)
    vertices = vertices / np.linalg.norm(vertices, axis=1)[:, None]
    vertices.flags.writeable = triangles.flags.writeable = False
    return vertices, triangles


def _spread_directions(count: int, random: np.random.Generator) -> np.ndarray:
    """Unit vectors (count, 3) in nearly evenly spread directions: points of a spiral, jittered and randomly rotated."""
    k = np.arange(count) + 0.5
    z, angle = 1 - 2 * k / count, np.pi * (1 + 5**0.5) * k
    even = np.column_stack([np.sqrt(1 - z**2) * np.cos(angle), np.sqrt(1 - z**2) * np.sin(angle), z])
    turn = np.linalg.qr(random.normal(size=(3, 3)))[0]
    jittered = even @ turn + random.normal(scale=0.2, size=even.shape)
    return jittered / np.linalg.norm(jittered, axis=1)[:, None]


def _bumps(directions: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Smooth noise (direction,) of about unit standard deviation: waves with two to five periods round the rock."""
    waves = random.normal(size=(12, 3))
    waves *= (random.uniform(2, 5, 12) / np.linalg.norm(waves, axis=1))[:, None]
    noise = np.cos(directions @ waves.T + random.uniform(0, 2 * np.pi, 12)).sum(axis=1)
    return noise / np.sqrt(len(waves) / 2)
