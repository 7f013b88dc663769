"""The rough-terrain vehicle: VIVI with CDTA and battery on waves, recorded (Morrot et al.; issue bars)."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks.run import Row

FAST = 10.0  # [us] a step of 1 ms is 100 times faster than real time
PAPER = 65.0  # [us] a step of 65 us is as fast as real time
SECONDS = 10.0
REPEATS = 8  # of which the best counts, as for the reference


def measure() -> list[Row]:
    return [
        _row("1 ms steps, control and recording at 100 Hz", 1e-3, 1e-2, FAST),
        _row("65 us steps, control at 10 kHz", 65e-6, 1e-4, PAPER, SECONDS / 5),
    ]


def _row(what: str, step: float, period: float, bar: float, seconds: float = SECONDS) -> Row:
    return Row("vehicle", what, 1e6 * run(step, period, seconds), "us", bar)


def run(step: float, period: float, seconds: float) -> float:
    """[s] of wall time a step, the recording included."""
    from grouser.recording import RecordingWriter
    from grouser.scenarios.registry import scenario

    course = scenario("vivi-sinusoid")
    settings = course.settings(
        controller="cdta", step=step, control_period=period, battery_period=period, duration=20.0
    )
    best = float("inf")
    for _ in range(REPEATS):
        sim = course.build(settings)
        sim.step(100)
        with tempfile.TemporaryDirectory() as folder:
            header = {"scenario": "vivi-sinusoid", "metrics": [], "figures": []}
            writer = RecordingWriter(Path(folder) / "recording.h5", header, sim.channels(), worlds=1)
            start = time.perf_counter()
            result = sim.run(seconds, writer=writer, rate=100.0)
            best = min(best, (time.perf_counter() - start) / result.steps)
            writer.close("complete", "", {})
    return best
