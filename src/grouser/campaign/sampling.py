"""Chooses the points of the parameter space, and the seed of each."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np


def grid(values: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """All combinations of the values. The last parameter changes fastest."""
    return list(itertools.product(*values))


def monte_carlo(samples: int, parameters: int, seed: int) -> np.ndarray:
    """Independent shares in [0, 1), (samples, parameters). With more samples the first ones stay the same."""
    return np.random.default_rng(seed).random((samples, parameters))


def latin_hypercube(samples: int, parameters: int, seed: int) -> np.ndarray:
    """Shares in [0, 1), (samples, parameters). Each parameter has one in every interval of length 1/samples."""
    from scipy.stats import qmc

    return qmc.LatinHypercube(parameters, rng=np.random.default_rng(seed)).random(samples)


def case_seed(seed: int, case: int) -> int:
    """Seed of one case, independent of the number of cases. It has 31 bits, which any generator accepts."""
    return int(np.random.SeedSequence([seed, case]).generate_state(1)[0]) >> 1
