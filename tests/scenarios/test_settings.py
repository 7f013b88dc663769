"""Settings from options and files: what they mean, whatever their order, and what is said of wrong ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grouser.errors import InputError
from grouser.scenarios import registry
from grouser.scenarios.settings import SoilChoice, file_schema, from_command, from_python, parse_overrides
from grouser.scenarios.source import read_text, scalar
from grouser.terrain.soils import soil
from tests.commands import fake_rig


@pytest.fixture(autouse=True)
def rig(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "NAMES", registry.NAMES)  # put back afterwards
    fake_rig.install()


def settings(*options: str) -> fake_rig.FakeSettings:
    return from_command(fake_rig.NAME, options).settings  # type: ignore[return-value]


def error_lines(target: str | Path, *options: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        from_command(str(target), options)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5e7", 5e7), ("1e-3", 1e-3), ("1E+3", 1000.0), (".5", 0.5), ("5.", 5.0), ("-3", -3), ("+3", 3),
        ("010", 10), ("0x10", 16), ("true", True), ("False", False), ("null", None), ("~", None), ("", None),
        ("no", "no"), ("on", "on"), ("none", "none"), ("1:30", "1:30"), ("1.2 kPa", "1.2 kPa"),
        ("1_000", "1_000"),
        ("2024-01-01", "2024-01-01"), ("dry-sand", "dry-sand"), ("tRue", "tRue"),
    ],
)  # fmt: skip
def test_plain_words_follow_yaml_1_2(text, value):
    got = scalar(text)
    assert got == value
    assert type(got) is type(value)


def test_options_nest_and_a_name_joins_its_fields():
    assert parse_overrides(["a.b=1", "soil.k_c=900", "soil=dry-sand", "list=[1, 2e3]", "text='5'"]) == {
        "a": {"b": 1},
        "soil": {"k_c": 900, "name": "dry-sand"},
        "list": [1, 2000.0],
        "text": "5",
    }


CHANGES = [
    "soil=clay",
    "soil.k_c=900",
    "soil.n=0.8",
    "wheel.radius=20 cm",
    "slip=-1e-1",
    "wheel={width: 0.3}",
]


@given(st.permutations(CHANGES))
def test_order_of_options_does_not_matter(changes):
    assert settings(*changes) == settings(*CHANGES)
    assert parse_overrides(changes) == parse_overrides(CHANGES)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_survives_an_option(number):
    assert parse_overrides([f"a={number!r}"]) == {"a": number}


@pytest.mark.parametrize("options", [["a=1", "a=2"], ["soil=clay", "soil.name=dry-sand"], ["a=1", "a.b=2"]])
def test_options_that_contradict_are_refused(options):
    for order in (options, options[::-1]):
        with pytest.raises(InputError, match=r"--set .* contradicts --set "):
            parse_overrides(order)


@pytest.mark.parametrize("option", ["abc", "=3", "a..b=1", "a b=1", ".a=1"])
def test_what_is_no_option_is_refused(option):
    with pytest.raises(InputError, match="allowed is path=value"):
        parse_overrides([option])


@pytest.mark.parametrize("option", ["initial_file=\udcff", "soil=\udcff", "wheel.\udcff=1"])
def test_bytes_that_are_no_text_are_refused(option):
    """Python turns them into halves of characters, which no recording can hold."""
    with pytest.raises(InputError, match=r"holds bytes that are not UTF-8 text|allowed is path=value"):
        parse_overrides([option])


def test_one_field_keeps_the_rest_of_the_default():
    changed = settings("wheel.width=0.2", "soil.n=1.5")
    assert changed.wheel == fake_rig.Wheel(radius=0.15, width=0.2)
    assert changed.soil.resolve() == soil("dry-sand").replace(k_c=1000, n=1.5)


def test_a_soil_by_name_starts_from_that_soil():
    assert settings("soil=clay").soil.resolve() == soil("clay")
    assert settings("soil=clay", "soil.k_c=900").soil.resolve() == soil("clay").replace(k_c=900)


def test_units_are_converted_where_a_field_declares_one():
    changed = settings("wheel.radius=20 cm", "step=5 ms", "soil.cohesion=1.2 kPa", "soil.friction_angle_deg=0.5 rad")
    assert changed.wheel.radius == pytest.approx(0.2, rel=1e-12)
    assert changed.step == pytest.approx(0.005, rel=1e-12)
    assert changed.soil.cohesion == pytest.approx(1200, rel=1e-12)
    assert changed.soil.friction_angle_deg == pytest.approx(28.64788975654116, rel=1e-12)


def test_bounds_hold_after_conversion():
    assert error_lines(fake_rig.NAME, "wheel.radius=-2 cm") == ["--set wheel.radius=-2 cm: must be greater than 0"]


@pytest.mark.parametrize("word", ["none", "None", "null", "~"])
def test_no_wheel_friction_is_the_soils_own_limit(word):
    assert settings(f"soil.wheel_friction={word}").soil.resolve().wheel_friction is None
    assert settings("soil.wheel_friction=0.4").soil.resolve().wheel_friction == 0.4


def test_none_is_a_word_where_a_field_knows_it():
    assert settings("event=none", "window=none").event == "none"
    assert settings("event=none", "window=none").window is None


def test_settings_of_a_recording_give_the_same_settings_again():
    changed = settings("soil.wheel_friction=none", "wheel.width=0.2", "window=[1, 2]")
    stored = json.loads(json.dumps(changed.model_dump(mode="json")))
    assert from_python(fake_rig.NAME, stored).settings == changed
    assert "n" not in stored["soil"]  # not given, so the named soil's own
    assert "wheel_friction" in stored["soil"]  # given as none, which a soil with a friction would not mean


def test_python_settings_may_be_nested_or_dotted():
    nested = from_python(fake_rig.NAME, {"wheel": {"width": 0.2}, "soil": "clay"}).settings
    assert nested == from_python(fake_rig.NAME, {"wheel.width": 0.2, "soil.name": "clay"}).settings
    with pytest.raises(InputError, match=r"^setting slip=7: must be less than or equal to 1$"):
        from_python(fake_rig.NAME, {"slip": 7})


def test_all_wrong_options_are_told_at_once():
    lines = error_lines(
        fake_rig.NAME,
        "wheel.raduis=1",
        "mode=towd",
        "slip=2",
        "soil.k_c=-1",
        "wheel.width=3 kg",
        "erosion=7",
        "window=3",
    )
    assert lines == [
        "--set soil.k_c=-1: allowed is a finite number at least 0",
        "--set wheel.width=3 kg: has another dimension: allowed is a number in m or a text such as '3 m'",
        "--set wheel.raduis=1: unknown field, did you mean 'radius'?; allowed: radius, width",
        "--set mode=towd: not known, did you mean 'towed'?; allowed: towed, driven, forced-slip",
        "--set slip=2: must be less than or equal to 1",
        "--set erosion=7: must be a boolean, unable to interpret input",
        "--set window=3: must be a tuple",
    ]


@pytest.mark.parametrize("value", ["true", "nan", ".nan", ".inf", "fast", "[1]", "null"])
def test_only_finite_numbers_are_numbers(value):
    (line,) = error_lines(fake_rig.NAME, f"slip={value}")
    assert line.startswith(f"--set slip={value}: must be a ")


def test_a_misspelt_soil_is_offered_the_nearest():
    (line,) = error_lines(fake_rig.NAME, "soil=dri-sand")
    assert line.startswith("--set soil=dri-sand: soil 'dri-sand' is not known, did you mean 'dry-sand'?; allowed: ")


@pytest.mark.parametrize("name", ["fakerig", "fake_rig"])
def test_a_misspelt_scenario_is_offered_the_nearest(name):
    assert error_lines(name) == [
        f"scenario {name!r} is not known, did you mean 'fake-rig'?; allowed: fake-rig, or a YAML file"
    ]


def written(folder: Path, text: str) -> Path:
    file = folder / "s.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_file_with_its_own_soils(tmp_path):
    file = written(
        tmp_path,
        """
