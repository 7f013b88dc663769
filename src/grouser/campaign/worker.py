"""The work of a worker process. This file imports little, so that a worker starts fast."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import threading
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

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


@dataclass(frozen=True)
class Order:
    """A case to run, and the folder for its result."""

    case: Case
    folder: Path  # of the sweep
    digest: str


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


def work(runner: Runner, order: Order) -> dict[str, Any]:
    """Run a case and write its result file. Returns status and reason. Raises OSError if nothing can be written."""
    working = order.folder / WORKING / order.case.name
    try:
        shutil.rmtree(working, ignore_errors=True)
        working.mkdir(parents=True)
        found = perform(runner, order, working)
        if (working / KEPT).exists():
            (order.folder / RECORDINGS).mkdir(exist_ok=True)
            (working / KEPT).replace(recording_file(order))
    finally:
        shutil.rmtree(working, ignore_errors=True)
    return keep(order, found)


def perform(runner: Runner, order: Order, working: Path) -> dict[str, Any]:
    """Run a case in an empty folder. An error of the case is its result. Raises OSError if the disk is full."""
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
    "Order",
    "Runner",
    "failed",
    "keep",
    "perform",
    "recording_file",
    "start",
    "warm",
    "work",
    "write_result",
]
