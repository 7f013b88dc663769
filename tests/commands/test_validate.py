"""`grouser validate` on small sets: numbers of single runs, tables and figures, refusals."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import grouser
from grouser.cli import status
from grouser.commands.validate import validate
from grouser.validation.score import AIM
from tests.validation.data import TEXT, changed

ROOT = Path(__file__).parents[2]
COARSE = "spacing=0.02"
WHEEL = {"radius": 0.15, "width": 0.1}
CLEARLY = 2 * AIM  # a wrong machine is off by tens of per cent, a right one by nothing


def single(folder: Path, slip: float, **more) -> dict[str, float]:
    soil = {"name": "dry-sand", "k_phi": 1.2e6}
    given = {"soil": soil, "load": 100.0, "speed": 0.2, "wheel": WHEEL, "spacing": 0.02, "slip": slip, **more}
    return grouser.run("single-wheel", given, out=folder / f"{slip:g}", report=False).metrics


def test_a_set_from_anywhere_is_run_scored_and_drawn(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("grouser.commands.validate.checkout", lambda: None)  # as where only the package is installed
    Path("bin.yaml").write_text(changed(("      torque:", "      #")), encoding="utf-8")
    arguments = ["bin.yaml", "--out", "out", "--set", COARSE, "--also", "friction=none", "--workers", "2"]
    assert status(["validate", *arguments]) == 0
    shown = capsys.readouterr().out
    found = json.loads(Path("out/validation.json").read_text(encoding="utf-8"))
    assert found["laws"] == [COARSE, f"{COARSE} friction=none"]
    (one,) = found["sets"]
    assert (one["name"], one["blind"], one["soil"]) == ("bin:smooth", True, "bin-sand")
    pull = one["quantities"]["pull"]
    mine = pull["laws"][COARSE]
    runs = [single(tmp_path, slip) for slip in (0.1, 0.4)]
    assert mine["computed"] == [run["drawbar_pull_N"] for run in runs], "bit for bit"
    errors = [abs(mine["computed"][0] + 1) / 3, abs(mine["computed"][1] - 20) / 20]
    assert mine["errors"] == pytest.approx(errors, rel=1e-12)
    assert mine["median"] == pytest.approx(sum(errors) / 2, rel=1e-12)
    sinkage = one["quantities"]["sinkage"]["laws"][COARSE]
    assert sinkage["computed"] == [run["sinkage_m"] for run in runs]
    other = pull["laws"][f"{COARSE} friction=none"]
    assert other["computed"][1] < 0  # a wheel without friction does not pull
    mean = found["mean_of_blind_sets"][COARSE]
    assert mean["all"] == pytest.approx((mine["median"] + sinkage["median"]) / 2, rel=1e-12)
    assert Path("out/figures/bin-smooth.png").read_bytes().startswith(b"\x89PNG")
    assert re.search(rf"bin:smooth +pull +{COARSE} +{100 * mine['median']:.0f} %", shown)
    assert re.search(rf"mean of blind sets +all +{COARSE} +{100 * mean['all']:.0f} %", shown)


def test_a_wrong_machine_misses(tmp_path):
    """The wheel of the file scores 0 against its own numbers, one of half the radius or load does not."""
    run = single(tmp_path, 0.4)
    values = {"N": "drawbar_pull_N", "mm": "sinkage_m", "N m": "torque_Nm"}
    numbers = {unit: [run[name] * (1e3 if unit == "mm" else 1)] for unit, name in values.items()}
    text = re.sub(r"unit: ([\w ]+), values: \[[^]]*\]", lambda m: f"unit: {m[1]}, values: {numbers[m[1]]}", TEXT)
    text = text.replace("scored: false, reason: offset, slip: [0.1, 0.2]", "scored: true")
    text = text.replace("slip: [0.1, 0.4]", "slip: [0.4]")
    machines = {
        "right": text,
        "radius": text.replace("radius: 15 cm", "radius: 7.5 cm"),
        "load": text.replace("load: 100 N", "load: 50 N"),
    }
    files = [tmp_path / f"{name}.yaml" for name in machines]
    for file, content in zip(files, machines.values(), strict=True):
        file.write_text(content, encoding="utf-8")
    done = validate([str(file) for file in files], options=[COARSE], out=tmp_path / "out", workers=2)
    found = done.found[COARSE]
    medians = {name: [score.median for score in found[f"{name}:smooth"].values()] for name in machines}
    assert max(medians["right"]) < 1e-9  # only the digits of the file
    assert sum(medians["radius"]) / 3 > CLEARLY
    assert sum(medians["load"]) / 3 > CLEARLY


@pytest.mark.long
def test_a_wrong_machine_misses_the_measured_wheel(tmp_path):
    """Ding et al. 2011: the mean of the medians is clearly larger for half the load and for half the radius."""
    text = (ROOT / "benchmarks" / "wheels" / "ding2011.yaml").read_text(encoding="utf-8")
    (tmp_path / "right.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "load.yaml").write_text(text.replace("load: 80 N", "load: 40 N"), encoding="utf-8")
    (tmp_path / "radius.yaml").write_text(text.replace("157.35 mm", "78.675 mm"), encoding="utf-8")
    mean = {}
    for name in ("right", "load", "radius"):
        done = validate([str(tmp_path / f"{name}.yaml")], options=["speed=0.1"], out=tmp_path / name)
        mean[name] = done.means("speed=0.1")["all"]
    assert mean["load"] > mean["right"] + AIM
    assert mean["radius"] > mean["right"] + AIM


def test_without_a_soil_nothing_is_run_until_one_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    one = ("slip: [0.1, 0.4]", "slip: [0.4]"), ("[-1, 20]", "[20]"), ("[10, 20]", "[20]"), ("[0.1, 0.2]", "[0.4, 0.4]")
    Path("bin.yaml").write_text(changed(("soil: bin-sand", "soil: not given"), *one), encoding="utf-8")
    assert status(["validate", "bin.yaml", "--out", "out"]) == 2
    error = capsys.readouterr().err
    assert "bin:smooth: its source gives no soil constants" in error
    assert "--soil" in error
    assert not Path("out").exists()
    Path("mine.yaml").write_text("mine: {like: dry-sand, k_phi: 1.2e6}\n", encoding="utf-8")
    assert status(["validate", "bin.yaml", "--soil", "mine.yaml", "--out", "out", "--set", COARSE]) == 0
    shown = capsys.readouterr().out
    assert "not blind: bin:smooth: its soil is 'mine'" in shown
    assert "mean of blind sets" not in shown
    assert "not scored: bin:smooth, torque: offset" in shown
    found = json.loads(Path("out/validation.json").read_text(encoding="utf-8"))
    assert found["mean_of_blind_sets"] == {COARSE: {}}
    assert found["sets"][0]["quantities"]["pull"]["laws"][COARSE]["computed"][0] == pytest.approx(
        single(tmp_path, 0.4)["drawbar_pull_N"], rel=1e-12
    )


def test_a_run_that_fails_is_named_and_counts_as_failed(tmp_path, monkeypatch, capsys):
    """The wheel is too small for the grid, which only the run itself finds."""
    monkeypatch.chdir(tmp_path)
    Path("bin.yaml").write_text(TEXT, encoding="utf-8")
    assert status(["validate", "bin.yaml", "--out", "out", "--workers", "1", "--set", "spacing=0.5"]) == 1
    captured = capsys.readouterr()
    assert "failed: bin:smooth at slip 0.1" in captured.err
    assert re.search(r"bin:smooth +pull +failed", captured.out)
    found = json.loads(Path("out/validation.json").read_text(encoding="utf-8"))
    (pull,) = found["sets"][0]["quantities"]["pull"]["laws"].values()
    assert pull["median"] is None
    assert pull["errors"] == [None, None]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nix"], ["nix: no measured wheel", "allowed:", "ding2011", "FILE.yaml"]),
        (["dinng2011"], ["did you mean 'ding2011'"]),
        (["ding2011:smoth"], ["no set 'smoth', did you mean 'smooth'", "allowed: smooth, lugged"]),
        (["nix.yaml"], ["nix.yaml: not readable"]),
        (["broken.yaml"], ["broken.yaml:14:21: sets.smooth.wheel.radius = -1"]),
        (["--set", "load=3"], ["--set load=3: load comes from the data file"]),
        (["--set", "wheel.radius=0.3"], ["--set wheel.radius=0.3: wheel comes from the data file"]),
        (["--set", "soil=clay"], ["--set soil=clay", "soil.compression", "--soil"]),
        (["--set", "erosin=false"], ["--set erosin=false: not known, did you mean 'erosion'", "samples"]),
        (["--set", "samples=9"], ["--set samples=9", "allowed: 1 to 4"]),
        (["--set", "samples=many"], ["--set samples=many", "samples: must be an integer"]),
        (["--set", "soil.k_phi=0"], ["--set soil.k_phi=0", "above 0"]),
        (["--also", "x"], ["--also x: allowed is path=value"]),
        (["--also", ""], ["--also: is empty"]),
        (["--also", "erosion=false", "--also", "erosion=false"], ["--also erosion=false: is given twice"]),
        (["--soil", "cly"], ["--soil cly", "did you mean 'clay'"]),
        (["--soil", "nix.yaml"], ["--soil nix.yaml", "does not exist"]),
        (["--workers", "0"], ["--workers 0", "at least 1"]),
        (["--out", "full"], ["--out full: not empty", "--force"]),
    ],
)
def test_bad_input_is_one_line(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    Path("broken.yaml").write_text(changed(("radius: 15 cm", "radius: -1")), encoding="utf-8")
    Path("full").mkdir()
    Path("full/other.txt").touch()
    before = sorted(tmp_path.rglob("*"))
    given = arguments if "--out" in arguments else [*arguments, "--out", "out"]
    assert status(["validate", *given]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1, error
    for word in words:
        assert word in error
    assert sorted(tmp_path.rglob("*")) == before


def test_outside_a_checkout_files_must_be_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("grouser.commands.validate.checkout", lambda: None)
    monkeypatch.chdir(tmp_path)
    assert status(["validate"]) == 2
    assert "the package carries no measured wheels: name data files" in capsys.readouterr().err
