"""Notes that say the same of several bodies, joints or actuators share one line."""

from __future__ import annotations

import re
from collections.abc import Sequence

NAMED = 6  # bodies named in a note; of more the number is given
SUBJECT = re.compile(r"(body|joint|link|actuator) '([^']*)'(.*)", re.DOTALL)
PLURALS = {"body": "bodies", "was": "were", "is": "are", "has": "have", "takes": "take"}


class ModuleNotes:
    """Adds to the notes of a simulation, and renews a line when another body gets the same note."""

    def __init__(self, notes: list[str]):
        self._notes = notes
        self._said: dict[tuple[str, str], tuple[float, list[str]]] = {}  # by module and text: first time [s], bodies

    def add(self, module: str, body: str, text: str, time: float) -> None:
        """Note that the module says `text` of a body from `time` [s] on. A second time it changes nothing."""
        first, bodies = self._said.setdefault((module, text), (time, []))
        if body in bodies:
            return
        before = _line(module, bodies, text, first)
        bodies.append(body)
        line = _line(module, bodies, text, first)
        if before in self._notes:
            self._notes[self._notes.index(before)] = line
        else:
            self._notes.append(line)

    def state(self) -> list[tuple[str, str, float, list[str]]]:
        """What has been said: module, text, first time [s], bodies."""
        return [(*key, first, list(bodies)) for key, (first, bodies) in self._said.items()]

    def restore(self, said: Sequence[tuple[str, str, float, list[str]]]) -> None:
        """Go on from `state`. The lines in the notes are not changed."""
        self._said = {(module, text): (first, list(bodies)) for module, text, first, bodies in said}


def _line(module: str, bodies: list[str], text: str, first: float) -> str:
    return f"t = {first:.3f} s: {module}, {'body' if len(bodies) == 1 else 'bodies'} {listed(bodies)}: {text}"


def listed(names: Sequence[str]) -> str:
    """The first names in quotes, and the number of the others."""
    return ", ".join(map(repr, names[:NAMED])) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def grouped(notes: Sequence[str]) -> list[str]:
    """Join notes that differ only in the body, joint, link or actuator they begin with, at the place of the first."""
    subjects: dict[tuple[str, str] | str, list[str]] = {}
    for note in notes:
        found = SUBJECT.fullmatch(note)
        if found:
            subjects.setdefault((found[1], found[3]), []).append(found[2])
        else:
            subjects.setdefault(note, [])
    return [key if isinstance(key, str) else _of_all(*key, names) for key, names in subjects.items()]


def _of_all(kind: str, said: str, names: Sequence[str]) -> str:
    """A sentence about one or several subjects: its verb, the first word, follows their number."""
    if len(names) == 1:
        return f"{kind} {names[0]!r}{said}"
    verb = said.split()[0] if said.strip() else ""
    return f"{PLURALS.get(kind, f'{kind}s')} {listed(names)}{said.replace(verb, PLURALS.get(verb, verb), 1)}"
