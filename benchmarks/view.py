"""What looking costs: a rover alone, with a view nobody looks at, with a browser; and how large recordings are.

Runs alternate, and the least of each kind is taken: what else goes on on a machine only ever makes a run slower.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.run import Row

UNSEEN_BAR, SEEN_BAR = 10.0, 20.0  # [%] that a view may slow a run down
SIZE_BAR = 50.0  # [MB] of a minute of a rover
ROUNDS = 3
COURSE = [[0, 0], [0.7, 0], [1.4, 0.1]]
BROWSER_FLAGS = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


def measure() -> list[Row]:
    least: dict[str, float] = {}
    kinds: dict[str, Callable] = {"alone": _alone, "unseen": _unseen}
    if shutil.which("chromium"):
        kinds["seen"] = _seen
    rate = 0.0
    with tempfile.TemporaryDirectory() as place:
        for turn in range(ROUNDS):
            for name, watched in kinds.items():
                folder = Path(place) / f"{name}{turn}"
                with watched() as watch:
                    took, simulated = _run(folder, watch)
                least[name] = min(least.get(name, took), took)
                rate = (folder / "recording.h5").stat().st_size / simulated
                shutil.rmtree(folder)
    rows = [Row("view", "recording of 60 s of a rover", 60 * rate / 1e6, "MB", SIZE_BAR, scales=False)]
    for name, words, bar in (("unseen", "no browser", UNSEEN_BAR), ("seen", "one browser", SEEN_BAR)):
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


@contextmanager
def _alone() -> Iterator[None]:
    yield None


@contextmanager
def _unseen() -> Iterator[Callable[[Path], None]]:
    with _watching(lambda address: None) as watch:
        yield watch


@contextmanager
def _seen() -> Iterator[Callable[[Path], None]]:
    """A browser without a GPU takes all the cores there are: one that draws slowly, in a small window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=list(BROWSER_FLAGS))

        def look(address: str) -> None:
            page = browser.new_page(viewport={"width": 320, "height": 200})
            page.goto(address)
            page.wait_for_selector("#grouser-viewer", state="attached", timeout=120_000)

        try:
            with _watching(look) as watch:
                yield watch
        finally:
            browser.close()


@contextmanager
def _watching(look: Callable[[str], None]) -> Iterator[Callable[[Path], None]]:
    from grouser.commands.view import Watch

    views: list[Watch] = []

    def watch(path: Path) -> None:
        views.append(Watch(path, "127.0.0.1", 0))
        look(views[-1].wait())
        time.sleep(1.0)  # what starting up costs is not what looking costs

    try:
        yield watch
    finally:
        for one in views:
            one.close()
