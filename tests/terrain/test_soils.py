"""Soils: the table, the checks, and a user's own YAML."""

import math
import pickle
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grouser.errors import InputError
from grouser.terrain import Soil, load_soils, soil, soil_names
from grouser.terrain.soils import BUILTIN_FILE, RANGES, builtin_soils, read_plain_yaml

TABLE = {  # n, k_c, k_phi, c [Pa], phi [deg], K [m]
    "dry-sand": (1.1, 990, 1.52843e6, 1040, 28, 0.018),
    "sandy-loam": (0.7, 5270, 1.51504e6, 1720, 29, 0.018),
    "clay": (0.5, 13190, 6.9215e5, 4140, 13, 0.006),
    "lete-sand": (0.793, 1.02e5, 5.301e6, 1300, 31.1, 0.012),
    "lunar-nominal": (1.0, 1400, 8.2e5, 170, 35, 0.018),
    "hit-lss1": (1.1, 15600, 2.4074e6, 250, 31.9, 0.011),
    "exomars-test": (0.63, 2370, 60300, 500, 30, 0.018),
}


@pytest.mark.parametrize("name", TABLE)
def test_builtin_soil_has_the_published_constants(name):
    s = soil(name)
    constants = (s.n, s.k_c, s.k_phi, s.cohesion, s.friction_angle_deg, s.shear_modulus)
    assert constants == TABLE[name]
    assert (s.elastic_stiffness, s.damping_time, s.compression) == (5e7, 1e-3, 0.3)
    assert s.wheel_friction is None
    assert s.repose_angle_deg is None


def test_every_builtin_value_has_a_source():
    assert soil_names() == list(TABLE)
    for s in builtin_soils().values():
        stated = {name for name in RANGES if getattr(s, name) is not None}
        assert set(s.sources) == stated
        assert all(text.strip() for text in s.sources.values())


def test_exomars_says_what_is_assumed():
    sources = soil("exomars-test").sources
    assert {sources[name] for name in ("cohesion", "friction_angle_deg", "shear_modulus")} == {"assumed"}
    assert "Fig. 17" in sources["k_phi"]


def test_plain_reader_agrees_with_a_yaml_parser():
    from ruamel.yaml import YAML

    text = BUILTIN_FILE.read_text(encoding="utf-8")
    assert read_plain_yaml(text) == YAML(typ="safe").load(text)


def test_builtin_soils_are_read_without_packages_that_take_long_to_load():
    code = (
        "import sys, grouser.terrain.soils as s; s.soil('clay'); "
        "print('ruamel.yaml' in sys.modules, 'pint' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert shown == ["False", "False"]


def test_pressure_modulus_is_bekker():
    s = soil("dry-sand")
    assert s.pressure_modulus(0.1) == 990 / 0.1 + 1528430
    with pytest.raises(InputError, match=r"'dry-sand': contact width b = 0"):
        s.pressure_modulus(0.0)


def test_slope_limit_is_the_friction_angle_unless_a_repose_angle_is_given():
    s = soil("dry-sand")
    assert s.slope_limit == math.tan(math.radians(28))
    assert s.replace(repose_angle_deg=40).slope_limit == math.tan(math.radians(40))


def test_wall_friction_is_two_thirds_of_the_friction_angle_unless_given():
    s = soil("dry-sand")
    assert s.wall_angle_deg == pytest.approx(28 * 2 / 3)
    assert s.replace(wall_friction_deg=10).wall_angle_deg == 10
    assert s.replace(wall_friction_deg=40).wall_angle_deg == 28  # the soil itself shears first


def test_soil_is_hashable_and_survives_a_process_border():
    s = soil("dry-sand")
    again = pickle.loads(pickle.dumps(s))
    assert again == s
    assert hash(again) == hash(s)
    assert again.sources == s.sources


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n", 0),
        ("n", -1.1),
        ("n", math.nan),
        ("n", True),
        ("n", "much"),
        ("k_c", -1),
        ("k_phi", 0),
        ("k_phi", math.inf),
        ("cohesion", -1),
        ("friction_angle_deg", 90),
        ("friction_angle_deg", -1),
        ("shear_modulus", 0),
        ("elastic_stiffness", 0),
        ("elastic_stiffness", None),
        ("damping_time", -1e-3),
        ("wheel_friction", -0.1),
        ("compression", 1.01),
        ("compression", -0.01),
        ("repose_angle_deg", 0),
        ("density", 0),
        ("wall_friction_deg", 90),
    ],
)
def test_a_constant_out_of_range_is_one_line_with_field_and_value(field, value):
    with pytest.raises(InputError) as caught:
        soil("clay").replace(**{field: value})
    line = str(caught.value)
    assert "\n" not in line
    assert f"'clay': {field} = " in line
    assert str(value) in line
    assert "allowed is" in line


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("k_c", 0),
        ("cohesion", 0),
        ("friction_angle_deg", 0),
        ("compression", 0),
        ("compression", 1),
        ("damping_time", 0),
    ],
)
def test_a_constant_on_the_edge_of_its_range_is_allowed(field, value):
    assert getattr(soil("clay").replace(**{field: value}), field) == value


