"""200 made-up data sets of wheels with one emulator: intervals hold the truth as often as they say.

Every data set is three runs of `single-wheel` in a soil of the prior, at slips between those of the emulator, with
scatter added. `python -m pytest -m nightly tests/identification/test_wheel_coverage.py -s` prints the numbers. Runs
that are finished in the folder WHEEL_COVERAGE_RUNS of the environment are used again.
"""

import os
from pathlib import Path

import numpy as np
import pytest

from grouser.campaign import run_sweep
from grouser.campaign.results import CASES, read_json
from grouser.commands.sweep import ScenarioRunner
from grouser.identification.constants import CONSTANTS, Prior
from grouser.identification.data import read_measurements
from grouser.identification.emulator import learn, wheel_curves
from grouser.identification.likelihood import Likelihood
from grouser.identification.posterior import INTERVAL, posterior
from grouser.identification.wheel_runs import RATE, Design, TestedWheel, outputs, plan, spread
from grouser.terrain.soils import soil
from grouser.validation.measured import Wheel

SETS, RUNS = 200, 400
COVERED = (0.85, 0.95)
SLIPS = (0.15, 0.3, 0.5)
LOAD = 150.0
SCATTER = {"pull": 0.02 * LOAD, "sinkage": 0.001, "torque": 0.02 * LOAD * 0.15}  # SI
UNITS = {"pull": "N", "sinkage": "m", "torque": "N m"}
WHEEL = TestedWheel(Wheel(radius=0.15, width=0.1), 9.81, slip=(0.1, 0.6), load=(LOAD, LOAD))
FALSE_ALARMS = 0.05
EMULATED = 0.85  # least share of new runs within the 90 % intervals of the emulator


def results_of(design: Design, folder: Path, workers=None):
    sweep = plan(design, folder.name)
    run_sweep(sweep, folder, ScenarioRunner(RATE, None), workers=workers)
    found = [read_json(folder / CASES / f"{case.name}.json") for case in sweep.cases]
    return outputs([one if one and one["status"] == "complete" else None for one in found])


def true_design(prior, sets):
    """Soils of the prior, each at all slips."""
    soils = prior.draw(sets, np.random.default_rng(11))
    operation = {"slip": np.tile(SLIPS, sets), "load": np.full(sets * len(SLIPS), LOAD),
                 "slip_angle_deg": np.zeros(sets * len(SLIPS))}  # fmt: skip
    return Design(WHEEL, prior, np.repeat(soils, len(SLIPS), axis=0), operation)


def emulated(emulator, truth, runs_of):
    """Errors of the emulator in runs that it has not seen, over what it expects, (soil, slip) by quantity."""
    operation = {name: column[: len(SLIPS)] for name, column in truth.operation.items()}
    values, found = truth.prior.values(truth.soils[:: len(SLIPS)]), {}
    for name in SCATTER:
        mean, deviation = emulator.predict(name, values, operation)
        z = (runs_of[name].reshape(mean.shape) - mean) / deviation
        found[name] = z[np.isfinite(z).all(axis=1)]
    return found


def coverage(folder, sets=SETS, runs=RUNS, workers=None):
    """Share of intervals that hold the truth by constant, of soils whose runs are complete; share flagged."""
    prior = Prior.of(CONSTANTS, soil("dry-sand"))
    design, truth = spread(WHEEL, prior, runs), true_design(prior, sets)
    emulator = learn([design], [results_of(design, folder / "emulator", workers)], list(SCATTER))
    runs_of = results_of(truth, folder / "truth", workers)
    rng, held, flagged = np.random.default_rng(12), [], []
    for k in range(sets):
        part = slice(k * len(SLIPS), (k + 1) * len(SLIPS))
        if not np.isfinite(runs_of["pull"][part]).all():
            continue
        series = {name: {"unit": UNITS[name], "scatter": f"{size} {UNITS[name]}",
                         "values": (runs_of[name][part] + size * rng.standard_normal(len(SLIPS))).tolist()}
                  for name, size in SCATTER.items()}  # fmt: skip
        test = {"wheel": {"radius": 0.15, "width": 0.1}, "load": LOAD, "slip": list(SLIPS), **series}
        tests = read_measurements({"wheels": {"one": test}}).wheels
        found = posterior(prior, Likelihood(tuple(wheel_curves("one", tests["one"], emulator))), seed=k, effective=300)
        low, high = np.quantile(found.q, INTERVAL, axis=0)
        held.append((low <= truth.soils[part][0]) & (truth.soils[part][0] <= high))
        flagged.append(any(check.deviates for check in found.checks))
    return np.mean(held, axis=0), float(np.mean(flagged)), len(held), emulated(emulator, truth, runs_of)


@pytest.mark.nightly
def test_intervals_from_wheels_hold_the_truth_as_often_as_they_say(tmp_path):
    shares, flagged, count, errors = coverage(Path(os.environ.get("WHEEL_COVERAGE_RUNS") or tmp_path))
    print(f"{count} data sets")
    inside = {name: float(np.mean(np.abs(z) < 1.645)) for name, z in errors.items()}
    for name, z in errors.items():
        together = np.corrcoef(z.T)[np.triu_indices(len(SLIPS), 1)].round(2).tolist()
        print(f"emulator, {name}: {np.sqrt(np.mean(z**2)):.2f} of what it expects, {100 * inside[name]:.0f} % within "
              f"90 % intervals, correlation between slips {together}")  # fmt: skip
    for name, share in zip(CONSTANTS, shares, strict=True):
        print(f"wheels, {name}: {100 * share:.1f} % hold the truth")
    print(f"wheels: {100 * shares.mean():.1f} % of all, {100 * flagged:.1f} % flagged")
    assert count >= 0.9 * SETS
    assert COVERED[0] <= shares.min() <= shares.max() <= COVERED[1], "each constant, not only their mean"
    assert flagged <= FALSE_ALARMS
    assert min(inside.values()) >= EMULATED
