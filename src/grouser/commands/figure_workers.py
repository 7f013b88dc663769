"""Worker processes that draw the figures of a report. They load their modules before the run ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

from grouser.commands.figure_worker import DRAWN
from grouser.recording import Recording
from grouser.report import figures

LASTED = 1.0  # [s] wall time of a run before workers are started; a shorter run ends before they have loaded
LEFT = 10.0  # [s] wall time left in the run when workers are started
LOADING = 2.0  # [s] between two starts, so that loading does not slow the run down
MOST = 2  # largest number of workers
CLOSING = 60.0  # [s] time limit for a worker to end, which only a hang reaches


class FigureWorkers:
    """Worker processes, one per spare core up to MOST; none on a machine with one core.

    A figure that no worker drew (none was started, it crashed, or the figure has a fault) is drawn by this process.
    """

    def __init__(self, pinned: int | None = None):
        """`pinned`: the core that runs the dynamics; the workers do not use it."""
        cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
        self._cores = sorted(cores - {pinned})
        self._keep_to = None if pinned is None else self._cores
        self._count = min(MOST, len(self._cores)) if len(cores) > 1 else 0
        self._since: float | None = None  # [s] clock time of the first call
        self._next = 0.0  # [s] clock time when the next worker may start
        self._processes: list[subprocess.Popen[str]] = []

    def start_near_end(self, done: float) -> None:
        """Start a worker if the run is near its end. `done` is the completed fraction of the run, 0 to 1."""
        now = time.perf_counter()
        if self._since is None:
            self._since = now
        lasted = now - self._since
        near = lasted >= LASTED and lasted * (1 - done) <= LEFT * done
        if near and len(self._processes) < self._count and now >= self._next:
            self.start()
            self._next = now + LOADING

    def start(self) -> None:
        """Start one worker."""
        command = [sys.executable, "-m", "grouser.commands.figure_worker", json.dumps(self._keep_to)]
        try:
            self._processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        except OSError:  # no process or no memory available
            self._count = 0

    def draw(self, recording: Recording, directory: Path) -> list[Path]:
        """Draw all figures of a recording into `directory`, as `report.draw_figures` does. Returns their paths."""
        paths = figures.figure_paths(recording, directory)
        declared = recording.header.get("figures", [])
        ordered = sorted(
            range(len(paths)), key=lambda k: declared[k].get("kind") != "map"
        )  # the slowest figures, the maps, first
        waiting, drawn = deque(ordered), set[int]()
        threads = [
            threading.Thread(target=_draw_waiting, args=(process, recording.path, paths, waiting, drawn), daemon=True)
            for process in self._processes
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._close_inputs()
        for place, (figure, path) in enumerate(zip(declared, paths, strict=True)):
            if place not in drawn:
                figures.draw_figure(recording, figure, path)
        return paths

    def __enter__(self) -> FigureWorkers:
        return self

    def _close_inputs(self) -> None:
        """Close the stdin of the workers, which ends them."""
        for process in self._processes:
            with suppress(OSError):
                _pipe(process.stdin).close()

    def __exit__(self, *_: object) -> None:
        self._close_inputs()
        for process in self._processes:
            try:
                process.wait(CLOSING)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            _pipe(process.stdout).close()


def _draw_waiting(
    process: subprocess.Popen[str], recording: Path, paths: list[Path], waiting: deque[int], drawn: set[int]
) -> None:
    """Have one worker draw waiting figures until none is left. Indices of figures drawn are added to `drawn`."""
    with suppress(OSError, ValueError):  # the worker died
        while waiting:
            try:
                place = waiting.popleft()
            except IndexError:  # another worker took the last one
                return
            task = {"recording": str(recording.absolute()), "figure": place, "path": str(paths[place].absolute())}
            _pipe(process.stdin).write(json.dumps(task) + "\n")
            _pipe(process.stdin).flush()
            answer = _pipe(process.stdout).readline()
            if not answer:
                return
            if answer.strip() == DRAWN:
                drawn.add(place)


def _pipe(pipe: Any) -> Any:
    assert pipe is not None
    return pipe
