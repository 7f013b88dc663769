"""Worker process that draws figures. It reads tasks from stdin and writes results to stdout.

    python -m grouser.commands.figure_worker '[1]'    (the processor cores it keeps to; null: any)

A line of input is {"recording": …, "figure": index in the header, "path": …}; a line of output is DRAWN or FAILED.
The reason for a failure is not reported: the caller draws the figure again and gets the error itself.
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
from grouser.report.style import DOTS_PER_INCH, HEIGHT, STYLE, WIDTH

DRAWN, FAILED = "drawn", "failed"


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run ends first and then closes our stdin
    cores = json.loads(sys.argv[1])
    if cores:
        os.sched_setaffinity(0, cores)
    _load()
    for line in sys.stdin:
        print(_draw(**json.loads(line)), flush=True)


def _load() -> None:
    """Load Matplotlib by drawing a figure with some of each element, which also caches fonts and glyphs."""
    import matplotlib as mpl
    import numpy as np
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import LightSource
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        blank = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        axes = blank.add_subplot()
        axes.plot([-0.5, 1.5], [0.0, 1.0], label="wheel")
        image = axes.imshow(LightSource().hillshade(np.eye(3)))
        blank.colorbar(image, cax=axes.inset_axes((1.02, 0, 0.022, 1))).set_label("[m]")
        axes.set(title="Wheel", xlabel="time [s]", ylabel="[m]")
        axes.legend(loc="best")
        blank.set_dpi(DOTS_PER_INCH)
        FigureCanvasAgg(blank).print_png(io.BytesIO())


def _draw(recording: str, figure: int, path: str) -> str:
    try:
        opened = _open_once(recording)
        draw_figure(opened, opened.header["figures"][figure], path)
    except Exception:
        return FAILED
    return DRAWN


@cache
def _open_once(path: str) -> Recording:
    """The recording, opened once for all its figures."""
    return Recording(path)


if __name__ == "__main__":
    main()
    os._exit(0)  # skip the normal clean-up: no open file could lose data
