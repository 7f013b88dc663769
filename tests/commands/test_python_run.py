"""`grouser.run`, the Python twin of the command, and `grouser compare`."""

from __future__ import annotations

import pytest

import grouser
from grouser.cli import status
from grouser.scenarios import registry
from tests.commands import fake_rig


@pytest.fixture(autouse=True)
def rig(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "NAMES", registry.NAMES)  # put back afterwards
    fake_rig.install()


def test_run_returns_what_the_command_writes(tmp_path):
    outcome = grouser.run("fake-rig", {"soil.k_c": 7}, out=tmp_path / "out", report=False, frequency=0.5, soil="clay")
    assert outcome.metrics["end_m"] == pytest.approx(-1.0)
    assert outcome.metrics["soil_k_c"] == 7
    assert outcome.missed == ["end_m"]
    assert outcome.exit_status == 1
    with grouser.Recording(outcome.recording) as recording:
        assert recording.header["settings"]["soil"] == {"k_c": 7.0, "name": "clay"}


def test_run_raises_what_went_wrong(tmp_path):
    with pytest.raises(grouser.InputError, match="setting slip=9"):
        grouser.run("fake-rig", out=tmp_path / "out", slip=9)
    assert not (tmp_path / "out").exists()
    with pytest.raises(grouser.RunStopped, match="it flew away"):
        grouser.run("fake-rig", out=tmp_path / "out", report=False, event="stop")
    assert (tmp_path / "out" / "summary.json").exists()


def test_compare_names_what_differs(tmp_path, capsys):
    grouser.run("fake-rig", out=tmp_path / "a", report=False)
    grouser.run("fake-rig", out=tmp_path / "b", report=False, frequency=0.5)
    assert status(["compare", str(tmp_path / "a"), str(tmp_path / "b" / "recording.h5")]) == 0
    lines = {tuple(line.split()[:2]): line for line in capsys.readouterr().out.splitlines()}
    assert ("setting", "frequency") in lines
    assert ("setting", "slip") not in lines
    assert "\N{MINUS SIGN}200 %" in lines["metric", "end_m"]
    assert "at t = 1 s" in lines["channel", "ball/x"]
    assert ("channels:", "largest") in lines


def test_compare_of_folders_without_a_run(tmp_path, capsys):
    assert status(["compare", str(tmp_path), str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {tmp_path}: neither recording.h5 nor summary.json found")


def test_report_can_be_drawn_again(tmp_path, capsys):
    out = tmp_path / "out"
    grouser.run("fake-rig", out=out)
    files = ["figures/x.png", "recording.h5", "report.html", "summary.json"]
    assert sorted(str(file.relative_to(out)) for file in out.rglob("*.*")) == files
    page = (out / "report.html").read_text(encoding="utf-8")
    (out / "report.html").unlink()
    (out / "figures" / "x.png").unlink()
    assert status(["report", "--no-replay", str(out)]) == 0
    assert capsys.readouterr().out.strip() == str(out / "report.html")
    assert (out / "report.html").read_text(encoding="utf-8") == page
    assert (out / "figures" / "x.png").exists()


def test_a_stopped_run_has_a_report_that_says_so(tmp_path):
    with pytest.raises(grouser.RunStopped):
        grouser.run("fake-rig", out=tmp_path / "out", event="stop")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "The run stopped at t = 0.5 s" in page
    assert "it flew away" in page
