"""Figures of a sweep: each metric against each parameter, and a map if a grid has two parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.files import atomic_file
from grouser.report.figures import file_name
from grouser.report.style import COLOURS, DASHES, DOTS_PER_INCH, FAINT, STYLE, WIDTH
from grouser.report.sweep.table import Row, SweepTable, is_number, value_key
from grouser.report.wording import number, unit_text, value_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS_ABREAST = 3
PANEL_HEIGHT, SINGLE_HEIGHT, LEGEND_LINE, TITLE_HEIGHT = 2.9, 4.0, 0.13, 0.4  # inch
CELLS_LABELLED = 120  # cells of a map; with more, the numbers in them would not be readable
LETTERS_LEVEL = 24  # labels along an axis are slanted if they have more characters than this in all
VALUES_TICKED = 5  # a parameter with at most this many values has a tick for each
LEAST_SAMPLES = 5  # for a rank correlation
SMALL: dict[str, Any] = {"fontsize": 6.5, "handlelength": 1.8, "labelspacing": 0.25, "borderaxespad": 0.0}
SCALE = ("#f4efe2", "#9fc3cf", "#2b6c99", "#16324a")  # from low to high


@dataclass(frozen=True)
class Drawn:
    path: Path
    title: str
    caption: str


def draw_sweep(table: SweepTable, directory: Path) -> list[Drawn]:
    """Draw one PNG per metric, and a map if the grid has two parameters. Figures no longer wanted are deleted."""
    directory.mkdir(parents=True, exist_ok=True)
    for metric in dict.fromkeys(name for row in table.rows for name in row.metrics):
        for old in (directory / f"{file_name({'name': metric})}{end}.png" for end in ("", "-map")):
            old.unlink(missing_ok=True)
    done = []
    grid = table.about["method"] == "grid"
    varied = [path for path in table.parameters if len(table.steps[path]) > 1]
    shown = varied or table.parameters
    for metric in table.drawn_metrics():
        title = f"{metric} against {', '.join(shown)}"
        caption = _caption(grid, len(varied))
        name = file_name({"name": metric})
        done.append(Drawn(directory / f"{name}.png", title, caption))
        _save(lambda figure, metric=metric: _panels(figure, table, metric, shown), done[-1].path)
        if grid and len(varied) == 2:
            title = f"{metric} over {varied[0]} and {varied[1]}"
            done.append(
                Drawn(directory / f"{name}-map.png", title, "Every cell is a case; crossed ones have no result.")
            )
            _save(lambda figure, metric=metric: _map(figure, table, metric, varied), done[-1].path)
    return done


def _caption(grid: bool, varied: int) -> str:
    if not grid:
        return "Every point is a case; ρ is Spearman's rank correlation: the effect of one parameter among all others."
    return "Lines join cases that differ in this parameter only." if varied > 1 else ""


def _save(draw: Callable[[Figure], None], path: Path) -> None:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(layout="constrained")
        draw(figure)
        FigureCanvasAgg(figure)
        figure.draw_without_rendering()  # ticks change once after the first layout
        with atomic_file(path) as part:
            figure.savefig(part, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})


def _panels(figure: Figure, table: SweepTable, metric: str, paths: Sequence[str]) -> None:
    """Draw the metric against each parameter, side by side on one scale, with a legend below each panel."""
    grid = table.about["method"] == "grid"
    down = math.ceil(len(paths) / PANELS_ABREAST)
    across = math.ceil(len(paths) / down)
    legend = LEGEND_LINE * max(1, *(_legend_lines(table, path) for path in paths)) if grid else LEGEND_LINE
    figure.set_size_inches(WIDTH, (PANEL_HEIGHT + legend) * down + TITLE_HEIGHT if across > 1 else SINGLE_HEIGHT)
    places = figure.add_gridspec(2 * down, across, height_ratios=[PANEL_HEIGHT, legend] * down)
    values = [row.metrics[metric] for row in table.complete if is_number(row.metrics.get(metric))]
    first = None
    for k, path in enumerate(paths):
        row, column = divmod(k, across)
        axis = _Axis(table, path)
        panel = figure.add_subplot(places[2 * row, column], sharey=first)
        first = first or panel
        (_grid_lines if grid else _points)(panel, table, metric, axis)
        axis.label(panel)
        if min(values) < 0 < max(values):
            panel.axhline(0, color=FAINT, linewidth=0.8, zorder=1)
        panel.margins(x=0.06 if axis.numeric else 0.2, y=0.08)
        panel.tick_params(labelleft=column == 0)
        unit = unit_text(table.units[metric])
        panel.set_ylabel(f"[{unit}]" if unit and column == 0 else "")
        below = figure.add_subplot(places[2 * row + 1, column])
        below.set_axis_off()
        if grid and (entries := _legend(table, path)):
            below.legend(handles=entries, loc="upper center", **SMALL)
    if not grid and (entries := _legend(table, paths[0])):
        figure.legend(handles=entries, loc="outside lower center", ncols=len(entries), **SMALL)
    figure.suptitle(metric, x=0.01, ha="left", fontsize=STYLE["axes.titlesize"], fontweight="bold")


class _Axis:
    """Positions of the values of a parameter on an axis: numbers to scale, texts evenly spaced."""

    def __init__(self, table: SweepTable, path: str):
        self.path, self.title = path, table.label(path)
        self.values = table.steps[path]
        self.numeric = all(map(is_number, self.values))

    def place(self, row: Row) -> float:
        value = row.parameters[self.path]
        return float(value) if self.numeric else float(self.values.index(value))

    def label(self, axes: Axes) -> None:
        axes.set_xlabel(self.title)
        if not self.numeric:
            ticks(axes, "x", self.values)
        elif len(self.values) <= VALUES_TICKED:
            axes.set_xticks(self.values, [value_text(value) for value in self.values])
        elif min(self.values) > 0 and _is_logarithmic(self.values):
            axes.set_xscale("log")


def _is_logarithmic(values: Sequence[float]) -> bool:
    """Whether the values suit a logarithmic axis: spaced by factors, over a decade or more."""
    steps, wide = np.diff(values), values[-1] / values[0] >= 10
    return bool(wide and steps[-1] > 3 * steps[0] and np.all(np.diff(steps) > 0))


def ticks(axes: Axes, which: str, values: Sequence[Any]) -> None:
    """Set one tick, labelled with its value, for each of the values."""
    words = [value_text(value) for value in values]
    places = range(len(words))
    if which == "y":
        axes.set_yticks(places, words)
        return
    slanted = sum(map(len, words)) > LETTERS_LEVEL
    axes.set_xticks(places, words, rotation=35 if slanted else 0, ha="right" if slanted else "center")


def _colour_and_dash(table: SweepTable, path: str) -> tuple[list[str], str | None, str | None]:
    """The other parameters that vary, the one shown by colours and the one shown by dashes; None if there are too few.

    For the lines of a grid these are the next two parameters. For points, colours show the first parameter whose
    values are texts, the same in all panels.
    """
    if table.about["method"] != "grid":
        words = [
            p for p, steps in table.steps.items() if 1 < len(steps) <= len(COLOURS) and not all(map(is_number, steps))
        ]
        return [], words[0] if words else None, None
    k = table.parameters.index(path)
    others = [p for p in (*table.parameters[k + 1 :], *table.parameters[:k]) if len(table.steps[p]) > 1]
    coloured = others[0] if others and len(table.steps[others[0]]) <= len(COLOURS) else None
    dashed = others[1] if coloured and len(others) > 1 and len(table.steps[others[1]]) <= len(DASHES) else None
    return others, coloured, dashed


def _legend_lines(table: SweepTable, path: str) -> int:
    shown = [p for p in _colour_and_dash(table, path)[1:] if p is not None]
    return sum(len(table.steps[p]) + 1 for p in shown)


def _grid_lines(axes: Axes, table: SweepTable, metric: str, axis: _Axis) -> None:
    """Draw one line for each combination of the other parameters. Colour and dashes show the next two of them."""
    others, coloured, dashed = _colour_and_dash(table, axis.path)
    lines: dict[tuple[Any, ...], list[Row]] = {}
    for row in table.complete:
        if is_number(row.metrics.get(metric)):
            lines.setdefault(tuple(value_key(row.parameters[path]) for path in others), []).append(row)
    for rows in lines.values():
        rows.sort(key=axis.place)
        base: dict[str, Any] = {
            "color": _of(table, coloured, rows[0], COLOURS) if coloured or not others else FAINT,
            "linestyle": _of(table, dashed, rows[0], DASHES),
            "linewidth": 1.5 if len(lines) <= 2 * len(COLOURS) else 0.8,
        }
        style: Any = base if axis.numeric else base | {"linestyle": "none"}
        axes.plot(
            [axis.place(row) for row in rows],
            [row.metrics[metric] for row in rows],
            marker="o",
            markersize=3.5,
            **style,
        )


def _of(table: SweepTable, path: str | None, row: Row, styles: Sequence[Any]) -> Any:
    """Colour or dash pattern for the value of a parameter in a row."""
    return styles[0] if path is None else styles[table.steps[path].index(row.parameters[path])]


def _legend(table: SweepTable, path: str) -> list[Any]:
    """Legend entries for colours and dashes in the panel of a parameter."""
    from matplotlib.lines import Line2D

    entries = []
    for parameter, name, values in zip(
        _colour_and_dash(table, path)[1:], ("color", "linestyle"), (COLOURS, DASHES), strict=True
    ):
        if parameter is not None:
            entries.append(Line2D([], [], linestyle="none", label=table.label(parameter)))
            for value, setting in zip(table.steps[parameter], values, strict=False):
                style: dict[str, Any] = {"color": FAINT} | {name: setting}
                entries.append(Line2D([], [], label=value_text(value), **style))
    return entries


def _points(axes: Axes, table: SweepTable, metric: str, axis: _Axis) -> None:
    rows = [row for row in table.complete if is_number(row.metrics.get(metric))]
    x, y = [axis.place(row) for row in rows], [row.metrics[metric] for row in rows]
    coloured = _colour_and_dash(table, axis.path)[1]
    colours = [_of(table, coloured, row, COLOURS) for row in rows]
    axes.scatter(x, y, s=14, c=colours, alpha=0.75, linewidths=0)
    if axis.numeric and len(rows) >= LEAST_SAMPLES and len(set(x)) > 1 and len(set(y)) > 1:
        from scipy.stats import spearmanr

        correlation = float(np.asarray(spearmanr(x, y))[0])
        axes.set_title(f"ρ = {number(correlation, 2)}", fontsize=8, fontweight="normal", color=FAINT)


def _map(figure: Figure, table: SweepTable, metric: str, varied: Sequence[str]) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    across, up = (table.steps[path] for path in varied)
    values = np.full((len(up), len(across)), np.nan)
    for row in table.complete:
        if is_number(row.metrics.get(metric)):
            place = up.index(row.parameters[varied[1]]), across.index(row.parameters[varied[0]])
            values[place] = row.metrics[metric]
    figure.set_size_inches(WIDTH, float(np.clip(1.2 + 0.5 * len(up), 2.6, 6.5)))
    axes = figure.add_subplot()
    scale = LinearSegmentedColormap.from_list("metric", SCALE)
    image = axes.imshow(values, cmap=scale, origin="lower", aspect="auto")
    low, high = image.get_clim()
    for (j, i), value in np.ndenumerate(values):
        if not np.isfinite(value):
            axes.text(i, j, "×", ha="center", va="center", color=FAINT)
        elif values.size <= CELLS_LABELLED:
            dark = high > low and (value - low) / (high - low) > 0.5
            axes.text(i, j, number(value), ha="center", va="center", color="white" if dark else "black", fontsize=7.5)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    ticks(axes, "x", across)
    ticks(axes, "y", up)
    axes.set_xlabel(table.label(varied[0]))
    axes.set_ylabel(table.label(varied[1]))
    axes.set_title(metric)
    figure.colorbar(image, ax=axes, pad=0.02).outline.set_visible(False)
