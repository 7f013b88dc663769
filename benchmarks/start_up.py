"""How long one waits: import, and the first step of a scenario with kernels in the cache."""

from __future__ import annotations

import subprocess
import sys
import time

from benchmarks.run import Row

IMPORT_BAR, WARM_BAR = 0.5, 3.0  # [s]


def measure() -> list[Row]:
    warm = "from grouser.scenarios.single_wheel import SingleWheel, build; build(SingleWheel()).step()"
    python(warm)
    return [
        Row("start-up", "import grouser", best("import grouser") - best("pass"), "s", IMPORT_BAR),
        Row("start-up", "first step of single-wheel, kernels in the cache", best(warm), "s", WARM_BAR),
    ]


def best(code: str, repeats: int = 3) -> float:
    return min(python(code) for _ in range(repeats))


def python(code: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    return time.perf_counter() - start
