"""Rigs for force modules, without an engine: prescribed motion, the implicit matrix, symmetries.

    rig = ManufacturedMotion(module, worlds=1, step=2e-3)
    rig.follow(SteadyMotion(position=(0, 0, 0.145), velocity=(0.05, 0, 0), spin=(0, 0.33, 0)), 50)
    rig.wrench, rig.implicit                    # (world, body, 6), (world, body, 6, 6), float64
    check_implicit(rig, length=0.15).error      # B against finite differences of the wrench
    image_errors(rig, motion, [QUARTER_TURN, MIRROR], 50, length=0.15)   # worlds 1, 2 move as the images of world 0

Everything is SI, world axes; quaternions are xyzw. NumPy and Warp are all it needs (a GPU machine may have no more).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from grouser.module import Motion, Outputs
from grouser.precision import precision

UPRIGHT = np.array([0.0, 0.0, 0.0, 1.0])


class ManufacturedMotion:
    """A module bound to bodies that go where they are told; nothing pushes back.

    `place` sets poses and velocities, `advance` does what a simulation does once they are known: commit, evaluate.
    """

    def __init__(
        self, module: Any, *, dtype: str = "float64", device: str = "cpu", worlds: int = 1, step: float = 1e-3
    ):
        p, count = precision(dtype), len(module.bodies)
        self.module, self.worlds, self.step, self.time, self._kind = module, worlds, step, 0.0, p.numpy

        def zeros(kind):
            return wp.zeros((worlds, count), dtype=kind, device=device)

        self.motion = Motion(zeros(p.vec3), zeros(p.quat), zeros(p.vec3), zeros(p.vec3))
        self.out = Outputs(zeros(p.vec6), zeros(p.mat66), zeros(p.vec6), zeros(wp.int32))
        self.position, self.velocity, self.spin = (np.zeros((worlds, count, 3)) for _ in range(3))
        self.rotation = np.tile(UPRIGHT, (worlds, count, 1))
        module.bind(self.motion, range(count), self.out, step)
        module.reset(range(worlds))

    def place(self, position=None, rotation=None, velocity=None, spin=None) -> ManufacturedMotion:
        """Set what is given, broadcast to (world, body, 3 or 4); the rest stays."""
        m = self.motion
        for value, host, device in (
            (position, self.position, m.position),
            (rotation, self.rotation, m.rotation),
            (velocity, self.velocity, m.velocity),
            (spin, self.spin, m.angular_velocity),
        ):
            if value is not None:
                host[...] = value
                device.assign(host.astype(self._kind))
        return self

    def evaluate(self) -> ManufacturedMotion:
        self.module.evaluate(self.step)
        return self

    def advance(self) -> ManufacturedMotion:
        """The end of a step has been placed: the module's state moves on, then the wrench of the next step."""
        wp.copy(self.out.effective, self.out.wrench)  # nothing was accelerated: the body got what was applied
        self.module.commit(self.step)
        return self.evaluate()

    def follow(self, pose: Callable[[float], tuple[Any, Any]], count: int, each: Callable[[], None] | None = None):
        """Take `count` steps along `pose(time) -> position, rotation`; calls `each` after every one.

        Velocities are backward differences, as in the engine's own steps x+ = x + h v+. The first call begins at
        rest in pose(0).
        """
        if self.time == 0.0:
            self.place(*pose(0.0), np.zeros(3), np.zeros(3)).advance()
        for _ in range(count):
            position, rotation = self.position.copy(), self.rotation.copy()
            self.time += self.step
            self.place(*pose(self.time))
            turn = rotation_vector(product(self.rotation, conjugate(rotation)))
            self.place(velocity=(self.position - position) / self.step, spin=turn / self.step).advance()
            if each is not None:
                each()
        return self

    @property
    def wrench(self) -> np.ndarray:
        return self.out.wrench.numpy().astype(float)

    @property
    def implicit(self) -> np.ndarray:
        return self.out.implicit.numpy().astype(float)


