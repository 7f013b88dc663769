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
            name: math.exp(x) if scale.startswith(LN) else float(x)
            for scale, name, x in zip(self.scales, self.names, row, strict=True)
        }

    def draw(self, soil: Soil, count: int, seed: int = 0) -> list[dict[str, float]]:
        """Constants of `count` soils: rows of the file if it has enough, else normal with mean and covariance.

        Rows are taken at equal distances, so that neighbours in a chain do not come together.
        """
        if len(self.rows) >= count:
            chosen = np.linspace(0, len(self.rows) - 1, count).round().astype(int)
            return [self.constants(self.rows[k]) for k in chosen]
        values = [getattr(soil, name) for name in self.names]
        mean = [math.log(v) if s.startswith(LN) else v for s, v in zip(self.scales, values, strict=True)]
        rng = np.random.default_rng(seed)
        found: list[dict[str, float]] = []
        for _ in range(MOST_ROUNDS):
            for row in rng.multivariate_normal(mean, self.covariance, count, method="eigh"):
                constants = self.constants(row)
                if all(_in_range(name, value) for name, value in constants.items()):
                    found.append(constants)
            if len(found) >= count:
                return found[:count]
        raise InputError(f"soil {soil.name!r}: uncertainty: hardly any draw has constants that a soil can have")


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
