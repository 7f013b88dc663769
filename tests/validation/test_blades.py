"""Files of measured blades, and the draught of Haeri et al. 2020 with the machine as it was and with wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

import grouser
from grouser.scenarios.settings import from_python
from grouser.validation.blades import MeasuredBlade, read_blades
from tests.validation.data import changed, mistakes, reader_of_text

ROOT = Path(__file__).parents[2]
HAERI = ROOT / "benchmarks" / "blades" / "haeri2020.yaml"
BAR = 0.25  # median error over the whole travel
SAME = 0.02  # what constants that the wedge does not know may change
# A blade wider than a cell of 10 mm is run in a fraction of the time, for runs that are compared with each other.
QUICK = {"blade.thickness": 0.012, "spacing": 0.01}
TEXT = """\
format: 1
source: {citation: Nobody 2026, digitised: made up, uncertainty: none}
soils:
  bin-sand: {like: dry-sand, density: 1700, sources: {density: assumed}}
sets:
  cut:
    title: a blade
    blade: {width: 30 cm, height: 0.2, thickness: 20 mm, rake_deg: 80}
    depth: 3 cm
    speed: 0.05
    entry_speed: 0.02
    stretch: 0.02
    soil: bin-sand
    also: [clay]
    assumed: {blade.rake_deg: not given}
    measured:
      travel: [0.1, 0.2]
      draught: {unit: kN, values: [0.1, 0.2], scatter: [0.01, 0.02], scored: true}
      lift: {unit: N, values: [10, 20], scatter: [1, 1], scored: false, reason: offset}
"""


@pytest.fixture
def read(tmp_path):
    return reader_of_text(read_blades, tmp_path)


def test_a_set_becomes_settings_in_si(read):
    blade = read(TEXT)["cut"]
    assert blade.name == "bin:cut"
    assert list(blade.soils) == ["bin-sand", "clay"]
    settings = from_python("blade", blade.settings()).settings
    assert settings.blade.width == pytest.approx(0.3)
    assert settings.depth == pytest.approx(0.03)
    assert settings.travel == pytest.approx(0.21)
    assert settings.measured.draught == pytest.approx((100.0, 200.0))
    assert settings.measured.scatter == pytest.approx((10.0, 20.0))
    assert settings.chosen_soil().density == 1700
    assert from_python("blade", blade.settings(blade.soils["clay"])).settings.chosen_soil().name == "clay"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("width: 30 cm", "width: 30", ["sets.cut.blade.width = 30", "less than or equal to 5"]),
        ("depth: 3 cm", "depth: 0", ["sets.cut.depth = 0", "greater than 0"]),
        ("soil: bin-sand", "soil: bin-snd", ["sets.cut.soil = 'bin-snd'", "did you mean 'bin-sand'"]),
        ("also: [clay]", "also: [cley]", ["sets.cut.also = 'cley'", "did you mean 'clay'"]),
        ("{blade.rake_deg: not", "{blade.mass: not", ["sets.cut.assumed: 'blade.mass'", "such as blade.rake_deg"]),
        ("travel: [0.1, 0.2]", "travel: [0.1]", ["draught has 2 values for 1 places of travel"]),
        ("scatter: [1, 1]", "scatter: [1]", ["lift has 1 scatter for 2 places"]),
        ("values: [10, 20]", "values: [10, '20']", ["sets.cut.measured.lift.values.1 = '20'"]),
        ("unit: kN", "unit: kg", ["unit 'kg'", "allowed is N"]),
        ("scored: false, reason: offset", "scored: false", ["'reason'"]),
        ("sources: {density: assumed}", "sources: {}", ["soils.bin-sand.density has no source"]),
        ("format: 1", "format: 3", ["format = 3", "allowed: 1"]),
    ],
)
def test_a_mistake_is_one_line_with_its_place(read, tmp_path, old, new, words):
    assert len(mistakes(read, changed((old, new), text=TEXT), tmp_path, words)) == 1


def test_the_records_of_haeri_are_complete():
    sets = read_blades(HAERI)
    assert {name: len(blade.given.measured.travel) for name, blade in sets.items()} == {"20mm": 37, "50mm": 22}
    for blade in sets.values():
        assert [soil.friction_angle_deg for soil in blade.soils.values()] == [35.0, 37.2]
        assert "blade.rake_deg" in blade.given.assumed


# ---- the measured draught --------------------------------------------------------------------------------------


def scored(folder: Path, blade: MeasuredBlade, **changes) -> dict:
    return grouser.run("blade", blade.settings(changes=changes), out=folder / "out", report=False).metrics


@pytest.fixture(scope="module")
def haeri():
    return read_blades(HAERI)


@pytest.mark.long
@pytest.mark.parametrize("name", ["20mm", "50mm"])
def test_draught_is_within_the_bar_over_the_whole_travel(tmp_path, haeri, name):
    metrics = scored(tmp_path, haeri[name])
    assert metrics["measured_error_median"] < BAR
    assert abs(metrics["draught_error_rel"]) < 0.05, "and it is that of the wedge through its own pile"


WRONG = {
    "half the density": {"soil.density": 865.0},
    "half the width": {"blade.width": 0.457 / 2},
    "faces off": {"faces": False},
}


@pytest.mark.long
@pytest.mark.parametrize("changes", WRONG.values(), ids=list(WRONG))
def test_a_wrong_machine_misses_the_bar(tmp_path, haeri, changes):
    assert scored(tmp_path, haeri["50mm"], **changes)["measured_error_median"] > BAR


@pytest.mark.long
@pytest.mark.parametrize("changes", [{"soil.k_phi": 4 * 1528430.0}, {"soil.k_phi": 1528430.0 / 4}, {"soil.n": 0.7}],
                         ids=str)  # fmt: skip
def test_draught_does_not_depend_on_constants_of_bekker(tmp_path, haeri, changes):
    """They are not given for this sand. The lower edge stands on soil that the face has cut."""
    short = QUICK | {"travel": 0.3}
    plain = scored(tmp_path / "plain", haeri["50mm"], **short)["draught_N"]
    assert scored(tmp_path / "other", haeri["50mm"], **short, **changes)["draught_N"] == pytest.approx(plain, rel=SAME)
