"""Sensors of a docking servicer: a stereo camera, distance sensors on the tool, contact switches.

Each is a controller that samples at its own rate and holds the value. Noise is a function of seed and sample number, so
a run is repeatable and continues from a checkpoint bit for bit.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from grouser.control.wheels import body_id
from grouser.errors import InputError
from grouser.module import Channel


@dataclass(frozen=True)
class Mount:
    """A frame fixed to a body."""

    body: str
    position: tuple[float, float, float]  # [m] in the body's axes
    rotation: np.ndarray  # (3, 3) its axes in the body's

    def pose(self, data: Any) -> tuple[np.ndarray, np.ndarray]:
        """Position [m], (3,) and axes (3, 3) in the world."""
        body = body_id(data.model, self.body)
        turn = data.xmat[body].reshape(3, 3)
        return data.xpos[body] + turn @ np.asarray(self.position), turn @ self.rotation


class Sampled(ABC):
    """A sensor with a rate and seeded noise."""

    def __init__(self, name: str, rate: float, seed: int, stream: int):
        if not rate > 0:
            raise InputError(f"{name}: rate = {rate}: allowed is a number above 0")
        self.name, self.period = name, 1 / rate
        self._seed = (seed, stream)
        self.count = np.zeros(1, np.int64)  # samples taken

    def noise(self, size: int) -> np.ndarray:
        """Standard normal numbers (size,) for the sample being taken."""
        return np.random.default_rng([*self._seed, int(self.count[0])]).standard_normal(size)

    def act(self, time: float, sensors: Any, command: Any) -> None:
        self.sample(sensors)
        self.count[0] += 1

    @abstractmethod
    def sample(self, data: Any) -> None:
        """Take one sample."""


class StereoCamera(Sampled):
    """Measures the pose of the client's nozzle in servicer axes, with noise and a limited field of view.

    As for a stereo pair, noise across the line of sight grows with range, and along it with the square of the range.
    """

    def __init__(
        self, camera: Mount, target: Mount, *, rate: float, bearing_noise: float, depth_noise: float,
        attitude_noise: float, half_field_deg: float, farthest: float,
        bias: Sequence[float] = (0.0, 0.0, 0.0), tilt_bias: Sequence[float] = (0.0, 0.0, 0.0), seed: int = 0,
    ):  # fmt: skip
        """`bearing_noise`, `attitude_noise` [rad]; `depth_noise` [1/m] is multiplied by the range squared.

        `farthest` [m]: largest range. `bias` [m], `tilt_bias` [rad]: constant errors of the calibration."""
        super().__init__("camera", rate, seed, 1)
        for what, value in (("bearing_noise", bearing_noise), ("depth_noise", depth_noise),
                            ("attitude_noise", attitude_noise)):  # fmt: skip
            if not value >= 0:
                raise InputError(f"camera: {what} = {value}: allowed is 0 or more")
        self.camera, self.target = camera, target
        self.bearing_noise, self.depth_noise, self.attitude_noise = bearing_noise, depth_noise, attitude_noise
        self.bias, self.tilt_bias = np.asarray(bias, float), np.asarray(tilt_bias, float)
        self.half_field, self.farthest = math.radians(half_field_deg), farthest
        self.position = np.zeros(3)  # [m] position of the target's frame in the axes of the camera's body
        self.tilt = np.zeros(3)  # [rad] rotation vector of the target's axes against the body's
        self.seen = np.zeros(1, bool)
        self.measurement_count = np.zeros(1, np.int64)  # samples with the target in view

    def sample(self, data: Any) -> None:
        eye, axes = self.camera.pose(data)
        place, turn = self.target.pose(data)
        sight = axes.T @ (place - eye)
        far = float(np.linalg.norm(sight))
        inside = sight[2] > 0 and math.atan2(math.hypot(sight[0], sight[1]), sight[2]) <= self.half_field
        self.seen[0] = inside and far <= self.farthest
        if not self.seen[0]:
            return
        noise = self.noise(6)
        sight = sight + noise[:3] * [self.bearing_noise * far, self.bearing_noise * far, self.depth_noise * far**2]
        body = data.xmat[body_id(data.model, self.camera.body)].reshape(3, 3)
        self.position[:] = np.asarray(self.camera.position) + self.camera.rotation @ sight + self.bias
        self.tilt[:] = rotation_vector(body.T @ turn) + self.tilt_bias + self.attitude_noise * noise[3:]
        self.measurement_count[0] += 1

    def state(self) -> dict[str, Any]:
        return {
            "count": self.count, "position": self.position, "tilt": self.tilt, "seen": self.seen,
            "measurement_count": self.measurement_count,
        }  # fmt: skip

    def reset(self, worlds: Sequence[int]) -> None:
        for array in self.state().values():
            array[:] = 0

    def channels(self) -> list[Channel]:
        return [
            Channel("camera/position", "m", (3,), "servicer", labels=("x", "y", "z"), read=lambda: self.position[None]),
            Channel("camera/tilt", "rad", (3,), "servicer", labels=("x", "y", "z"), read=lambda: self.tilt[None]),
            Channel("camera/seen", "1", (), "", read=lambda: self.seen.astype(float)),
        ]


class DistanceSensors(Sampled):
    """Measures distances from the tool to the wall of the nozzle along directions fixed to the tool."""

    def __init__(
        self, tool: Mount, nozzle: Mount, section: tuple[np.ndarray, np.ndarray], origins: np.ndarray,
        directions: np.ndarray, *, rate: float, noise: float, farthest: float, seed: int = 0,
    ):  # fmt: skip
        """`section`: z and r [m] of the nozzle's wall. `origins` [m], `directions`: (sensor, 3) in the tool's axes."""
        super().__init__("distance sensors", rate, seed, 2)
        if not noise >= 0:
            raise InputError(f"distance sensors: noise = {noise}: allowed is 0 or more")
        self.tool, self.nozzle, self.section = tool, nozzle, section
        self.origins, self.directions, self.spread, self.farthest = origins, directions, noise, farthest
        self.distance = np.full(len(origins), np.inf)  # [m]

    def sample(self, data: Any) -> None:
        place, turn = self.tool.pose(data)
        base, axes = self.nozzle.pose(data)
        origins = (place - base + self.origins @ turn.T) @ axes
        found = wall_distance(origins, self.directions @ turn.T @ axes, *self.section)
        found = found + self.spread * self.noise(len(found))
        self.distance[:] = np.where(found <= self.farthest, np.maximum(found, 0.0), np.inf)

    def state(self) -> dict[str, Any]:
        return {"count": self.count, "distance": self.distance}

    def reset(self, worlds: Sequence[int]) -> None:
        self.count[:], self.distance[:] = 0, np.inf

    def channels(self) -> list[Channel]:
        names = tuple(str(k + 1) for k in range(len(self.distance)))

        def read() -> np.ndarray:
            return np.where(np.isfinite(self.distance), self.distance, np.nan)[None]

        return [Channel("tool/distance", "m", (len(names),), "", labels=names, read=read)]


class ContactSwitches:
    """Switches that close above a force. They have no sampling rate: a reading is always current."""

    def __init__(self, forces: Callable[[], np.ndarray], threshold: float):
        """`forces`: returns the force [N], (switch,) on each. `threshold` [N]: force at which they close."""
        self.forces, self.threshold = forces, threshold

    def closed(self) -> np.ndarray:
        return self.forces() > self.threshold


def wall_distance(origins: np.ndarray, directions: np.ndarray, z: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Distance [m], (ray,) along rays to a surface of revolution with straight lines between (z, r); inf for a miss.

    On a line r = r_0 + k (z - z_0) the equation |o + t u|_xy = r is quadratic in t.
    """
    slope = np.diff(r) / np.where(np.diff(z) == 0, 1e-300, np.diff(z))
    at = r[:-1] + slope * (origins[:, 2:] - z[:-1])  # (ray, line) radius of the cone at the origin's z
    grow = slope * directions[:, 2:]
    a = (directions[:, :2] ** 2).sum(axis=1)[:, None] - grow**2
    b = (origins[:, :2] * directions[:, :2]).sum(axis=1)[:, None] - at * grow
    c = (origins[:, :2] ** 2).sum(axis=1)[:, None] - at**2
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(b * b - a * c)
        times = np.stack([(-b - root) / a, (-b + root) / a, np.where(np.abs(a) < 1e-12, -c / (2 * b), np.nan)])
        height = origins[:, 2:] + times * directions[:, 2:]
        good = (times > 0) & (height >= z[:-1]) & (height <= z[1:]) & (at + grow * times >= 0)
    return np.where(good, times, np.inf).min(axis=(0, 2))


def rotation_vector(matrix: np.ndarray) -> np.ndarray:
    """Rotation vector [rad], (3,) of a rotation matrix."""
    quat, out = np.zeros(4), np.zeros(3)
    mujoco.mju_mat2Quat(quat, np.ascontiguousarray(matrix).ravel())
    mujoco.mju_quat2Vel(out, quat, 1.0)
    return out
