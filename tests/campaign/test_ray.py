"""Sweeps on a real Ray cluster of three nodes: whatever is killed, no finished case is lost and none is run again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import grouser
from grouser.campaign import Case, read_sweep, run_sweep
from grouser.cli import status
from grouser.commands import identify
from grouser.commands.sweep import ScenarioRunner
from grouser.scenarios import registry
from grouser.scenarios.wheel_theory import rolling_wheel
from tests.campaign.ray_nodes import LOOPBACK, ROOT, Nodes, family, kill
from tests.campaign.rig import BatchRig, batches, started, workers
from tests.commands import fake_rig
from tests.waiting import PATIENCE, eventually

pytestmark = pytest.mark.nightly

TWELVE = {"scenario": "fake-rig", "parameters": {"frequency": [1.0, 1.5, 2.0, 2.5], "wheel.radius": [0.1, 0.2, 0.3]}}
NAMES = [f"{k:04}" for k in range(1, 13)]
MANY, OVERHEAD = 2000, 0.020  # cases; [s] a case
PAYLOAD = 20_000  # [bytes] of a result
FLAT = 10 * 2**20  # [bytes] that the driver may grow by over 1500 cases; results kept would be 30 MB
PLATE = {"depth": "1 cm", "speed": "10 cm/s", "spacing": "2 cm"}
TIMINGS = {"wall_s", "real_time_factor", "started", "ended", "machine"}


@pytest.fixture(scope="module")
def cluster():
    nodes = Nodes(more=2)
    yield nodes
    nodes.end()


@pytest.fixture(autouse=True)
def rig(monkeypatch, tmp_path):
    monkeypatch.setattr(registry, "NAMES", registry.NAMES)  # put back afterwards
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.chdir(tmp_path)
    Path("twelve.yaml").write_text(json.dumps(TWELVE))


def driver(cluster: Nodes) -> dict[str, str]:
    """Environment of a driver: the address of the cluster, its token, and that loopback is not to be replaced."""
    token = {key: value for key, value in cluster.environment.items() if key.startswith("RAY_AUTH")}
    return {"RAY_ADDRESS": cluster.address, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", **token}


def command(*arguments: str, cluster: Nodes | None = None, on: str = "ray", **setup) -> subprocess.Popen[str]:
    """The command line with the rig's runner, on a cluster."""
    here = Path.cwd()
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    if cluster is not None:
        environment |= driver(cluster)
    call = [
        sys.executable, "-m", "tests.campaign.rig", json.dumps({"log": str(here / "log"), **setup}),
        "sweep", str(here / "twelve.yaml"), "--out", str(here / "out"), "--on", on, *arguments,
    ]  # fmt: skip
    return subprocess.Popen(
        call, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )  # fmt: skip


def join(cluster: Nodes, monkeypatch) -> None:
    """Make this process a driver."""
    for name, value in driver(cluster).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("ray._private.services.resolve_ip_for_localhost", lambda host: host)


