"""The arithmetic of benchmark bars and of times by stage, with made-up timings."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks import kilometre, rover, run, soil_wheel, twelve_runs, wheel_series
from benchmarks.run import REFERENCE, Row, status
from benchmarks.soil_stages import STAGES, WHEELS, stage_table, stage_times, timed_block
from grouser.identification.data import read_measurements
from grouser.scenarios.single_wheel import RUN_UP, STEADY, SingleWheel, build

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


def test_bars_of_an_identification(monkeypatch):
    """A wheel over 1.5 m in a series: 0.5 s on one core; a soil from twelve of them: ten minutes on two."""
    monkeypatch.setattr(wheel_series, "timed", lambda name, wheel: [0.1, 0.4, 2.0])
    medians = [row for row in wheel_series.measure() if row.what.endswith("median")]
    assert [(row.value, row.bar) for row in medians] == [(0.4, 0.5)] * 3
    monkeypatch.setattr(twelve_runs, "timed", lambda: 300.0)
    assert [(row.value, row.bar) for row in twelve_runs.measure()] == [(300.0, 600.0)]
    assert twelve_runs.COMMAND[-2:] == ["--workers", "2"]
    measured = read_measurements(twelve_runs.DATA)
    assert sum(len(test.slip) for test in measured.wheels.values()) == 12
    assert RUN_UP + STEADY == 1.5, "metres of travel"


def test_bars_of_the_soil():
    """The numbers that a wheel and a rover may cost on the reference machine [us]."""
    assert soil_wheel.BARS == {0.01: 40.0, 0.005: 115.0}


def test_bar_of_a_kilometre(monkeypatch):
    """Ten times real time: a run at nine times misses it, whatever the other run of the case was disturbed by."""
    for factors, met in (((11.0, 2.0), True), ((9.0, 9.0), False)):
        left = list(factors)
        monkeypatch.setattr(kilometre, "factor", lambda folder, left=left: left.pop())
        (row,) = kilometre.measure()
        assert row.met(REFERENCE) is met
    assert rover.BAR == 330.0


def test_the_time_of_a_stage_is_the_median_over_the_blocks():
    """Stages take 1, 2, 3, ... us in the quick block and three times that in the slow one; others are disturbed."""
    quick = np.arange(1.0, len(STAGES) + 2)
    blocks = [9 * quick, quick, 3 * quick, quick, 100 * quick]
    times = stage_times(blocks)
    assert list(times) == list(STAGES)
    assert list(times.values()) == list(3 * quick[:-1])


def test_stages_are_timed_while_a_wheel_rolls():
    """The stages of soil take most of a step, and none is left out."""
    sim = build(SingleWheel(speed=0.1))
    sim.step(100)
    *stages, whole = min((timed_block(sim) for _ in range(5)), key=lambda block: block[-1])
    assert 0.5 * whole < sum(stages) < whole
    named = dict(zip(STAGES, stages, strict=True))
    assert min(named[name] for name in ("place", "raster", "displace", "shear", "predict", "force")) > 0


def test_the_table_of_stages_is_scaled_and_has_the_sum():
    times = dict.fromkeys(STAGES, 1.0)
    lines = stage_table({"wheel": times}, FAST_MACHINE).splitlines()
    assert [line.split("|")[2].strip() for line in lines[2:]] == [*["2.0"] * len(STAGES), f"{2 * len(STAGES)}.0"]


def test_settings_of_the_wheels_to_time_are_accepted():
    names = [wheel.name for wheel in WHEELS]
    assert len(set(names)) == len(names)
    for wheel in WHEELS:
        wheel.checked()
