"""Starts Warp without its messages, so that a program prints only what it has to say."""

from __future__ import annotations

import os
import sys
import tempfile
from functools import cache

NO_DRIVER = "NVIDIA CUDA driver"  # printed on every machine without a GPU; `grouser doctor` reports it


@cache
def start_warp() -> None:
    """Initialise Warp, once. Its stderr output is passed on, except the line about the missing driver.

    A log level that is set already (`warp.config.log_level`) stays as it is.
    """
    import warp

    if warp.config.log_level == warp.LOG_INFO:  # Warp's own default
        warp.config.log_level = warp.LOG_ERROR
    with tempfile.TemporaryFile() as captured:
        sys.stderr.flush()
        stderr = os.dup(2)
        os.dup2(captured.fileno(), 2)
        try:
            warp.init()
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            captured.seek(0)
            for line in captured.read().decode(errors="replace").splitlines():
                if NO_DRIVER not in line:
                    sys.stderr.write(f"{line}\n")
