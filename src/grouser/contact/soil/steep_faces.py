"""Find the steep faces of a body: flat parts of its surface that push soil ahead of them.

Plates, blades, boxes and the sides of wheels have them. `faces.py` has the device functions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grouser.contact.soil.small_shapes import pieces, presses_on_nodes
from grouser.contact.soil.surface import SMOOTH_COSINE, Surface, edges_of, face_normals, smooth_patches

EDGE_COSINE = 0.94  # a face ends where the normal turns by more than about 20 degrees
LEAST_SIDE = 0.5  # [cells] a face with a smaller side is left out
THIN = 1.5  # [cells] a thinner body is a blade: without a row of nodes below it soil would slide through it
# LEAVES: a foot whose points press its own rut. CUTS: a body that presses on nodes. BLADE: a thin body.
LEAVES, CUTS, BLADE = range(3)
MOST_FACES = 16  # largest faces of a body that are kept


@dataclass(frozen=True)
class SteepFace:
    """A flat part of a body's surface, body frame. Whether it is steep depends on how the body is turned."""

    normal: np.ndarray  # (3,) outward
    middle: np.ndarray  # [m], (3,) centroid
    radius: float  # [m] of a sphere about the middle that holds the face
    side: float  # [m] the smaller of its two sizes
    edges: np.ndarray  # [m], (edge, 2, 3) its outline
    spins: bool  # the side of a wheel
    cuts: int  # what it does to the nodes that it passes: LEAVES, CUTS or BLADE


def steep_faces(surface: Surface, spacing: float) -> list[SteepFace]:
    """All flat parts of a surface between sharp edges, the largest first; none of a round body.

    A part is flat if its triangles turn by less than about 30 degrees from their mean normal and it ends at sharp
    edges. The tread of a wheel is not, its two sides are.
    """
    patch = smooth_patches(surface.vertices, surface.triangles, EDGE_COSINE)
    edges, owners, sharp = edges_of(surface.vertices, surface.triangles, EDGE_COSINE)
    normals = face_normals(surface.vertices, surface.triangles)  # twice the area
    piece = pieces(surface.vertices, surface.triangles)
    members, of_edges = _members(patch), _members(patch[owners[sharp]])
    sharp_edges = edges[sharp]
    areas = {one: normals[triangles].sum(axis=0) for one, triangles in members.items()}
    sizes = {one: float(np.linalg.norm(area)) for one, area in areas.items()}
    found: list[SteepFace] = []
    for one in sorted(members, key=lambda one: -sizes[one]):  # the largest first, until there are enough
        if len(found) == MOST_FACES:
            break
        triangles, area, size = members[one], areas[one], sizes[one]
        unit = normals[triangles] / np.linalg.norm(normals[triangles], axis=1)[:, None]
        if size == 0 or (unit @ area).min() < SMOOTH_COSINE * size:
            continue
        outline = sharp_edges[of_edges.get(one, [])]
        if len(outline) < 3:
            continue
        corners = surface.vertices[np.unique(outline)]
        across = np.sort(np.ptp(corners @ _in_plane(area / size), axis=0))
        if across[0] < LEAST_SIDE * spacing:
            continue
        middle = (corners.min(axis=0) + corners.max(axis=0)) / 2
        radius = float(np.linalg.norm(corners - middle, axis=1).max())
        whole = surface.vertices[np.unique(surface.triangles[piece == piece[triangles[0]]])]
        thickness = float((corners @ (area / size)).max() - (whole @ (area / size)).min())
        cuts = BLADE if thickness < THIN * spacing else CUTS if presses_on_nodes(surface, whole, spacing) else LEAVES
        outline = surface.vertices[outline]
        found.append(SteepFace(area / size, middle, radius, float(across[0]), outline, surface.rolls, cuts))
    return found


def _members(patch: np.ndarray) -> dict[int, np.ndarray]:
    """Rows of each patch in order, from the patches of each row, (row,) or (row, 2)."""
    if not len(patch):
        return {}
    flat = patch.reshape(len(patch), -1)
    columns = flat.shape[1]
    order = np.argsort(flat, axis=None, kind="stable")
    sorted_patches = flat.ravel()[order]
    starts = np.flatnonzero(np.diff(sorted_patches, prepend=-1))
    parts = np.split(order // columns, starts[1:])
    return {int(sorted_patches[start]): np.unique(part) for start, part in zip(starts, parts, strict=True)}


def _in_plane(normal: np.ndarray) -> np.ndarray:
    """Two unit vectors in the plane of a face, (3, 2)."""
    first = np.cross(normal, np.eye(3)[np.abs(normal).argmin()])
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(normal, first)], axis=1)
