"""`grouser.record`: run a simulation made in Python, with recording, figures and report like those of a scenario."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from grouser.commands import run as running
from grouser.errors import InputError
from grouser.scenarios import robot
from grouser.scenarios.scenario import Scenario, Settings
from grouser.scenarios.settings import Experiment
from grouser.simulation import Simulation
from grouser.terrain import checks


class Recorded(Settings):
    """What the report shows as settings."""

    seconds: float
    dtype: str


def record(
    sim: Simulation,
    out: str | Path | None = None,
    seconds: float = 10.0,
    *,
    name: str | None = None,
    rate: float = 100.0,
    force: bool = False,
    report: bool = True,
) -> running.Outcome:
    """Simulate for `seconds` from now on. Leaves recording, summary, figures and report in the folder `out`.

    `name`: title of the report, by default the name of the model or of its first body. `rate` [Hz]: frames. `force`
    replaces results that are in the folder already. Raises RunStopped if the simulation stops; the folder has all data
    up to that time.
    """
    if not isinstance(sim, Simulation):
        raise InputError(f"record: {sim!r} is not allowed; it must be a Simulation, such as grouser.on_soil(...) makes")
    if sim.worlds > 1:
        raise InputError(f"record: {sim.worlds} worlds are not allowed; record one world")
    checks.number(seconds, "record: seconds", above=0)
    checks.number(rate, "record: rate", above=0)
    title = re.sub(r"[^\w.-]+", "-", name or robot.model_name(sim) or _first_body(sim))  # it also names the folder
    experiment = Experiment(_scenario(sim, title), Recorded(seconds=seconds, dtype=sim.engine.dtype))
    return running.checked(running.execute(experiment, out=out, force=force, rate=rate, report=report))


def _scenario(sim: Simulation, name: str) -> Scenario[Any]:
    """A scenario that has the simulation already. On soil it has the metrics and figures of `grouser run --robot`."""
    on_soil = sim.soil is not None
    if on_soil and not any(channel.name == "robot/position" for channel in sim.channels()):
        for channel in robot.channels(sim):
            sim.add_channel(channel)
    return Scenario(
        name, summary="", source="", settings=Recorded,
        metrics=robot.metrics if on_soil else lambda _: [],
        figures=robot.figures if on_soil else lambda _: [],
        measure=robot.measure if on_soil else lambda _, recording: {},
        build=lambda _: sim, duration=lambda s: s.seconds,
    )  # fmt: skip


def _first_body(sim: Simulation) -> str:
    return next((name for k in range(1, sim.model.nbody) if (name := sim.model.body(k).name)), "robot")
