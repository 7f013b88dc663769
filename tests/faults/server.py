"""Runs command lines with faults: one line of JSON in, one out. What commands import is loaded once, then forked."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from grouser.quiet_warp import start_warp
from tests.commands import fake_rig
from tests.faults.system_calls import Fault, run

LIMIT = 60.0  # [s] after which a command counts as hung; they take a second


def load_all() -> None:
    import h5py  # noqa: F401
    import matplotlib.pyplot  # noqa: F401

    import grouser.campaign
    import grouser.commands.export
    import grouser.commands.run
    import grouser.commands.sweep
    import grouser.report
    import grouser.simulation
    import grouser.viewer.replay
    import grouser.viewer.tables  # noqa: F401

    start_warp()
    fake_rig.install(alone=False)


def limit_memory(more: int) -> None:
    """Allow this process so many bytes beyond those it has."""
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def answer(wanted: dict[str, Any]) -> dict[str, Any]:
    fault = Fault(
        Path(wanted["folder"]), tuple(wanted["kinds"]), wanted["number"], wanted["error"], wanted["persists"]
    )  # fmt: skip
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as told:

        def body() -> int:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(out.fileno(), 1)
            os.dup2(told.fileno(), 2)
            sys.argv = ["grouser", *wanted["arguments"]]
            if wanted.get("memory"):
                limit_memory(wanted["memory"])
            from grouser import cli
            from grouser.commands.exit_status import run_process

            return run_process(cli.status)

        ended = run(body, fault, LIMIT)
        for file in (out, told):
            file.seek(0)
        printed, errors = out.read().decode(errors="replace"), told.read().decode(errors="replace")
    return {**vars(ended), "out": printed, "told": errors}


def main() -> None:
    load_all()
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
