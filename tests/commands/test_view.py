"""`run --view`: a process of its own shows the run and ends with it."""

import subprocess
import sys
import urllib.request

import pytest

from grouser.cli import status
from grouser.commands.view import ViewProcess
from grouser.errors import InputError
from grouser.scenarios import registry
from tests.commands import fake_rig
from tests.viewer import made
from tests.waiting import PATIENCE, eventually

FOREIGN = ("203.0.113.7", "2001:db8::7", "a..b", "256.1.1.1")  # kept for examples by RFC 5737, RFC 3849; no addresses


def test_a_run_with_a_view_ends_by_itself(tmp_path):
    arguments = ["run", "fake-rig", "--no-report", "--out", str(tmp_path / "out"), "--view", "--port", "0"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.commands.fake_rig", *arguments],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "view: http://127.0.0.1:" in done.stderr
    assert (tmp_path / "out" / "summary.json").exists()


def test_a_view_shows_another_recording_when_told_and_ends_with_its_input(tmp_path):
    first, second = made.recording(tmp_path / "a.h5", 0.2), made.recording(tmp_path / "b.h5", 0.2)
    heard: list[dict] = []
    view = ViewProcess(first, "127.0.0.1", 0, on_message=heard.append)
    try:
        with urllib.request.urlopen(view.wait(), timeout=PATIENCE) as page:
            assert b"/input" in page.read()
        view.send(path=str(second))
        view.send(note="0.5 x real time")
        from websockets.sync.client import connect

        address = view.address.replace("http", "ws") + "input"
        with connect(address, open_timeout=PATIENCE, ping_timeout=None) as socket:
            socket.send('{"viewer": 0, "keys": ["KeyW", "KeyA"], "pad": null}')
            socket.send('{"viewer": 0, "keys": ["KeyR"], "pad": {"axes": [0.5, 0, 0, 0], "buttons": []}}')
            assert socket.ping().wait(PATIENCE)
        eventually(lambda: len(heard) >= 4, "what the page asked for is heard")
        assert heard[:3] == [{"drive": [1.0, 1.0, 0.0]}, {"reset": {}}, {"drive": [0.0, -0.5, 0.0]}]
        assert heard[-1] == {"drive": [0.0, 0.0, 0.0]}, "a page that closes lets go"
    finally:
        view.close()
    assert view._process.returncode == 0


def test_a_view_that_cannot_start_says_why(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        ViewProcess(tmp_path / "nothing.h5", "127.0.0.1", 0).wait()


@pytest.mark.parametrize("host", FOREIGN)
def test_an_address_of_another_machine_is_refused_before_anything_is_done(tmp_path, monkeypatch, capsys, host):
    recording = made.recording(tmp_path / "recording.h5", 0.2)
    monkeypatch.setattr(registry, "NAMES", registry.NAMES)  # put back afterwards
    fake_rig.install()
    for command in (
        ["view", str(recording)],
        ["run", fake_rig.NAME, "--out", str(tmp_path / "out"), "--view"],
        ["drive", "rover-course", "--out", str(tmp_path / "out")],
    ):
        assert status([*command, "--host", host, "--port", "0"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"error: --host {host}: cannot serve there")
    assert [file.name for file in tmp_path.iterdir()] == ["recording.h5"]
