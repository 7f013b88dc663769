"""A small file of measured wheels, as text that tests change."""

from __future__ import annotations

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


def changed(*pairs: tuple[str, str]) -> str:
    """The text with some parts replaced, each of which it must hold once."""
    text = TEXT
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def with_lugs(slip_of: str = "rim", sinkage_of: str = "rim") -> str:
    return changed(
        ("wheel: {radius: 15 cm, width: 0.1}", LUGS),
        ("slip_of: rim", f"slip_of: {slip_of}\n    sinkage_of: {sinkage_of}"),
    )
