"""200 made-up data sets each: intervals hold the truth as often as they say, and are hardly wider than exact ones.

`python -m pytest -m nightly tests/identification/test_coverage.py -s` prints the numbers of docs/identify.md.
"""

import numpy as np
import pytest

from grouser.identification.constants import STRESS, Prior
from grouser.identification.data import read_measurements
from grouser.identification.likelihood import Likelihood, exact_curves
from grouser.identification.posterior import INTERVAL, posterior
from grouser.terrain.soils import soil
from tests.identification.synthetic import plates, shear

SETS = 200
COVERED = (0.85, 0.95)  # share of 90 % intervals that hold the truth
WIDEST = 1.5  # median width over that of the exact posterior
GRID = 36  # nodes of each axis of the exact posterior
FALSE_ALARMS = 0.05  # most of the right laws that may be flagged


def exact_widths(prior, likelihood, centre, deviation):
    """Widths (constant,) of the exact 90 % intervals of coordinates, by quadrature without discrepancy."""
    axes = [np.linspace(max(lo, c - 5 * d), min(hi, c + 5 * d), GRID)
            for lo, hi, c, d in zip(prior.low, prior.high, centre, deviation, strict=True)]  # fmt: skip
    q = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    density = likelihood.log_density(prior.values(q), np.empty((len(q), 0)))
    weight = np.exp(density - density.max()).reshape([GRID] * len(axes))
    widths = []
    for k, axis in enumerate(axes):
        marginal = weight.sum(axis=tuple(i for i in range(len(axes)) if i != k))
        below = np.concatenate([[0], np.cumsum(0.5 * (marginal[1:] + marginal[:-1]))])
        low, high = np.interp(INTERVAL, below / below[-1], axis)
        widths.append(high - low)
    return np.array(widths)


def coverage(names, kind, make, sets):
    """Shares of intervals that hold the truth and median widths over exact ones, (constant,); share flagged."""
    prior, rng = Prior.of(names, soil("dry-sand")), np.random.default_rng(7)
    held, ratios, flagged = np.zeros(len(names)), [], 0
    for k in range(sets):
        truth = prior.draw(1, rng)[0]
        curves = tuple(exact_curves(read_measurements({kind: make(prior.soil(truth, "truth"), rng)})))
        found = posterior(prior, Likelihood(curves), seed=k, effective=400)
        low, high = np.quantile(found.q, INTERVAL, axis=0)
        held += (low <= truth) & (truth <= high)
        exact = exact_widths(
            prior, Likelihood(curves, discrepancy=False), np.median(found.q, axis=0), found.q.std(axis=0)
        )
        ratios.append((high - low) / exact)
        flagged += any(check.deviates for check in found.checks)
    return held / sets, np.median(ratios, axis=0), flagged / sets


@pytest.mark.nightly
@pytest.mark.parametrize(("names", "kind", "make"), [(STRESS[:3], "plates", plates), (STRESS[3:], "shear", shear)])
def test_intervals_hold_the_truth_as_often_as_they_say(names, kind, make):
    shares, widths, flagged = coverage(names, kind, make, SETS)
    for name, share, width in zip(names, shares, widths, strict=True):
        print(f"{kind}, {name}: {100 * share:.1f} % hold the truth, width {width:.2f} of the exact posterior")
    print(f"{kind}: {100 * shares.mean():.1f} % of all, {100 * flagged:.1f} % flagged")
    assert COVERED[0] <= shares.min() <= shares.max() <= COVERED[1], "each constant, not only their mean"
    assert widths.max() <= WIDEST
    assert flagged <= FALSE_ALARMS


@pytest.mark.nightly
def test_a_scatter_that_is_too_small_would_be_seen():
    """The same count with an answer that is too sure: without discrepancy and half the scatter it leaves the range."""
    prior, rng, held = Prior.of(STRESS[:3], soil("dry-sand")), np.random.default_rng(7), []
    for k in range(40):
        truth = prior.draw(1, rng)[0]
        data = plates(prior.soil(truth, "truth"), rng)
        for test in data.values():
            test["scatter"] = "2.5 %"
        curves = tuple(exact_curves(read_measurements({"plates": data})))
        found = posterior(prior, Likelihood(curves, discrepancy=False), seed=k, effective=400)
        low, high = np.quantile(found.q, INTERVAL, axis=0)
        held.append((low <= truth) & (truth <= high))
    assert np.mean(held) < COVERED[0]
