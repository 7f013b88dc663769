"""From a sweep file to checked cases, and what is said of one that is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grouser.campaign import read_sweep
from grouser.cli import status
from grouser.errors import InputError
from grouser.scenarios import registry
from grouser.scenarios.scenario import Scenario
from tests.commands import fake_rig

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def rig(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(registry, "NAMES", registry.NAMES)  # put back afterwards
    fake_rig.install()
    monkeypatch.chdir(tmp_path)


def read(text: str):
    Path("my.yaml").write_text(text, encoding="utf-8")
    return read_sweep("my.yaml")


GRID = """
scenario: fake-rig
set:
  soil: clay
  wheel: {width: 20 cm}
  soil.k_c: 7
parameters:
  wheel.radius: [10 cm, 0.2, 300 mm]   # texts with units and plain numbers
  slip: {min: 0, max: 0.5, count: 2}
"""


def test_a_grid_over_any_settings():
    sweep = read(GRID)
    assert [case.name for case in sweep.cases] == ["0001", "0002", "0003", "0004", "0005", "0006"]
    assert [tuple(case.parameters.values()) for case in sweep.cases] == [
        (0.1, 0.0), (0.1, 0.5), (0.2, 0.0), (0.2, 0.5), (0.3, 0.0), (0.3, 0.5),
    ]  # fmt: skip
    for case in sweep.cases:
        assert case.settings.wheel.radius == case.parameters["wheel.radius"]
        assert case.settings.slip == case.parameters["slip"]
        assert (case.settings.wheel.width, case.settings.soil.name, case.settings.soil.k_c) == (0.2, "clay", 7)
    assert [(parameter.path, parameter.unit) for parameter in sweep.parameters] == [
        ("wheel.radius", "m"),
        ("slip", "1"),
    ]
    assert (sweep.title, sweep.method, sweep.rate, sweep.recordings) == ("my", "grid", 100, False)


def test_a_parameter_goes_before_what_is_set():
    sweep = read("scenario: fake-rig\nset: {slip: 0.3, soil: clay}\nparameters: {slip: [0.1], soil.k_c: [1, 2]}\n")
    assert [(case.settings.slip, case.settings.soil.name, case.settings.soil.k_c) for case in sweep.cases] == [
        (0.1, "clay", 1),
        (0.1, "clay", 2),
    ]


def test_words_booleans_and_groups_of_settings_can_vary():
    sweep = read(
        "scenario: fake-rig\nparameters:\n  soil: [clay, dry-sand]\n  erosion: [true, false]\n"
        "  wheel: [{radius: 1, width: 2}, {width: 10 cm}]\n  step: [auto, 10 ms]\n"
    )
    assert len(sweep.cases) == 16
    last = sweep.cases[-1]
    assert last.parameters == {"soil": "dry-sand", "erosion": False, "wheel": {"width": "10 cm"}, "step": 0.01}
    assert (last.settings.wheel.radius, last.settings.wheel.width) == (0.15, 0.1), "the rest is the default"
    assert sweep.cases[0].settings.wheel.radius == 1


SAMPLED = """
scenario: fake-rig
method: {method}
samples: 40
seed: 11
parameters:
  wheel.radius: {{min: 5 cm, max: 25 cm}}
  slip: {{distribution: normal, mean: 0.2, deviation: 0.1, min: 0, max: 0.5}}
  soil.k_c: {{distribution: lognormal, median: 1000, log_deviation: 0.5}}
  soil: [clay, dry-sand]
