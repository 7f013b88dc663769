"""Files of measured wheels: what they hold in SI, and one line with its place for each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from grouser.errors import InputError
from grouser.terrain.soils import RANGES, soil
from grouser.validation import read_wheels
from tests.validation.data import TEXT, changed, mistakes, reader_of_text, with_lugs

WHEELS = sorted((Path(__file__).parents[2] / "benchmarks" / "wheels").glob("*.yaml"))


@pytest.fixture
def read(tmp_path):
    return reader_of_text(read_wheels, tmp_path)


def test_values_are_in_si(read):
    (wheel,) = read(TEXT).values()
    assert wheel.name == "bin:smooth"
    assert wheel.given.wheel.radius == pytest.approx(0.15)
    assert wheel.soil.k_phi == 1.2e6
    assert wheel.soil.n == soil("dry-sand").n
    assert wheel.points["sinkage"].values == pytest.approx((0.01, 0.02))
    assert wheel.points["sinkage"].uncertainty == pytest.approx(0.001)
    assert wheel.points["torque"].slips == (0.1, 0.2)  # its own
    assert wheel.points["pull"].slips == (0.1, 0.4)
    assert wheel.not_scored == {"torque": "offset"}


def test_a_source_may_give_no_soil(read):
    (wheel,) = read(changed(("soil: bin-sand", "soil: not given"))).values()
    assert wheel.soil is None


def test_a_quantity_that_is_not_scored_needs_no_values(read):
    torque = "{unit: N m, values: [3, 5], uncertainty: 0.1, scored: false, reason: offset, slip: [0.1, 0.2]}"
    (wheel,) = read(changed((torque, "{scored: false, reason: not legible}"))).values()
    assert "torque" not in wheel.points
    assert wheel.not_scored == {"torque": "not legible"}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("format: 1", "format: 2", [":1:9: format = 2", "allowed: 1"]),
        ("format: 1", "formt: 1", [":1:1: formt: unknown field", "did you mean 'format'", "lacks 'format'"]),
        ("citation: Nobody 2026", "citation: ''", [":3:13: source.citation = ''", "at least 1"]),
        ("  digitised: made up for tests\n", "", ["source: lacks 'digitised'"]),
        ("sources: {k_phi: assumed}", "sources: {}", [":9:5: soils.bin-sand.k_phi has no source", "'assumed'"]),
        ("k_phi: 1.2e6", "k_phi: -1", [":9:12: soils.bin-sand.k_phi = -1", "above 0"]),
        ("soil: bin-sand", "soil: bin-snd", ["soil = 'bin-snd'", "did you mean 'bin-sand'", "not given", "clay"]),
        ("radius: 15 cm", "radius: 15", ["sets.smooth.wheel.radius = 15", "less than or equal to 5"]),
        ("radius: 15 cm", "radius: 15 kg", ["sets.smooth.wheel.radius = '15 kg'", "has another dimension"]),
        ("radius: 15 cm, ", "", ["sets.smooth.wheel: lacks 'radius'"]),
        ("load: 100 N", "load: 0", ["sets.smooth.load = 0", "greater than 0"]),
        ("slip_of: rim", "slip_of: hub", ["sets.smooth.slip_of = 'hub'", "allowed: rim, tips"]),
        ("slip_of: rim", "slip_of: tips", ["sets.smooth", "tips of a wheel without lugs"]),
        ("wheel.width: not given", "wheel.mass: not given", [":20:7: sets.smooth.assumed: 'wheel.mass'", "no value"]),
        ("slip: [0.1, 0.4]", "slip: [0.1, 0.4, 0.5]", ["pull has 2 values for 3 slips", "one each"]),
        ("slip: [0.1, 0.4]", "slip: [0.1, 1]", ["sets.smooth.measured.slip.1 = 1", "less than 1"]),
        ("      slip: [0.1, 0.4]\n", "", ["pull has no slips", "give 'slip'"]),
        ("values: [-1, 20]", "values: [-1, '20']", ["sets.smooth.measured.pull.values.1 = '20'", "number"]),
        ("values: [-1, 20]", "values: [-1, .nan]", ["sets.smooth.measured.pull.values.1", "finite number"]),
        ("unit: mm", "unit: kg", ["sets.smooth.measured.sinkage.unit = 'kg'", "allowed is m"]),
        ("scored: false, reason: offset", "scored: false", ["sets.smooth.measured.torque", "'reason'"]),
        ("{unit: mm, values", "{values", ["sets.smooth.measured.sinkage: lacks unit"]),
        ("      pull: {", "      pul: {", ["sets.smooth.measured.pul: unknown field", "did you mean 'pull'"]),
    ],
)
def test_a_mistake_is_one_line_with_its_place(read, tmp_path, old, new, words):
    assert len(mistakes(read, changed((old, new)), tmp_path, words)) == (2 if "formt" in new else 1)


def test_lugs_that_do_not_fit_are_refused(read):
    with pytest.raises(InputError, match="do not fit round a rim"):
        read(with_lugs().replace("count: 12", "count: 200").replace("thickness: 4 mm", "thickness: 5 mm"))


@pytest.mark.parametrize("file", WHEELS, ids=lambda file: file.stem)
def test_files_of_the_checkout_are_read(file):
    for wheel in read_wheels(file).values():
        assert wheel.points
        if wheel.given.wheel.lugs and "sinkage" in wheel.points:  # the default must not decide it unseen
            assert "sinkage_of" in wheel.given.model_fields_set
        if wheel.given.wheel.friction == "two-thirds":
            assert "wheel.friction" in wheel.given.assumed


def test_the_soil_of_ding_is_the_built_in_one():
    """The file states its constants again, so that it can be read without Grouser."""
    file = next(file for file in WHEELS if file.stem == "ding2011")
    for wheel in read_wheels(file).values():
        assert {field: getattr(wheel.soil, field) for field in RANGES} == {
            field: getattr(soil("hit-lss1"), field) for field in RANGES
        }
