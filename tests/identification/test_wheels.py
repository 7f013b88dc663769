"""A soil from runs of a wheel, by the command as users call it: interrupted, killed, and with predictions."""

import json
import os
import signal
import subprocess
import sys
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import grouser
from grouser.cli import status
from grouser.commands.identify import MOST_RUNS, identify
from grouser.errors import InputError
from grouser.terrain.soils import soil
from tests.waiting import PATIENCE, eventually

ROOT = Path(__file__).parents[2]
SLIPS = (0.1, 0.3, 0.5)
BETWEEN = 0.4  # a slip that is predicted
RUNS = 100
LOAD = 185.5  # [N]
# The others are known, those of dry sand: three runs do not determine seven constants.
SOUGHT = ["k_phi", "friction_angle_deg", "compression"]
COARSE = 0.03  # of the load: scatter, about the error of an emulator of so few runs
KILLS = [("smooth-1", 25), ("smooth-2", 5)]  # when so many runs of this design are finished
SCATTER = {"pull": COARSE * LOAD, "sinkage": 0.05}  # [N], and relative
WIDEST = 2.0  # of a band, over that of scatter alone: soil, emulator and deviation add to it
METRICS = {"pull": "drawbar_pull_N", "sinkage": "sinkage_m"}


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    """Metrics of runs in dry sand by slip, which stand for measurements."""
    folder = tmp_path_factory.mktemp("truth")
    return {
        slip: grouser.run("single-wheel", slip=slip, speed=0.1, out=folder / f"{slip}", report=False).metrics
        for slip in (*SLIPS, BETWEEN)
    }


@pytest.fixture(scope="module")
def data(truth):
    """The runs with scatter, as a mapping of DATA.yaml."""
    rng = np.random.default_rng(0)
    pulls = [truth[slip]["drawbar_pull_N"] + COARSE * LOAD * rng.standard_normal() for slip in SLIPS]
    sinkages = [truth[slip]["sinkage_m"] for slip in SLIPS]
    wheel = {
        "wheel": {"radius": 0.15, "width": 0.1},
        "load": LOAD,
        "slip": list(SLIPS),
        "predict_slip": [BETWEEN],
        "pull": {"unit": "N", "scatter": f"{SCATTER['pull']} N", "values": pulls},
        "sinkage": {"unit": "m", "scatter": f"{100 * SCATTER['sinkage']} %", "values": sinkages},
    }
    return {"title": "bin", "wheels": {"smooth": wheel}}


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """An identification that was not interrupted."""
    out = tmp_path_factory.mktemp("whole") / "out"
    return identify(data, out=out, constants=SOUGHT, runs=RUNS, workers=1)


class Cells(HTMLParser):
    """Texts of the table cells of a page, row by row."""

    def __init__(self, page: str):
        super().__init__()
        self.rows: list[list[str]] = []
        self.inside = False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "td"

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] += data.strip()


@pytest.mark.long
def test_the_soil_is_found(whole):
    friction = whole.posterior.estimate("friction_angle_deg")
    assert friction.low <= soil("dry-sand").friction_angle_deg <= friction.high
    assert friction.verdict == "determined"
    assert not any(check.deviates for check in whole.posterior.checks)
    assert whole.exit_status == 0


@pytest.mark.long
def test_a_slip_that_was_not_measured_is_predicted(whole, truth):
    """A run at that slip lies in the bands. Object, identification.json and page have the same numbers."""
    found = {one.quantity: one for one in whole.predictions}
    assert set(found) == set(METRICS)
    written = json.loads((whole.folder / "identification.json").read_text(encoding="utf-8"))["predictions"]
    rows = Cells((whole.folder / "identify.html").read_text(encoding="utf-8")).rows
    for quantity, metric in METRICS.items():
        one = found[quantity]
        for band in (one.law, one.with_deviation):
            assert band[0] < truth[BETWEEN][metric] < band[2]
            assert band[2] - band[0] < WIDEST * 2 * 1.645 * SCATTER[quantity] * (1 if quantity == "pull" else band[1])
        said = next(row for row in written if row["quantity"] == quantity)
        assert (said["slip"], tuple(said["law"])) == (BETWEEN, one.law)
        shown = next(row for row in rows if row[:3] == ["smooth", quantity, f"{BETWEEN}"])
        assert shown[3].startswith(f"{one.law[1]:.3g} ".replace("-", "−"))


