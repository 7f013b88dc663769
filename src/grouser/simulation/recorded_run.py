"""The loop of a run: steps, frames, changed ground, progress."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grouser.simulation import sensing
from grouser.terrain import checks

if TYPE_CHECKING:
    from grouser.recording import RecordingWriter
    from grouser.simulation.simulation import Simulation

MOST_STEPS = 1000  # largest number of steps between two returns to Python
PROGRESS_STEPS = 16  # steps between two readings of the wall clock
PROGRESS_PERIOD = 0.1  # [s] of wall time between two calls of `progress`


@dataclass(frozen=True)
class RunResult:
    """Result of a run."""

    steps: int
    wall_s: float
    sim_s: float

    @property
    def real_time_factor(self) -> float:
        return self.sim_s / self.wall_s if self.wall_s > 0 else float("inf")


def run(
    sim: Simulation,
    duration: float,
    writer: RecordingWriter | None,
    rate: float,
    progress: Callable[[float], None] | None,
    done: int = 0,
    keep: Callable[[int], None] | None = None,
) -> RunResult:
    """Run for `duration` [s], of which `done` steps have been made, or until `finished`. See `Simulation.run`."""
    checks.number(duration, "duration", at_least=0)
    checks.number(rate, "rate", above=0)
    start_steps, start_time = sim.steps, sim.time
    total = round(duration / sim.step_size)
    every = max(1, round(1 / (rate * sim.step_size)))
    tiles_every = max(every, round(1 / (sim.tile_rate * sim.step_size)))
    if writer is not None and writer.last_time == -math.inf:  # a new recording begins with all ruts so far
        sim.tile_stamps.clear()
    for sensor in sim.sensors.values():
        sensor.begin_recording(writer is not None)
    began = said = clock.perf_counter()
    try:
        k = done
        while True:
            if writer is not None and k % every == 0:
                sensing.sample_due(sim)  # a frame has the samples up to its own time
                if writer.last_time != sim.time:  # otherwise the run before has recorded it
                    writer.append(sim.time)
                if k % tiles_every == 0:
                    record_tiles(sim, writer)
                    if keep is not None:
                        keep(k)
            if k == total or (sim.finished and k % every == 0):
                break
            ahead = min(total - k, PROGRESS_STEPS if progress else MOST_STEPS, every - k % every)
            sim.step(ahead)
            k += ahead
            if progress is not None and clock.perf_counter() - said > PROGRESS_PERIOD:
                said = clock.perf_counter()
                progress(sim.time)
    finally:
        for sensor in sim.sensors.values():
            sensor.begin_recording(False)
        if sim.loads is not None:
            sim.loads.sample(at_once=True)
        if writer is not None:
            record_tiles(sim, writer)
            writer.flush()
    if progress is not None:
        progress(sim.time)
    return RunResult(sim.steps - start_steps, clock.perf_counter() - began, sim.time - start_time)


def record_tiles(sim: Simulation, writer: RecordingWriter) -> None:
    """Record the ground that changed since the last call."""
    if sim.ground is None:
        return
    for world in range(sim.worlds):
        indices, heights = sim.changed_tiles(world)
        if len(indices):
            writer.append_tiles(sim.time, world, indices, heights)
