"""Emulator of a wheel: Gaussian processes of pull, sinkage, torque and side force over soil, slip, load and slip angle.

Forces are learned over the load, torque over load times radius, sinkage as asinh(z / (0.02 r)), which is a logarithm
for deep ruts and linear through 0. The frictional modulus enters as the pressure (k_c/b + k_phi) z^n at 30 mm under the
width b of the wheel, which nearly halves the error (docs/identify.md). The emulator knows its own error by leaving out
each run in turn (process.py), and how the errors of its quantities go together: where pull is too high, torque mostly
is too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from grouser.errors import InputError
from grouser.identification.constants import DEPTH, LOGARITHMIC
from grouser.identification.data import WheelTest
from grouser.identification.likelihood import Curve, Values, stated_by, wheel_scale
from grouser.identification.process import Learned, learn_process
from grouser.identification.wheel_runs import OPERATION, Design, TestedWheel
from grouser.validation.cases import tip_to_rim
from grouser.validation.measured import Wheel

SINKAGE_SCALE = 0.02  # of the radius, where asinh changes from linear to logarithmic
LARGEST_FAILED = 0.2  # share of runs that may fail
LEAST_RUNS = 30


@dataclass(frozen=True)
class Emulator:
    """All quantities of one wheel."""

    wheel: TestedWheel
    names: tuple[str, ...]  # constants that vary
    low: np.ndarray  # (input,) ends of the inputs of its runs
    high: np.ndarray
    learned: dict[str, Learned]
    runs: int
    tests: tuple[str, ...]  # names of the tests of this wheel
    coupling: np.ndarray  # (quantity, quantity) correlation of the errors of quantities, in the order of `learned`

    def coupled(self, quantity: str) -> dict[str, float]:
        """Correlations of the error of a quantity with those of all quantities."""
        return dict(zip(self.learned, self.coupling[list(self.learned).index(quantity)].tolist(), strict=True))

    def predict(
        self, quantity: str, values: Values, operation: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation, (soil, run) in SI, for soils (soil,) and operations (run,)."""
        soils, runs = len(values["n"]), len(operation["slip"])
        constants = _features(self.wheel.wheel, self.names, values)
        rest = self.wheel.inputs(operation)
        both = np.concatenate([np.repeat(constants, runs, axis=0), np.tile(rest, (soils, 1))], axis=1)
        mean, deviation = (one.reshape(soils, runs) for one in self.learned[quantity].predict(self._scaled(both)))
        return _restored(quantity, mean, deviation, self.wheel.wheel.radius, operation["load"])

    def _scaled(self, inputs: np.ndarray) -> np.ndarray:
        return 2 * (inputs - self.low) / (self.high - self.low) - 1

    @property
    def errors(self) -> dict[str, float]:
        """Errors of runs left out, by quantity, in the scaled quantities (of the load; for sinkage relative)."""
        return {name: one.error for name, one in self.learned.items()}


def _features(wheel: Wheel, names: tuple[str, ...], values: Values) -> np.ndarray:
    """Inputs (soil, constant) of the constants that vary."""
    columns = []
    for name in names:
        if name == "k_phi":
            columns.append(np.log((values["k_c"] / wheel.width + values["k_phi"]) * DEPTH ** values["n"]))
        else:
            columns.append(np.log(values[name]) if name in LOGARITHMIC else values[name])
    return np.stack(columns, axis=1)


def _scaled_output(quantity: str, y: np.ndarray, radius: float, load: np.ndarray) -> np.ndarray:
    if quantity == "sinkage":
        return np.arcsinh(y / (SINKAGE_SCALE * radius))
    return y / (load * radius) if quantity == "torque" else y / load


def _restored(quantity: str, mean: np.ndarray, deviation: np.ndarray, radius: float, load: np.ndarray):
    """Quantity and its standard deviation in SI."""
    if quantity == "sinkage":
        unit = SINKAGE_SCALE * radius
        return unit * np.sinh(mean), unit * np.cosh(mean) * deviation
    unit = load * radius if quantity == "torque" else load
    return mean * unit, deviation * unit