@pytest.mark.long
def test_interrupted_and_killed_it_goes_on_to_the_same_result(data, whole, tmp_path):
    """Stopped by Ctrl-C and by SIGKILL among runs over the prior, by SIGKILL among those around the posterior."""
    file, out = tmp_path / "data.yaml", tmp_path / "out"

    def interrupt(what, share):
        if share > 0.1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        identify(data, out=out, constants=SOUGHT, runs=RUNS, workers=1, progress=interrupt)
    assert 5 <= len(runs_of(out, "smooth-1")) < 20
    file.write_text(json.dumps(data), encoding="utf-8")
    call = [sys.executable, "-c", "from grouser.cli import main; main()", "identify", str(file), "--out", str(out),
            "--constants", ",".join(SOUGHT), "--runs", str(RUNS), "--workers", "1"]  # fmt: skip
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    for stage, runs in KILLS:
        with subprocess.Popen(call, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            finished = partial(runs_of, out, stage)
            eventually(lambda: len(finished()) >= runs, f"{runs} runs of {stage}")  # noqa: B023
            process.kill()
            process.wait(PATIENCE)
        assert process.returncode == -signal.SIGKILL
        assert not (out / "soil.yaml").exists()
        assert not (out / "identify.html").exists()
    kept = {one: one.stat().st_mtime_ns for one in runs_of(out, "*")}
    assert len(kept) < RUNS
    assert status(call[3:]) == 0
    assert {one: one.stat().st_mtime_ns for one in kept} == kept
    assert results(out) == results(whole.folder)


def runs_of(out: Path, stage: str) -> list[Path]:
    return list(out.glob(f"wheel-runs/{stage}/cases/*.json"))


def results(folder: Path) -> dict[str, str]:
    """Text of all results that are numbers."""
    names = ("soil.yaml", "posterior.csv", "identification.json")
    return {name: (folder / name).read_text(encoding="utf-8") for name in names}


PLATE = {"plates": {"a": {"width": 0.1, "sinkage": {"unit": "mm", "values": [10]},
                          "pressure": {"unit": "kPa", "values": [8]}}}}  # fmt: skip


def test_a_constant_that_is_named_twice_is_refused(tmp_path, capsys):
    (tmp_path / "data.yaml").write_text(json.dumps(PLATE), encoding="utf-8")
    command = ["identify", str(tmp_path / "data.yaml"), "--constants", "n,n", "--out", str(tmp_path / "out")]
    assert status(command) == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith("constants = n,n: allowed is each of them once")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("runs", [10, MOST_RUNS + 1])
def test_the_number_of_runs_is_bounded(runs, tmp_path):
    with pytest.raises(InputError, match=f"runs = {runs}: allowed are 100 to {MOST_RUNS}"):
        identify(PLATE, out=tmp_path / "out", runs=runs)


def test_a_prior_without_soils_is_refused_before_a_folder_is_made(tmp_path, monkeypatch):
    """No k_phi of 1 to 2 has a pressure of the default range; an emulator would draw points without end."""

    def never(*_):
        raise AssertionError("a design was begun, which would not end")

    monkeypatch.setattr("grouser.commands.identify.spread", never)
    test = {"wheel": {"radius": "85 mm", "width": "80 mm"}, "load": "58.86 N", "slip": [0.1, 0.3],
            "pull": {"unit": "N", "values": [-0.5, 2.0]}}  # fmt: skip
    with pytest.raises(InputError, match="priors: hardly any soil has k_phi"):
        grouser.identify({"wheels": {"one": test}, "priors": {"k_phi": [1, 2]}}, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
