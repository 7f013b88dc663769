"""What data say about a soil: its constants, what is not determined, and whether the law follows the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grouser.identification.constants import LOGARITHMIC, PRESSURE, Prior
from grouser.identification.likelihood import EMULATOR_LENGTH, Curve, Likelihood
from grouser.identification.sampling import EFFECTIVE, MOST_STEPS, Draws, sample
from grouser.terrain.soils import Soil

INTERVAL = (0.05, 0.95)  # quantiles of the 90 % intervals
UNDETERMINED, WEAK = 0.75, 0.4  # width of the posterior over that of the prior, above which a constant is called so
SURE = 0.5  # the law deviates if d is above this with a probability of 95 %
SMALLEST_P = 0.001  # ... or if scatter alone would miss the data as far as this in fewer cases
# The law follows if d is below this with a probability of 95 %: up to it scatter is the larger part of what a value is
# off by, above it the deviation of the law would be (assumed). This has to hold for each shape of the deviation that is
# not less likely than POSSIBLE (assumed): a rough deviation would be seen among the scatter, so that d is small with
# such a shape, which says nothing about smooth ones.
FOLLOWS = 1.0
POSSIBLE = 0.05
CANNOT_FOLLOW = 5.0  # median of d above which the law does not follow the data at all
# A deviation is rough if what differs in it from point to point is larger than the scatter with this probability.
ROUGHLY = 0.9
CHECKED = 400  # draws of the predictive check
WEIGHED = 2000  # draws for which shapes of the deviation are weighed
PRIOR_DRAWS = 20_000
UNIT = {"n": "1", "k_c": "N/m^(n+1)", "k_phi": "N/m^(n+2)", "cohesion": "Pa", "friction_angle_deg": "degree",
        "shear_modulus": "m", "compression": "1", PRESSURE: "Pa"}  # fmt: skip


@dataclass(frozen=True)
class Estimate:
    """One constant: mean (of the logarithm where it is sampled so) and 90 % intervals before and after the data."""

    name: str
    unit: str
    mean: float
    low: float
    high: float
    prior_low: float
    prior_high: float
    share: float  # width of the posterior interval over that of the prior, in the scale in which it is sampled

    @property
    def verdict(self) -> str:
        """determined, weakly determined or not determined."""
        if self.share > UNDETERMINED:
            return "not determined"
        return "weakly determined" if self.share > WEAK else "determined"


@dataclass(frozen=True)
class Check:
    """Whether the law follows the data of a group."""

    group: str
    points: int
    deviation: tuple[float, float, float]  # d, systematic deviation over scatter: 5 %, median, 95 %
    relative: float  # median of the systematic deviation over the size of the values
    p: float | None  # share of repetitions with scatter alone that would be as far off; None if no scatter was given
    scatter: float | None = None  # over the size of the values, mean, where it was not given but estimated
    largest: float = 0.0  # 95 % of d with the shape of the deviation for which it is largest
    rough: bool = False  # the deviation differs from point to point, as scatter does

    @property
    def deviates(self) -> bool:
        return self.deviation[0] > SURE or (self.p is not None and self.p < SMALLEST_P)

    @property
    def cannot_follow(self) -> bool:
        return self.deviates and self.deviation[1] > CANNOT_FOLLOW

    @property
    def undecided(self) -> bool:
        """Neither is a deviation sure, nor that it is small: few points, or a scatter that may hide it."""
        return not self.deviates and self.most > FOLLOWS

    @property
    def most(self) -> float:
        """Upper end of d, whatever shape the deviation has."""
        return max(self.deviation[2], self.largest)

    @property
    def words(self) -> str:
        """The result in a sentence."""
        scatter = "scatter" if self.scatter is None else f"estimated scatter of {_percent(self.scatter)}"
        low, median, _ = self.deviation
        size = f"{median:.2g} times the {scatter} ({_percent(self.relative)} of the values)"
        rough = "; it differs from point to point: the scatter may be larger than stated" if self.rough else ""
        if self.cannot_follow:
            return f"the law cannot follow these data: it is off by {size}; do not trust constants from them{rough}"
        if self.deviates:
            return f"the law deviates from these data by {size}; the intervals are wider for it{rough}"
        if self.undecided:
            span = f"deviation {low:.2g} to {self.most:.2g} times the {scatter}"
            return f"these data do not tell whether the law follows ({span})"
        return f"the law follows these data within their {scatter}"


@dataclass(frozen=True)
class Posterior:
    """Draws from the posterior of the constants, with all that was assumed to get them."""

    prior: Prior
    likelihood: Likelihood
    draws: Draws

    @property
    def q(self) -> np.ndarray:
        """Coordinates of the constants, (draw, constant)."""
        return self.draws.points[:, : len(self.prior.names)]

    @property
    def hyper(self) -> np.ndarray:
        return self.draws.points[:, len(self.prior.names) :]

    @cached_property
    def values(self) -> dict[str, np.ndarray]:
        """Constants (draw,) by name."""
        return self.prior.values(self.q)

    @cached_property
    def scaled(self) -> np.ndarray:
        """Constants (draw, constant) in the scale of mean and covariance: the logarithm for LOGARITHMIC ones."""
        return scaled(self.values, self.prior.names)

    @cached_property
    def covariance(self) -> np.ndarray:
        return np.atleast_2d(np.cov(self.scaled, rowvar=False))

    @cached_property
    def estimates(self) -> tuple[Estimate, ...]:
        before = self.prior.values(self.prior.draw(PRIOR_DRAWS, np.random.default_rng(0)))
        return tuple(_estimate(name, self.values, before) for name in self.prior.names)

    def estimate(self, name: str) -> Estimate:
        return next(one for one in self.estimates if one.name == name)

    @property
    def undetermined(self) -> tuple[str, ...]:
        """Constants of which the data say hardly more than the prior."""
        return tuple(one.name for one in self.estimates if one.verdict == "not determined")

    def soil(self, name: str) -> Soil:
        """The soil with the mean of each constant. Means of logarithms keep p = k z^n consistent."""
        mean = self.scaled.mean(axis=0)
        found = {
            key: float(np.exp(m) if key in LOGARITHMIC else m) for key, m in zip(self.prior.names, mean, strict=True)
        }
        shares = {one.name: f"identified, 90 % interval {one.low:.4g} to {one.high:.4g}, {one.verdict}"
                  for one in self.estimates}  # fmt: skip
        return self.prior.fixed.replace(name=name, **found, sources=shares)

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        return tuple(self._check(group) for group in self.likelihood.groups)

    def _some(self, count: int) -> np.ndarray:
        return np.linspace(0, len(self.q) - 1, min(count, len(self.q))).astype(int)

    def _check(self, group: str) -> Check:
        from scipy.stats import chi2

        curves = [curve for curve in self.likelihood.curves if curve.group == group]
        some = self._some(CHECKED)
        values, hyper = self.prior.values(self.q[some]), self.hyper[some]
        squares, points = np.zeros(len(some)), 0
        for curve in curves:
            error = 0.0 if curve.error is None else curve.error(values) / curve.sigma
            squares += np.sum(curve.residuals(curve.predict(values)) ** 2 / (1 + error**2), axis=1)
            points += len(curve.y)
        sizes = [curve.relative * float(self.likelihood.scatter(hyper, curve).mean()) for curve in curves]
        estimated = [size for size, curve in zip(sizes, curves, strict=True) if not curve.known]
        d = self.likelihood.deviation(self.hyper, group)
        low, median, high = (float(one) for one in np.quantile(d, [0.05, 0.5, 0.95]))
        p = float(np.mean(chi2.sf(squares, points))) if not estimated else None
        scatter = float(np.mean(estimated)) if estimated else None
        largest, beside = self._shapes(group, curves[0].kind)
        rough = not estimated and beside > ROUGHLY
        return Check(group, points, (low, median, high), median * float(np.mean(sizes)), p, scatter, largest, rough)

    @cached_property
    def _shares(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Some draws, and the probability of each shape of the deviation with them, (shape, draw) by kind."""
        some = self._some(WEIGHED)
        return some, self.likelihood.shares(self.prior.values(self.q[some]), self.hyper[some])

    def _shapes(self, group: str, kind: str) -> tuple[float, float]:
        """95 % of d with the shape for which it is largest; how likely its rough part is larger than the scatter."""
        some, shares = self._shares
        d = self.likelihood.deviation(self.hyper[some], group)
        largest, rough = 0.0, 0.0
        for share, (_, w) in zip(shares[kind], self.likelihood.shapes_of(kind), strict=True):
            if share.mean() >= POSSIBLE:
                largest = max(largest, float(np.quantile(d, 0.95, weights=share, method="inverted_cdf")))
            rough += float(np.mean(share * (w * d**2 > 1)))
        return largest, rough

    def held_back(self, fitted: Curve, curve: Curve, quantiles: tuple[float, ...] = (0.05, 0.5, 0.95)) -> np.ndarray:
        """Quantiles (quantile, point) of measurements that were not fitted, on the curve of `fitted` ones.

        The deviation of the law at the fitted points says what it is in between: with a shape of the deviation, drawn
        anew for each soil, both are one Gaussian vector, and the held-back part is drawn given the fitted one.
        """
        some, rng = self._some(CHECKED), np.random.default_rng(0)
        values, hyper = self.prior.values(self.q[some]), self.hyper[some]
        s, d = self.likelihood.scatter(hyper, curve), self.likelihood.deviation(hyper, curve.group)
        chosen = self.likelihood.shape(curve.kind, values, hyper, rng)
        together = [fitted.deviation(shape, curve.x) for shape in self.likelihood.shapes_of(curve.kind)]
        emulator = fitted.correlation(EMULATOR_LENGTH, curve.x)
        known, predicted = len(fitted.x), curve.predict(values)
        errors = [np.zeros_like(curve.predict(values)) if curve.error is None else curve.error(values)]
        errors.insert(0, np.zeros((len(some), known)) if fitted.error is None else fitted.error(values))
        rest = fitted.residuals(fitted.predict(values))
        drawn = np.empty_like(predicted)
        for k in range(len(some)):
            e = np.concatenate([errors[0][k] / fitted.sigma, errors[1][k] / curve.sigma])
            covariance = (s[k] * d[k]) ** 2 * together[chosen[k]] + e[:, None] * emulator * e
            covariance[np.diag_indices(len(e))] += s[k] ** 2
            gain = np.linalg.solve(covariance[:known, :known], covariance[:known, known:]).T
            left = covariance[known:, known:] - gain @ covariance[:known, known:]
            drawn[k] = rng.multivariate_normal(gain @ rest[k], left, method="eigh")
        shift = curve.sigma * drawn
        return np.quantile(predicted * np.exp(shift) if curve.logarithmic else predicted + shift, quantiles, axis=0)

    def band(self, curve: Curve, quantiles: tuple[float, ...] = (0.05, 0.5, 0.95), draws: int = 400) -> np.ndarray:
        """Quantiles (quantile, point) of a new measurement at the places of a curve: soil, discrepancy and scatter."""
        some = self._some(draws)
        values, hyper = self.prior.values(self.q[some]), self.hyper[some]
        rng = np.random.default_rng(0)
        predicted = curve.predict(values)
        s, d = self.likelihood.scatter(hyper, curve), self.likelihood.deviation(hyper, curve.group)
        noise = s[:, None] * np.sqrt(1 + d[:, None] ** 2) * curve.sigma * rng.standard_normal(predicted.shape)
        if curve.logarithmic:
            return np.quantile(predicted * np.exp(noise), quantiles, axis=0)
        if curve.error is not None:
            noise = noise + curve.error(values) * rng.standard_normal(predicted.shape)
        return np.quantile(predicted + noise, quantiles, axis=0)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else f"{100 * share:.2g} %"