@dataclass(frozen=True)
class SteadyMotion:
    """Constant velocity [m/s] and spin [rad/s] of a frame origin, as `pose(time)`."""

    position: tuple[float, float, float]
    rotation: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [rad] rotation vector at the start
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    spin: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __call__(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        turned = product(quaternion(np.array(self.spin) * time), quaternion(np.array(self.rotation)))
        return np.array(self.position) + np.array(self.velocity) * time, turned


def steady_motions(height: tuple[float, float], *, tilt=0.1, speed=0.1, spin=1.0, sink=0.02):
    """Hypothesis strategy: places near the origin, any heading, tilts to `tilt` [rad], speeds [m/s], spins [rad/s]."""
    from hypothesis import strategies as st

    def within(*sizes: float):
        return st.tuples(*(st.floats(-size, size) for size in sizes))

    place = st.tuples(*(st.floats(-0.1, 0.1) for _ in range(2)), st.floats(*height))
    return st.builds(SteadyMotion, place, within(tilt, tilt, 3.0), within(speed, speed, sink), within(spin, spin, spin))


# ---- the implicit matrix ----------------------------------------------------------------------------


@dataclass(frozen=True)
class ImplicitCheck:
    """How well B stands for the wrench: all relative to the largest entry of B, angles as lengths on `length`."""

    error: float  # of B against -h df/dv by central differences
    asymmetry: float
    least: float  # eigenvalue; below 0 where B would push
    B: np.ndarray  # (6, 6), scaled
    differences: np.ndarray  # (6, 6), scaled


def check_implicit(
    rig: ManufacturedMotion, *, length: float, change: float = 1e-7, body: int = 0, world: int = 0, seed: int = 0
) -> ImplicitCheck:
    """B against finite differences of the wrench: f is given at the predicted geometry, so B = -h df/dv.

    `length` [m] makes rotations comparable with translations, `change` [m/s] is the step of the differences. Six unit
    directions and six at random (a matrix built entry by entry may be right along the axes alone). Where a law
    yields or slips B is on purpose not its derivative: bring the body to rest first.
    """
    scale = np.array([1, 1, 1, length, length, length])
    velocity, spin = rig.velocity[world, body].copy(), rig.spin[world, body].copy()

    def wrench(direction: np.ndarray, size: float) -> np.ndarray:
        rig.velocity[world, body] = velocity + size * direction[:3]
        rig.spin[world, body] = spin + size * direction[3:] / length
        return rig.place(velocity=rig.velocity, spin=rig.spin).evaluate().wrench[world, body] / scale

    random = np.random.default_rng(seed).normal(size=(6, 6))
    directions = np.vstack([np.eye(6), random / np.linalg.norm(random, axis=1)[:, None]])
    slopes = [-rig.step * (wrench(d, change) - wrench(d, -change)) / (2 * change) for d in directions]
    wrench(np.zeros(6), 0.0)
    B = rig.implicit[world, body] / np.outer(scale, scale)
    largest = max(float(np.abs(B).max()), 1e-300)
    error = max(float(np.abs(s - B @ d).max()) for s, d in zip(slopes, directions, strict=True))
    return ImplicitCheck(
        error=error / largest,
        asymmetry=float(np.abs(B - B.T).max()) / largest,
        least=float(np.linalg.eigvalsh((B + B.T) / 2)[0]) / largest,
        B=B,
        differences=np.array(slopes[:6]).T,
    )


# ---- symmetries -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Symmetry:
    """x -> matrix x + shift; a mirror also mirrors the body in its own x-z plane, which must be one of the body."""

    name: str
    matrix: tuple[tuple[float, float, float], ...] = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    shift: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def point(self, x: np.ndarray) -> np.ndarray:
        return x @ np.array(self.matrix, float).T + np.array(self.shift)

    def rotation(self, q: np.ndarray) -> np.ndarray:
        """(…, 4) quaternions of the image."""
        m = np.array(self.matrix, float)
        axial = round(np.linalg.det(m)) * m  # how rotation vectors go
        if np.linalg.det(m) < 0:
            return quaternion(rotation_vector(q) @ axial.T)  # M R M
        return product(quaternion(_vector_of(m)), q)

    def wrench(self, f: np.ndarray) -> np.ndarray:
        m = np.array(self.matrix, float)
        return np.concatenate([f[..., :3] @ m.T, round(np.linalg.det(m)) * f[..., 3:] @ m.T], axis=-1)


def translation(x: float, y: float) -> Symmetry:
    return Symmetry(f"shift by {x:g}, {y:g} m", shift=(x, y, 0.0))


QUARTER_TURN = Symmetry("quarter turn about the vertical", ((0, -1, 0), (1, 0, 0), (0, 0, 1)))
HALF_TURN = Symmetry("half turn about the vertical", ((-1, 0, 0), (0, -1, 0), (0, 0, 1)))
MIRROR = Symmetry("mirror y to -y", ((1, 0, 0), (0, -1, 0), (0, 0, 1)))


def image_errors(
    rig: ManufacturedMotion, motion: Callable, symmetries: Sequence[Symmetry], count: int, *, length: float
) -> dict[str, float]:
    """Largest difference between the wrenches on an image of the motion and the image of the wrenches.

    World 0 of the rig (of len(symmetries) + 1 worlds, one body) follows `motion`, world k + 1 its image under
    symmetry k. Relative to the largest force, torques over `length` [m].
    """
    scale = np.array([1, 1, 1, length, length, length])
    worst, largest = np.zeros(len(symmetries)), 0.0

    def poses(time: float):
        x, q = motion(time)
        position = np.stack([x, *(s.point(x) for s in symmetries)])
        rotation = np.stack([q, *(s.rotation(q) for s in symmetries)])
        return position[:, None], rotation[:, None]

    def compare() -> None:
        nonlocal largest
        wrench = rig.wrench[:, 0] / scale
        largest = max(largest, float(np.abs(wrench[0]).max()))
        for k, s in enumerate(symmetries):
            worst[k] = max(worst[k], float(np.abs(s.wrench(wrench[0]) - wrench[k + 1]).max()))

    rig.follow(poses, count, compare)
    return {s.name: float(w) / max(largest, 1e-300) for s, w in zip(symmetries, worst, strict=True)}


# ---- rotations --------------------------------------------------------------------------------------


def quaternion(vector: np.ndarray) -> np.ndarray:
    """(…, 4) xyzw from rotation vectors [rad] (…, 3)."""
    vector = np.asarray(vector, float)
    angle = np.linalg.norm(vector, axis=-1, keepdims=True)
    return np.concatenate([vector * 0.5 * np.sinc(angle / (2 * np.pi)), np.cos(angle / 2)], axis=-1)


def rotation_vector(q: np.ndarray) -> np.ndarray:
    """(…, 3) [rad], the short way round."""
    q = np.where(q[..., 3:] < 0, -q, q)
    sine = np.linalg.norm(q[..., :3], axis=-1, keepdims=True)
    factor = np.where(sine > 0, 2 * np.arctan2(sine, q[..., 3:]) / np.maximum(sine, 1e-300), 2.0)
    return q[..., :3] * factor


def conjugate(q: np.ndarray) -> np.ndarray:
    return q * np.array([-1.0, -1.0, -1.0, 1.0])


def product(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Quaternion of the rotation q followed by p."""
    a, b = np.broadcast_arrays(np.asarray(p, float), np.asarray(q, float))
    v, w, x, y = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    return np.concatenate([w * x + y * v + np.cross(v, x), w * y - (v * x).sum(-1, keepdims=True)], axis=-1)


def _vector_of(m: np.ndarray) -> np.ndarray:
    """Rotation vector of a proper rotation matrix about z."""
    return np.array([0.0, 0.0, np.arctan2(m[1, 0], m[0, 0])])
