"""Size-frequency laws of rocks: the number of rocks of each size per square metre."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from grouser.errors import InputError
from grouser.terrain import checks

FINE = 256  # number of diameters in the table of a law; neighbours differ by about 1 %


class SizeLaw(Protocol):
    """Interface of a size law, as `rock_field` uses it."""

    def density(self, diameter: float = 0.0) -> float:
        """Number of rocks per area [1/m^2] of this diameter [m] or larger."""
        ...

    def draw(self, count: int, random: np.random.Generator) -> np.ndarray:
        """Draw random diameters [m], (count,)."""
        ...

    @property
    def area_fraction(self) -> float:
        """Expected fraction of the ground that rocks cover, at pi D^2 / 4 each."""
        ...


@dataclass(frozen=True)
class SizeClasses:
    """A few diameters, each with its own number of rocks per square metre."""

    diameters: tuple[float, ...]  # [m]
    densities: tuple[float, ...]  # [1/m^2], one per diameter

    def __post_init__(self):
        diameters, densities = _columns("size classes", self.diameters, self.densities)
        for k, value in enumerate(densities):
            checks.number(value, f"size classes: densities[{k}]", at_least=0.0)
        object.__setattr__(self, "diameters", diameters)
        object.__setattr__(self, "densities", densities)

    def density(self, diameter: float = 0.0) -> float:
        return sum(n for d, n in zip(self.diameters, self.densities, strict=True) if d >= diameter)

    def draw(self, count: int, random: np.random.Generator) -> np.ndarray:
        if count == 0:
            return np.zeros(0)
        share = np.array(self.densities) / self.density()
        return np.array(self.diameters)[random.choice(len(share), size=count, p=share)]

    @property
    def area_fraction(self) -> float:
        return sum(n * math.pi * d**2 / 4 for d, n in zip(self.diameters, self.densities, strict=True))


@dataclass(frozen=True)
class SizeTable:
    """Cumulative numbers: densities[k] is the number of rocks per square metre of diameters[k] or larger.

    Between two diameters, rocks are distributed uniformly in log D. Those of the last entry all have its diameter.
    """

    diameters: tuple[float, ...]  # [m], increasing
    densities: tuple[float, ...]  # [1/m^2], decreasing; the last may be 0

    def __post_init__(self):
        diameters, densities = _columns("size table", self.diameters, self.densities)
        for k in range(1, len(diameters)):
            checks.number(diameters[k], f"size table: diameters[{k}]", above=diameters[k - 1])
            checks.number(densities[k], f"size table: densities[{k}]", at_most=densities[k - 1])
        checks.number(densities[-1], f"size table: densities[{len(densities) - 1}]", at_least=0.0)
        object.__setattr__(self, "diameters", diameters)
        object.__setattr__(self, "densities", densities)

    def density(self, diameter: float = 0.0) -> float:
        if diameter > self.diameters[-1]:
            return 0.0
        logarithm = math.log(max(diameter, self.diameters[0]))
        return float(np.interp(logarithm, np.log(self.diameters), self.densities))

    def draw(self, count: int, random: np.random.Generator) -> np.ndarray:
        above = random.uniform(0.0, self.densities[0], size=count)  # [1/m^2] density of larger rocks
        return np.exp(np.interp(above, self.densities[::-1], np.log(self.diameters)[::-1]))

    @property
    def area_fraction(self) -> float:
        d, n = np.array(self.diameters), np.array(self.densities)
        square = np.diff(d**2) / (2 * np.diff(np.log(d)))  # mean of D^2 for a uniform distribution of log D
        return float(math.pi / 4 * ((n[:-1] - n[1:]) @ square + n[-1] * d[-1] ** 2))


def golombek_rapp(abundance: float, least: float = 0.03, most: float = 1.0) -> SizeTable:
    """Exponential law for Mars, F(D) = k exp(-q D) with q = 1.79 + 0.152/k, for rocks from `least` to `most` [m].

    F is the fraction of the ground covered by rocks of diameter D or larger; k = `abundance` is that of all rocks.
    Golombek and Rapp 1997 (reference 1 of Krenn et al. 2008); constants of q from Golombek et al. 2003 (NTRS
    20030111177). N(D) is the integral of 4/(pi D^2) over -dF.
    """
    k = checks.number(abundance, "golombek_rapp: abundance", above=0.0, below=1.0)
    d = _diameters("golombek_rapp", least, most)
    q = 1.79 + 0.152 / k  # [1/m]
    # Simpson's rule over log D between neighbouring points of the table.
    middle = np.sqrt(d[:-1] * d[1:])
    ends, centre = ((4 * k * q / np.pi) * np.exp(-q * x) / x for x in (d, middle))  # D dN/dD
    steps = np.diff(np.log(d)) * (ends[:-1] + 4 * centre + ends[1:]) / 6
    return _table(d, np.append(np.cumsum(steps[::-1])[::-1], 0.0))


def power_law(coefficient: float, exponent: float, least: float, most: float) -> SizeTable:
    """Power law N(D) = coefficient D^-exponent [1/m^2], for rocks from `least` to `most` [m]."""
    factor = checks.number(coefficient, "power_law: coefficient", above=0.0)
    power = checks.number(exponent, "power_law: exponent", above=0.0)
    d = _diameters("power_law", least, most)
    with np.errstate(over="ignore", invalid="ignore"):  # SizeTable rejects values that are not finite
        return _table(d, factor * (d**-power - d[-1] ** -power))


def _diameters(what: str, least: float, most: float) -> np.ndarray:
    low = checks.number(least, f"{what}: least", above=0.0)
    return np.geomspace(low, checks.number(most, f"{what}: most", above=low), FINE)


def _table(diameters: np.ndarray, densities: np.ndarray) -> SizeTable:
    return SizeTable(tuple(diameters.tolist()), tuple(densities.tolist()))


def _columns(what: str, diameters: Any, densities: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Check two columns of equal length with positive diameters."""
    if not (isinstance(diameters, Sequence | np.ndarray) and isinstance(densities, Sequence | np.ndarray)):
        raise InputError(f"{what}: diameters and densities must be two lists of numbers")
    if len(diameters) != len(densities) or len(diameters) == 0:
        raise InputError(
            f"{what}: {len(diameters)} diameters and {len(densities)} densities: allowed are equal numbers, 1 or more"
        )
    return (
        tuple(checks.number(d, f"{what}: diameters[{k}]", above=0.0) for k, d in enumerate(diameters)),
        tuple(checks.number(n, f"{what}: densities[{k}]") for k, n in enumerate(densities)),
    )


VIKING_1 = SizeClasses((0.05, 0.1, 0.25), (2.0, 1.7, 0.8))  # Krenn et al. 2008, Table 1
