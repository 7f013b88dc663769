"""What looking costs: a rover alone, with a view nobody looks at, with a browser; and how large recordings are.

Runs alternate, and the least of each kind is taken: what else goes on on a machine only ever makes a run slower. A
browser without a GPU draws with all the cores there are, so the dynamics and the browser have a core each.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.run import Row

UNSEEN_BAR, SEEN_BAR, CROWD_BAR = 10.0, 20.0, 20.0  # [%] that a view may slow a run down
SIZE_BAR = 50.0  # [MB] of a minute of a rover
ROUNDS = 3
CORES = os.sched_getaffinity(0)
COURSE = [[0, 0], [0.7, 0], [1.4, 0.1]]
LOADING = 20.0  # [s] until the page shows the rover
BROWSER_FLAGS = (
    "--headless", "--remote-debugging-port=0", "--window-size=320,200", "--no-sandbox", "--no-first-run",
    "--disable-background-networking", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
)  # fmt: skip


def measure() -> list[Row]:
    least: dict[str, float] = {}
    kinds: dict[str, Callable] = {"alone": _alone, "unseen": _unseen, "crowd": _crowd}
    if shutil.which("chromium"):
        kinds["seen"] = _seen
    rate = 0.0
    with tempfile.TemporaryDirectory() as place:
        for turn in range(ROUNDS):
            for name, watched in kinds.items():
                folder = Path(place) / f"{name}{turn}"
                with watched() as watch:
                    took, simulated = _run(folder, watch or _keep_to_a_core)
                os.sched_setaffinity(0, CORES)
                least[name] = min(least.get(name, took), took)
                rate = (folder / "recording.h5").stat().st_size / simulated
                shutil.rmtree(folder)
    rows = [Row("view", "recording of 60 s of a rover", 60 * rate / 1e6, "MB", SIZE_BAR, scales=False)]
    seen = (("unseen", "no browser", UNSEEN_BAR), ("seen", "one browser", SEEN_BAR),
            ("crowd", "ten pages, one of them sends 1000 messages a second", CROWD_BAR))  # fmt: skip
    for name, words, bar in seen:
        if name in least:
            slower = 100 * (least[name] / least["alone"] - 1)
            rows.append(Row("view", f"rover with a view, {words}: slower by", slower, "%", bar, scales=False))
    return rows


def _run(folder: Path, watch: Callable[[Path], None] | None) -> tuple[float, float]:
    """Wall time of the loop and simulated time [s] of a short course."""
    from grouser.commands.run import execute
    from grouser.scenarios.settings import from_python

    experiment = from_python("rover-course", {"waypoints": COURSE})
    outcome = execute(experiment, out=folder, report=False, watch=watch)
    return outcome.summary["wall_s"], outcome.summary["sim_s"]


def _keep_to_a_core(path: Path) -> None:
    os.sched_setaffinity(0, {min(CORES)})


@contextmanager
def _alone() -> Iterator[None]:
    yield None


@contextmanager
def _unseen() -> Iterator[Callable[[Path], None]]:
    with _watching(lambda address: None) as watch:
        yield watch


@contextmanager
def _crowd() -> Iterator[Callable[[Path], None]]:
    """Nine slow pages and one that sends garbage (`benchmarks/crowd.py`), on the other core."""
    crowds: list[subprocess.Popen] = []

    def look(address: str) -> None:
        command = ["taskset", "-c", str(max(CORES)), sys.executable, "-m", "benchmarks.crowd", address]
        crowds.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        assert crowds[-1].stdout is not None
        crowds[-1].stdout.readline()

    try:
        with _watching(look) as watch:
            yield watch
    finally:
        for one in crowds:
            one.communicate("")


@contextmanager
def _seen() -> Iterator[Callable[[Path], None]]:
    """A browser that draws in a small window, on a core of its own; nobody listens to what it does."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = ["taskset", "-c", str(max(CORES)), "chromium", *BROWSER_FLAGS, f"--user-data-dir={profile}"]
        browsers: list[subprocess.Popen] = []

        def look(address: str) -> None:
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
            browsers.append(subprocess.Popen([*command, address], **quiet))
            time.sleep(LOADING)
            _confine(browsers[-1].pid)

        try:
            with _watching(look) as watch:
                yield watch
        finally:
            for browser in browsers:
                os.killpg(browser.pid, signal.SIGTERM)
                browser.wait()


def _confine(session: int) -> None:
    """All threads of a browser to one core: those that draw without a GPU choose cores for themselves."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.getsid(int(process.name)) == session:
                for task in (process / "task").iterdir():
                    os.sched_setaffinity(int(task.name), {max(CORES)})


@contextmanager
def _watching(look: Callable[[str], None]) -> Iterator[Callable[[Path], None]]:
    from grouser.commands.view import ViewProcess

    views: list[ViewProcess] = []

    def watch(path: Path) -> None:
        views.append(ViewProcess(path, "127.0.0.1", 0))
        look(views[-1].wait())
        time.sleep(1.0)  # what starting up costs is not what looking costs
        _keep_to_a_core(path)

    try:
        yield watch
    finally:
        for one in views:
            one.close()
