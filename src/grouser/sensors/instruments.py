"""Sensors at work in a simulation: they take samples, add noise, and keep them until they are recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mujoco
import numpy as np

from grouser.errors import InputError
from grouser.module import Channel
from grouser.sensors.descriptions import DepthCamera, Imu, RangeSensor, Sensor
from grouser.sensors.scene import Scene
from grouser.terrain import checks

_BODY = int(mujoco.mjtObj.mjOBJ_XBODY)


class Instrument:
    """A sensor of each world. Its noise depends on seed, world and number of the sample, and on nothing else."""

    def __init__(self, sensor: Sensor, model: mujoco.MjModel, worlds: int):
        names = [model.body(b).name for b in range(model.nbody)]
        if sensor.body not in names:
            known = [name for name in names if name]
            raise InputError(
                f"sensor {sensor.name!r}: body {checks.shown(sensor.body)} is not known"
                f"{checks.nearest(sensor.body, known)}; allowed: {', '.join(known)}"
            )
        self.sensor, self.model, self.worlds = sensor, model, worlds
        self.body = names.index(sensor.body)
        self.count = np.zeros(worlds, np.int64)  # samples taken
        self.time = np.full(worlds, np.nan)  # [s] of the last sample
        self.recorded = False  # whether samples are kept until they are read
        self._waiting: dict[str, list[list[Any]]] = {}
        self._turn, self._place = sensor.rotation, np.array(sensor.position)

    @property
    def name(self) -> str:
        return self.sensor.name

    @property
    def period(self) -> float:
        """[s]"""
        return 1 / self.sensor.rate

    def pose(self, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
        """Position [m] of the sensor and its axes as columns, (3, 3), in world axes."""
        turn = data.xmat[self.body].reshape(3, 3)
        return data.xpos[self.body] + turn @ self._place, turn @ self._turn

    def values(self) -> dict[str, np.ndarray]:
        """Arrays (world, …) of the last sample by name."""
        raise NotImplementedError

    def sample(self, time: float, data: Sequence[mujoco.MjData]) -> None:
        """Take a sample of all worlds at `time` [s]."""
        for world, d in enumerate(data):
            generator = np.random.default_rng((self.sensor.seed, world, int(self.count[world])))
            if self._measure(world, d, time, generator):
                self.time[world] = time
                self._keep(world)
            self.count[world] += 1

    def _measure(self, world: int, data: mujoco.MjData, time: float, generator: np.random.Generator) -> bool:
        """Set `values` of a world. Returns false if there is nothing to measure yet."""
        raise NotImplementedError

    def _keep(self, world: int) -> None:
        if self.recorded:
            for name, values in {"time": self.time, **self.values()}.items():
                lists = self._waiting.setdefault(name, [[] for _ in range(self.worlds)])
                lists[world].append(np.array(values[world]))

    def begin_recording(self, wanted: bool) -> None:
        self.recorded = wanted
        self._waiting.clear()

    def _take(self, name: str, shape: tuple[int, ...]) -> Any:
        """Samples since the last call, (m, *shape), of the only world or a list of those of all worlds."""
        lists = self._waiting.pop(name, [[] for _ in range(self.worlds)])
        rows = [np.array(found).reshape(len(found), *shape) for found in lists]
        return rows[0] if self.worlds == 1 else rows

    def state(self) -> dict[str, np.ndarray]:
        return {"count": self.count, "time": self.time, **self.values()}

    def reset(self, worlds: Sequence[int]) -> None:
        chosen = list(worlds)
        self.count[chosen] = 0
        self.time[chosen] = np.nan
        for values in self.values().values():
            values[chosen] = np.nan
        for lists in self._waiting.values():
            for world in chosen:
                lists[world].clear()

    def _channel(self, name: str, unit: str, shape: tuple[int, ...], labels: tuple[str, ...] = ()) -> Channel:
        read: Callable[[], Any] = lambda: self._take(name, shape)  # noqa: E731
        return Channel(f"sensor/{self.name}/{name}", unit, shape, self.name, "ragged", labels, read=read)

    def channels(self) -> list[Channel]:
        raise NotImplementedError


class RangeInstrument(Instrument):
    """A lidar or a depth camera at work."""

    sensor: RangeSensor

    def __init__(self, sensor: RangeSensor, model: mujoco.MjModel, worlds: int, scene: Scene):
        super().__init__(sensor, model, worlds)
        self.scene = scene
        self.range = np.full((worlds, *sensor.shape), np.nan)  # [m] distance, of a camera the depth along its axis
        self._rays = sensor.directions().reshape(-1, 3)
        # A camera measures along its axis, x; the range of its pixels is longer by 1 / cos.
        self._along = self._rays[:, 0] if isinstance(sensor, DepthCamera) else np.ones(len(self._rays))

    def values(self) -> dict[str, np.ndarray]:
        return {"range": self.range}

    def points(self, world: int = 0) -> np.ndarray:
        """Points [m], (rows, columns, 3), of the last scan in sensor axes; not finite where nothing returned."""
        with np.errstate(invalid="ignore"):
            distance = self.range[world] / self._along.reshape(self.sensor.shape)
            return distance[..., None] * self._rays.reshape(*self.sensor.shape, 3)

    def _measure(self, world: int, data: mujoco.MjData, time: float, generator: np.random.Generator) -> bool:
        s = self.sensor
        origin, axes = self.pose(data)
        reach = s.farthest / float(self._along.min())
        rays = self._rays @ axes.T
        exact = self._along * self.scene.cast(data, origin, rays, reach, world=world, without=self.body)
        self.range[world] = self._noisy(exact, generator).reshape(s.shape)
        return True

    def _noisy(self, exact: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Add noise and the limits of the sensor: too near -inf, too far or nothing +inf (ROS REP 117), lost NaN."""
        s = self.sensor
        found = np.isfinite(exact)
        there = np.where(found, exact, 0.0)
        spread = s.noise[0] + s.noise[1] * there + s.noise[2] * there**2
        seen = there + spread * generator.standard_normal(len(exact))
        lost = generator.random(len(exact)) < s.dropout
        out = np.where(lost, np.nan, np.where(seen < s.nearest, -np.inf, seen))
        return np.where(found & (exact <= s.farthest), out, np.inf)

    def channels(self) -> list[Channel]:
        return [self._channel("time", "s", ()), self._channel("range", "m", self.sensor.shape)]


