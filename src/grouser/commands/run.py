"""`grouser run`: runs a scenario and writes a folder with recording, summary, figures and report."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grouser
from grouser.commands.continuation import PERIOD, Checkpoints, Continuation, forget, restore
from grouser.commands.cost import long_run
from grouser.commands.folder import FIGURES, RECORDING, check_output_folder, lock_folder, remove_old_results
from grouser.errors import GrouserError, InputError, RunEnded, RunStopped, is_out_of_memory, out_of_memory
from grouser.module import HasLimits
from grouser.scenarios.scenario import LONG, LONG_RATE, LONG_TILE_RATE
from grouser.scenarios.settings import Experiment, from_python

if TYPE_CHECKING:
    from grouser.recording import Beginning, Recording, RecordingWriter
    from grouser.simulation import Simulation

INTERRUPTED = 130
BLOCK = 64  # frames written at a time
WATCHED_DELAY = 0.64  # [s] simulated time by which a view may lag behind
ROUND_OFF = 1e-9  # relative rounding error of a duration
MOST_STEPS = 1e10  # a few weeks at the speed of the fastest scenario
TIMING = "real_time_factor"  # metrics with this suffix are known only when the recording is closed


@dataclass(frozen=True)
class Outcome:
    """Folder and results of a run."""

    folder: Path
    summary: dict[str, Any]  # as in summary.json
    status: str  # complete, stopped or interrupted
    message: str = ""  # why it is not complete
    notes: tuple[str, ...] = ()
    stop: RunStopped | None = None
    undrawn: str = ""  # why there is no report; empty if there is one
    frames: int = 0  # number of frames that can be read back
    last_time: float = 0.0  # [s] time of the last of them

    @property
    def recording(self) -> Path:
        return self.folder / RECORDING

    @property
    def metrics(self) -> dict[str, Any]:
        """Metric values by name."""
        return {name: metric["value"] for name, metric in self.summary["metrics"].items()}

    @property
    def missed(self) -> list[str]:
        """Metrics that do not meet their expectation."""
        return [name for name, metric in self.summary["metrics"].items() if metric["pass"] is False]

    @property
    def exit_status(self) -> int:
        if self.status == "interrupted":
            return INTERRUPTED
        return self.stop.exit_status if self.stop else int(bool(self.missed or self.undrawn))


def run(
    name: str | Path,
    settings: Mapping[str, Any] | None = None,
    *,
    out: str | Path | None = None,
    force: bool = False,
    rate: float | None = None,
    report: bool = True,
    **more: Any,
) -> Outcome:
    """Run a scenario by name or YAML file, as the command does: run("single-wheel", soil="clay", slip=0.2).

    Settings may be nested, wheel={"radius": 0.2}, or dotted in a mapping, {"wheel.radius": 0.2}. Raises InputError or
    RunStopped. After RunStopped the folder contains all data up to that time.
    """
    experiment = from_python(name, {**(settings or {}), **more})
    return checked(execute(experiment, out=out, force=force, rate=rate, report=report, checkpoints=PERIOD))


def checked(outcome: Outcome) -> Outcome:
    """The outcome, or the error that ended the run."""
    if outcome.stop is not None:
        raise outcome.stop
    if outcome.status == "interrupted":
        raise KeyboardInterrupt
    if outcome.undrawn:
        raise GrouserError(outcome.undrawn)
    return outcome


def execute(
    experiment: Experiment,
    *,
    out: str | Path | None = None,
    force: bool = False,
    rate: float | None = None,
    report: bool = True,
    progress: Callable[[float], None] | None = None,
    watch: Callable[[Path], None] | None = None,
    delay: float = WATCHED_DELAY,
    draw: Callable[[Recording, Path], list[Path]] | None = None,
    checkpoints: float | None = None,
    continues: Continuation | None = None,
    tell: Callable[[str], None] | None = None,
) -> Outcome:
    """Check the input, run, and write the results into the folder. With bad input nothing is written.

    `watch` is called with the path of the recording before the first step. Frames are then written with a delay of at
    most `delay` [s]. `draw` draws the figures of a recording into a folder, as `report.draw_figures` does.
    `checkpoints` [s]: wall time between two checkpoints; None for none. `continues`: the run in `out` to go on with.
    `tell` gets a line before the first step if the run is expected to take long.
    """
    scenario, settings = experiment.scenario, experiment.settings
    rate = scenario.frame_rate(experiment.duration) if rate is None else rate
    if not rate > 0:
        raise InputError(f"rate = {rate}: allowed is a number of frames per second above 0")
    force = force or continues is not None
    if out is not None:
        check_output_folder(Path(out), force)
    sim = scenario.build(settings)
    if experiment.duration > LONG and rate <= LONG_RATE:
        sim.tile_rate = min(sim.tile_rate, LONG_TILE_RATE)
    check_duration(experiment.duration, sim.step_size, rate)
    if tell is not None and (line := long_run(sim, experiment.duration)):
        tell(line)
    header = header_of(experiment, sim, rate)
    if continues is not None:
        continues.check(header)
    folder = Path(out) if out is not None else new_run_folder(scenario.name)
    with lock_folder(folder, force):
        run = OneRun(experiment, sim, folder, checkpoints, continues)
        run.record(header, rate, progress, watch, delay)
        try:
            return run.write_results(report, draw)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            raise run.unreadable(out_of_memory(error)) from error


def check_duration(duration: float, step: float, rate: float) -> None:
    """Raise InputError for a duration [s] shorter than one step, longer than MOST_STEPS, or with only one frame."""
    if duration < step * (1 - ROUND_OFF):
        raise InputError(f"the run would last {duration:g} s: allowed is at least one step, {step:g} s")
    if not duration / step <= MOST_STEPS:
        raise InputError(
            f"the run would last {duration:g} s, {duration / step:.3g} steps of {step:g} s: "
            f"allowed are {MOST_STEPS:g} steps"
        )
    if duration * rate < 1 - ROUND_OFF:
        raise InputError(f"rate = {rate:g}: allowed are at least {1 / duration:.3g} frames a second in {duration:g} s")


def new_run_folder(name: str) -> Path:
    """Create the folder runs/NAME-TIME. A second run that starts in the same second gets a different name."""
    stem = f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    for k in range(1, 1000):
        folder = Path("runs") / (stem if k == 1 else f"{stem}-{k}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise InputError(f"{folder}: cannot be created: {error.strerror}") from None
        return folder
    raise InputError(f"runs/{stem}: a thousand folders with that name exist; give another with --out")


def header_of(experiment: Experiment, sim: Simulation, rate: float) -> dict[str, Any]:
    from grouser.recording import build_header

    scenario, settings = experiment.scenario, experiment.settings
    return build_header(
        scenario=scenario.name,
        version=grouser.__version__,
        settings=settings.model_dump(mode="json"),
        seed=getattr(settings, "seed", 0),
        dtype=getattr(settings, "dtype", "float64"),
        step=sim.step_size,
        duration=experiment.duration,
        metrics=scenario.metrics(settings),
        figures=scenario.figures(settings),
        tiles=_tiles(sim),
        sensors=[one.sensor.description() for one in sim.sensors.values()],
        title=scenario.title(settings, sim),
        rate=rate,
        limits=[asdict(limit) for m in sim.modules if isinstance(m, HasLimits) for limit in m.limits()],
    )


def _tiles(sim: Simulation) -> dict[str, Any] | None:
    """Grid of the recorded tiles of the fine ground, for the header."""
    if sim.ground is None:
        return None
    from grouser.terrain.ground import TILE

    ground = sim.ground
    origin = [float(place) for place in ground.elevation.origin]
    return {
        "spacing": ground.spacing,
        "origin": origin,
        "nx": ground.columns,
        "ny": ground.rows,
        "size": TILE,
    }


class OneRun:
    """One run: recording, status, duration and metrics."""

    def __init__(
        self,
        experiment: Experiment,
        sim: Simulation,
        folder: Path,
        checkpoints: float | None = None,
        continues: Continuation | None = None,
    ):
        self.experiment, self.sim, self.folder = experiment, sim, folder
        self.checkpoints, self.continues = checkpoints, continues
        self.status, self.message = "complete", ""
        self.stop: RunStopped | None = None
        self.wall_s, self.sim_s = 0.0, 0.0
        self.kept_time = -math.inf  # [s] of the last frame in the recording

    def record(
        self,
        header: dict[str, Any],
        rate: float,
        progress: Callable[[float], None] | None,
        watch: Callable[[Path], None] | None = None,
        delay: float = WATCHED_DELAY,
    ) -> None:
        """Simulate and record, compute the metrics, and close the recording with the result."""
        sim = self.sim
        saved = self.continues.saved if self.continues is not None else None
        if saved is not None:
            restore(sim, saved)
        with self._beginning() as begin:
            writer = self.writer(header, rate, watch, delay, begin)
        if saved is None:
            remove_old_results(self.folder)
        started, start_time = time.perf_counter(), sim.time if saved is None else saved["start_time"]
        before = 0.0 if saved is None else saved["wall_s"]
        try:
            if watch is not None:
                watch(self.folder / RECORDING)
                started = time.perf_counter()
            keep = None
            if self.checkpoints is not None:
                keep = Checkpoints(self.folder, sim, writer, header, self.checkpoints, start_time, before)
            done = 0 if saved is None else saved["done"]
            sim.run(header["duration"], writer=writer, rate=rate, progress=progress, done=done, keep=keep)
        except RunEnded as end:
            self.set_end("complete", str(end))
        except RunStopped as stop:
            self.set_end("stopped", str(stop), stop)
        except KeyboardInterrupt:
            self.set_end("interrupted", f"interrupted at t = {sim.time:.6g} s")
        except BaseException as error:
            if not is_out_of_memory(error):
                writer.close("stopped", f"{type(error).__name__}: {error}")
                raise
            stop = RunStopped(out_of_memory(error), module="-", body="-", time=sim.time)
            self.set_end("stopped", str(stop), stop)
        self.wall_s, self.sim_s = before + time.perf_counter() - started, sim.time - start_time
        with interrupts_ignored():
            self.finish(writer, [metric["name"] for metric in header["metrics"]])
            self.kept_time = writer.kept_time
            if self.status == "complete":
                forget(self.folder)

    def unreadable(self, reason: str) -> RunStopped:
        """The error that ends a run whose recording cannot be read back now. If the run stopped, its cause counts."""
        first = self.stop or RunStopped(reason, module="report", body="-", time=self.sim.time)
        there = f"data up to t = {self.kept_time:.6g} s is" if self.kept_time >= 0 else "no frame was recorded"
        text = f"{first.reason}; {there} in {self.folder}"
        return RunStopped(text, module=first.module, body=first.body, time=first.time)

    @contextmanager
    def _beginning(self) -> Iterator[Beginning | None]:
        """The frames up to the checkpoint that the run goes on from."""
        from grouser.recording import Beginning, Recording

        if self.continues is None or self.continues.saved is None:
            yield None
            return
        with Recording(self.folder / RECORDING) as source:
            begin = Beginning(source, self.continues.saved["frames"], self.continues.saved["patches"])
            begin.check()
            yield begin

    def writer(
        self,
        header: dict[str, Any],
        rate: float,
        watch: Callable[[Path], None] | None,
        delay: float,
        begin: Beginning | None,
    ) -> RecordingWriter:
        from grouser.recording import RecordingWriter

        sim = self.sim
        return RecordingWriter(
            self.folder / RECORDING, header if begin is None else begin.source.header, sim.channels(),
            worlds=sim.worlds, terrain=sim.terrain, geometry=sim.geometry(), shapes=sim.shapes(),
            block=BLOCK if watch is None else max(1, min(BLOCK, round(delay * rate))),
            patience=None if watch is None else 0.0, begin=begin,
        )  # fmt: skip

    def set_end(self, status: str, message: str, stop: RunStopped | None = None) -> None:
        self.status, self.message, self.stop = status, message, stop

    def finish(self, writer: RecordingWriter, names: list[str]) -> None:
        values: dict[str, Any] = {}
        try:
            writer.flush()
            values = self._measure(names)
        except RunStopped as stop:
            self.set_end("stopped", str(stop), self.stop or stop)
        except Exception as error:
            if is_out_of_memory(error):
                stop = RunStopped(out_of_memory(error), module="-", body="-", time=self.sim.time)
            elif isinstance(
                error, OSError | RuntimeError
            ):  # HDF5 writes what waits when a reader of the file is closed
                stop = writer.lose(error)
            else:
                raise
            self.set_end("stopped", str(stop), self.stop or stop)
        finally:
            try:
                writer.close(
                    self.status, self.message, values,
                    wall_s=self.wall_s, sim_s=self.sim_s,
                    steps=round(self.sim_s / self.sim.step_size), notes=self.sim.notes,
                )  # fmt: skip
            except RunStopped as stop:
                self.set_end("stopped", str(stop), self.stop or stop)

    def _measure(self, names: list[str]) -> dict[str, Any]:
        """Compute the metric values by name. Some may be missing if the run ended early."""
        from grouser.recording import Recording

        # The recording is opened here because the metrics must be in the file before it is closed. It is opened again
        # afterwards: HDF5 shares one open file within a process, so with a reader open the writer could not close it.
        factor = self.sim_s / self.wall_s if self.wall_s > 0 else None
        values = dict.fromkeys([name for name in names if name.endswith(TIMING)], factor)
        try:
            with Recording(self.folder / RECORDING) as recording:
                values |= self.experiment.scenario.measure(self.experiment.settings, recording)
        except (GrouserError, ArithmeticError, LookupError, ValueError):
            if self.status == "complete":
                raise
        return values

    def write_results(self, report: bool, draw: Callable[[Recording, Path], list[Path]] | None = None) -> Outcome:
        """Write summary and report next to the recording. A full disk stops the run, as it does during recording."""
        from grouser.recording import Recording
        from grouser.report import draw_figures, summarise, write_report, write_summary

        undrawn = ""
        with Recording(self.folder / RECORDING) as recording:
            summary = summarise(recording)
            frames, last_time = len(recording), recording.last_time
            try:
                write_summary(summary, self.folder)
                if report and self.status != "interrupted":
                    figures = (draw or draw_figures)(recording, self.folder / FIGURES)
                    write_report(recording, self.folder, figures, summary=summary)
            except InputError as error:  # a figure that cannot be drawn is a fault of the scenario, not of the input
                undrawn = f"report: {error}"
            except (OSError, MemoryError) as error:
                lacking = isinstance(error, MemoryError)
                reason = (
                    out_of_memory(error) if lacking else f"cannot write to {self.folder}: {error.strerror or error}"
                )
                stop = RunStopped(reason, module="report", body="-", time=self.sim.time)
                if self.stop is None:  # else the first reason is the cause
                    self.set_end("stopped", str(stop), stop)
        notes = tuple(self.sim.notes)
        return Outcome(self.folder, summary, self.status, self.message, notes, self.stop, undrawn, frames, last_time)


@contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Ignore Ctrl-C in the block, so that a second one cannot interrupt writing the data."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # not in the main thread, which alone gets signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
