"""The commands as a person at a terminal meets them: each prints and returns its exit status."""

from __future__ import annotations

import sys
from pathlib import Path


def run(target: str, options: list[str], out: Path | None, force: bool, rate: float, report: bool) -> int:
    """Run a scenario with a progress bar, print its metrics, name those that miss."""
    from grouser.commands import progress, tables
    from grouser.commands.hush import start_warp
    from grouser.commands.run import execute
    from grouser.scenarios.settings import from_command

    experiment = from_command(target, options)
    start_warp()
    duration = experiment.scenario.duration(experiment.settings)
    with progress.shown(experiment.scenario.name, duration) as show:
        outcome = execute(experiment, out=out, force=force, rate=rate, report=report, progress=show)
    for note in outcome.notes:
        print(f"note: {note}")
    summary = outcome.summary
    tables.metric_table(summary["metrics"])
    sim_s, wall_s = summary["sim_s"], summary["wall_s"]
    speed = f", {sim_s / wall_s:.2f} x real time" if wall_s > 0 else ""
    print(f"{sim_s:.2f} s in {wall_s:.2f} s{speed}, {summary['steps']} steps: {outcome.folder}")
    if outcome.status != "complete":
        print(f"error: {outcome.message}; data up to there is in {outcome.folder}", file=sys.stderr)
    elif outcome.missed:
        print(f"missed: {', '.join(outcome.missed)}", file=sys.stderr)
    if outcome.undrawn:
        print(f"error: {outcome.undrawn}", file=sys.stderr)
    return outcome.exit_status


def report(place: Path) -> int:
    """Draw figures and report again from a recording."""
    from grouser.commands.folder import recording_of
    from grouser.recording import Recording
    from grouser.report import write_report

    file = recording_of(place)
    with Recording(file) as recording:
        print(write_report(recording, file.parent))
    return 0


def compare(first: Path, second: Path) -> int:
    """Settings that differ, metrics and channels of two runs side by side."""
    from grouser.report import compare as compared
    from grouser.report import table

    print(table(compared(first, second)))
    return 0


def repair(place: Path) -> int:
    """Make a normal file of what a killed run left."""
    from grouser.commands.folder import recording_of
    from grouser.recording import Recording
    from grouser.recording import repair as repaired

    path = repaired(recording_of(place))
    with Recording(path) as recording:
        print(f"{path}: {recording.status}, {len(recording)} frames up to t = {recording.sim_s:.6g} s")
    return 0
