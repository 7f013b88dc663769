"""Starts Warp without its messages, so that a program prints only what it has to say."""

from __future__ import annotations

import os
import sys
import tempfile
import threading

NO_DRIVER = "NVIDIA CUDA driver"  # printed on every machine without a GPU; `grouser doctor` reports it
_lock = threading.Lock()  # the output of the whole process is caught
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
    try:
        stderr = os.dup(2)
    except OSError:  # closed, as in a program without a console
        warp.init()
        return
    with tempfile.TemporaryFile() as captured:
        if sys.stderr is not None:
            sys.stderr.flush()
        os.dup2(captured.fileno(), 2)
        try:
            warp.init()
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            captured.seek(0)
            for line in captured.read().decode(errors="replace").splitlines():
                if sys.stderr is not None and NO_DRIVER not in line:
                    sys.stderr.write(f"{line}\n")
