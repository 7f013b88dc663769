"""A real browser for tests: Debian's chromium, driven by playwright, drawing without a GPU."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from tests import waiting
from tests.waiting import PATIENCE

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--disable-background-networking",
)  # fmt: skip
SIZE = {"width": 900, "height": 420}
PICTURE = (20, 140, 560, 400)  # what of the page is neither panel nor notice: left, top, right, bottom
LOOK_PERIOD = 0.2  # [s] between two looks at a page: drawing without a GPU takes its time


def executable() -> str:
    """The browser, or a failure that says what to do: a test that cannot look must not pass."""
    path = os.environ.get("GROUSER_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
    if not path:
        pytest.fail("no browser found: install one (Debian: apt-get install chromium) or set GROUSER_BROWSER")
    return path


@contextmanager
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        running = play.chromium.launch(executable_path=executable(), args=list(FLAGS))
        try:
            yield running
        finally:
            running.close()


def opened(running: Any, address: str) -> Any:
    """A page that shows the view."""
    page = running.new_page(viewport=SIZE)
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(address)
    page.wait_for_selector("#grouser-viewer", state="attached")
    return page


def picture(page: Any) -> np.ndarray:
    """(height, width, 3) uint8 of the scene alone."""
    from PIL import Image

    image = Image.open(io.BytesIO(page.screenshot(timeout=1000 * PATIENCE))).convert("RGB").crop(PICTURE)
    return np.asarray(image)


def eventually(check: Callable[[], Any], what: str) -> Any:
    return waiting.eventually(check, what, LOOK_PERIOD)
