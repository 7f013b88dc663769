"""Values of a parameter of a sweep: steps of a grid, or a distribution from which samples are drawn.

Every distribution is given by its quantile function, which turns a share u between 0 and 1 into a value. Monte Carlo
and Latin hypercube sampling differ only in how they choose u.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Annotated, Any, Literal, Self

import numpy as np
import pydantic
from pydantic_core import PydanticCustomError

from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import Settings

SMALLEST_SHARE = 2.0**-53  # smallest share u, and distance from 1; the quantiles of 0 and 1 may be infinite
SHARE_LEFT = 1e-6  # smallest share of a distribution between min and max; below it quantiles lose precision


def _in_unit_of_setting(value: Any, info: pydantic.ValidationInfo) -> Any:
    """Convert a text with a unit to a number in the unit of the setting that is varied."""
    return Unit((info.context or {}).get("unit", "1")).number(value)


Quantity = Annotated[float, pydantic.BeforeValidator(_in_unit_of_setting)]
Scale = Literal["linear", "log"]


class _Between(Settings):
    """A range from `min` to `max`, on a linear or a logarithmic scale."""

    min: Quantity
    max: Quantity
    scale: Scale = "linear"

    @pydantic.model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.min < self.max:
            _raise_invalid(f"min {self.min:g} is not below max {self.max:g}")
        if self.scale == "log" and self.min <= 0:
            _raise_invalid(f"min {self.min:g}: a logarithmic scale needs a min above 0")
        return self

    def along(self, share: np.ndarray) -> np.ndarray:
        if self.scale == "log":
            return np.exp(math.log(self.min) + share * (math.log(self.max) - math.log(self.min)))
        return self.min + share * (self.max - self.min)


class Steps(_Between):
    """`count` values of a grid, including both ends."""

    count: Annotated[int, pydantic.Field(ge=2)]

    def values(self) -> list[Any]:
        inside = self.along(np.linspace(0, 1, self.count))[1:-1]
        return [self.min, *(float(f"{value:.15g}") for value in inside), self.max]  # 0.15, not 0.15000000000000002


class Uniform(_Between):
    """Uniform distribution between min and max. On a log scale the logarithm is uniform."""

    distribution: Literal["uniform"] = "uniform"

    def at(self, share: np.ndarray, whole: bool) -> list[Any]:
        if whole and self.scale == "linear":
            low, high = math.ceil(self.min), math.floor(self.max)
            return (low + np.floor(share * (high - low + 1)).astype(int)).tolist()
        return _listed(self.along(share), whole)


class _Bell(Settings):
    """A normal distribution (of the value or its logarithm), truncated at `min` and `max` if they are given."""

    min: Quantity | None = None
    max: Quantity | None = None

    @pydantic.model_validator(mode="after")
    def _something_left(self) -> Self:
        low, high = self._cut()
        if not high - low > SHARE_LEFT:
            _raise_invalid("no part of the distribution lies between min and max")
        return self

    @abstractmethod
    def _standard(self, value: float) -> float:
        """Distance of a value from the centre in standard deviations."""

    def _cut(self) -> tuple[float, float]:
        """Shares of the untruncated distribution below min and below max."""
        from scipy.special import ndtr

        return (
            0.0 if self.min is None else float(ndtr(self._standard(self.min))),
            1.0 if self.max is None else float(ndtr(self._standard(self.max))),
        )

    def deviations(self, share: np.ndarray) -> np.ndarray:
        from scipy.special import ndtri

        low, high = self._cut()
        return ndtri(np.clip(low + share * (high - low), SMALLEST_SHARE, 1 - SMALLEST_SHARE))


class Normal(_Bell):
    """Normal distribution. Mean and standard deviation are those before truncation."""

    distribution: Literal["normal"]
    mean: Quantity
    deviation: Annotated[Quantity, pydantic.Field(gt=0)]

    def _standard(self, value: float) -> float:
        return (value - self.mean) / self.deviation

    def at(self, share: np.ndarray, whole: bool) -> list[Any]:
        return _listed(self.mean + self.deviation * self.deviations(share), whole)


class Lognormal(_Bell):
    """The logarithm is normal: half of the values lie below `median`, two thirds within a factor exp(log_deviation)."""

    distribution: Literal["lognormal"]
    median: Annotated[Quantity, pydantic.Field(gt=0)]
    log_deviation: Annotated[float, pydantic.Field(gt=0)]

    def _standard(self, value: float) -> float:
        return math.log(value / self.median) / self.log_deviation if value > 0 else -math.inf

    def at(self, share: np.ndarray, whole: bool) -> list[Any]:
        return _listed(self.median * np.exp(self.log_deviation * self.deviations(share)), whole)


class Choice(Settings):
    """One of several values, with weights or with equal probability."""

    distribution: Literal["choice"] = "choice"
    values: Annotated[list[Any], pydantic.Field(min_length=1)]
    weights: list[Annotated[float, pydantic.Field(ge=0)]] | None = None

    @pydantic.model_validator(mode="after")
    def _as_many(self) -> Self:
        if self.weights is not None and len(self.weights) != len(self.values):
            _raise_invalid(f"{len(self.weights)} weights for {len(self.values)} values: the numbers must be equal")
        if self.weights is not None and not sum(self.weights) > 0:
            _raise_invalid("all weights are 0")
        return self

    def at(self, share: np.ndarray, whole: bool) -> list[Any]:
        return [self.values[k] for k in self.places(share)]

    def places(self, share: np.ndarray) -> list[int]:
        """Index of the value for each share."""
        weights = np.ones(len(self.values)) if self.weights is None else np.array(self.weights)
        upper = np.cumsum(weights) / weights.sum()
        return np.searchsorted(upper[:-1], share, side="right").tolist()


DISTRIBUTIONS: dict[str, type[Uniform | Normal | Lognormal | Choice]] = {
    "uniform": Uniform,
    "normal": Normal,
    "lognormal": Lognormal,
    "choice": Choice,
}


def _listed(values: np.ndarray, whole: bool) -> list[Any]:
    return np.rint(values).astype(int).tolist() if whole else values.tolist()


def _raise_invalid(text: str) -> None:
    raise PydanticCustomError("distribution", "{text}", {"text": text})
