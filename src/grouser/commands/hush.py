"""Warp without its greeting: a command prints about the run, not about the library."""

from __future__ import annotations

import os
import sys
import tempfile

NO_DRIVER = "NVIDIA CUDA driver"  # said on every machine without a GPU; `grouser doctor` tells it in its own words


def start_warp() -> None:
    """Initialise Warp; what its C++ part writes to stderr is passed on, but for the missing driver."""
    import warp

    warp.config.log_level = warp.LOG_ERROR
    with tempfile.TemporaryFile() as said:
        sys.stderr.flush()
        stderr = os.dup(2)
        os.dup2(said.fileno(), 2)
        try:
            warp.init()
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            said.seek(0)
            for line in said.read().decode(errors="replace").splitlines():
                if NO_DRIVER not in line:
                    print(line, file=sys.stderr)
