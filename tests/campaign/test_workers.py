"""Cases on worker processes: none lost, none run twice without need, whoever is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from grouser.campaign import SweepCounts, SweepStopped, read_sweep, run_sweep, worker, worker_pool
from grouser.campaign.results import LOCK, read_json, write_json
from grouser.campaign.worker_pool import RETRIES
from grouser.cli import status
from grouser.errors import InputError
from grouser.recording import Recording
from grouser.recording.folder_lock import FolderLock
from grouser.scenarios import registry
from tests.campaign.rig import RigRunner, started, workers
from tests.commands import fake_rig
from tests.waiting import PATIENCE, eventually

ROOT = Path(__file__).parents[2]
SIX = {"scenario": "fake-rig", "parameters": {"frequency": [1.0, 1.5, 2.0], "wheel.radius": [0.1, 0.2]}}
NAMES = [f"{k:04}" for k in range(1, 7)]


@pytest.fixture(autouse=True)
def rig(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(registry, "NAMES", registry.NAMES)  # put back afterwards
    fake_rig.install()
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def runner(tmp_path: Path) -> RigRunner:
    return RigRunner(log=tmp_path / "log")


def swept(runner: RigRunner, definition=SIX, **options) -> SweepCounts:
    return run_sweep(read_sweep(definition), Path("out"), runner, **{"workers": 2} | options)


def result(name: str) -> dict:
    return json.loads(Path(f"out/cases/{name}.json").read_text())


def alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


# ---- all goes well -----------------------------------------------------------------------------------


def test_every_case_runs_once_and_leaves_one_file(runner, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    seen: list[tuple[int, int, int]] = []
    counts = swept(runner, progress=lambda now: seen.append((now.done, len(now.failed), now.remaining)))
    assert (counts.done, counts.failed, counts.before) == (6, {}, 0)
    assert seen == [(k, 0, 6 - k) for k in range(7)]
    assert sorted(started(runner.log)) == NAMES
    assert len(workers(runner.log)) == 2, "each worker warms up once"
    assert sorted(file.name for file in Path("out/cases").iterdir()) == [f"{name}.json" for name in NAMES]
    assert sorted(file.name for file in Path("out").iterdir()) == ["cases", "sweep.json"]
    third = result("0003")
    assert third["parameters"] == {"frequency": 1.5, "wheel.radius": 0.1}
    assert (third["status"], third["reason"], third["scenario"]) == ("complete", "", "fake-rig")
    assert (third["settings"]["frequency"], third["settings"]["wheel"]["radius"]) == (1.5, 0.1)
    assert third["metrics"]["end_m"]["value"] == pytest.approx(-1.0), "x = cos(2 pi f t) at 1 s"
    assert third["threads"] == "1"
    assert third["of_bodies"] == 1, "nor do bodies of a world share threads"
    assert os.environ["OMP_NUM_THREADS"] == "7", "only the workers are kept to one thread"
    assert len({result(name)["seed"] for name in NAMES}) == 6


def test_recordings_are_kept_where_they_are_wanted(runner):
    definition = SIX | {"recordings": True, "rate": 50, "parameters": {"frequency": [1.0, 2.0]}}
    swept(replace(runner, recordings=True), definition)
    assert sorted(file.name for file in Path("out/recordings").iterdir()) == ["0001.h5", "0002.h5"]
    with Recording("out/recordings/0002.h5") as recording:
        assert recording.status == "complete"
        assert recording.header["settings"]["frequency"] == 2.0


def test_finished_cases_are_skipped(runner):
    swept(runner)
    before = Path("out/cases/0002.json").stat().st_mtime_ns
    Path("out/cases/0005.json").unlink()
    counts = swept(runner)
    assert (counts.before, counts.done) == (5, 6)
    assert sorted(started(runner.log)) == sorted([*NAMES, "0005"])
    assert Path("out/cases/0002.json").stat().st_mtime_ns == before
    swept(runner, force=True)
    assert len(started(runner.log)) == 13, "--force begins anew"


# ---- cases that fail ---------------------------------------------------------------------------------


def test_failed_cases_are_named_and_tried_again(runner):
    events = ["none", "stop", "break", "refuse"]
    definition = {"scenario": "fake-rig", "parameters": {"event": events}}
    counts = swept(runner, definition)
    assert counts.done == 1
    assert counts.failed == {
        "0002": "run stopped at t = 0.5 s: spring, body 'ball': it flew away",
        "0003": "ZeroDivisionError: a bug",
        "0004": "fake-rig: event = 'refuse': the model cannot be built",
    }
    for name, reason in counts.failed.items():
        assert (result(name)["status"], result(name)["reason"]) == ("failed", reason)
    assert "happen" in result("0003")["traceback"], "a bug says where"
    assert "traceback" not in result("0002")
    again = swept(runner, definition)
    assert (again.before, again.failed) == (1, counts.failed)
    again = sorted(["0001", *["0002", "0003", "0004"] * 2])
    assert sorted(started(runner.log)) == again, "a failure is not retried by itself"


# ---- workers that are killed -------------------------------------------------------------------------


def test_the_case_of_a_killed_worker_is_run_again_and_no_other(runner):
    counts = swept(replace(runner, kill=("0003",), times=1))
    assert (counts.done, counts.failed) == (6, {})
    assert sorted(started(runner.log)) == sorted([*NAMES, "0003"])
    assert len(workers(runner.log)) == 3, "a new worker in place of the dead one"


def test_a_case_that_kills_every_worker_fails_and_the_others_do_not(runner):
    counts = swept(replace(runner, kill=("0002", "0006")))
    reason = f"its worker died {RETRIES + 1} times (killed by SIGKILL)"
    assert counts.failed == {"0002": reason, "0006": reason}
    assert counts.done == 4
    assert result("0002")["status"] == "failed"
    assert started(runner.log).count("0002") == RETRIES + 1
    assert all(started(runner.log).count(name) == 1 for name in ("0001", "0003", "0004", "0005"))
    healthy = swept(runner)
    assert (healthy.before, healthy.done, healthy.failed) == (4, 6, {})


def test_a_single_worker_is_replaced_too(runner):
    counts = swept(replace(runner, kill=("0006",), times=2), workers=1)
    assert (counts.done, counts.failed) == (6, {})


def test_a_worker_killed_while_it_waits_is_replaced(runner, monkeypatch):
    submit, killed = worker_pool._Worker.submit, []

    def deadly(process, task, bundle):
        if task is worker.work and not killed:
            killed.append(bundle[0].case.name)
            process.kill()
            process.process.join()
            eventually(lambda: process.pool._broken, "it is noticed")  # as the pool notices it in a thread of its own
        return submit(process, task, bundle)

    monkeypatch.setattr(worker_pool._Worker, "submit", deadly)
    counts = swept(runner)
    assert killed == ["0001"]
    assert (counts.done, counts.failed) == (6, {})
    assert sorted(started(runner.log)) == NAMES


def test_a_case_that_hangs_is_ended_by_the_time_limit(runner):
    counts = swept(replace(runner, held=("0002",)), time_limit=2.0)
    assert counts.failed == {"0002": "ended after the time limit of 2 s"}
    assert counts.done == 5
    assert result("0002")["status"] == "failed"
    assert sorted(started(runner.log)) == NAMES, "it is not tried again"
    assert not any(map(alive, workers(runner.log)))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"on": "slurm"}, "--on slurm: allowed are local, ray and ray://HOST:PORT"),
        ({"time_limit": 0.0}, "--time-limit 0: allowed is a number of seconds above 0"),
    ],
)
def test_what_cannot_run_is_refused_before_anything_is_written(runner, options, said):
    with pytest.raises(InputError) as refusal:
        swept(runner, **options)
    assert str(refusal.value) == said
    assert not Path("out").exists()


def test_a_sweep_does_not_know_its_executor(runner, monkeypatch):
    """One of twelve lines does: cases in this process, one of them lost twice on the way."""

    class Here:
        def execute(self, job):
            bundles = list(job.bundles)
            lost = ["0004", "0004"]
            while bundles:
                bundle = bundles.pop()
                if bundle[0].case.name in lost:
                    lost.remove(bundle[0].case.name)
                    again = job.died(bundle, "lost")
                    assert again == [bundle]
                    bundles += again
                else:
                    job.ended(bundle, worker.work(job.runner, bundle))

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr("grouser.campaign.run.executor_named", lambda on, workers: Here())
    counts = swept(runner)
    assert (counts.done, counts.failed) == (6, {})
    assert sorted(started(runner.log)) == NAMES


# ---- the main process is killed or interrupted -------------------------------------------------------


def heed_ctrl_c() -> None:
    """In the child: a shell's background jobs ignore Ctrl-C, and so would what they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def command(log: Path, *arguments: str, held: Sequence[str] = (), **more) -> subprocess.Popen[str]:
    """The command line with the rig's runner, in a session of its own; `held` cases never end."""
    setup = json.dumps({"log": str(log), "held": list(held)})
    here = Path.cwd()
    call = [
        sys.executable,
        "-m",
        "tests.campaign.rig",
        setup,
        "sweep",
        str(here / "six.yaml"),
        "--out",
        str(here / "out"),
    ]
    return subprocess.Popen(
        [*call, "--workers", "2", *arguments], cwd=ROOT, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=heed_ctrl_c, **more,
    )  # fmt: skip


