"""The commands on a terminal. Each prints its results and returns the exit status."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from grouser.errors import InputError, RunStopped, is_out_of_memory, out_of_memory

if TYPE_CHECKING:
    from grouser.campaign import SweepCounts
    from grouser.commands.run import Outcome


def run(
    target: str | None,
    options: list[str],
    out: Path | None,
    force: bool,
    rate: float | None,
    report: bool,
    drive: list[str],
    short: dict[str, str | None],
    watched: tuple[str, int, bool] | None = None,
    pin_core: int | None = None,
    checkpoints: float | None = None,
    go_on: Path | None = None,
) -> int:
    """Run a scenario with a progress bar and print the outcome. `watched`: host and port of a live view.

    `checkpoints` [s]: wall time between two. `go_on`: folder of a run to continue, instead of a scenario.
    """
    from grouser.commands.gc_pause import gc_paused

    with gc_paused() as resume:
        from grouser.commands import progress, robot
        from grouser.commands.continuation import PERIOD, find_run
        from grouser.commands.cpu_affinity import pinned_to
        from grouser.commands.figure_workers import FigureWorkers
        from grouser.commands.run import execute
        from grouser.quiet_warp import start_warp
        from grouser.scenarios.settings import from_command

        found = None
        if go_on is None:
            target = robot.scenario_name(target, short.get("robot"))
            experiment = from_command(target, options, robot.shorthand(drive, **short))
        else:
            given = [target, *options, *drive, *short.values(), out, rate]
            _check_nothing_else(go_on, [str(one) for one in given if one is not None])
            found = find_run(go_on)
            experiment, out, rate = found.experiment, found.folder, found.rate
            where = f"from t = {found.time:.6g} s" if found.saved else "again from the beginning: it has no checkpoint"
            print(f"{go_on} goes on {where}", flush=True)
        start_warp()
        resume()
        with (
            FigureWorkers(pin_core) as workers,
            pinned_to(pin_core),
            _watching(watched) as watch,
            progress.progress_bar(experiment.scenario.name, experiment.duration) as show,
        ):

            def on_progress(now: float) -> None:
                show(now)
                if report:
                    workers.start_near_end(now / experiment.duration)

            outcome = execute(
                experiment, out=out, force=force, rate=rate, report=report, progress=on_progress, watch=watch,
                draw=workers.draw, checkpoints=PERIOD if checkpoints is None else checkpoints, continues=found,
                tell=lambda line: print(f"note: {line}", file=sys.stderr, flush=True),
            )  # fmt: skip
            return told_outcome(outcome)


def told_outcome(outcome: Outcome) -> int:
    """Print a run. Returns the exit status; that of a stopped run if there is no memory to print it."""
    try:
        print_outcome(outcome)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        print(f"error: {out_of_memory(error)}; {_data_kept(outcome)}", file=sys.stderr)
        return RunStopped.exit_status
    return outcome.exit_status


def _check_nothing_else(go_on: Path, given: list[str]) -> None:
    """A run that goes on has the settings, the folder and the rate it began with."""
    if given:
        raise InputError(f"--continue {go_on}: {given[0]}: not allowed: its settings, folder and rate are those it has")


def run_samples(
    target: str | None, options: list[str], out: Path | None, force: bool, drive: list[str],
    short: dict[str, str | None], samples: int, workers: int | None, on: str = "local",
) -> int:  # fmt: skip
    """Run a scenario in many soils with a progress bar. Print its metrics with intervals."""
    from grouser.commands import robot, sweep_progress, tables
    from grouser.commands.run import INTERRUPTED
    from grouser.commands.samples import run_samples as sampled
    from grouser.scenarios.settings import from_command

    experiment = from_command(robot.scenario_name(target, short.get("robot")), options, robot.shorthand(drive, **short))
    try:
        with sweep_progress.progress_bar(experiment.scenario.name) as show:
            done = sampled(experiment, samples, out=out, workers=workers, force=force, on=on, progress=show)
    except KeyboardInterrupt:
        print("error: interrupted: finished runs are kept; with --out DIR the same command continues", file=sys.stderr)
        return INTERRUPTED
    tables.spread_table(done.metrics)
    for one in done.sobol:
        largest = max(range(len(one.names)), key=lambda k: one.first[k])
        print(f"{one.metric}: most by {one.names[largest]}, {100 * one.first[largest]:.0f} % of the variance")
    if done.sobol:
        print(f"Sobol' indices: {done.folder / 'figures' / 'sobol.png'}")
    print(f"{done.complete} of {samples} runs complete: {done.folder / 'sweep.html'}")
    for name, reason in done.failed.items():
        print(f"failed: {name}: {reason}", file=sys.stderr)
    return done.exit_status


@contextmanager
def _watching(watched: tuple[str, int, bool] | None) -> Iterator[Callable[[Path], None] | None]:
    """Yield a callable that starts a view of a recording. On a terminal the view stays open until Ctrl-C."""
    if watched is None:
        yield None
        return
    from grouser.commands.view import ViewProcess
    from grouser.viewer.access_control import check_host_is_local

    check_host_is_local(watched[0])
    views: list[ViewProcess] = []

    def watch(path: Path) -> None:
        views.append(ViewProcess(path, *watched[:2], foxglove=watched[2]))
        print(f"view: {views[-1].wait()}", file=sys.stderr, flush=True)

    try:
        yield watch
        if views and sys.stdin.isatty():
            print(f"the view is open at {views[-1].address} until Ctrl-C", flush=True)
            with suppress(KeyboardInterrupt):
                threading.Event().wait()
    finally:
        for one in views:
            one.close()


def print_outcome(outcome: Outcome) -> None:
    """Print notes, metrics, speed and folder of a run, and its errors."""
    from grouser.commands import tables
    from grouser.report.validity import beyond

    summary = outcome.summary
    for note in (*outcome.notes, *beyond(summary["validity"])):
        print(f"note: {note}")
    tables.metric_table(summary["metrics"])
    sim_s, wall_s = summary["sim_s"], summary["wall_s"]
    if wall_s is not None:  # else the recording could not be closed
        speed = f", {sim_s / wall_s:.2f} x real time" if wall_s > 0 else ""
        print(f"{sim_s:.2f} s in {wall_s:.2f} s{speed}, {summary['steps']} steps: {outcome.folder}")
    if outcome.status != "complete":
        print(f"error: {outcome.message}; {_data_kept(outcome)}", file=sys.stderr)
    elif outcome.missed:
        print(f"missed: {', '.join(outcome.missed)}", file=sys.stderr)
    if outcome.undrawn:
        print(f"error: {outcome.undrawn}", file=sys.stderr)


def _data_kept(outcome: Outcome) -> str:
    from grouser.commands.folder import CHECKPOINT

    if not outcome.frames:
        return f"no frame was recorded in {outcome.folder}"
    kept = f"data up to t = {outcome.last_time:.6g} s is in {outcome.folder}"
    can_go_on = (outcome.folder / CHECKPOINT).exists()
    return f"{kept}, and `grouser run --continue {outcome.folder}` goes on" if can_go_on else kept


def sweep(
    file: Path, out: Path | None, workers: int | None, force: bool, on: str = "local", time_limit: float | None = None,
    worlds: int | None = None, device: str = "cuda",
) -> int:  # fmt: skip
    """Run a sweep with a progress bar. Print where its tables are and which cases failed."""
    from grouser.commands import sweep_progress
    from grouser.commands.run import INTERRUPTED
    from grouser.commands.sweep import sweep as swept

    counts = None

    def on_progress(now: SweepCounts) -> None:
        nonlocal counts
        counts = now
        show(now)

    try:
        with sweep_progress.progress_bar(file.stem) as show:
            outcome = swept(
                file, out=out, workers=workers, force=force, on=on, time_limit=time_limit, worlds=worlds,
                device=device, progress=on_progress,
            )  # fmt: skip
    except KeyboardInterrupt:
        kept = f": {counts.done} of {counts.total} cases are kept, the same command continues" if counts else ""
        print(f"error: interrupted{kept}", file=sys.stderr)
        return INTERRUPTED
    total, complete = len(outcome.table.rows), len(outcome.table.complete)
    before = f" ({counts.before} from an earlier run)" if counts and counts.before else ""
    print(f"{complete} of {total} cases complete{before}: {outcome.folder / 'sweep.html'}")
    for name, reason in outcome.failed.items():
        print(f"failed: {name}: {reason}", file=sys.stderr)
    return outcome.exit_status


def validate(
    names: list[str], options: list[str], also: list[str], soil: str | None, out: Path | None, workers: int | None,
    force: bool, on: str = "local",
) -> int:  # fmt: skip
    """Run measured wheels with a progress bar. Print the table of errors, and what was not run or not scored."""
    from grouser.commands import sweep_progress, tables
    from grouser.commands.validate import RESULTS
    from grouser.commands.validate import validate as validated

    with sweep_progress.progress_bar("validate") as show:
        done = validated(
            names, options=options, also=also, soil=soil, out=out, workers=workers, force=force, on=on, progress=show
        )
    tables.score_table(done)
    for entry in done.entries:
        for name, reason in entry.wheel.not_scored.items():
            print(f"not scored: {entry.wheel.name}, {name}: {reason}")
        if not entry.blind:
            print(f"not blind: {entry.wheel.name}: its soil is {entry.soil.name!r} of --soil; it counts in no mean")
    for name, reason in done.left_out.items():
        print(f"not run: {name}: {reason}")
    print(f"results and figures: {done.folder / RESULTS}")
    for name, reason in done.failed.items():
        print(f"failed: {name}: {reason}", file=sys.stderr)
    return done.exit_status


def identify(
    file: Path, out: Path | None, constants: str | None, runs: int, seed: int, workers: int | None, force: bool,
    on: str = "local",
) -> int:  # fmt: skip
    """Identify a soil with a progress bar. Print its constants, what is not determined and whether the law follows."""
    from grouser.commands import sweep_progress, tables
    from grouser.commands.identify import identify as identified
    from grouser.commands.run import INTERRUPTED

    chosen = None if constants is None else [name.strip() for name in constants.split(",") if name.strip()]
    try:
        with sweep_progress.share_bar() as show:
            done = identified(
                file, out=out, constants=chosen, runs=runs, seed=seed, workers=workers, force=force, on=on,
                progress=show,
            )  # fmt: skip
    except KeyboardInterrupt:
        print("error: interrupted: finished runs are kept, the same command continues", file=sys.stderr)
        return INTERRUPTED
    tables.estimate_table(done.posterior.estimates)
    for line in done.words:
        print(line)
    print(f"soil: {done.soil_file}; report: {done.folder / 'identify.html'}")
    return done.exit_status


def compare(first: Path, second: Path) -> int:
    """Print a comparison of two runs: settings that differ, metrics and channels."""
    from grouser.report import compare as compared
    from grouser.report import table

    rows = compared(first, second)
    print(table(rows))
    if any(row.kind == "channel" for row in rows):
        print("channels: largest magnitudes, and the largest difference at equal times")
    return 0


def repair(place: Path) -> int:
    """Turn the recording of a killed run into a normal file."""
    from grouser.commands.folder import recording_path
    from grouser.recording import Recording
    from grouser.recording import repair as repaired

    path = repaired(recording_path(place))
    with Recording(path) as recording:
        print(f"{path}: {recording.status}, {len(recording)} frames up to t = {recording.last_time:.6g} s")
    return 0
