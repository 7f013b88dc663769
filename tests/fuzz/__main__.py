"""Fuzzing: `python -m tests.fuzz --minutes 5`. Each target in turn gets a batch of inputs, in a process of its own.

Hypothesis draws the inputs and makes the first one that fails as small as it can. A batch is given by its target and a
seed, `--only 'settings single-wheel' --seed 7` repeats it. A finding is an exception that is neither InputError nor
RunStopped, an InputError without words, a crash of the process, or an input that takes more than LIMIT.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import hypothesis
from hypothesis import HealthCheck, Phase

from grouser.errors import InputError, RunStopped, is_out_of_memory
from grouser.quiet_warp import start_warp
from tests.fuzz.targets import Target, targets

LIMIT = 20  # [s] of processor time for one input
PATIENCE = 300.0  # [s] of wall time for one input, on a busy machine
MEMORY = 8 << 30  # [bytes] address space of a batch beyond what the parent has
BUILT = (
    "settings",
    "robot",
    "course",
    "command",
    "sweep",
)  # targets that build or decompose what they are given, or run
BATCH = 12  # inputs of a batch of these; others get ten times as many


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.splitlines()[0])
    options.add_argument("--minutes", type=float, default=1.0)
    options.add_argument("--seed", type=int, default=0, help="of the first round; rounds count on from it")
    options.add_argument("--only", default="", help="targets whose names contain this")
    given = options.parse_args()
    seed, found, tried = given.seed, 0, Counter()
    chosen = [target for target in targets() if given.only in target.name]
    if not chosen:
        options.error(f"--only {given.only}: no such target")
    start_warp()
    end = time.monotonic() + 60 * given.minutes
    while time.monotonic() < end:
        for target in chosen:
            if time.monotonic() >= end:
                break
            count, finding = batch(target, seed, end)
            tried[target.name.split()[0]] += count
            if finding:
                found += 1
                print(f"\nFOUND {target.name}, seed {seed}: {finding}", flush=True)
        seed += 1
    print(f"{sum(tried.values())} inputs ({', '.join(f'{k}: {v}' for k, v in tried.items())}), {found} findings")
    return int(found > 0)


def batch(target: Target, seed: int, end: float) -> tuple[int, str]:
    """Inputs tried and what was found, by a process that is killed when one input takes too long."""
    with tempfile.TemporaryDirectory() as folder:
        report, told = Path(folder) / "report", Path(folder) / "told"
        process = os.fork()
        if process == 0:
            os._exit(child(target, seed, Path(folder), report, told))
        status = _wait(process, told)
        lines = told.read_text(errors="replace").splitlines() if told.exists() else []
        last = lines[-1] if lines else "before the first input"
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            slow = number in (signal.SIGXCPU, signal.SIGKILL)
            why = f"more than {LIMIT} s" if slow else f"crash, {signal.Signals(number).name}"
            return len(lines), f"{why}: {last[:2000]}"
        if status:  # such as an import that fails
            return len(lines), f"the process ended with status {os.waitstatus_to_exitcode(status)}: {last[:2000]}"
        return len(lines), report.read_text() if report.exists() else ""


def _wait(process: int, told: Path) -> int:
    """Wait for a batch; kill it if one input takes longer than PATIENCE."""
    size, since = -1, time.monotonic()
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return status
        now = told.stat().st_size if told.exists() else 0
        if now != size:
            size, since = now, time.monotonic()
        elif time.monotonic() - since > PATIENCE:
            os.kill(process, signal.SIGKILL)
            return os.waitpid(process, 0)[1]
        time.sleep(0.05)


def child(target: Target, seed: int, folder: Path, report: Path, told: Path) -> int:
    """Run a batch. The processor time of each input is limited by the kernel, from which nothing escapes."""
    os.chdir(folder)
    pages = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (pages + MEMORY, pages + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    warnings.simplefilter("ignore")

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=BATCH if target.name.startswith(BUILT) else 10 * BATCH, deadline=None, database=None,
        phases=[Phase.generate, Phase.shrink], suppress_health_check=list(HealthCheck), print_blob=False,
        report_multiple_bugs=False,
    )  # fmt: skip
    @hypothesis.given(target.inputs())
    def tried(given):
        with told.open("a") as file:
            file.write(repr(given).replace("\n", " ")[:3000] + "\n")
        used = resource.getrusage(resource.RUSAGE_SELF)
        most = int(used.ru_utime + used.ru_stime) + LIMIT + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
        use(target, given, folder)

    try:
        with (folder / "out").open("w") as out, redirect_stdout(out), redirect_stderr(out):
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
            tried()
    except BaseException as error:
        last = told.read_text(errors="replace").splitlines()[-1:] if told.exists() else []
        where = "".join(traceback.format_tb(error.__traceback__)[-4:])
        report.write_text(f"{type(error).__name__}: {str(error)[:300]}\n{where}input: {last}"[:4000])
    return 0


def use(target: Target, given: object, folder: Path) -> None:
    """Use an input. Right answers are: accepted, refused in words, stopped in words, or too little memory."""
    try:
        target.use(given, folder)
    except InputError as error:
        assert str(error).strip(), "an InputError without words"
    except RunStopped as error:
        assert "run stopped at t = " in str(error)
    except Exception as error:
        if not is_out_of_memory(error):
            raise


if __name__ == "__main__":
    sys.exit(main())