def learn(
    designs: Sequence[Design],
    outputs: Sequence[Mapping[str, np.ndarray]],
    quantities: Sequence[str],
    tests: Sequence[str] = (),
) -> Emulator:
    """Make an emulator from the runs of one or more designs of the same wheel. Runs that failed are NaN."""
    tested, prior = designs[0].wheel, designs[0].prior
    constants = [_features(tested.wheel, prior.names, prior.values(design.soils)) for design in designs]
    rest = [tested.inputs(design.operation) for design in designs]
    inputs = np.concatenate([np.concatenate(pair, axis=1) for pair in zip(constants, rest, strict=True)])
    load = np.concatenate([design.operation["load"] for design in designs])
    there = np.isfinite(np.concatenate([one["pull"] for one in outputs]))
    if there.sum() < LEAST_RUNS or there.mean() < 1 - LARGEST_FAILED:
        raise InputError(
            f"identify: {(~there).sum()} of {len(there)} runs of the wheel failed: allowed are narrower priors, "
            "such as a higher lower end of pressure_at_30_mm"
        )
    low, high = inputs[there].min(axis=0), inputs[there].max(axis=0)
    high = np.where(high > low, high, low + 1.0)
    unit = 2 * (inputs[there] - low) / (high - low) - 1
    learned = {}
    for name in quantities:
        y = np.concatenate([one[name] for one in outputs])[there]
        learned[name] = learn_process(unit, _scaled_output(name, y, tested.wheel.radius, load[there]))
    # Errors have a mean of 0, so that their products, not those of their distances from a mean, are averaged.
    left_out = np.stack([one.left_out / np.sqrt(np.mean(one.left_out**2)) for one in learned.values()])
    coupling = left_out @ left_out.T / left_out.shape[1]
    return Emulator(tested, prior.names, low, high, learned, int(there.sum()), tuple(tests), coupling)


def different_wheels(tests: Mapping[str, WheelTest]) -> dict[TestedWheel, list[str]]:
    """The different wheels, each with the range of its runs, and the names of its tests."""
    groups: dict[tuple[Wheel, float], list[str]] = {}
    for name, test in tests.items():
        groups.setdefault((test.wheel, test.gravity), []).append(name)
    found = {}
    for (wheel, gravity), names in groups.items():
        runs = [operation(tests[name]) for name in names]
        runs += [operation(tests[name], tests[name].predict_slip) for name in names if tests[name].predict_slip]
        ranges = {key: (float(min(one[key].min() for one in runs)), float(max(one[key].max() for one in runs)))
                  for key in OPERATION}  # fmt: skip
        found[TestedWheel(wheel, gravity, **ranges)] = names
    return found


def operation(test: WheelTest, others: Sequence[float] = ()) -> dict[str, np.ndarray]:
    """Slip of the rim, load [N] and slip angle [deg] of the runs, or of runs at other slips, (run,) each."""
    slips = [tip_to_rim(test.wheel, slip) if test.slip_of == "tips" else slip for slip in others or test.slip]
    count = len(slips)
    if others:
        return {"slip": np.array(slips), "load": np.full(count, test.load[0]),
                "slip_angle_deg": np.full(count, test.slip_angle_deg[0])}  # fmt: skip
    return {
        "slip": np.array(slips),
        "load": np.broadcast_to(np.array(test.load), count).copy(),
        "slip_angle_deg": np.broadcast_to(np.array(test.slip_angle_deg), count).copy(),
    }


def wheel_curves(name: str, test: WheelTest, emulator: Emulator, kind: str = "wheel") -> list[Curve]:
    """One curve for each quantity that was measured. Tests of another `kind` have a discrepancy of their own."""
    return [_curve(f"{kind}s.{name}", kind, key, test, emulator) for key in test.quantities]


def _group(kind: str, quantity: str) -> str:
    return f"{kind} {quantity.replace('_', ' ')}"


def _curve(name: str, kind: str, quantity: str, test: WheelTest, emulator: Emulator) -> Curve:
    series, runs = test.quantities[quantity], operation(test)
    y = np.array(series.si)
    sigma, stated = wheel_scale(series.scatter, y), stated_by(series.scatter)
    return Curve(
        f"{name}.{quantity}", _group(kind, quantity), runs["slip"], y, sigma, stated, False,
        *_law(quantity, test, runs, emulator), np.array(test.slip), series.si_unit, "1", name,
        {_group(kind, other): share for other, share in emulator.coupled(quantity).items()},
    )  # fmt: skip


def predicted_curve(fitted: Curve, quantity: str, test: WheelTest, emulator: Emulator) -> Curve:
    """The slips `predict_slip` of a test on the curve of a quantity. Nothing was measured there: y is NaN."""
    runs, count = operation(test, test.predict_slip), len(test.predict_slip)
    predict, error = _law(quantity, test, runs, emulator)
    return dataclasses.replace(
        fitted, x=runs["slip"], y=np.full(count, np.nan), sigma=np.full(count, float(np.mean(fitted.sigma))),
        predict=predict, error=error, place=np.array(test.predict_slip),
    )  # fmt: skip


def _law(
    quantity: str, test: WheelTest, runs: Mapping[str, np.ndarray], emulator: Emulator
) -> tuple[Callable[[Values], np.ndarray], Callable[[Values], np.ndarray]]:
    """Prediction of the emulator and its error, (draw, run) in SI, at the operations (run,) of `runs`."""
    lower = test.wheel.lug_height if quantity == "sinkage" and test.sinkage_of == "tips" else 0.0
    kept: list = [None, None]  # the last soils and their prediction: mean and error are asked for one after the other

    def both(values: Values) -> tuple[np.ndarray, np.ndarray]:
        if kept[0] is not values:
            kept[:] = [values, emulator.predict(quantity, values, runs)]
        return kept[1]

    return lambda values: both(values)[0] + lower, lambda values: both(values)[1]
