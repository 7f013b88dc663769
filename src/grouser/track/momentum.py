"""Momentum of the links of a track, on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from grouser.track.parts import Link


def momentum_of(state: Any, link: Link, at: slice) -> np.ndarray:
    """Linear [N s] and angular momentum about the world's origin [N m s] of the links `at`, (world, 6)."""
    x, v, w, q = (
        getattr(state, name).numpy().astype(float)[:, at]
        for name in ("position", "velocity", "angular_velocity", "rotation")
    )
    R = matrices(q)
    local = np.einsum("...ji,...j->...i", R, w) * np.array(link.inertia)
    turning, linear = np.einsum("...ij,...j->...i", R, local), link.mass * v
    return np.concatenate([linear.sum(1), (np.cross(x, linear) + turning).sum(1)], axis=-1)


def matrices(q: np.ndarray) -> np.ndarray:
    """Rotation matrices (…, 3, 3) of quaternions xyzw."""
    x, y, z, w = np.moveaxis(q, -1, 0)
    return np.stack([
        np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], -1),
        np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], -1),
        np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1),
    ], -2)  # fmt: skip
