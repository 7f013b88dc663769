"""The order of a simulation step.

At the start of a step, kinematics are up to date and modules have committed the last one. Controllers act, modules
evaluate at the old state, MuJoCo integrates, and modules commit at the new state. If all modules consist of kernel
launches only, the steps between two acts of controllers run as one compiled loop. With `substeps`, everything except
the controllers is repeated that many times per step, each time by `engine.step` [s].
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grouser.launches import Loop
    from grouser.simulation.simulation import Simulation


def advance(sim: Simulation, most: int) -> int:
    """Advance by up to `most` steps of `sim.step_size`, or until a controller is due. Returns the number of steps."""
    sim.act()  # commands of controllers and battery hold until they are due again
    count = min(most, sim.steps_until_due())
    first, done, total = sim.steps, 0, count * sim.substeps
    while done < total:
        loop, ahead = compiled_loop(sim)
        done += loop.run(min(total - done, ahead)) if loop else integrate(sim)
        sim.steps = first + (done - 1) // sim.substeps  # the last one is not committed yet
        sim.time = (first + done / sim.substeps) * sim.step_size
        if sim.engine.alarmed:  # check before the commit overwrites the status
            sim.explain_alarm()
            loop = None  # use the Python path: some worlds may now be frozen
        if loop:
            loop.finish()
        else:
            settle(sim)
        sim.steps = first + done // sim.substeps
    return count


def compiled_loop(sim: Simulation) -> tuple[Loop | None, int]:
    """Compiled loop over whole steps, and how many it may run. None if a module needs Python in every step."""
    if len(sim.compiled) < len(sim.modules):
        return None, 1
    ahead = min((module.steps_ahead() for module in sim.compiled), default=sys.maxsize)
    return sim.engine.loop([module.launches(sim.engine.step) for module in sim.compiled]), ahead


def integrate(sim: Simulation) -> int:
    """First part of a step: evaluate the modules and integrate. `settle` completes it."""
    for module in sim.modules:
        module.evaluate(sim.engine.step)  # fills wrench and implicit block, leaves the committed state unchanged
    sim.engine.assemble()  # adds them to the passive forces and the mass matrix
    sim.engine.advance()  # mj_step2, then the effective wrenches
    return 1


def settle(sim: Simulation) -> None:
    """Second part of a step: update the kinematics, then commit the modules in declared order."""
    sim.engine.kinematics()
    for module in sim.modules:
        module.commit(sim.engine.step)
