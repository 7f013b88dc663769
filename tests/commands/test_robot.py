"""`grouser run --robot`: the folder of a run from a robot's file, and one clear line where something is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import grouser
from grouser.cli import status
from grouser.scenarios.robot import CART
from tests.simulation.robots import gymnasium_robot, rover_urdf

QUICK = ["--time", "0.5", "--no-report"]


def summary(out: Path) -> dict:
    return json.loads((out / "summary.json").read_text())


def error_line(arguments: list[str], capsys) -> str:
    """The one line on stderr of a command that must refuse."""
    assert status(arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert err.count("\n") == 1, err
    return err.removeprefix("error: ").rstrip("\n")


def test_the_command_of_the_documentation(tmp_path, capsys):
    out = tmp_path / "out"
    arguments = ["--robot", str(CART), "--soil", "lunar-nominal", "--bodies", "wheel.*", "--drive", "motor.*=1.0"]
    assert status(["run", *arguments, "--time", "3", "--out", str(out)]) == 0
    names = ["load.png", "power.png", "sinkage.png", "slip.png", "soil.png"]
    assert sorted(p.name for p in (out / "figures").iterdir()) == names
    assert {p.name for p in out.iterdir()} == {"figures", "recording.h5", "report.html", "summary.json"}
    text = capsys.readouterr().out
    assert "note: driven at 1: motor_fl, motor_fr, motor_rl, motor_rr" in text
    assert "note: ground contact of wheel_fl, wheel_fr, wheel_rl, wheel_rr moved from MuJoCo to the soil" in text
    metrics = {name: metric["value"] for name, metric in summary(out)["metrics"].items()}
    assert metrics["bodies"] == ["wheel_fl", "wheel_fr", "wheel_rl", "wheel_rr"]
    assert 0.15 < metrics["distance_m"] < 0.12 * 3  # wheels of 0.12 m at 1 rad/s
    assert metrics["carried_rel"] == pytest.approx(1.0, abs=0.01)
    assert metrics["weight_N"] == pytest.approx(28 * 9.81)
    assert sum(metrics["load_per_body_N"]) == pytest.approx(metrics["carried_rel"] * metrics["weight_N"])
    assert metrics["sinkage_max_m"] == max(metrics["sinkage_per_body_m"])
    assert np.mean(metrics["slip_per_body"]) == pytest.approx(metrics["slip_mean"], abs=1e-6)
    assert metrics["energy_J"] == pytest.approx(metrics["power_mean_W"] * 3, rel=1e-6)
    assert metrics["cost_of_transport"] == pytest.approx(
        metrics["energy_J"] / (metrics["weight_N"] * metrics["distance_m"])
    )
    with grouser.Recording(out / "recording.h5") as recording:
        power, time = recording["robot/power"], recording.time
        assert metrics["energy_J"] == pytest.approx(np.trapezoid(power, time))
        forces, speeds = recording["actuator/force"], recording["joint/velocity"]
        expected = np.maximum(forces * speeds, 0).sum(axis=1)  # four servos on four axles
        np.testing.assert_allclose(power[50:], expected[50:], rtol=1e-4, atol=1e-4)


STOOL = """<mujoco model="stool"><worldbody><geom name="floor" type="plane" size="5 5 1"/>
    <body name="seat" pos="0 0 0.3"><joint type="slide" axis="0 0 1"/><geom type="box" size=".1 .1 .02" mass="2"/>
    <body name="sole" pos="0 0 -0.2">{balls}</body>
    <body name="peg" pos="0 0 -0.1"><joint type="slide" axis="0 0 1"/><geom size=".03" mass="1"/></body>
    </body></worldbody></mujoco>"""


def test_who_carries_a_robot_stands_in_summary_report_and_notes(tmp_path, capsys):
    """A sole of four small balls carries it, the seat nothing; a peg that was not chosen falls on the hard floor."""
    balls = "".join(f'<geom size=".005" pos="{x} {y} 0" mass="0.1"/>' for x in (-0.06, 0.06) for y in (-0.04, 0.04))
    robot, out = tmp_path / "stool.xml", tmp_path / "out"
    robot.write_text(STOOL.format(balls=balls))
    assert (
        status(
            [
                "run",
                "--robot",
                str(robot),
                "--bodies",
                "seat|sole",
                "--set",
                "settle=false",
                "--time",
                "1",
                "--out",
                str(out),
            ]
        )
        == 0
    )
    whole, text, page = summary(out), capsys.readouterr().out, (out / "report.html").read_text()
    metrics = {name: metric["value"] for name, metric in whole["metrics"].items()}
    assert metrics["carries_nothing"] == ["seat"]
    assert metrics["floor_bodies"] == ["peg"]
    assert metrics["floor_load_mean_N"] == pytest.approx([9.81], rel=0.02)
    assert metrics["floor_load_max_N"][0] >= metrics["floor_load_mean_N"][0]
    assert 0 < metrics["floor_load_from_s"][0] < 0.5
    for words in ("4 small shapes (10 mm) are replaced by their hull", "carried no load up to t = 1 s: seat",
                  "touches the hard floor, not soil, first at t = 0.", "mass 3.4 kg, weight 33.35 N"):  # fmt: skip
        assert words in " ".join(text.replace("\n", " ").split()), words
        assert any(words in note for note in whole["notes"]), words
        assert words in page, words


def test_the_same_from_python(tmp_path):
    run = grouser.run(
        "robot", robot=CART, soil="lunar-nominal", bodies="wheel.*", drive={"motor.*": 1.0}, time=0.5,
        out=tmp_path / "out", report=False,
    )  # fmt: skip
    assert status(
        ["run", "--robot", str(CART), "--soil", "lunar-nominal", "--bodies", "wheel.*", "--drive", "motor.*=1.0",
         *QUICK, "--out", str(tmp_path / "command")]
    ) == 0  # fmt: skip
    same = {k: v for k, v in run.metrics.items() if k != "real_time_factor"}
    there = {name: metric["value"] for name, metric in summary(tmp_path / "command")["metrics"].items()}
    assert same == {k: v for k, v in there.items() if k != "real_time_factor"}


def test_a_urdf_uphill_on_mars(tmp_path):
    file, out = tmp_path / "rover.urdf", tmp_path / "out"
    file.write_text(rover_urdf())
    more = ["--gravity", "3.71", "--slope", "8", "--spacing", "12mm", "--step", "4 ms", "--set", "soil.cohesion=500"]
    drive = ["--drive", "axle_.*l=0.5", "--drive", "axle_.*r=0.5"]
    assert status(["run", "--robot", str(file), "--bodies", "wheel.*", *drive, *more, "--time", "2", "--no-report",
                   "--out", str(out)]) == 0  # fmt: skip
    settings = summary(out)["settings"]
    assert (settings["gravity"], settings["slope_deg"], settings["spacing"], settings["step"]) == (3.71, 8, 0.012, 4e-3)
    assert settings["soil"] == {"name": "dry-sand", "cohesion": 500.0}
    with grouser.Recording(out / "recording.h5") as recording:
        place = recording["robot/position"]
        assert place[-1, 2] - place[100, 2] == pytest.approx(
            np.tan(np.radians(8)) * (place[-1, 0] - place[100, 0]), abs=2e-3
        )
        assert place[-1, 0] - place[0, 0] > 0.03


def test_a_robot_in_a_scenario_file_beside_it(tmp_path, monkeypatch):
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "rover.urdf").write_text(rover_urdf())
    np.save(tmp_path / "lab" / "hill.npy", np.zeros((5, 5)))
    (tmp_path / "lab" / "test.yaml").write_text(
        "scenario: robot\nsettings:\n  robot: rover.urdf\n  bodies: wheel.*\n  drive: {axle_.*: 0.5}\n  time: 0.5 s\n"
        "  terrain: {file: hill.npy, spacing: 2}\n"
    )
    monkeypatch.chdir(tmp_path)
    assert status(["run", "lab/test.yaml", "--soil", "clay", "--no-report", "--out", "out"]) == 0
    assert summary(tmp_path / "out")["settings"]["soil"] == {"name": "clay"}


def test_terrain_with_options(tmp_path):
    np.save(tmp_path / "bowl.npy", np.hypot(*np.meshgrid(np.linspace(-1, 1, 21), np.linspace(-1, 1, 21))))
    arguments = ["--robot", str(CART), "--terrain", str(tmp_path / "bowl.npy"), "--set", "terrain.spacing=0.5"]
    assert status(["run", *arguments, "--set", "terrain.scale=0.1", *QUICK, "--out", str(tmp_path / "out")]) == 0
    with grouser.Recording(tmp_path / "out" / "recording.h5") as recording:
        x, _, _, before = recording.surface_at(0.0)
        assert before.max() <= 0.15
        assert before.max() > 0.005


def test_an_array_of_a_file_of_several_and_a_place_on_it(tmp_path):
    np.savez(tmp_path / "map.npz", heights=np.zeros((9, 9)), bowl=np.full((9, 9), 0.5), spacing=0.5)
    arguments = ["--robot", str(CART), "--terrain", str(tmp_path / "map.npz"), "--at", "0.5,-0.25,90"]
    assert status(["run", *arguments, "--set", "terrain.key=bowl", *QUICK, "--out", str(tmp_path / "out")]) == 0
    with grouser.Recording(tmp_path / "out" / "recording.h5") as recording:
        first = recording["body/pose"][0, recording.channel_info("body/pose").labels.index("chassis")]
    assert first[:2] == pytest.approx([0.5, -0.25], abs=0.01)
    assert first[2] == pytest.approx(0.5 + 0.12 - 0.011, abs=5e-3)
    assert first[3:] == pytest.approx([0, 0, 0.5**0.5, 0.5**0.5], abs=0.01)  # xyzw: a quarter turn about z


def test_a_legged_robot_of_gymnasium(tmp_path, capsys):
    out = tmp_path / "out"
    arguments = ["run", "--robot", str(gymnasium_robot("half_cheetah")), "--bodies", ".foot", "--drive", ".*=0.0"]
    assert status([*arguments, "--time", "1.5", "--no-report", "--out", str(out)]) == 0
    assert "hard floor" in capsys.readouterr().out
    assert summary(out)["metrics"]["carried_rel"]["value"] == pytest.approx(1.0, abs=0.1)


def test_a_robot_that_leaves_its_terrain_stops_the_run_and_keeps_the_data(tmp_path, capsys):
    np.save(tmp_path / "table.npy", np.zeros((3, 3)))
    arguments = [
        "--robot",
        str(CART),
        "--bodies",
        "wheel.*",
        "--terrain",
        str(tmp_path / "table.npy"),
        "--drive",
        ".*=4",
    ]
    assert (
        status(["run", *arguments, "--set", "terrain.spacing=0.4", "--no-report", "--out", str(tmp_path / "out")]) == 3
    )
    assert "left the terrain" in capsys.readouterr().err
    assert summary(tmp_path / "out")["metrics"]["distance_m"]["value"] > 0.02


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--robot", "nowhere.xml"], ["no file 'nowhere.xml'"]),
        (["--robot", "CART", "--bodies", "foot.*"], ["bodies: 'foot.*' matches none of chassis, wheel_fl"]),
        (["--robot", "CART", "--drive", "engine=1"], ["'engine' matches none of the actuators motor_fl"]),
        (["--robot", "CART", "--drive", "motor.*"], ["--drive motor.*", "PATTERN=VALUE"]),
        (["--robot", "CART", "--drive", "motor.*=fast"], ["--drive motor.*=fast", "number"]),
        (["--robot", "CART", "--soil", "clya"], ["--soil clya", "'clay'"]),
        (["--robot", "CART", "--time", "0"], ["--time 0", "greater than 0"]),
        (["--robot", "CART", "--step", "3 kg"], ["--step 3 kg", "dimension"]),
        (["--robot", "CART", "--step", "21 ms"], ["--step 21 ms", "less than or equal to 0.02"]),
        (["--robot", "CART", "--spacing", "0.2"], ["spacing: 0.2 m"]),
        (["--robot", "CART", "--gravity", "-9.81"], ["--gravity -9.81", "greater than or equal to 0"]),
        (["--robot", "CART", "--terrain", "moon.tif"], ["moon.tif"]),
        (["--robot", "CART", "--at", "1,north"], ["at", "'1,north': allowed are x,y [m] or x,y,heading [deg]"]),
        (["--robot", "CART", "--terrain", "moon.tif", "--slope", "5"], ["terrain and slope_deg are both given"]),
        (["--robot", "CART", "--set", "keyframe=back"], ["keyframe 'back'", "ahead"]),
        (["single-wheel", "--robot", "CART"], ["--robot", "'single-wheel'"]),
        (["single-wheel", "--bodies", "wheel"], ["--bodies wheel", "unknown field"]),
        (["single-wheel", "--soil", "clay", "--set", "soil=dry-sand"], ["contradicts"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_is_told_in_one_line(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    line = error_line(["run", *(str(CART) if a == "CART" else a for a in arguments), "--out", "out"], capsys)
    for word in words:
        assert word in line
    assert list(tmp_path.iterdir()) == []


def test_short_options_serve_scenarios_too(tmp_path):
    assert status(["run", "plate-sinkage", "--soil", "clay", "--step", "10ms", "--spacing", "2cm", "--no-report",
                   "--set", "depth=5mm", "--out", str(tmp_path / "out")]) in (0, 1)  # fmt: skip
    settings = summary(tmp_path / "out")["settings"]
    assert (settings["soil"], settings["step"], settings["spacing"]) == ({"name": "clay"}, 0.01, 0.02)


def test_a_pattern_with_dots_survives_dotted_paths():
    from grouser.scenarios.settings import from_python

    for given in ({"drive": {"motor.*": 1.0, "left": 2.0}}, {"drive.left": 2.0, "drive.motor.*": 1.0}):
        assert from_python("robot", given).settings.drive == {"motor.*": 1.0, "left": 2.0}
