"""How long one waits: import, and the first step of a scenario with kernels in the cache and without."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from benchmarks.run import Row

IMPORT_BAR, WARM_BAR, COLD_BAR = 0.5, 3.0, 30.0  # [s]


def measure() -> list[Row]:
    warm = "from grouser.scenarios.single_wheel import SingleWheel, build; build(SingleWheel()).step()"
    python(warm)
    with tempfile.TemporaryDirectory() as empty:
        cold = python(warm, WARP_CACHE_PATH=empty)
    return [
        Row("start-up", "import grouser", best("import grouser") - best("pass"), "s", IMPORT_BAR),
        Row("start-up", "first step of single-wheel, kernels in the cache", best(warm), "s", WARM_BAR),
        Row("start-up", "first step of single-wheel, kernels compiled", cold, "s", COLD_BAR),
    ]


def best(code: str, repeats: int = 3) -> float:
    return min(python(code) for _ in range(repeats))


def python(code: str, **environment: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=os.environ | environment)
    return time.perf_counter() - start
