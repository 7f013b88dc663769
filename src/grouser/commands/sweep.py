"""`grouser sweep`: runs many cases of a scenario and writes tables, figures and a page."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grouser.campaign import Case, Sweep, SweepCounts, SweepStopped, read_sweep, run_sweep
from grouser.campaign.results import COMPLETE, FAILED
from grouser.campaign.run import LOCAL
from grouser.campaign.worker import KEPT
from grouser.errors import InputError

MOST_WORLDS = 256  # of a batch: each has its files open
WRITERS = ("recording", "report")  # modules that stop a run when the disk is full

if TYPE_CHECKING:
    from grouser.commands.run import Outcome
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
        return self._result(execute(experiment, out=folder, rate=self.rate, report=False), folder)

    def _result(self, outcome: Outcome, folder: Path) -> dict[str, Any]:
        if outcome.stop is not None and outcome.stop.module in WRITERS:
            raise OSError(errno.ENOSPC, outcome.stop.reason)  # a full disk is not the fault of the case
        if self.recordings:
            outcome.recording.replace(folder / KEPT)
        status = COMPLETE if outcome.status == "complete" else FAILED
        return {"status": status, "reason": outcome.message, **outcome.summary, "notes": list(outcome.notes)}


@dataclass(frozen=True)
class BatchScenarioRunner(ScenarioRunner):
    """Runs several cases at a time as worlds of one batch on a device, where the scenario can."""

    worlds: int  # at most, in a batch
    device: str

    @property
    def gpus(self) -> int:
        return int(self.device != "cpu")

    @staticmethod
    def checked(planned: Sweep, worlds: int, device: str) -> BatchScenarioRunner:
        """The runner for a sweep, or an InputError that says why it cannot run in batches."""
        from grouser.scenarios import registry

        if not 1 <= worlds <= MOST_WORLDS:
            raise InputError(f"--worlds {worlds}: allowed are 1 to {MOST_WORLDS}")
        batch = registry.scenario(planned.scenario).batch
        if batch is None:
            able = ", ".join(name for name, one in registry.scenarios().items() if one.batch is not None)
            raise InputError(f"--worlds {worlds}: scenario {planned.scenario!r} cannot run as a batch; allowed: {able}")
        for case in planned.cases:
            if why := batch.refused(case.settings):
                raise InputError(f"--worlds {worlds}: case {case.name} cannot be a world of a batch: {why}")
        return BatchScenarioRunner(planned.rate, planned.recordings, worlds, device)

    def warm(self, case: Case) -> None:
        from grouser.quiet_warp import start_warp
        from grouser.scenarios import registry

        start_warp()
        batch = registry.scenario(case.scenario).batch
        assert batch is not None
        batch.build([case.settings], self.device).step()

    def together(self, cases: Sequence[Case]) -> list[list[int]]:
        from grouser.scenarios import registry

        alike: dict[str, list[int]] = {}
        for k, case in enumerate(cases):
            batch = registry.scenario(case.scenario).batch
            assert batch is not None
            alike.setdefault(f"{case.scenario} {batch.shared(case.settings)}", []).append(k)
        return [group[k : k + self.worlds] for group in alike.values() for k in range(0, len(group), self.worlds)]

    def run(self, case: Case, folder: Path) -> dict[str, Any]:
        return self.run_batch([case], [folder])[0]

    def run_batch(self, cases: Sequence[Case], folders: Sequence[Path]) -> list[dict[str, Any]]:
        from grouser.commands.batch import execute_batch
        from grouser.scenarios import registry
        from grouser.scenarios.settings import Experiment

        experiments = [Experiment(registry.scenario(case.scenario), case.settings) for case in cases]
        return [self._result(outcome, folder) for outcome, folder in
                zip(execute_batch(experiments, folders, self.rate, self.device), folders, strict=True)]  # fmt: skip


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
    worlds: int | None = None,
    device: str = "cuda",
    progress: Callable[[SweepCounts], None] = lambda counts: None,
) -> SweepOutcome:
    """Run a sweep, as the command does, from a YAML file or from a mapping with the same keys.

    `on`: "local", "ray" or "ray://HOST:PORT". A case that takes longer than `time_limit` [s] fails. `worlds`: each
    worker takes so many cases at a time as worlds of one batch on a `device`, if the scenario can (docs/cluster.md).

    Finished cases in `out` are skipped. In a script, call this below `if __name__ == "__main__":`, because the worker
    processes import the script. Raises InputError. Failed cases are named in the outcome.
    """
    from grouser.report.sweep import read_table, write_sweep_report

    planned = read_sweep(definition)
    folder = Path(out) if out is not None else Path("runs") / planned.title
    runner = ScenarioRunner(planned.rate, planned.recordings)
    if worlds is not None:
        runner = BatchScenarioRunner.checked(planned, worlds, device)
        if on == LOCAL:  # the workers of a cluster are elsewhere
            from grouser.simulation.batch import device_of

            device_of(device)
    run_sweep(planned, folder, runner, workers=workers, force=force, on=on, time_limit=time_limit, progress=progress)
    try:
        write_sweep_report(folder)
    except OSError as error:
        text = f"cannot write to {folder}: {error.strerror or error}; finished cases are kept"
        raise SweepStopped(text) from None
    return SweepOutcome(folder, read_table(folder))
