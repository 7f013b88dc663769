"""A process that draws figures: told which on its input, tells on its output how that went.

    python -m grouser.commands.draw_process '[1]'    (the processor cores it keeps to; null: any)

A line of input is {"recording": …, "figure": its place in the header, "path": …}; a line of output is DRAWN or FAILED.
Why a figure failed is not told: whoever asked draws it again and sees.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from functools import cache

from grouser.recording import Recording
from grouser.report.figures import draw_figure

DRAWN, FAILED = "drawn", "failed"


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run ends first, then it closes our input
    cores = json.loads(sys.argv[1])
    if cores:
        os.sched_setaffinity(0, cores)
    _load()
    for line in sys.stdin:
        print(_drawn(**json.loads(line)), flush=True)


def _load() -> None:
    """All that drawing needs, fonts too."""
    from matplotlib.figure import Figure

    blank = Figure(layout="constrained")
    blank.add_subplot().set_title("0")
    blank.savefig(io.BytesIO(), format="png")


def _drawn(recording: str, figure: int, path: str) -> str:
    try:
        opened = _opened(recording)
        draw_figure(opened, opened.header["figures"][figure], path)
    except Exception:
        return FAILED
    return DRAWN


@cache
def _opened(path: str) -> Recording:
    """Once for all its figures."""
    return Recording(path)


if __name__ == "__main__":
    main()
    os._exit(0)  # at once: nothing is open that could be lost
