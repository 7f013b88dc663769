"""A body as a cloud of vertices, by which the papers' laws find contact (Krenn et al. 2008, eq. 6-10)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from grouser.contact.refinement import check_piece_count, piece_count
from grouser.contact.soil.lugs import lug_tips
from grouser.contact.soil.surface import MOST_TRIANGLES, Surface, bounding_spheres, chunks, divide, place_codes

# [cells] longest edge between vertices. Every point of a triangle is within edge / sqrt(3) of a vertex, so below
# sqrt(3) / 2 every cell under the body has one. Krenn et al. 2008: smaller than the distance of the nodes.
EDGE = 0.85


def vertex_cloud(surface: Surface, spacing: float) -> Surface:
    """The surface with vertices less than a cell of `spacing` [m] apart. Lugs are rows of vertices at their tips."""
    edge = EDGE * spacing
    pieces = piece_count(surface.vertices, surface.triangles, edge)
    what = f"mesh of {surface.name!r} on a grid of {spacing:g} m"
    check_piece_count(pieces, what, edge, MOST_TRIANGLES)
    points, _ = divide(surface.vertices, surface.triangles, edge, what)
    if surface.grouser_count and surface.grouser_height > 0:
        points = np.vstack([points, lug_tips(surface, edge).points])
    order = np.argsort(place_codes(points, points.min(axis=0), float(np.ptp(points, axis=0).max())), kind="stable")
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    points = points[order]
    return replace(
        surface, vertices=points, normals=np.zeros_like(points), lugs=np.zeros(len(points)),
        triangles=rank[surface.triangles], creases=rank[surface.creases],
        vertex_spheres=bounding_spheres(chunks(points)), grouser_height=0.0, grouser_count=0,
    )  # fmt: skip