class ImuInstrument(Instrument):
    """An inertial unit at work. Its first sample comes one period after the start: it needs a change of velocity."""

    sensor: Imu

    def __init__(self, sensor: Imu, model: mujoco.MjModel, worlds: int):
        super().__init__(sensor, model, worlds)
        self.acceleration = np.full((worlds, 3), np.nan)  # [m/s^2] specific force, sensor axes
        self.angular_velocity = np.full((worlds, 3), np.nan)  # [rad/s], sensor axes
        self._before = np.full((worlds, 4), np.nan)  # time [s] and velocity [m/s], world axes, at the last sample

    def values(self) -> dict[str, np.ndarray]:
        return {"acceleration": self.acceleration, "angular_velocity": self.angular_velocity}

    def state(self) -> dict[str, np.ndarray]:
        return {**super().state(), "before": self._before}

    def reset(self, worlds: Sequence[int]) -> None:
        super().reset(worlds)
        self._before[list(worlds)] = np.nan

    def _measure(self, world: int, data: mujoco.MjData, time: float, generator: np.random.Generator) -> bool:
        s, six = self.sensor, np.zeros(6)
        mujoco.mj_objectVelocity(self.model, data, _BODY, self.body, six, 0)
        origin, axes = self.pose(data)
        velocity = six[3:] + np.cross(six[:3], origin - data.xpos[self.body])
        then, old = self._before[world, 0], self._before[world, 1:].copy()
        self._before[world] = time, *velocity
        if not then < time:  # NaN too
            return False
        bias = np.random.default_rng((s.seed, world)).standard_normal((2, 3))
        noise = generator.standard_normal((2, 3))
        force = axes.T @ ((velocity - old) / (time - then) - self.model.opt.gravity)
        self.acceleration[world] = force + s.acceleration_bias * bias[0] + s.acceleration_noise * noise[0]
        self.angular_velocity[world] = axes.T @ six[:3] + s.angular_bias * bias[1] + s.angular_noise * noise[1]
        return True

    def channels(self) -> list[Channel]:
        axes = ("x", "y", "z")
        return [
            self._channel("time", "s", ()),
            self._channel("acceleration", "m/s^2", (3,), axes),
            self._channel("angular_velocity", "rad/s", (3,), axes),
        ]


def instrument(sensor: Sensor, model: mujoco.MjModel, worlds: int, scene: Scene) -> Instrument:
    """The sensor at work in a simulation of `model`."""
    if isinstance(sensor, Imu):
        return ImuInstrument(sensor, model, worlds)
    if isinstance(sensor, RangeSensor):
        return RangeInstrument(sensor, model, worlds, scene)
    raise InputError(f"sensor {sensor!r}: allowed are DepthCamera, Lidar and Imu")
