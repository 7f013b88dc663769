"""Workers that take several cases at a time as worlds of one batch: the same files, and no case pays for another."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import grouser
from grouser.campaign import read_sweep, run_sweep
from grouser.campaign.executor import Job
from grouser.campaign.results import SweepFolder
from grouser.campaign.worker import BatchRunner, Order
from grouser.cli import status
from grouser.commands.sweep import BatchScenarioRunner, ScenarioRunner
from grouser.errors import RunStopped
from grouser.scenarios import registry, robot
from tests.campaign.rig import BatchRig, RigRunner, batches, started, workers
from tests.commands import fake_rig

SIX = {"scenario": "fake-rig", "parameters": {"frequency": [1.0, 1.5, 2.0], "wheel.radius": [0.1, 0.2]}}
NAMES = [f"{k:04}" for k in range(1, 7)]
CARTS = {
    "scenario": "robot",
    "set": {"settle": False, "step": 0.004, "spacing": 0.02, "time": 0.2, "bodies": "wheel.*"},
    "parameters": {"soil": ["dry-sand", "lunar-nominal"], "drive": [{"motor.*": 1.0}, {"motor.*": 0.5}]},
    "recordings": True,
}
# Wheels that start in soil are sensitive to the last digit (tests/engine/test_mujoco_warp_on_soil.py), and MuJoCo Warp
# rounds to float32: the first steps are compared closely, the end only as far as it tells the cases apart.
EARLY, CLOSE = 0.05, 5e-5  # [s], [m]
APART = {"sinkage_max_m": 0.02, "energy_J": 0.05}  # relative; soils differ by 0.1 and drives by 1.6


@pytest.fixture
def rig(monkeypatch, tmp_path) -> BatchRig:
    monkeypatch.setattr(registry, "NAMES", registry.NAMES)  # put back afterwards
    fake_rig.install()
    monkeypatch.chdir(tmp_path)
    return BatchRig(log=tmp_path / "log")


def swept(runner: BatchRig, **options: Any):
    return run_sweep(read_sweep(SIX), Path("out"), runner, **{"workers": 1} | options)


def results() -> dict[str, dict[str, Any]]:
    return {file.stem: json.loads(file.read_text()) for file in sorted(Path("out/cases").glob("[0-9]*.json"))}


def test_a_worker_takes_cases_by_batch_and_each_has_its_file(rig):
    assert isinstance(rig, BatchRunner)
    assert not isinstance(RigRunner(log=rig.log), BatchRunner)
    counts = swept(rig)
    assert (counts.done, counts.failed) == (6, {})
    assert batches(rig.log) == ["-".join(NAMES[:4]), "-".join(NAMES[4:])]
    found = results()
    assert list(found) == NAMES
    assert [one["parameters"]["frequency"] for one in found.values()] == [1.0, 1.0, 1.5, 1.5, 2.0, 2.0]
    assert {one["status"] for one in found.values()} == {"complete"}


def test_only_what_is_missing_is_put_into_batches(rig):
    swept(rig)
    Path("out/cases/0002.json").unlink()
    Path("out/cases/0006.json").unlink()
    assert swept(rig).before == 4
    assert batches(rig.log)[2:] == ["0002-0006"]


def test_a_batch_that_breaks_is_run_one_by_one(rig):
    rig = BatchRig(log=rig.log, breaks=("0002",))
    assert swept(rig).failed == {}
    assert sorted(started(rig.log)) == NAMES, "each once"


def test_a_case_that_kills_its_worker_is_found_among_those_of_its_batch(rig):
    rig = BatchRig(log=rig.log, kill=("0003",))
    counts = swept(rig)
    assert list(counts.failed) == ["0003"]
    assert counts.failed["0003"].startswith("its worker died 3 times (killed by SIGKILL")
    assert counts.done == 5
    assert started(rig.log).count("0003") == 3
    assert len(workers(rig.log)) >= 4


def test_a_case_that_hangs_is_found_among_those_of_its_batch(rig):
    counts = swept(BatchRig(log=rig.log, held=("0003",)), time_limit=3.0)
    assert counts.failed == {"0003": "ended after the time limit of 3 s"}
    assert counts.done == 5


def test_what_is_left_of_a_bundle(rig):
    """Of a batch whose worker died, finished cases are not run again; the others are, alone."""
    sweep = read_sweep(SIX)
    folder = SweepFolder(Path("out"), sweep)
    orders = [Order(case, Path("out"), sweep.digest) for case in sweep.cases]
    counts = swept(rig)
    Path("out/cases/0002.json").unlink()
    job = Job(folder, rig, orders[:4], counts, lambda counts: None)
    (bundle,) = job.bundles
    assert [[order.case.name for order in again] for again in job.died(bundle, "lost")] == [["0002"]]


@pytest.mark.parametrize(
    ("definition", "options", "said"),
    [
        (
            {"scenario": "single-wheel", "parameters": {"slip": [0.1]}}, {},
            "--worlds 2: scenario 'single-wheel' cannot run as a batch; allowed: robot",
        ),
        (CARTS, {"worlds": 0}, "--worlds 0: allowed are 1 to 256"),
        (
            CARTS | {"set": {"step": 0.004}}, {},
            "--worlds 2: case 0001 cannot be a world of a batch: worlds of a batch are not set down: allowed is "
            "settle = false",
        ),
        (
            CARTS | {"set": {"settle": False}}, {},
            "--worlds 2: case 0001 cannot be a world of a batch: worlds of a batch have one step, which each would "
            "choose by its soil: allowed is a step, such as 0.004",
        ),
        (CARTS, {"device": "moon"}, "device: 'moon' is not here; this machine has "),
    ],
)  # fmt: skip
def test_what_cannot_run_as_a_batch_is_refused_by_name_before_anything_is_written(
    tmp_path, monkeypatch, capsys, definition, options, said
):
    monkeypatch.chdir(tmp_path)
    Path("sweep.yaml").write_text(json.dumps(definition))
    given = {"worlds": 2, "device": "cpu"} | options
    assert status(["sweep", "sweep.yaml", *(f"--{name}={value}" for name, value in given.items())]) == 2
    assert capsys.readouterr().err.startswith(f"error: {said}")
    assert not Path("runs").exists()


def test_cases_share_a_batch_if_they_differ_in_soil_start_and_drive_only():
    definition = CARTS | {"parameters": CARTS["parameters"] | {"gravity": [9.81, 3.71]}}
    planned = read_sweep(definition)
    runner = BatchScenarioRunner.checked(planned, 3, "cpu")
    groups = runner.together(planned.cases)
    assert sorted(map(len, groups)) == [1, 1, 3, 3]
    assert sorted(k for group in groups for k in group) == list(range(8))
    assert all(len({planned.cases[k].settings.gravity for k in group}) == 1 for group in groups)


def rut(recording: grouser.Recording) -> float:
    """Deepest place [m] below the ground before the run, at its end."""
    _, _, after, before = recording.surface_at()
    return float((after - before).min())


@pytest.mark.batch
def test_a_batch_leaves_the_files_and_the_numbers_of_single_cases(tmp_path, monkeypatch):
    """On Warp's CPU device, beside the local runner."""
    monkeypatch.chdir(tmp_path)
    alone = grouser.sweep(CARTS, out=tmp_path / "alone", workers=1)
    planned, seen = read_sweep(CARTS), []
    (tmp_path / "together").mkdir()
    runner = BatchScenarioRunner.checked(planned, 4, "cpu")
    orders = [Order(case, tmp_path / "together", planned.digest) for case in planned.cases]
    monkeypatch.setattr(
        ScenarioRunner, "_result", lambda self, outcome, folder: seen.append(outcome) or own(self, outcome, folder)
    )
    from grouser.campaign.worker import bundled, work

    (bundle,) = bundled(runner, orders)
    assert [one["status"] for one in work(runner, bundle)] == ["complete"] * 4
    assert len({outcome.summary["wall_s"] for outcome in seen}) == 1, "they ran at the same time"
    names = [f"{k:04}" for k in range(1, 5)]
    for name, row in zip(names, alone.rows, strict=True):
        one, two = (
            json.loads((tmp_path / place / "cases" / f"{name}.json").read_text()) for place in ("alone", "together")
        )
        assert one.keys() == two.keys()
        assert one["parameters"] == two["parameters"]
        assert one["settings"] == two["settings"]
        assert one["metrics"].keys() == two["metrics"].keys()
        for metric, close in APART.items():
            assert two["metrics"][metric]["value"] == pytest.approx(row[metric], rel=close), (name, metric)
        paths = [tmp_path / place / "recordings" / f"{name}.h5" for place in ("alone", "together")]
        with grouser.Recording(paths[0]) as a, grouser.Recording(paths[1]) as b:
            assert set(a.names()) - {"floor/load"} == set(b.names())
            assert (a.time == b.time).all()
            early = a.time <= EARLY
            for channel in ("body/pose[chassis]", "robot/position"):
                assert b[channel][early] == pytest.approx(a[channel][early], abs=CLOSE)
            assert b["joint/velocity"][early] == pytest.approx(a["joint/velocity"][early], abs=0.01)
            assert b["actuator/force"][early] == pytest.approx(a["actuator/force"][early], abs=0.02)
            ruts = [rut(r) for r in (a, b)]
            assert ruts[0] < -0.01
            assert ruts[1] == pytest.approx(ruts[0], rel=APART["sinkage_max_m"])


@pytest.mark.batch
def test_a_world_that_fails_has_its_own_reason_and_the_others_go_on(tmp_path, monkeypatch):
    batch = robot.SCENARIO.batch
    assert batch is not None

    def build(cases, device):
        sim = batch.build(cases, device)
        sim._freeze(1, RunStopped("it left the ground", module="soil", body="wheel_fl", time=0.0))
        return sim

    monkeypatch.setattr(robot, "SCENARIO", replace(robot.SCENARIO, batch=replace(batch, build=build)))
    planned = read_sweep(CARTS | {"set": CARTS["set"] | {"time": 0.04}})
    runner = BatchScenarioRunner.checked(planned, 2, "cpu")
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    found = runner.run_batch(planned.cases[:2], folders)
    assert [one["status"] for one in found] == ["complete", "failed"]
    assert "it left the ground" in found[1]["reason"]
    assert found[0]["metrics"]["distance_m"]["value"] > 0
    with grouser.Recording(folders[1] / "kept.h5") as kept:
        assert kept.status == "stopped"


own = ScenarioRunner._result
