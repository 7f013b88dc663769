"""Draws the figures a recording declares in its header, from nothing but the recording."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grouser.errors import InputError
from grouser.recording import Recording
from grouser.report.bars import draw_bars
from grouser.report.lines import draw_lines
from grouser.report.maps import draw_map
from grouser.report.style import DOTS_PER_INCH, FAINT, HEIGHT, STYLE, WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS: dict[str, Callable[[Axes, Recording, Mapping[str, Any]], None]] = {
    "lines": draw_lines,
    "xy": draw_lines,
    "bars": draw_bars,
    "map": draw_map,
}


def draw_figures(recording: Recording, directory: str | Path) -> list[Path]:
    """One PNG for each figure of the header, in the header's order."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    directory = Path(directory)
    declared = recording.header.get("figures", [])
    paths = [directory / f"{file_name(figure)}.png" for figure in declared]
    if len(set(paths)) < len(paths):
        raise InputError(f"figures of {recording.path}: two have the same name; names must differ")
    directory.mkdir(parents=True, exist_ok=True)
    for figure, path in zip(declared, paths, strict=True):
        drawn = draw(recording, figure)
        FigureCanvasAgg(drawn)
        with mpl.rc_context(STYLE):  # ticks are made when the figure is saved
            drawn.savefig(path, dpi=DOTS_PER_INCH, metadata={"Software": None})
    return paths


def file_name(figure: Mapping[str, Any]) -> str:
    """The figure's name with everything but letters, digits, '-' and '_' replaced."""
    name = re.sub(r"[^\w-]+", "-", str(figure.get("name", ""))).strip("-")
    if not name:
        raise InputError(f"figure name {figure.get('name')!r}; letters, digits, '-' and '_' allowed")
    return name


def draw(recording: Recording, figure: Mapping[str, Any]) -> Figure:
    """One figure, not yet on any canvas."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    kind = figure.get("kind", "lines")
    if kind not in KINDS:
        raise InputError(f"figure {figure.get('name')!r}, kind: {kind!r}; {', '.join(KINDS)} allowed")
    with mpl.rc_context(STYLE):
        drawn = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        axes = drawn.add_subplot()
        try:
            KINDS[kind](axes, recording, figure)
        except InputError as error:
            raise InputError(f"figure {figure.get('name')!r}: {error}") from None
        if figure.get("title"):
            axes.set_title(figure["title"])
        if not len(recording) and kind != "map":
            axes.text(0.5, 0.5, "no frames recorded", transform=axes.transAxes, ha="center", color=FAINT)
    return drawn
