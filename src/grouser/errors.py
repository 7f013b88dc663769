"""Errors for users. All have one base class; each message says what is wrong, where, and what is allowed."""

import errno
from collections.abc import Iterable

MOST_LINES = 20  # largest number of mistakes in one message
LEFT_OUT = "further errors are not shown"


class GrouserError(Exception):
    """Base class of all errors that Grouser raises on purpose."""

    exit_status = 1


class InputError(GrouserError):
    """Bad input: one line naming the file or field, the value and what is allowed."""

    exit_status = 2

    @classmethod
    def of(cls, lines: Iterable[str]) -> "InputError":
        """An error with one line for each mistake, at most MOST_LINES."""
        given = [line for text in lines for line in text.splitlines()]  # a text may have several lines
        listed = [line for line in given if line != LEFT_OUT][:MOST_LINES]
        return cls("\n".join([*listed, LEFT_OUT] if len(listed) < len(given) else listed))


class RunStopped(GrouserError):
    """A run cannot continue: it diverged, exceeded a capacity, left the terrain, or a controller raised an error."""

    exit_status = 3

    def __init__(self, reason: str, *, module: str, body: str, time: float):
        super().__init__(f"run stopped at t = {time:.6g} s: {module}, body {body!r}: {reason}")
        self.reason, self.module, self.body, self.time = reason, module, body, time


# Words of Warp, NumPy, MuJoCo, the loader of libraries, the JIT, Zstandard and threads, in errors of any class.
NO_MEMORY = (
    "failed to allocate",
    "unable to allocate",
    "cannot allocate memory",
    "could not allocate memory",
    "failed to map segment",
    "memory allocation failed",
    "not enough memory",
    "can't start new thread",
)


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether an error says that memory ran out, itself or by what it was raised from."""
    while error is not None:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        text = str(error).lower()
        if not isinstance(error, GrouserError) and any(words in text for words in NO_MEMORY):
            return True
        error = error.__cause__ or error.__context__
    return False


def check_headroom(size: int) -> None:
    """Raise MemoryError unless so many bytes could be taken now: native code may crash where it gets none."""
    bytes(size)  # zeros, which the system maps without touching them; a bytearray would touch them


def out_of_memory(error: BaseException) -> str:
    """The error as one line."""
    text = next(iter(str(error).splitlines()), "")
    return f"not enough memory: {text}" if text else "not enough memory"


class RunEnded(GrouserError):
    """A run was ended early on purpose. Its recording is complete up to then."""
