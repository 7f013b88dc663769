"""Heights of a triangle mesh seen from above."""

from __future__ import annotations

import numpy as np
import warp as wp

from grouser.terrain.kernels import cast_down

NUDGE = 1e-4  # [node distances] shift of a ray that has missed the border of the mesh
RAY_ROUND_OFF = 4.0 * float(np.finfo(np.float32).eps)  # [mesh size] smaller shifts vanish in float32


def heights_from_above(vertices: np.ndarray, triangles: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Height [m], (ny, nx) of the topmost triangle at every node, NaN where there is none.

    Rays are cast in float32, relative to the middle of the mesh. The height is then computed in float64 from the plane
    of the triangle that was hit, and clamped to its lowest and highest corner.
    """
    middle = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    points = wp.array((vertices - middle).astype(np.float32), dtype=wp.vec3, device="cpu")
    indices = wp.array(np.ascontiguousarray(triangles, np.int32).ravel(), dtype=wp.int32, device="cpu")
    mesh = wp.Mesh(points=points, indices=indices)
    half_height = float(vertices[:, 2].max() - middle[2])
    margin = 1.0 + 0.1 * half_height
    faces = wp.array(np.full((len(y), len(x)), -1, np.int32), dtype=wp.int32, device="cpu")
    wp.launch(
        cast_down,
        dim=(len(y), len(x)),
        inputs=[
            mesh.id,
            wp.array((x - middle[0]).astype(np.float32), dtype=wp.float32, device="cpu"),
            wp.array((y - middle[1]).astype(np.float32), dtype=wp.float32, device="cpu"),
            half_height + margin,
            2.0 * (half_height + margin),
            max(NUDGE * float(x[1] - x[0]), RAY_ROUND_OFF * float(np.ptp(vertices, axis=0).max())),
        ],
        outputs=[faces],
        device="cpu",
    )
    return _plane_heights(vertices, triangles, faces.numpy(), x, y)


def _plane_heights(
    vertices: np.ndarray, triangles: np.ndarray, faces: np.ndarray, x: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """Height [m], (ny, nx) of the plane of each node's triangle at the node; NaN where the face is -1."""
    corners = vertices[triangles[np.maximum(faces, 0)]]  # (ny, nx, corner, 3)
    low, high = corners[..., 2].min(axis=-1), corners[..., 2].max(axis=-1)
    first = corners[..., 0, :]
    normal = np.cross(corners[..., 1, :] - first, corners[..., 2, :] - first)
    rise = normal[..., 0] * (x[None, :] - first[..., 0]) + normal[..., 1] * (y[:, None] - first[..., 1])
    with np.errstate(divide="ignore", invalid="ignore"):
        height = np.clip(np.nan_to_num(first[..., 2] - rise / normal[..., 2], nan=np.inf), low, high)
    return np.where(faces < 0, np.nan, height)
