"""Figures of an identification: posteriors and correlations, data with prediction bands, residuals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from grouser.files import atomic_file
from grouser.identification.constants import LOGARITHMIC
from grouser.identification.likelihood import Curve
from grouser.identification.posterior import Posterior
from grouser.report.style import COLOURS, DOTS_PER_INCH, FAINT, INK, STYLE

LABELS = {"n": "n", "k_c": "$k_c$", "k_phi": "$k_φ$", "cohesion": "c [Pa]", "friction_angle_deg": "φ [°]",
          "shear_modulus": "K [mm]", "compression": "χ"}  # fmt: skip
SHOWN = {"shear_modulus": 1e3}  # factor from SI to the label's unit
PANEL = (3.4, 2.8)  # inch
COLUMNS = 3
BINS = 40
POINTS = 1500  # draws in a scatter plot
UNITS = {"Pa": ("kPa", 1e-3), "m": ("mm", 1e3), "1": ("1", 1.0), "N": ("N", 1.0), "N m": ("N m", 1.0)}
PLACES = {"plate pressure": "sinkage", "shear stress": "displacement"}


def save_figure(size: tuple[float, float], draw: Callable[[Any], None], file: Path) -> Path:
    """Draw into a figure of `size` [inch] and save it as PNG."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure)
        with atomic_file(file) as part:
            figure.savefig(part, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    return file


def draw_posteriors(found: Posterior, file: Path) -> Path:
    """Marginals on the diagonal, with the prior; draws of each pair below it, with its correlation above."""
    names = found.prior.names
    after = _shown(found.values, names)
    before = _shown(found.prior.values(found.prior.draw(20_000, np.random.default_rng(0))), names)
    correlation = np.corrcoef(found.scaled, rowvar=False)
    some = np.linspace(0, len(after) - 1, min(POINTS, len(after))).astype(int)

    def draw(figure) -> None:
        axes = figure.subplots(len(names), len(names), squeeze=False)
        for i, row in enumerate(names):
            for j, column in enumerate(names):
                one = axes[i, j]
                one.grid(False)
                one.tick_params(labelsize=6, labelleft=j == 0 and i > 0, labelbottom=i == len(names) - 1)
                if i == j:
                    _marginal(one, before[:, i], after[:, i], row in LOGARITHMIC)
                elif i > j:
                    one.plot(after[some, j], after[some, i], ".", markersize=0.8, alpha=0.4, color=COLOURS[0])
                    _limits(one, before[:, j], column, one.set_xlim, one.set_xscale)
                    _limits(one, before[:, i], row, one.set_ylim, one.set_yscale)
                else:
                    one.axis("off")
                    value = correlation[i, j]
                    one.text(0.5, 0.5, f"{value:+.2f}", ha="center", va="center", transform=one.transAxes,
                             fontsize=7 + 5 * abs(value), color=INK if abs(value) > 0.3 else FAINT)  # fmt: skip
                if i == len(names) - 1:
                    one.set_xlabel(LABELS[column], fontsize=8)
                if j == 0 and i > 0:
                    one.set_ylabel(LABELS[row], fontsize=8)

    side = max(4.0, 1.3 * len(names))
    return save_figure((side, side), draw, file)


def _shown(values: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    return np.stack([SHOWN.get(name, 1.0) * values[name] for name in names], axis=1)


def _limits(axes, before: np.ndarray, name: str, limits: Callable[..., Any], scale: Callable[[str], Any]) -> None:
    """The extent of the prior, so that a narrow posterior is seen to be narrow."""
    if name in LOGARITHMIC:
        scale("log")
        axes.minorticks_off()
    limits(float(before.min()), float(before.max()))


def _marginal(axes, before: np.ndarray, after: np.ndarray, logarithmic: bool) -> None:
    low, high = before.min(), before.max()
    edges = np.geomspace(low, high, BINS + 1) if logarithmic else np.linspace(low, high, BINS + 1)
    axes.hist(before, edges, weights=np.full(len(before), 1 / len(before)), color=FAINT, alpha=0.5)
    axes.hist(after, edges, weights=np.full(len(after), 1 / len(after)), color=COLOURS[0], alpha=0.8)
    if logarithmic:
        axes.set_xscale("log")
        axes.minorticks_off()
    axes.set_xlim(low, high)
    axes.set_yticks([])


def draw_data(found: Posterior, file: Path) -> Path:
    """Each curve with the median of predictions and their 90 % band."""

    def panel(axes, curve: Curve) -> None:
        x, y, factor = _axes_of(axes, curve)
        low, middle, high = factor * found.band(curve)
        order = np.argsort(x)
        axes.fill_between(x[order], low[order], high[order], color=COLOURS[0], alpha=0.2, linewidth=0)
        axes.plot(x[order], middle[order], color=COLOURS[0])
        axes.plot(x, y, "o", markersize=3, color=INK)
        if y.min() < 0 < y.max():
            axes.axhline(0, color=FAINT, linewidth=0.8)

    return _panels(found, panel, file)


def draw_residuals(found: Posterior, file: Path) -> Path:
    """Each curve less the median of predictions, in scatters. Two thirds lie within 1 if the law follows."""

    def panel(axes, curve: Curve) -> None:
        x, _, _ = _axes_of(axes, curve)
        some = found._some(400)
        values, hyper = found.prior.values(found.q[some]), found.hyper[some]
        size = np.median(found.likelihood.scatter(hyper, curve))
        rest = np.median(curve.residuals(curve.predict(values)), axis=0) / size
        axes.axhspan(-1, 1, color=FAINT, alpha=0.2, linewidth=0)
        axes.axhline(0, color=FAINT, linewidth=0.8)
        axes.plot(x, rest, "o", markersize=3, color=COLOURS[1])
        axes.set_ylabel("residual over scatter")

    return _panels(found, panel, file)


def _axes_of(axes, curve: Curve) -> tuple[np.ndarray, np.ndarray, float]:
    """Label the axes. Returns places and values in the units of the labels, and the factor of values."""
    (unit_x, factor_x), (unit, factor) = UNITS[curve.place_unit], UNITS[curve.unit]
    axes.set_xlabel(f"{PLACES.get(curve.group, 'slip')} [{unit_x}]")
    axes.set_ylabel(f"{curve.group.split(' ', 1)[1]} [{unit}]")
    axes.set_title(curve.name, fontsize=8)
    return factor_x * curve.place, factor * curve.y, factor


def _panels(found: Posterior, panel: Callable[[Any, Curve], None], file: Path) -> Path:
    curves = found.likelihood.curves
    columns = min(COLUMNS, len(curves))
    rows = -(-len(curves) // columns)

    def draw(figure) -> None:
        for k, curve in enumerate(curves):
            panel(figure.add_subplot(rows, columns, k + 1), curve)

    return save_figure((PANEL[0] * columns, PANEL[1] * rows), draw, file)
