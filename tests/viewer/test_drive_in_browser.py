"""Keys in a real browser drive a rover, and the drive is a recording like any other."""

import re
import subprocess
import sys

import numpy as np
import pytest

from grouser.recording import Recording
from tests.viewer.browser import browser, eventually, opened

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
DRIVEN = 0.03  # [m]


def recorded(path) -> tuple[float, float]:
    """How far the chassis has come along x [m], and what the driver asked for last."""
    if not path.exists():
        return 0.0, 0.0
    with Recording(path) as recording:
        if not len(recording):
            return 0.0, 0.0
        x = recording["body/pose[chassis, x]"]
        return float(x[-1] - x[0]), float(np.abs(recording["driver/share"]).max())


def frames(path) -> np.ndarray:
    with Recording(path) as recording:
        return recording.time


def test_keys_drive_and_start_anew(tmp_path):
    out = tmp_path / "drive"
    command = "import sys; from grouser.cli import status; sys.exit(status(sys.argv[1:]))"
    arguments = ["drive", "rover-course", "--out", str(out), "--port", "0", "--time", "300"]
    process = subprocess.Popen(
        [sys.executable, "-c", command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        line = re.search(r"http://\S+", first)
        assert line, first
        with browser() as running:
            page = opened(running, line.group())
            page.mouse.click(200, 300)
            page.keyboard.down("KeyW")
            eventually(lambda: recorded(out / "recording.h5")[0] > DRIVEN, "the rover drives")
            page.keyboard.up("KeyW")
            page.keyboard.press("KeyR")
            again = tmp_path / "drive-2" / "recording.h5"
            eventually(lambda: again.exists(), "a new start is a new recording")
            eventually(lambda: recorded(again)[1] >= 0 and len(frames(again)) > 5, "the new one grows")

            def ended():
                if process.poll() is None and (button := page.get_by_role("button", name="End the drive")).count():
                    button.first.evaluate("button => button.click()")  # wherever it has scrolled to
                return process.poll() is not None or None

            eventually(ended, "the button ends the drive")
            output = process.stdout.read()
        assert process.returncode == 0, output
        with Recording(out / "recording.h5") as recording:
            assert recording.status == "complete"
            assert recording.message == "restarted by the driver"
            assert recording.metrics["distance_m"] > DRIVEN
            assert recording["driver/share"][:, 0].max() == 1
            assert len(recording.tile_time()), "ruts are recorded"
        assert (tmp_path / "drive-2" / "summary.json").exists()
    finally:
        process.kill()
        process.wait()
