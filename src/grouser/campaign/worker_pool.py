"""Pool of worker processes that run the cases of a sweep. A killed worker is replaced and its case is run again.

Each worker is a separate executor with one process. When a process of an executor dies, the executor loses all its
tasks and does not tell which process it was.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from grouser.campaign import worker
from grouser.campaign.executor import RETRIES, Job, SweepStopped
from grouser.campaign.worker import BatchRunner, Bundle, Order, Runner
from grouser.thread_count import VARIABLE

ONE_THREAD: dict[str, str] = dict.fromkeys(
    (
        "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
        VARIABLE,
    ),
    "1",
)  # fmt: skip


class _Worker:
    """One worker process."""

    def __init__(self, runner: Runner):
        self.runner = runner
        context = multiprocessing.get_context("spawn")
        self.pool = ProcessPoolExecutor(1, context, worker.start)
        self.process: Any = None
        self.due = float("inf")  # [s] of the monotonic clock, when its bundle reaches the time limit
        self.overdue: Bundle | None = None  # the bundle for which it was ended

    def submit(self, task: Callable[[Runner, Any], Any], given: Order | Bundle) -> Future[Any]:
        if self.process is not None:
            return self.pool.submit(task, self.runner, given)
        before = set(multiprocessing.active_children())
        with _worker_environment():
            future = self.pool.submit(task, self.runner, given)  # this starts the process
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


class LocalProcesses:
    """Executor that runs cases on processes of this machine."""

    def __init__(self, workers: int | None, cores: int):
        """`workers`: number of processes, by default one for each core, or one alone if it takes batches to a GPU."""
        self.workers, self.cores = workers, cores

    def execute(self, job: Job) -> None:
        takes_gpu = isinstance(job.runner, BatchRunner) and job.runner.gpus
        _WorkerPool(job).work(self.workers or (1 if takes_gpu else self.cores))


class _WorkerPool:
    """Distributes the cases of a job to worker processes until all are done."""

    def __init__(self, job: Job):
        self.job = job
        self.waiting = deque(job.bundles)
        self.busy: dict[Future[Any], tuple[_Worker, Bundle | None]] = {}  # no bundle: the worker is warming up
        self.dead_before_a_case = 0  # workers that died while warming up
        self.first = self.waiting[0][0]
        self.workers: list[_Worker] = []
        self.not_started = 0

    def work(self, workers: int) -> None:
        """Run all cases. The first worker warms up alone, so that kernels are compiled only once."""
        self.not_started = min(workers, len(self.waiting)) - 1
        try:
            self._start_worker()
            while self.busy:
                done, _ = wait(self.busy, self._until_due(), return_when=FIRST_COMPLETED)
                self._end_overdue()
                for future in done:
                    self._collect(future, *self.busy.pop(future))
        finally:
            for each in self.workers:
                each.kill()
            for each in self.workers:
                each.end()

    def _start_worker(self) -> None:
        process = _Worker(self.job.runner)
        self.workers.append(process)
        self.busy[process.submit(worker.warm, self.first)] = process, None

    def _submit(self, process: _Worker, bundle: Bundle) -> None:
        try:
            self.busy[process.submit(worker.work, bundle)] = process, bundle
        except BrokenProcessPool:  # the worker died while it was idle
            self._replace_dead(process, bundle)
        else:
            if self.job.time_limit is not None:
                process.due = time.monotonic() + self.job.time_limit

    def _until_due(self) -> float | None:
        """Time [s] until a running case reaches the time limit. None without a limit."""
        due = min((process.due for process, _ in self.busy.values()), default=float("inf"))
        return None if due == float("inf") else max(0.0, due - time.monotonic())

    def _end_overdue(self) -> None:
        """Kill the workers whose case takes too long. Their futures then end as those of any dead worker."""
        now = time.monotonic()
        for future, (process, bundle) in self.busy.items():
            if process.due <= now and not future.done():
                process.overdue, process.due = bundle, float("inf")
                process.kill()

    def _collect(self, future: Future[Any], process: _Worker, bundle: Bundle | None) -> None:
        """Take the results of a worker and submit the next cases to it."""
        process.due = float("inf")
        try:
            outcomes = future.result()
        except BrokenProcessPool:
            self._replace_dead(process, bundle)
            return
        if bundle is not None:
            self.job.ended(bundle, outcomes)
        if self.waiting:
            self._submit(process, self.waiting.popleft())
        else:
            process.end()
            self.workers.remove(process)
        for _ in range(self.not_started):
            self._start_worker()
        self.not_started = 0

    def _replace_dead(self, process: _Worker, bundle: Bundle | None) -> None:
        """Run the cases of a dead worker again, unless their results exist already or they were tried too often."""
        how = process.end()
        self.workers.remove(process)
        if bundle is None:
            self.dead_before_a_case += 1
            if self.dead_before_a_case > RETRIES:
                raise SweepStopped(
                    f"the worker processes ended before their first case ({how}); in a script, call grouser.sweep "
                    "below `if __name__ == '__main__':`"
                )
        else:
            overdue = process.overdue is bundle
            again = self.job.overdue(bundle) if overdue else self.job.died(bundle, how)
            self.waiting.extendleft(reversed(again))
        if self.waiting:
            self._start_worker()
