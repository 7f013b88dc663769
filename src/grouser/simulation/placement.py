"""Start of a user's robot: its keyframe, placed on the ground."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import mujoco
import numpy as np

from grouser.contact.soil import Surface
from grouser.errors import InputError
from grouser.simulation.robot_file import RobotModel
from grouser.terrain.checks import choice
from grouser.terrain.elevation import ElevationGrid

GAP = 1e-4  # [m] between the ground and the lowest point of the robot after placement
STEEP_ENOUGH = 1e-4  # [rad] slope below which the ground under a robot counts as level
BURIED = 1e-3  # [m] if placement moves the robot this much deeper into an obstacle, it is left where the model has it
KEY_FIELDS = ("qpos", "qvel", "act", "ctrl", "mpos", "mquat")
STATE_FIELDS = ("qpos", "qvel", "act", "ctrl")
Key = dict[str, Any]


def keyframes(model: mujoco.MjModel, wanted: str | None) -> tuple[list[Key], int]:
    """Copies of the model's keyframes, and the index of the start: the one named `wanted`, otherwise the first."""
    keys = [{"name": model.key(k).name} | {f: getattr(model, f"key_{f}")[k].copy() for f in KEY_FIELDS}
            for k in range(model.nkey)]  # fmt: skip
    if wanted is None:
        return keys, 0
    return keys, [key["name"] for key in keys].index(choice(wanted, "keyframe", [k["name"] for k in keys if k["name"]]))


def with_free_joints(keys: Sequence[Key], model: mujoco.MjModel, joints: Sequence[str]) -> None:
    """Insert free joints that were added later into keyframes. They start at the model's own pose."""
    for name in joints:
        joint = model.joint(name)
        q, v = int(joint.qposadr[0]), int(joint.dofadr[0])
        for key in keys:
            key["qpos"] = np.insert(key["qpos"], q, model.qpos0[q : q + 7])
            key["qvel"] = np.insert(key["qvel"], v, np.zeros(6))


def start_of(keys: Sequence[Key], first: int, model: mujoco.MjModel) -> Key:
    """The keyframe to start from, or the model's own pose."""
    if keys:
        return keys[first] | {"name": "start"}
    data = mujoco.MjData(model)
    return {"name": "start"} | {f: np.array(getattr(data, f)) for f in STATE_FIELDS}


def set_start(start: Key, given: Mapping[str, Any], model: mujoco.MjModel, freed: Sequence[str]) -> None:
    """Replace values of the start by those a user gives. `qpos` and `qvel` may leave out the free joints `freed`."""
    unknown = [name for name in given if name not in STATE_FIELDS]
    if unknown:
        raise InputError(f"start: {unknown[0]!r} is not known; allowed: {', '.join(STATE_FIELDS)}")
    for name, values in given.items():
        array = checked_numbers(values, name)
        key = {"qpos": np.zeros(0), "qvel": np.zeros(0)} | {name: array}
        if freed and name in ("qpos", "qvel") and len(array) < len(start[name]):
            with_free_joints([key], model, freed)
        if key[name].shape != start[name].shape:
            own = len(start[name]) - len(freed) * {"qpos": 7, "qvel": 6}.get(name, 0)
            both = f" or {len(start[name])} with the pose of its base" if own != len(start[name]) else ""
            raise InputError(f"start: {name} has {len(array)} numbers; the model has {own}{both}")
        start[name] = key[name]


def checked_numbers(values: Any, name: str) -> np.ndarray:
    try:
        array = np.array(values, float)
    except (TypeError, ValueError):
        array = np.full(1, np.nan)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise InputError(f"start: {name} must be a list of finite numbers")
    return array


def set_controls(keys: Sequence[Key], start: Key, model: mujoco.MjModel, controls: Mapping[str, float]) -> None:
    """Set controls of the start by actuator name. In the model's keyframes, actuators added later have control 0."""
    for key in (start, *keys):
        key["ctrl"] = np.concatenate([key["ctrl"], np.zeros(model.nu - len(key["ctrl"]))])
    for name, value in controls.items():
        start["ctrl"][model.actuator_ctrladr[model.actuator(name).id]] = value


def remove_keyframes(spec: mujoco.MjSpec) -> None:
    for key in list(spec.keys):
        spec.delete(key)