scenario: fake-rig
settings:
  soil: {name: mine, k_c: 4}
  wheel: {radius: 3e-1}
soils:
  mine: {like: dry-sand, n: 0.9, cohesion: 2 kPa}
""",
    )
    read = from_command(str(file)).settings
    assert read.soil.resolve() == soil("dry-sand").replace(name="mine", n=0.9, cohesion=2000.0, k_c=4)
    assert read.wheel == fake_rig.Wheel(radius=0.3)
    assert from_python(fake_rig.NAME, read.model_dump(mode="json")).settings == read, "the settings say all"
    changed = from_command(str(file), ["soil.n=1.2", "wheel.radius=0.4"]).settings
    assert changed.soil.n == 1.2
    assert changed.wheel.radius == 0.4
    assert from_command(str(file), ["soil=clay"]).settings.soil.resolve() == soil("clay").replace(k_c=4)


def test_soils_of_a_file_of_their_own_lie_beside_the_scenario(tmp_path):
    (tmp_path / "soils.yaml").write_text("mine: {like: clay, n: 0.9}\nother: {like: clay}\n", encoding="utf-8")
    file = written(tmp_path, "scenario: fake-rig\nsettings:\n  soil: {file: soils.yaml, name: mine, k_c: 5}\n")
    assert from_command(str(file)).settings.soil.resolve() == soil("clay").replace(name="mine", n=0.9, k_c=5)
    direct = settings(f"soil.file={tmp_path / 'soils.yaml'}", "soil.name=other").soil.resolve()
    assert direct == soil("clay").replace(name="other")
    (line,) = error_lines(fake_rig.NAME, f"soil.file={tmp_path / 'soils.yaml'}", "soil=mien")
    assert "did you mean 'mine'?" in line


def test_a_whole_soil_needs_no_known_name():
    constants = {"n": 1, "k_c": 2, "k_phi": 3, "cohesion": 4, "friction_angle_deg": 5, "shear_modulus": 6}
    assert SoilChoice(name="mine", **constants).resolve().k_phi == 3


def test_all_errors_of_a_file_stand_with_their_places(tmp_path):
    file = written(
        tmp_path,
        """\
