"""Prepare a user's robot for soil: names, solver options, a free base and driven joints."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import mujoco
import numpy as np

from grouser.errors import InputError
from grouser.simulation.robot_file import RobotModel

Base = Literal["auto", "free", "fixed"]
STIFF_BAND = 0.01  # relative speed error at which a servo without a limit could lift the robot (assumed)
SOFT_BAND = 0.1  # relative speed error at which a servo with a limit reaches its limit (assumed)
SLOWEST = 0.1  # [rad/s or m/s] lower bound on the speed to which the errors above are relative (assumed)
NO_LIFT = 1e-9  # [m] height change per unit of joint motion below which a joint counts as not lifting a body


def replace_unsupported_options(robot: RobotModel) -> None:
    """Replace options that the implicit step does not support, and note it. `Simulation` itself rejects them."""
    option, wanted = robot.spec.option, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    if option.integrator != wanted:
        name = mujoco.mjtIntegrator(option.integrator).name.removeprefix("mjINT_")
        robot.notes.append(f"integrator implicitfast instead of the model's {name}")
        option.integrator = wanted
    if option.solver == mujoco.mjtSolver.mjSOL_PGS:
        robot.notes.append("solver Newton instead of the model's PGS")
        option.solver = mujoco.mjtSolver.mjSOL_NEWTON
    if option.noslip_iterations > 0:
        robot.notes.append(f"noslip_iterations 0 instead of the model's {option.noslip_iterations}")
        option.noslip_iterations = 0
    for name, flag in (
        ("sleep", mujoco.mjtEnableBit.mjENBL_SLEEP),
        ("ipc", getattr(mujoco.mjtEnableBit, "mjENBL_IPC", 0)),
    ):
        if option.enableflags & flag:
            robot.notes.append(f"flag {name} switched off")
            option.enableflags &= ~int(flag)


def set_gravity(robot: RobotModel, gravity: float | None) -> None:
    """Set gravity [m/s^2], straight down. None keeps the model's own."""
    if gravity is not None:
        if not (np.isfinite(gravity) and gravity >= 0):
            raise InputError(f"gravity: {gravity} m/s^2 is not allowed; it must be 0 or more, downwards")
        robot.spec.option.gravity = [0.0, 0.0, -gravity]
    whose = "as given" if gravity is not None else "the model's own"
    robot.notes.append(f"gravity {math.hypot(*robot.spec.option.gravity):g} m/s^2 ({whose})")


def note_weight(robot: RobotModel, model: mujoco.MjModel, bodies: Sequence[str]) -> None:
    """Note mass and weight of the robot, and what of it the model's gravity compensation takes off the ground."""
    mass, carried = masses(model, bodies)
    gravity = float(np.linalg.norm(model.opt.gravity))
    robot.notes.append(f"mass {mass:.4g} kg, weight {mass * gravity:.4g} N")
    if carried != mass:
        robot.notes.append(
            f"gravity compensation (gravcomp) of the model holds {(mass - carried) * gravity:.4g} N of the weight: "
            "MuJoCo applies it from outside, so the ground does not carry it"
        )


def masses(model: mujoco.MjModel, bodies: Sequence[str]) -> tuple[float, float]:
    """Mass [kg] of the robot, which is every kinematic tree with a soil body, and what of it the ground carries."""
    roots = np.unique([model.body_rootid[model.body(name).id] for name in bodies])
    own = np.isin(model.body_rootid, roots)
    return float(model.body_mass[own].sum()), float((model.body_mass * (1 - model.body_gravcomp))[own].sum())


def name_all(robot: RobotModel) -> None:
    """Name unnamed bodies and actuators after their joint or geom."""
    spec = robot.spec
    bodies = [body for body in spec.bodies if not body.name]
    taken = {body.name for body in spec.bodies}
    for k, body in enumerate(bodies):
        own = [part.name for part in (*body.joints, *body.geoms) if part.name]
        body.name = _unused(own[0] if own else f"body{k}", taken)
    if bodies:
        robot.notes.append(f"bodies without a name are called {', '.join(body.name for body in bodies)}")
    taken = {actuator.name for actuator in spec.actuators}
    for actuator in spec.actuators:
        actuator.name = actuator.name or _unused(actuator.target or "actuator", taken)


def _unused(name: str, taken: set[str]) -> str:
    """Return the name, with a number appended if it is taken."""
    candidate, k = name, 2
    while candidate in taken:
        candidate, k = f"{name}_{k}", k + 1
    taken.add(candidate)
    return candidate


# ---- base -------------------------------------------------------------------------------------------


