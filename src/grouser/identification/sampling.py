"""Draws from a posterior with emcee's ensemble sampler.

The walkers start as draws from the prior and are led to the posterior in stages, in which the likelihood counts with a
power that rises from 0 to 1 (annealing with resampling, Neal 2001; Del Moral et al. 2006). No optimum is searched, so
that constants which the data do not determine begin as wide as their prior, and no starting point can be wrong.

Moves of an ensemble follow straight correlations (n and k_phi). Where a constant is free over a range only in part of
the posterior (k_phi where k_c carries the load, d below the scatter) they take hundreds of steps from one end to the
other, so that half of the moves change one coordinate alone, over all its range or a tenth of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from grouser.errors import InputError

WALKERS_PER_DIMENSION, LEAST_WALKERS = 8, 64
FIRST = 16  # prior draws for each walker of the first stage
STAGE_STEPS = 20  # of the ensemble in each stage
MOST_STAGES = 60
KEPT_SHARE = 0.5  # effective share of the walkers after the weights of a stage
CHUNK = 500  # steps between two looks at the autocorrelation
LOCAL = 0.1  # of a range: step of a coordinate that is not drawn anew
LEAST_TIMES = 10.0  # autocorrelation times a chain must have: from a shorter one they come out far too small
BURN_IN = 4.0  # autocorrelation times that are left out at the start
EFFECTIVE = 1000  # independent draws that are aimed at
MOST_STEPS = 16_000
GROUPS = 4  # of walkers, whose means are compared
LARGEST_SPREAD = 1.05  # of the split R-hat: above it the chains have not mixed

LogDensity = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Draws:
    """Draws from a posterior."""

    points: np.ndarray  # (draw, parameter)
    effective: float  # number of independent draws they are worth
    spread: float  # largest split R-hat over the parameters; 1 when the chains have mixed

    @property
    def mixed(self) -> bool:
        return self.spread <= LARGEST_SPREAD


def packages() -> tuple[Any, Any]:
    """The package emcee, and what limits threads. Both are extras."""
    try:
        import emcee
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError:
        raise InputError("identify needs emcee and threadpoolctl: pip install 'grouser[identify]'") from None
    return emcee, threadpool_limits


def sample(
    log_likelihood: LogDensity,
    prior_draws: Callable[[int, np.random.Generator], np.ndarray],
    inside: Callable[[np.ndarray], np.ndarray],
    box: tuple[np.ndarray, np.ndarray],
    *,
    seed: int = 0,
    effective: int = EFFECTIVE,
    most_steps: int = MOST_STEPS,
    progress: Callable[[float], None] = lambda share: None,
) -> Draws:
    """Sample a prior that is uniform where `inside`, times a likelihood. Points are (draw, parameter).

    `box` has the lower and upper ends of all parameters, (parameter,) each.
    """
    emcee, threadpool_limits = packages()
    rng = np.random.default_rng(seed)
    first = prior_draws(1, rng)
    walkers = max(LEAST_WALKERS, WALKERS_PER_DIMENSION * first.shape[1])
    power = [0.0]

    def density(points: np.ndarray) -> np.ndarray:
        found = np.full(len(points), -np.inf)
        there = inside(points)
        if there.any():
            found[there] = power[0] * log_likelihood(points[there])
        return np.where(np.isnan(found), -np.inf, found)

    alone = emcee.moves.MHMove(lambda points, random: _one_coordinate(points, random, *box))
    moves = [(alone, 0.5), (emcee.moves.DEMove(), 0.3), (emcee.moves.DESnookerMove(), 0.05),
             (emcee.moves.StretchMove(), 0.15)]  # fmt: skip
    sampler = emcee.EnsembleSampler(walkers, first.shape[1], density, moves=moves, vectorize=True)
    sampler.random_state = np.random.RandomState(seed).get_state()
    with threadpool_limits(1):  # matrices of tens of rows are slower on several threads, and far so beside other work
        points = _annealed(sampler, log_likelihood, inside, prior_draws(FIRST * walkers, rng), walkers, power, rng)
        state = points
        taken, time, chain = 0, np.inf, np.empty((0, walkers, first.shape[1]))
        while taken < most_steps:
            state = sampler.run_mcmc(state, CHUNK, skip_initial_state_check=True)
            taken += CHUNK
            time = float(np.max(sampler.get_autocorr_time(tol=0)))
            known = np.isfinite(time) and time > 0
            chain = np.asarray(sampler.get_chain(discard=int(min(taken // 2, BURN_IN * time)) if known else taken // 2))
            share = (taken - BURN_IN * time) * walkers / time / effective if known else 0.0
            progress(min(1.0, max(share, taken / most_steps)))
            if share >= 1 and taken >= LEAST_TIMES * time and split_spread(chain) <= LARGEST_SPREAD:
                break
    thin = max(1, len(chain) * walkers // (20 * effective))
    flat = chain[::thin].reshape(-1, chain.shape[2])
    return Draws(flat, len(chain) * walkers / max(time, 1.0), split_spread(chain))


def _one_coordinate(points: np.ndarray, random, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Change one coordinate of each point, and ln of the ratio of proposals: 0, as both ways are as likely."""
    rows, chosen = np.arange(len(points)), random.randint(points.shape[1], size=len(points))
    anew = low[chosen] + (high - low)[chosen] * random.uniform(size=len(points))
    near = points[rows, chosen] + LOCAL * (high - low)[chosen] * random.standard_normal(len(points))
    moved = points.copy()
    moved[rows, chosen] = np.where(random.uniform(size=len(points)) < 0.5, anew, near)
    return moved, np.zeros(len(points))


