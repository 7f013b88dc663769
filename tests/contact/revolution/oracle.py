"""An independent oracle: the layer law integrated over a fine cloud of points in NumPy, against a section as lines."""

from __future__ import annotations

import numpy as np


def signed_depth(samples: np.ndarray, inner: bool, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Depth [m] of points (n, 2) r, z below a section of straight lines, and its normal; where the nearest point is an
    end of the section, nothing (nan)."""
    a, b = samples[:-1], samples[1:]
    way = b - a
    length = np.hypot(*way.T)
    u = way / length[:, None]
    n = np.column_stack([u[:, 1], -u[:, 0]]) * (-1 if inner else 1)
    x = np.einsum("pk,lk->pl", q, u) - np.einsum("lk,lk->l", a, u)
    foot = a[None] + np.clip(x, 0, length)[..., None] * u
    k = np.linalg.norm(q[:, None] - foot, axis=2).argmin(axis=1)
    rows = np.arange(len(q))
    depth = -np.einsum("pk,pk->p", q - a[k], n[k])
    past = ((k == 0) & (x[rows, k] < 0)) | ((k == len(a) - 1) & (x[rows, k] > length[k]))
    return np.where(past, np.nan, depth), n[k]


def layer_wrench(points, normals, areas, samples, inner, stiffness) -> np.ndarray:
    """Wrench [N, N m] about the origin on the body the points lie on, both in the axes of the section: the sum of
    c u (-m.n) m dA."""
    r = np.hypot(points[:, 0], points[:, 1])
    depth, m2 = signed_depth(samples, inner, np.column_stack([r, points[:, 2]]))
    radial = points[:, :2] / np.maximum(r, 1e-300)[:, None]
    m = np.column_stack([m2[:, :1] * radial, m2[:, 1]])
    facing = -np.einsum("pk,pk->p", normals, m)
    load = np.where((depth > 0) & (facing > 0), stiffness * depth * facing * areas, 0.0)
    force = load[:, None] * m
    return np.concatenate([force.sum(axis=0), np.cross(points, force).sum(axis=0)])


def sphere_cloud(radius: float, centre, count: int = 700) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, outward normals and areas of a sphere: equal steps of height, and of angle."""
    height = (np.arange(count) + 0.5) / count * 2 - 1
    angle = 2 * np.pi * (np.arange(2 * count) + 0.5) / (2 * count)
    H, A = np.meshgrid(height, angle, indexing="ij")
    across = np.sqrt(1 - H**2)
    normals = np.stack([across * np.cos(A), across * np.sin(A), H], -1).reshape(-1, 3)
    return np.asarray(centre) + radius * normals, normals, np.full(len(normals), 4 * np.pi * radius**2 / len(normals))
