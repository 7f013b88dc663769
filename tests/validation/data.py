"""A small file of measured wheels, as text that tests change, and what is said of mistakes in such files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from grouser.errors import InputError

FILE = "bin.yaml"

TEXT = """\
format: 1
source:
  citation: Nobody 2026
  digitised: made up for tests
  uncertainty: none
soils:
  bin-sand:
    like: dry-sand
    k_phi: 1.2e6
    sources: {k_phi: assumed}
sets:
  smooth:
    title: a smooth wheel
    wheel: {radius: 15 cm, width: 0.1}
    load: 100 N
    speed: 0.2
    soil: bin-sand
    slip_of: rim
    assumed:
      wheel.width: not given
    measured:
      slip: [0.1, 0.4]
      pull: {unit: N, values: [-1, 20], uncertainty: 0.5, scored: true}
      sinkage: {unit: mm, values: [10, 20], uncertainty: 1, scored: true}
      torque: {unit: N m, values: [3, 5], uncertainty: 0.1, scored: false, reason: offset, slip: [0.1, 0.2]}
"""
LUGS = "wheel: {radius: 0.15, width: 0.1, lugs: {count: 12, height: 10 mm, thickness: 4 mm}}"


def changed(*pairs: tuple[str, str], text: str = TEXT) -> str:
    """The text with some parts replaced, each of which it must hold once."""
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def with_lugs(slip_of: str = "rim", sinkage_of: str = "rim") -> str:
    return changed(
        ("wheel: {radius: 15 cm, width: 0.1}", LUGS),
        ("slip_of: rim", f"slip_of: {slip_of}\n    sinkage_of: {sinkage_of}"),
    )


def reader_of_text(read: Callable[[Path], Any], folder: Path) -> Callable[[str], Any]:
    """A function that puts a text into a file and reads that."""

    def read_text(text: str) -> Any:
        file = folder / FILE
        file.write_text(text, encoding="utf-8")
        return read(file)

    return read_text


def mistakes(read_text: Callable[[str], Any], text: str, folder: Path, words: Sequence[str]) -> list[str]:
    """Lines of the error that a text raises: all begin with the place, and the words stand in them."""
    with pytest.raises(InputError) as caught:
        read_text(text)
    lines = str(caught.value).splitlines()
    assert all(line.startswith(f"{folder / FILE}:") for line in lines), lines
    assert [word for word in words if word not in str(caught.value)] == []
    return lines
