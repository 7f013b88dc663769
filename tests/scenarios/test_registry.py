"""Every scenario keeps the contract that commands, reports and recordings rely on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grouser.errors import InputError
from grouser.scenarios import registry
from grouser.scenarios.scenario import Settings
from grouser.scenarios.settings import file_schema, from_python

METRIC = {"name", "unit", "definition", "expected", "tolerance", "source"}
TOLERANCES = {"rel", "abs", "min", "max"}
FIGURE_KINDS = {"lines", "xy", "map", "route", "bars", "panels", "points", "scene", "snapshots", "profiles", "chain"}
FIGURE_KINDS |= {"loop"}


@pytest.mark.parametrize("name", registry.NAMES)
def test_scenario_declares_itself(name):
    scenario = registry.scenario(name)
    settings = scenario.settings()
    assert scenario.name == name
    assert scenario.summary
    assert scenario.source
    assert issubclass(scenario.settings, Settings)
    assert scenario.duration(settings) > 0
    metrics, figures = scenario.metrics(settings), scenario.figures(settings)
    json.dumps([metrics, figures, file_schema(scenario)])
    assert len({metric["name"] for metric in metrics}) == len(metrics) > 0
    for metric in metrics:
        assert metric.keys() == METRIC
        assert set(metric["tolerance"] or {}) <= TOLERANCES
        assert metric["definition"]
        assert metric["expected"] is None or metric["source"], "an expectation says where it is from"
    assert {figure["kind"] for figure in figures} <= FIGURE_KINDS
    assert len({figure["name"] for figure in figures}) == len(figures)


@pytest.mark.parametrize("name", registry.NAMES)
def test_settings_survive_the_header_of_a_recording(name):
    settings = registry.scenario(name).settings()
    stored = json.loads(json.dumps(settings.model_dump(mode="json")))
    assert from_python(name, stored).settings == settings


def test_every_scenario_file_is_in_the_registry():
    folder = Path(registry.__file__).parent
    defining = {file.stem for file in folder.glob("*.py") if "\nSCENARIO = " in file.read_text(encoding="utf-8")}
    assert defining == {name.replace("-", "_") for name in registry.NAMES}


def test_an_unknown_scenario_is_refused():
    with pytest.raises(InputError, match="scenario 'single-whel' is not known, did you mean 'single-wheel'"):
        registry.scenario("single-whel")