scenario: fake-rig
setings: 3
settings:
  soil: {name: mine, k_d: 4}
  wheel:
    radius: -1
    widht: 2
  slip: 5
soils:
  mine: {like: dry-sandd, n: 3}
  other: {n: 3, k_c: -3}
""",
    )
    expected = [
        "2:1: setings: unknown field, did you mean 'settings'?; allowed: scenario, settings, soils",
        "10:3: soil 'mine': like 'dry-sandd' is not known, did you mean 'dry-sand'?; allowed: ",
        "11:22: soils.other.k_c = -3: allowed is a finite number at least 0",
        "4:22: soil.k_d: unknown field, did you mean 'k_c'?; allowed: ",
        "6:13: wheel.radius = -1: must be greater than 0",
        "7:5: wheel.widht: unknown field, did you mean 'width'?; allowed: radius, width",
        "--set mode=x: not known; allowed: towed, driven, forced-slip",
        "8:9: slip = 5: must be less than or equal to 1",
    ]
    lines = error_lines(file, "mode=x")
    assert len(lines) == len(expected)
    for start, line in zip(expected, lines, strict=True):
        assert line.startswith(start if start.startswith("--set") else f"{file}:{start}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a:\n\tb: 1\n", "2:1: not readable as YAML: the line is indented with a tab"),
        ("a: [1, 2\n", "2:1: not readable as YAML: expected ',' or ']'"),
        ("a: 1\na: 2\n", "2:1: a is given twice, first at {file}:1:1"),
        ("a: b: c\n", "1:5: not readable as YAML: mapping values are not allowed here"),
        ("- 1\n", "1:1: holds a list: allowed is a mapping"),
        ("5\n", "1:1: holds a single value: allowed is a mapping"),
        ("a: 1\n---\nb: 2\n", "2:1: not readable as YAML: but found another document"),
        ("a: &x [*x]\n", "1:8: an alias that contains itself"),
        ("a: !thing 1\n", "1:4: tag !thing"),
        ("{a: 1}: 2\n", "1:1: a mapping as a key"),
        ("", "1:1: scenario: missing; allowed: fake-rig"),
        ("scenario: fake-rigg\n", "1:11: scenario = 'fake-rigg': not known, did you mean 'fake-rig'?"),
        ("scenario: fake-rig\nsettings: [1]\n", "2:11: settings = [1]: allowed is a mapping"),
        (
            "scenario: fake-rig\nsettings:\n  wheel: 3\n",
            "3:10: wheel = 3: must be a mapping; allowed fields: radius",
        ),
        ("scenario: fake-rig\nsoils: {mine: {n: 1}}\n", "2:9: soil 'mine' lacks k_c, k_phi"),
    ],
)
def test_unreadable_files(tmp_path, text, said):
    file = written(tmp_path, text)
    (line,) = error_lines(file)
    assert line.startswith(f"{file}:{said.format(file=file)}")


def test_files_that_cannot_be_read(tmp_path):
    assert error_lines(tmp_path / "no.yaml") == [f"{tmp_path / 'no.yaml'}: not readable: No such file or directory"]
    assert error_lines(tmp_path) == [f"{tmp_path}: not readable: Is a directory"]
    (tmp_path / "bytes.yaml").write_bytes(b"a: \xff\n")
    assert error_lines(tmp_path / "bytes.yaml") == [
        f"{tmp_path / 'bytes.yaml'}: not UTF-8 text: invalid start byte at byte 3"
    ]


def test_schema_describes_the_file():
    schema = file_schema(fake_rig.SCENARIO)
    json.dumps(schema)
    assert schema["properties"]["scenario"] == {"const": "fake-rig"}
    radius = schema["$defs"]["Wheel"]["properties"]["radius"]
    assert radius["x-unit"] == "m"
    assert [kind["type"] for kind in radius["anyOf"]] == ["number", "string"]
    assert radius["anyOf"][0]["exclusiveMinimum"] == 0
    soil_schema = schema["$defs"]["SoilChoice"]
    assert [kind["type"] for kind in soil_schema["anyOf"]] == ["string", "object"]


YAML_PIECES = st.sampled_from(
    ["scenario: fake-rig\n", "settings:\n", "  slip: 1\n", "soils:\n", "  a: ", "{", "}", "[", "]", "- ",
     "&x ", "*x", "\t", ": ", "!t ", "'", '"', "|\n", "<<: ", "? ", "\x00", "%", "1e5", "\n", "---\n", "é"]
)  # fmt: skip


@given(st.lists(YAML_PIECES, max_size=12).map("".join) | st.text(max_size=40))
def test_no_text_gets_past_the_checks(text):
    try:
        source = read_text(text, "s.yaml")
    except InputError as error:
        assert str(error).startswith("s.yaml")
    else:
        assert isinstance(source.tree(), dict)


@given(st.text(max_size=20).map("slip={}".format) | st.text(max_size=30))
def test_no_option_gets_past_the_checks(option):
    try:
        settings(option)
    except InputError as error:
        assert str(error).startswith("--set ")


@pytest.mark.parametrize("text", ["10**10**10 m", "2 m**10**10", "9**9**9**9"])
def test_units_are_read_and_not_calculated(text):
    """pint's own parser never comes back from these."""
    assert error_lines(fake_rig.NAME, f"wheel.radius={text}") == [
        f"--set wheel.radius={text}: is not a quantity: allowed is a number in m or a text such as '3 m'"
    ]


@pytest.mark.parametrize("digits", [400, 5000])
@pytest.mark.parametrize("path", ["wheel.radius", "seed", "soil.n"])
def test_numbers_of_many_digits(path, digits):
    (line,) = error_lines(fake_rig.NAME, f"{path}={'9' * digits}")
    assert line.startswith(f"--set {path}=999")
    assert len(line) < 400
    with pytest.raises(InputError) as caught:
        from_python(fake_rig.NAME, {path: 10**digits})
    assert len(str(caught.value)) < 400
