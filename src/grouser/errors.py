"""Every error a user can meet has one root and says what, where and what is allowed."""

from collections.abc import Iterable

MOST_LINES = 20  # of mistakes that are told at once
LEFT_OUT = "further mistakes are left out"


class GrouserError(Exception):
    """Root of all errors Grouser raises on purpose."""

    exit_status = 1


class InputError(GrouserError):
    """Bad input: one line naming the file or field, the value and what is allowed."""

    exit_status = 2

    @classmethod
    def of(cls, lines: Iterable[str]) -> "InputError":
        """Several mistakes, a line each; of many the first ones."""
        given = [line for text in lines for line in text.splitlines()]  # some may stand for several themselves
        told = [line for line in given if line != LEFT_OUT][:MOST_LINES]
        return cls("\n".join([*told, LEFT_OUT] if len(told) < len(given) else told))


class RunStopped(GrouserError):
    """A run that cannot go on: diverged, capacity exceeded, left the terrain, a controller raised."""

    exit_status = 3

    def __init__(self, reason: str, *, module: str, body: str, time: float):
        super().__init__(f"run stopped at t = {time:.6g} s: {module}, body {body!r}: {reason}")
        self.reason, self.module, self.body, self.time = reason, module, body, time


class RunEnded(GrouserError):
    """A run was ended on purpose, before its time; what it recorded is whole."""
