"""The step, on one screen.

It begins where the last one ended: kinematics known, modules committed, nothing owed. In the order of
architecture: controllers act, modules evaluate at the old state, MuJoCo integrates, modules commit at the new.
Where modules are nothing but launches, steps between two acts of controllers run as one compiled loop.
With `substeps` all but the controllers goes round as often in a step, each time by `engine.step`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grouser.launches import Loop
    from grouser.simulation.simulation import Simulation


def advance(sim: Simulation, most: int) -> int:
    """Up to `most` steps of `sim.step_size`, until a controller is due again; how many."""
    sim.act()  # controllers and battery, held until the next time they are due
    count = min(most, sim.steps_until_due())
    first, done, total = sim.steps, 0, count * sim.substeps
    while done < total:
        loop, ahead = compiled_loop(sim)
        done += loop.run(min(total - done, ahead)) if loop else integrate(sim)
        sim.steps = first + (done - 1) // sim.substeps  # the last one is not settled yet
        sim.time = (first + done / sim.substeps) * sim.step_size
        if sim.engine.alarmed:  # before the next commit sets its own status
            sim.explain_alarm()
            loop = None  # worlds may stand still from now on
        if loop:
            loop.finish()
        else:
            settle(sim)
        sim.steps = first + done // sim.substeps
    return count


def compiled_loop(sim: Simulation) -> tuple[Loop | None, int]:
    """Whole steps without Python and how many of them; none where a module must see each."""
    if len(sim.compiled) < len(sim.modules):
        return None, 1
    ahead = min((module.steps_ahead() for module in sim.compiled), default=sys.maxsize)
    return sim.engine.loop([module.launches(sim.engine.step) for module in sim.compiled]), ahead


def integrate(sim: Simulation) -> int:
    """One step but for its end."""
    for module in sim.modules:
        module.evaluate(sim.engine.step)  # wrench and implicit block, committed state untouched
    sim.engine.assemble()  # into the passive forces and the mass matrix
    sim.engine.advance()  # mj_step2; then what the bodies really got
    return 1


def settle(sim: Simulation) -> None:
    """Kinematics at the present time, then modules finish the step that led there, in declared order."""
    sim.engine.kinematics()
    for module in sim.modules:
        module.commit(sim.engine.step)
