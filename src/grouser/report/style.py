"""Colours, line styles and sizes of figures."""

from __future__ import annotations

from typing import Any

COLOURS = ("#2b6c99", "#d1543f", "#3f8f5f", "#e0a030", "#7a5ba6", "#5a6b78", "#1c9aa8", "#b0577f")
DASHES = ("-", (0, (5, 1.6)), (0, (1.2, 1.4)), (0, (5, 1.5, 1.2, 1.5)))  # for curves when the colours are used up
INK, FAINT, GRID = "#22303a", "#8797a3", "#e4eaee"
WIDTH, HEIGHT = 7.2, 4.0  # inch
DOTS_PER_INCH = 150
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-4, 5),
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.8,
    "ytick.major.width": 0.8,
    "legend.framealpha": 0.9,
    "legend.edgecolor": "none",
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.5,
    "lines.solid_capstyle": "round",
    "figure.facecolor": "white",
    "axes.unicode_minus": True,
}
