"""Figures of measured points with their uncertainty and of the computed curves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from grouser.files import atomic_file
from grouser.report.style import COLOURS, DASHES, DOTS_PER_INCH, FAINT, INK, STYLE
from grouser.validation.measured import MeasuredWheel
from grouser.validation.score import Score

LABELS = {"pull": ("drawbar pull", "N", 1.0), "sinkage": ("sinkage", "mm", 1e3), "torque": ("torque", "N m", 1.0)}
PANEL = (3.6, 3.3)  # inch


def draw(wheel: MeasuredWheel, by_law: Mapping[str, Mapping[str, Score]], file: Path) -> None:
    """One panel for each measured quantity, with one curve for each law."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    points = wheel.points
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(PANEL[0] * len(points), PANEL[1]), layout="constrained")
        FigureCanvasAgg(figure)
        for k, name in enumerate(points):
            axes = figure.add_subplot(1, len(points), k + 1)
            _panel(axes, wheel, name, {law: found[name] for law, found in by_law.items()})
        figure.suptitle(f"{wheel.name}: {wheel.given.title}", fontsize=10)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
        with atomic_file(file) as part:
            figure.savefig(part, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})


def _panel(axes, wheel: MeasuredWheel, name: str, by_law: Mapping[str, Score]) -> None:
    """One quantity over slip."""
    label, unit, scale = LABELS[name]
    points = wheel.points[name]
    for k, (law, score) in enumerate(by_law.items()):
        pairs = sorted((s, c) for s, c in zip(points.slips, score.computed, strict=True) if c is not None)
        axes.plot([s for s, _ in pairs], [scale * c for _, c in pairs], color=COLOURS[k % len(COLOURS)],
                  linestyle=DASHES[k // len(COLOURS) % len(DASHES)], label=f"Grouser, {law}")  # fmt: skip
    axes.errorbar(points.slips, [scale * value for value in points.values], yerr=scale * points.uncertainty, fmt="o",
                  markersize=4, color=INK, capsize=2, linewidth=1, label="measured")  # fmt: skip
    if name == "pull":
        axes.axhline(0, color=FAINT, linewidth=0.8)
    axes.set_xlabel(f"slip of the {wheel.given.slip_of} [1]")
    axes.set_ylabel(f"{label} [{unit}]")
    if not points.scored:
        axes.set_title("not scored", fontsize=9)
