"""Virtual sensors of a vehicle: what controllers may know, read at the controller's own rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from grouser.control.wheels import body_id
from grouser.errors import InputError


@dataclass
class Readings:
    """One reading; arrays are (wheel,) and are written over by the next."""

    time: float  # [s]
    wheel_rate: np.ndarray  # [rad/s] encoders
    contact: np.ndarray  # bool, switches in the wheels
    contact_angle: np.ndarray  # [rad] ahead of the axle positive
    load: np.ndarray  # [N] normal force
    current: np.ndarray  # [A] of the motors, where a battery is given
    speed: float  # [m/s] of the chassis along its own x axis
    pitch: float  # [rad] nose up
    roll: float  # [rad] left side up
    yaw: float  # [rad]
    spin: np.ndarray  # [rad/s], (3,) gyros, chassis axes
    specific_force: np.ndarray  # [m/s^2], (3,) accelerometers, chassis axes; (0, 0, g) at rest
    position: np.ndarray  # [m], (3,) world
    rotation: np.ndarray  # (3, 3) chassis to world


class VehicleSensors:
    """Encoders, IMU, contact, load, current and pose of one vehicle, from MuJoCo and its tyre module.

    Accelerometers give the mean over the time since the last reading: (v - v_last) / dt + g.
    """

    def __init__(
        self, tyres: Any, joints: Sequence[str], chassis: str = "chassis", battery: Any = None, world: int = 0
    ):
        """`tyres` a TyreModule, `joints` of its wheels, `battery` with a `current` (world, motor) [A]."""
        if len(joints) != len(tyres.wheels):
            raise InputError(f"sensors: {len(joints)} joints for {len(tyres.wheels)} wheels")
        self.tyres, self.joints, self.chassis, self.battery, self.world = tyres, tuple(joints), chassis, battery, world
        self._wired = False
        count = len(self.joints)
        zeros = np.zeros(count)
        self.last = np.zeros(5)  # velocity, time, whether there was one
        self.readings = Readings(
            0.0, zeros.copy(), np.zeros(count, bool), zeros.copy(), zeros.copy(), zeros.copy(), 0.0, 0.0, 0.0, 0.0,
            np.zeros(3), np.zeros(3), np.zeros(3), np.eye(3),
        )  # fmt: skip

    def _wire(self, model: mujoco.MjModel) -> None:
        self._body = body_id(model, self.chassis)
        joints = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name) for name in self.joints]
        if min(joints) < 0:
            raise InputError(f"sensors: joint {self.joints[joints.index(-1)]!r} is not in the model")
        self._dofs = model.jnt_dofadr[joints]
        self._free = int(model.jnt_dofadr[model.body_jntadr[self._body]])
        if model.jnt_type[model.body_jntadr[self._body]] != mujoco.mjtJoint.mjJNT_FREE:
            raise InputError(f"sensors: body {self.chassis!r} has no free joint")
        self._gravity = model.opt.gravity.tolist()
        self._seen = self.tyres.observe()  # views that stay
        self._wired = True

    def read(self, time: float, data: mujoco.MjData) -> Readings:
        if not self._wired:
            self._wire(data.model)
        r, seen, w = self.readings, self._seen, self.world
        r.time = time
        r.wheel_rate[:] = data.qvel[self._dofs]
        r.contact[:] = seen["contact"][w]
        r.contact_angle[:] = seen["angle"][w]
        r.load[:] = seen["force"][w, :, 2]
        if self.battery is not None:
            r.current[:] = self.battery.current[w]
        matrix = data.xmat[self._body].tolist()
        r.rotation[:] = data.xmat[self._body].reshape(3, 3)
        r.position[:] = data.xpos[self._body]
        vx, vy, vz, *r.spin[:] = data.qvel[self._free : self._free + 6].tolist()
        r.pitch = math.atan2(matrix[6], math.hypot(matrix[7], matrix[8]))
        r.roll, r.yaw = math.atan2(matrix[7], matrix[8]), math.atan2(matrix[3], matrix[0])
        r.speed = vx * matrix[0] + vy * matrix[3] + vz * matrix[6]
        wx, wy, wz, before, known = self.last.tolist()
        per = 1 / (time - before) if known and time > before else 0.0
        gx, gy, gz = self._gravity
        ax, ay, az = (vx - wx) * per - gx, (vy - wy) * per - gy, (vz - wz) * per - gz
        for k in range(3):
            r.specific_force[k] = ax * matrix[k] + ay * matrix[3 + k] + az * matrix[6 + k]
        self.last[:] = vx, vy, vz, time, 1.0
        return r

    def state(self) -> dict[str, np.ndarray]:
        return {"last": self.last[None]}

    def reset(self) -> None:
        self.last[:] = 0.0

    @property
    def upside_down(self) -> bool:
        return float(self.readings.rotation[2, 2]) < 0
