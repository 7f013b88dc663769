"""The step, on one screen.

It begins where the last one ended: kinematics known, modules committed, nothing owed. In the order of
architecture: controllers act, modules evaluate at the old state, MuJoCo integrates, modules commit at the new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grouser.simulation.simulation import Simulation


def advance(sim: Simulation) -> None:
    """One step of `sim.step_size`."""
    h, engine = sim.step_size, sim.engine
    sim.act()  # controllers and battery, held until the next time they are due
    for module in sim.modules:
        module.evaluate(h)  # wrench and implicit block, committed state untouched
    engine.assemble()  # into xfrc_applied and the mass matrix
    engine.advance()  # mj_step2; then what the bodies really got
    sim.time = (sim.steps + 1) * h
    if engine.alarmed:  # before the next commit sets its own status
        sim.explain_alarm()
    settle(sim)


def settle(sim: Simulation) -> None:
    """Kinematics at the present time, then modules finish the step that led there, in declared order."""
    sim.engine.kinematics()
    for module in sim.modules:
        module.commit(sim.step_size)