def _annealed(
    sampler, log_likelihood: LogDensity, inside, draws: np.ndarray, walkers: int, power: list[float], rng
) -> np.ndarray:  # fmt: skip
    """Lead draws of the prior to the posterior; `power` is what the likelihood counts with."""
    for _ in range(MOST_STAGES):
        found = log_likelihood(draws)
        found = np.where(np.isfinite(found), found, -np.inf)
        if not np.isfinite(found).any():
            raise InputError("identify: no soil of the prior gives these data a finite probability")
        step = _next_step(found, 1.0 - power[0], KEPT_SHARE * walkers)
        weights = np.exp(step * (found - found.max()))
        chosen = rng.choice(len(draws), walkers, p=weights / weights.sum())
        power[0] = min(1.0, power[0] + step)
        points = draws[chosen]
        # Walkers that stand on the same point span no direction: move them apart by a little, then let them walk.
        moved = points + 1e-4 * rng.standard_normal(points.shape) * np.ptp(draws, axis=0)
        points = np.where(inside(moved)[:, None], moved, points)
        sampler.reset()
        state = sampler.run_mcmc(points, STAGE_STEPS, skip_initial_state_check=True)
        draws = np.array(state.coords)
        if power[0] >= 1.0:
            sampler.reset()
            return draws
    raise InputError("identify: the sampler did not reach the posterior; are some scatters far too small?")


def _next_step(found: np.ndarray, most: float, least: float) -> float:
    """Largest rise of the power with which at least `least` walkers are effectively kept."""

    def kept(step: float) -> float:
        weights = np.exp(step * (found - found.max()))
        return float(weights.sum() ** 2 / (weights**2).sum())

    if kept(most) >= least:
        return most
    low, high = 0.0, most
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if kept(middle) >= least else (low, middle)
    return max(low, 1e-9)


def split_spread(chain: np.ndarray) -> float:
    """Largest split R-hat (Gelman et al. 2013) of a chain (step, walker, parameter): halves of groups of walkers.

    Halves tell a chain that still drifts, groups one whose walkers stay apart.
    """
    half = len(chain) // 2
    if half < 2:
        return float("inf")
    groups = min(GROUPS, chain.shape[1])
    parts = [part[:, k::groups] for part in (chain[:half], chain[half : 2 * half]) for k in range(groups)]
    means = np.stack([part.mean(axis=(0, 1)) for part in parts])
    within = np.mean([part.var(axis=(0, 1)) for part in parts], axis=0)
    between = means.var(axis=0, ddof=1)
    return float(np.sqrt(1 + np.max(between / np.maximum(within, 1e-300))))
