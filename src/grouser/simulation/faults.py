"""Reasons why a world of a simulation cannot continue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grouser.engine.preparation import SPEED_LIMIT
from grouser.errors import RunStopped

if TYPE_CHECKING:
    from grouser.simulation.simulation import Simulation


def fault(sim: Simulation, world: int) -> RunStopped | None:
    """Reason why a world cannot continue, or None. Statuses that are not fatal are noted."""
    engine = sim.engine
    for slot in engine.slots:  # check first: a NaN wrench causes the faults found below
        wrench, implicit = slot.out.wrench.numpy()[world], slot.out.implicit.numpy()[world]
        wrong = ~(np.isfinite(wrench).all(axis=1) & np.isfinite(implicit).all(axis=(1, 2)))
        if wrong.any():
            body = slot.module.bodies[int(wrong.argmax())]
            return RunStopped("the wrench is not finite", module=slot.module.name, body=body, time=sim.time)
    fast = np.flatnonzero(~(np.abs(engine.data[world].qvel) < SPEED_LIMIT))
    if len(fast):
        body = sim.model.body(sim.model.dof_bodyid[fast[0]]).name
        return RunStopped(
            f"the motion diverged{largest_wrench_text(sim, world)}", module="mujoco", body=body, time=sim.time
        )
    for slot in engine.slots:
        module = slot.module
        for k in np.flatnonzero(slot.out.status.numpy()[world]):
            code, body = int(slot.out.status.numpy()[world, k]), module.bodies[k]
            reason, fatal = module.explain(code)
            if fatal:
                return RunStopped(reason, module=module.name, body=body, time=sim.time)
            slot.explained.numpy()[world, k] = code
            for line in reason.splitlines():
                sim.module_notes.add(module.name, body, line, sim.time)
    return None


def largest_wrench_text(sim: Simulation, world: int) -> str:
    """Text that names the module and body with the largest wrench of this step."""
    most, words = 0.0, ""
    for slot in sim.engine.slots:
        sizes = np.abs(slot.out.wrench.numpy()[world]).max(axis=1)
        if len(sizes) and sizes.max() > most:
            most, body = float(sizes.max()), slot.module.bodies[int(sizes.argmax())]
            words = f"; the largest wrench, {most:.3g} N or N m, was that of {slot.module.name} on {body!r}"
    return words
