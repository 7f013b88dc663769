"""Keys, gamepad and page in a real browser drive machines, and the drive is a recording like any other."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grouser.commands.drive import RATE
from grouser.recording import Recording
from tests.simulation.robots import rover_urdf, urdf
from tests.viewer.browser import browser, eventually, opened

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
DRIVEN, TURNED = 0.03, 0.02  # [m], [rad]


def recorded(path, body="chassis") -> tuple[float, float]:
    """How far a body has come along x [m], and the most the driver asked for."""
    if not path.exists():
        return 0.0, 0.0
    with Recording(path) as recording:
        if not len(recording):
            return 0.0, 0.0
        x = recording[f"body/pose[{body}, x]"]
        return float(x[-1] - x[0]), float(np.abs(recording["driver/share"]).max())


def frames(path) -> np.ndarray:
    with Recording(path) as recording:
        return recording.time


@contextmanager
def driving(*arguments: str):
    """`grouser drive` in a process of its own, and the address of its page."""
    command = "import sys; from grouser.cli import status; sys.exit(status(sys.argv[1:]))"
    process = subprocess.Popen(
        [sys.executable, "-c", command, "drive", *arguments, "--port", "0", "--time", "300"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        line = re.search(r"http://\S+", first)
        assert line, first
        yield process, line.group()
    finally:
        process.kill()
        process.wait()


def test_a_robot_of_the_user_drives_and_turns_by_keys(tmp_path):
    """A URDF without motors, its wheels found in the model: W drives it ahead, A turns it to the left."""
    out, file = tmp_path / "drive", urdf(tmp_path, rover_urdf())
    recording = out / "recording.h5"

    def turned() -> float:
        with Recording(recording) as kept:
            x, y, z, w = kept["body/pose[base_link]"][-1][3:]
        return float(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))

    with driving("--robot", str(file), "--bodies", "wheel_.*", "--out", str(out)) as (_, address), browser() as running:
        page = opened(running, address)
        page.mouse.click(200, 300)
        eventually(lambda: len(frames(recording)) > 5 if recording.exists() else None, "the drive is recorded")
        stands, asked = recorded(recording, "base_link")
        assert (abs(stands) < DRIVEN / 10, asked) == (True, 0)  # without a key it stays where it is
        page.keyboard.down("KeyW")
        eventually(lambda: recorded(recording, "base_link")[0] > DRIVEN, "the robot drives")
        page.keyboard.up("KeyW")
        page.keyboard.down("KeyA")
        eventually(lambda: turned() > TURNED, "the robot turns to the left")
        page.keyboard.up("KeyA")


def test_keys_drive_and_start_anew(tmp_path):
    out = tmp_path / "drive"
    with driving("rover-course", "--out", str(out)) as (process, address):
        assert process.stdout is not None
        with browser() as running:
            page = opened(running, address)
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


# ---- other machines -------------------------------------------------------------------------------------------

LEFT = 5.0  # [s] of full input to the left
PAD = """(pad) => { navigator.getGamepads = () => [pad && { connected: true, axes: pad.axes,
    buttons: pad.buttons.map((value) => ({ value })) }]; }"""  # a gamepad that is not there
BUTTONS = 17


@contextmanager
def driven_page(name: str, out: Path) -> Iterator[Any]:
    """The page of a drive, which has the focus. At the end the drive is ended by its button."""
    with driving(name, "--out", str(out)) as (process, address):
        with browser() as running:
            page = opened(running, address)
            page.mouse.click(200, 300)
            yield page
            button = page.get_by_role("button", name="End the drive")
            eventually(lambda: process.poll() is not None or button.first.evaluate("button => button.click()"), "end")
        assert process.stdout is not None
        assert process.returncode == 0, process.stdout.read()


def channel(out: Path, name: str) -> np.ndarray:
    """Values of a channel so far."""
    path = out / "recording.h5"
    if not path.exists():
        return np.zeros(0)
    with Recording(path) as recording:
        return np.asarray(recording[name]) if len(recording) else np.zeros(0)


def headings(out: Path, body: str) -> np.ndarray:
    """Heading [degree] of a body in all frames, without jumps."""
    x, y, z, w = channel(out, f"body/pose[{body}]")[:, 3:].T
    return np.degrees(np.unwrap(np.arctan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z))))


def held(out: Path, column: int, least: float) -> np.ndarray:
    """Frames in which an input was at least this."""
    shares = channel(out, "driver/share")
    return np.flatnonzero(shares[:, column] >= least) if len(shares) else np.zeros(0, int)


def test_full_left_turns_a_vehicle(tmp_path):
    out = tmp_path / "vivi"
    with driven_page("vivi-ramp", out) as page:
        page.keyboard.down("KeyA")
        eventually(lambda: len(held(out, 1, 1.0)) > LEFT * RATE, "full left for 5 s is recorded")
        page.keyboard.up("KeyA")
        page.keyboard.press("KeyT")
        eventually(lambda: bool(channel(out, "driver/traction_control").any()), "traction control goes off")
        pad = {"axes": [0, 0, 0, 0], "buttons": [0.0] * BUTTONS}
        pad["buttons"][7] = 0.5  # the right trigger
        page.evaluate(PAD, pad)
        eventually(lambda: len(held(out, 0, 0.5)) > 0, "a gamepad drives")
        page.evaluate(PAD, None)
    frames = held(out, 1, 1.0)
    turned = headings(out, "cdta_chassis")
    assert turned[frames[-1]] - turned[frames[0]] > 90
    assert channel(out, "driver/share")[frames].tolist() == [[0, 1, 0]] * len(frames)
    assert channel(out, "cdta_tyre/point").shape[1:] == (4, 3)


def test_the_carriers_of_a_walker_are_switched_by_key_gamepad_and_page(tmp_path):
    out = tmp_path / "walker"

    def position():
        found = channel(out, "driver/carriers")
        return int(found[-1]) if len(found) else None

    with driven_page("wheel-walker-stairs", out) as page:
        page.keyboard.press("KeyB")
        eventually(lambda: position() == 1, "B brakes")
        pad = {"axes": [0, 0, 0, 0], "buttons": [0.0] * BUTTONS}
        pad["buttons"][1] = 1.0
        page.evaluate(PAD, pad)
        eventually(lambda: position() == 2, "button B locks")
        page.evaluate(PAD, None)
        boxes = page.get_by_role("combobox")
        shown = eventually(lambda: [b for b in boxes.all() if b.input_value() == "lock"] or None, "the page shows it")
        shown[0].click()
        page.get_by_role("option", name="none").first.click()
        eventually(lambda: position() == 0, "the page opens them")


def test_tracks_are_driven_by_key_gamepad_and_buttons_of_the_page(tmp_path):
    """Ahead by a key, right by a stick, left by a button that is held down, and no longer once it is let go of."""
    out = tmp_path / "bulldozer"
    with driven_page("bulldozer-turn", out) as page:
        page.keyboard.down("KeyW")
        eventually(lambda: recorded(out / "recording.h5")[0] > DRIVEN, "W drives ahead")
        page.keyboard.up("KeyW")
        page.evaluate(PAD, {"axes": [1, 0, 0, 0], "buttons": [0.0] * BUTTONS})
        eventually(lambda: (channel(out, "driver/share")[-1:, 1] <= -1).any(), "the stick turns to the right")
        page.evaluate(PAD, None)
        box = page.get_by_role("button", name="turn to the left").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.down()
        eventually(lambda: len(held(out, 1, 1.0)) > RATE, "the button turns to the left")
        page.mouse.up()
        eventually(lambda: not channel(out, "driver/share")[-1].any(), "let go of, it turns no more")
    frames = held(out, 1, 1.0)
    turned = headings(out, "chassis")
    assert turned[frames[-1]] - turned[frames[0]] > 1
    sides = channel(out, "drive/side_share")
    assert sides[frames[-1]].tolist() == [-1, 1]
