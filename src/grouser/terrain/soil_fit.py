"""Fit soil constants to measurements: plate sinkage tests and shear tests under several normal loads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from grouser.errors import InputError
from grouser.terrain import checks

SHEAR_SEARCH = 10.0  # K is searched from the smallest displacement divided by this to the largest times this
LARGEST = {"plate widths": 5.0, "sinkages": 1.0, "displacements": 1.0}  # [m] larger ones are millimetres, not metres
SHEAR_TRIALS = 60  # values of K, in geometric steps, to bracket the minimum that is then refined


@dataclass(frozen=True)
class Fit:
    """Fitted fields of `Soil`, and how well they describe the measurements."""

    constants: dict[str, float]  # for `soil.replace(**fit.constants)`
    scatter: float  # root mean square of the residuals relative to the measured values


def fit_bekker(widths: ArrayLike, sinkages: ArrayLike, pressures: ArrayLike) -> Fit:
    """Fit n, k_c, k_phi of p = (k_c/b + k_phi) z^n to plate tests.

    Krenn and Hirzinger 2009, eq. 3; Krenn et al. 2008, eq. 17. One entry per point: smaller side b of the plate [m],
    sinkage z [m], mean pressure p [Pa]. First a least-squares fit of ln p with one n for all widths and one k_b for
    each, then a fit of k_b = k_c/b + k_phi to relative errors, with k_c >= 0.
    """
    b, z, p = _columns({"plate widths": widths, "sinkages": sinkages, "pressures": pressures}, above=0.0)
    sizes, plate = np.unique(b, return_inverse=True)
    if len(sizes) < 2:
        raise InputError(f"plate widths = {sizes[0]:g}: allowed are at least two, one does not determine k_c and k_phi")
    points = np.bincount(plate)
    mean_z, mean_p = (np.bincount(plate, np.log(values)) / points for values in (z, p))
    log_z, log_p = np.log(z) - mean_z[plate], np.log(p) - mean_p[plate]
    if not np.any(np.abs(log_z) > 1e-9):
        raise InputError("sinkages: allowed are at least two depths of one plate, one does not determine n")
    n = float(log_z @ log_p / (log_z @ log_z))
    if n <= 0:
        raise InputError(
            f"pressures fall with the sinkage (n = {n:.3g}): allowed is soil that carries more when deeper"
        )
    modulus = np.exp(mean_p - n * mean_z)  # k_b of each width
    weight = np.sqrt(points) / modulus
    k_c, k_phi = _two_terms(1 / sizes, np.ones_like(sizes), modulus, weight)
    if k_phi <= 0:
        raise InputError("pressures fall faster than 1/b from plate to plate: allowed is k_phi above 0")
    left = np.log(p) - np.log(k_c / b + k_phi) - n * np.log(z)
    return Fit({"n": n, "k_c": k_c, "k_phi": k_phi}, _root_mean_square(left))


def fit_shear(normal_pressures: ArrayLike, displacements: ArrayLike, stresses: ArrayLike) -> Fit:
    """Fit c, phi, K of tau = (c + p tan(phi)) (1 - exp(-j/K)) to shear tests.

    Mohr-Coulomb (Krenn and Hirzinger 2009, eq. 5) and Janosi and Hanamoto 1961. One entry per point: normal pressure p
    [Pa], shear displacement j [m], shear stress tau [Pa]. Least squares of tau: for each K the best c and tan(phi)
    follow from a linear fit, neither below 0. The law has no peak. For dense soil leave out the points from the peak
    on, or use the residual stress.
    """
    names = {"normal pressures": normal_pressures, "displacements": displacements, "stresses": stresses}
    p, j, tau = _columns(names, at_least=0.0)
    if len(np.unique(p)) < 2:
        raise InputError(f"normal pressures = {p[0]:g}: allowed are at least two, one does not determine c and phi")
    moved = np.unique(j[j > 0])
    if len(moved) < 2:
        raise InputError("displacements: allowed are at least two above 0, one does not determine K")

    def limit(log_k: float) -> tuple[float, float, np.ndarray]:
        """Best c and tan(phi) at this K, and the residuals of tau."""
        risen = -np.expm1(-j / math.exp(log_k))
        c, tan_phi = _two_terms(risen, p * risen, tau, np.ones_like(tau))
        return c, tan_phi, tau - (c + p * tan_phi) * risen

    log_k = _find_minimum(
        lambda trial: float(np.sum(limit(trial)[2] ** 2)),
        math.log(moved[0] / SHEAR_SEARCH),
        math.log(moved[-1] * SHEAR_SEARCH),
    )
    c, tan_phi, left = limit(log_k)
    constants = {
        "cohesion": c,
        "friction_angle_deg": math.degrees(math.atan(tan_phi)),
        "shear_modulus": math.exp(log_k),
    }
    return Fit(constants, _root_mean_square(left) / _root_mean_square(tau))


def _find_minimum(misfit: Callable[[float], float], low: float, high: float) -> float:
    """Find the minimum of the misfit between two ends. A minimum at an end is an error."""
    from scipy.optimize import minimize_scalar

    trials = np.linspace(low, high, SHEAR_TRIALS)
    best = int(np.argmin([misfit(trial) for trial in trials]))
    if best == 0:
        raise InputError("stresses do not rise: measure displacements that begin well below K")
    if best == len(trials) - 1:
        raise InputError("stresses still rise in proportion to the displacement: measure displacements well beyond K")
    found = minimize_scalar(misfit, bounds=(trials[best - 1], trials[best + 1]), options={"xatol": 1e-9})
    return float(found.x)


def _two_terms(first: np.ndarray, second: np.ndarray, target: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Least-squares solution x, y of x first + y second = target, with x >= 0, then y >= 0."""
    rows = np.stack([first, second], axis=1) * weight[:, None]
    scale = np.sqrt(np.sum(rows**2, axis=0))
    (x, y), *_ = np.linalg.lstsq(rows / scale, target * weight, rcond=None)
    if x < 0:
        x, y = 0.0, float(rows[:, 1] @ (target * weight)) / scale[1]
    elif y < 0:
        x, y = float(rows[:, 0] @ (target * weight)) / scale[0], 0.0
    return float(x / scale[0]), float(y / scale[1])


def _columns(lists: dict[str, ArrayLike], **bounds: float) -> Sequence[np.ndarray]:
    """Check that the lists have equal lengths and values inside the bounds. Returns arrays."""
    arrays = []
    for name, values in lists.items():
        try:
            arrays.append(np.asarray(values, dtype=float).reshape(-1))
        except (TypeError, ValueError):
            raise InputError(f"{name} = {values!r:.40}: allowed are numbers") from None
    lengths = [len(array) for array in arrays]
    if len(set(lengths)) > 1:
        counts = f"{lengths[0]}, {lengths[1]} and {lengths[2]} values"
        raise InputError(
            f"{', '.join(lists)} have {counts}: allowed are three lists of one length, one entry per point"
        )
    if lengths[0] == 0:
        raise InputError(f"{', '.join(lists)}: no values; allowed are lists with one entry per point")
    for name, array in zip(lists, arrays, strict=True):
        for place, value in enumerate(array):
            checks.number(float(value), f"{name}[{place}]", **bounds, at_most=LARGEST.get(name))
    return arrays


def _root_mean_square(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))
