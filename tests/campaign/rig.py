"""A sweep of the fake rig: the real runner with a scenario that costs nothing, and workers that can be told to die.

As a script it is the command line with this runner: `python -m tests.campaign.rig SETUP.json sweep FILE.yaml …`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grouser.campaign import Case
from grouser.commands.sweep import ScenarioRunner
from grouser.thread_count import threads_wanted
from tests.commands import fake_rig


@dataclass(frozen=True)
class RigRunner(ScenarioRunner):
    """Writes what it does to `log`; kills its own process at the cases of `kill`, `times` times each."""

    rate: float = 100.0
    recordings: bool = False
    log: Path = Path("log")
    kill: tuple[str, ...] = ()
    times: int = 1000
    held: tuple[str, ...] = ()  # cases that never end by themselves
    gate: str = ""  # file that lets the held cases go on

    def warm(self, case: Case) -> None:
        self.write("warm")

    def run(self, case: Case, folder: Path) -> dict[str, Any]:
        fake_rig.install()
        self.write(case.name)
        if case.name in self.kill and started(self.log).count(case.name) <= self.times:
            os.kill(os.getpid(), signal.SIGKILL)
        while case.name in self.held and not (self.gate and Path(self.gate).exists()):
            time.sleep(0.02)
        environment = {"threads": os.environ["OMP_NUM_THREADS"], "of_bodies": threads_wanted()}
        return super().run(case, folder) | environment

    def write(self, what: str) -> None:
        with self.log.open("a") as file:  # short lines of several processes do not mix
            file.write(f"{what} {os.getpid()}\n")


@dataclass(frozen=True)
class BatchRig(RigRunner):
    """The rig's runner in batches of up to four; writes a line for each batch, and breaks at the cases of `breaks`."""

    gpus: int = 0
    breaks: tuple[str, ...] = ()

    def together(self, cases: Sequence[Case]) -> list[list[int]]:
        return [list(range(k, min(k + 4, len(cases)))) for k in range(0, len(cases), 4)]

    def run_batch(self, cases: Sequence[Case], folders: Sequence[Path]) -> list[dict[str, Any]]:
        names = [case.name for case in cases]
        self.write(f"warm-batch-{'-'.join(names)}")
        if set(names) & set(self.breaks):
            raise ValueError("one of them cannot be built")
        return [self.run(case, folder) for case, folder in zip(cases, folders, strict=True)]


def started(log: Path) -> list[str]:
    """Names of the cases in the order they were begun."""
    return [line.split()[0] for line in log.read_text().splitlines() if not line.startswith("warm")]


def workers(log: Path) -> list[int]:
    """Process ids of all that warmed up."""
    return [int(line.split()[1]) for line in log.read_text().splitlines() if line.startswith("warm")]


def batches(log: Path) -> list[str]:
    lines = [line.split()[0] for line in log.read_text().splitlines()]
    return [line.removeprefix("warm-batch-") for line in lines if line.startswith("warm-batch-")]


if __name__ == "__main__":
    from grouser.cli import main
    from grouser.commands import sweep
    from tests.campaign import rig

    given = json.loads(sys.argv.pop(1))
    fake_rig.install()
    runner = rig.RigRunner(log=Path(given.pop("log")), **given)
    sweep.ScenarioRunner = lambda rate, recordings: runner
    main()
