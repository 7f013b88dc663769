"""A minute of fuzzing with a fixed seed; `make fuzz MINUTES=30` goes on with other seeds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SEED = 2026


@pytest.mark.long
def test_a_minute_of_fuzzing():
    command = [sys.executable, "-m", "tests.fuzz", "--minutes", "1", "--seed", str(SEED)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
