"""Whether a second thread makes steps shorter: tried out now and then, in compiled code.

A thread beside the caller does not always pay: the processor's other core may be half of the same one, or belong to
another process. Numbers do not depend on it, so at the start of each PERIOD some steps are run with one thread and some
with two, and the rest with whichever took less time, all of the step counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from grouser import device
from grouser.contact.soil.stage_clock import ticks
from grouser.device import array
from grouser.precision import real

MODULE = device.module("grouser.track.pace")
PERIOD = 8192  # steps after which both are tried out again
BLOCK = 128  # steps with one thread, then with two; only the second half counts, when a thread not needed sleeps
TRIAL = 4 * BLOCK
GAIN = wp.constant(real(0.98))  # of the time of one thread, below which two are worth it
LONGEST = 32  # of the shortest step: a step that lasts longer, such as one in which a user waits, counts as much
COUNT, LAST, SHORTEST, ONE, TWO, FASTER, WORDS = range(7)  # entries of the pace


@wp.kernel(module=MODULE)
def choose_threads(pace: array[wp.int64], pieces: array[int], tracks: int):
    """Set `pieces` of work to share, 1: the caller works alone. Runs at the start of each step."""
    now = ticks()
    lasted = now - pace[LAST]
    pace[LAST] = now
    n = int(pace[COUNT])
    # The step that has ended counts for the threads it ran on.
    if n > 0 and n <= TRIAL and (n - 1) % BLOCK >= BLOCK // 2:
        if pace[SHORTEST] == wp.int64(0) or lasted < pace[SHORTEST]:
            pace[SHORTEST] = lasted
        lasted = wp.min(lasted, wp.int64(LONGEST) * pace[SHORTEST])
        if pieces[0] > 1:
            pace[TWO] = pace[TWO] + lasted
        else:
            pace[ONE] = pace[ONE] + lasted
    if n == TRIAL:
        pace[FASTER] = wp.int64(0)
        if real(pace[TWO]) < GAIN * real(pace[ONE]):
            pace[FASTER] = wp.int64(1)
    if n == PERIOD:
        n = 0
        for word in range(SHORTEST, FASTER):
            pace[word] = wp.int64(0)
    share = int(pace[FASTER])
    if n < TRIAL:
        share = (n // BLOCK) % 2
    pieces[0] = wp.where(share == 1, tracks, 1)
    pace[COUNT] = wp.int64(n + 1)


def new_pace() -> wp.array:
    return wp.array(np.zeros(WORDS, np.int64), dtype=wp.int64, device="cpu")


def chosen(pace: Any) -> int:
    """Number of threads chosen by the last trial."""
    return 2 if pace.numpy()[FASTER] else 1
