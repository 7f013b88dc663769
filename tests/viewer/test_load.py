"""A run that is looked at by ten pages, slow and senseless ones among them, is the run that nobody looks at."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import h5py
import pytest

from grouser.commands.run import execute
from grouser.commands.view import ViewProcess
from grouser.recording import Recording
from grouser.scenarios.settings import from_python
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
SETTINGS = {"speed": 0.1}


def frames(folder: Path) -> dict[str, bytes]:
    """Every dataset of a recording but the outcome, which has wall times."""
    found: dict[str, bytes] = {}
    with h5py.File(folder / "recording.h5") as opened:
        opened.visititems(
            lambda name, item: found.update({name: item[()].tobytes()}) if isinstance(item, h5py.Dataset) else None
        )
    return {name: value for name, value in found.items() if name != "outcome/json"}


@pytest.mark.long
def test_a_crowd_of_pages_changes_nothing(tmp_path):
    alone, looked_at = tmp_path / "alone", tmp_path / "looked-at"
    execute(from_python("single-wheel", SETTINGS), out=alone, report=False)
    views: list[ViewProcess] = []
    crowds: list[subprocess.Popen] = []

    def watch(path: Path) -> None:
        views.append(ViewProcess(path, "127.0.0.1", 0))
        command = [sys.executable, "-m", "benchmarks.crowd", views[0].wait()]
        crowds.append(subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        assert crowds[0].stdout is not None
        assert crowds[0].stdout.readline() == "ready\n"

    try:
        execute(from_python("single-wheel", SETTINGS), out=looked_at, report=False, watch=watch)
        counts = json.loads(crowds[0].communicate("", timeout=PATIENCE)[0])
        assert counts["garbage"] >= 1000
        assert counts["pages"] >= 9
        assert counts["taken"] > 0
        place = urlsplit(views[0].address)
        page = http.client.HTTPConnection(str(place.hostname), place.port, timeout=PATIENCE)
        page.request("GET", "/")
        assert page.getresponse().status == 200, "the view still answers"
    finally:
        for one in crowds:
            one.kill()
            one.wait()
        for one in views:
            one.close()
    assert frames(looked_at) == frames(alone)
    with Recording(looked_at / "recording.h5") as recording:
        assert recording.status == "complete"
