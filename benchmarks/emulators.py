"""Emulators of a wheel side by side: ridge regressions and Gaussian processes, errors of 100 runs left out of 400.

python benchmarks/emulators.py [DIR]: the smooth wheel of Wang and Han 2016. Finished runs in DIR are used again.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import PolynomialFeatures

from grouser.campaign import run_sweep
from grouser.campaign.results import CASES, read_json
from grouser.commands.sweep import ScenarioRunner
from grouser.identification.constants import CONSTANTS, DEPTH, Prior
from grouser.identification.emulator import SINKAGE_SCALE, learn_process
from grouser.identification.wheel_runs import RATE, TestedWheel, outputs, plan, spread
from grouser.terrain.soils import soil
from grouser.validation.measured import read_wheels

RUNS, LEARNED = 400, 300


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("runs") / "emulators"
    given = read_wheels(Path(__file__).parent / "wheels" / "wang2016.yaml")["smooth"].given
    prior = Prior.of(CONSTANTS, soil("dry-sand"))
    design = spread(TestedWheel(given.wheel, given.gravity, (0.1, 0.5), (given.load, given.load)), prior, RUNS)
    sweep = plan(design, "emulators")
    run_sweep(sweep, folder, ScenarioRunner(RATE, None))
    found = outputs([read_json(folder / CASES / f"{case.name}.json") for case in sweep.cases])
    values, plain = prior.values(design.soils), design.inputs
    effective = plain.copy()
    effective[:, 2] = np.log((values["k_c"] / given.wheel.width + values["k_phi"]) * DEPTH ** values["n"])
    quantities = {
        "pull over load": found["pull"] / given.load,
        "asinh(sinkage / 0.02 r)": np.arcsinh(found["sinkage"] / (SINKAGE_SCALE * given.wheel.radius)),
    }
    for name, y in quantities.items():
        for label, inputs in (("k_phi", plain), ("pressure with k_c/b", effective)):
            low, high = inputs.min(axis=0), inputs.max(axis=0)
            unit = 2 * (inputs - low) / (high - low) - 1
            for degree in (2, 3):
                terms = PolynomialFeatures(degree).fit_transform(unit)
                ridge = RidgeCV(np.logspace(-6, 3, 20)).fit(terms[:LEARNED], y[:LEARNED])
                report(name, label, f"ridge of degree {degree}", ridge.predict(terms[LEARNED:]) - y[LEARNED:])
            mean, _ = learn_process(unit[:LEARNED], y[:LEARNED]).predict(unit[LEARNED:])
            report(name, label, "Gaussian process", mean - y[LEARNED:])


def report(quantity: str, inputs: str, model: str, error: np.ndarray) -> None:
    print(f"{quantity}, {inputs}, {model}: root mean square error {np.sqrt(np.mean(error**2)):.4f}", flush=True)


if __name__ == "__main__":
    main()
