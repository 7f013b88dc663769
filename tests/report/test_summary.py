"""Which values meet which expectations, and what summary.json says."""

import json
import math

import pytest

from grouser.errors import InputError
from grouser.recording import Recording
from grouser.report import judge, missed, summarise, write_summary
from grouser.report.wording import expectation_text, number, value_text
from tests.report.runs import METRICS, finished, start


@pytest.mark.parametrize(
    ("expected", "tolerance", "value", "passed"),
    [
        (100.0, {"rel": 0.02}, 101.9, True),
        (100.0, {"rel": 0.02}, 102.1, False),
        (-100.0, {"rel": 0.02}, -98.1, True),
        (-100.0, {"rel": 0.02}, 98.1, False),
        (0.0, {"abs": 0.5}, -0.5, True),
        (0.0, {"abs": 0.5}, 0.51, False),
        (None, {"min": 3}, 3, True),
        (None, {"min": 3}, 2.999, False),
        (None, {"max": 3}, 3.001, False),
        (None, {"min": 1, "max": 3}, 2, True),
        (None, {"min": 1, "max": 3}, 0, False),
        (None, {"min": 1, "max": 3}, 4, False),
        (10.0, {"rel": 0.5, "max": 11}, 12.0, False),
        (3, None, 3.0, True),
        (3, None, 3.0001, False),
        (True, None, True, True),
        (True, None, False, False),
        (True, None, 1, False),
        (1, None, True, False),
        ("docked", None, "docked", True),
        ("docked", None, "adrift", False),
        ("3", None, 3, False),
        (3, {"abs": 1}, "3", False),
        ([1.0, 2.0], {"abs": 0.1}, [1.05, 1.95], True),
        ([1.0, 2.0], {"abs": 0.1}, [1.05, 2.2], False),
        ([1.0, 2.0], {"abs": 0.1}, [1.0], False),
        (["a", "b"], None, ["a", "b"], True),
        (["a", "b"], None, ["b", "a"], False),
        (None, {"max": 1}, [0.5, 1.5], False),
        (1.0, {"rel": 0.1}, math.nan, False),
        (None, None, math.nan, False),
        (None, None, math.inf, False),
        ([1.0, 2.0], {"abs": 5}, [1.0, math.nan], False),
        (1.0, {"rel": 0.1}, None, False),
        (None, None, None, None),
        (None, None, 5.0, None),
    ],
)
def test_judgement(expected, tolerance, value, passed):
    assert judge({"name": "m", "expected": expected, "tolerance": tolerance}, value) is passed


@pytest.mark.parametrize("value", [0.01, math.nan, None])
def test_a_real_time_factor_never_decides(value):
    for name in ("real_time_factor", "soil_real_time_factor"):
        assert judge({"name": name, "expected": 1.0, "tolerance": {"rel": 0.1}}, value) is None


@pytest.mark.parametrize(
    ("tolerance", "words"),
    [
        ({"percent": 2}, "'percent'; allowed: rel, abs, min, max"),
        ({"rel": -0.1}, "rel: -0.1; allowed: a number, 0 or more"),
        ({"max": "3"}, "max: '3'; allowed: a number"),
        ({"abs": 0.1}, "needs an expected value"),
    ],
)
def test_wrong_tolerances_are_refused(tolerance, words):
    with pytest.raises(InputError, match=f"metric 'm', tolerance .*{words}"):
        judge({"name": "m", "expected": None if "abs" in tolerance else 1.0, "tolerance": tolerance}, 1.0)


def test_summary_file(tmp_path):
    with finished(tmp_path / "recording.h5", duration=1.0) as recording:
        said = summarise(recording)
        write_summary(said, tmp_path / "out")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary == said
    assert list(summary) == [
        "scenario",
        "version",
        "settings",
        "metrics",
        "wall_s",
        "sim_s",
        "steps",
        "validity",
        "notes",
    ]
    assert (summary["scenario"], summary["wall_s"], summary["steps"]) == ("rover-drive", 5.0, 10_000)
    assert summary["settings"]["wheel"]["radius"] == 0.15
    assert summary["metrics"]["sinkage_m"] == {
        "value": 0.0212,
        "unit": "m",
        "expected": 0.02,
        "tolerance": {"rel": 0.1},
        "source": "Ding 2011, table 4",
        "pass": True,
    }
    assert summary["metrics"]["real_time_factor"]["pass"] is None
    assert summary["notes"] == [*recording.header.get("notes", []), *recording.notes]
    assert summary["notes"]
    assert missed(summary) == ["drawbar_pull_N"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["summary.json"]


def test_nan_is_null_and_fails_with_or_without_expectation(tmp_path):
    values = {"sinkage_m": math.nan, "slip": math.inf, "extra": math.nan, "kept": 2.0, "drawbar_pull_N": 40}
    with finished(tmp_path / "recording.h5", metrics=values, duration=1.0) as recording:
        summary = summarise(recording)
        write_summary(summary, tmp_path)
    assert "NaN" not in (tmp_path / "summary.json").read_text()
    assert [summary["metrics"][name]["value"] for name in ("sinkage_m", "slip", "extra")] == [None] * 3
    assert missed(summary) == ["sinkage_m", "slip", "extra"]
    assert summary["metrics"]["kept"]["pass"] is None


def test_a_run_without_metrics_meets_nothing(tmp_path):
    writer = start(tmp_path / "recording.h5", duration=1.0)
    writer.close("interrupted")
    with Recording(tmp_path / "recording.h5") as recording:
        summary = summarise(recording)
    assert list(summary["metrics"]) == [metric["name"] for metric in METRICS]
    assert missed(summary) == ["sinkage_m", "drawbar_pull_N", "slip"]
    assert summary["wall_s"] is None


def test_wording():
    assert number(0.000012345) == "1.234e−5"
    assert number(-1234.5678) == "−1235"
    assert number(12345) == "12\N{NARROW NO-BREAK SPACE}345"
    assert value_text([True, None, "x", 1.5]) == "[yes, –, x, 1.5]"
    metric = {"expected": 40.0, "tolerance": {"abs": 2.0}, "unit": "N"}
    assert expectation_text(metric) == "40 ± 2 N"
    assert expectation_text({**metric, "tolerance": {"rel": 0.1}}) == "40 N ± 10 %"
    assert expectation_text({**metric, "expected": None, "tolerance": {"min": 3, "max": 4}}) == "≥ 3 N ≤ 4 N"
    assert expectation_text({**metric, "expected": 3, "tolerance": {"min": 3}}) == "≥ 3 N"
    assert expectation_text({**metric, "expected": None, "tolerance": None}) == ""
