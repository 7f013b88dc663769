"""The arithmetic of benchmark bars and of times by stage, with made-up timings."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks import rover, run, soil_wheel
from benchmarks.run import REFERENCE, Row, status
from benchmarks.soil_stages import STAGES, WHEELS, stage_table, stage_times
from grouser.contact.soil.stages import COMMIT

FAST_MACHINE = REFERENCE / 2  # [us] a step of the bare rover: half the time of the machine of the bars


def test_a_time_is_scaled_by_the_reference_and_a_ratio_is_not():
    assert Row("case", "time", 40.0, "us").scaled(FAST_MACHINE) == 80.0
    assert Row("case", "ratio", 0.03, "1", scales=False).scaled(FAST_MACHINE) == 0.03


@pytest.mark.parametrize(
    ("value", "reference", "met"),
    [(60.0, REFERENCE, True), (60.1, REFERENCE, False), (30.0, FAST_MACHINE, True), (30.1, FAST_MACHINE, False),
     (math.nan, REFERENCE, False)],
)  # fmt: skip
def test_a_bar_is_met_by_the_scaled_time(value, reference, met):
    row = Row("case", "time", value, "us", bar=60.0)
    assert row.met(reference) is met
    assert status([Row("case", "no bar", 1e9, "us"), row], reference) == int(not met)


def test_the_report_says_of_each_bar_whether_it_is_met(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(run, "HISTORY", tmp_path / "history.jsonl")
    rows = [
        Row("case", "quick", 20.0, "us", 60.0),
        Row("case", "slow", 50.0, "us", 60.0),
        Row("case", "part", 1.0, "us"),
    ]
    run.report(rows, FAST_MACHINE)
    quick, slow, part, bars = capsys.readouterr().out.splitlines()[2:]
    assert quick.split()[2:] == ["20", "us", "40", "60", "4.44", "met"]
    assert slow.split()[2:] == ["50", "us", "100", "60", "11.11", "missed"]
    assert part.split()[2:] == ["1", "us", "2", "0.22"]
    assert bars == "bars: 1 of 2 met"


@pytest.mark.parametrize(("value", "ended"), [(10.0, 0), (1e9, 1)])
def test_a_check_fails_if_a_bar_is_missed(monkeypatch, tmp_path, value, ended):
    monkeypatch.setattr(run, "HISTORY", tmp_path / "history.jsonl")
    monkeypatch.setattr(run, "bare_rover", lambda: REFERENCE)
    monkeypatch.setattr(soil_wheel, "measure", lambda: [Row("soil-wheel", "soil", value, "us", 60.0)])
    assert run.main(["soil-wheel"], check=True) == ended
    assert run.main(["soil-wheel"]) == 0


def test_bars_of_the_soil():
    """The numbers that a wheel and a rover may cost on the reference machine [us]."""
    assert soil_wheel.BARS == {0.01: 60.0, 0.005: 200.0}
    assert rover.BAR == 533.0


def test_the_time_of_a_stage_is_what_it_adds():
    """Commits take 1, 2, 3, ... us up to each stage, evaluations 10, 20, 30 us; in a second state three times that."""
    row = np.array([1e-6 * (k + 1) for k in range(len(COMMIT))] + [1e-5, 2e-5, 3e-5])
    disturbed = np.ones(len(row))
    times = stage_times([[row, row, disturbed, row], [3 * row, disturbed, 3 * row]])
    assert list(times) == list(STAGES)
    assert list(times.values()) == pytest.approx([2.0] * len(COMMIT) + [20.0] * 3)


def test_the_table_of_stages_is_scaled_and_has_the_sum():
    times = dict.fromkeys(STAGES, 1.0)
    lines = stage_table({"wheel": times}, FAST_MACHINE).splitlines()
    assert [line.split("|")[2].strip() for line in lines[2:]] == [*["2.0"] * len(STAGES), f"{2 * len(STAGES)}.0"]


def test_settings_of_the_wheels_to_time_are_accepted():
    names = [wheel.name for wheel in WHEELS]
    assert len(set(names)) == len(names)
    for wheel in WHEELS:
        wheel.checked()
