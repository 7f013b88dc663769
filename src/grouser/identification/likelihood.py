"""Probability of measurements given soils: scatter of single values, and a discrepancy of the law along each curve.

A curve has values y at places x (pressures over sinkage, pulls over slip). With the residuals r = (y - m)/sigma of the
law m, or of their logarithms where the scatter is a share of the value:

    r ~ N(0, s^2 (I + d^2 D) + E R(h) E),  D = (1 - w) R(l) + w I,  R_ij(l) = exp(-(x_i - x_j)^2 / (2 l^2))

I is the scatter of single values; s is 1 if the scatter was given, from 1 up if only the least that it can be was
given, and sampled over a wide range if nothing was. d^2 D is the discrepancy (Kennedy and O'Hagan 2001): a deviation
of the law from the soil, d times the scatter, independent from curve to curve. Every kind of data has its own d,
sampled with the soil: a law that follows its data leaves d small and the answer as narrow as the data allow, a law that
cannot follow gets a large d and a wide answer.

Nobody knows before how a law deviates along a curve: the same over a length l, or differently from point to point with
a share w, as values do that repeat worse than was stated. The density is its mean over SHAPES (l, w), the same one for
all tests of plates, of shear, of wheels or of rovers. The data say which shape is likely, and predictions between
points draw it from that. Where s is sampled, it stands for all that differs from point to point, and w is 0.

E is the error of an emulator, 0 for closed forms. Its errors in pull, torque and sinkage of one test go together:
between the curves a and b of a test stands C_ab E_a R(h) E_b, with the correlation C that runs left out show.
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
Shapes = tuple[tuple[float, float], ...]  # (l, w) of the discrepancy
Stated = Literal["given", "at least", "estimated"]  # what the data say about a scatter
DEVIATION = (0.003, 50.0)  # range of d, uniform in its logarithm: from nothing to all
SCATTER = (0.003, 0.5)  # range of s where no scatter is given, as a share of the value; uniform in its logarithm
OVER_LEAST = 2.0  # the range of s above a least scatter ends where SCATTER does, but not below this (assumed)
LENGTHS = (0.2, 0.45, 1.0)  # l over the extent of a curve: from a fifth to all of it (assumed)
PART = 0.3  # w of a deviation that partly differs from point to point (assumed)
# (l, w) of the deviation, each as likely before the data (assumed). With one of them alone, bands between few points
# are as sure as that one is right.
SHAPES = (*((length, w) for w in (0.0, PART) for length in LENGTHS), (1.0, 1.0))
EMULATOR_LENGTH = 0.5  # h over the extent of a curve: tests/identification/test_wheel_coverage.py prints what runs show
AT_ONCE = 100  # draws whose covariances are in memory at once: seven of 150 points each take 130 MB
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
    _modes: dict[Shapes, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict, init=False, repr=False)

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

    @property
    def kind(self) -> str:
        """plate, shear, wheel or rover: curves of a kind share the shape of the discrepancy."""
        return self.group.split(" ", 1)[0]

    def correlation(self, length: float, others: np.ndarray | None = None) -> np.ndarray:
        """R (point, point) at the points of the curve and `others` (point,), for l over the extent of the curve."""
        x = self.x if others is None else np.concatenate([self.x, others])
        apart = (x[:, None] - x[None, :]) / (length * (float(np.ptp(self.x)) or 1.0))
        return np.exp(-0.5 * apart**2)

    def modes(self, shapes: Shapes) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues (shape, mode) of D, and its eigenvectors side by side, (point, shape x mode)."""
        if shapes not in self._modes:
            found = [np.linalg.eigh(self.correlation(length)) for length, _ in shapes]
            values = [(1 - w) * np.maximum(one.eigenvalues, 0.0) + w for one, (_, w) in zip(found, shapes, strict=True)]
            self._modes[shapes] = np.stack(values), np.concatenate([one.eigenvectors for one in found], axis=1)
        return self._modes[shapes]

    def deviation(self, shape: tuple[float, float], others: np.ndarray | None = None) -> np.ndarray:
        """D (point, point) at the points of the curve and `others` (point,)."""
        smooth = self.correlation(shape[0], others)
        return (1 - shape[1]) * smooth + shape[1] * np.eye(len(smooth))

    def residuals(self, predicted: np.ndarray) -> np.ndarray:
        """r, (draw, point), of predictions (draw, point)."""
        if self.logarithmic:
            return (np.log(self.y) - np.log(np.maximum(predicted, 1e-300))) / self.sigma
        return (self.y - predicted) / self.sigma

    def log_density(self, values: Values, s: np.ndarray, d: np.ndarray, shapes: Shapes) -> np.ndarray:
        """ln p(y | shape), (shape, draw), up to a constant, of a curve without an emulator."""
        r = self.residuals(self.predict(values))
        weights, vectors = self.modes(shapes)
        variance = s[:, None, None] ** 2 * (1 + d[:, None, None] ** 2 * weights)
        white = (r @ vectors).reshape(variance.shape)
        return -0.5 * np.sum(white**2 / variance + np.log(variance), axis=2).T


