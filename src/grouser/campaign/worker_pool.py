"""Pool of worker processes that run the cases of a sweep. A killed worker is replaced and its case is run again.

Each worker is a separate executor with one process. When a process of an executor dies, the executor loses all its
tasks and does not tell which process it was.
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

RETRIES = 2  # how often a case is run again after its worker died
ONE_THREAD: dict[str, str] = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"),
    "1",
)


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


class _Worker:
    """One worker process."""

    def __init__(self, runner: Runner):
        self.runner = runner
        context = multiprocessing.get_context("spawn")
        self.pool = ProcessPoolExecutor(1, context, worker.start)
        self.process: Any = None

    def submit(self, task: Callable[[Runner, Order], Any], order: Order) -> Future[Any]:
        if self.process is not None:
            return self.pool.submit(task, self.runner, order)
        before = set(multiprocessing.active_children())
        with _worker_environment():
            future = self.pool.submit(task, self.runner, order)  # this starts the process
            self.process = next(iter(set(multiprocessing.active_children()) - before), None)
        return future

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()

    def end(self) -> str:
        """Wait for the process. Returns how it ended, in words."""
        self.pool.shutdown(cancel_futures=True)
        status = self.process.exitcode if self.process is not None else None
        return f"killed by {signal.Signals(-status).name}" if status and status < 0 else f"exit status {status}"


@contextmanager
def _worker_environment() -> Iterator[None]:
    """Environment of a new worker: one thread, and Ctrl-C blocked from the start."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        with _interrupts_deferred():
            yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Defer Ctrl-C to the end of the block. A process started in the block inherits the blocked signal.

    Blocking alone is not enough: another thread may receive the signal, and Python then interrupts this one.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    interrupted = []
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    handler = signal.signal(signal.SIGINT, lambda *_: interrupted.append(True))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
    if interrupted:
        raise KeyboardInterrupt


class WorkerPool:
    """Distributes the cases of a sweep to worker processes until all are done."""

    def __init__(
        self,
        folder: SweepFolder,
        runner: Runner,
        orders: Sequence[Order],
        counts: SweepCounts,
        show: Callable[[SweepCounts], None],
    ):
        self.folder, self.runner, self.counts, self.show = folder, runner, counts, show
        self.waiting = deque(orders)
        self.busy: dict[Future[Any], tuple[_Worker, Order | None]] = {}  # no order: the worker is warming up
        self.deaths: Counter[str] = Counter()  # number of workers that died, by the case they were running
        self.first = self.waiting[0]
        self.workers: list[_Worker] = []
        self.not_started = 0

    def work(self, workers: int) -> None:
        """Run all cases. The first worker warms up alone, so that kernels are compiled only once."""
        self.not_started = min(workers, len(self.waiting)) - 1
        try:
            self._start_worker()
            while self.busy:
                done, _ = wait(self.busy, return_when=FIRST_COMPLETED)
                for future in done:
                    self._collect(future, *self.busy.pop(future))
        finally:
            for each in self.workers:
                each.kill()
            for each in self.workers:
                each.end()

    def _start_worker(self) -> None:
        process = _Worker(self.runner)
        self.workers.append(process)
        self.busy[process.submit(worker.warm, self.first)] = process, None

    def _submit(self, process: _Worker, order: Order) -> None:
        try:
            self.busy[process.submit(worker.work, order)] = process, order
        except BrokenProcessPool:  # the worker died while it was idle
            self._replace_dead(process, order)

    def _collect(self, future: Future[Any], process: _Worker, order: Order | None) -> None:
        """Take the result of a worker and submit the next case to it."""
        try:
            outcome = future.result()
        except BrokenProcessPool:
            self._replace_dead(process, order)
            return
        if order is not None:
            self._count(order, outcome)
        if self.waiting:
            self._submit(process, self.waiting.popleft())
        else:
            process.end()
            self.workers.remove(process)
        for _ in range(self.not_started):
            self._start_worker()
        self.not_started = 0

    def _count(self, order: Order, outcome: dict[str, Any]) -> None:
        if outcome["status"] == COMPLETE:
            self.counts.done += 1
        else:
            self.counts.failed[order.case.name] = outcome["reason"]
        self.show(self.counts)

    def _replace_dead(self, process: _Worker, order: Order | None) -> None:
        """Run the case of a dead worker again, unless its result exists already or it was tried too often."""
        how = process.end()
        self.workers.remove(process)
        name = order.case.name if order else ""
        self.deaths[name] += 1
        often = self.deaths[name] > RETRIES
        if order is None:
            if often:
                raise SweepStopped(
                    f"the worker processes ended before their first case ({how}); in a script, call grouser.sweep "
                    "below `if __name__ == '__main__':`"
                )
        elif self.folder.finished(name):
            self._count(order, {"status": COMPLETE})
        elif often:
            outcome = worker.failed(f"its worker died {self.deaths[name]} times ({how})")
            worker.write_result(order, outcome)
            self._count(order, outcome)
        else:
            self.waiting.appendleft(order)
        if self.waiting:
            self._start_worker()
