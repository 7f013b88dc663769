"""Exit status of the command line, and errors as one line on standard error.

0 success; 1 a missed expectation or bar, a failed case of a sweep or an internal error; 2 bad input, or a machine that
refuses files or memory; 3 a stopped run; 130 Ctrl-C.
"""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from io import TextIOWrapper
from typing import Any

from typer.exceptions import Abort, TyperException

from grouser.errors import GrouserError, RunStopped, check_headroom, is_out_of_memory, out_of_memory
from grouser.files import REFUSED

HEADROOM = 32 << 20  # [bytes] that a command takes at least
BAD_INPUT, FAILED, STOPPED, INTERRUPTED = 2, 1, RunStopped.exit_status, 130


def run_process(status: Callable[[list[str]], int]) -> int:
    """Run the command line of this process. Returns its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without the minus sign prints a question mark
    ended = _flush_output(status(sys.argv[1:]) if _has_headroom() else BAD_INPUT)
    gc.freeze()  # skip the final garbage collection: the process ends here
    file_lock = sys.modules.get("grouser.recording.file_lock")
    abandoned = file_lock is not None and file_lock.ABANDONED
    failed = ended in (BAD_INPUT, STOPPED) and "h5py" in sys.modules
    if abandoned or failed:  # after a call that has failed HDF5 may crash when the process exits
        if sys.stderr is not None:
            sys.stderr.flush()
        os._exit(ended)
    return ended


def _has_headroom() -> bool:
    """Whether there is memory for what commands load; else it is said in one line. NumPy and HDF5 would crash."""
    try:
        check_headroom(HEADROOM)
    except MemoryError:
        _print_error(f"not enough memory: a command needs {HEADROOM >> 20} MB", BAD_INPUT)
        return False
    return True


def _flush_output(ended: int) -> int:
    """Flush standard output. A write error becomes the exit status."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has gone
        ended = ended or FAILED
    except OSError as error:
        ended = ended or _print_error(f"cannot write: {error.strerror}", BAD_INPUT)
    else:
        return ended
    if sys.stdout is not None:
        with suppress(OSError):
            sys.stdout.close()
    sys.stdout = None
    return ended


@contextmanager
def _short_warnings() -> Iterator[None]:
    """Print each warning of a library once, as one line without its source code."""
    said: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        line = f"note: {' '.join(str(message).split())}"
        if line not in said and sys.stderr is not None:
            said.add(line)
            print(line, file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


@contextmanager
def _one_line_each() -> Iterator[None]:
    """Short warnings. Tracebacks that h5py prints where it frees an object are left out if memory has run out."""
    held: list[Callable[[], Any]] = []
    unraisable, uncaught = sys.unraisablehook, sys.excepthook
    sys.unraisablehook = lambda error: held.append(lambda: unraisable(error))
    sys.excepthook = lambda *error: held.append(lambda: uncaught(*error))
    try:
        with _short_warnings():
            yield
    except BaseException as error:
        if is_out_of_memory(error):
            held.clear()
        raise
    finally:
        sys.unraisablehook, sys.excepthook = unraisable, uncaught
        for show in held:
            show()


def status_of(app: Any, arguments: list[str]) -> int:
    """Run one command line of a Typer app and return its exit status. Every error is printed as one line."""
    try:
        with _one_line_each() if "--debug" not in arguments else nullcontext():
            return int(app(arguments, prog_name="grouser", standalone_mode=False) or 0)
    except GrouserError as error:
        return _print_error(str(error), error.exit_status)
    except (KeyboardInterrupt, Abort):
        return _print_error("interrupted", INTERRUPTED)
    except TyperException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "grouser"
        return _print_error(f"{error.format_message().rstrip('.')} (see {command} --help)", BAD_INPUT)
    except BrokenPipeError:  # the reader of our output has gone
        sys.stdout = None
        return FAILED
    except Exception as error:
        if "--debug" in arguments:
            raise
        if is_out_of_memory(error):
            return _print_error(out_of_memory(error), BAD_INPUT)
        if isinstance(error, OSError) and error.errno in REFUSED:
            return _print_error(f"{error.filename or 'cannot write'}: {error.strerror}", BAD_INPUT)
        text = next(iter(str(error).splitlines()), "")
        return _print_error(f"{type(error).__name__}: {text} (grouser --debug shows where)", FAILED)


def _print_error(text: str, exit_status: int) -> int:
    for line in text.splitlines():
        print(f"error: {line}", file=sys.stderr)
    return exit_status
