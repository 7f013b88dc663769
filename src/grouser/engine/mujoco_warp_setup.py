"""How worlds on a device are set up: the package, the device, the model, sizes, and what is refused."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
import warp as wp

from grouser.engine.mujoco_warp_kernels import Tree
from grouser.engine.preparation import last_dofs
from grouser.errors import InputError
from grouser.module import Compiled, ForceModule

EQUALITY_ROWS = {mujoco.mjtEq.mjEQ_CONNECT: 3, mujoco.mjtEq.mjEQ_WELD: 6}  # others have one
ON_GPU = ("soil",)  # modules that are tested there


def check_modules(modules: Sequence[ForceModule], device: Any) -> None:
    """Raise an InputError for a module that does not run on a GPU, if the device is one."""
    for module in modules:
        if device.is_cuda and not (isinstance(module, Compiled) and module.name in ON_GPU):
            raise InputError(
                f"module {module.name!r} does not run in worlds on {device.alias}; allowed there: {', '.join(ON_GPU)}"
            )


def check_place(module: ForceModule, device: Any) -> None:
    """Raise an InputError for a module whose arrays are on another device."""
    place = wp.get_device(getattr(module, "device", device))
    if place != device:
        raise InputError(
            f"module {module.name!r} is on {place.alias} and the engine on {device.alias}: allowed is one device"
        )


def constraint_rows(m: mujoco.MjModel, contacts: int) -> int:
    """Most rows of constraints that a world with `contacts` contacts can have."""
    equalities = sum(EQUALITY_ROWS.get(kind, 1) for kind in m.eq_type)
    friction = int((m.dof_frictionloss > 0).sum() + (m.tendon_frictionloss > 0).sum())
    limits = 2 * int(m.jnt_limited.sum() + m.tendon_limited.sum())
    dimension = int(max([1, *m.geom_condim, *m.pair_dim]))
    pyramid = m.opt.cone == mujoco.mjtCone.mjCONE_PYRAMIDAL and dimension > 1
    return max(1, equalities + friction + limits + contacts * (2 * (dimension - 1) if pyramid else dimension))


def module_codes(module: ForceModule) -> int:
    """Number of status codes of a module that are looked at on the device; codes above are never fatal."""
    return int(getattr(module, "fatal_codes", 1))


def mujoco_warp() -> Any:
    """The package mujoco_warp, which is imported only here: it is an extra and takes a second."""
    try:
        import mujoco_warp as package
    except ModuleNotFoundError:
        raise InputError("worlds on a device need mujoco-warp: pip install 'grouser[batch]'") from None
    return package


def device_called(name: Any) -> Any:
    """The Warp device called `name`, or an InputError."""
    try:
        return wp.get_device(name)
    except (ValueError, RuntimeError):
        known = ", ".join(repr(d.alias) for d in wp.get_devices())
        raise InputError(f"device: {name!r} is not here; this machine has {known}") from None


def put_model(mjw: Any, model: mujoco.MjModel, name: str, notes: list[str]) -> Any:
    """The model on the current device, or an InputError with the words of MuJoCo Warp. Its warnings become notes."""
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            made = mjw.put_model(model)
    except (NotImplementedError, ValueError) as error:
        text = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"model {name!r}: MuJoCo Warp cannot simulate it: {text}") from None
    notes += [f"MuJoCo Warp warns: {' '.join(str(warning.message).split())}" for warning in heard]
    return made


def start_arrays(m: mujoco.MjModel, worlds: int) -> dict[str, wp.array]:
    """Start of every world: the model's, its keyframe, or one keyframe for each world if there are so many."""
    values: dict[str, list[np.ndarray]] = {name: [] for name in ("qpos", "qvel", "act", "ctrl")}
    d = mujoco.MjData(m)
    for world in range(worlds):
        if m.nkey == worlds or (m.nkey and world == 0):
            mujoco.mj_resetDataKeyframe(m, d, world)
        for name, rows in values.items():
            rows.append(getattr(d, name).copy())
    return {name: wp.array(np.array(rows, np.float32), dtype=wp.float32) for name, rows in values.items()}


def tree_of(m: mujoco.MjModel, body_ids: np.ndarray) -> Any:
    """Structure of the model for the kernels; `body_ids`: MuJoCo's number of each body that modules use."""
    last = last_dofs(m)
    tree: Any = Tree()
    tree.body, tree.root, tree.last_dof = integers(body_ids), integers(m.body_rootid), integers(last)
    tree.parent_dof = integers(m.dof_parentid)
    tree.row_start, tree.row_count, tree.column = integers(m.M_rowadr), integers(m.M_rownnz), integers(m.M_colind)
    tree.moves = integers([_chain(m, int(last[body])) for body in body_ids] or np.zeros((1, m.nv)))
    return tree


def _chain(m: mujoco.MjModel, last: int) -> np.ndarray:
    """(dof,) 1 for the degrees of freedom from `last` to the root."""
    moves, i = np.zeros(m.nv, np.int32), last
    while i >= 0:
        moves[i], i = 1, m.dof_parentid[i]
    return moves


def integers(values: Any) -> wp.array:
    """An array of int32 on the current device."""
    return wp.array(np.ascontiguousarray(values, dtype=np.int32), dtype=wp.int32)
