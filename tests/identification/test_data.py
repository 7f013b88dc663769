"""Measurements are read in their units; nonsense is refused in one line that says where."""

import copy

import numpy as np
import pytest

from grouser.errors import InputError
from grouser.identification.data import read_measurements
from grouser.terrain.soils import soil
from tests.identification.synthetic import plates, shear

TEXT = """\
format: 1
title: our sand
priors: {cohesion: [0.1 kPa, 2 kPa], n: [0.5, 1.3]}
plates:
  wide:
    width: 10 cm
    sinkage: {unit: mm, values: [0, 10, 20]}
    pressure: {unit: kPa, values: [0, 8, 17]}
    scatter: 5 %
wheels:
  smooth:
    wheel: {radius: 85 mm, width: 80 mm}
    load: 58.86 N
    slip: [0.1, 0.3]
    pull: {unit: N, values: [-0.5, 2], scatter: 0.5 N}
    sinkage: {unit: mm, values: [1, 4.5]}
"""
ROVER = """
rovers:
  climb:
    wheel: {radius: 0.15, width: 0.1}
    wheels: 6
    mass: 120 kg
    slip: [0.2, 0.5]
    slope: {unit: degree, values: [10, 15], scatter: 1 degree}
"""


def read(tmp_path, text):
    file = tmp_path / "data.yaml"
    file.write_text(text, encoding="utf-8")
    return read_measurements(file)


def test_values_are_converted_to_si(tmp_path):
    found = read(tmp_path, TEXT)
    assert found.plates["wide"].points == [(pytest.approx(0.01), 8000), (pytest.approx(0.02), 17000)]  # not the 0, 0
    assert found.plates["wide"].scatter.share == pytest.approx(0.05)
    assert found.priors == {"cohesion": (100, 2000), "n": (0.5, 1.3)}
    wheel = found.wheels["smooth"]
    assert wheel.pull.scatter.value == 0.5
    assert wheel.sinkage.si == pytest.approx((0.001, 0.0045))
    assert wheel.load == (58.86,)


def test_a_scatter_may_be_the_least_that_it_can_be(tmp_path):
    text = TEXT.replace("scatter: 5 %", "scatter: at least 5 %").replace("scatter: 0.5 N", "scatter: at least 500 mN")
    found = read(tmp_path, text + ROVER.replace("scatter: 1 degree", "scatter: at least 1 degree"))
    assert (found.plates["wide"].scatter.share, found.plates["wide"].scatter.least) == (0.05, True)
    assert (found.wheels["smooth"].pull.scatter.value, found.wheels["smooth"].pull.scatter.least) == (0.5, True)
    assert found.wheels["climb"].pull.scatter.least
    assert not read(tmp_path, TEXT).plates["wide"].scatter.least


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("unit: mm, values: [0, 10, 20]", "unit: m, values: [0, 10, 20]", "data.yaml:7:14: plates.wide.sinkage: 10 m"),
        ("unit: kPa", "unit: kg", "is no unit of this quantity: allowed is Pa"),
        (
            "unit: kPa, values: [0, 8, 17]",
            "unit: Pa, values: [0, 8, 17]",
            "data.yaml:6:5: plates.wide: largest pressure 17 Pa: allowed is 100 Pa or more; is the unit 'Pa' right?",
        ),
        ("scatter: 5 %", "scatter: 5", "plates.wide.scatter = 5: allowed is a share such as '5 %'"),
        ("scatter: 5 %", "scatter: 5 mm", "allowed is a share"),
        ("scatter: 5 %", "scatter: at least", "above 0, or either after 'at least '"),
        ("scatter: 5 %", "scatter: at least -5 %", "above 0, or either after 'at least '"),
        ("scatter: 5 %", "scatter: at most 5 %", "above 0, or either after 'at least '"),
        (
            "scatter: 5 %",
            "scatter: 101 %",
            "plates.wide.scatter = '101 %': allowed is a share such as '5 %', up to 100 %",
        ),
        ("values: [-0.5, 2]", "values: [-0.5, 295]", "pull 295 N: allowed is at most the load times 5, 294.3 N"),
        ("values: [-0.5, 2]", "values: [-295, 2]", "pull -295 N"),
        (
            "values: [1, 4.5]",
            "values: [1, 171]",
            "sinkage 0.171 m: allowed is at most the diameter of the wheel, 0.17 m",
        ),
        ("pull: {unit: N, values: [-0.5, 2], scatter: 0.5 N}", "torque: {unit: N m, values: [1, 26]}", "torque 26 N m"),
        ("scatter: 5 %", "scatter: -5 %", "above 0"),
        ("width: 10 cm", "width: 10", "plates.wide.width = 10"),
        ("scatter: 5 %", "scater: 5 %", "did you mean 'scatter'"),
        ("values: [0, 8, 17]", "values: [8, 17]", "sinkage has 3 values, pressure has 2"),
        ("values: [0, 8, 17]", "values: [0, 0, 0]", "at least one point with sinkage and pressure above 0"),
        ("slip: [0.1, 0.3]", "slip: [0.1, 30]", "wheels.smooth.slip.1 = 30"),
        ("values: [1, 4.5]", "values: [1]", "sinkage has 1 values for 2 slips"),
        (
            "slip: [0.1, 0.3]",
            "slip: [0.1, 0.3]\n    side_force: {unit: N, values: [0.1, -0.1]}",
            "side_force without a slip",
        ),
        ("n: [0.5, 1.3]", "n: [1.3, 0.5]", "priors.n = [1.3, 0.5]: allowed are two ends, the lower one first"),
        ("n: [0.5, 1.3]", "nn: [0.5, 1.3]", "priors.nn: not known"),
        ("cohesion: [0.1 kPa, 2 kPa]", "k_phi: [1 kPa, 2 kPa]", "plain SI numbers"),
    ],
)
def test_nonsense_is_refused_in_one_line(tmp_path, old, new, said):
    refused(tmp_path, TEXT, old, new, said)


