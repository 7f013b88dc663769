"""Draws the figures that the header of a recording declares. The recording is the only input."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grouser.errors import InputError
from grouser.files import atomic_file
from grouser.recording import Recording
from grouser.report.bars import draw_bars
from grouser.report.chain import draw_chain, draw_loop
from grouser.report.lines import draw_lines
from grouser.report.maps import draw_map
from grouser.report.pieces import draw_pieces
from grouser.report.points import draw_points
from grouser.report.profiles import draw_profiles
from grouser.report.route import draw_route
from grouser.report.scene import draw_scene
from grouser.report.snapshots import draw_snapshots
from grouser.report.style import DOTS_PER_INCH, FAINT, HEIGHT, STYLE, WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS: dict[str, Callable[[Axes, Recording, Mapping[str, Any]], None]] = {
    "lines": draw_lines,
    "xy": draw_lines,
    "bars": draw_bars,
    "points": draw_points,
    "map": draw_map,
    "route": draw_route,
    "chain": draw_chain,
    "loop": draw_loop,
    "snapshots": draw_snapshots,
    "scene": draw_scene,
    "profiles": draw_profiles,
    "pieces": draw_pieces,
}
PANEL_HEIGHT, TITLE_HEIGHT = 2.6, 0.3  # inch


def draw_figures(recording: Recording, directory: str | Path) -> list[Path]:
    """Draw one PNG for each figure of the header, in its order. Returns their paths."""
    paths = figure_paths(recording, directory)
    for figure, path in zip(recording.header.get("figures", []), paths, strict=True):
        draw_figure(recording, figure, path)
    return paths


def figure_paths(recording: Recording, directory: str | Path) -> list[Path]:
    """Paths of the figures of the header, in its order. Creates the folder."""
    directory = Path(directory)
    paths = [directory / f"{file_name(figure)}.png" for figure in recording.header.get("figures", [])]
    if len(set(paths)) < len(paths):
        raise InputError(f"figures of {recording.path}: two have the same name; names must differ")
    directory.mkdir(parents=True, exist_ok=True)
    return paths


def draw_figure(recording: Recording, figure: Mapping[str, Any], path: str | Path) -> None:
    """Draw one figure and write it as PNG."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    drawn = draw(recording, figure)
    canvas = FigureCanvasAgg(drawn)
    with mpl.rc_context(STYLE):  # ticks are made when the figure is saved
        if figure.get("kind") in ("map", "route"):
            drawn.draw_without_rendering()  # the layout knows the size of the ticks only after a first pass
        drawn.set_dpi(DOTS_PER_INCH)
        with atomic_file(Path(path)) as part:
            canvas.print_png(part, metadata={"Software": None})  # faster: savefig would draw everything twice


def file_name(figure: Mapping[str, Any]) -> str:
    """Name of the figure with all characters replaced except letters, digits, '-' and '_'."""
    name = re.sub(r"[^\w-]+", "-", str(figure.get("name", ""))).strip("-")
    if not name:
        raise InputError(f"figure name {figure.get('name')!r}; allowed: letters, digits, '-' and '_'")
    return name


def draw(recording: Recording, figure: Mapping[str, Any]) -> Figure:
    """Draw one figure without a canvas."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        drawn = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        try:
            if figure.get("kind") == "panels":
                _draw_panels(drawn, recording, figure)
            else:
                _draw_on(drawn.add_subplot(), recording, figure, KINDS)
        except InputError as error:
            raise InputError(f"figure {figure.get('name')!r}: {error}") from None
    return drawn


def _draw_on(axes: Axes, recording: Recording, figure: Mapping[str, Any], allowed: Mapping[str, Callable]) -> None:
    kind = figure.get("kind", "lines")
    if kind not in allowed:
        raise InputError(f"kind: {kind!r}; allowed: {', '.join(allowed)}{' (or panels)' if allowed is KINDS else ''}")
    allowed[kind](axes, recording, figure)
    if figure.get("title"):
        axes.set_title(figure["title"])
    if not len(recording) and kind not in ("map", "route", "pieces"):
        axes.text(0.5, 0.5, "no frames recorded", transform=axes.transAxes, ha="center", color=FAINT)


def _draw_panels(drawn: Figure, recording: Recording, figure: Mapping[str, Any]) -> None:
    """Draw several line plots or bar charts as a grid, row by row, on one scale unless `same_scale` is false."""
    panels, columns = figure.get("panels") or (), int(figure.get("columns", 2))
    if not panels or columns < 1:
        raise InputError(f"{len(panels)} panels in {columns} columns; allowed: at least 1 of both")
    rows, same = -(-len(panels) // columns), bool(figure.get("same_scale", True))
    drawn.set_size_inches(WIDTH, PANEL_HEIGHT * rows + TITLE_HEIGHT)
    grid = drawn.subplots(rows, columns, squeeze=False, sharex=same, sharey=same)
    flat = {kind: how for kind, how in KINDS.items() if kind not in ("map", "route")}
    for axes, panel in zip(grid.flat, panels, strict=False):
        _draw_on(axes, recording, panel, flat)
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_visible(False)
    if figure.get("title"):
        drawn.suptitle(figure["title"], x=0.01, ha="left", fontsize=10.5, fontweight="bold")