def test_replace_refuses_a_misspelt_field_and_offers_the_right_one():
    with pytest.raises(InputError, match=r"field 'cohesoin' is not known, did you mean 'cohesion'\?"):
        soil("clay").replace(cohesoin=3)


def test_replace_states_the_user_as_source_and_keeps_the_others():
    changed = soil("clay").replace(k_c=1e4, n=1, sources={"n": "our bevameter"})
    assert changed.sources["k_c"] == "set by the user"
    assert changed.sources["n"] == "our bevameter"
    assert changed.sources["k_phi"] == soil("clay").sources["k_phi"]
    assert isinstance(changed.n, float)


def test_sources_name_fields():
    with pytest.raises(InputError, match="source of field 'phi' is not known"):
        soil("clay").replace(sources={"phi": "guess"})


def test_unknown_soil_offers_the_nearest():
    with pytest.raises(
        InputError, match=r"soil 'dry_sand' is not known, did you mean 'dry-sand'\?; allowed: dry-sand,"
    ):
        soil("dry_sand")


def test_a_soil_needs_a_name():
    with pytest.raises(InputError, match="soil name = ''"):
        soil("clay").replace(name="")


@given(st.floats(0.3, 1.5), st.floats(0, 1e5), st.floats(1e3, 1e7), st.floats(0.01, 1.0))
def test_pressure_modulus_falls_with_width(n, k_c, k_phi, b):
    s = Soil("any", n, k_c, k_phi, 0, 30, 0.01)
    assert s.pressure_modulus(b) >= s.pressure_modulus(2 * b) >= k_phi


OWN = """\
# measured in May
our-sand:
  like: dry-sand
  n: 1.05
  cohesion: 1.2 kPa
  shear_modulus: 15 mm
  friction_angle_deg: 0.5 rad
  damping_time: 3 ms
  elastic_stiffness: 60 MPa/m
  compression: 25 %
  wheel_friction:
  sources: {n: our bevameter}
wet-sand:
  like: our-sand
  cohesion: 2000
peat:
  n: 0.5
  k_c: 1e3
  k_phi: 20000
  cohesion: "700"
  friction_angle_deg: 20
  shear_modulus: 0.03
"""


def test_user_soils_with_units_and_inheritance(tmp_path):
    file = tmp_path / "ours.yaml"
    file.write_text(OWN)
    soils = load_soils(file)
    assert list(soils) == ["our-sand", "wet-sand", "peat"]
    sand = soils["our-sand"]
    assert (sand.name, sand.n, sand.k_phi) == ("our-sand", 1.05, soil("dry-sand").k_phi)
    assert sand.cohesion == pytest.approx(1200, rel=1e-12)
    assert sand.shear_modulus == pytest.approx(0.015, rel=1e-12)
    assert sand.friction_angle_deg == pytest.approx(math.degrees(0.5), rel=1e-12)
    assert sand.damping_time == pytest.approx(3e-3, rel=1e-12)
    assert sand.elastic_stiffness == pytest.approx(6e7, rel=1e-12)
    assert sand.compression == pytest.approx(0.25, rel=1e-12)
    assert sand.wheel_friction is None
    assert sand.sources["n"] == "our bevameter"
    assert sand.sources["cohesion"] == "ours.yaml"
    assert sand.sources["k_c"] == soil("dry-sand").sources["k_c"]
    assert (soils["wet-sand"].cohesion, soils["wet-sand"].n) == (2000, 1.05)
    assert (soils["peat"].k_c, soils["peat"].cohesion, soils["peat"].compression) == (1000, 700, 0.3)
    assert soils["peat"].sources["compression"] == "assumed"


