"""Sobol' indices of a metric over the constants of a soil whose uncertainty is known.

The constants of an identified soil are correlated (n with k_phi, c with phi), so that the classical indices of
independent inputs do not apply. For correlated inputs X and Y = f(X) (Kucherenko, Tarantola and Annoni 2012):

    S_i  = Var(E[Y | X_i]) / Var(Y)         what Y would gain if X_i alone were known
    T_i  = E[Var(Y | X_others)] / Var(Y)    what would be left if all others were known

Both are computed with normal X of the soil's covariance and a Gaussian process of Y from the runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from grouser.identification.process import learn_process
from grouser.report.style import COLOURS

POINTS = 6000  # of the integrals
BINS = 40  # of X_i, for the mean of Y given X_i
LEAST_SAMPLES = 20
NEGLIGIBLE = 1e-3  # relative spread of a metric below which it has no indices
WORST = 0.5  # share of the variance that a surrogate must explain in runs left out, or no index is given


@dataclass(frozen=True)
class Indices:
    """Sobol' indices of one metric."""

    metric: str
    names: tuple[str, ...]
    first: np.ndarray  # (constant,) S_i
    total: np.ndarray  # (constant,) T_i
    explained: float  # share of the variance that the surrogate explains in runs left out


def sobol(
    function: Callable[[np.ndarray], np.ndarray], mean: np.ndarray, covariance: np.ndarray, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """First and total indices, (constant,) each, of a function of normal inputs (point, constant)."""
    rng = np.random.default_rng(seed)
    x = rng.multivariate_normal(mean, covariance, POINTS, method="eigh")
    y = function(x)
    variance = float(y.var())
    size = len(mean)
    if variance <= 0:
        return np.zeros(size), np.zeros(size)
    first, total = np.empty(size), np.empty(size)
    for i in range(size):
        first[i] = _variance_of_means(x[:, i], y) / variance
        others = [k for k in range(size) if k != i]
        moved = x.copy()
        moved[:, i] = _given_others(x, mean, covariance, i, others, rng)
        total[i] = 0.5 * float(np.mean((y - function(moved)) ** 2)) / variance  # Jansen 1999
    return first, total


def _variance_of_means(x: np.ndarray, y: np.ndarray) -> float:
    """Variance of the mean of y given x, by bins of equal count, less what scatter inside bins adds to it."""
    parts = np.array_split(y[np.argsort(x)], BINS)
    means = np.array([part.mean() for part in parts])
    noise = float(np.mean([part.var(ddof=1) / len(part) for part in parts]))
    return max(0.0, float(means.var()) - noise)


def _given_others(
    x: np.ndarray, mean: np.ndarray, covariance: np.ndarray, i: int, others: Sequence[int], rng: np.random.Generator
) -> np.ndarray:
    """Draw X_i anew given all others."""
    if not others:
        return rng.normal(mean[i], np.sqrt(covariance[i, i]), len(x))
    inside = covariance[np.ix_(others, others)]
    gain = np.linalg.lstsq(inside, covariance[np.ix_(others, [i])], rcond=None)[0][:, 0]
    centre = mean[i] + (x[:, others] - mean[others]) @ gain
    left = max(0.0, float(covariance[i, i] - covariance[i, others] @ gain))
    return centre + np.sqrt(left) * rng.standard_normal(len(x))


def indices(
    metric: str, names: Sequence[str], inputs: np.ndarray, values: np.ndarray, mean: np.ndarray, covariance: np.ndarray
) -> Indices | None:
    """Indices of a metric from its values (run,) at inputs (run, constant).

    None if it hardly varies, or if no surrogate follows it.
    """
    there = np.isfinite(values)
    if there.sum() < LEAST_SAMPLES or values[there].std() <= NEGLIGIBLE * np.abs(values[there]).max():
        return None
    scale = np.sqrt(np.diag(covariance))
    varied = scale > 0
    learned = learn_process(((inputs - mean) / np.where(varied, scale, 1.0))[there] / 2, values[there])
    explained = 1 - (learned.error / values[there].std()) ** 2
    if explained < WORST:
        return None
    first, total = sobol(lambda x: learned.mean((x - mean) / np.where(varied, scale, 1.0) / 2), mean, covariance)
    return Indices(metric, tuple(names), first, total, float(explained))


def draw_indices(found: Sequence[Indices], file: Path) -> Path:
    """Bars of first and total indices, one panel for each metric."""
    from grouser.identification.figures import save_figure

    columns = min(3, len(found))
    rows = -(-len(found) // columns)

    def draw(figure) -> None:
        for k, one in enumerate(found):
            axes = figure.add_subplot(rows, columns, k + 1)
            place = np.arange(len(one.names))
            axes.barh(place - 0.2, one.first, 0.38, color=COLOURS[0], label="first: known alone, it takes away")
            axes.barh(place + 0.2, one.total, 0.38, color=COLOURS[1], label="total: left if all others were known")
            axes.set_yticks(place, one.names, fontsize=7)
            axes.invert_yaxis()
            axes.set_xlim(0, 1.02)
            axes.set_xlabel("share of the variance")
            axes.set_title(f"{one.metric} (surrogate {100 * one.explained:.0f} %)", fontsize=8)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)

    return save_figure((3.6 * columns, 2.7 * rows + 0.4), draw, file)
