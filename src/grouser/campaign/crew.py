"""Worker processes that take cases one after another; a killed one is replaced and its case given out again.

Each worker is an executor of its own with one process: when a process dies an executor loses all it had been
given and does not say which of its processes it was.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from grouser.campaign import worker
from grouser.campaign.results import COMPLETE, SweepFolder
from grouser.campaign.worker import Order, Runner
from grouser.errors import GrouserError

RETRIES = 2  # times a case is given out again after its worker died
ONE_THREAD: dict[str, str] = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"),
    "1",
)


class SweepStopped(GrouserError):
    """A sweep that cannot go on; finished cases are kept."""

    exit_status = 3


@dataclass
class Tally:
    """How far a sweep is."""

    total: int
    before: int = 0  # finished by an earlier call
    done: int = 0  # those among them
    failed: dict[str, str] = field(default_factory=dict)  # reason by name of the case

    @property
    def remaining(self) -> int:
        return self.total - self.done - len(self.failed)


class _Lane:
    """One worker process."""

    def __init__(self, runner: Runner):
        self.runner = runner
        context = multiprocessing.get_context("spawn")
        self.pool = ProcessPoolExecutor(1, context, worker.begin)
        self.process: Any = None

    def give(self, task: Callable[[Runner, Order], Any], order: Order) -> Future[Any]:
        if self.process is not None:
            return self.pool.submit(task, self.runner, order)
        before = set(multiprocessing.active_children())
        with _fit_for_children():
            future = self.pool.submit(task, self.runner, order)  # starts the process
            self.process = next(iter(set(multiprocessing.active_children()) - before), None)
        return future

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()

    def end(self) -> str:
        """Wait for the process; how it ended, in words."""
        self.pool.shutdown(cancel_futures=True)
        status = self.process.exitcode if self.process is not None else None
        return f"killed by {signal.Signals(-status).name}" if status and status < 0 else f"exit status {status}"


@contextmanager
def _fit_for_children() -> Iterator[None]:
    """A process started here computes with one thread and does not hear Ctrl-C, not even before it can say so."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        with _interrupted_later():
            yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@contextmanager
def _interrupted_later() -> Iterator[None]:
    """Ctrl-C counts when the block is over; a process started in it inherits that the signal is blocked.

    Blocking alone is not enough here: another thread may take the signal, and Python then interrupts this one.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    heard = []
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    handler = signal.signal(signal.SIGINT, lambda *_: heard.append(True))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
    if heard:
        raise KeyboardInterrupt


class Crew:
    """Gives out the cases of a sweep until all are over."""

    def __init__(
        self, folder: SweepFolder, runner: Runner, orders: Sequence[Order], tally: Tally, show: Callable[[Tally], None]
    ):
        self.folder, self.runner, self.tally, self.show = folder, runner, tally, show
        self.waiting = deque(orders)
        self.busy: dict[Future[Any], tuple[_Lane, Order | None]] = {}  # no order: it warms up
        self.deaths: Counter[str] = Counter()  # of workers, by the case they were at
        self.first = self.waiting[0]
        self.lanes: list[_Lane] = []
        self.lacking = 0

    def work(self, workers: int) -> None:
        """The first worker warms up alone, so that kernels are compiled once and not side by side."""
        self.lacking = min(workers, len(self.waiting)) - 1
        try:
            self._hire()
            while self.busy:
                done, _ = wait(self.busy, return_when=FIRST_COMPLETED)
                for future in done:
                    self._over(future, *self.busy.pop(future))
        finally:
            for lane in self.lanes:
                lane.kill()
            for lane in self.lanes:
                lane.end()

    def _hire(self) -> None:
        lane = _Lane(self.runner)
        self.lanes.append(lane)
        self.busy[lane.give(worker.warm, self.first)] = lane, None

    def _give(self, lane: _Lane, order: Order) -> None:
        try:
            self.busy[lane.give(worker.work, order)] = lane, order
        except BrokenProcessPool:  # it died while it waited
            self._died(lane, order)

    def _over(self, future: Future[Any], lane: _Lane, order: Order | None) -> None:
        """Take in what a worker has done and give it the next case."""
        try:
            outcome = future.result()
        except BrokenProcessPool:
            self._died(lane, order)
            return
        if order is not None:
            self._settled(order, outcome)
        if self.waiting:
            self._give(lane, self.waiting.popleft())
        else:
            lane.end()
            self.lanes.remove(lane)
        for _ in range(self.lacking):
            self._hire()
        self.lacking = 0

    def _settled(self, order: Order, outcome: dict[str, Any]) -> None:
        if outcome["status"] == COMPLETE:
            self.tally.done += 1
        else:
            self.tally.failed[order.case.name] = outcome["reason"]
        self.show(self.tally)

    def _died(self, lane: _Lane, order: Order | None) -> None:
        """Give the case out again, unless its result is there already or it has been tried often enough."""
        how = lane.end()
        self.lanes.remove(lane)
        name = order.case.name if order else ""
        self.deaths[name] += 1
        often = self.deaths[name] > RETRIES
        if order is None:
            if often:
                raise SweepStopped(
                    f"worker processes end before their first case ({how}); in a script, call grouser.sweep "
                    "below `if __name__ == '__main__':`"
                )
        elif self.folder.finished(name):
            self._settled(order, {"status": COMPLETE})
        elif often:
            outcome = worker.failed(f"its worker died {self.deaths[name]} times ({how})")
            worker.settle(order, outcome)
            self._settled(order, outcome)
        else:
            self.waiting.appendleft(order)
        if self.waiting:
            self._hire()
