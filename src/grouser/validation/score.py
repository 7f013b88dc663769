"""Errors of computed against measured wheels."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grouser.validation.measured import QUANTITIES, MeasuredWheel, Points

AIM = 0.20  # median error that is aimed at
# Least denominators of errors, so that a value near 0 cannot make a large error of a small difference.
PULL_FLOOR = 0.03  # of the load
TORQUE_FLOOR = 0.03  # of load times radius: the torque of the pull's floor at the rim
SINKAGE_FLOOR = 0.01  # of the radius: 0.5 to 2 mm, the accuracy to which soil beds are levelled (assumed)


def floor(quantity: str, load: float, radius: float) -> float:
    """Least denominator of the errors of a quantity, in SI: `load` in N, `radius` of the rim in m."""
    return {"pull": PULL_FLOOR * load, "torque": TORQUE_FLOOR * load * radius, "sinkage": SINKAGE_FLOOR * radius}[
        quantity
    ]


def error(computed: float | None, measured: float, least: float) -> float:
    """|computed - measured| / max(|measured|, least). Infinite for a run that failed: it must not raise the score."""
    if computed is None or not math.isfinite(computed):
        return math.inf
    return abs(computed - measured) / max(abs(measured), least)


@dataclass(frozen=True)
class Score:
    """One quantity of one set under one law, in SI."""

    points: Points
    computed: tuple[float | None, ...]  # None: the run failed
    floor: float

    @property
    def errors(self) -> list[float]:
        return [error(c, m, self.floor) for c, m in zip(self.computed, self.points.values, strict=True)]

    @property
    def median(self) -> float:
        return statistics.median(self.errors)

    @property
    def worst(self) -> tuple[float, float]:
        """The largest error, and the slip at which it is."""
        return max(zip(self.errors, self.points.slips, strict=True))

    @property
    def beyond(self) -> list[float]:
        """Slips at which the error is larger than the aim."""
        return [slip for slip, one in zip(self.points.slips, self.errors, strict=True) if one > AIM]


def scores(wheel: MeasuredWheel, computed: Mapping[float, Mapping[str, float] | None]) -> dict[str, Score]:
    """Scores of a set by quantity. `computed`: pull, sinkage and torque by slip; None where the run failed."""
    given = wheel.given
    lower = given.wheel.lug_height if given.sinkage_of == "tips" else 0.0  # [m] of the lowest point below the rim
    shift = {"pull": 0.0, "sinkage": lower, "torque": 0.0}
    found: dict[str, Score] = {}
    for name, points in wheel.points.items():
        runs = [computed[slip] for slip in points.slips]
        values = tuple(None if run is None else run[name] + shift[name] for run in runs)
        found[name] = Score(points, values, floor(name, given.load, given.wheel.radius))
    return found


def means(blind: Iterable[Mapping[str, Score]]) -> dict[str, float]:
    """Mean of the medians of scored quantities over sets, by quantity, and over all of them as "all".

    Pass only sets whose soil the source gives. Every median counts once, however many points are behind it.
    """
    medians = [(name, score.median) for one in blind for name, score in one.items() if score.points.scored]
    found = {name: _mean([m for other, m in medians if other == name]) for name in QUANTITIES}
    found["all"] = _mean([m for _, m in medians])
    return {name: value for name, value in found.items() if value is not None}


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None
