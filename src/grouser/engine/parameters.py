"""Parameters of a compiled model that a controller may change during a run, such as gravity or joint stiffness.

MuJoCo keeps them in MjModel, so they are not part of the state it saves. A checkpoint must save them too.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

KINDS = ("body_", "jnt_", "dof_", "geom_", "site_", "pair_", "eq_", "tendon_", "actuator_", "qpos_spring")
OPTIONS = ("gravity", "wind", "magnetic", "density", "viscosity")


def parameters(model: mujoco.MjModel) -> dict[str, np.ndarray]:
    """Copies of the parameters by name. Meshes, height fields and display properties are left out."""
    fields = {name: getattr(model, name) for name in dir(model) if name.startswith(KINDS)}
    found = {name: field for name, field in fields.items() if _is_real(field) and field.size}
    return {name: np.array(field) for name, field in found.items()} | {
        f"opt.{name}": np.array(getattr(model.opt, name)) for name in OPTIONS
    }


def set_parameters(model: mujoco.MjModel, saved: dict[str, np.ndarray]) -> None:
    """Write the result of `parameters` into the same model, or one compiled from the same spec."""
    for name, values in saved.items():
        owner, field = (model.opt, name.removeprefix("opt.")) if name.startswith("opt.") else (model, name)
        if values.ndim:
            getattr(owner, field)[...] = values
        else:
            setattr(owner, field, float(values))


def _is_real(field: Any) -> bool:
    return isinstance(field, np.ndarray) and field.dtype.kind == "f"
