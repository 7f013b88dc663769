"""Notes on bodies: one line for each text."""

from __future__ import annotations

from grouser.simulation.module_notes import NAMED, ModuleNotes


def test_bodies_with_the_same_note_share_a_line():
    notes = ["before"]
    said = ModuleNotes(notes)
    said.add("soil", "a", "it is so", 1.0)
    assert notes == ["before", "t = 1.000 s: soil, body 'a': it is so"]
    notes.append("between")
    said.add("soil", "b", "it is so", 1.25)
    said.add("soil", "a", "it is so", 1.5)
    said.add("soil", "a", "it is not", 2.0)
    assert notes == [
        "before", "t = 1.000 s: soil, bodies 'a', 'b': it is so", "between", "t = 2.000 s: soil, body 'a': it is not",
    ]  # fmt: skip


def test_of_many_bodies_the_first_are_named():
    notes: list[str] = []
    said = ModuleNotes(notes)
    for k in range(NAMED + 3):
        said.add("soil", f"rock_{k}", "it is so", 0.5 + k)
    (line,) = notes
    assert f"'rock_{NAMED - 1}' and 3 more: it is so" in line
    assert f"rock_{NAMED}'" not in line
    assert line.startswith("t = 0.500 s")
