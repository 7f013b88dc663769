"""Probability of measurements given soils: scatter of single values, and a discrepancy of the law along each curve.

A curve has values y at places x (pressures over sinkage, pulls over slip). With the residuals r = (y - m)/sigma of the
law m, or of their logarithms where the scatter is a share of the value:

    r ~ N(0, s^2 (I + d^2 R) + E R E),  R_ij = exp(-(x_i - x_j)^2 / (2 l^2))

I is the scatter of single values; s is 1 if the scatter was given, from 1 up if only the least that it can be was
given, and sampled over a wide range if nothing was. d^2 R is the discrepancy
(Kennedy and O'Hagan 2001): a smooth deviation of the law from the soil, d times the scatter, the same along a curve
over a length l and independent from curve to curve. Every kind of data has its own d, sampled with the soil: a law that
follows its data leaves d small and the answer as narrow as the data allow, a law that cannot follow gets a large d and
a wide answer. E is the error of an emulator, 0 for closed forms. Its errors in pull, torque and sinkage of one test go
together: between the curves a and b of a test stands C_ab E_a R E_b, with the correlation C that runs left out show.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from grouser.identification import laws
from grouser.identification.data import Measurements, PlateTest, Scatter, ShearTest

Values = Mapping[str, np.ndarray]  # constants (draw,) by name
Stated = Literal["given", "at least", "estimated"]  # what the data say about a scatter
DEVIATION = (0.003, 50.0)  # range of d, uniform in its logarithm: from nothing to all
SCATTER = (0.003, 0.5)  # range of s where no scatter is given, as a share of the value; uniform in its logarithm
OVER_LEAST = 2.0  # the range of s above a least scatter ends where SCATTER does, but not below this (assumed)
LENGTH = 0.5  # l over the extent of a curve: half of it, so that a misfit cannot pass for scatter (assumed)
WHEEL_FLOOR = 0.1  # of the root mean square of a curve: least value to which the scatter of a wheel is a share


@dataclass(frozen=True)
class Curve:
    """Measured values along one test, and how a law predicts them."""

    name: str  # "plates.wide"
    group: str  # curves of a group share scatter and discrepancy
    x: np.ndarray  # (point,) place along the curve, for the correlation of the discrepancy
    y: np.ndarray  # (point,) SI
    sigma: np.ndarray  # (point,) scatter, of ln y if logarithmic; the scale of s if the scatter is not known
    stated: Stated
    logarithmic: bool
    predict: Callable[[Values], np.ndarray]  # (draw, point) SI
    error: Callable[[Values], np.ndarray] | None = None  # (draw, point) SI, standard deviation of the emulator
    place: np.ndarray = field(default_factory=lambda: np.empty(0))  # (point,) what figures have as x, SI
    unit: str = "1"
    place_unit: str = "1"
    test: str = ""  # curves of one test have their places and their emulator in common
    coupled: Mapping[str, float] = field(default_factory=dict)  # C_ab by group

    @property
    def known(self) -> bool:
        """The scatter was given."""
        return self.stated == "given"

    @property
    def estimate(self) -> str:
        """Name of the s that is sampled for this curve, as others of its group have it."""
        return self.group if self.stated == "estimated" else f"{self.group} over the least"

    @property
    def relative(self) -> float:
        """Scatter at s = 1 over the size of the values."""
        if self.logarithmic:
            return float(np.mean(self.sigma))
        return float(np.mean(self.sigma) / max(np.sqrt(np.mean(self.y**2)), 1e-300))

    @cached_property
    def correlation(self) -> np.ndarray:
        """R, (point, point)."""
        extent = float(np.ptp(self.x)) or 1.0
        apart = (self.x[:, None] - self.x[None, :]) / (LENGTH * extent)
        return np.exp(-0.5 * apart**2)

    @cached_property
    def modes(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues (point,) and eigenvectors (point, mode) of R."""
        values, vectors = np.linalg.eigh(self.correlation)
        return np.maximum(values, 0.0), vectors

    def residuals(self, predicted: np.ndarray) -> np.ndarray:
        """r, (draw, point), of predictions (draw, point)."""
        if self.logarithmic:
            return (np.log(self.y) - np.log(np.maximum(predicted, 1e-300))) / self.sigma
        return (self.y - predicted) / self.sigma

    def log_density(self, values: Values, s: np.ndarray, d: np.ndarray) -> np.ndarray:
        """ln p(y), (draw,), up to a constant, of a curve without an emulator."""
        r = self.residuals(self.predict(values))
        weights, vectors = self.modes
        variance = s[:, None] ** 2 * (1 + d[:, None] ** 2 * weights)
        return -0.5 * np.sum((r @ vectors) ** 2 / variance + np.log(variance), axis=1)


def joint_log_density(
    curves: Sequence[Curve], values: Values, s: Sequence[np.ndarray], d: Sequence[np.ndarray]
) -> np.ndarray:
    """ln p(y), (draw,), up to a constant, of all curves of a test whose emulator errs in all of them at once."""
    errors = [curve.error(values) / curve.sigma for curve in curves if curve.error is not None]
    r = np.concatenate([curve.residuals(curve.predict(values)) for curve in curves], axis=1)
    points = len(curves[0].x)
    covariance = np.empty((len(r), r.shape[1], r.shape[1]))
    for a, one in enumerate(curves):
        for b, other in enumerate(curves):
            part = one.coupled[other.group] * errors[a][:, :, None] * one.correlation * errors[b][:, None, :]
            if a == b:
                part += (s[a] * d[a])[:, None, None] ** 2 * one.correlation
                part[:, np.arange(points), np.arange(points)] += s[a][:, None] ** 2
            covariance[:, a * points : (a + 1) * points, b * points : (b + 1) * points] = part
    lower = np.linalg.cholesky(covariance)
    white = np.linalg.solve(lower, r[:, :, None])[:, :, 0]
    return -0.5 * np.sum(white**2, axis=1) - np.sum(np.log(np.diagonal(lower, axis1=1, axis2=2)), axis=1)


