"""Where the cases of a sweep run. An executor gets a `Job` and tells it what became of each case.

A worker runs a bundle at a time: one case, or several as worlds of a batch if the runner can. If it dies or takes too
long with several, they are run again one by one, so that the one that is to blame is found.

The local worker pool and a Ray cluster are executors. What makes a sweep (cases, seeds, result files, resuming, table,
page) does not know which of them is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from grouser.campaign import worker
from grouser.campaign.results import COMPLETE, SweepFolder
from grouser.campaign.worker import Bundle, Order, Runner
from grouser.errors import GrouserError

RETRIES = 2  # how often a case is run again after its worker died


class SweepStopped(GrouserError):
    """The sweep cannot continue. Finished cases are kept."""

    exit_status = 3


@dataclass
class SweepCounts:
    """Progress of a sweep."""

    total: int
    before: int = 0  # cases finished by an earlier call
    done: int = 0  # finished cases, including those
    failed: dict[str, str] = field(default_factory=dict)  # reason by name of the case

    @property
    def remaining(self) -> int:
        return self.total - self.done - len(self.failed)


class Executor(Protocol):
    """Runs all orders of a job. Returns when each has ended, and leaves no process of its own behind."""

    def execute(self, job: Job) -> None: ...


class Job:
    """The cases to run. An executor calls `ended`, `died` or `overdue` for each bundle that it took from `bundles`."""

    def __init__(
        self,
        folder: SweepFolder,
        runner: Runner,
        orders: Sequence[Order],
        counts: SweepCounts,
        show: Callable[[SweepCounts], None],
        time_limit: float | None = None,
    ):
        """`time_limit` [s]: a case that takes longer is ended and fails."""
        self.folder, self.runner, self.orders, self.counts, self.show = folder, runner, orders, counts, show
        self.bundles = worker.bundled(runner, orders)
        self.time_limit = time_limit
        self.deaths: Counter[str] = Counter()  # number of workers that died, by the case they were running

    def ended(self, bundle: Bundle, outcomes: Sequence[dict[str, Any]]) -> None:
        """Count cases whose result files are written."""
        for order, outcome in zip(bundle, outcomes, strict=True):
            self._count(order, outcome)

    def _count(self, order: Order, outcome: dict[str, Any]) -> None:
        if outcome["status"] == COMPLETE:
            self.counts.done += 1
        else:
            self.counts.failed[order.case.name] = outcome["reason"]
        self.show(self.counts)

    def died(self, bundle: Bundle, how: str) -> list[Bundle]:
        """The worker of a bundle died. Returns what is to be run again: no result, and not tried too often."""
        again: list[Bundle] = []
        for order in bundle:
            name = order.case.name
            self.deaths[name] += 1
            if self.folder.finished(name):
                self._count(order, {"status": COMPLETE})
            elif self.deaths[name] > RETRIES:
                self._fail(order, f"its worker died {self.deaths[name]} times ({how})")
            else:
                again.append((order,))
        return again

    def overdue(self, bundle: Bundle) -> list[Bundle]:
        """A bundle was ended because it took longer than the time limit. Returns what is to be run again: not a case
        that ran alone."""
        if len(bundle) > 1:
            return [(order,) for order in bundle]
        self._fail(bundle[0], f"ended after the time limit of {self.time_limit:g} s")
        return []

    def _fail(self, order: Order, reason: str) -> None:
        outcome = worker.failed(reason)
        worker.write_result(order, outcome)
        self._count(order, outcome)
