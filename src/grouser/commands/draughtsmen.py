"""Figures drawn by processes that load what they need while the run still goes on."""

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

from grouser.commands.draw_process import DRAWN
from grouser.recording import Recording
from grouser.report import figures

LASTED = 1.0  # [s] of wall time a run goes on before processes are started: a short one ends before they are of use
LEFT = 10.0  # [s] of wall time before its end at which they are started
LOADING = 2.0  # [s] between two starts: the run keeps its core and they share what is left
MOST = 2  # processes
CLOSING = 60.0  # [s] that only one that hangs takes to end


class Draughtsmen:
    """As many processes as there are cores to spare, none on a machine with one.

    What they do not draw, because there are none or one died or a figure has a fault, is drawn here.
    """

    def __init__(self, pinned: int | None = None):
        """`pinned`: a core they keep away from."""
        cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
        self._cores = sorted(cores - {pinned})
        self._keep_to = None if pinned is None else self._cores
        self._count = min(MOST, len(self._cores)) if len(cores) > 1 else 0
        self._since: float | None = None  # [s] on the clock
        self._next = 0.0  # [s] on the clock, when the next one may start
        self._processes: list[subprocess.Popen[str]] = []

    def look_in(self, done: float) -> None:
        """Called now and then while a run goes on, with the share of it that is done."""
        now = time.perf_counter()
        if self._since is None:
            self._since = now
        lasted = now - self._since
        near = lasted >= LASTED and lasted * (1 - done) <= LEFT * done
        if near and len(self._processes) < self._count and now >= self._next:
            self.begin()
            self._next = now + LOADING

    def begin(self) -> None:
        """Start one more."""
        command = [sys.executable, "-m", "grouser.commands.draw_process", json.dumps(self._keep_to)]
        try:
            self._processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        except OSError:  # no more processes, no memory
            self._count = 0

    def draw(self, recording: Recording, directory: Path) -> list[Path]:
        """What `report.draw_figures` does."""
        paths = figures.figure_paths(recording, directory)
        declared = recording.header.get("figures", [])
        ordered = sorted(
            range(len(paths)), key=lambda k: declared[k].get("kind") != "map"
        )  # what takes long goes first
        waiting, drawn = deque(ordered), set[int]()
        threads = [
            threading.Thread(target=_give, args=(process, recording.path, paths, waiting, drawn), daemon=True)
            for process in self._processes
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._dismiss()
        for place, (figure, path) in enumerate(zip(declared, paths, strict=True)):
            if place not in drawn:
                figures.draw_figure(recording, figure, path)
        return paths

    def __enter__(self) -> Draughtsmen:
        return self

    def _dismiss(self) -> None:
        """They end when their input does."""
        for process in self._processes:
            with suppress(OSError):
                _pipe(process.stdin).close()

    def __exit__(self, *_: object) -> None:
        self._dismiss()
        for process in self._processes:
            try:
                process.wait(CLOSING)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            _pipe(process.stdout).close()


def _give(
    process: subprocess.Popen[str], recording: Path, paths: list[Path], waiting: deque[int], drawn: set[int]
) -> None:
    """One process draws what waits until nothing does; places of those that came out well go into `drawn`."""
    with suppress(OSError, ValueError):  # it died
        while waiting:
            try:
                place = waiting.popleft()
            except IndexError:  # another was faster
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
