"""`grouser sweep`: runs many cases of a scenario and writes tables, figures and a page."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grouser.campaign import Case, SweepCounts, SweepStopped, read_sweep, run_sweep
from grouser.campaign.results import COMPLETE, FAILED
from grouser.campaign.run import LOCAL
from grouser.campaign.worker import KEPT

WRITERS = ("recording", "report")  # modules that stop a run when the disk is full

if TYPE_CHECKING:
    from grouser.report.sweep import SweepTable


@dataclass(frozen=True)
class ScenarioRunner:
    """Runs cases as `grouser run` does, but without a report. A campaign passes it to its worker processes."""

    rate: float  # [Hz] frames recorded per simulated second
    recordings: bool  # whether recordings are kept

    def warm(self, case: Case) -> None:
        from grouser.quiet_warp import start_warp
        from grouser.scenarios import registry

        start_warp()
        registry.scenario(case.scenario).build(case.settings).step()

    def run(self, case: Case, folder: Path) -> dict[str, Any]:
        from grouser.commands.run import execute
        from grouser.scenarios import registry
        from grouser.scenarios.settings import Experiment

        experiment = Experiment(registry.scenario(case.scenario), case.settings)
        outcome = execute(experiment, out=folder, rate=self.rate, report=False)
        if outcome.stop is not None and outcome.stop.module in WRITERS:
            raise OSError(errno.ENOSPC, outcome.stop.reason)  # a full disk is not the fault of the case
        if self.recordings:
            outcome.recording.replace(folder / KEPT)
        status = COMPLETE if outcome.status == "complete" else FAILED
        return {"status": status, "reason": outcome.message, **outcome.summary, "notes": list(outcome.notes)}


@dataclass(frozen=True)
class SweepOutcome:
    """Folder and results of a sweep."""

    folder: Path
    table: SweepTable

    @property
    def failed(self) -> dict[str, str]:
        """Reason by name of the case."""
        return self.table.failed

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Parameters and metrics of every complete case by name; "slip (metric)" if "slip" is a parameter too."""
        named = self.table.column
        return [
            {"case": row.name, **row.parameters} | {named(name): value for name, value in row.metrics.items()}
            for row in self.table.complete
        ]

    @property
    def exit_status(self) -> int:
        return int(bool(self.failed))


def sweep(
    definition: str | Path | Mapping[str, Any],
    *,
    out: str | Path | None = None,
    workers: int | None = None,
    force: bool = False,
    on: str = LOCAL,
    time_limit: float | None = None,
    progress: Callable[[SweepCounts], None] = lambda counts: None,
) -> SweepOutcome:
    """Run a sweep, as the command does, from a YAML file or from a mapping with the same keys.

    `on`: "local", "ray" or "ray://HOST:PORT". A case that takes longer than `time_limit` [s] fails.

    Finished cases in `out` are skipped. In a script, call this below `if __name__ == "__main__":`, because the worker
    processes import the script. Raises InputError. Failed cases are named in the outcome.
    """
    from grouser.report.sweep import read_table, write_sweep_report

    planned = read_sweep(definition)
    folder = Path(out) if out is not None else Path("runs") / planned.title
    runner = ScenarioRunner(planned.rate, planned.recordings)
    run_sweep(planned, folder, runner, workers=workers, force=force, on=on, time_limit=time_limit, progress=progress)
    try:
        write_sweep_report(folder)
    except OSError as error:
        text = f"cannot write to {folder}: {error.strerror or error}; finished cases are kept"
        raise SweepStopped(text) from None
    return SweepOutcome(folder, read_table(folder))