@dataclass(frozen=True)
class Likelihood:
    """All curves. The hyperparameters are ln d of each group, then ln s of those of `unknown`."""

    curves: tuple[Curve, ...]
    discrepancy: bool = True  # false: d = 0, the law is taken as exact

    @cached_property
    def groups(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(curve.group for curve in self.curves))

    @cached_property
    def unknown(self) -> tuple[str, ...]:
        """Names of the s that are sampled: one of each group and each way in which its scatter is not given."""
        return tuple(dict.fromkeys(curve.estimate for curve in self.curves if not curve.known))

    @cached_property
    def ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the hyperparameters, uniform in between."""
        deviations = len(self.groups) if self.discrepancy else 0
        ends = [DEVIATION] * deviations + [self._scatters(name) for name in self.unknown]
        return np.log(np.array([low for low, _ in ends])), np.log(np.array([high for _, high in ends]))

    def _scatters(self, name: str) -> tuple[float, float]:
        """Range of an s."""
        curves = [curve for curve in self.curves if not curve.known and curve.estimate == name]
        if curves[0].stated == "estimated":
            return SCATTER
        return 1.0, max(OVER_LEAST, *(SCATTER[1] / curve.relative for curve in curves))

    def deviation(self, hyper: np.ndarray, group: str) -> np.ndarray:
        """d (draw,) of a group."""
        if not self.discrepancy:
            return np.zeros(len(hyper))
        return np.exp(hyper[:, self.groups.index(group)])

    def scatter(self, hyper: np.ndarray, curve: Curve) -> np.ndarray:
        """s (draw,) of a curve."""
        if curve.known:
            return np.ones(len(hyper))
        first = len(self.groups) if self.discrepancy else 0
        return np.exp(hyper[:, first + self.unknown.index(curve.estimate)])

    def log_density(self, values: Values, hyper: np.ndarray) -> np.ndarray:
        """ln p(all data), (draw,), up to a constant."""
        total = np.zeros(len(hyper))
        for curves in self.tests:
            s = [self.scatter(hyper, curve) for curve in curves]
            d = [self.deviation(hyper, curve.group) for curve in curves]
            if curves[0].error is None:
                total += sum(one.log_density(values, *pair) for one, *pair in zip(curves, s, d, strict=True))
            else:
                total += joint_log_density(curves, values, s, d)
        return total

    @cached_property
    def tests(self) -> tuple[tuple[Curve, ...], ...]:
        """Curves of each test."""
        found: dict[str, list[Curve]] = {}
        for curve in self.curves:
            found.setdefault(curve.test or curve.name, []).append(curve)
        return tuple(tuple(curves) for curves in found.values())


def exact_curves(data: Measurements) -> list[Curve]:
    """Curves of plate and shear tests."""
    return [_plate(f"plates.{name}", test) for name, test in data.plates.items()] + [
        _shear(f"shear.{name}", test) for name, test in data.shear.items()
    ]


def _plate(name: str, test: PlateTest) -> Curve:
    z, p = np.array(test.points).T

    def predict(values: Values) -> np.ndarray:
        return laws.plate_pressure(values["n"], values["k_c"], values["k_phi"], test.width, z)

    sigma, logarithmic = scale_of(test.scatter, p)
    stated = stated_by(test.scatter)
    return Curve(name, "plate pressure", np.log(z), p, sigma, stated, logarithmic, predict, None, z, "Pa", "m")


def _shear(name: str, test: ShearTest) -> Curve:
    j, tau = np.array(test.points).T

    def predict(values: Values) -> np.ndarray:
        c, phi, k = values["cohesion"], values["friction_angle_deg"], values["shear_modulus"]
        return laws.shear_stress(c, phi, k, test.pressure, j)

    sigma, logarithmic = scale_of(test.scatter, tau)
    stated = stated_by(test.scatter)
    return Curve(name, "shear stress", j, tau, sigma, stated, logarithmic, predict, None, j, "Pa", "m")


def stated_by(scatter: Scatter | None) -> Stated:
    if scatter is None:
        return "estimated"
    return "at least" if scatter.least else "given"


def scale_of(scatter: Scatter | None, y: np.ndarray) -> tuple[np.ndarray, bool]:
    """sigma, and whether it is that of ln y, for values that are all positive."""
    if scatter is None:
        return np.ones_like(y), True
    if scatter.share is not None:
        return np.full_like(y, scatter.share), True
    return np.full_like(y, float(scatter.value or math.nan)), False


def wheel_scale(scatter: Scatter | None, y: np.ndarray) -> np.ndarray:
    """sigma of values that may pass through 0. A share refers to at least WHEEL_FLOOR."""
    size = math.sqrt(float(np.mean(y**2))) or 1.0
    share = np.maximum(np.abs(y), WHEEL_FLOOR * size)
    if scatter is None:
        return np.full_like(y, size)
    if scatter.share is not None:
        return scatter.share * share
    return np.full_like(y, float(scatter.value or math.nan))