def set_keyframes(spec: mujoco.MjSpec, start: Key, keys: Sequence[Key]) -> None:
    """Write keyframes to the spec: `start` first, because a reset goes back to it, then those of the model."""
    used = {start["name"]}
    for key in (start, *keys):
        name = key["name"] if key is start or key["name"] not in used else ""
        used.add(name)
        spec.add_key(name=name, **{f: np.ravel(key[f]).tolist() for f in KEY_FIELDS if f in key})


# ---- where on the map -------------------------------------------------------------------------------


def move_to(robot: RobotModel, model: mujoco.MjModel, start: Key, bodies: Sequence[str], at: Sequence[float]) -> None:
    """Move the robot horizontally: its root body to x, y [m], turned by the heading [deg] about the vertical there.

    A robot of several kinematic trees moves as one. Bodies that are fixed or on rails move with their rails.
    """
    x, y, heading = place_of(at)
    data = mujoco.MjData(model)
    data.qpos[:] = start["qpos"]
    mujoco.mj_forward(model, data)
    roots = list(dict.fromkeys(int(model.body_rootid[model.body(name).id]) for name in bodies))
    centre = data.xpos[roots[0]].copy()
    half = np.radians(heading) / 2
    turn, matrix = np.array([np.cos(half), 0, 0, np.sin(half)]), np.zeros(9)
    mujoco.mju_quat2Mat(matrix, turn)
    for root in roots:
        address = _free_address(model, root)
        pose = model.body_pos[root] if address is None else data.qpos[address : address + 3]
        quat = model.body_quat[root] if address is None else data.qpos[address + 3 : address + 7]
        pose[:] = matrix.reshape(3, 3) @ (pose - centre) + [x, y, centre[2]]
        turned = np.zeros(4)
        mujoco.mju_mulQuat(turned, turn, quat)
        quat[:] = turned
        if address is None:
            body = robot.spec.body(model.body(root).name)
            body.pos, body.quat = pose.tolist(), quat.tolist()
            body.alt.type = mujoco.mjtOrientation.mjORIENTATION_QUAT
        else:  # a free joint has its linear velocity in world axes
            dof = int(model.body_dofadr[root])
            start["qvel"][dof : dof + 3] = matrix.reshape(3, 3) @ start["qvel"][dof : dof + 3]
    start["qpos"] = data.qpos.copy()


def place_of(at: Any) -> tuple[float, float, float]:
    """x, y [m] and heading [deg] from two or three numbers."""
    numbers = np.ravel(np.array(at, dtype=object)).tolist()
    real = all(isinstance(value, int | float) and np.isfinite(value) for value in numbers)
    if len(numbers) not in (2, 3) or not real:
        raise InputError(f"at: {at!r} is not allowed; it must be x, y [m] or x, y, heading [deg], such as 1.5, 0, 90")
    return float(numbers[0]), float(numbers[1]), float(numbers[2]) if len(numbers) == 3 else 0.0


# ---- standing on the ground -------------------------------------------------------------------------


def points_of(data: mujoco.MjData, surfaces: Mapping[str, Surface]) -> dict[str, np.ndarray]:
    """Vertices [m], (vertex, 3) of each soil body in world axes."""
    bodies = {name: data.body(name) for name in surfaces}
    return {name: s.vertices @ bodies[name].xmat.reshape(3, 3).T + bodies[name].xpos for name, s in surfaces.items()}


def place_on_ground(
    robot: RobotModel, model: mujoco.MjModel, start: Key, surfaces: Mapping[str, Surface], terrain: ElevationGrid
) -> None:
    """Lift or lower each robot until its lowest soil point is just above the ground. A free robot tilts with the slope.

    Kinematic trees that equality constraints may connect move together.
    """
    data = mujoco.MjData(model)
    data.qpos[:] = start["qpos"]
    mujoco.mj_forward(model, data)
    roots = {name: int(model.body_rootid[model.body(name).id]) for name in surfaces}
    each = list(dict.fromkeys(roots.values()))
    for group in [each] if model.neq else [[root] for root in each]:
        held = {name: surface for name, surface in surfaces.items() if roots[name] in group}
        _place_group(robot, model, data, group, held, terrain)
    start["qpos"] = data.qpos.copy()


def starts_on(
    robot: RobotModel, model: mujoco.MjModel, start: Key, surfaces: Mapping[str, Surface],
    terrains: Sequence[ElevationGrid],
) -> list[np.ndarray]:  # fmt: skip
    """Coordinates of the robot on each terrain. The start itself is set to that on the first one."""
    begun, found = start["qpos"].copy(), []
    for number, terrain in enumerate(terrains):
        own, said = start | {"qpos": begun.copy()}, len(robot.notes)
        place_on_ground(robot, model, own, surfaces, terrain)
        if number:
            del robot.notes[said:]  # the notes are those of the first one
        found.append(own["qpos"])
    start["qpos"] = found[0]
    return found