def six_yaml() -> None:
    Path("six.yaml").write_text(json.dumps(SIX))


def some_are_done() -> bool:
    return len(list(Path("out/cases").glob("*.json"))) >= 2


def test_a_sweep_goes_on_after_a_kill_of_the_main_process(tmp_path):
    six_yaml()
    log = tmp_path / "log"
    with command(log, held=NAMES[2:]) as process:
        eventually(some_are_done, "two cases are done")
        process.kill()
        process.wait(PATIENCE)
    eventually(lambda: not any(map(alive, workers(log))), "workers end")  # nobody works on for a dead process
    done = {file.stem for file in Path("out/cases").glob("[0-9]*.json")}
    assert done == set(NAMES[:2])
    assert all(result(name)["status"] == "complete" for name in done), "every file is whole"
    first = started(log)
    with command(log) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert f"6 of 6 cases complete ({len(done)} from an earlier run)" in out
    assert set(started(log)[len(first) :]) == set(NAMES) - done, "what was finished is not run again"
    left = sorted(file.name for file in Path("out").iterdir())
    assert left == ["cases", "figures", "sweep.html", "sweep.json", "table.csv", "table.md", "table.parquet"]
    assert not list(Path("out/cases").glob("*.part"))


@pytest.mark.parametrize("whom", ["terminal", "main"])
def test_ctrl_c_keeps_what_is_done(tmp_path, whom):
    """From a terminal all processes hear it, from `kill -INT` only the main one."""
    six_yaml()
    log = tmp_path / "log"
    with command(log, held=NAMES[2:]) as process:
        eventually(some_are_done, "two cases are done")
        (os.killpg if whom == "terminal" else os.kill)(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in err
    done = [file.stem for file in Path("out/cases").glob("[0-9]*.json")]
    assert err.splitlines() == [f"error: interrupted: {len(done)} of 6 cases are kept, the same command continues"]
    assert not any(map(alive, workers(log)))
    assert all(result(name)["status"] == "complete" for name in done)


def test_ctrl_c_while_workers_start(tmp_path):
    six_yaml()
    log = tmp_path / "log"
    with command(log, held=NAMES) as process:
        eventually(lambda: Path("out/sweep.json").exists(), "it begins")
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in err


@pytest.mark.long
def test_a_script_without_a_guard_is_told_so(tmp_path):
    definition = {"scenario": "single-wheel", "parameters": {"slip": [0.1]}}
    Path("script.py").write_text(f"import grouser\ngrouser.sweep({definition!r}, out='out')\n")
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "script.py"], capture_output=True, text=True, env=environment, timeout=PATIENCE
    )
    assert done.returncode == 1
    assert "SweepStopped: the worker processes ended before their first case" in done.stderr
    assert "below `if __name__ == '__main__':`" in done.stderr
    assert not list(Path("out/cases").glob("*"))


