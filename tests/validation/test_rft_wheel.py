"""A measured wheel under resistive force theory, whose one scale follows from density and friction of the soil."""

from pathlib import Path

import pytest

import grouser
from grouser.validation.cases import Entry, laws, settings
from grouser.validation.measured import read_wheels

pytestmark = pytest.mark.long
DING = Path(__file__).parents[2] / "benchmarks" / "wheels" / "ding2011.yaml"
AIM = 0.2  # of the measured value, as of all measured wheels
SLIP = 0.4
METRICS = {"pull": "drawbar_pull_N", "sinkage": "sinkage_m", "torque": "torque_Nm"}


def errors(out, *options) -> dict[str, float]:
    """Errors of the smooth wheel of Ding et al. 2011 at one slip, over the measured values."""
    wheel = next(one for name, one in read_wheels(DING).items() if name.endswith("smooth"))
    assert wheel.soil is not None
    (law,) = laws(["law=rft", *options], [])
    case = settings(Entry(wheel, wheel.soil, blind=True), SLIP, law)
    run = grouser.run("single-wheel", out=out, report=False, **case.model_dump(exclude_unset=True))
    measured = {name: points.values[points.slips.index(SLIP)] for name, points in wheel.points.items()}
    return {name: run.metrics[metric] / measured[name] - 1 for name, metric in METRICS.items()}


def test_a_smooth_wheel_at_slip_0_4_pulls_sinks_and_turns_as_measured(tmp_path):
    assert all(abs(error) < AIM for error in errors(tmp_path / "run").values())


def test_a_slippery_wheel_misses(tmp_path):
    assert errors(tmp_path / "run", "soil.wheel_friction=0.1")["pull"] < -2 * AIM