def joint_log_density(
    curves: Sequence[Curve], values: Values, s: Sequence[np.ndarray], d: Sequence[np.ndarray], shapes: Shapes
) -> np.ndarray:
    """ln p(y | shape), (shape, draw), up to a constant, of all curves of a test whose emulator errs in all at once."""
    errors = [curve.error(values) / curve.sigma for curve in curves if curve.error is not None]
    r = np.concatenate([curve.residuals(curve.predict(values)) for curve in curves], axis=1)
    points = len(curves[0].x)
    emulator = curves[0].correlation(EMULATOR_LENGTH)
    deviation = np.stack([curves[0].deviation(shape) for shape in shapes])[:, None]
    covariance = np.empty((len(shapes), len(r), r.shape[1], r.shape[1]))
    for a, one in enumerate(curves):
        for b, other in enumerate(curves):
            part = one.coupled[other.group] * errors[a][:, :, None] * emulator * errors[b][:, None, :]
            if a == b:
                part[:, np.arange(points), np.arange(points)] += s[a][:, None] ** 2
                part = part + (s[a] * d[a])[:, None, None] ** 2 * deviation
            covariance[:, :, a * points : (a + 1) * points, b * points : (b + 1) * points] = part
    lower = np.linalg.cholesky(covariance)
    white = np.linalg.solve(lower, np.broadcast_to(r[:, :, None], (len(shapes), *r.shape, 1)))[..., 0]
    return -0.5 * np.sum(white**2, axis=2) - np.sum(np.log(np.diagonal(lower, axis1=2, axis2=3)), axis=2)


@dataclass(frozen=True)
class Likelihood:
    """All curves. The hyperparameters are ln d of each group, then ln s of those of `unknown`."""

    curves: tuple[Curve, ...]
    discrepancy: bool = True  # false: d = 0, the law is taken as exact
    shapes: Shapes = SHAPES  # of the discrepancy, each as likely as the others before the data

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
        for found in self.by_shape(values, hyper).values():
            total += np.logaddexp.reduce(found, axis=0) - math.log(len(found))
        return total

    def shapes_of(self, kind: str) -> Shapes:
        """The shapes that the deviation of a kind may have: smooth ones alone where all of its scatters are sampled."""
        if not self.discrepancy:
            return self.shapes[:1]
        if any(curve.known for curve in self.curves if curve.kind == kind):
            return self.shapes
        return tuple(shape for shape in self.shapes if shape[1] == 0) or self.shapes

    def by_shape(self, values: Values, hyper: np.ndarray) -> dict[str, np.ndarray]:
        """ln p(data of a kind | shape), (shape, draw), up to a constant, by kind."""
        found: dict[str, np.ndarray] = {}
        for curves in self.tests:
            kind, shapes = curves[0].kind, self.shapes_of(curves[0].kind)
            s = [self.scatter(hyper, curve) for curve in curves]
            d = [self.deviation(hyper, curve.group) for curve in curves]
            if curves[0].error is None:
                parts = [one.log_density(values, a, b, shapes) for one, a, b in zip(curves, s, d, strict=True)]
                density = np.sum(parts, axis=0)
            else:
                density = joint_log_density(curves, values, s, d, shapes)
            found[kind] = found[kind] + density if kind in found else density
        return found

    def shares(self, values: Values, hyper: np.ndarray) -> dict[str, np.ndarray]:
        """Probability of each shape given each soil, (shape, draw) by kind; in the order of `shapes_of`."""
        parts: dict[str, list[np.ndarray]] = {}
        for first in range(0, len(hyper), AT_ONCE):
            some = slice(first, first + AT_ONCE)
            found = self.by_shape({name: column[some] for name, column in values.items()}, hyper[some])
            for kind, one in found.items():
                parts.setdefault(kind, []).append(np.exp(one - np.logaddexp.reduce(one, axis=0)))
        return {kind: np.concatenate(ones, axis=1) for kind, ones in parts.items()}

    def shape(self, kind: str, values: Values, hyper: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Shape (draw,) of a kind, as a place in `shapes_of`, drawn from its distribution given each soil."""
        below = np.cumsum(self.shares(values, hyper)[kind], axis=0)
        return np.minimum(np.sum(below < rng.uniform(size=len(hyper)), axis=0), len(below) - 1)

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
