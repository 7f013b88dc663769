"""Runs the cases of a sweep that are not finished yet."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path

from grouser.campaign.case import Sweep
from grouser.campaign.executor import Executor, Job, SweepCounts, SweepStopped
from grouser.campaign.results import SweepFolder
from grouser.campaign.worker import Order, Runner
from grouser.campaign.worker_pool import LocalProcesses
from grouser.errors import InputError

LOCAL, RAY = "local", "ray"  # values of --on; RAY also as ray://HOST:PORT


def executor_named(on: str, workers: int | None) -> Executor:
    """The executor that --on names. Raises InputError, before anything is written, if it cannot be used."""
    if on == LOCAL:
        return LocalProcesses(workers, usable_cores())
    if on == RAY or on.startswith(f"{RAY}://"):
        from grouser.campaign.ray_cluster import RayCluster

        return RayCluster(None if on == RAY else on, workers)
    raise InputError(f"--on {on}: allowed are local, ray and ray://HOST:PORT")


def run_sweep(
    sweep: Sweep,
    folder: Path,
    runner: Runner,
    *,
    workers: int | None = None,
    force: bool = False,
    on: str = LOCAL,
    time_limit: float | None = None,
    progress: Callable[[SweepCounts], None] = lambda counts: None,
) -> SweepCounts:
    """Run the cases that are not finished in `folder` with `runner`, on `workers` processes of what `on` names.

    A case that takes longer than `time_limit` [s] is ended and fails.
    """
    if workers is not None and workers < 1:
        raise InputError(f"--workers {workers}: allowed is an integer of at least 1")
    if time_limit is not None and not time_limit > 0:
        raise InputError(f"--time-limit {time_limit:g}: allowed is a number of seconds above 0")
    executor = executor_named(on, workers)
    if getattr(multiprocessing.current_process(), "_inheriting", False):  # in a worker that imports the user's script
        raise InputError("a sweep was started by one of its workers: call it below `if __name__ == '__main__':`")
    place = SweepFolder(folder, sweep)
    with place.opened(force):
        missing = [case for case in sweep.cases if not place.finished(case.name)]
        skipped = len(sweep.cases) - len(missing)
        counts = SweepCounts(len(sweep.cases), before=skipped, done=skipped)
        progress(counts)
        if missing:
            orders = [Order(case, folder, sweep.digest) for case in missing]
            try:
                executor.execute(Job(place, runner, orders, counts, progress, time_limit))
            except KeyboardInterrupt:  # also count cases that workers finished in the meantime
                counts.done = sum(place.finished(case.name) for case in sweep.cases)
                progress(counts)
                raise
            except OSError as error:
                text = f"sweep stopped: {folder}: {error.strerror or error}; finished cases are kept"
                raise SweepStopped(text) from None
    return counts


def usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
