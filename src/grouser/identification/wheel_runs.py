"""The runs of `single-wheel` from which an emulator is made: which points, and which settings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grouser.campaign import Case, Parameter, Sweep
from grouser.identification.constants import Prior
from grouser.scenarios.scenario import Settings
from grouser.scenarios.settings import validated
from grouser.scenarios.single_wheel import SCENARIO
from grouser.scenarios.source import read_mapping
from grouser.validation.cases import SPACING, SPACING_RADIUS
from grouser.validation.measured import Wheel

OPERATION = ("slip", "load", "slip_angle_deg")  # what varies from run to run beside the soil
SPEED = 0.1  # [m/s] of travel; steady results do not depend on it, and a run takes half as many steps as at 0.05 m/s
RATE = 100.0  # [Hz] a frame each millimetre: coarser frames miss the passing of lugs
METRICS = {"pull": "drawbar_pull_N", "sinkage": "sinkage_m", "torque": "torque_Nm", "side_force": "side_force_N"}


@dataclass(frozen=True)
class TestedWheel:
    """A wheel in a soil bin, and the ranges over which its runs differ. One emulator belongs to each."""

    __test__ = False  # not a class of tests, whatever its name begins with

    wheel: Wheel
    gravity: float  # [m/s^2]
    slip: tuple[float, float]  # of the rim
    load: tuple[float, float]  # [N]
    slip_angle_deg: tuple[float, float] = (0.0, 0.0)

    @property
    def varied(self) -> tuple[str, ...]:
        """The inputs of the emulator beside the soil: those of which the runs have more than one value."""
        return tuple(name for name in OPERATION if getattr(self, name)[0] < getattr(self, name)[1])

    def inputs(self, operation: Mapping[str, np.ndarray]) -> np.ndarray:
        """Coordinates (run, input) of runs: slip, logarithm of the load, slip angle; those that vary."""
        columns = [np.log(operation[name]) if name == "load" else operation[name] for name in self.varied]
        return np.stack(columns, axis=1) if columns else np.empty((len(operation["slip"]), 0))

    def operation(self, share: np.ndarray) -> dict[str, np.ndarray]:
        """Slip, load and slip angle of runs from shares (run, input) in [0, 1]."""
        found = {name: np.full(len(share), getattr(self, name)[0]) for name in OPERATION}
        for column, name in zip(share.T, self.varied, strict=True):
            low, high = getattr(self, name)
            found[name] = low * (high / low) ** column if name == "load" else low + (high - low) * column
        return found


@dataclass(frozen=True)
class Design:
    """Points of an emulator: coordinates of the soil and operation of the wheel."""

    wheel: TestedWheel
    prior: Prior
    soils: np.ndarray  # (run, constant)
    operation: dict[str, np.ndarray]  # (run,) each

    @property
    def inputs(self) -> np.ndarray:
        """Inputs of the emulator, (run, constant and operation)."""
        return np.concatenate([self.soils, self.wheel.inputs(self.operation)], axis=1)


def spread(wheel: TestedWheel, prior: Prior, runs: int, seed: int = 0) -> Design:
    """Spread runs evenly over the prior of the soil and the ranges of the wheel (Sobol' points)."""
    from scipy.stats import qmc

    constants = len(prior.names)
    points = qmc.Sobol(constants + len(wheel.varied), rng=np.random.default_rng(seed))
    kept = np.empty((0, constants + len(wheel.varied)))
    while len(kept) < runs:  # a further limit of k_phi cuts points away
        share = points.random(1 << max(4, math.ceil(math.log2(runs))))
        share = share[prior.inside(prior.low + share[:, :constants] * (prior.high - prior.low))]
        kept = np.concatenate([kept, share])
    kept = kept[:runs]
    soils = prior.low + kept[:, :constants] * (prior.high - prior.low)
    return Design(wheel, prior, soils, wheel.operation(kept[:, constants:]))


def around(wheel: TestedWheel, prior: Prior, draws: np.ndarray, runs: int, seed: int = 1) -> Design:
    """Place runs where a first posterior is: soils are its draws, (draw, constant), the rest is spread evenly."""
    from scipy.stats import qmc

    rng = np.random.default_rng(seed)
    soils = draws[rng.choice(len(draws), runs, replace=len(draws) < runs)]
    share = qmc.Sobol(max(1, len(wheel.varied)), rng=rng).random(1 << max(1, math.ceil(math.log2(runs))))[:runs]
    return Design(wheel, prior, soils, wheel.operation(share[:, : len(wheel.varied)]))


def plan(design: Design, title: str) -> Sweep:
    """One case for each run of a design."""
    values = design.prior.values(design.soils)
    cases = []
    for k in range(len(design.soils)):
        constants = {name: float(values[name][k]) for name in design.prior.names}
        operation = {name: float(column[k]) for name, column in design.operation.items()}
        chosen = settings(design.wheel, design.prior, constants, operation)
        cases.append(Case(f"{k + 1:04d}", SCENARIO.name, chosen, constants | operation, seed=0))
    parameters = tuple(Parameter(name, "1") for name in (*design.prior.names, *OPERATION))
    return Sweep(title, SCENARIO.name, "sobol", 0, parameters, tuple(cases), (), False, RATE)


def settings(
    tested: TestedWheel, prior: Prior, constants: Mapping[str, float], operation: Mapping[str, float]
) -> Settings:
    """Checked settings of `single-wheel` in a soil with these constants."""
    soil = prior.fixed.replace(name="trial", **constants)
    wheel = tested.wheel
    base: dict[str, Any] = {
        "mode": "forced-slip",
        "speed": SPEED,
        "gravity": tested.gravity,
        "spacing": SPACING * min(1.0, wheel.radius / SPACING_RADIUS),
        "wheel": {"radius": wheel.radius, "width": wheel.width},
        "soil": {"name": soil.name, **_constants(soil)},
        **operation,
    }
    if wheel.lugs is not None:
        lugs = wheel.lugs
        base["wheel"] |= {"grouser_count": lugs.count, "grouser_height": lugs.height, "grouser_width": lugs.thickness}
    if wheel.friction == "two-thirds":
        base["soil"]["wheel_friction"] = math.tan(math.radians(soil.friction_angle_deg) * 2 / 3)
    elif wheel.friction is not None:
        base["soil"]["wheel_friction"] = wheel.friction
    return validated(SCENARIO.settings, read_mapping(base, "identify"), where="identify")


def _constants(soil: Any) -> dict[str, Any]:
    from grouser.terrain.soils import RANGES

    return {name: getattr(soil, name) for name in RANGES}


def outputs(results: Sequence[Mapping[str, Any] | None]) -> dict[str, np.ndarray]:
    """Measured quantities (run,) by name, in SI; NaN for runs that failed."""
    return {
        name: np.array([np.nan if one is None else one["metrics"][metric]["value"] for one in results], dtype=float)
        for name, metric in METRICS.items()
    }
