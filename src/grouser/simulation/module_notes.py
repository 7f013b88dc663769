"""Notes on what modules say of bodies: one line for each text, however many bodies it is said of."""

from __future__ import annotations

NAMED = 6  # bodies named in a note; of more the number is given


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


def _line(module: str, bodies: list[str], text: str, first: float) -> str:
    named = ", ".join(repr(body) for body in bodies[:NAMED])
    if len(bodies) > NAMED:
        named += f" and {len(bodies) - NAMED} more"
    return f"t = {first:.3f} s: {module}, {'body' if len(bodies) == 1 else 'bodies'} {named}: {text}"