def free_base(robot: RobotModel, model: mujoco.MjModel, bodies: Sequence[str], base: Base) -> list[str]:
    """Add a free joint to root bodies that carry soil bodies and are fixed to the world. Returns the joints' names.

    With `auto`, the base of a URDF always gets one, because URDF cannot describe a free base. The base of an MJCF gets
    one only if its soil bodies could not sink otherwise, because a missing joint may be intended there.
    """
    if base not in ("auto", "free", "fixed"):
        raise InputError(f"base: {base!r} is not known; allowed: auto, free, fixed")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    joints = []
    for root in dict.fromkeys(int(model.body_rootid[model.body(name).id]) for name in bodies):
        held = [name for name in bodies if model.body_rootid[model.body(name).id] == root]
        name = model.body(root).name
        stuck = [body for body in held if not _can_rise(model, data, body)]
        if model.body_weldid[root] != 0:  # it has other joints, and MuJoCo allows no free joint beside them
            if stuck:
                robot.notes.append(f"no joint of the model lets {', '.join(stuck)} rise or sink")
            continue
        if base == "free" or (base == "auto" and (robot.loose or stuck)):
            joints.append(_unused("base", {joint.name for joint in robot.spec.joints}))
            robot.spec.body(name).add_freejoint(name=joints[-1])
            robot.notes.append(f"body {name!r} was fixed to the world and got a free joint")
        else:
            robot.notes.append(
                f"body {name!r} is fixed to the world and stays fixed (base = free gives it a free joint)"
            )
    return joints


def _can_rise(model: mujoco.MjModel, data: mujoco.MjData, body: str) -> bool:
    """Whether any joint can move the body up or down."""
    along = np.zeros((3, model.nv))
    mujoco.mj_jacBody(model, data, along, None, model.body(body).id)
    return bool((np.abs(along[2]) > NO_LIFT).any())


# ---- drives -----------------------------------------------------------------------------------------


def controls_by_pattern(
    robot: RobotModel, model: mujoco.MjModel, drive: Mapping[str, float], step: float
) -> dict[str, float]:
    """Controls by actuator name, from regular expressions. A joint without an actuator gets a velocity servo."""
    spec, controls = robot.spec, {}
    for pattern, value in drive.items():
        chosen = [a for a in spec.actuators if _matches(pattern, a.name, a.target)]
        bare = {a.target for a in spec.actuators}
        joints = [j for j in spec.joints if j.name not in bare and j.type in _ONE_DOF and _matches(pattern, j.name)]
        if not chosen:
            if not joints:
                raise InputError(f"drive: {pattern!r} matches none of {_drivable_names(spec)}")
            chosen = [_add_servo(robot, model, joint, float(value), step) for joint in joints]
        for actuator in chosen:
            controls[actuator.name] = _within_range(robot, actuator, float(value))
    for value in dict.fromkeys(controls.values()):
        names = [name for name, given in controls.items() if given == value]
        robot.notes.append(f"driven at {value:g}: {', '.join(names)}")
    return controls


_ONE_DOF = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)


def _matches(pattern: str, *names: str) -> bool:
    try:
        return any(re.fullmatch(pattern, name) for name in names if name)
    except re.error as error:
        raise InputError(f"drive: {pattern!r} is not a regular expression: {error}") from None


def _drivable_names(spec: mujoco.MjSpec) -> str:
    targets = {a.target for a in spec.actuators}
    joints = [j.name for j in spec.joints if j.name and j.name not in targets and j.type in _ONE_DOF]
    parts = [("the actuators", [a.name for a in spec.actuators]), ("the joints without one", joints)]
    choices = [f"{what} {', '.join(names)}" for what, names in parts if names]
    return " or ".join(choices) or "the model's joints: it has none that can be driven"


def _add_servo(robot: RobotModel, model: mujoco.MjModel, joint: Any, speed: float, step: float) -> Any:
    """Add a velocity servo that holds its speed under any load from the robot's weight, or up to the joint's limit.

    MuJoCo integrates a servo with a force limit explicitly. The armature is raised by h kv to prevent overshoot.
    """
    spec, body = robot.spec, joint.parent
    weight = float(model.body_mass.sum() * max(np.linalg.norm(model.opt.gravity), 1.0))
    reach = 1.0
    if joint.type == mujoco.mjtJoint.mjJNT_HINGE:
        mine = np.flatnonzero(model.geom_bodyid == model.body(body.name).id)
        reach = float((np.linalg.norm(model.geom_pos[mine], axis=1) + model.geom_rbound[mine]).max(initial=0.1))
    own = model.joint(joint.name).id
    limit = float(model.jnt_actfrcrange[own, 1]) if model.jnt_actfrclimited[own] else 0.0
    limited = 0 < limit < weight * reach
    gain = (limit / SOFT_BAND if limited else weight * reach / STIFF_BAND) / max(abs(speed), SLOWEST)
    actuator = spec.add_actuator(name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    actuator.set_to_velocity(kv=gain)
    joint.actfrclimited = mujoco.mjtLimited.mjLIMITED_FALSE
    if limited:
        actuator.forcelimited, actuator.forcerange = mujoco.mjtLimited.mjLIMITED_TRUE, [-limit, limit]
        joint.armature = joint.armature + gain * step
    unit = "rad/s" if joint.type == mujoco.mjtJoint.mjJNT_HINGE else "m/s"
    force = "N m" if unit == "rad/s" else "N"
    robot.notes.append(
        f"joint {joint.name!r} got a velocity servo [{unit}], {f'up to {limit:g} {force}' if limited else 'no limit'}"
    )
    return actuator


def _within_range(robot: RobotModel, actuator: Any, value: float) -> float:
    low, high = actuator.ctrlrange
    limited = actuator.ctrllimited == mujoco.mjtLimited.mjLIMITED_TRUE or low < high
    if limited and not low <= value <= high:
        robot.notes.append(f"actuator {actuator.name!r} takes {low:g} to {high:g}: MuJoCo clips {value:g} to that")
    return value
