"""The order of a simulation step.

At the start of a step, kinematics are up to date and modules have committed the last one. Controllers act, modules
evaluate at the old state, MuJoCo integrates, and modules commit at the new state. If all modules consist of kernel
launches only, the steps between two acts of controllers run as one compiled loop. With `substeps`, everything except
the controllers is repeated that many times per step, each time by `engine.step` [s].
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from grouser.module import Divisible

if TYPE_CHECKING:
    from grouser.launches import Loop
    from grouser.simulation.simulation import Simulation
    from grouser.simulation.world_threads import WorldThreads


def advance(sim: Simulation, most: int) -> int:
    """Advance by up to `most` steps of `sim.step_size`, or until a controller is due. Returns the number of steps."""
    sim.act()  # commands of controllers and battery hold until they are due again
    count = min(most, sim.steps_until_due(), sim.rest_ground())
    if sim.threads is not None and part_loops(sim, sim.threads) is not None:
        advance_parts(sim, sim.threads, count)
        return count
    first, done, total = sim.steps, 0, count * sim.substeps
    while done < total:
        loop, ahead = compiled_loop(sim)
        done += loop.run(min(total - done, ahead)) if loop else integrate(sim)
        sim.steps = first + (done - 1) // sim.substeps  # the last one is not committed yet
        sim.time = (first + done / sim.substeps) * sim.step_size
        if sim.looks_for_alarms(count) and sim.engine.alarmed:  # check before the commit overwrites the status
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


def advance_parts(sim: Simulation, threads: WorldThreads, count: int) -> None:
    """Advance by `count` steps, each part of the worlds on a thread of its own.

    A part in which a world raises an alarm ends early and catches up afterwards. Worlds do not know each other, so
    their results are those of one thread.
    """
    first, total, done = sim.steps, count * sim.substeps, [0] * len(threads.parts)
    while min(done) < total:
        ahead = min((module.steps_ahead() for module in sim.compiled), default=sys.maxsize)
        loops = part_loops(sim, threads) or []
        behind = [k for k in range(len(loops)) if done[k] < total]
        with sim.engine.without_python():
            ran = threads.run([partial(loops[k].run, min(total - done[k], ahead)) for k in behind])
        for k, steps in zip(behind, ran, strict=True):
            done[k] += steps
        sim.steps = first + (min(done) - 1) // sim.substeps  # the last one is not committed yet
        sim.time = (first + min(done) / sim.substeps) * sim.step_size
        if sim.engine.alarmed:  # check before the commit overwrites the status
            sim.explain_alarm()
            loops = part_loops(sim, threads) or []  # some worlds may now be frozen
        with sim.engine.without_python():
            threads.run([loops[k].finish for k in behind])
    sim.steps, sim.time = first + count, (first + count) * sim.step_size


def part_loops(sim: Simulation, threads: WorldThreads) -> list[Loop] | None:
    """Compiled loops over whole steps of the parts of the worlds. None if they cannot run apart."""
    pairs = [[module.launches_of(sim.engine.step, part) for module in sim.modules if isinstance(module, Divisible)]
             for part in threads.parts]  # fmt: skip
    whole = [[pair for pair in of_part if pair is not None] for of_part in pairs]
    if any(len(of_part) < len(sim.modules) for of_part in whole):
        return None
    return sim.engine.loops(threads.parts, whole)


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
