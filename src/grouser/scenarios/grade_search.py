"""Search for the steepest slope on which slip settles, by trials from several starts at each slope."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def verdict(votes: Sequence[bool], starts: int) -> bool | None:
    """Whether slip settles for most of `starts` starts, as soon as `votes` decide it; None before.

    If every start has a limit of its own, the steepest slope with a majority is the median of these limits.
    """
    settled = sum(votes)
    if settled > starts // 2:
        return True
    return False if len(votes) - settled > starts // 2 else None


def votes_by_slope(slopes: Sequence[float], settled: Sequence[bool]) -> dict[float, list[bool]]:
    """Results of the trials on each slope [deg], in their order."""
    votes: dict[float, list[bool]] = {}
    for slope, calm in zip(slopes, settled, strict=True):
        votes.setdefault(slope, []).append(calm)
    return votes


def bracket(slopes: Sequence[float], settled: Sequence[bool], starts: int) -> tuple[float | None, float | None]:
    """Steepest climbed slope below the gentlest failed one, and that one [deg]; None if there is none."""
    decided = {slope: verdict(votes, starts) for slope, votes in votes_by_slope(slopes, settled).items()}
    high = min((slope for slope, climbed in decided.items() if climbed is False), default=None)
    low = max((slope for slope, climbed in decided.items() if climbed and (high is None or slope < high)), default=None)
    return low, high


def next_slope(
    slopes: Sequence[float], settled: Sequence[bool], starts: int, step: float, resolution: float, steepest: float
) -> float | None:
    """Slope [deg] of the next trial, None at the end of the search.

    The same slope until its starts have decided; steeper by `step` up to `steepest` until a slope has failed; then
    halfway between climbed and failed until both are at most `resolution` apart.
    """
    for slope, votes in votes_by_slope(slopes, settled).items():
        if verdict(votes, starts) is None:
            return slope
    low, high = bracket(slopes, settled, starts)
    if high is None:
        further = 0.0 if low is None else low + step
        return further if further <= steepest else None
    return (low + high) / 2 if low is not None and high - low > resolution * (1 + 1e-9) else None


def crossing(slopes: np.ndarray, slips: np.ndarray, slip: float) -> float | None:
    """Smallest slope [deg] at which slip reaches a value, linear between slopes. None if it does not.

    Of several trials on a slope the median counts.
    """
    different = np.unique(slopes)
    middle = np.array([np.median(slips[slopes == slope]) for slope in different])
    above = np.flatnonzero(middle >= slip)
    if not len(above) or above[0] == 0:
        return None
    k = above[0]
    share = (slip - middle[k - 1]) / (middle[k] - middle[k - 1])
    return float(different[k - 1] + share * (different[k] - different[k - 1]))
