"""Sweeps of the real scenarios: the same numbers as single runs."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

import grouser
from grouser.campaign import read_sweep
from grouser.cli import status
from tests.waiting import PATIENCE, eventually

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "wheel-design.yaml"
QUICK = {"depth": "1 cm", "speed": "10 cm/s", "spacing": "2 cm"}  # 0.1 s of a plate


def test_a_sweep_has_the_numbers_of_single_runs(tmp_path):
    definition = {
        "scenario": "plate-sinkage",
        "set": QUICK,
        "parameters": {"soil": ["clay", "dry-sand"], "plate.width": ["8 cm", 0.1]},
        "metrics": ["force_N", "sinkage_m"],
        "recordings": True,
    }
    outcome = grouser.sweep(definition, out=tmp_path / "out", workers=2)
    assert outcome.failed == {}
    assert outcome.exit_status == 0
    assert [(row["soil"], row["plate.width"]) for row in outcome.rows] == [
        ("clay", 0.08), ("clay", 0.1), ("dry-sand", 0.08), ("dry-sand", 0.1),
    ]  # fmt: skip
    for row in (outcome.rows[0], outcome.rows[3]):
        settings = QUICK | {"soil": row["soil"], "plate.width": row["plate.width"]}
        alone = grouser.run("plate-sinkage", settings, out=tmp_path / row["case"], report=False)
        assert row["force_N"] == alone.metrics["force_N"], "bit for bit"
        assert row["sinkage_m"] == alone.metrics["sinkage_m"]
        with (
            grouser.Recording(tmp_path / "out" / "recordings" / f"{row['case']}.h5") as recording,
            grouser.Recording(alone.recording) as other,
        ):
            assert (recording["plate/force"] == other["plate/force"]).all()
    with (tmp_path / "out" / "table.csv").open(newline="") as file:
        assert [float(row["force_N"]) for row in csv.DictReader(file)] == [row["force_N"] for row in outcome.rows]
    (tmp_path / "out" / "sweep.html").unlink()
    assert status(["report", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "sweep.html").exists()


def children(pid: int) -> list[int]:
    """Worker processes of a sweep."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((place / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if parent == pid and b"spawn_main" in (place / "cmdline").read_bytes():
                found.append(int(place.name))
    return found


@pytest.mark.long
def test_kills_cost_time_and_no_numbers(tmp_path):
    """A worker killed, then the whole sweep, then again to the end: the numbers of a run by itself."""
    file, out = tmp_path / "my.yaml", tmp_path / "out"
    settings = {"depth": "2 cm", "speed": "5 mm/s"}  # 4 s of a plate, most of a second
    file.write_text(json.dumps({"scenario": "plate-sinkage", "set": settings, "parameters": {"spacing": [0.01] * 6}}))
    call = [sys.executable, "-c", "from grouser.cli import main; main()", "sweep", str(file), "--out", str(out)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}

    def done() -> int:
        return len(list(out.glob("cases/*.json")))

    with subprocess.Popen([*call, "--workers", "2"], env=environment, stderr=subprocess.PIPE, text=True) as process:
        eventually(lambda: done() >= 1, "a case is done")
        for worker in children(process.pid)[:1]:
            with contextlib.suppress(ProcessLookupError):  # its work was over
                os.kill(worker, signal.SIGKILL)
        eventually(lambda: done() >= 3, "more are done")
        process.kill()
        process.wait(PATIENCE)
    finished = subprocess.run([*call, "--workers", "2"], env=environment, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.startswith("6 of 6 cases complete (")
    alone = grouser.run("plate-sinkage", settings, out=tmp_path / "alone", report=False, spacing=0.01)
    forces = {json.loads(case.read_text())["metrics"]["force_N"]["value"] for case in (out / "cases").iterdir()}
    assert forces == {alone.metrics["force_N"]}


def test_what_cannot_be_built_is_a_failed_case(tmp_path, capsys):
    file = tmp_path / "my.yaml"
    file.write_text(
        "scenario: plate-sinkage\nset: {depth: 1 cm, speed: 10 cm/s}\nparameters: {spacing: [2 cm, 50 cm]}\n"
    )
    assert status(["sweep", str(file), "--out", str(tmp_path / "out")]) == 1
    told = capsys.readouterr()
    assert told.out == f"1 of 2 cases complete: {tmp_path / 'out' / 'sweep.html'}\n"
    last = told.err.splitlines()[-1]  # on a busy machine lines of progress come before it
    assert last.startswith("failed: 0002: spacing: 0.5 m")


def test_the_example_is_a_sweep():
    sweep = read_sweep(EXAMPLE)
    assert len(sweep.cases) == 27
    assert {parameter.path for parameter in sweep.parameters} >= {"wheel.radius", "wheel.width", "wheel.grouser_height"}
    assert {"drawbar_pull_N", "energy_per_metre_J"} <= set(sweep.metrics)


def test_the_sweeps_of_the_docs_are_sweeps():
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "sweeps.md").read_text(encoding="utf-8"), re.DOTALL)
    sweeps = [read_sweep(YAML(typ="safe").load(block)) for block in blocks]
    assert [len(sweep.cases) for sweep in sweeps] == [27, 200]
    assert sweeps[0].digest == read_sweep(EXAMPLE).digest


@pytest.mark.long
def test_the_example_finds_what_wheels_do(tmp_path):
    """Larger, wider wheels with taller grousers pull more at the same load and slip; grousers cost energy."""
    outcome = grouser.sweep(EXAMPLE, out=tmp_path / "out", workers=2)
    assert outcome.failed == {}
    value = {tuple(row[f"wheel.{name}"] for name in ("radius", "width", "grouser_height")): row for row in outcome.rows}
    small, large = value[0.15, 0.1, 0.0], value[0.25, 0.2, 0.02]
    assert large["drawbar_pull_N"] > 1.5 * small["drawbar_pull_N"]
    for (radius, width, height), row in value.items():
        if radius > 0.15:
            assert row["drawbar_pull_N"] > value[0.15, width, height]["drawbar_pull_N"]
        if width > 0.1:
            assert row["sinkage_m"] < value[radius, 0.1, height]["sinkage_m"]
        if height > 0:
            assert row["drawbar_pull_N"] > value[radius, width, 0.0]["drawbar_pull_N"]
            assert row["energy_per_metre_J"] > value[radius, width, 0.0]["energy_per_metre_J"]
