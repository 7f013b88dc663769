"""Pages beside films of the same moment, for docs/view-and-drive.md: `python benchmarks/view_pictures.py [NAME …]`.

Each recording is shown to a browser (Debian's chromium) without a GPU, and drawn by the renderer of the videos with the
same camera. Both show the whole window; the panel of the page is cut off, and the same part of the film.
"""

from __future__ import annotations

import io
import sys
import tempfile
import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import grouser
from grouser.recording import Recording
from grouser.robots import quadruped
from grouser.viewer.replay import replay
from grouser.viewer.server import View
from grouser.viewer.video import pictures

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "figures"
WINDOW = (1280, 560)  # [pixel]; films are drawn in multiples of 16
SHOWN = (150, 0, 900, 560)  # [pixel] left, top, right, bottom of what is kept: no panel, no notice
WIDTH = 500  # [pixel] of each of the two pictures
GAP = 8  # [pixel]
PATIENCE = 300.0  # [s] until a page has drawn its picture
STILL = 3  # equal pictures in a row, half a second apart, after which a page counts as drawn


@dataclass(frozen=True)
class Moment:
    make: Callable[[Path], Path]  # leaves a recording in a folder and returns it
    time: float  # [s]
    camera: str = "follow"
    wheel: str = ""
    replayed: bool = False  # in an exported page, held at the moment, rather than in `grouser view`
    whole: bool = False  # the page alone, with its panel; ground by pressure


def cart(folder: Path, seconds: float = 6.0) -> Path:
    """Straight on sand."""
    sim = grouser.on_soil(grouser.CART, "dry-sand", "wheel.*", drive={"motor.*": 0.8})
    return grouser.record(sim, folder, seconds, rate=50, report=False).recording


def first_second(folder: Path) -> Path:
    """The cart's first second. A replay has its camera where it is in the middle."""
    return cart(folder, 1.0)


def hills(folder: Path) -> Path:
    """Over an imported elevation model with nodes 20 cm apart."""
    x, y = np.meshgrid(np.arange(-8, 8.01, 0.2), np.arange(-8, 8.01, 0.2))
    rough = 0.03 * np.random.default_rng(4).normal(size=x.shape)
    heights = 0.35 * np.sin(0.55 * x + 0.4) * np.cos(0.45 * y) + 0.6 * np.tanh((x - 4) / 2) + rough
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / "hills.npz", dem=heights)
    settings: dict[str, Any] = {"robot": str(grouser.CART), "soil": "dry-sand", "bodies": "wheel.*", "time": 6.0}
    settings |= {"terrain": {"file": str(folder / "hills.npz"), "key": "dem", "spacing": 0.2}, "at": [-1.0, 0.0, 0.0]}
    settings |= {"drive": {"motor.*": 0.8}}
    return grouser.run("robot", settings, out=folder / "run", report=False).recording


def dog(folder: Path) -> Path:
    """A quadruped that stands."""
    sim = grouser.on_soil(quadruped.build(), "dry-sand", "foot_.*", start=standing())
    return grouser.record(sim, folder, 1.0, rate=50, report=False).recording


def standing() -> dict[str, list[float]]:
    """The pose of a quadruped that stands, and the controls that hold it."""
    angles = quadruped.stance().tolist()
    return {"qpos": [0, 0, quadruped.HIP + quadruped.FOOT, 1, 0, 0, 0, *angles], "ctrl": angles}


def tracks(folder: Path) -> Path:
    """A bulldozer that turns on sand."""
    settings: dict[str, Any] = {"plastic": "dry-sand", "radii": [4.0], "stage": 4.0}
    return grouser.run("bulldozer-turn", settings, out=folder, report=False).recording


def rover(folder: Path) -> Path:
    """The rover of rover-course."""
    settings = {"waypoints": [[0, 0], [0.6, 0], [1.0, 0.2]]}
    return grouser.run("rover-course", settings, out=folder, report=False).recording


