"""Starts Warp and loads its kernels without their messages, so that a program prints only what it has to say."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grouser.errors import check_headroom, is_out_of_memory

ONE_THREAD = 1  # block size of kernels on a CPU, by which they are kept
COMPILING = 512 << 20  # [bytes] that the compiler of the largest module takes at most, with a margin
NO_DRIVER = "NVIDIA CUDA driver"  # printed on every machine without a GPU; `grouser doctor` reports it
_lock = threading.RLock()  # the output of the whole process is caught
_started = False


def start_warp() -> None:
    """Initialise Warp, once. Its stderr output is passed on, except the line about the missing driver.

    Warp then reports errors only, unless `warp.config.log_level` is other than Warp's default.
    """
    global _started
    with _lock:
        if not _started:
            _start()
            _started = True


def _start() -> None:
    import warp

    if warp.config.log_level == warp.LOG_INFO:  # Warp's default
        warp.config.log_level = warp.LOG_ERROR
    with caught_errors() as caught:
        warp.init()
    caught.pass_on(but=NO_DRIVER)


@contextmanager
def kernels_load(name: str) -> Iterator[None]:
    """Raise MemoryError if memory runs out while kernels are compiled, loaded or looked up.

    The compiler says so in lines of its own, which are left out; Warp then raises an error of another kind.
    """
    with _lock:
        failed = None
        with caught_errors() as caught:
            try:
                yield
            except Exception as error:
                failed = error
        if failed is not None and (is_out_of_memory(failed) or is_out_of_memory(RuntimeError(caught.text))):
            raise MemoryError(f"kernels of {name} cannot be loaded") from failed
        caught.pass_on()
        if failed is not None:
            raise failed


def check_room_to_compile(module: Any) -> None:
    """Raise MemoryError if a module has to be compiled with too little memory: the compiler would end the process."""
    import warp

    try:
        check_headroom(COMPILING)
    except MemoryError:
        compiled = Path(warp.config.kernel_cache_dir or "") / module.get_module_identifier(ONE_THREAD)
        if not compiled.is_dir():
            text = f"kernels of {module.name} have to be compiled, which may take {COMPILING >> 20} MiB"
            raise MemoryError(text) from None


@dataclass
class Caught:
    """What was written to the standard error of this process, also by native code."""

    text: str = ""

    def pass_on(self, but: str = "\0") -> None:
        """Print the lines now, except those that contain `but`."""
        for line in self.text.splitlines():
            if sys.stderr is not None and but not in line:
                sys.stderr.write(f"{line}\n")


@contextmanager
def caught_errors() -> Iterator[Caught]:
    """Catch what is written to the standard error of this process in the block."""
    caught = Caught()
    try:
        stderr = os.dup(2)
    except OSError:  # closed, as in a program without a console
        yield caught
        return
    with tempfile.TemporaryFile() as file:
        if sys.stderr is not None:
            sys.stderr.flush()
        os.dup2(file.fileno(), 2)
        try:
            yield caught
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            file.seek(0)
            caught.text = file.read().decode(errors="replace")