# ---- the folder --------------------------------------------------------------------------------------


def test_another_sweep_in_the_same_folder_is_refused(runner):
    swept(runner)
    for change, said in [
        ({"seed": 1}, "6 of 6 cases differ"),
        ({"set": {"slip": 0.3}}, "settings under 'set' differ"),
        ({"parameters": {"frequency": [1.0]}}, "parameters frequency, wheel.radius, not frequency"),
        ({"parameters": SIX["parameters"] | {"frequency": [1.0]}}, "6 cases, not 2"),
        ({"recordings": True}, "recordings False, not True"),
    ]:
        with pytest.raises(InputError) as refusal:
            swept(runner, SIX | change)
        assert str(refusal.value) == (
            f"--out out: holds another sweep ({said}): "
            "allowed is the same sweep, another folder, or --force to replace it"
        )
    assert len(started(runner.log)) == 6
    (Path("out") / "mine.txt").write_text("keep")
    counts = swept(runner, SIX | {"parameters": {"frequency": [3.0, 4.0]}}, force=True)
    assert counts.done == 2
    assert sorted(file.name for file in Path("out/cases").iterdir()) == ["0001.json", "0002.json"]
    assert Path("out/mine.txt").exists()


def test_a_folder_of_something_else_is_refused_and_never_emptied(runner):
    Path("out/cases").mkdir(parents=True)
    Path("out/cases/0009.json").write_text("{}")
    with pytest.raises(
        InputError, match="--out out: not empty: allowed is a new or empty folder, one of the same sweep"
    ):
        swept(runner)
    swept(runner, SIX | {"parameters": {"frequency": [1.0]}}, force=True)
    assert Path("out/cases/0009.json").read_text() == "{}"
    Path("file").write_text("")
    with pytest.raises(InputError, match="--out file: is a file"):
        run_sweep(read_sweep(SIX), Path("file"), runner)
    with pytest.raises(InputError, match="--workers 0: allowed is an integer of at least 1"):
        swept(runner, workers=0)


