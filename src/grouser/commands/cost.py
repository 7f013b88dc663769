"""What a run will cost, said before its first step if it is much."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grouser.module import HasWork

if TYPE_CHECKING:
    from grouser.simulation import Simulation

OF_STEP = 25e-6  # [s] engine and glue, as `make bench NAME=soil-wheel` says
OF_NODE = (
    1e-8  # [s] a node under a body in a step: 55 us for 5,776 nodes (10 mm), 192 us for 21,904 (5 mm), same benchmark
)
LONG = 600.0  # [s] from which a run is announced
UNITS = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"))


def expected_seconds(sim: Simulation, duration: float) -> float:
    """Time [s] of a processor that `duration` [s] of simulated time take. Tracks and other modules are not counted."""
    nodes = sum(module.work() for module in sim.modules if isinstance(module, HasWork))
    return duration / sim.step_size * (OF_STEP + OF_NODE * nodes)


def long_run(sim: Simulation, duration: float) -> str:
    """A line about a run that is expected to take long; empty for others."""
    seconds = expected_seconds(sim, duration)
    if seconds < LONG:
        return ""
    size, unit = next(one for one in UNITS if seconds >= 2 * one[0] or one is UNITS[-1])
    nodes = sum(module.work() for module in sim.modules if isinstance(module, HasWork))
    steps = f"{duration / sim.step_size:,.0f} steps of {sim.step_size:g} s"
    where = f", soil of {nodes:,.0f} nodes under bodies in each; a larger spacing is faster" if nodes else ""
    return f"this run will take about {seconds / size:.2g} {unit}: {steps}{where}"
