"""Find the wheels of a robot nobody has described: which bodies roll, what drives them, what steers them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from grouser.control.wheels import FORWARD, UP, UPRIGHT, Wheels
from grouser.errors import InputError


@dataclass(frozen=True)
class Axle:
    """A hinge along the robot's y axis that carries a body on soil."""

    joint: str
    radius: float  # [m] largest distance of the body's surface from the axle
    servo: str | None  # velocity servo of the joint
    motor: str | None  # another actuator of the joint
    steer: str | None  # position servo of a vertical hinge between the wheel and the chassis


def find_axles(
    model: mujoco.MjModel, vertices: Mapping[str, np.ndarray], wheels: str | None = None, steer: str | None = None
) -> tuple[str, list[Axle]]:
    """The chassis, which is the root body of the first wheel, and its axles.

    `vertices`: [m], (vertex, 3) of the bodies that touch soil, body axes. `wheels` and `steer` are regular expressions
    for names of joints or actuators; without them, every hinge along y of a soil body is an axle, and every vertical
    hinge with a position servo above a wheel steers it.
    """
    rest = mujoco.MjData(model)
    mujoco.mj_kinematics(model, rest)
    chassis, axles = "", []
    for name, points in vertices.items():
        body = model.body(name).id
        root = int(model.body_rootid[body])
        turned = rest.xmat[root].reshape(3, 3)
        joint = int(model.body_jntadr[body])
        if model.body_jntnum[body] != 1 or not _along(model, rest, turned, joint, FORWARD) or body == root:
            continue
        actuators = _actuators(model, joint)
        if wheels is not None and not _matches(wheels, "wheels", model.joint(joint).name, *actuators):
            continue
        if chassis and model.body(root).name != chassis:
            continue  # a second robot is not driven
        chassis = model.body(root).name
        servo = next((a for a in actuators if _is_servo(model, a, position=False)), None)
        motor = next((a for a in actuators if a != servo), None)
        axis = model.jnt_axis[joint]
        arm = points - model.jnt_pos[joint]
        radius = float(np.linalg.norm(arm - np.outer(arm @ axis, axis), axis=1).max())
        axles.append(Axle(model.joint(joint).name, radius, servo, motor, _steer(model, rest, turned, body, steer)))
    if not axles:
        hint = f" that match {wheels!r}" if wheels is not None else ""
        raise InputError(
            f"no wheels to drive: none of {', '.join(vertices)} turns about its robot's y axis on a hinge{hint}; a "
            "robot with legs needs --controller FILE.py"
        )
    return chassis, axles


def wheels_of(model: mujoco.MjModel, chassis: str, axles: list[Axle]) -> Wheels:
    """Wheels for a `Drive`. An axle with a torque motor only raises an InputError."""
    for axle in axles:
        if axle.servo is None:
            what = f"is driven by {axle.motor!r}, which takes no speed" if axle.motor else "has no motor"
            raise InputError(f"wheel joint {axle.joint!r} {what}: allowed are velocity servos and joints without motor")
    drive = [axle.servo for axle in axles if axle.servo is not None]
    radius = float(np.mean([axle.radius for axle in axles]))
    return Wheels.find(model, drive, [axle.steer for axle in axles], radius, chassis)


def _steer(
    model: mujoco.MjModel, rest: mujoco.MjData, turned: np.ndarray, body: int, pattern: str | None
) -> str | None:
    """The position servo of the first vertical hinge between a wheel and its root body."""
    body = int(model.body_parentid[body])
    while body and model.body_parentid[body] != 0:
        for joint in range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body]):
            if _along(model, rest, turned, joint, UP):
                for name in _actuators(model, joint):
                    wanted = pattern is None or _matches(pattern, "steer", name, model.joint(joint).name)
                    if wanted and _is_servo(model, name, position=True):
                        return name
        body = int(model.body_parentid[body])
    return None


def _along(model: mujoco.MjModel, rest: mujoco.MjData, turned: np.ndarray, joint: int, axis: np.ndarray) -> bool:
    """Whether a joint is a hinge along an axis of the root body, either way."""
    hinge = joint >= 0 and model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_HINGE
    return bool(hinge and abs(float(rest.xaxis[joint] @ turned @ axis)) >= UPRIGHT)


def _actuators(model: mujoco.MjModel, joint: int) -> list[str]:
    on_joints = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
    return [
        model.actuator(a).name
        for a in range(model.nactuator)
        if model.actuator_trntype[a] in on_joints and model.actuator_trnid[a, 0] == joint
    ]


def _is_servo(model: mujoco.MjModel, name: str, position: bool) -> bool:
    """Whether an actuator holds a position, or a speed: force = gain (ctrl - q) or gain (ctrl - v)."""
    a = model.actuator(name).id
    affine = model.actuator_biastype[a] == mujoco.mjtBias.mjBIAS_AFFINE
    _, stiffness, damping = model.actuator_biasprm[a, :3]
    return bool(affine and (stiffness < 0 if position else stiffness == 0 and damping < 0))


def _matches(pattern: str, what: str, *names: str) -> bool:
    try:
        return any(re.fullmatch(pattern, name) for name in names)
    except re.error as error:
        raise InputError(f"{what}: {pattern!r} is not a regular expression: {error}") from None
