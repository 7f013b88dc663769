"""Where samples lie: strata, orders, seeds, and quantiles against scipy's own distributions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from grouser.campaign import sampling
from grouser.campaign.distributions import Choice, Lognormal, Normal, Steps, Uniform

SHARES = np.linspace(1e-4, 1 - 1e-4, 101)
ROUNDING = 1e-9  # of the quantile functions of two libraries


def test_a_grid_has_every_combination_and_the_last_parameter_changes_fastest():
    assert sampling.grid([[1, 2], ["a", "b", "c"]]) == [(1, "a"), (1, "b"), (1, "c"), (2, "a"), (2, "b"), (2, "c")]


@pytest.mark.parametrize("samples", [1, 7, 64])
def test_a_latin_hypercube_has_one_sample_in_every_stratum_of_every_parameter(samples):
    shares = sampling.latin_hypercube(samples, 3, seed=4)
    for column in shares.T:
        assert sorted(np.floor(column * samples).astype(int)) == list(range(samples))


def test_monte_carlo_does_not_fill_every_stratum():
    """So that the test above is about the hypercube."""
    shares = sampling.monte_carlo(64, 3, seed=4)
    assert all(len(set(np.floor(column * 64))) < 64 for column in shares.T)


@pytest.mark.parametrize("draw", [sampling.latin_hypercube, sampling.monte_carlo])
def test_a_seed_decides_all_samples(draw):
    assert np.array_equal(draw(20, 2, seed=5), draw(20, 2, seed=5))
    assert not np.any(draw(20, 2, seed=5) == draw(20, 2, seed=6))


def test_more_monte_carlo_samples_go_on_where_fewer_ended():
    assert np.array_equal(sampling.monte_carlo(30, 2, seed=1)[:10], sampling.monte_carlo(10, 2, seed=1))


def test_case_seeds_differ_and_do_not_depend_on_how_many_there_are():
    seeds = [sampling.case_seed(3, case) for case in range(1, 2001)]
    assert len(set(seeds)) == len(seeds)
    assert seeds == [sampling.case_seed(3, case) for case in range(1, 2001)]
    assert not set(seeds) & {sampling.case_seed(4, case) for case in range(1, 2001)}
    assert all(0 <= seed < 2**31 for seed in seeds)


@pytest.mark.parametrize(
    ("drawn", "oracle"),
    [
        (Uniform(min=-2, max=5), stats.uniform(-2, 7)),
        (Uniform(min=0.1, max=50, scale="log"), stats.loguniform(0.1, 50)),
        (Normal(distribution="normal", mean=3, deviation=0.5), stats.norm(3, 0.5)),
        (
            Normal(distribution="normal", mean=3, deviation=0.5, min=2.5, max=4.5),
            stats.truncnorm(-1, 3, loc=3, scale=0.5),
        ),
        (Normal(distribution="normal", mean=1, deviation=2, min=0), stats.truncnorm(-0.5, np.inf, loc=1, scale=2)),
        (Lognormal(distribution="lognormal", median=4, log_deviation=0.3), stats.lognorm(0.3, scale=4)),
    ],
    ids=["uniform", "log-uniform", "normal", "normal, cut", "normal, cut below", "lognormal"],
)
def test_quantiles_are_those_of_scipy(drawn, oracle):
    assert drawn.at(SHARES, whole=False) == pytest.approx(oracle.ppf(SHARES), rel=ROUNDING, abs=ROUNDING)


def test_a_lognormal_can_be_cut_too():
    cut = Lognormal(distribution="lognormal", median=4, log_deviation=0.5, min=3, max=5)
    whole = stats.lognorm(0.5, scale=4)
    low, high = whole.cdf([3, 5])
    assert cut.at(SHARES, whole=False) == pytest.approx(whole.ppf(low + SHARES * (high - low)), rel=ROUNDING)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_ends_of_the_shares_are_finite(share):
    bell = Normal(distribution="normal", mean=0, deviation=1)
    assert np.isfinite(bell.at(np.array([share]), whole=False)).all()


def test_whole_numbers_between_two_are_equally_likely():
    shares = sampling.latin_hypercube(70, 1, seed=0)[:, 0]
    drawn = Uniform(min=2, max=8).at(shares, whole=True)
    assert sorted(drawn) == sorted(list(range(2, 9)) * 10)
    assert all(isinstance(value, int) for value in drawn)


def test_weights_decide_how_often_a_value_is_chosen():
    shares = sampling.latin_hypercube(100, 1, seed=0)[:, 0]
    drawn = Choice(values=["a", "b", "c"], weights=[1, 0, 3]).at(shares, whole=False)
    assert (drawn.count("a"), drawn.count("b"), drawn.count("c")) == (25, 0, 75)
    assert Choice(values=["a", "b"]).at(np.array([0.0, 0.49, 0.5, 0.999]), whole=False) == ["a", "a", "b", "b"]


def test_steps_have_both_ends_and_equal_distances_or_factors():
    assert Steps(min=1, max=2, count=5).values() == pytest.approx([1, 1.25, 1.5, 1.75, 2])
    assert Steps(min=1e3, max=1e6, count=4, scale="log").values() == pytest.approx([1e3, 1e4, 1e5, 1e6])
    assert Steps(min=0.1, max=0.2, count=3).values() == [0.1, 0.15, 0.2], "as a user would write them"
