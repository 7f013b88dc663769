"""The soil constants that are identified, the coordinates in which they are sampled, and their priors.

A coordinate is the constant itself (n, friction angle, compression), its logarithm (k_c, cohesion, K), or for k_phi the
logarithm of the pressure k_phi z^n at z = 30 mm. The unit of k_phi depends on n, so that a range of k_phi alone means
soils of very different strength; the pressure at a depth does not have this flaw. The map from ln k_phi is a shear with
determinant 1: a density that is uniform in one is uniform in the other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from grouser.errors import InputError
from grouser.terrain import checks
from grouser.terrain.soils import RANGES, Soil, builtin_soils

DEPTH = 0.03  # [m] z at which the pressure k_phi z^n is compared, a typical sinkage of a rover's wheel
PRESSURE = "pressure_at_30_mm"  # [Pa] k_phi DEPTH^n, which may have a prior of its own
LOGARITHMIC = ("k_c", "k_phi", "cohesion", "shear_modulus")
STRESS = ("n", "k_c", "k_phi", "cohesion", "friction_angle_deg", "shear_modulus")  # constants of plate and shear laws
CONSTANTS = (*STRESS, "compression")  # what can be identified
# How far a default prior reaches beyond the built-in soils at each end, because they are seven samples of a wider
# population (assumed).
FACTOR = 2.0  # of logarithmic constants and of the pressure
WIDER = {"n": 0.2, "friction_angle_deg": 5.0}
COMPRESSION = (0.0, 1.0)  # all that is possible: the value of the built-in soils is assumed, not measured
MOST_DRAWS = 200  # rounds of drawing until enough draws lie inside all ranges
Range = tuple[float, float]


def default_range(name: str) -> Range:
    """Range of a constant over the built-in soils, widened; for k_phi that of the pressure at 30 mm."""
    if name == "compression":
        return COMPRESSION
    soils = builtin_soils().values()
    values = [soil.k_phi * DEPTH**soil.n if name == PRESSURE else getattr(soil, name) for soil in soils]
    low, high = min(values), max(values)
    if name in WIDER:
        return low - WIDER[name], high + WIDER[name]
    return low / FACTOR, high * FACTOR


@dataclass(frozen=True)
class Prior:
    """Uniform in the coordinates between the ends of each range, and with k_phi inside its own range if that is given.

    `names` are the constants that are sampled; all others are those of `fixed`.
    """

    names: tuple[str, ...]
    fixed: Soil
    low: np.ndarray  # (constant,) ends in coordinates
    high: np.ndarray
    k_phi: Range | None = None  # further limits of k_phi itself
    given: frozenset[str] = field(default_factory=frozenset)  # constants whose range is the user's

    @classmethod
    def of(cls, names: Sequence[str], fixed: Soil, ranges: Mapping[str, Range] | None = None) -> Prior:
        """The prior of some constants. Ranges that are not given are those of the built-in soils."""
        ranges = dict(ranges or {})
        for name in ranges:
            checks.choice(name, "prior of", [*CONSTANTS, PRESSURE])
        ends = [_ends(name, ranges) for name in names]
        low, high = np.array([one[0] for one in ends]), np.array([one[1] for one in ends])
        return cls(tuple(names), fixed, low, high, ranges.get("k_phi"), frozenset(ranges))

    def inside(self, q: np.ndarray) -> np.ndarray:
        """Whether coordinates (draw, constant) have prior density."""
        within = np.all((q >= self.low) & (q <= self.high), axis=1)
        if self.k_phi is not None and "k_phi" in self.names:
            k_phi = self.values(q)["k_phi"]
            within &= (k_phi >= self.k_phi[0]) & (k_phi <= self.k_phi[1])
        return within

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Independent draws, (draw, constant), in coordinates."""
        kept = np.empty((0, len(self.names)))
        for _ in range(MOST_DRAWS):
            q = rng.uniform(self.low, self.high, (4 * count, len(self.names)))
            kept = np.concatenate([kept, q[self.inside(q)]])
            if len(kept) >= count:
                return kept[:count]
        raise InputError(f"priors: hardly any soil has k_phi in {self.k_phi} and a {PRESSURE} inside its range")

    def values(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """Constants (draw,) by name, of coordinates (draw, constant); those not sampled are the fixed soil's."""
        found = {name: np.full(len(q), float(getattr(self.fixed, name))) for name in CONSTANTS}
        for column, name in zip(q.T, self.names, strict=True):
            found[name] = np.exp(column) if name in LOGARITHMIC else column
        if "k_phi" in self.names:
            found["k_phi"] = found["k_phi"] * DEPTH ** -found["n"]
        return found

    def coordinates(self, soil: Soil) -> np.ndarray:
        """Coordinates (constant,) of a soil."""
        values = [soil.k_phi * DEPTH**soil.n if name == "k_phi" else getattr(soil, name) for name in self.names]
        return np.array([math.log(v) if n in LOGARITHMIC else v for n, v in zip(self.names, values, strict=True)])

    def soil(self, q: np.ndarray, name: str) -> Soil:
        """The soil at one point (constant,)."""
        values = self.values(q[None])
        return self.fixed.replace(name=name, **{key: float(values[key][0]) for key in self.names})


def _ends(name: str, ranges: Mapping[str, Range]) -> Range:
    """Ends of the prior of a constant in its coordinate."""
    key = PRESSURE if name == "k_phi" else name
    low, high = ranges.get(key) or default_range(key)
    limits = RANGES["k_phi" if key == PRESSURE else name]
    if not low < high:
        raise InputError(f"prior of {key}: {low:g} to {high:g}: allowed are two ends, the lower one first")
    for end in (low, high):
        checks.number(end, f"prior of {key}", **limits)
    if name in LOGARITHMIC:
        checks.number(low, f"prior of {key}, lower end (it is sampled by its logarithm)", above=0.0)
        return math.log(low), math.log(high)
    return low, high
