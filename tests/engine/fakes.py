"""Force modules made of one function, models to hang them on, and the engine's step alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

from grouser.engine.mujoco_cpu import MujocoCpu

NOTHING = np.zeros((6, 6))


class LawModule:
    """A force module from `law(h, motion) -> wrench, B[, status]`, arrays that broadcast to (world, body, …).

    `motion` has NumPy `position`, `rotation`, `velocity`, `angular_velocity` of its bodies, (world, body, 3 or 4).
    """

    def __init__(
        self,
        bodies: str | tuple[str, ...],
        law: Callable,
        *,
        name: str = "fake",
        step_limit: float = math.inf,
        reasons: dict[int, tuple[str, bool]] | None = None,
    ):
        self.bodies = (bodies,) if isinstance(bodies, str) else bodies
        self.law, self.name, self.step_limit, self.reasons = law, name, step_limit, reasons or {}

    def declare(self, spec: Any) -> None: ...

    def bind(self, motion, rows, out, step) -> None:
        self._motion, self._rows, self.out = motion, list(rows), out
        self.commits = np.zeros(motion.position.shape[0])  # (world,)

    def evaluate(self, h: float) -> None:
        wrench, block, *status = self.law(h, Seen(self._motion, self._rows))
        self.out.wrench.numpy()[...] = wrench
        self.out.implicit.numpy()[...] = block
        self.out.status.numpy()[...] = status[0] if status else 0

    def commit(self, h: float) -> None:
        self.commits += 1

    def state(self):
        return {"commits": self.commits}

    def reset(self, worlds) -> None:
        self.commits[list(worlds)] = 0

    def channels(self):
        return []

    def explain(self, code: int) -> tuple[str, bool]:
        return self.reasons[code]


class Seen:
    """What a module sees of its bodies, as NumPy."""

    def __init__(self, motion, rows):
        for name in ("position", "rotation", "velocity", "angular_velocity"):
            setattr(self, name, getattr(motion, name).numpy()[:, rows].astype(float))


def constant(wrench) -> Callable:
    """Always the same wrench [N, N m], nothing implicit."""
    return lambda h, motion: (np.asarray(wrench, float), NOTHING)


def with_block(wrench, block) -> Callable:
    return lambda h, motion: (np.asarray(wrench, float), np.asarray(block, float))


def spring(stiffness: float, damping: float = 0.0, anchor=(0.0, 0.0, 0.0)) -> Callable:
    """A spring [N/m] and damper [N s/m] from the frame origin to a fixed anchor, along x, y and z."""

    def law(h, motion):
        away = motion.position - np.asarray(anchor, float) + h * motion.velocity
        wrench = np.zeros((*away.shape[:2], 6))
        wrench[..., :3] = -stiffness * away - damping * motion.velocity
        return wrench, np.diag([h * damping + h**2 * stiffness] * 3 + [0.0] * 3)

    return law


def free_body(mass: float = 3.0, inertia=(0.02, 0.03, 0.04), centre=(0.0, 0.0, 0.0), gravity: float = 0.0):
    """One free body called "body", its centre of mass `centre` [m] away from its frame origin."""
    spec = mujoco.MjSpec()
    spec.option.gravity = [0, 0, -gravity]
    body = spec.worldbody.add_body(name="body")
    body.add_freejoint()
    body.mass, body.inertia, body.ipos, body.explicitinertial = mass, list(inertia), list(centre), True
    return spec


CHAIN = """
<mujoco model="chain"><option gravity="0 0 -9.81"/><worldbody>
  <body name="trunk" pos="0.1 0.2 0.5"><freejoint/>
    <inertial pos="0.07 -0.05 0.03" mass="4" fullinertia="0.05 0.07 0.06 0.01 -0.005 0.004"/>
    <body name="upper" pos="0.2 0.1 -0.1" euler="20 10 40"><joint name="hip" axis="0 1 0.3" pos="0.02 0 0.01"/>
      <inertial pos="0.1 0.04 -0.02" mass="1.5" fullinertia="0.01 0.02 0.015 0.001 0.002 -0.001"/>
      <body name="lower" pos="0.15 -0.05 0" euler="-30 15 5"><joint name="knee" axis="1 0.2 0"/>
        <inertial pos="-0.03 0.06 0.05" mass="0.8" diaginertia="0.004 0.005 0.006"/>
        <body name="foot" pos="0.1 0 -0.05" euler="5 0 60">
          <inertial pos="0.01 0.02 0.03" mass="0.3" diaginertia="0.001 0.001 0.001"/>
        </body></body></body>
    <body name="arm" pos="-0.2 0 0.1"><joint name="slide" type="slide" axis="0.1 0.3 1"/>
      <inertial pos="0.02 0.03 0.04" mass="0.9" diaginertia="0.004 0.005 0.006"/>
    </body></body></worldbody></mujoco>
"""


def chain() -> mujoco.MjSpec:
    """A free trunk with hinges, a slide and a fixed child, every centre of mass off its frame origin."""
    return mujoco.MjSpec.from_string(CHAIN)


def start(engine: MujocoCpu, qpos=None, qvel=None, world: int = 0) -> None:
    """Put a world into a state and make its kinematics known."""
    d = engine.data[world]
    if qpos is not None:
        d.qpos[:] = qpos
    if qvel is not None:
        d.qvel[:] = qvel
    engine.kinematics()


def random_state(engine: MujocoCpu, seed: int) -> None:
    """A random pose and speeds of order one."""
    m, random = engine.model, np.random.default_rng(seed)
    q = np.array(m.qpos0)
    mujoco.mj_integratePos(m, q, random.normal(size=m.nv), 1.0)
    start(engine, q, random.normal(size=m.nv))


def step(engine: MujocoCpu, count: int = 1) -> None:
    """Steps of the engine alone, from known kinematics to known kinematics."""
    for _ in range(count):
        for slot in engine.slots:
            slot.module.evaluate(engine.step)
        engine.assemble()
        engine.advance()
        engine.kinematics()


def jacobian(engine: MujocoCpu, body: str, world: int = 0) -> np.ndarray:
    """(6, nv) velocity of a body's frame origin, then its spin, per unit speed; MuJoCo's own."""
    m, d = engine.model, engine.data[world]
    linear, angular, b = np.zeros((3, m.nv)), np.zeros((3, m.nv)), m.body(body).id
    mujoco.mj_jac(m, d, linear, angular, d.xpos[b], b)
    return np.vstack([linear, angular])


def full_mass(engine: MujocoCpu, world: int = 0) -> np.ndarray:
    """(nv, nv) mass matrix as it is now."""
    out = np.zeros((engine.model.nv, engine.model.nv))
    mujoco.mj_fullM(engine.model, engine.data[world], out)
    return out
