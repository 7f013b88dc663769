"""Every expectation can fail: a wrong machine misses it, and the right one in the same shortened run meets it."""

from __future__ import annotations

import dataclasses
import functools
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from grouser.commands.run import execute
from grouser.errors import RunStopped
from grouser.scenarios.registry import NAMES, scenario
from grouser.scenarios.settings import from_python
from tests.scenarios.wrong_machines import ELSEWHERE, VARIANTS, WRONG, Wrong

Expectations = dict[str, Any]  # expected value and tolerance by name of the metric


def expectations(name: str, settings: dict[str, Any]) -> Expectations:
    declared = scenario(name).metrics(from_python(name, settings).settings)
    told = {m["name"]: (m["expected"], m["tolerance"]) for m in declared}
    return {name: told[name] for name in told if told[name] != (None, None)}


def named(name: str, variant: dict[str, Any], rows: tuple[Wrong, ...] = WRONG) -> set[str]:
    """The expectations of a variant that the table breaks."""
    found = {metric for w in rows if w.scenario == name and w.variant == variant for metric in w.misses}
    return found | ELSEWHERE.get(", ".join([name, *map(str, variant.values())]), set())


@pytest.mark.parametrize("name", NAMES)
def test_every_expectation_has_a_machine_that_misses_it(name):
    usual = expectations(name, {})
    assert named(name, {}) == set(usual)
    for variant in VARIANTS.get(name, ()):
        own = {metric for metric, told in expectations(name, variant).items() if usual.get(metric) != told}
        assert named(name, variant) == own, variant


def test_an_expectation_without_a_row_is_noticed():
    left = tuple(w for w in WRONG if "force_error_rel" not in w.misses)
    assert named("plate-sinkage", {}, left) != set(expectations("plate-sinkage", {}))


@functools.cache
def _verdicts(name: str, settings: str, change: Any) -> dict[str, Any]:
    experiment = from_python(name, json.loads(settings))
    if change is not None:
        build = experiment.scenario.build
        wrong = dataclasses.replace(experiment.scenario, build=lambda s: change(build, s))
        experiment = dataclasses.replace(experiment, scenario=wrong)
    with tempfile.TemporaryDirectory() as folder:
        outcome = execute(experiment, out=Path(folder) / "run", report=False)
        if isinstance(outcome.stop, RunStopped):
            raise outcome.stop
        return outcome.summary["metrics"]


def verdicts(wrong: Wrong, right: bool) -> dict[str, tuple[Any, bool | None]]:
    """Value and verdict of each expectation that the wrong machine must miss. Each run is done once."""
    settings = wrong.shared if right else {**wrong.shared, **wrong.settings}
    metrics = _verdicts(wrong.scenario, json.dumps(settings, sort_keys=True), None if right else wrong.change)
    return {name: (metrics[name]["value"], metrics[name]["pass"]) for name in wrong.misses}


@pytest.mark.parametrize(
    "wrong", [pytest.param(w, marks=[getattr(pytest.mark, w.mark)] if w.mark else [], id=w.name) for w in WRONG]
)
def test_a_wrong_machine_misses_and_the_right_one_does_not(wrong):
    met, missed = verdicts(wrong, right=True), verdicts(wrong, right=False)
    assert {name: verdict for name, (_, verdict) in met.items()} == dict.fromkeys(wrong.misses, True), met
    assert {name: verdict for name, (_, verdict) in missed.items()} == dict.fromkeys(wrong.misses, False), missed
