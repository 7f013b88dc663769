"""`grouser run --samples N`: a scenario in N soils drawn from the uncertainty of a soil file."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from grouser.campaign import Case, Parameter, Sweep, SweepCounts, run_sweep
from grouser.campaign.results import CASES, COMPLETE, read_json, write_json
from grouser.campaign.run import LOCAL
from grouser.campaign.sampling import case_seed
from grouser.commands.run import TIMING
from grouser.commands.sweep import ScenarioRunner
from grouser.errors import InputError
from grouser.files import write_errors_as_input
from grouser.identification.sensitivity import Indices, draw_indices, indices
from grouser.report.sweep.uncertainty import RESULTS, SOBOL
from grouser.scenarios.settings import Experiment
from grouser.scenarios.soil_choice import SoilChoice
from grouser.terrain.soil_uncertainty import LN, SoilUncertainty, load_uncertainty
from grouser.terrain.soils import RANGES, Soil

MOST = 10_000
QUANTILES = (0.05, 0.5, 0.95)
NEEDS = "--samples needs a soil with uncertainty: allowed is --set soil.file=FILE of `grouser identify`"


@dataclass(frozen=True)
class Spread:
    """A metric over the drawn soils."""

    unit: str
    mean: float
    deviation: float
    low: float  # 90 % interval
    median: float
    high: float


@dataclass(frozen=True)
class Sampled:
    """Metrics with intervals."""

    folder: Path
    metrics: dict[str, Spread]
    complete: int
    failed: dict[str, str]  # reason by case
    sobol: tuple[Indices, ...]

    @property
    def exit_status(self) -> int:
        return int(bool(self.failed))


def run_samples(
    experiment: Experiment,
    count: int,
    *,
    out: str | Path | None = None,
    workers: int | None = None,
    force: bool = False,
    on: str = LOCAL,
    progress: Callable[[SweepCounts], None] = lambda counts: None,
) -> Sampled:
    """Run a scenario in `count` soils drawn from the uncertainty of its soil file. Finished cases are used again."""
    if not 2 <= count <= MOST:
        raise InputError(f"--samples {count}: allowed are 2 to {MOST}")
    field, file, choice = chosen_from_file(experiment.settings)
    uncertainty, soil = load_uncertainty(file, choice.name), choice.resolve()
    drawn = uncertainty.draw(soil, count)
    sweep = _sweep(experiment, field, soil, drawn)
    name = experiment.scenario.name
    folder = Path(out) if out is not None else Path("runs") / f"{name}-samples-{datetime.now():%Y%m%d-%H%M%S}"
    run_sweep(sweep, folder, ScenarioRunner(sweep.rate, False), workers=workers, force=force, on=on, progress=progress)
    results = [read_json(folder / CASES / f"{case.name}.json") or {} for case in sweep.cases]
    good = [one.get("status") == COMPLETE for one in results]
    failed = {case.name: str(one.get("reason", "its result cannot be read"))
              for case, one, ok in zip(sweep.cases, results, good, strict=True) if not ok}  # fmt: skip
    metrics = _metrics([one["metrics"] for one, ok in zip(results, good, strict=True) if ok])
    spreads = {metric: _spread(unit, values) for metric, (unit, values) in metrics.items()}
    kept = [constants for constants, ok in zip(drawn, good, strict=True) if ok]
    found = _sobol(uncertainty, soil, kept, {metric: values for metric, (_, values) in metrics.items()})
    with write_errors_as_input(folder):
        from grouser.report.sweep import write_sweep_report

        if found:
            draw_indices(found, folder / "figures" / SOBOL)
        write_json(folder / RESULTS, {"digest": sweep.digest} | _described(name, count, spreads, failed, found))
        write_sweep_report(folder)  # reads both
    return Sampled(folder, spreads, sum(good), failed, found)


def chosen_from_file(settings: Any) -> tuple[str, Path, SoilChoice]:
    """The setting whose soil is from a file: `soil`, or what a scenario calls its ground (`plastic` of bulldozers)."""
    for name in ("soil", *type(settings).model_fields):
        choice = getattr(settings, name, None)
        if isinstance(choice, SoilChoice) and choice.file is not None:
            return name, choice.file, choice
    raise InputError(NEEDS)


def _sweep(experiment: Experiment, field: str, soil: Soil, drawn: list[dict[str, float]]) -> Sweep:
    """One case for each drawn soil."""
    scenario, settings = experiment.scenario, experiment.settings
    cases = []
    for k, constants in enumerate(drawn, start=1):
        whole = {name: getattr(soil, name) for name in RANGES} | constants
        given = {name: value for name, value in whole.items() if value is not None}
        changed = settings.model_copy(update={field: SoilChoice.model_validate({"name": soil.name, **given})})
        parameters = {f"{field}.{name}": value for name, value in constants.items()}
        cases.append(Case(f"{k:04d}", scenario.name, changed, parameters, case_seed(0, k)))
    parameters = tuple(Parameter(f"{field}.{name}", "1") for name in drawn[0])
    return Sweep(f"{scenario.name} in {len(drawn)} soils", scenario.name, "posterior", 0, parameters, tuple(cases), (),
                 False, scenario.frame_rate(experiment.duration))  # fmt: skip


def _metrics(results: list[Mapping[str, Any]]) -> dict[str, tuple[str, np.ndarray]]:
    """Unit and values (run,) of each metric that is a number and no timing. A missing value is NaN."""
    found: dict[str, tuple[str, np.ndarray]] = {}
    for name in dict.fromkeys(name for one in results for name in one):
        if name.endswith(TIMING):
            continue
        values = [one.get(name, {}).get("value") for one in results]
        if all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values):
            numbers = np.array([math.nan if value is None else float(value) for value in values])
            unit = next(str(one[name]["unit"]) for one in results if name in one)
            found[name] = unit, numbers
    return found


def _spread(unit: str, values: np.ndarray) -> Spread:
    there = values[np.isfinite(values)]
    if not len(there):
        return Spread(unit, *[math.nan] * 5)
    low, median, high = (float(one) for one in np.quantile(there, QUANTILES))
    return Spread(unit, float(there.mean()), float(there.std(ddof=1)) if len(there) > 1 else 0.0, low, median, high)


def _sobol(
    uncertainty: SoilUncertainty, soil: Soil, kept: list[dict[str, float]], metrics: Mapping[str, np.ndarray]
) -> tuple[Indices, ...]:
    """Indices of the metrics that a surrogate can follow."""
    if not kept:
        return ()
    logarithmic = [scale.startswith(LN) for scale in uncertainty.scales]
    inputs = np.array([[math.log(one[name]) if ln else one[name]
                        for name, ln in zip(uncertainty.names, logarithmic, strict=True)] for one in kept])  # fmt: skip
    try:
        found = [indices(name, uncertainty.names, inputs, column, uncertainty.mean(soil), uncertainty.covariance)
                 for name, column in metrics.items()]  # fmt: skip
    except InputError:  # scikit-learn is not installed: the intervals do not need it
        return ()
    return tuple(one for one in found if one is not None)


def _described(
    scenario: str, count: int, spreads: Mapping[str, Spread], failed: Mapping[str, str], found: tuple[Indices, ...]
) -> dict[str, Any]:
    def finite(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        "scenario": scenario,
        "samples": count,
        "metrics": {
            name: {"unit": one.unit, "mean": finite(one.mean), "deviation": finite(one.deviation),
                   "median": finite(one.median), "interval_90": [finite(one.low), finite(one.high)]}
            for name, one in spreads.items()
        },
        "sobol": {
            one.metric: {"constants": list(one.names), "first": one.first.round(4).tolist(),
                         "total": one.total.round(4).tolist(), "surrogate_explains": one.explained}
            for one in found
        },
        "failed": dict(failed),
    }  # fmt: skip
