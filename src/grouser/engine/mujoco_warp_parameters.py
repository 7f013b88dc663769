"""Parameters of a model that differ between worlds of MuJoCo Warp, such as mass, friction and gains."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import warp as wp

from grouser.errors import InputError

# Parameters that can be set, and which constants follow from them: groups of mjw.SetConstGroup.
PER_WORLD: dict[str, str] = {
    "gravity": "",  # [m/s^2], (world, 3)
    "body_mass": "ALL",  # [kg], (world, body)
    "body_inertia": "INERT0",  # [kg m^2], (world, body, 3)
    "body_ipos": "ALL",  # [m], (world, body, 3)
    "dof_armature": "INERT0",  # [kg m^2 or kg], (world, dof)
    "dof_damping": "",  # [N m s/rad or N s/m], (world, dof)
    "dof_frictionloss": "",  # [N m or N], (world, dof)
    "jnt_stiffness": "",  # [N m/rad or N/m], (world, joint)
    "jnt_range": "",  # [rad or m], (world, joint, 2)
    "qpos_spring": "",  # [rad or m], (world, nq)
    "geom_friction": "",  # (world, geom, 3)
    "pair_friction": "",  # (world, pair, 5)
    "actuator_gainprm": "",  # (world, actuator, 10)
    "actuator_biasprm": "",  # (world, actuator, 10)
    "actuator_dynprm": "",  # (world, actuator, 10)
    "actuator_forcerange": "",  # [N m or N], (world, actuator, 2)
    "actuator_ctrlrange": "",  # (world, control, 2)
}
# Constants that MuJoCo Warp computes from mass and inertia: they need a world axis as well.
DERIVED = ("body_subtreemass", "body_invweight0", "dof_invweight0", "tendon_invweight0", "actuator_acc0")


class Parameters:
    """Sets parameters of all worlds. At first use of one, the model gets an array with a world axis for it."""

    def __init__(self, model: mujoco.MjModel, mjw: Any, m: Any, d: Any, worlds: int):
        self._model, self._mjw, self._m, self._d, self._worlds = model, mjw, m, d, worlds

    def set(self, name: str, values: Any) -> bool:
        """Set one parameter. Returns whether arrays of the model were replaced by larger ones."""
        if name not in PER_WORLD:
            raise InputError(f"parameter: {name!r} cannot differ between worlds; allowed: {', '.join(PER_WORLD)}")
        owner = self._m.opt if name == "gravity" else self._m
        host = np.asarray(self._model.opt.gravity if name == "gravity" else getattr(self._model, name))
        replaced = self._widen(owner, name)
        target = getattr(owner, name)
        shape = (self._worlds, *host.shape)
        if isinstance(values, wp.array):
            numbers = wp.array(ptr=target.ptr, shape=shape, dtype=wp.float32, device=target.device)
            if values.dtype != wp.float32 or values.shape != shape:
                raise InputError(
                    f"parameter: {name} must be of float32 with shape {shape}, the first axis is the world"
                )
            wp.copy(numbers, values)
        else:
            target.assign(self._checked(name, values, shape))
        group = PER_WORLD[name]
        if group:
            for derived in DERIVED:
                replaced |= self._widen(self._m, derived)
            self._mjw.set_const(self._m, self._d, int(getattr(self._mjw.SetConstGroup, group)))
        return replaced

    def _checked(self, name: str, values: Any, shape: tuple[int, ...]) -> np.ndarray:
        given = np.asarray(values, np.float32)
        if given.shape != shape:
            raise InputError(
                f"parameter: {name} has shape {given.shape}; allowed: {shape}, the first axis is the world"
            )
        if not np.isfinite(given).all():
            raise InputError(f"parameter: {name} has a number that is not finite")
        if name in ("body_mass", "body_inertia") and (given < 0).any():
            raise InputError(f"parameter: {name} is negative; allowed are values of 0 or more")
        return np.ascontiguousarray(given)

    def _widen(self, owner: Any, name: str) -> bool:
        """Give an array a world axis. Returns whether it was replaced."""
        old = getattr(owner, name)
        if old.shape[0] == self._worlds and old.strides[0] > 0:
            return False
        values = np.broadcast_to(old.numpy()[:1], (self._worlds, *old.numpy().shape[1:]))
        setattr(owner, name, wp.array(np.ascontiguousarray(values), dtype=old.dtype, device=old.device))
        return True
