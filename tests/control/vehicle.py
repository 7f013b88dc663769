"""A vehicle with six steered wheels, moved as geometry says (no forces) or let go in MuJoCo."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import mujoco
import numpy as np

from grouser.control import Wheels
from grouser.control.odometry import chord

RADIUS = 0.15  # [m]
PLACES = np.array([[0.65, 0.6], [0.65, -0.6], [0.0, 0.6], [0.0, -0.6], [-0.65, 0.6], [-0.65, -0.6]])  # [m]
LIMIT = math.radians(110)
DRIVE, STEER = tuple(f"drive{k}" for k in range(6)), tuple(f"steer{k}" for k in range(6))


def vehicle(*, gravity=0.0, mirrored=False, gear=1.0, limit=LIMIT) -> mujoco.MjSpec:
    """`mirrored`: joint axes the other way round; `gear` of the drives."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.gravity = [0, 0, -gravity]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    chassis = spec.worldbody.add_body(name="chassis", pos=[0, 0, RADIUS])
    chassis.add_freejoint(name="base")
    chassis.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.6, 0.4, 0.1], mass=100, contype=0, conaffinity=0)
    sign, hinge = -1 if mirrored else 1, mujoco.mjtJoint.mjJNT_HINGE
    for k, (x, y) in enumerate(PLACES):
        knuckle = chassis.add_body(name=f"knuckle{k}", pos=[x, y, 0])
        knuckle.add_joint(
            name=f"steer{k}", type=hinge, axis=[0, 0, sign], range=[-limit, limit], limited=True, armature=0.1
        )
        knuckle.add_geom(size=[0.02, 0, 0], mass=1, contype=0, conaffinity=0)
        wheel = knuckle.add_body(name=f"wheel{k}")
        wheel.add_joint(name=f"drive{k}", type=hinge, axis=[0, sign, 0], armature=0.1)
        wheel.add_geom(size=[RADIUS, 0, 0], mass=1, contype=0, conaffinity=0)
    joint = mujoco.mjtTrn.mjTRN_JOINT
    for k in range(6):
        spec.add_actuator(name=DRIVE[k], target=DRIVE[k], trntype=joint, gear=[gear] + 5 * [0]).set_to_velocity(kv=50)
    for k in range(6):
        spec.add_actuator(name=STEER[k], target=STEER[k], trntype=joint).set_to_position(kp=200, dampratio=1)
    return spec


def wheels_of(model: mujoco.MjModel) -> Wheels:
    return Wheels.find(model, DRIVE, STEER, RADIUS)


class Rolling:
    """Perfect wheels: steering follows its command at once, encoders their rate, the chassis a given twist."""

    def __init__(self, controllers: Sequence, start=(0.0, 0.0, 0.0), model: mujoco.MjModel | None = None):
        self.model = vehicle().compile() if model is None else model
        self.data = mujoco.MjData(self.model)
        self.controllers, self.pose, self.time = list(controllers), np.array(start, float), 0.0
        self._steer = self.model.jnt_qposadr[[self.model.joint(name).id for name in STEER]]
        self._drive = self.model.jnt_qposadr[[self.model.joint(name).id for name in DRIVE]]
        self._steered = [self.model.actuator(name).id for name in STEER]
        self._driven = [self.model.actuator(name).id for name in DRIVE]
        self.place(self.pose)

    def place(self, pose, tilt: np.ndarray | None = None) -> None:
        """(x, y, heading) in a plane, which `tilt` (3, 3) turns."""
        x, y, yaw = pose
        c, s = math.cos(yaw), math.sin(yaw)
        rotation = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])
        origin = np.array([x, y, RADIUS])
        if tilt is not None:
            rotation, origin = tilt @ rotation, tilt @ origin
        self.data.qpos[:3] = origin
        mujoco.mju_mat2Quat(self.data.qpos[3:7], rotation.ravel())
        mujoco.mj_forward(self.model, self.data)

    def act(self) -> None:
        for controller in self.controllers:
            controller.act(self.time, self.data, self.data.ctrl)

    def run(self, duration: float, twist: Callable[[], Sequence[float]], period: float) -> np.ndarray:
        """(period, 3) poses; `twist()` after each act says how the chassis moves until the next."""
        poses = []
        for _ in range(round(duration / period)):
            self.act()
            poses.append(self.pose.copy())
            vx, vy, wz = twist()
            dx, dy = chord(vx * period, vy * period, wz * period)
            c, s = math.cos(self.pose[2]), math.sin(self.pose[2])
            self.pose += (c * dx - s * dy, s * dx + c * dy, wz * period)
            self.time += period
            self.data.qpos[self._steer] = self.data.ctrl[self._steered]
            self.data.qpos[self._drive] += period * self.data.ctrl[self._driven]
            self.place(self.pose)
        return np.array(poses)
