"""How long the demo takes as a user waits for it: `grouser run exomars-drawbar`, from the shell and back."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.run import Row

BAR, LOOP_BAR = 7.0, 5.0  # [s] of wall time, kernels compiled: all of it, and the loop
REPEATS = 3
COMMAND = [sys.executable, "-c", "from grouser.cli import main; main()", "run", "exomars-drawbar"]


def measure() -> list[Row]:
    """The quickest of some; the first of them compiles what is not yet."""
    whole, loop = min(timed() for _ in range(REPEATS))
    return [
        Row("command", "grouser run exomars-drawbar, all of it", whole, "s", BAR),
        Row("command", "of it the loop, recording included", loop, "s", LOOP_BAR),
    ]


def timed() -> tuple[float, float]:
    """[s] from start to end of the process, and of the loop as the summary has it."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        start = time.perf_counter()
        subprocess.run([*COMMAND, "--out", str(out)], check=True, capture_output=True)
        whole = time.perf_counter() - start
        return whole, json.loads((out / "summary.json").read_text())["wall_s"]
