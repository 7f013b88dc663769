"""What rays can meet: the present ground, shapes fixed in the world, and MuJoCo's geoms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import mujoco
import numpy as np
import warp as wp

from grouser.device import at
from grouser.errors import InputError
from grouser.sensors import kernels
from grouser.terrain.ground import Ground

SEEN_GROUPS = np.array([1, 1, 1, 0, 0, 0], np.uint8)  # groups of geoms that MuJoCo itself would show


class Scene:
    """Casts rays. The ground is read anew at each call, with its ruts of that moment."""

    def __init__(
        self,
        model: mujoco.MjModel,
        ground: Ground | None = None,
        fixed: Iterable[tuple[np.ndarray, np.ndarray]] = (),
    ):
        """`fixed`: vertices [m], (n, 3) in world axes, and triangles (m, 3) of shapes that are no geoms: rocks."""
        if ground is not None and ground.device != "cpu":
            raise InputError(f"sensors: ground on {ground.device!r} is not allowed; allowed is 'cpu'")
        self.model, self.ground = model, ground
        self._mesh = _one_mesh(list(fixed))
        self._tops: Any = None
        if ground is not None:
            shape = (len(ground.terrains), *ground.arrays.table.shape[1:])
            self._tops = wp.empty(shape, dtype=ground.precision.real, device="cpu")
            made = at(kernels.tile_tops, ground.precision.name)
            wp.launch(made, dim=shape, inputs=[ground.arrays], outputs=[self._tops], device="cpu")
            self._cast = at(kernels.cast_on_ground, ground.precision.name)

    def cast(
        self,
        data: mujoco.MjData,
        origin: np.ndarray,
        directions: np.ndarray,
        reach: float,
        *,
        world: int = 0,
        without: int = -1,
    ) -> np.ndarray:
        """Distances [m], (n,), from `origin` [m] along unit vectors (n, 3), world axes; inf beyond `reach` [m].

        Geoms of the body with number `without` are not seen.
        """
        rays = np.ascontiguousarray(directions, np.float64)
        distance = self._to_geoms(data, origin, rays, reach, without)
        found = wp.array(distance, dtype=wp.float64, device="cpu", copy=False)
        along, place = wp.array(rays, dtype=wp.vec3d, device="cpu", copy=False), wp.vec3d(*map(float, origin))
        if self._mesh is not None:
            wp.launch(kernels.cast_on_mesh, len(rays), [self._mesh.id, place, along], [found], device="cpu")
        if self.ground is not None:
            inputs = [self.ground.arrays, self._tops, world, place, along]
            wp.launch(self._cast, len(rays), inputs, [found], device="cpu")
        return np.where(distance < reach, distance, np.inf)

    def _to_geoms(
        self, data: mujoco.MjData, origin: np.ndarray, rays: np.ndarray, reach: float, without: int
    ) -> np.ndarray:
        """Distances [m], (n,), to MuJoCo's geoms; `reach` where there is none."""
        geom, distance = np.full(len(rays), -1, np.int32), np.full(len(rays), -1.0)
        place = np.array(origin, np.float64)
        mujoco.mj_multiRay(
            self.model, data, place, rays.ravel(), SEEN_GROUPS, True, without, geom, distance, None, len(rays), reach
        )
        return np.where((geom >= 0) & (distance >= 0), distance, reach)


def _one_mesh(parts: list[tuple[np.ndarray, np.ndarray]]) -> Any:
    """All shapes as one Warp mesh; None if there are none."""
    parts = [part for part in parts if len(part[1])]
    if not parts:
        return None
    first = np.cumsum([0, *(len(vertices) for vertices, _ in parts)])
    vertices = np.concatenate([vertices for vertices, _ in parts]).astype(np.float32)
    triangles = np.concatenate([part[1] + k for part, k in zip(parts, first, strict=False)]).astype(np.int32)
    return wp.Mesh(
        points=wp.array(vertices, dtype=wp.vec3, device="cpu"),
        indices=wp.array(triangles.ravel(), dtype=wp.int32, device="cpu"),
    )
