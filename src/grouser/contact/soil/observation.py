"""What the soil bodies feel, as arrays for controllers, recordings and learning: sinkage, slip, force."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from grouser.contact.soil.laws import STUCK_SPEED
from grouser.module import Motion, Outputs
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.ground import Ground

ROLLING = 0.1  # rim over travel speed above which the rim says where "ahead" is, below it the travel does
FLAT = 1e-9  # [m] by which a plane may be off
SHAPES = {"sinkage": (), "slip": (), "force": (3,), "torque": (3,), "contact_area": ()}  # after (world, body)


class Observation:
    """Arrays that `read` fills anew: the same ones every time, so keep a copy of what you want to keep."""

    def __init__(self, ground: Ground, motion: Motion, rows: Sequence[int], out: Outputs, window: Any):
        self.terrain, self.rows, self._spacing = ground.elevation, np.asarray(rows, np.intp), ground.spacing
        self.worlds, self.count = motion.position.shape[0], len(self.rows)
        normal = _only_normal(self.terrain)
        self._normal = None if normal is None else np.broadcast_to(normal, (self.worlds, self.count, 3))
        self._position, self._velocity, self._spin = map(_reader, (motion.position, motion.velocity, motion.spin))
        self._effective = _reader(out.effective)
        self._sinkage, self._area, self._lowest = map(_reader, (window.sinkage, window.area, window.lowest))
        self.values = {name: np.zeros((self.worlds, self.count, *shape)) for name, shape in SHAPES.items()}

    def read(self) -> dict[str, np.ndarray]:
        """Sinkage [m], slip [1], force [N], torque about the origin [N m], contact area [m^2]; (world, body, …)."""
        values, shape = self.values, (self.worlds, self.count)
        effective = self._effective()
        values["force"][...], values["torque"][...] = effective[..., :3], effective[..., 3:]
        values["sinkage"][...] = self._sinkage().reshape(shape)
        values["contact_area"][...] = self._area().reshape(shape)
        values["slip"][...] = self.slip()
        return values

    def slip(self) -> np.ndarray:
        """(world, body) of the deepest point along the undisturbed ground; 0 where a body touches no soil."""
        position = self._position()[:, self.rows]
        touches = self._area().reshape(position.shape[:2]) > 0
        normal = self._normal
        if normal is None:
            normal = self.terrain.normal(position[..., 0], position[..., 1])
        lowest = self._lowest().reshape(position.shape) * (self._spacing, self._spacing, 1.0)
        lowest[..., :2] += self.terrain.origin
        depth = np.where(touches, ((position - lowest) * normal).sum(-1), 0.0)
        slip = slip_of(self._velocity()[:, self.rows], self._spin()[:, self.rows], depth, normal)
        return np.where(touches, slip, 0.0)


def slip_of(velocity: np.ndarray, spin: np.ndarray, depth: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Driving 1 - v/u, braking u/v - 1, with u = depth spin x normal the speed of the lower rim, v that of travel.

    Both are vectors along the ground (m/s); v counts along u. `depth` [m] is how far the deepest point lies below the
    frame origin: for a wheel its radius. A body that slides without turning has slip -1, one at rest 0.
    """
    a, b, c = spin[..., 0], spin[..., 1], spin[..., 2]  # by components: np.cross alone takes longer than all of this
    i, j, k = normal[..., 0], normal[..., 1], normal[..., 2]
    x, y, z = velocity[..., 0], velocity[..., 1], velocity[..., 2]
    p, q, r = b * k - c * j, c * i - a * k, a * j - b * i
    sinking = x * i + y * j + z * k
    rim = depth * np.sqrt(p * p + q * q + r * r)
    travel = np.sqrt(np.maximum(x * x + y * y + z * z - sinking * sinking, 0.0))
    both = depth * (p * x + q * y + r * z)  # spin x normal is at right angles to the normal
    rolls = rim > ROLLING * travel
    other = both / np.maximum(np.where(rolls, rim, travel), 1e-30)
    u, v = np.where(rolls, rim, other), np.where(rolls, other, travel)
    larger = np.maximum(np.abs(u), np.abs(v))
    return np.where(larger < STUCK_SPEED, 0.0, (u - v) / np.maximum(larger, STUCK_SPEED))


def _only_normal(terrain: ElevationGrid) -> np.ndarray | None:
    """The normal of a terrain that is a plane, as most are."""
    z = terrain.heights
    level = z[0, 0] + (z[0, 1] - z[0, 0]) * np.arange(z.shape[1]) + (z[1, 0] - z[0, 0]) * np.arange(z.shape[0])[:, None]
    return terrain.normal(*terrain.origin) if np.allclose(z, level, rtol=0, atol=FLAT) else None


def _reader(array: Any) -> Callable[[], np.ndarray]:
    """On the CPU a view made once, else a copy at every call."""
    if array.device.is_cpu:
        view = array.numpy()
        return lambda: view
    return array.numpy
