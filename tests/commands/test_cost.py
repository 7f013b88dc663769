"""What a run costs is told before its first step."""

from __future__ import annotations

import pytest

from grouser.cli import status
from grouser.commands.cost import LONG, expected_seconds, long_run
from grouser.scenarios.settings import from_python


def of(name, **settings):
    experiment = from_python(name, settings)
    return experiment.scenario.build(experiment.settings), experiment.duration


def test_a_fine_grid_under_a_large_wheel_is_announced():
    sim, duration = of("single-wheel", spacing=0.001, wheel={"radius": 1.5, "width": 0.8}, load=5000.0)
    assert expected_seconds(sim, duration) > LONG
    line = long_run(sim, duration)
    assert "6,000 steps of 0.005 s" in line
    assert "a larger spacing is faster" in line


@pytest.mark.parametrize("name", ["single-wheel", "plate-sinkage", "rover-course", "vivi-ramp"])
def test_usual_runs_are_not(name):
    sim, duration = of(name)
    assert long_run(sim, duration) == ""


def test_a_day_is_announced_before_the_first_step(monkeypatch, tmp_path, capsys):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("grouser.commands.run.OneRun.record", stop)
    settings = ["waypoints=[[0,0],[4,0],[4,4]]", "laps=400"]
    arguments = [word for setting in settings for word in ("--set", setting)]
    assert status(["run", "rover-course", *arguments, "--no-report", "--out", str(tmp_path / "run")]) == 130
    assert "note: this run will take about " in capsys.readouterr().err


def test_a_plate_that_would_be_buried_is_refused(capsys):
    assert status(["run", "plate-sinkage", "--set", "load=1e9"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "more than 10 of its widths deep: allowed is up to" in told