MOMENTS = {
    "cart": Moment(cart, 5.0),
    "dem": Moment(hills, 5.0),
    "dog": Moment(dog, 1.0),
    "wheel": Moment(cart, 5.0, "wheel", "wheel_rr"),
    "tracks": Moment(tracks, 6.0),
    "replay": Moment(first_second, 0.5, replayed=True),
    "page": Moment(rover, 18.0, whole=True),
}


def page_picture(moment: Moment, recording: Path, folder: Path) -> Any:
    """What the page shows at the moment, as an image of the window."""
    sys.path.insert(0, str(ROOT))
    from playwright.sync_api import sync_playwright

    from tests.viewer.browser import FLAGS, executable

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=executable(), args=list(FLAGS))
        page = browser.new_page(viewport={"width": WINDOW[0], "height": WINDOW[1]})
        page.set_default_timeout(1000 * PATIENCE)
        if moment.replayed:
            with Recording(recording) as shown:
                (folder / "replay.html").write_text(replay(shown), encoding="utf-8")
            image = held(page, folder / "replay.html", moment.time)
            browser.close()
            return image
        with View(recording, port=0) as view:
            page.goto(view.address)
            page.wait_for_selector("#grouser-viewer", state="attached")
            for session in view.sessions.values():
                session.go(moment.time)
                if moment.wheel:
                    session.set_wheel(moment.wheel)
                session.set_camera(moment.camera)
                if moment.whole:
                    session.panel.field.value = "pressure"
                    session.change(lambda scene=session.scene: scene.colour_by("pressure"))
            page.locator(".mantine-Notification-closeButton").first.click()  # about drawing without a GPU
            image = still(page)
        browser.close()
    return image


def held(page: Any, file: Path, time: float) -> Any:
    """A replay held at a time [s] by the field beside its slider. Its bar lies below the window that is shown."""
    page.goto(file.as_uri())
    page.wait_for_selector("canvas", state="attached")
    bar = WINDOW[1] - page.evaluate("document.querySelector('canvas').clientHeight")
    page.set_viewport_size({"width": WINDOW[0], "height": WINDOW[1] + bar})
    # A little later: a picture is shown from its time on.
    page.locator(".mantine-NumberInput-input").first.fill(f"{time + 0.05:g}")
    page.locator(".mantine-Notification-closeButton").first.click()
    return still(page)


def looked(page: Any) -> Any:
    from PIL import Image

    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def still(page: Any) -> Any:
    """The picture of a page once it does not change any more."""
    last, equal, until = looked(page), 0, clock.monotonic() + PATIENCE
    while equal < STILL and clock.monotonic() < until:
        page.wait_for_timeout(500)
        image = looked(page)
        equal = equal + 1 if image.tobytes() == last.tobytes() else 0
        last = image
    return last


def beside(page: Any, film: np.ndarray) -> Any:
    """Page and film, left and right."""
    from PIL import Image

    height = WIDTH * (SHOWN[3] - SHOWN[1]) // (SHOWN[2] - SHOWN[0])
    both = Image.new("RGB", (2 * WIDTH + GAP, height), "white")
    for k, image in enumerate((page, Image.fromarray(film))):
        both.paste(image.crop(SHOWN).resize((WIDTH, height), Image.Resampling.LANCZOS), (k * (WIDTH + GAP), 0))
    return both


def main(names: list[str]) -> None:
    for name in names or list(MOMENTS):
        moment = MOMENTS[name]
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            recording = moment.make(folder / "run")
            page = page_picture(moment, recording, folder)
            if moment.whole:
                height = 2 * WIDTH * WINDOW[1] // WINDOW[0]
                page.resize((2 * WIDTH, height)).save(FIGURES / f"view-{name}.jpg", quality=85, optimize=True)
                continue
            with Recording(recording) as shown:
                times = np.array([moment.time])
                (film,) = pictures(shown, times, (moment.camera,), WINDOW, wheel=moment.wheel)
            beside(page, film).save(FIGURES / f"view-{name}.jpg", quality=85, optimize=True)
            print(f"written: {FIGURES / f'view-{name}.jpg'}")


if __name__ == "__main__":
    main(sys.argv[1:])