def test_the_builtin_file_is_a_valid_user_file():
    assert load_soils(BUILTIN_FILE) == builtin_soils()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "s:\n  like: clay\n  cohesoin: 3\n",
            r":3:3: soil 's': field 'cohesoin' is not known, did you mean 'cohesion'\?",
        ),
        ("s:\n  like: clay\n  n: -1\n", r":3:6: soil 's': n = -1: allowed is a finite number above 0"),
        ("s:\n  like: clay\n  n:\n", r":3:3: soil 's': n = None"),
        ("s:\n  like: clay\n  n: [1]\n", r":3:6: soil 's': n = \[1\]"),
        ("s:\n  like: clya\n", r":2:9: soil 's': like 'clya' is not known, did you mean 'clay'\?"),
        ("s:\n  like: [clay]\n", r":2:9: soil 's': like \['clay'\] is not known"),
        (
            "s:\n  n: 1\n  k_c: 3\n",
            r":1:1: soil 's' lacks k_phi, cohesion, friction_angle_deg, shear_modulus",
        ),
        ("s:\n  like: clay\n  k_c: 3 kN\n", r":3:8: soil 's': k_c = '3 kN': allowed is a plain SI number"),
        ("s:\n  like: clay\n  cohesion: 3 mm\n", r":3:13: soil 's': cohesion = '3 mm' has another dimension"),
        ("s:\n  like: clay\n  cohesion: a lot\n", r":3:13: soil 's': cohesion = 'a lot' is not a quantity"),
        ("s:\n  like: clay\n  cohesion: -3 kPa\n", r":3:13: soil 's': cohesion = -3000"),
        ("s:\n  like: clay\n  sources: {m: x}\n", r":3:13: soil 's': source of field 'm' is not known"),
        ("s:\n  like: clay\n  sources: guess\n", r":3:12: soil 's': sources = 'guess': allowed is a mapping"),
        ("s: 3\n", r":1:1: soil 's' holds 3: allowed is a mapping of fields"),
        ("1: {like: clay}\n", r":1:1: soil name 1: allowed is a text"),
        ("- like: clay\n", r"ours.yaml: holds a list: allowed is a mapping of soil names"),
        ("", r"ours.yaml: holds nothing"),
        ("s:\n  n: 1\n  n: 2\n", r":3:3: not readable as YAML"),
        ("s:\n  n: [1\n", r"ours.yaml:\d+:\d+: not readable as YAML"),
        ("s:\n\tn: 1\n", r"ours.yaml:2:1: not readable as YAML"),
        ("? {a: 1}\n: {like: clay}\n", r"ours.yaml"),
        ("!!int silt: {like: clay}\n", r"ours.yaml"),
    ],
)
def test_a_bad_soil_file_says_file_line_column_field_and_value(tmp_path, text, message):
    file = tmp_path / "ours.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        load_soils(file)
    assert str(caught.value).startswith(str(file))
    assert "\n" not in str(caught.value)


def test_every_problem_of_a_soil_file_is_told_once(tmp_path):
    file = tmp_path / "ours.yaml"
    file.write_text("a:\n  like: clay\n  n: 0\n  knd: 2\nb:\n  like: a\nc:\n  like: clay\n  k_phi: -2\n")
    with pytest.raises(InputError) as caught:
        load_soils(file)
    lines = str(caught.value).splitlines()
    assert [line.removeprefix(str(file)).split(" ")[0] for line in lines] == [":3:6:", ":4:3:", ":9:10:"]


def test_a_soil_file_that_is_missing_a_folder_or_not_text(tmp_path):
    with pytest.raises(InputError, match=r"soil file '.*none.yaml' does not exist"):
        load_soils(tmp_path / "none.yaml")
    with pytest.raises(InputError, match="is a folder, not a file"):
        load_soils(tmp_path)
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(InputError, match=r"binary.yaml: not UTF-8 text"):
        load_soils(binary)
