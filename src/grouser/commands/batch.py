"""Several cases of a scenario as worlds of one batch: each leaves the recording and the summary of a run of its own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.commands.run import OneRun, Outcome, check_duration, header_of
from grouser.errors import RunStopped
from grouser.module import Channel
from grouser.scenarios.settings import Experiment
from grouser.simulation.recorded_run import MOST_STEPS

if TYPE_CHECKING:
    from grouser.recording import RecordingWriter
    from grouser.simulation import Simulation


class FrameValues:
    """Values of all channels in all worlds, read once for each frame."""

    def __init__(self, sim: Simulation):
        self._sim, self.channels = sim, sim.channels()
        self._refreshes = list(dict.fromkeys(c.refresh for c in self.channels if c.refresh is not None))
        self._values: list[np.ndarray] = []
        self._step = -1

    def of(self, channel: int, world: int) -> np.ndarray:
        """Value of a channel, (1, *shape)."""
        if self._step != self._sim.steps:
            for refresh in self._refreshes:
                refresh()
            self._values = [np.asarray(c.read() if c.source is None and c.read else c.source) for c in self.channels]
            self._step = self._sim.steps
        return self._values[channel][world : world + 1]


class World:
    """One world of a batch, as what records a run sees its simulation."""

    worlds = 1

    def __init__(self, sim: Simulation, number: int, values: FrameValues):
        self._sim, self.number, self._values = sim, number, values
        self.step_size, self.ground, self.modules, self.sensors = sim.step_size, sim.ground, sim.modules, sim.sensors
        self.model, self.terrain, self.geometry, self.shapes = sim.model, sim.terrain, sim.geometry, sim.shapes
        self.time = sim.time  # [s] that it has run

    @property
    def notes(self) -> list[str]:
        """Notes of the batch, without those on worlds that stand still: these are the outcomes of their cases."""
        return [line for line in self._sim.notes if not line.startswith("world ")]

    def channels(self) -> list[Channel]:
        def reads(channel: int):
            return lambda: self._values.of(channel, self.number)

        return [
            replace(channel, read=reads(k), source=None, refresh=None)
            for k, channel in enumerate(self._values.channels)
        ]

    def record_tiles(self, writer: RecordingWriter) -> None:
        indices, heights = self._sim.changed_tiles(self.number)
        if len(indices):
            writer.append_tiles(self.time, 0, indices, heights)


def execute_batch(
    experiments: Sequence[Experiment], folders: Sequence[Path], rate: float, device: str
) -> list[Outcome]:
    """Run cases of one scenario as worlds of a batch on a `device`, each with its results in an empty folder."""
    batch = experiments[0].scenario.batch
    assert batch is not None
    sim = batch.build([one.settings for one in experiments], device)
    duration = experiments[0].duration
    check_duration(duration, sim.step_size, rate)
    values = FrameValues(sim)
    worlds = [World(sim, k, values) for k in range(len(experiments))]
    runs = [OneRun(one, world, folder) for one, world, folder in zip(experiments, worlds, folders, strict=True)]  # type: ignore[arg-type]
    headers: list[dict[str, Any]] = [
        header_of(one, world, rate) | {"batch": {"worlds": len(worlds), "device": device}}  # type: ignore[arg-type]
        for one, world in zip(experiments, worlds, strict=True)
    ]
    with ExitStack() as stack:
        writers = [
            stack.enter_context(run.writer(header, rate, None, 0.0, None))
            for run, header in zip(runs, headers, strict=True)
        ]
        started = time.perf_counter()
        _simulate(sim, worlds, writers, duration, rate)
        wall_s = time.perf_counter() - started
        for k, (run, world, writer) in enumerate(zip(runs, worlds, writers, strict=True)):
            run.wall_s, run.sim_s = wall_s, world.time
            if (stop := sim.world_stops.get(world.number)) is not None:
                run.set_end("stopped", str(stop), stop)
            run.finish(writer, [metric["name"] for metric in headers[k]["metrics"]])
    return [run.write_results(report=False) for run in runs]


def _simulate(
    sim: Simulation, worlds: Sequence[World], writers: Sequence[RecordingWriter], duration: float, rate: float
) -> None:
    """Step the batch and record each world until it ends or stands still."""
    total = round(duration / sim.step_size)
    every = max(1, round(1 / (rate * sim.step_size)))
    tiles_every = max(every, round(1 / (sim.tile_rate * sim.step_size)))
    live, done = list(zip(worlds, writers, strict=True)), 0
    while True:
        _look(sim)
        live = [pair for pair in live if pair[0].number not in sim.world_stops]
        if done % every == 0:
            for world, writer in live:
                world.time = sim.time
                writer.append(sim.time)
                if done % tiles_every == 0:
                    world.record_tiles(writer)
        if done == total or not live:
            break
        ahead = min(total - done, MOST_STEPS, every - done % every)
        try:
            sim.step(ahead)
        except RunStopped:  # no world is left
            continue
        done += ahead
    for world, writer in live:
        world.time = sim.time
        world.record_tiles(writer)


def _look(sim: Simulation) -> None:
    """Find out why worlds stand still. On a GPU the simulation itself looks only now and then."""
    frozen: Any = np.flatnonzero(sim.engine.frozen)
    if any(int(world) not in sim.world_stops for world in frozen):
        with suppress(RunStopped):  # that was the last world
            sim.explain_alarm()
