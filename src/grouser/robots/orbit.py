"""Relative motion near a circular orbit as a force module: Hill's equations, also named after Clohessy and Wiltshire.

Only the relative motion of the masses is modelled. Torques on a body in the orbiting frame (gravity gradient,
gyroscopic terms of the orbital rate) are left out; at GEO they are some 1e-3 N m for satellites of some tonnes.
"""

from __future__ import annotations

import math

import numpy as np
import warp as wp

from grouser.errors import InputError
from grouser.model_compiler import compile_model
from grouser.module import Channel
from grouser.robots.orbit_kernels import push

EARTH = 3.986004418e14  # [m^3/s^2] gravitational parameter
GEO = 4.2164e7  # [m] radius of the geostationary orbit
AXES = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])  # radial, along the orbit, across it


class OrbitalMotion:
    """Force module: every body drifts as near a circular orbit. World x is radial, z is along the orbit."""

    def __init__(self, radius: float = GEO, parameter: float = EARTH, name: str = "orbit"):
        """`radius` [m] of the reference orbit, `parameter` [m^3/s^2] of the central body."""
        if not (radius > 0 and parameter > 0):
            raise InputError(f"{name}: radius {radius} m, parameter {parameter} m^3/s^2: both must be above 0")
        self.name, self.rate = name, math.sqrt(parameter / radius**3)  # [rad/s]
        self.bodies: tuple[str, ...] = ()
        self.step_limit = 0.1 / self.rate

    def declare(self, spec) -> None:
        """Select all bodies with mass."""
        model = compile_model(spec.copy())
        ids = [b for b in range(1, model.nbody) if model.body_mass[b] > 0 and model.body(b).name]
        self.bodies = tuple(model.body(b).name for b in ids)
        self._mass, self._centre = model.body_mass[ids].copy(), model.body_ipos[ids].copy()

    def bind(self, motion, rows, out, step) -> None:
        if motion.position.dtype._wp_scalar_type_ != wp.float64:
            raise InputError(f"{self.name}: float64 only: accelerations of 1e-8 m/s^2 are lost in float32")
        self.motion, self.out, self.device = motion, out, motion.position.device
        worlds = motion.position.shape[0]
        self._arrays = (
            wp.array(self._mass, dtype=wp.float64, device=self.device),
            wp.array(self._centre, dtype=wp.vec3d, device=self.device),
            wp.array(np.asarray(rows, np.int32), dtype=wp.int32, device=self.device),
        )
        self.impulse = np.zeros((worlds, 6))  # [N s], [N m s] about the world's origin
        self._before: np.ndarray | None = None

    def evaluate(self, h: float) -> None:
        m = self.motion
        wp.launch(
            push, dim=(m.position.shape[0], len(self.bodies)), device=self.device,
            inputs=[wp.float64(self.rate), wp.mat33d(*AXES.ravel()), *self._arrays,
                    m.position, m.rotation, m.velocity, m.angular_velocity, self.out.wrench],
        )  # fmt: skip
        place, wrench = m.position.numpy()[:, self._arrays[2].numpy()], self.out.wrench.numpy()
        turn = (wrench[..., 3:] + np.cross(place, wrench[..., :3])).sum(axis=1)
        self._before = h * np.concatenate([wrench[..., :3].sum(axis=1), turn], axis=1)

    def commit(self, h: float) -> None:
        if self._before is not None:
            self.impulse += self._before
            self._before = None

    def explain(self, code: int) -> tuple[str, bool]:
        return "unknown status", False

    def state(self):
        return {"impulse": self.impulse}

    def reset(self, worlds) -> None:
        self.impulse[list(worlds)] = 0
        self._before = None

    def channels(self) -> list[Channel]:
        labels = ("x", "y", "z", "about x", "about y", "about z")
        return [Channel(f"{self.name}/impulse", "N s, N m s", (6,), labels=labels, read=lambda: self.impulse)]


def drift(place: np.ndarray, velocity: np.ndarray, n: float, time: float) -> tuple[np.ndarray, np.ndarray]:
    """Position [m] and velocity [m/s], (3,) each, after `time` [s], in closed form; axes radial, along, across.

    Clohessy and Wiltshire (1960).
    """
    (x, y, z), (u, v, w) = place, velocity
    s, c = math.sin(n * time), math.cos(n * time)
    return (
        np.array([
            (4 - 3 * c) * x + s / n * u + 2 / n * (1 - c) * v,
            6 * (s - n * time) * x + y - 2 / n * (1 - c) * u + (4 * s - 3 * n * time) / n * v,
            c * z + s / n * w,
        ]),
        np.array([
            3 * n * s * x + c * u + 2 * s * v,
            -6 * n * (1 - c) * x - 2 * s * u + (4 * c - 3) * v,
            -n * s * z + c * w,
        ]),
    )  # fmt: skip