def scaled(values: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    return np.stack([np.log(values[name]) if name in LOGARITHMIC else values[name] for name in names], axis=1)


def _estimate(name: str, after: dict[str, np.ndarray], before: dict[str, np.ndarray]) -> Estimate:
    now, then = (scaled(one, (name,))[:, 0] for one in (after, before))
    low, high = np.quantile(now, INTERVAL)
    prior_low, prior_high = np.quantile(then, INTERVAL)
    share = float((high - low) / (prior_high - prior_low))

    def back(x: float) -> float:
        return float(np.exp(x)) if name in LOGARITHMIC else float(x)

    return Estimate(name, UNIT[name], back(now.mean()), back(low), back(high), back(prior_low), back(prior_high), share)


def posterior(
    prior: Prior,
    likelihood: Likelihood,
    *,
    seed: int = 0,
    effective: int = EFFECTIVE,
    most_steps: int = MOST_STEPS,
    progress: Callable[[float], None] = lambda share: None,
) -> Posterior:
    """Sample the constants of `prior` and the hyperparameters of `likelihood`."""
    constants = len(prior.names)
    low, high = likelihood.ranges

    def log_likelihood(points: np.ndarray) -> np.ndarray:
        return likelihood.log_density(prior.values(points[:, :constants]), points[:, constants:])

    def draw(count: int, rng: np.random.Generator) -> np.ndarray:
        return np.concatenate([prior.draw(count, rng), rng.uniform(low, high, (count, len(low)))], axis=1)

    def inside(points: np.ndarray) -> np.ndarray:
        hyper = points[:, constants:]
        return prior.inside(points[:, :constants]) & np.all((hyper >= low) & (hyper <= high), axis=1)

    box = np.concatenate([prior.low, low]), np.concatenate([prior.high, high])
    draws = sample(
        log_likelihood, draw, inside, box, seed=seed, effective=effective, most_steps=most_steps, progress=progress
    )
    return Posterior(prior, likelihood, draws)