"""


@pytest.mark.parametrize("method", ["latin-hypercube", "monte-carlo"])
def test_samples(method):
    sweep = read(SAMPLED.format(method=method))
    radius, slip, k_c, soil = (np.array([list(case.parameters.values())[k] for case in sweep.cases]) for k in range(4))
    assert len(sweep.cases) == 40
    assert radius.min() >= 0.05
    assert radius.max() <= 0.25
    assert np.all((slip >= 0) & (slip <= 0.5))
    assert np.all(k_c > 0)
    strata = np.floor((radius - 0.05) / 0.2 * 40).astype(int)
    assert (sorted(strata) == list(range(40))) == (method == "latin-hypercube")
    if method == "latin-hypercube":
        assert list(soil).count("clay") == 20
    again = read(SAMPLED.format(method=method))
    assert again.digest == sweep.digest
    assert [case.parameters for case in again.cases] == [case.parameters for case in sweep.cases]
    other = read(SAMPLED.format(method=method).replace("seed: 11", "seed: 12"))
    assert not set(radius) & {case.parameters["wheel.radius"] for case in other.cases}


class SeededSettings(fake_rig.FakeSettings):
    seed: int = 0
    count: int = 3


@pytest.fixture
def seeded(monkeypatch):
    rig = fake_rig.SCENARIO
    scenario = Scenario(
        "fake-rig", "", "", SeededSettings, rig.metrics, rig.figures, rig.build, rig.duration, rig.measure
    )
    monkeypatch.setattr(registry, "scenario", lambda name: scenario)


def test_each_case_has_a_seed_and_a_scenario_with_one_gets_it(seeded):
    text = "scenario: fake-rig\nseed: 5\nparameters: {slip: [0, 0.1, 0.2]}\n"
    cases = read(text).cases
    assert len({case.seed for case in cases}) == 3
    assert all(case.settings.seed == case.seed for case in cases)
    assert [case.seed for case in read(text.replace("[0, 0.1, 0.2]", "[0.7]")).cases] == [cases[0].seed]
    kept = read("scenario: fake-rig\nset: {seed: 8}\nparameters: {slip: [0, 0.1]}\n").cases
    assert [case.settings.seed for case in kept] == [8, 8], "unless it is set"
    varied = read("scenario: fake-rig\nparameters: {seed: [1, 2]}\n").cases
    assert [case.settings.seed for case in varied] == [1, 2]


def test_settings_that_are_whole_numbers_are_drawn_as_such(seeded):
    text = "scenario: fake-rig\nmethod: latin-hypercube\nsamples: 12\nparameters: {count: {min: 2, max: 5}}\n"
    assert sorted(case.settings.count for case in read(text).cases) == sorted([2, 3, 4, 5] * 3)


def test_a_definition_from_python_is_the_same():
    given = {
        "scenario": "fake-rig",
        "set": {"soil": "clay", "wheel.width": "20 cm", "soil.k_c": 7},
        "parameters": {"wheel.radius": ("10 cm", np.float64(0.2), 0.3), "slip": np.linspace(0, 0.5, 2)},
    }
    assert read_sweep(given).digest == read(GRID).digest
    with pytest.raises(InputError, match=r"^sweep: slip = 9: must be less than or equal to 1$"):
        read_sweep(given | {"parameters": {"slip": [0.1, 9]}})
    with pytest.raises(InputError, match=r"^sweep: parameters\.slip: lacks 'count'$"):
        read_sweep(given | {"parameters": {"slip": {"min": 0, "max": 1}}})


def test_what_decides_results_decides_the_hash():
    base = read(GRID)
    same = [GRID + "# a remark\n", GRID.replace("10 cm", "0.1"), GRID + "metrics: [end_m]\n"]
    others = [
        GRID.replace("10 cm", "11 cm"), GRID.replace("soil.k_c: 7", "soil.k_c: 8"), GRID + "recordings: true\n",
        GRID + "rate: 50\n", GRID + "seed: 1\n", GRID.replace("count: 2", "count: 3"),
    ]  # fmt: skip
    assert {read(text).digest for text in same} == {base.digest}
    assert len({base.digest, *(read(text).digest for text in others)}) == 7


def test_soils_of_the_file_and_of_a_file_beside_it():
    text = "scenario: fake-rig\nparameters: {soil: [beach, clay]}\nsoils: {beach: {like: clay, k_c: 5}}\n"
    assert read(text).cases[0].settings.soil.resolve().k_c == 5
    Path("there").mkdir()
    Path("there/soils.yaml").write_text(
        "silt: {n: 1, k_c: 3, k_phi: 4, cohesion: 5, friction_angle_deg: 6, shear_modulus: 7}"
    )
    text = "scenario: fake-rig\nset: {soil.file: soils.yaml}\nparameters: {soil: [silt]}\n"
    Path("there/sweep.yaml").write_text(text)
    first = read_sweep("there/sweep.yaml")
    assert first.cases[0].settings.soil.resolve().k_c == 3
    Path("there/soils.yaml").write_text(Path("there/soils.yaml").read_text().replace("k_c: 3", "k_c: 2"))
    assert read_sweep("there/sweep.yaml").digest != first.digest, "another soil in the same file is another sweep"


def error_line(capsys, text: str) -> list[str]:
    """What the command says of a file that it refuses without leaving anything."""
    Path("my.yaml").write_text(text, encoding="utf-8")
    assert status(["sweep", "my.yaml", "--out", "out"]) == 2
    assert [file.name for file in Path().iterdir()] == ["my.yaml"]
    lines = capsys.readouterr().err.splitlines()
    assert all(line.startswith("error: my.yaml:") for line in lines)
    return [line.removeprefix("error: my.yaml:") for line in lines]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "scenario: fake-rgi\nparameters: {slip: [0]}",
            "1:11: scenario = 'fake-rgi': not known, did you mean 'fake-rig'",
        ),
        ("parameters: {slip: [0]}", "1:1: scenario: missing; allowed: fake-rig"),
        ("scenario: fake-rig", "1:1: lacks 'parameters'"),
        ("scenario: fake-rig\nparameters: {}", "2:13: parameters"),
        ("scenario: fake-rig\nparameters: {slip: [", "3:1: not readable as YAML"),
    ],
)
def test_a_file_that_is_no_sweep(capsys, text, said):
    (line,) = error_line(capsys, text + "\n")
    assert line.startswith(said)


@pytest.mark.parametrize(
    ("parameter", "said"),
    [
        ("wheel.radios: {min: 5 cm, max: 9 cm, count: 2}", "2: wheel.radios: unknown field, did you mean 'radius'?"),
        ("slpi: [1]", "2: slpi: unknown field, did you mean 'slip'?; allowed: soil, wheel, "),
        ("9slip: [1]", "2: 9slip: not a setting; allowed is a path such as wheel.radius"),
        ("wheel.radius: {min: 5 cm, max: 9 kg, count: 2}", "33: parameters.wheel.radius.max = '9 kg': has another dim"),
        ("slip: [0.1, 0.2, 7]", "19: slip = 7: must be less than or equal to 1"),
        ("wheel.radius: [1 m, 3 kg]", "22: wheel.radius = '3 kg': has another dimension"),
        ("slip: 3", "8: parameters.slip = 3: allowed is a list of values or {min, max, count}"),
        ("slip: []", "8: parameters.slip = []: allowed is a list with at least one value"),
        ("slip: {min: 1, max: 0, count: 3}", "8: parameters.slip: min 1 is not below max 0"),
        ("slip: {min: 0, max: 1, count: 1}", "32: parameters.slip.count = 1: must be greater than or equal to 2"),
        ("slip: {min: 0, max: 1, count: 3, scale: log}", "8: parameters.slip: min 0: a logarithmic scale needs a min"),
        ("slip: {min: 0, max: 1}", "8: parameters.slip: lacks 'count'"),
        ("soil: [clay, clya]", "15: soil"),
    ],
)
def test_a_parameter_of_a_grid_that_cannot_be(capsys, parameter, said):
    (line,) = error_line(capsys, f"scenario: fake-rig\nparameters:\n {parameter}\n")
    assert line.startswith(f"3:{said}")


@pytest.mark.parametrize(
    ("parameter", "said"),
    [
        (
            "slip: {distribution: nromal}",
            "23: parameters.slip.distribution = 'nromal': not known, did you mean 'normal'?",
        ),
        ("slip: {distribution: normal, mean: 0}", "8: parameters.slip: lacks 'deviation'"),
        ("slip: {distribution: normal, mean: 0, deviation: -1}", "51: parameters.slip.deviation = -1"),
        (
            "slip: {distribution: normal, mean: 0, deviation: 1, min: 50}",
            "8: parameters.slip: no part of the distribution",
        ),
        ("slip: {distribution: lognormal, median: 0, log_deviation: 1}", "42: parameters.slip.median = 0"),
        ("slip: {values: [0, 1], weights: [1]}", "8: parameters.slip: 1 weights for 2 values"),
        ("slip: {values: [0, 1], weights: [0, 0]}", "8: parameters.slip: all weights are 0"),
        ("slip: {min: 0}", "8: parameters.slip: lacks 'max'"),
        ("slip: {min: 0, max: 1, count: 3}", "25: parameters.slip.count: unknown field"),
        ("slip: 0.2", "8: parameters.slip = 0.2: allowed is a list of values or a distribution"),
        ("slip: [0.1, 0.2, 7]", "19: slip = 7: must be less than or equal to 1"),
    ],
)
def test_a_distribution_that_cannot_be(capsys, parameter, said):
    (line,) = error_line(capsys, f"scenario: fake-rig\nmethod: monte-carlo\nsamples: 30\nparameters:\n {parameter}\n")
    assert line.startswith(f"5:{said}")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("parametres: {slip: [0]}", "3:1: parametres: unknown field, did you mean 'parameters'?"),
        ("set: {sol: clay}", "3:7: sol: unknown field, did you mean 'soil'?"),
        ("set: {wheel: {radius: 1}, wheel.radius: 2}", "3:27: set.wheel.radius is given twice"),
        ("samples: 3", "3:10: samples = 3: a grid does not use samples"),
        ("method: monte-carlo", "3:9: method = 'monte-carlo': 'samples' is missing"),
        ("method: gird", "3:9: method = 'gird': not known, did you mean 'grid'?"),
        ("metrics: [end_m, end_k]", "3:18: metrics: 'end_k' is not known, did you mean 'end_m'?"),
        ("rate: 0", "3:7: rate = 0: must be greater than 0"),
        ("seed: -1", "3:7: seed = -1: must be greater than or equal to 0"),
        ("soils: {beach: {like: clya}}", "3:9: soil 'beach': like 'clya' is not known, did you mean 'clay'?"),
        ("slip: 0.1", "3:1: slip: unknown field"),
    ],
)
def test_other_fields_that_cannot_be(capsys, more, said):
    (line,) = error_line(capsys, f"scenario: fake-rig\nparameters: {{slip: [0, 0.1, 0.2]}}\n{more}\n")
    assert line.startswith(said)


def test_no_parameter_at_all(capsys):
    assert error_line(capsys, "scenario: fake-rig\nparameters: {}\n") == [
        "2:13: parameters: has 0 entries; allowed are at least 1"
    ]


def test_a_distribution_without_samples(capsys):
    text = "scenario: fake-rig\nmethod: latin-hypercube\nparameters: {slip: {min: 0, max: 0.5}}\n"
    (line,) = error_line(capsys, text)
    assert line.startswith("2:9: method = 'latin-hypercube': 'samples' is missing")


def test_everything_that_is_wrong_with_settings_is_told_at_once(capsys):
    text = "scenario: fake-rig\nset: {frequency: fast, slip: 3}\nparameters: {wheel.radius: [1, -1]}\n"
    assert [line.split(": ")[0] for line in error_line(capsys, text)] == ["2:30", "2:18", "3:32"]
    text = "scenario: fake-rig\nparameters:\n  wheel: [{radius: 1}]\n  wheel.radius: [2]\n"
    assert error_line(capsys, text) == ["4:18 contradicts my.yaml:3:11"]


def test_a_place_that_spoils_many_cases_is_told_once(capsys):
    spread = "{distribution: normal, mean: 2 cm, deviation: 2 cm}"
    text = f"scenario: fake-rig\nmethod: monte-carlo\nsamples: 200\nparameters:\n  wheel.radius: {spread}\n"
    (line,) = error_line(capsys, text)
    assert line.startswith("5:17: wheel.radius = -")
    count = int(line.split("(in ")[1].split(" of 200 cases)")[0])
    assert 15 < count < 50, "a sixth of a normal distribution lies below mean - deviation"


def test_a_grid_that_is_too_large_is_refused_at_once():
    with pytest.raises(InputError, match=r"my.yaml:3:3: parameters: 1000 x 1000 = 1000000 cases: allowed are 100000"):
        read(
            "scenario: fake-rig\nparameters:\n  slip: {min: 0, max: 1, count: 1000}\n"
            "  wheel.radius: {min: 1, max: 2, count: 1000}\n"
        )
