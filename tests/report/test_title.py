"""Reports, replays and pages are called by the robot, not by the scenario that carries it."""

import pytest

import grouser
from grouser import cli
from grouser.recording import Recording

NAMELESS = '<mujoco><worldbody><body name="ball"><freejoint/><geom size=".05"/></body></worldbody></mujoco>'


@pytest.fixture
def nameless(tmp_path):
    path = tmp_path / "my-ball.xml"
    path.write_text(NAMELESS)
    return path


@pytest.mark.parametrize("which", ["cart", "nameless"])
def test_a_report_has_the_name_of_the_robot(nameless, tmp_path, which):
    file, title = (grouser.CART, "cart") if which == "cart" else (nameless, "my-ball")
    out = tmp_path / "out"
    assert cli.status(["run", "--robot", str(file), "--time", "0.1", "--out", str(out)]) == 0
    page = (out / "report.html").read_text()
    assert f"<title>{title}" in page
    assert f"<h1>{title}" in page
    with Recording(out / "recording.h5") as recording:
        assert recording.title == title
        assert recording.header["scenario"] == "robot", "with which it can be run again"


def test_a_recorded_simulation_has_the_name_of_its_first_body(nameless, tmp_path):
    sim = grouser.on_soil(nameless, soil="dry-sand", bodies=".*")
    grouser.record(sim, tmp_path / "out", 0.05)
    with Recording(tmp_path / "out" / "recording.h5") as recording:
        assert recording.title == "ball"


def test_a_scenario_keeps_its_name(tmp_path):
    run = grouser.run("plate-sinkage", out=tmp_path / "out", report=False)
    assert run is not None
    with Recording(tmp_path / "out" / "recording.h5") as recording:
        assert recording.title == "plate-sinkage"
