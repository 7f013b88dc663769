"""The wheels of a vehicle for its controllers: positions, drive actuators and steering actuators."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from grouser.errors import InputError

UPRIGHT = 0.9  # least cosine between an axle and y, or between a steering axis and z
FORWARD, UP = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])  # axes of positive rolling and steering


@dataclass(frozen=True, eq=False)
class Wheels:
    """Wheels of one chassis (x forward, y left), each driven by a velocity servo, some steered by a position servo."""

    positions: np.ndarray  # [m], (wheel, 2) steering axes (axle centres where not steered), chassis axes
    radius: float  # [m] rolling radius
    limits: np.ndarray  # [rad], (wheel,) largest steering angle either way; 0: not steered
    drive: tuple[str, ...]  # actuators that take a wheel rate [rad/s]
    steer: tuple[str | None, ...]  # actuators that take an angle [rad]; None: not steered
    chassis: str = "chassis"

    def __post_init__(self):
        count = len(self.drive)
        positions = np.asarray(self.positions, float)
        limits = np.broadcast_to(np.asarray(self.limits, float), (count,)).copy()
        if count == 0 or positions.shape != (count, 2) or len(self.steer) != count:
            raise InputError(
                f"wheels: {count} driven, {len(self.steer)} entries in steer, positions of shape {positions.shape}: "
                "allowed is one steering actuator or None and one (x, y) for each driven wheel"
            )
        if not (self.radius > 0 and math.isfinite(self.radius)):
            raise InputError(f"wheels: radius = {self.radius}: allowed is a finite number above 0")
        if not (limits >= 0).all():
            raise InputError(f"wheels: limits = {self.limits}: allowed are angles of 0 or more")
        limits[[name is None for name in self.steer]] = 0.0
        object.__setattr__(self, "positions", positions)
        object.__setattr__(self, "limits", np.minimum(limits, np.pi))

    @classmethod
    def find(
        cls,
        model: mujoco.MjModel,
        drive: Sequence[str],
        steer: Sequence[str | None],
        radius: float,
        chassis: str = "chassis",
    ) -> Wheels:
        """Find positions and limits in a compiled model. Without a range, wheels may steer 180 degrees either way."""
        seen = Wiring(model, drive, steer, chassis)
        return cls(seen.positions, radius, seen.limits, tuple(drive), tuple(steer), chassis)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the wheels, used as labels of channels."""
        return self.drive


class Wiring:
    """Indices of the wheels in a compiled model, and the sign of each joint."""

    def __init__(self, model: mujoco.MjModel, drive: Sequence[str], steer: Sequence[str | None], chassis: str):
        rest = mujoco.MjData(model)
        mujoco.mj_kinematics(model, rest)
        self.chassis = body_id(model, chassis)
        turned = rest.xmat[self.chassis].reshape(3, 3)  # chassis to world, in the model's initial pose
        actuators = [actuator_id(model, name) for name in drive]
        joints = [_joint(model, a) for a in actuators]
        self.drive = np.array(actuators, np.intp)
        self.drive_sign = np.array([_sign(model, rest, turned, j, FORWARD) for j in joints])
        self.drive_gear = self.drive_sign * model.actuator_gear[self.drive, 0]
        self.axles = np.array(joints, np.intp)
        self.roll = np.array(model.jnt_qposadr[joints], np.intp)  # indices of the encoders in qpos
        self.bodies = np.array(model.jnt_bodyid[joints], np.intp)
        self.steered = np.array([k for k, name in enumerate(steer) if name is not None], np.intp)
        actuators = [actuator_id(model, name) for name in steer if name is not None]
        axes = [_joint(model, a) for a in actuators]
        self.steer = np.array(actuators, np.intp)
        self.steer_sign = np.array([_sign(model, rest, turned, j, UP) for j in axes])
        self.steer_gear = self.steer_sign * model.actuator_gear[self.steer, 0]
        self.turn = np.array(model.jnt_qposadr[axes], np.intp)
        stands = np.array(joints, np.intp)
        stands[self.steered] = axes
        self.positions = ((rest.xanchor[stands] - rest.xpos[self.chassis]) @ turned)[:, :2]
        self.limits = np.zeros(len(joints))
        self.limits[self.steered] = [_limit(model, a, j) for a, j in zip(actuators, axes, strict=True)]


