"""`--on` of the commands that make many runs: the executor it names gets them, and a wrong name is one line."""

import pytest
from ruamel.yaml import YAML

from grouser.campaign import run
from grouser.campaign.executor import SweepStopped
from grouser.cli import status
from grouser.commands import identify

WHEEL = {
    "wheels": {
        "one": {
            "wheel": {"radius": 0.15, "width": 0.1},
            "load": 150,
            "slip": [0.1, 0.3],
            "pull": {"unit": "N", "values": [5, 20], "scatter": "2 N"},
        }
    }
}
SOIL = {"ours": {"n": 1.0, "k_c": 1000, "k_phi": 1e6, "cohesion": 200, "friction_angle_deg": 30, "shear_modulus": 0.02,
                 "uncertainty": {"constants": ["n"], "covariance": [[0.01]]}}}  # fmt: skip
COMMANDS = {
    "identify": ("identify", "data.yaml"),
    "validate": ("validate", "ding2011:smooth"),
    "samples": ("run", "single-wheel", "--set", "soil.file=soil.yaml", "--samples", "4"),
}


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    YAML().dump(WHEEL, tmp_path / "data.yaml")
    YAML().dump(SOIL, tmp_path / "soil.yaml")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_runs_go_to_the_executor_that_is_named(name, monkeypatch, capsys):
    class Elsewhere:
        def execute(self, job):
            raise SweepStopped(f"far away, {len(job.orders)} runs")

    for module in (run, identify):
        monkeypatch.setattr(module, "executor_named", lambda on, workers: {"ray://far:10001": Elsewhere()}[on])
    assert status([*COMMANDS[name], "--out", "out", "--on", "ray://far:10001"]) == 3
    assert "error: far away, " in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_a_place_that_is_not_known_is_one_line_and_leaves_nothing(name, tmp_path, capsys):
    assert status([*COMMANDS[name], "--out", "out", "--on", "moon"]) == 2
    assert capsys.readouterr().err == "error: --on moon: allowed are local, ray and ray://HOST:PORT\n"
    assert not (tmp_path / "out").exists()
