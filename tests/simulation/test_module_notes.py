"""Notes on bodies: one line for each text."""

from __future__ import annotations

from grouser.simulation.module_notes import NAMED, ModuleNotes, grouped


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


def test_notes_that_differ_in_their_subject_only_share_a_line():
    servo = " got a velocity servo [rad/s], no limit"
    notes = ["step 2 ms", *(f"joint 'j{k}'{servo}" for k in range(8)), "link 'a' has no shape", "link 'b' has no shape",
             "body 'x' was fixed", "body 'y' is fixed"]  # fmt: skip
    assert grouped(notes) == [
        "step 2 ms",
        f"joints 'j0', 'j1', 'j2', 'j3', 'j4', 'j5' and 2 more{servo}",
        "links 'a', 'b' have no shape",
        "body 'x' was fixed",
        "body 'y' is fixed",
    ]