class OnWheels:
    """Base of a controller that finds its wheels in the model once, at its first act."""

    wheels: Wheels

    def _wire(self, model: mujoco.MjModel) -> None:
        w = self.wheels
        self._wiring = Wiring(model, w.drive, w.steer, w.chassis)


class Worlds:
    """Maps an MjData to the number of its world. Worlds are numbered in the order of their first acts."""

    def __init__(self, owner: Any, count: int, found: Callable[[mujoco.MjModel], None] = lambda model: None):
        """`found` is called once with the model, before the first act."""
        if count < 1:
            raise InputError(f"{type(owner).__name__}: worlds = {count}: allowed is 1 or more")
        self._owner, self._name, self.count, self._found = owner, type(owner).__name__, count, found
        self._seen: dict[int, tuple[int, mujoco.MjData]] = {}

    def index(self, data: mujoco.MjData) -> int:
        known = self._seen.get(id(data))
        if known is None:
            self.check([len(self._seen)])
            if not self._seen:
                self._found(data.model)
            known = self._seen[id(data)] = (len(self._seen), data)
        return known[0]

    def check(self, worlds: Sequence[int]) -> list[int]:
        """Return the worlds as a list. Raises an error if the controller was made for fewer worlds."""
        if max(worlds, default=0) >= self.count:
            raise InputError(f"{self._name}: made for {self.count} world(s), the simulation has more; give worlds=")
        return list(worlds)

    def clear(self, worlds: Sequence[int]) -> list[int]:
        """Set the owner's state of these worlds to zero. Returns them as a list."""
        chosen = self.check(worlds)
        for array in self._owner.state().values():
            array[chosen] = 0
        return chosen


def body_id(model: mujoco.MjModel, name: str) -> int:
    found = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name)
    if found < 0:
        known = ", ".join(filter(None, (model.body(b).name for b in range(1, model.nbody))))
        raise InputError(f"body {name!r} is not in the model; it has {known or 'no named bodies'}")
    return found


def actuator_id(model: mujoco.MjModel, name: str) -> int:
    found = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_ACTUATOR, name)
    if found < 0:
        known = ", ".join(filter(None, (model.actuator(a).name for a in range(model.nu))))
        raise InputError(f"actuator {name!r} is not in the model; it has {known or 'no named actuators'}")
    return found


def _joint(model: mujoco.MjModel, actuator: int) -> int:
    joint = int(model.actuator_trnid[actuator, 0])
    hinge = mujoco.mjtJoint.mjJNT_HINGE
    if model.actuator_trntype[actuator] != mujoco.mjtTrn.mjTRN_JOINT or model.jnt_type[joint] != hinge:
        raise InputError(f"actuator {model.actuator(actuator).name!r} does not turn a hinge joint, as a wheel's must")
    return joint


def _sign(model: mujoco.MjModel, rest: mujoco.MjData, turned: np.ndarray, joint: int, axis: np.ndarray) -> float:
    """1 if the joint turns about the chassis axis, -1 if it turns about its opposite."""
    cosine = float(rest.xaxis[joint] @ turned @ axis)
    if abs(cosine) < UPRIGHT:
        name, wanted = model.joint(joint).name, "y (a wheel's axle)" if axis is FORWARD else "z (a steering axis)"
        raise InputError(f"joint {name!r} is not along the chassis' {wanted}")
    return math.copysign(1.0, cosine)


def _limit(model: mujoco.MjModel, actuator: int, joint: int) -> float:
    """Steering limit [rad]: the smallest side of the joint's and the actuator's range."""
    ranges = [model.jnt_range[joint]] if model.jnt_limited[joint] else []
    if model.actuator_ctrllimited[actuator]:
        ranges.append(model.actuator_ctrlrange[actuator] / abs(model.actuator_gear[actuator, 0]))
    return min((float(np.abs(r).min()) for r in ranges), default=math.pi)
