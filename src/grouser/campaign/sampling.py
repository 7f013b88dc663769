"""Which points of the parameter space are visited, and the seed of each."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np


def grid(values: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Every combination; the last parameter changes fastest."""
    return list(itertools.product(*values))


def monte_carlo(samples: int, parameters: int, seed: int) -> np.ndarray:
    """(samples, parameters) independent shares in [0, 1); more samples go on where fewer ended."""
    return np.random.default_rng(seed).random((samples, parameters))


def latin_hypercube(samples: int, parameters: int, seed: int) -> np.ndarray:
    """(samples, parameters) shares: of each parameter one in every 1/samples of [0, 1)."""
    from scipy.stats import qmc

    return qmc.LatinHypercube(parameters, rng=np.random.default_rng(seed)).random(samples)


def case_seed(seed: int, case: int) -> int:
    """The seed of one case, the same however many there are; 31 bits, as any generator takes them."""
    return int(np.random.SeedSequence([seed, case]).generate_state(1)[0]) >> 1