@contextmanager
def running(*arguments: str, **options) -> Iterator[subprocess.Popen[str]]:
    """The same, and whatever happens in the block, it does not run on."""
    with command(*arguments, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def results() -> dict[str, dict]:
    return {file.stem: json.loads(file.read_text()) for file in Path("out/cases").glob("[0-9]*.json")}


def begun() -> list[str]:
    return started(Path("log")) if Path("log").exists() else []


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_node_killed_in_mid_campaign(cluster):
    """Four cases are done and three run, one on each node, when a node dies."""
    extra = cluster.nodes[-1]
    with running(cluster=cluster, held=NAMES[4:], gate=str(Path("gate").resolve())) as process:
        eventually(lambda: process.poll() is not None or len(begun()) >= 7, "three cases run on three nodes")
        assert process.poll() is None, ended(process)
        done = results()
        assert sorted(done) == NAMES[:4]
        kill(family(extra.pid))
        extra.wait(PATIENCE)
        Path("gate").touch()
        status, out, err = ended(process)
    cluster.nodes.remove(extra)
    assert status == 0, err
    assert "12 of 12 cases complete" in out
    count = Counter(begun())
    assert all(count[name] == 1 for name in done), "what was finished is not run again"
    assert sum(count.values()) == 13, "only the case of the dead node is run twice"
    assert {name: found["status"] for name, found in results().items()} == dict.fromkeys(NAMES, "complete")
    assert {(found["threads"], found["of_bodies"]) for found in results().values()} == {("1", 1)}
    cluster.add()


def test_the_driver_is_killed_and_resumed(cluster):
    with running(cluster=cluster, held=NAMES[4:]) as process:
        eventually(lambda: process.poll() is not None or len(begun()) >= 7, "three cases run")
        process.kill()
        process.wait(PATIENCE)
    eventually(lambda: not any(map(alive, workers(Path("log")))), "nobody works on for a dead driver")
    before, done = len(begun()), set(results())
    assert done == set(NAMES[:4])
    status, out, err = ended(command(cluster=cluster))
    assert status == 0, err
    assert "12 of 12 cases complete (4 from an earlier run)" in out
    assert sorted(begun()[before:]) == NAMES[4:], "what was finished is not run again"


def test_a_case_that_kills_its_workers_and_one_that_hangs_are_reported(cluster):
    status, out, err = ended(
        command("--time-limit", "4", cluster=cluster, kill=["0002"], held=["0007"])
    )  # fmt: skip
    assert status == 1
    assert out.startswith("10 of 12 cases complete")
    failed = dict(
        line.removeprefix("failed: ").split(": ", 1) for line in err.splitlines() if line.startswith("failed")
    )
    assert failed["0002"].startswith("its worker died 3 times (")
    assert failed["0007"] == "ended after the time limit of 4 s"
    assert Counter(begun())["0002"] == 3
    assert Counter(begun())["0007"] == 1


def test_a_driver_elsewhere_joins_by_ray_client(cluster):
    status, out, err = ended(command(cluster=cluster, on=f"ray://{LOOPBACK}:{cluster.client_port}"))
    assert status == 0, err
    assert "12 of 12 cases complete" in out
    assert sorted(begun()) == NAMES


def test_a_cluster_that_is_not_there_is_one_line():
    status, _, err = ended(command(on=f"ray://{LOOPBACK}:1"))
    assert status == 2
    assert err.startswith(f"error: --on ray://{LOOPBACK}:1: no Ray cluster can be reached: ")
    assert len(err.splitlines()) == 1


@dataclass(frozen=True)
class Nothing:
    """A runner whose cases cost nothing: what is left is the cost of the campaign."""

    def warm(self, case: Case) -> None:
        pass

    def run(self, case: Case, folder: Path) -> dict[str, Any]:
        return {"status": "complete", "reason": "", "payload": "x" * PAYLOAD}


def resident() -> int:
    """Memory [bytes] of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_many_short_cases_cost_little(cluster, monkeypatch):
    """Overhead of a case, with its result file written, and the memory of the driver."""
    fake_rig.install()
    join(cluster, monkeypatch)
    values = [1.0 + k / MANY for k in range(MANY)]
    sweep = read_sweep({"scenario": "fake-rig", "parameters": {"frequency": values}})
    memory: dict[int, int] = {}
    first: list[float] = []

    def look(counts) -> None:
        if counts.done == 1:
            first.append(time.perf_counter())  # actors are there
        if counts.done in (MANY // 4, MANY):
            memory[counts.done] = resident()

    counts = run_sweep(sweep, Path("out"), Nothing(), on="ray", progress=look)
    overhead = (time.perf_counter() - first[0]) / MANY
    growth = memory[MANY] - memory[MANY // 4]
    print(f"\noverhead {1e3 * overhead:.2f} ms a case, driver grew by {growth / 2**20:.1f} MB")
    assert counts.done == MANY
    assert overhead < OVERHEAD
    assert growth < FLAT


def decided(found: dict[str, Any]) -> dict[str, Any]:
    """A result without what a clock measured."""
    metrics = {name: value for name, value in found["metrics"].items() if name not in TIMINGS}
    return {key: value for key, value in found.items() if key not in TIMINGS} | {"metrics": metrics}


def test_results_equal_those_of_the_local_runner_bit_for_bit(cluster, tmp_path, monkeypatch):
    definition = {
        "scenario": "plate-sinkage",
        "set": PLATE,
        "method": "monte-carlo",
        "samples": 4,
        "parameters": {"soil": ["clay", "dry-sand"], "plate.width": {"min": "8 cm", "max": "12 cm"}},
        "recordings": True,
    }
    local = grouser.sweep(definition, out=tmp_path / "local", workers=2)
    join(cluster, monkeypatch)
    far = grouser.sweep(definition, out=tmp_path / "far", on="ray")
    assert far.failed == local.failed == {}
    for name in ("0001", "0002", "0003", "0004"):
        one, two = (
            decided(json.loads((tmp_path / place / "cases" / f"{name}.json").read_text())) for place in ("local", "far")
        )
        assert one == two
        paths = (tmp_path / place / "recordings" / f"{name}.h5" for place in ("local", "far"))
        with grouser.Recording(next(paths)) as a, grouser.Recording(next(paths)) as b:
            assert (a["plate/force"] == b["plate/force"]).all()
            assert (a.time == b.time).all()


@dataclass(frozen=True)
class TheoryOfWheels(ScenarioRunner):
    """Rigid wheel integrals in place of runs of wheels: a campaign of hundreds of cases in seconds."""

    def warm(self, case: Case) -> None:
        pass

    def run(self, case: Case, folder: Path) -> dict[str, Any]:
        s: Any = case.settings
        found = rolling_wheel(s.soil.resolve(), radius=s.wheel.radius, width=s.wheel.width, load=s.load, slip=s.slip)
        values = (found.drawbar_pull, found.sinkage, found.torque, 0.0)
        names = ("drawbar_pull_N", "sinkage_m", "torque_Nm", "side_force_N")
        metrics = {name: {"value": float(value), "unit": "SI"} for name, value in zip(names, values, strict=True)}
        return {"status": "complete", "reason": "", "metrics": metrics}


def test_identification_on_a_cluster_is_the_local_one_bit_for_bit(cluster, tmp_path, monkeypatch):
    """Both designs of runs of a wheel, the second where the posterior of the first is, and the draws."""
    wheel = {"wheel": {"radius": 0.15, "width": 0.1}, "load": 150, "slip": [0.1, 0.3],
             "pull": {"unit": "N", "values": [25, 45], "scatter": "5 N"}}  # fmt: skip
    monkeypatch.setattr(identify, "ScenarioRunner", TheoryOfWheels)

    def identified(name: str, on: str) -> identify.Identification:
        data = {"wheels": {"one": wheel}}
        return identify.identify(
            data, out=tmp_path / name, constants=["friction_angle_deg"], runs=100, workers=1, on=on
        )

    local = identified("local", "local")
    join(cluster, monkeypatch)
    far = identified("far", "ray")
    assert len(list((far.folder / "wheel-runs").glob("*/cases/[0-9]*.json"))) == 100
    assert (far.folder / identify.DRAWS).read_bytes() == (local.folder / identify.DRAWS).read_bytes()
    assert far.posterior.estimate("friction_angle_deg") == local.posterior.estimate("friction_angle_deg")


def test_a_monte_carlo_over_soils_is_the_local_one_bit_for_bit(cluster, tmp_path, monkeypatch):
    soil = {"n": 1.0, "k_c": 1000, "k_phi": 1e6, "cohesion": 200, "friction_angle_deg": 30, "shear_modulus": 0.02,
            "uncertainty": {"constants": ["n"], "covariance": [[0.01]]}}  # fmt: skip
    Path("soil.yaml").write_text(json.dumps({"ours": soil}))
    asked = ["run", "plate-sinkage", "--set", "soil.file=soil.yaml", "--samples", "4"]
    asked += [word for name, value in PLATE.items() for word in ("--set", f"{name}={value}")]
    assert status([*asked, "--out", "local", "--workers", "1"]) == 0
    join(cluster, monkeypatch)
    assert status([*asked, "--out", "far", "--on", "ray"]) == 0
    for name in ("0001", "0002", "0003", "0004"):
        one, two = (decided(json.loads(Path(place, "cases", f"{name}.json").read_text())) for place in ("local", "far"))
        assert one == two
    assert "0005.json" not in {file.name for file in Path("far/cases").iterdir()}


def test_workers_of_a_cluster_take_cases_by_batch_and_the_one_to_blame_is_found(cluster, monkeypatch):
    """Three batches of four on three nodes; one of their cases kills its worker, another breaks its batch."""
    fake_rig.install()
    join(cluster, monkeypatch)
    runner = BatchRig(log=Path("log").resolve(), kill=("0003",), breaks=("0007",))
    counts = run_sweep(read_sweep(TWELVE), Path("out"), runner, on="ray")
    assert sorted(batches(runner.log)) == ["-".join(NAMES[k : k + 4]) for k in (0, 4, 8)]
    assert counts.done == 11
    assert list(counts.failed) == ["0003"]
    assert counts.failed["0003"].startswith("its worker died 3 times (")
    assert {name: begun().count(name) for name in NAMES[4:]} == dict.fromkeys(NAMES[4:], 1)


def listening(pids: list[int]) -> set[str]:
    """Addresses, as the kernel writes them, on which processes wait for connections from the network."""
    sockets = set()
    for pid in pids:
        try:
            links = [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()]
        except OSError:
            continue
        sockets |= {link[8:-1] for link in links if link.startswith("socket:[")}
    found = set()
    for table in ("tcp", "tcp6"):
        rows = [line.split() for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]]
        found |= {row[1].split(":")[0] for row in rows if row[3] == "0A" and row[9] in sockets}
    return found


def test_a_ray_started_here_hears_this_machine_only_and_ends_with_its_driver():
    with running("--workers", "2", held=NAMES) as process:
        eventually(lambda: process.poll() is not None or len(begun()) >= 2, "two cases run")
        assert process.poll() is None, ended(process)
        everyone = family(process.pid)
        heard = listening(everyone)
        assert len(everyone) > 4, "Ray's processes are among them"
        assert heard
        assert heard <= {"0100007F", "0000000000000000FFFF00000100007F"}, "127.0.0.1, in both notations"
        process.kill()
        process.wait(PATIENCE)
    eventually(lambda: not any(map(alive, everyone)), "nothing is left")
