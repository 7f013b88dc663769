"""Pictures of machines that are driven, as their pages show them: `python benchmarks/drive_pictures.py [NAME …]`.

Each machine is driven by a script of inputs, recorded, and shown to a browser (Debian's chromium) without a GPU.
"""

from __future__ import annotations

import io
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grouser.commands import run as running
from grouser.commands.drive import DriveSession, with_driver
from grouser.control.memoryless import Memoryless
from grouser.recording import Recording
from grouser.scenarios.settings import from_command
from grouser.viewer.server import View

ROOT = Path(__file__).parents[1]
SIZE = {"width": 1300, "height": 640}
WIDTH = 900  # [pixel] of the picture
PERIOD = 0.05  # [s] of the script
LOOK = 25.0  # [s] a page has to draw a picture


@dataclass(frozen=True)
class Drive:
    scenario: str
    script: tuple[tuple[float, tuple[float, float]], ...]  # seconds, and forward and turn from then on
    seconds: float
    switch: tuple[str, str] | None = None
    wheel: str = ""  # that the camera looks at; empty: the camera follows the machine


DRIVES = {
    "vivi": Drive("vivi-ramp", ((0.0, (0.0, 1.0)),), 2.0),
    "bulldozer": Drive("bulldozer-turn", ((0.0, (0.0, 1.0)),), 4.0, wheel="track/left/sprocket"),
    "walker": Drive("wheel-walker-stairs", ((0.0, (1.0, 0.0)),), 2.2, ("carriers", "brake")),
}


class Script(Memoryless):
    """Holds the inputs of a script."""

    period = PERIOD

    def __init__(self, drive: Drive, session: DriveSession):
        self.drive, self.session = drive, session

    def act(self, time: float, sensors: Any, command: Any) -> None:
        assert self.session.input is not None
        self.session.input.take(*[inputs for start, inputs in self.drive.script if start <= time][-1])


def recorded(drive: Drive, folder: Path) -> Path:
    """Drive by the script, as fast as it goes. Returns the recording."""
    session = DriveSession(drive.scenario, [])
    if drive.switch is not None:
        session.switched.update([drive.switch])
    experiment = with_driver(from_command(drive.scenario, []), session, drive.seconds)
    build = experiment.scenario.build

    def scripted(settings: Any) -> Any:
        sim = build(settings)
        assert session.input is not None
        session.input.paced = False
        sim.use_controllers([Script(drive, session), *sim.controllers])
        return sim

    driven = replace(experiment, scenario=replace(experiment.scenario, build=scripted))
    running.execute(driven, out=folder, report=False)
    return folder / "recording.h5"


def draw(recording: Path, picture: Path, wheel: str = "") -> None:
    """Write what a page shows at the end of the recording, as JPEG."""
    from PIL import Image

    sys.path.insert(0, str(ROOT))
    from playwright.sync_api import sync_playwright

    from tests.viewer.browser import FLAGS, executable

    with Recording(recording) as shown:
        end = float(shown.time[-1])
    with View(recording, port=0) as view, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=executable(), args=list(FLAGS))
        page = browser.new_page(viewport=SIZE)
        page.goto(view.address)
        page.wait_for_selector("#grouser-viewer", state="attached", timeout=1e6)
        for session in view.sessions.values():
            session.go(end)
            if wheel:
                session.set_wheel(wheel)
                session.set_camera("wheel")
        page.locator(".mantine-Notification-closeButton").first.click(timeout=1e6)  # about drawing without a GPU
        page.wait_for_timeout(1000 * LOOK)
        image = Image.open(io.BytesIO(page.screenshot(timeout=1e6))).convert("RGB")
        image = image.resize((WIDTH, WIDTH * SIZE["height"] // SIZE["width"]), Image.Resampling.LANCZOS)
        image.save(picture, quality=85, optimize=True)
        browser.close()


def main(names: list[str]) -> None:
    for name in names or list(DRIVES):
        drive = DRIVES[name]
        with tempfile.TemporaryDirectory() as folder:
            recording = recorded(drive, Path(folder) / "run")
            draw(recording, ROOT / "docs" / "figures" / f"drive-{name}.jpg", drive.wheel)


if __name__ == "__main__":
    main(sys.argv[1:])
