"""The work of a worker process. This file imports little, so that a worker starts fast."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import threading
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from grouser.campaign.results import CASES, COMPLETE, FAILED, RECORDINGS, WORKING, write_json
from grouser.errors import GrouserError
from grouser.files import FULL

if TYPE_CHECKING:
    from grouser.campaign.case import Case

KEPT = "kept.h5"  # recording of a case, in its temporary folder


class Runner(Protocol):
    """Runs one case. Must be picklable, because it is sent to other processes."""

    def warm(self, case: Case) -> None:
        """Load modules and compile kernels that cases like this one need."""
        ...

    def run(self, case: Case, folder: Path) -> dict[str, Any]:
        """Returns status ("complete" or "failed"), reason, settings and metrics.

        `folder` is for temporary files. A recording to be kept is left there under the name KEPT.
        """
        ...


@runtime_checkable
class BatchRunner(Protocol):
    """A runner that can also run several cases at once, as worlds of one batch."""

    gpus: int  # that a worker needs for itself

    def together(self, cases: Sequence[Case]) -> list[list[int]]:
        """Numbers of cases that may share a batch, each once; the order within a batch is that of `cases`."""
        ...

    def run_batch(self, cases: Sequence[Case], folders: Sequence[Path]) -> list[dict[str, Any]]:
        """As `run` of each case. An error is one of the batch: the caller runs its cases one by one."""
        ...


@dataclass(frozen=True)
class Order:
    """A case to run, and the folder for its result."""

    case: Case
    folder: Path  # of the sweep
    digest: str


Bundle = tuple[Order, ...]  # what a worker runs at a time: one case, or several as worlds of a batch


def bundled(runner: Runner, orders: Sequence[Order]) -> list[Bundle]:
    """The orders as a runner wants to have them: one by one, or in batches."""
    if not isinstance(runner, BatchRunner):
        return [(order,) for order in orders]
    return [tuple(orders[k] for k in group) for group in runner.together([order.case for order in orders])]


def start() -> None:
    """Ignore Ctrl-C, which the main process handles, and end when the main process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:

        def exit_with_parent() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=exit_with_parent, daemon=True).start()


def warm(runner: Runner, order: Order) -> None:
    """Load and compile. An error here is ignored: it occurs again, with a message, when the case is run."""
    with suppress(Exception):
        runner.warm(order.case)


def work(runner: Runner, bundle: Bundle) -> list[dict[str, Any]]:
    """Run cases and write their result files. Returns status and reason of each.

    Raises OSError if nothing can be written.
    """
    places = [order.folder / WORKING / order.case.name for order in bundle]
    try:
        for working in places:
            shutil.rmtree(working, ignore_errors=True)
            working.mkdir(parents=True)
        results = perform(runner, bundle, places)
        for order, working in zip(bundle, places, strict=True):
            if (working / KEPT).exists():
                (order.folder / RECORDINGS).mkdir(exist_ok=True)
                (working / KEPT).replace(recording_file(order))
    finally:
        for working in places:
            shutil.rmtree(working, ignore_errors=True)
    return [keep(order, found) for order, found in zip(bundle, results, strict=True)]


def perform(runner: Runner, bundle: Bundle, places: Sequence[Path]) -> list[dict[str, Any]]:
    """Run cases, each in an empty folder. An error of a case is its result. Raises OSError if the disk is full."""
    if len(bundle) > 1 and isinstance(runner, BatchRunner):
        try:
            return runner.run_batch([order.case for order in bundle], places)
        except Exception as error:
            if isinstance(error, OSError) and error.errno in FULL:
                raise
        for working in places:  # one case may have spoilt the batch: alone, each has its own result
            shutil.rmtree(working, ignore_errors=True)
            working.mkdir(parents=True)
    return [_perform_one(runner, order, working) for order, working in zip(bundle, places, strict=True)]


def _perform_one(runner: Runner, order: Order, working: Path) -> dict[str, Any]:
    try:
        return runner.run(order.case, working)
    except GrouserError as error:
        return failed(str(error))
    except OSError as error:
        if error.errno in FULL:  # the results of further cases could not be written either
            raise
        return failed(f"{type(error).__name__}: {error}") | {"traceback": traceback.format_exc()}
    except Exception as error:
        return failed(f"{type(error).__name__}: {error}") | {"traceback": traceback.format_exc()}


def keep(order: Order, found: dict[str, Any]) -> dict[str, Any]:
    """Write the result file of a case. Returns status and reason."""
    try:
        write_result(order, found)
    except ValueError as error:
        found = failed(f"the result cannot be written: {error}")
    return {"status": found["status"], "reason": found["reason"]}


def recording_file(order: Order) -> Path:
    return order.folder / RECORDINGS / f"{order.case.name}.h5"


def failed(reason: str) -> dict[str, Any]:
    return {"status": FAILED, "reason": next(iter(reason.splitlines()), "")}


def write_result(order: Order, found: dict[str, Any]) -> None:
    """Write the result file of a case."""
    case = order.case
    known = {
        "case": case.name,
        "status": FAILED,
        "reason": "",
        "scenario": case.scenario,
        "digest": order.digest,
        "seed": case.seed,
        "parameters": case.parameters,
    }
    write_json(order.folder / CASES / f"{case.name}.json", known | found)


__all__ = [
    "COMPLETE",
    "FAILED",
    "KEPT",
    "BatchRunner",
    "Bundle",
    "Order",
    "Runner",
    "bundled",
    "failed",
    "keep",
    "perform",
    "recording_file",
    "start",
    "warm",
    "work",
    "write_result",
]
