"""What a command line leaves behind and the status it exits with: 0, 1, 2, 3, 130."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from grouser.cli import status
from grouser.recording import Recording
from grouser.scenarios import registry
from tests.commands import fake_rig
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "tests.commands.fake_rig"]


@pytest.fixture(autouse=True)
def rig(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "NAMES", registry.NAMES)  # put back afterwards
    fake_rig.install()


def run(out: Path, *more: str) -> int:
    return status(["run", "fake-rig", "--no-report", "--out", str(out), *more])


def summary(out: Path) -> dict:
    return json.loads((out / "summary.json").read_text())


def test_a_run_that_meets_its_expectations(tmp_path, capsys):
    out = tmp_path / "a" / "b"
    assert run(out) == 0
    assert sorted(path.name for path in out.iterdir()) == ["recording.h5", "summary.json"]
    text = capsys.readouterr().out
    assert "end_m" in text
    assert "pass" in text
    assert "note: the ball takes over from MuJoCo" in text
    told = summary(out)
    assert told["metrics"]["end_m"] == {
        "value": pytest.approx(1.0),
        "unit": "m",
        "expected": 1.0,
        "tolerance": {"abs": 1e-6},
        "source": "x = cos(w t)",
        "pass": True,
    }
    assert told["metrics"]["soil_k_c"]["pass"] is None
    assert told["metrics"]["real_time_factor"]["pass"] is None, "timings never decide"
    assert told["metrics"]["real_time_factor"]["value"] > 0
    assert (told["scenario"], told["steps"]) == ("fake-rig", 100)
    assert told["sim_s"] == pytest.approx(1.0)
    with Recording(out / "recording.h5") as recording:
        assert recording.status == "complete"
        assert len(recording) == 101
        assert recording.metrics["end_m"] == pytest.approx(1.0)
        assert recording.header["settings"] == told["settings"]


def test_a_missed_expectation_is_named(tmp_path, capsys):
    assert run(tmp_path / "out", "--set", "frequency=0.5") == 1
    assert capsys.readouterr().err == "missed: end_m\n"
    assert summary(tmp_path / "out")["metrics"]["end_m"]["pass"] is False


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "fake-rgi"], "error: scenario 'fake-rgi' is not known, did you mean 'fake-rig'?"),
        (["run", "fake-rig", "--set", "slip=3"], "error: --set slip=3: must be less than or equal to 1"),
        (["run", "fake-rig", "--set", "slip=much"], "error: --set slip=much: must be a number\n"),
        (
            ["run", "fake-rig", "--set", "event=refuse"],
            "error: fake-rig: event = 'refuse': the model cannot be built",
        ),
        (
            ["run", "fake-rig", "--rate", "0"],
            "error: rate = 0.0: allowed is a number of frames per second above 0",
        ),
        (
            ["run", "fake-rig", "--rate", "0.001"],
            "error: rate = 0.001: allowed are at least 1 frames a second in 1 s",
        ),
        (["run", "fake-rig", "--rate", "fast"], "error: Invalid value for '--rate'"),
        (["run", "no.yaml"], "error: no.yaml: not readable: No such file or directory"),
        (["run"], "error: NAME is missing: allowed are fake-rig"),
        (["run", "fake-rig", "--froce"], "error: No such option: --froce"),
        (["jump"], "error: No such command 'jump'"),
        (["report", "nowhere"], "error: nowhere: no recording found"),
        (["repair", "nowhere"], "error: nowhere: no recording found"),
        (["compare", "nowhere", "nowhere"], "error: nowhere: no such "),
        (["schema", "nothing"], "error: scenario 'nothing' is not known"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    assert status(arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith(said)
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_empty_needs_force(tmp_path, capsys):
    out = tmp_path / "out"
    (out / "figures").mkdir(parents=True)
    (out / "mine.txt").write_text("keep")
    (out / "figures" / "old.png").write_text("old")
    (out / "report.html").write_text("old")
    assert run(out) == 2
    assert capsys.readouterr().err == (
        f"error: --out {out}: not empty: allowed is a new or empty folder, or --force to replace it\n"
    )
    assert not (out / "recording.h5").exists()
    assert run(out, "--force") == 0
    assert (out / "mine.txt").read_text() == "keep"
    assert not (out / "figures" / "old.png").exists()
    assert not (out / "report.html").exists()
    assert run(out, "--force") == 0
    (tmp_path / "file").write_text("")
    assert run(tmp_path / "file") == 2


def test_without_out_the_folder_is_named_after_the_scenario(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert status(["run", "fake-rig", "--no-report"]) == 0
    assert status(["run", "fake-rig", "--no-report"]) == 0
    folders = sorted((tmp_path / "runs").iterdir())
    assert len(folders) == 2
    assert all(folder.name.startswith("fake-rig-") for folder in folders)


def test_a_stopped_run_keeps_its_data(tmp_path, capsys):
    out = tmp_path / "out"
    assert run(out, "--set", "event=stop") == 3
    reason = "run stopped at t = 0.5 s: spring, body 'ball': it flew away"
    assert reason in capsys.readouterr().err
    told = summary(out)
    assert told["metrics"]["end_m"]["value"] is None
    assert told["metrics"]["end_m"]["pass"] is False
    assert told["steps"] == 50
    with Recording(out / "recording.h5") as recording:
        assert (recording.status, recording.message, len(recording)) == ("stopped", reason, 51)


def test_ctrl_c_keeps_the_data(tmp_path):
    out = tmp_path / "out"
    arguments = ["run", "fake-rig", "--out", str(out), "--set", "event=sleep"]
    with subprocess.Popen(
        [*COMMAND, *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "half way\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "interrupted at t = 0.5 s" in err
    assert "Traceback" not in err
    assert summary(out)["metrics"]["end_m"]["value"] is None
    with Recording(out / "recording.h5") as recording:
        assert (recording.status, len(recording)) == ("interrupted", 51)


def test_a_killed_run_can_be_repaired(tmp_path, capsys):
    out = tmp_path / "out"
    arguments = ["run", "fake-rig", "--out", str(out), "--set", "event=sleep"]
    with subprocess.Popen([*COMMAND, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "half way\n"
        process.kill()
        process.wait(PATIENCE)
    assert status(["repair", str(out)]) == 0
    assert capsys.readouterr().out == f"{out / 'recording.h5'}: interrupted, 51 frames up to t = 0.5 s\n"


def test_a_bug_is_told_in_one_line(tmp_path, capsys):
    out = tmp_path / "out"
    assert run(out, "--set", "event=break") == 1
    assert capsys.readouterr().err == "error: ZeroDivisionError: a bug (grouser --debug shows where)\n"
    with Recording(out / "recording.h5") as recording:
        assert (recording.status, recording.message) == ("stopped", "ZeroDivisionError: a bug")
    with pytest.raises(ZeroDivisionError):
        status(["--debug", "run", "fake-rig", "--out", str(tmp_path / "again"), "--set", "event=break"])


def test_a_warning_of_a_library_is_one_line(monkeypatch, capsys):
    from grouser.commands import catalogue

    def noisy(*_):
        for _ in range(3):
            warnings.warn("an old\n  habit", DeprecationWarning, stacklevel=1)
            warnings.warn("overflow", RuntimeWarning, stacklevel=1)
        return 0

    monkeypatch.setattr(catalogue, "print_schema", noisy)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert status(["schema", "robot"]) == 0
    assert capsys.readouterr().err == "note: an old habit\nnote: overflow\n"


def test_a_figure_that_cannot_be_drawn_fails_but_costs_no_data(tmp_path, capsys):
    out = tmp_path / "out"
    assert status(["run", "fake-rig", "--out", str(out), "--set", "plotted=ball/y"]) == 1
    told = capsys.readouterr()
    assert told.err.startswith("error: report: figure 'x': ")
    assert "end_m" in told.out
    assert summary(out)["metrics"]["end_m"]["pass"] is True


def test_help_list_and_version(capsys):
    assert status([]) == 0
    assert "Usage: grouser [OPTIONS] COMMAND" in capsys.readouterr().out
    assert status(["--help"]) == 0
    capsys.readouterr()
    assert status(["list"]) == 0
    assert capsys.readouterr().out == "fake-rig  A mass on a spring. (no paper)\n"
    assert status(["schema", "fake-rig"]) == 0
    assert json.loads(capsys.readouterr().out)["properties"]["scenario"] == {"const": "fake-rig"}
    assert status(["--version"]) == 0


def test_progress_in_a_log_is_lines_not_a_bar(tmp_path):
    done = subprocess.run(
        [*COMMAND, "run", "fake-rig", "--no-report", "--out", str(tmp_path / "out")],
        cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stderr == ""
    assert "\x1b" not in done.stdout


def test_doctor_reports_and_never_fails(monkeypatch, capsys):
    monkeypatch.setattr("grouser.commands.doctor.GL_PACKAGES", {"nonsense": "libnonsense"})
    assert status(["doctor", "--warm"]) == 0
    out = capsys.readouterr().out
    assert "GL nonsense    does not work; on Debian: apt-get install libnonsense" in out
    assert "kernels        fake-rig: ready after" in out
    assert "kernels        fake-rig, scheme explicit: ready after" in out
    assert "scheme implicit" not in out
    assert "kernel cache" in out


def test_ctrl_c_is_told_wherever_it_comes(monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr("grouser.commands.catalogue.list_scenarios", interrupted)
    assert status(["list"]) == 130
    assert capsys.readouterr().err == "error: interrupted\n"


def test_bench_outside_a_checkout_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("grouser.__file__", str(tmp_path / "site-packages" / "grouser" / "__init__.py"))
    assert status(["bench"]) == 2
    assert capsys.readouterr().err.startswith("error: benchmarks: not installed with the package")
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "__init__.py").touch()
    (tmp_path / "benchmarks" / "run.py").write_text(
        "def main(names, check):\n    print(names)\n    return int(check)\n"
    )
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in [name for name in sys.modules if name.split(".")[0] == "benchmarks"]:
        monkeypatch.delitem(sys.modules, name)
    assert status(["bench", "soil-wheel"]) == 0
    assert status(["bench", "soil-wheel", "--check"]) == 1
    assert capsys.readouterr().out == "['soil-wheel']\n" * 2
    for name in [name for name in sys.modules if name.split(".")[0] == "benchmarks"]:
        monkeypatch.delitem(sys.modules, name)
