"""Both engines on the same model: worlds on Warp's CPU device beside worlds of MuJoCo in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mujoco
import numpy as np

from grouser.engine.mujoco_cpu import MujocoCpu
from grouser.engine.mujoco_warp import MujocoWarp
from tests.engine.fakes import step


def on_warp(spec: mujoco.MjSpec, modules: Sequence[Any], h: float, worlds: int = 1, **more: Any) -> MujocoWarp:
    return MujocoWarp(spec, modules, h, worlds=worlds, device="cpu", **more)


def both(make: Callable[[], tuple[mujoco.MjSpec, list[Any]]], h: float, worlds: int = 3, **more: Any):
    """The engine on the CPU in float64 and that on Warp, each with a model and modules of its own."""
    spec, modules = make()
    reference = MujocoCpu(spec, modules, h, worlds=worlds)
    spec, modules = make()
    return reference, on_warp(spec, modules, h, worlds, **more)


def random_starts(reference: MujocoCpu, engine: MujocoWarp, seed: int, speed: float = 1.0) -> None:
    """Another random pose and speed in each world, the same in both engines, rounded to float32."""
    m, random = reference.model, np.random.default_rng(seed)
    for d in reference.data:
        q = np.array(m.qpos0)
        mujoco.mj_integratePos(m, q, random.normal(size=m.nv), 1.0)
        d.qpos[:], d.qvel[:] = np.float32(q), np.float32(speed * random.normal(size=m.nv))
    copy_state(reference, engine)


def copy_state(reference: MujocoCpu, engine: MujocoWarp) -> None:
    """Put the worlds of `engine` into the state of the reference and make both kinematics known."""
    for name in ("qpos", "qvel", "act", "ctrl"):
        getattr(engine, name).assign(np.array([getattr(d, name) for d in reference.data], np.float32))
    reference.kinematics()
    engine.kinematics()


def apart(reference: MujocoCpu, engine: MujocoWarp) -> dict[str, float]:
    """Largest differences between the engines, relative to the largest value (at least 1) of each kind."""

    def largest(got, expected) -> float:
        expected = np.asarray(expected, float)
        return float(np.abs(got - expected).max(initial=0.0) / np.abs(expected).max(initial=1.0))

    found = {
        "qpos": largest(engine.qpos.numpy(), [d.qpos for d in reference.data]),
        "qvel": largest(engine.qvel.numpy(), [d.qvel for d in reference.data]),
    }
    for mine, other in zip(engine.slots, reference.slots, strict=True):
        found["effective"] = largest(mine.out.effective.numpy(), other.out.effective.numpy())
    return found


def steps_apart(reference: MujocoCpu, engine: MujocoWarp, count: int) -> dict[str, float]:
    """`apart` after some steps of both."""
    step(reference, count)
    step(engine, count)
    return apart(reference, engine)
