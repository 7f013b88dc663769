"""Bending of both satellites on the boom: its frequencies, and the boom's damping for the wanted damping ratio."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import mujoco
import numpy as np

from grouser.errors import InputError
from grouser.model_compiler import compile_model
from grouser.robots import olev
from grouser.robots.olev import BENDS, BOOM_STAGES, GAUSS, WINGS, InitialState, Olev

RIGID = 6  # number of rigid-body modes, which come first
BENDING_SHARE = 0.3  # fraction of a mode's elastic energy in the boom above which it counts as bending of the boom


def stiffness(p: Olev, length: float) -> float:
    """Stiffness [N m/rad] of each bending joint of the boom at a free length [m]: 2 EI / L."""
    return 2 * p.boom_flexural_rigidity / length


def frequencies(p: Olev, length: float) -> np.ndarray:
    """Lowest bending frequencies [rad/s], (2,) of the two satellites joined by the boom: about x, about y."""
    return _bending(p, float(length))[0]


def damping(p: Olev, length: float) -> np.ndarray:
    """Damping [N m s/rad], (2,) of the bending joints about x and y that gives the lowest mode its damping ratio.

    Damping is proportional to stiffness, c = beta k; beta from phi^T C phi = 2 zeta omega phi^T M phi of that mode.
    """
    return _bending(p, float(length))[1]


@lru_cache(maxsize=4)
def _model(p: Olev) -> mujoco.MjModel:
    """Model of both satellites in line, without tilt or rotation."""
    level = replace(p, nozzle_tilt_deg=0.0)
    still = InitialState(**{**dict.fromkeys(InitialState.__dataclass_fields__, 0.0), "boom_length": p.boom_extended})
    return compile_model(olev.build(level, still))


@lru_cache(maxsize=512)
def _bending(p: Olev, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Modes of servicer, boom, wings and client. The client can tilt in its seat; drives and wheels are at rest."""
    model = _model(p)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    for stage, share in zip(BOOM_STAGES, GAUSS, strict=True):
        data.joint(stage).qpos[0] = share * length
    data.joint("client").qpos[2] += length - p.boom_extended
    data.qvel[:] = 0
    mujoco.mj_forward(model, data)
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    wings = [f"{bus}_bend_{wing}" for bus in ("servicer", "client") for wing in WINGS]
    out = np.zeros((2, 2))
    for axis in range(2):
        bends = BENDS[axis::2]
        root = model.joint("servicer").dofadr[0]
        dofs = [*range(root, root + 6), *(model.joint(name).dofadr[0] for name in (*bends, *wings))]
        count = len(dofs) + 1  # the last one is the tilt of the client in its seat
        carried = np.zeros((model.nv, count))
        carried[dofs, range(len(dofs))] = 1.0
        carried[_client(model), :-1] = _with_tool(model, data)[:, dofs]
        carried[_client(model), -1] = _tilting(data, p, axis)
        elastic = np.zeros((count, count))
        lossy = np.zeros_like(elastic)
        boom = np.zeros_like(elastic)
        for k, name in enumerate((*bends, *wings), start=6):
            if name in bends:
                elastic[k, k] = boom[k, k] = stiffness(p, length)
            else:
                joint = model.joint(name)
                elastic[k, k], lossy[k, k] = joint.stiffness[0], joint.damping[0]
        elastic[-1, -1] = p.seat_tilt_stiffness
        inertia = carried.T @ mass @ carried
        try:
            half = np.linalg.inv(np.linalg.cholesky(inertia))
        except np.linalg.LinAlgError:
            raise InputError(
                "machine: no bending modes of the boom found; its masses and lengths differ by too much"
            ) from None
        values, shapes = np.linalg.eigh(half @ elastic @ half.T)
        modes = half.T @ shapes[:, RIGID:]
        share = np.einsum("im,ij,jm->m", modes, boom, modes) / values[RIGID:]  # fraction of the energy in the boom
        lowest = int(np.argmax(share > BENDING_SHARE))  # bending modes of the wings may be lower
        shape, omega = modes[:, lowest], float(np.sqrt(values[RIGID + lowest]))
        beta = (2 * p.boom_damping_ratio * omega - shape @ lossy @ shape) / (shape @ boom @ shape)
        out[:, axis] = omega, max(beta, 0.0) * stiffness(p, length)
    return out[0], out[1]


def _tilting(data: mujoco.MjData, p: Olev, axis: int) -> np.ndarray:
    """Velocity (6,) of the client's joint when it turns about x or y through the nozzle's throat at 1 rad/s."""
    turn = np.eye(3)[axis]
    own = data.body("client").xmat.reshape(3, 3)
    return np.concatenate([np.cross(turn, -own @ p.throat), own.T @ turn])


def _client(model: mujoco.MjModel) -> slice:
    first = model.joint("client").dofadr[0]
    return slice(first, first + 6)


def _with_tool(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """Jacobian (6, dof) of a client fixed to the tool: velocity in world axes, angular velocity in body axes."""
    place, turn = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    client = data.body("client")
    mujoco.mj_jac(model, data, place, turn, client.xpos, model.body("tool").id)
    return np.concatenate([place, client.xmat.reshape(3, 3).T @ turn])
