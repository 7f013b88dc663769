"""What every engine does to a model before it is compiled, and the tables that its kernels need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from grouser.errors import InputError
from grouser.module import ForceModule

SHORTEST_STEP = 1e-7  # [s] smaller steps make no sense for a vehicle
SPEED_LIMIT = 1e6  # [m/s or rad/s] speed above which a run has diverged


def check_step(step: float, modules: Sequence[ForceModule]) -> None:
    """Raise an InputError for a step [s] that is too short, or above the limit of a module."""
    if not SHORTEST_STEP <= step < math.inf:
        raise InputError(f"step: {step} s is not allowed; it must be above 0, at least {SHORTEST_STEP:g} s")
    for module in modules:
        if step > module.step_limit:
            raise InputError(
                f"step: {step:g} s is above the stability limit of module {module.name!r}, {module.step_limit:g} s"
            )


def check_options(spec: mujoco.MjSpec, notes: list[str]) -> None:
    """Raise an InputError for options that the step does not support, and note those that are changed."""
    option, enum = spec.option, mujoco
    refused = {
        "integrator RK4": option.integrator == enum.mjtIntegrator.mjINT_RK4,
        "integrator implicit": option.integrator == enum.mjtIntegrator.mjINT_IMPLICIT,
        "integrator discrete": option.integrator == getattr(enum.mjtIntegrator, "mjINT_DISCRETE", None),
        "solver PGS": option.solver == enum.mjtSolver.mjSOL_PGS,
        f"noslip_iterations {option.noslip_iterations}": option.noslip_iterations > 0,
        "flag sleep": bool(option.enableflags & enum.mjtEnableBit.mjENBL_SLEEP),
        "flag ipc": bool(option.enableflags & getattr(enum.mjtEnableBit, "mjENBL_IPC", 0)),  # MuJoCo 3 may lack it
    }
    for what, present in refused.items():
        if present:
            raise InputError(
                f"model {spec.modelname!r}: option {what} is not supported with force modules; "
                "allowed: integrator implicitfast (Euler is changed to it), solver Newton or CG"
            )
    if option.integrator == enum.mjtIntegrator.mjINT_EULER:
        notes.append("integrator set to implicitfast (the model has Euler)")
    option.integrator = enum.mjtIntegrator.mjINT_IMPLICITFAST


def body_names(modules: Sequence[ForceModule]) -> list[str]:
    """Bodies used by force modules, each once, in the order in which modules name them."""
    return list(dict.fromkeys(name for module in modules for name in module.bodies))


def keep_full_mass_matrix(spec: mujoco.MjSpec, names: Sequence[str]) -> None:
    """Make MuJoCo store full blocks of M, which J^T B J needs. For simple bodies it stores the diagonal only."""
    for name in names:
        body = spec.body(name)
        if body is None:
            known = ", ".join(b.name for b in spec.bodies if b.name and b.name != "world")
            raise InputError(f"body {name!r} is not in the model; it has {known or 'no named bodies'}")
        body.simple = 0


def last_dofs(m: mujoco.MjModel) -> np.ndarray:
    """(body,) last degree of freedom that moves a body, -1 if it is fixed."""
    return np.array([_last_dof(m, body) for body in range(m.nbody)], np.int32)


def _last_dof(m: mujoco.MjModel, body: int) -> int:
    while body > 0 and m.body_dofnum[body] == 0:
        body = m.body_parentid[body]
    return int(m.body_dofadr[body] + m.body_dofnum[body] - 1) if body > 0 else -1


def start_values(model: mujoco.MjModel, name: str, values: Any, worlds: int) -> np.ndarray:
    """Values of the start of all worlds, (world, n) float64, from those of each world or one for all."""
    sizes = {"qpos": model.nq, "qvel": model.nv, "act": model.na, "ctrl": model.nu}
    if name not in sizes:
        raise InputError(f"start: {name!r} is not known; allowed: {', '.join(sizes)}")
    given, wanted = np.asarray(values, float), (worlds, sizes[name])
    if given.shape not in (wanted, wanted[1:]):
        raise InputError(f"start: {name} has shape {given.shape}; allowed: {wanted} or {wanted[1:]}")
    if not np.isfinite(given).all():
        raise InputError(f"start: {name} has a number that is not finite")
    return np.broadcast_to(given, wanted).copy()
