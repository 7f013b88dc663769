"""`grouser robots FOLDER`: the table of robots on soils."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from grouser.cli import status
from grouser.commands.robot_table import Row, robot_files, stand, standing_bodies

ROBOTS = Path(__file__).parents[2] / "examples" / "robots"
PLATE = 0.05  # sinkage of a flat foot over Bekker's: the approach and the width of the patch in k_c/b


def test_bodies_that_stand_are_found():
    assert standing_bodies(ROBOTS / "crouching-dog.xml") == ["foot0", "foot1", "foot2", "foot3"]
    assert standing_bodies(ROBOTS / "microbot.xml") == ["wheel0", "wheel1", "wheel2", "wheel3"]
    assert standing_bodies(ROBOTS / "two-robots.xml") == ["sledge", "ball"]  # each tree for itself
    assert len(standing_bodies(ROBOTS / "nameless.xml")) == 4


def test_robots_stand_fall_or_are_refused_and_the_table_says_which(tmp_path, capsys):
    folder, out = tmp_path / "robots", tmp_path / "out"
    folder.mkdir()
    for name in ("hopper-rail.xml", "top-heavy.xml"):
        shutil.copy(ROBOTS / name, folder)
    (folder / "broken.xml").write_text("<mujoco><worldbody><body></mujoco>")
    (folder / "scene.xml").write_text('<mujoco><include file="hopper-rail.xml"/></mujoco>')
    assert status(["robots", str(folder), "--soil", "dry-sand", "--out", str(out)]) == 0
    assert "3 robots, 3 cases: 1 stand, 0 carried off by more than 1 %" in capsys.readouterr().out
    broken, hopper, top = json.loads((out / "robots.json").read_text())
    assert broken["remark"].startswith("refused: ")
    assert hopper["bodies"] == ["foot"]
    assert hopper["carried"] == pytest.approx(1.0, abs=0.01)
    assert hopper["sinkage"] == pytest.approx(hopper["plate"], rel=PLATE)
    assert top["remark"] == "'post' falls over"
    assert "| hopper-rail | dry-sand | 7 | foot |" in (out / "robots.md").read_text()
    assert status(["robots", str(tmp_path / "nowhere")]) == 2
    assert "is no folder" in capsys.readouterr().err


def test_a_robot_that_fails_has_its_row_and_the_others_theirs(tmp_path, capsys, monkeypatch):
    """Rows are written as they come: those before an interrupt are on disk."""
    folder, out = tmp_path / "robots", tmp_path / "out"
    folder.mkdir()
    for name in ("hopper-rail.xml", "top-heavy.xml", "two-robots.xml"):
        shutil.copy(ROBOTS / name, folder)

    def stands(path, row, bodies):
        if path.stem == "hopper-rail":
            raise ZeroDivisionError("a | b\nc")
        if path.stem == "two-robots":
            raise KeyboardInterrupt
        row.carried, row.sinkage = 1.0, 0.01

    monkeypatch.setattr("grouser.commands.robot_table._stand", stands)
    arguments = ["robots", str(folder), "--soil", "clay", "--out", str(out)]
    assert status(arguments) != 0
    failed, top = json.loads((out / "robots.json").read_text())
    assert failed["remark"] == "failed: ZeroDivisionError: a / b c"
    assert top["carried"] == 1.0
    (folder / "two-robots.xml").unlink()
    assert status(arguments) == 1
    assert "1 stand, 0 carried off by more than 1 %, 1 failed" in capsys.readouterr().out


def test_a_weight_that_soil_does_not_carry_is_missed():
    assert not Row("a", "clay", carried=0.995).missed
    assert Row("a", "clay", carried=0.98).missed
    assert not Row("a", "clay", carried=0.5, remark="'a' falls over").missed
    assert len(robot_files(ROBOTS)) == 14


TIPPING = """<mujoco model="tipping"><option timestep="0.002"/><worldbody><geom type="plane" size="5 5 .1"/>
<body name="trunk" pos="0 0 .3"><freejoint/><geom type="box" size=".25 .1 .05" mass="8"/>
<body name="rear" pos="-.2 0 -.15"><geom type="box" size=".04 .1 .1" mass="1"/></body>
<body name="front" pos=".2 0 -.13"><geom type="box" size=".04 .1 .1" mass="1"/></body></body></worldbody></mujoco>"""


def test_a_foot_that_is_higher_but_comes_to_rest_on_the_ground_is_put_on_soil(tmp_path):
    """The robot tips onto its front foot, 20 mm higher: on the hard floor that would not sink."""
    file = tmp_path / "tipping.xml"
    file.write_text(TIPPING)
    assert standing_bodies(file) == ["rear"]
    row = stand(file, "tipping", "dry-sand", None)
    assert row.bodies == ["rear", "front"]
    assert row.remark == ""
    assert not row.missed
    assert stand(file, "tipping", "dry-sand", "rear").bodies == ["rear"]  # what the user chooses stays