def refused(tmp_path, text, old, new, said):
    assert old in text
    with pytest.raises(InputError) as caught:
        read(tmp_path, text.replace(old, new, 1))
    lines = str(caught.value).splitlines()
    assert len(lines) == 1, lines
    assert "data.yaml:" in lines[0]
    assert said in lines[0]


def test_a_rover_is_read_as_one_of_its_wheels(tmp_path):
    """On a slope of 10 degrees each of six wheels carries W cos(a)/6 and pulls W sin(a)/6."""
    wheel = read(tmp_path, TEXT + ROVER).wheels["climb"]
    weight = 120 * 9.81 / 6
    assert wheel.load[0] == pytest.approx(weight * np.cos(np.radians(10)))
    assert wheel.pull.si == pytest.approx((weight * np.sin(np.radians(10)), weight * np.sin(np.radians(15))))
    assert wheel.pull.scatter.value == pytest.approx(weight * np.radians(1))
    with pytest.raises(InputError, match="a wheel has the same name"):
        read(tmp_path, TEXT + ROVER.replace("climb", "smooth"))
    with pytest.raises(InputError, match="slope has 2 values for 1 slips"):
        read(tmp_path, TEXT + ROVER.replace("[0.2, 0.5]", "[0.2]"))


def test_a_side_force_is_read_where_some_run_has_a_slip_angle(tmp_path):
    new = "slip: [0.1, 0.3]\n    slip_angle_deg: [0, 10]\n    side_force: {unit: N, values: [0, 12]}"
    wheel = read(tmp_path, TEXT.replace("slip: [0.1, 0.3]", new)).wheels["smooth"]
    assert wheel.side_force.si == (0, 12)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("wheels: 6", "wheels: 6\n    slip_of: tips", "rovers.climb: slip of the tips of a wheel without lugs"),
        ("wheels: 6", "wheels: 6\n    gravity: 1.0e+9", "rovers.climb.gravity = 1000000000.0"),
        ("wheels: 6\n    mass: 120 kg", "wheels: 1\n    mass: 1.0e+5 kg\n    gravity: 50", "carries 5e+06 N"),
    ],
)
def test_a_rover_that_cannot_be_is_refused_in_one_line(tmp_path, old, new, said):
    refused(tmp_path, TEXT + ROVER, old, new, said)


@pytest.mark.parametrize("unit", ["percent", "%"])
def test_a_slope_in_percent_is_the_rise_over_the_run(tmp_path, unit):
    """A slope of 100 % is one of 45 degrees, not of 57 as 1 rad is; one of 20 % has a tangent of 0.2."""
    text = ROVER.replace("unit: degree, values: [10, 15]", f"unit: '{unit}', values: [100, 20]")
    wheel = read(tmp_path, TEXT + text).wheels["climb"]
    pull_over_load = np.array(wheel.pull.si) / wheel.load
    assert pull_over_load == pytest.approx([1.0, 0.2])
    radians = ROVER.replace("unit: degree, values: [10, 15]", "unit: rad, values: [0.2, 0.1]")
    assert np.array(read(tmp_path, TEXT + radians).wheels["climb"].pull.si)[0] == pytest.approx(196.2 * np.sin(0.2))


def test_no_measurement_at_all_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds no measurement: allowed are plates, shear, wheels, rovers"):
        read(tmp_path, "title: nothing\n")


def test_a_mapping_is_read_like_a_file():
    rng = np.random.default_rng(0)
    given = {"plates": plates(soil("dry-sand"), rng), "shear": shear(soil("dry-sand"), rng)}
    found = read_measurements(given)
    assert len(found.plates) == len(found.shear) == 3
    wrong = copy.deepcopy(given)
    wrong["plates"]["width-50"]["sinkage"]["unit"] = "m"  # 3 to 40 m
    with pytest.raises(InputError, match="is the unit 'm' right"):
        read_measurements(wrong)


@pytest.mark.parametrize(
    ("pressure", "unit", "said"),
    [
        ("3 kPa", "Pa", "largest stress 2 Pa: allowed is 20 Pa or more; is the unit 'Pa' right?"),
        ("3", "kPa", "normal pressure 3 Pa: allowed is 0, or 20 Pa or more; is it in kPa?"),
        ("19 Pa", "kPa", "normal pressure 19 Pa"),
        ("20 Pa", "kPa", ""),
        ("0 Pa", "kPa", ""),
    ],
)
def test_stresses_that_no_soil_is_as_weak_as_are_refused(tmp_path, pressure, unit, said):
    text = f"""\
shear:
  light:
    pressure: {pressure}
    displacement: {{unit: mm, values: [5, 20]}}
    stress: {{unit: {unit}, values: [1, 2]}}
"""
    if not said:
        assert read(tmp_path, text).shear["light"].points == [(0.005, 1000), (0.02, 2000)]
        return
    with pytest.raises(InputError) as error:
        read(tmp_path, text)
    assert str(error.value).startswith(f"{tmp_path / 'data.yaml'}:3:5: shear.light: {said}")
    assert "\n" not in str(error.value)