def test_two_sweeps_do_not_share_a_folder(runner):
    Path("out").mkdir()
    with FolderLock(Path("out")):
        with pytest.raises(InputError, match=f"out is in use by process {os.getpid()}"):
            swept(runner, force=True)
        assert [file.name for file in Path("out").iterdir()] == [LOCK]
    assert swept(runner).done == 6


def test_a_result_that_is_cut_short_counts_as_none(runner):
    swept(runner)
    for name, text in (("0001", '{"status": "comp'), ("0002", ""), ("0003", "[]")):
        Path(f"out/cases/{name}.json").write_text(text)
    old = result("0004") | {"digest": "of another sweep"}
    write_json(Path("out/cases/0004.json"), old)
    counts = swept(runner)
    assert (counts.before, counts.done) == (2, 6)
    assert all(result(name)["status"] == "complete" for name in NAMES)


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a" / "b.json"
    write_json(path, {"x": 1})
    with pytest.raises(ValueError):
        write_json(path, {"x": float("nan")})
    assert read_json(path) == {"x": 1}
    assert [file.name for file in path.parent.iterdir()] == ["b.json"]


def test_a_folder_that_cannot_be_written_stops_the_sweep(runner, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("grouser.campaign.worker.write_result", full)
    with pytest.raises(SweepStopped, match="sweep stopped: out: No space left on device"):
        swept(replace(runner, kill=("0001",)), workers=1)


# ---- the command -------------------------------------------------------------------------------------


def test_the_command_says_what_happened(runner, monkeypatch, capsys):
    monkeypatch.setattr("grouser.commands.sweep.ScenarioRunner", lambda rate, recordings: runner)
    Path("mine.yaml").write_text("scenario: fake-rig\nparameters:\n  event: [none, stop]\n  slip: [0.1, 0.2]\n")
    assert status(["sweep", "mine.yaml"]) == 1
    told = capsys.readouterr()
    assert told.out == "2 of 4 cases complete: runs/mine/sweep.html\n"
    assert told.err.splitlines() == [
        f"failed: {name}: run stopped at t = 0.5 s: spring, body 'ball': it flew away" for name in ("0003", "0004")
    ]
    Path("mine.yaml").write_text("scenario: fake-rig\nparameters:\n  slip: [0.1, 0.2]\n")
    assert status(["sweep", "mine.yaml", "--out", "fine"]) == 0
    assert status(["sweep", "mine.yaml", "--out", "fine"]) == 0
    assert capsys.readouterr().out.endswith("2 of 2 cases complete (2 from an earlier run): fine/sweep.html\n")
