"""YAML that says little and means much: every file Grouser reads as YAML refuses it in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from grouser.campaign.definition import read_sweep
from grouser.errors import InputError
from grouser.robots.vehicle_file import read_vehicle
from grouser.scenarios.docking_olev import read_initial
from grouser.scenarios.settings import from_command
from grouser.scenarios.source import read_options
from grouser.terrain import load_soils
from grouser.terrain.yaml_file import DEEPEST, MOST_BYTES, MOST_VALUES

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{below}'] * 9)}]\n" for below, name in zip("abcdefgh", "bcdefghi", strict=True)
)
SELF_MERGE = "a: &x {<<: *x}\n"
NESTED = "a: " + "[" * 5000 + "]" * 5000 + "\n"
HALF = '"\\ud83d": 1\n'  # an escape that is one of two
NESTED_BLOCKS = "".join(" " * k + "a:\n" for k in range(400))
NESTED_BY_ALIASES = "a0: &a0 [x]\n" + "".join(f"a{k}: &a{k} [*a{k - 1}]\n" for k in range(1, 2000))
LONG = "a: " + "x" * MOST_BYTES + "\n"

READERS: dict[str, Callable[[Path], object]] = {
    "scenario": lambda file: from_command(str(file)),
    "sweep": read_sweep,
    "soils": load_soils,
    "vehicle": read_vehicle,
    "initial state": read_initial,
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS.keys())
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BOMB, f"more than {MOST_VALUES} values with its aliases written out"),
        (SELF_MERGE, "1:12: an alias that contains itself"),
        (NESTED, f"nested deeper than {DEEPEST}"),
        (NESTED_BLOCKS, f"nested deeper than {DEEPEST}"),
        (NESTED_BY_ALIASES, f"nested deeper than {DEEPEST}"),
        (LONG, f"longer than {MOST_BYTES} bytes"),
        (HALF, "holds half a character"),
    ],
    ids=["bomb", "self-merge", "nested", "nested blocks", "nested by aliases", "long", "half a character"],
)
def test_yaml_that_grows(tmp_path, read, text, words):
    file = tmp_path / "it.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read(file)
    assert str(caught.value).startswith(f"{file}:")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_bomb_is_small():
    assert len(BOMB) < 450


def test_aliases_of_a_plain_kind_are_taken(tmp_path):
    file = tmp_path / "soils.yaml"
    file.write_text("a: &a {like: clay, n: 0.6}\nb: {<<: *a, n: 0.7}\nc: *a\n", encoding="utf-8")
    soils = load_soils(file)
    assert [soils[name].n for name in "abc"] == [0.6, 0.7, 0.6]


@pytest.mark.parametrize("value", ["[" * 5000 + "]" * 5000, "{a: &x [*x]}"])
def test_options_are_yaml_too(value):
    with pytest.raises(InputError, match=r"nested deeper|contains itself"):
        read_options([f"wheel={value}"])
