"""How long a soil from twelve wheel runs takes on two cores, from the shell and back: `make bench NAME=twelve-runs`.

`grouser identify examples/wheel-runs.yaml --workers 2` with all that is the default: 900 runs, page and figures.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.run import Row

BAR = 600.0  # [s] of wall time, kernels compiled
DATA = Path(__file__).parents[1] / "examples" / "wheel-runs.yaml"
COMMAND = [sys.executable, "-c", "from grouser.cli import main; main()", "identify", str(DATA), "--workers", "2"]


def measure() -> list[Row]:
    return [Row("twelve-runs", "grouser identify examples/wheel-runs.yaml", timed(), "s", BAR)]


def timed() -> float:
    """[s] of the whole command."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        subprocess.run([*COMMAND, "--out", str(Path(folder) / "out")], check=True, capture_output=True)
        return time.perf_counter() - started
