"""How uncertain the constants of a soil are: their covariance, and draws from their distribution.

In a soil file, under the soil, with its own constants as the mean:

    uncertainty:
      constants: [n, ln k_c, ln k_phi]      # the scale of rows and columns; ln: of the logarithm
      covariance: [[…], […], […]]
      draws: [[…], …]                       # optional, one row each
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grouser.errors import InputError
from grouser.terrain import checks
from grouser.terrain.soils import RANGES, Soil

KEYS = ("constants", "covariance", "draws")
LN = "ln "
MOST_ROUNDS = 100  # of drawing until enough draws are soils


@dataclass(frozen=True)
class SoilUncertainty:
    """Distribution of some constants of a soil around its own."""

    scales: tuple[str, ...]  # "n", "ln k_c": a constant, or its logarithm
    covariance: np.ndarray  # (constant, constant)
    rows: np.ndarray  # (draw, constant) draws from the distribution itself; (0, constant) if there are none

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(scale.removeprefix(LN) for scale in self.scales)

    def constants(self, row: np.ndarray) -> dict[str, float]:
        """Constants by name, of one row in the scales."""
        return {
            name: _exponential(x) if scale.startswith(LN) else float(x)
            for scale, name, x in zip(self.scales, self.names, row, strict=True)
        }

    def draw(self, soil: Soil, count: int, seed: int = 0) -> list[dict[str, float]]:
        """Constants of `count` soils: rows of the file if it has enough, else normal with mean and covariance.

        Rows are taken at equal distances, so that neighbours in a chain do not come together.
        """
        mean = self.mean(soil)  # refuses constants that the soil has no value of
        if len(self.rows) >= count:
            chosen = np.linspace(0, len(self.rows) - 1, count).round().astype(int)
            return [self._checked(int(k), soil) for k in chosen]
        rng = np.random.default_rng(seed)
        found: list[dict[str, float]] = []
        for _ in range(MOST_ROUNDS):
            for row in rng.multivariate_normal(mean, self.covariance, count, method="eigh"):
                constants = self.constants(row)
                if self._outside(constants) is None:
                    found.append(constants)
            if len(found) >= count:
                return found[:count]
        raise InputError(f"soil {soil.name!r}: uncertainty: hardly any draw has constants that a soil can have")

    def mean(self, soil: Soil) -> np.ndarray:
        """Constants of the soil (constant,) in the scales. Raises InputError for one that has no place there."""
        found = []
        for scale, name in zip(self.scales, self.names, strict=True):
            value, what = getattr(soil, name), f"soil {soil.name!r}: uncertainty: {scale}"
            if value is None:
                raise InputError(f"{what}: the soil has no {name}: allowed are constants that it has")
            if scale.startswith(LN) and value <= 0:
                raise InputError(
                    f"{what}: {name} of the soil is {value:g}: allowed is one above 0, or a scale without ln"
                )
            found.append(math.log(value) if scale.startswith(LN) else value)
        return np.array(found)

    def _checked(self, row: int, soil: Soil) -> dict[str, float]:
        """Constants of a row of the file."""
        constants = self.constants(self.rows[row])
        name = self._outside(constants)
        if name is not None:
            raise InputError(
                f"soil {soil.name!r}: uncertainty: draws: row {row + 1} has {name} = {constants[name]:g}: "
                "allowed is what a soil can have"
            )
        return constants

    def _outside(self, constants: Mapping[str, float]) -> str | None:
        """Name of the first constant that no soil has; that of a logarithm is above 0."""
        for scale, name in zip(self.scales, self.names, strict=True):
            if not _in_range(name, constants[name]) or (scale.startswith(LN) and constants[name] <= 0):
                return name
        return None


def _exponential(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:  # a huge variance: no soil has such a constant
        return math.inf


def _in_range(name: str, value: float) -> bool:
    try:
        checks.number(value, name, **RANGES[name])
    except InputError:
        return False
    return True


def parsed(given: Any, what: str) -> SoilUncertainty:
    """Check an `uncertainty` of a soil file. Raises an InputError of one line that begins with `what`."""
    if not isinstance(given, Mapping):
        raise InputError(f"{what} = {checks.shown(given)}: allowed is a mapping with {', '.join(KEYS)}")
    for key in given:
        checks.choice(key, f"{what}: field", KEYS)
    scales = given.get("constants")
    if not isinstance(scales, Sequence) or isinstance(scales, str) or not scales:
        raise InputError(f"{what}: constants = {checks.shown(scales)}: allowed is a list such as [n, ln k_c]")
    for scale in scales:
        checks.choice(str(scale).removeprefix(LN), f"{what}: constant", RANGES)
    names = [str(scale).removeprefix(LN) for scale in scales]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{what}: constants: {twice} stands there more than once: allowed is once")
    size = len(scales)
    covariance = _table(given.get("covariance"), f"{what}: covariance", size)
    if len(covariance) != size or not np.allclose(covariance, covariance.T, rtol=1e-6, atol=1e-12):
        raise InputError(f"{what}: covariance: allowed is a symmetric table of {size} rows, one for each constant")
    spread = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    if np.any(np.diag(covariance) < 0) or np.linalg.eigvalsh(covariance / np.outer(spread, spread)).min() < -1e-6:
        raise InputError(f"{what}: covariance: allowed is a positive semidefinite table")
    rows = given.get("draws")
    draws = np.empty((0, size)) if rows is None else _table(rows, f"{what}: draws", size)
    return SoilUncertainty(tuple(map(str, scales)), covariance, draws)


def _table(given: Any, what: str, columns: int) -> np.ndarray:
    """Rows of numbers as an array, (row, column)."""
    try:
        table = np.array([[float(x) for x in row] for row in given], dtype=float).reshape(-1, columns)
    except (TypeError, ValueError):
        raise InputError(f"{what}: allowed are rows of {columns} numbers") from None
    if len(table) != len(given) or not np.isfinite(table).all():
        raise InputError(f"{what}: allowed are rows of {columns} finite numbers")
    return table


def load_uncertainty(path: str | Path, name: str) -> SoilUncertainty:
    """The uncertainty of a soil of a file. Raises InputError if the soil has none."""
    from grouser.terrain.yaml_file import read_yaml

    file = checks.existing_file(path, "soil file")
    tree = read_yaml(file, "a mapping of soil names to their fields")
    fields = tree[checks.choice(name, f"soil of {file}", tree)]
    if not isinstance(fields, Mapping) or "uncertainty" not in fields:
        raise InputError(f"{file}: soil {name!r} has no 'uncertainty': allowed is a soil file of `grouser identify`")
    return parsed(fields["uncertainty"], f"{file}: soil {name!r}: uncertainty")
