"""Starts Warp without its start-up messages, so that a command prints only about the run."""

from __future__ import annotations

import os
import sys
import tempfile

NO_DRIVER = "NVIDIA CUDA driver"  # printed on every machine without a GPU; `grouser doctor` reports it


def start_warp() -> None:
    """Initialise Warp. Its stderr output is passed on, except the line about the missing driver."""
    import warp

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
                    print(line, file=sys.stderr)
