"""Times of the stages inside the kernels of per_world.py, for benchmarks: off, and then free, in every other run."""

from __future__ import annotations

from typing import Any

import warp as wp

from grouser.contact.soil.stages import COMMIT, EVALUATE
from grouser.contact.soil.types import Options

ON, LAST, FIRST = range(3)  # entries of Options.laps: 1 if stages are timed; time of the last lap; first stage
LENGTH = FIRST + len(COMMIT) + len(EVALUATE)

# The counter of the processor. It runs at a constant rate, which the host finds.
TICKS = """
#if defined(__CUDA_ARCH__)
    return clock64();
#elif defined(__aarch64__)
    long long ticks;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return __builtin_readcyclecounter();
#endif
"""


@wp.func_native(TICKS)
def ticks() -> wp.int64: ...


@wp.func
def begin_lap(o: Options):
    """Start the clock of the stages."""
    if o.laps[ON] == wp.int64(1):
        o.laps[LAST] = ticks()


@wp.func
def end_lap(o: Options, stage: int):
    """Add the time since the last lap to a stage; those of evaluate follow those of commit."""
    if o.laps[ON] == wp.int64(1):
        now = ticks()
        o.laps[FIRST + stage] = o.laps[FIRST + stage] + now - o.laps[LAST]
        o.laps[LAST] = now


def lap_array(device: Any) -> wp.array:
    """Value of Options.laps, with the clock off."""
    return wp.zeros(LENGTH, dtype=wp.int64, device=device)
