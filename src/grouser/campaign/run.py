"""Run what of a sweep is not finished yet."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path

from grouser.campaign.case import Sweep
from grouser.campaign.crew import Crew, SweepStopped, Tally
from grouser.campaign.results import SweepFolder
from grouser.campaign.worker import Order, Runner
from grouser.errors import InputError


def run_sweep(
    sweep: Sweep,
    folder: Path,
    runner: Runner,
    *,
    workers: int | None = None,
    force: bool = False,
    progress: Callable[[Tally], None] = lambda tally: None,
) -> Tally:
    """Cases that are finished in `folder` are skipped; `runner` runs the others on `workers` processes."""
    if workers is not None and workers < 1:
        raise InputError(f"--workers {workers}: allowed is a whole number of at least 1")
    if getattr(multiprocessing.current_process(), "_inheriting", False):  # a worker imports the user's script
        raise InputError("a sweep was started by one of its workers: call it below `if __name__ == '__main__':`")
    place = SweepFolder(folder, sweep)
    with place.opened(force):
        missing = [case for case in sweep.cases if not place.finished(case.name)]
        skipped = len(sweep.cases) - len(missing)
        tally = Tally(len(sweep.cases), before=skipped, done=skipped)
        progress(tally)
        if missing:
            orders = [Order(case, folder, sweep.digest) for case in missing]
            try:
                Crew(place, runner, orders, tally, progress).work(workers or usable_cores())
            except KeyboardInterrupt:  # what workers finished meanwhile counts too
                tally.done = sum(place.finished(case.name) for case in sweep.cases)
                progress(tally)
                raise
            except OSError as error:
                text = f"sweep stopped: {folder}: {error.strerror or error}; finished cases are kept"
                raise SweepStopped(text) from None
    return tally


def usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