def _place_group(
    robot: RobotModel,
    model: mujoco.MjModel,
    data: mujoco.MjData,
    roots: list[int],
    surfaces: Mapping[str, Surface],
    terrain: ElevationGrid,
) -> None:
    before, depth = data.qpos.copy(), _deepest(model, data)
    _on_the_map(data, surfaces, terrain)
    free = {root: a for root in roots if (a := _free_address(model, root)) is not None}
    tilt = _tilt(np.vstack(list(points_of(data, surfaces).values())), terrain) if len(free) == len(roots) == 1 else None
    if tilt is not None:
        pose = data.qpos[free[roots[0]] + 3 : free[roots[0]] + 7]
        turned = np.zeros(4)
        mujoco.mju_mulQuat(turned, tilt, pose)
        pose[:] = turned
        mujoco.mj_forward(model, data)
    points = np.vstack(list(points_of(data, surfaces).values()))
    lift = GAP - float((points[:, 2] - terrain.height(points[:, 0], points[:, 1])).min())
    for root in roots:
        if root in free:
            data.qpos[free[root] + 2] += lift
        else:
            model.body_pos[root, 2] += lift
    mujoco.mj_forward(model, data)
    name = model.body(roots[0]).name
    if _deepest(model, data) < min(depth, 0.0) - BURIED:
        robot.notes.append(
            f"{name!r} keeps the position of the model: placed on the soil it would overlap something else"
        )
        data.qpos[:] = before
        for root in roots:
            if root not in free:
                model.body_pos[root, 2] -= lift
        mujoco.mj_forward(model, data)
        return
    for root in roots:
        if root not in free:
            body = robot.spec.body(model.body(root).name)
            body.pos = [body.pos[0], body.pos[1], body.pos[2] + lift]
    if abs(lift) > 2 * GAP or tilt is not None:
        shift_text = f"{'raised' if lift > 0 else 'lowered'} by {1e3 * abs(lift):.3g} mm"
        slant = f" and tilted by {np.degrees(2 * np.arccos(min(tilt[0], 1.0))):.3g} deg" if tilt is not None else ""
        robot.notes.append(f"{name!r} {shift_text}{slant} to stand on the ground")


def _on_the_map(data: mujoco.MjData, surfaces: Mapping[str, Surface], terrain: ElevationGrid) -> None:
    for name in surfaces:
        x, y, _ = data.body(name).xpos
        if not terrain.contains(x, y):
            x0, x1, y0, y1 = terrain.bounds
            raise InputError(
                f"terrain: body {name!r} starts at x = {x:g} m, y = {y:g} m, "
                f"outside its x {x0:g} to {x1:g} m, y {y0:g} to {y1:g} m"
            )


def _free_address(model: mujoco.MjModel, root: int) -> int | None:
    """Index in qpos of the free joint of a root body, or None."""
    joint = model.body_jntadr[root]
    if joint < 0 or model.jnt_type[joint] != mujoco.mjtJoint.mjJNT_FREE:
        return None
    return int(model.jnt_qposadr[joint])


def _tilt(points: np.ndarray, terrain: ElevationGrid) -> np.ndarray | None:
    """Rotation from level to the best-fit plane of the ground under the points; None if that plane is level."""
    x, y = points[:, 0], points[:, 1]
    terms = np.column_stack([x - x.mean(), y - y.mean(), np.ones(len(points))])
    slope, *_ = np.linalg.lstsq(terms, terrain.height(x, y), rcond=None)
    if np.hypot(*slope[:2]) < STEEP_ENOUGH:
        return None
    turn = np.zeros(4)
    mujoco.mju_quatZ2Vec(turn, np.array([-slope[0], -slope[1], 1.0]) / np.sqrt(1 + slope[0] ** 2 + slope[1] ** 2))
    return turn


def _deepest(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    """Smallest distance [m] of MuJoCo's contacts with static geoms; negative if they overlap."""
    fixed = model.body_weldid[model.geom_bodyid] == 0
    distances = [c.dist for c in data.contact if fixed[c.geom].any()]
    return float(min(distances, default=0.0))
