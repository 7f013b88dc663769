"""Virtual sensors of a vehicle: the readings that controllers get, at the controller's own rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mujoco
import numpy as np
import warp as wp

from grouser.control.sensor_kernels import LastReading, Sensed, Wires, feel_soil, sense
from grouser.control.wheels import Worlds, body_id
from grouser.device import at, fields
from grouser.errors import InputError
from grouser.launches import Launches


class Readings:
    """One reading. Arrays are (wheel,) unless stated otherwise, and the next reading overwrites them."""

    wheel_rate: np.ndarray  # [rad/s] from encoders
    contact: np.ndarray  # bool, from switches in the wheels
    contact_angle: np.ndarray  # [rad] positive ahead of the axle
    load: np.ndarray  # [N] normal force
    current: np.ndarray  # [A] of the motors, if a battery is given
    angular_velocity: np.ndarray  # [rad/s], (3,) gyros, chassis axes
    spin: np.ndarray  # [rad/s], (3,) the same under its old name
    specific_force: np.ndarray  # [m/s^2], (3,) accelerometers, chassis axes; (0, 0, g) at rest
    position: np.ndarray  # [m], (3,) world
    rotation: np.ndarray  # (3, 3) chassis to world

    def __init__(self, sensed: dict[str, np.ndarray], current: np.ndarray, world: int):
        self._time, self._speed, self._attitude = (sensed[name][world:] for name in ("time", "speed", "attitude"))
        self.current = current[world]
        for name in (
            "wheel_rate",
            "contact",
            "contact_angle",
            "load",
            "angular_velocity",
            "specific_force",
            "position",
            "rotation",
        ):
            setattr(self, name, sensed[name][world])
        self.spin = self.angular_velocity

    @property
    def time(self) -> float:
        """Time [s] of the reading."""
        return float(self._time[0])

    @property
    def speed(self) -> float:
        """Speed [m/s] of the chassis along its own x axis."""
        return float(self._speed[0])

    @property
    def roll(self) -> float:
        """Roll [rad], positive with the left side up."""
        return float(self._attitude[0, 0])

    @property
    def pitch(self) -> float:
        """Pitch [rad], positive with the nose up."""
        return float(self._attitude[0, 1])

    @property
    def yaw(self) -> float:
        """Yaw [rad], positive to the left."""
        return float(self._attitude[0, 2])


class VehicleSensors:
    """Encoders, IMU, contact, load, current and pose of one vehicle, from MuJoCo and the module of its wheels.

    Accelerometers give the mean over the time since the last reading: (v - v_last) / dt - g.
    """

    def __init__(
        self, tyres: Any, joints: Sequence[str], chassis: str = "chassis", battery: Any = None, worlds: int = 1
    ):
        """`tyres`: a TyreModule, or a SoilModule whose first bodies are the wheels. `joints`: of these wheels.

        `battery`: has a `current` [A], (world, motor).
        """
        self.on_soil = not hasattr(tyres, "wheels")
        count = len(joints) if self.on_soil else len(tyres.wheels)
        if len(joints) != count or len(joints) > len(tyres.bodies):
            raise InputError(f"sensors: {len(joints)} joints for {min(count, len(tyres.bodies))} wheels")
        self.tyres, self.joints, self.chassis, self.battery = tyres, tuple(joints), chassis, battery
        self.worlds, count = Worlds(self, worlds, self._find), len(self.joints)
        self.clock = wp.zeros(1, dtype=wp.float64, device="cpu")  # [s] time of the next reading
        self._now = self.clock.numpy()
        self.sensed, self.last = _allocate(Sensed, worlds, count), _allocate(LastReading, worlds, count)
        self.sensed.rotation.fill_(np.eye(3))
        host = _on_host(self.sensed)
        current = np.zeros((worlds, count)) if battery is None else battery.current
        self._readings = [Readings(host, current, world) for world in range(worlds)]
        self._on_wheels: list[wp.array] = []
        self._reads: dict[int, Callable[[], None]] = {}

    def _find(self, model: mujoco.MjModel) -> None:
        self._body = body_id(model, self.chassis)
        joints = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name) for name in self.joints]
        if min(joints) < 0:
            raise InputError(f"sensors: joint {self.joints[joints.index(-1)]!r} is not in the model")
        free = model.body_jntadr[self._body]
        if model.jnt_type[free] != mujoco.mjtJoint.mjJNT_FREE:
            raise InputError(f"sensors: body {self.chassis!r} has no free joint")
        self._dofs, self._free = model.jnt_dofadr[joints], int(model.jnt_dofadr[free])

    def record(self, launch: Callable[..., Any], data: mujoco.MjData) -> None:
        """Record the launch of a reading. It must be the first launch of a controller."""
        wires: Any = Wires()
        wires.world = self.worlds.index(data)
        wires.chassis, wires.free_dof = self._body, self._free
        wires.wheel_dofs = wp.array(self._dofs.astype(np.int32), dtype=wp.int32, device="cpu")
        wires.gravity = wp.vec3d(*data.model.opt.gravity)
        wires.speeds = wp.array(data.qvel, dtype=wp.float64, copy=False, device="cpu")
        wires.positions = wp.array(data.xpos, dtype=wp.vec3d, copy=False, device="cpu")
        wires.rotations = wp.array(data.xmat.reshape(-1, 3, 3), dtype=wp.mat33d, copy=False, device="cpu")
        if self.on_soil:
            seen, dtype = self._felt(), "float64"
            launch(at(feel_soil, dtype), 1, [wires, self.tyres.out.effective, *seen])
        else:
            wheels, dtype = self.tyres.wheel_states, self.tyres.precision.name
            seen = [wheels.touching, wheels.angle, wheels.force]
        launch(at(sense, dtype), 1, [wires, self.clock, *seen, self.last, self.sensed])

    def _felt(self) -> list[wp.array]:
        """Contact, angle and force of wheels on soil, (world, wheel); each reading finds them anew."""
        if not self._on_wheels:
            shape = (self.worlds.count, len(self.joints))
            self._on_wheels = [wp.zeros(shape, dtype=kind, device="cpu") for kind in (wp.int32, wp.float64, wp.vec3d)]
        return self._on_wheels

    def set_time(self, time: float) -> None:
        """Set the time [s] of the next reading."""
        self._now[0] = time

    def read(self, time: float, data: mujoco.MjData) -> Readings:
        world = self.worlds.index(data)
        if world not in self._reads:
            self._reads[world] = Launches(lambda launch: self.record(launch, data)).run
        self.set_time(time)
        self._reads[world]()
        return self._readings[world]

    @property
    def readings(self) -> Readings:
        """The last reading of the first world."""
        return self._readings[0]

    def state(self) -> dict[str, np.ndarray]:
        return _on_host(self.last)

    def reset(self, worlds: Sequence[int] | None = None) -> None:
        chosen = slice(None) if worlds is None else self.worlds.check(worlds)
        for values in self.state().values():
            values[chosen] = 0


def _allocate(kind: Any, worlds: int, wheels: int) -> Any:
    """Allocate a struct of arrays (world,) or (world, wheel), according to their number of axes."""
    made = kind()
    for name, values in fields(kind).items():
        setattr(made, name, wp.zeros((worlds, wheels)[: values.ndim], dtype=values.dtype, device="cpu"))
    return made


def _on_host(made: Any) -> dict[str, np.ndarray]:
    """NumPy views of the arrays of a struct, by name."""
    return {name: getattr(made, name).numpy() for name in fields(made._cls)}
