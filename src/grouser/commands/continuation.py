"""Checkpoints of a run in its folder, and `grouser run --continue`, which goes on from the last one.

A checkpoint is taken after a frame, once everything up to then is in the recording. The continued run copies the
frames up to the checkpoint into a new recording, which then replaces the old one, and appends what follows: the same
bits as those of a run that nothing has interrupted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pydantic

import grouser
from grouser.commands.folder import CHECKPOINT, RECORDING, recording_path
from grouser.errors import InputError
from grouser.recording.schema import to_json
from grouser.scenarios import registry
from grouser.scenarios.settings import Experiment

if TYPE_CHECKING:
    from grouser.recording import Recording, RecordingWriter
    from grouser.simulation import Simulation

PERIOD = 60.0  # [s] wall time between two checkpoints
LARGEST_SHARE = 0.02  # of the wall time that checkpoints may take; large ones are taken less often
NUMBERS = ("done", "frames", "patches", "start_time", "wall_s")  # in a checkpoint, besides the state
HERE = ("provenance",)  # entries of a header that differ between two runs of the same settings


class Checkpoints:
    """Writes a checkpoint of a run from time to time; `sim.run` calls it when one can be taken."""

    def __init__(
        self, folder: Path, sim: Simulation, writer: RecordingWriter, header: Mapping[str, Any], period: float,
        start_time: float, wall_s: float = 0.0,
    ):  # fmt: skip
        """`start_time` [s]: of the simulation when the run began. `wall_s` [s]: wall time it has taken before."""
        self.path = folder / CHECKPOINT
        self._sim, self._writer, self._header, self._period = sim, writer, settled(header), period
        self._start_time, self._wall_s = start_time, wall_s
        self._began = self._last = time.monotonic()
        self._pause = period
        self._failed = False

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        if now - self._last < self._pause or self._failed:
            return
        self.write(done)
        self._last = time.monotonic()
        self._pause = max(self._period, (self._last - now) / LARGEST_SHARE)

    def write(self, done: int) -> None:
        """Write a checkpoint after `done` steps. A disk that refuses it does not stop the run: it is noted."""
        from grouser.simulation import run_state
        from grouser.simulation.checkpoint_file import save

        self._writer.flush()
        kept = {
            "header": self._header,
            "version": grouser.__version__,
            "done": done,
            "frames": self._writer.frames,
            "patches": self._writer.patches,
            "start_time": self._start_time,
            "wall_s": self._wall_s + time.monotonic() - self._began,
            **run_state.take(self._sim),
        }
        try:
            save(kept, self.path)
        except OSError as error:
            self._failed = True
            self._sim.notes.append(f"no more checkpoints: {self.path}: {error.strerror or error}")


@dataclass(frozen=True)
class Continuation:
    """A run that ended early, and where it goes on."""

    folder: Path
    experiment: Experiment
    header: dict[str, Any]
    rate: float  # [Hz]
    saved: dict[str, Any] | None  # None: it has no checkpoint and starts again

    @property
    def time(self) -> float:
        """Time [s] at which the run goes on."""
        return self.saved["simulation"]["time"] if self.saved else 0.0

    def check(self, header: Mapping[str, Any]) -> None:
        """Raise InputError if the same settings would be another run today."""
        now, then = settled(header), settled(self.header)
        differ = [key for key in {**now, **then} if now.get(key) != then.get(key)]
        if differ:
            raise InputError(f"--continue {self.folder}: {', '.join(differ)} differ from those of its recording")


def find_run(place: Path) -> Continuation:
    """The run in a folder. Raises InputError if it is complete, still running or not made by `grouser run`."""
    from grouser.recording import Recording
    from grouser.simulation.checkpoint_file import load

    folder = place if place.is_dir() else place.parent
    path = recording_path(place)
    if path.name != RECORDING:
        raise InputError(f"--continue {place}: allowed is the folder of a run")
    with Recording(path) as source:
        _check_ended_early(source, folder)
        experiment = _experiment(source, folder)
        header = source.header
    if "rate" not in header or header.get("version") != grouser.__version__:
        raise InputError(
            f"--continue {folder}: recorded by version {header.get('version')}: allowed is {grouser.__version__}"
        )
    saved = load(folder / CHECKPOINT) if (folder / CHECKPOINT).exists() else None
    if saved is not None and not _belongs(saved, header):
        raise InputError(f"--continue {folder}: {CHECKPOINT} is not of this recording; remove it to start again")
    return Continuation(folder, experiment, header, float(header["rate"]), saved)


def _belongs(saved: Mapping[str, Any], header: Mapping[str, Any]) -> bool:
    """Whether a checkpoint has all it needs and is of a recording with this header."""
    state = saved.get("simulation")
    numbers = [saved.get(name) for name in NUMBERS] + [state.get("time") if isinstance(state, dict) else None]
    return saved.get("header") == settled(header) and all(isinstance(one, int | float) for one in numbers)


def _check_ended_early(source: Recording, folder: Path) -> None:
    if source.status == "running":
        raise InputError(f"--continue {folder}: the run is still going on")
    if source.status == "complete":
        raise InputError(f"--continue {folder}: the run is complete; `grouser report {folder}` draws its report")


def _experiment(source: Recording, folder: Path) -> Experiment:
    name, settings = source.header.get("scenario"), source.header.get("settings")
    if name not in registry.NAMES:
        raise InputError(f"--continue {folder}: {name!r} is not a scenario of `grouser run`")
    scenario = registry.scenario(str(name))
    try:
        return Experiment(scenario, scenario.settings.model_validate(settings))
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"--continue {folder}: settings of the recording: {where}: {first['msg']}") from None


def settled(header: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a header that two runs of the same settings share, as they come back from a file."""
    return json.loads(to_json({key: value for key, value in header.items() if key not in HERE}))


def restore(sim: Simulation, saved: Mapping[str, Any]) -> None:
    """Put a simulation where the checkpoint was taken. Raises InputError if it is of another simulation."""
    from grouser.simulation import run_state

    try:
        run_state.restore(sim, saved)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{CHECKPOINT}: it does not fit this simulation: {error}") from None


def forget(folder: Path) -> None:
    """Remove the checkpoint of a run that is complete."""
    with suppress(OSError):
        (folder / CHECKPOINT).unlink(missing_ok=True)
