"""`grouser identify`: a soil from measurements, with uncertainty."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grouser.campaign import SweepCounts, run_sweep
from grouser.campaign.results import CASES, COMPLETE, SWEEP, read_json, write_json
from grouser.campaign.run import LOCAL, executor_named
from grouser.commands.sweep import ScenarioRunner
from grouser.errors import InputError
from grouser.files import write_errors_as_input
from grouser.identification import process, sampling
from grouser.identification.constants import CONSTANTS, STRESS, Prior
from grouser.identification.data import Measurements, read_measurements
from grouser.identification.emulator import Emulator, different_wheels, learn, wheel_curves
from grouser.identification.likelihood import Likelihood, exact_curves
from grouser.identification.page import described, words, write_draws, write_page
from grouser.identification.posterior import Posterior, posterior
from grouser.identification.predictions import Prediction, predictions
from grouser.identification.soil_output import write_soil
from grouser.identification.wheel_runs import RATE, Design, around, outputs, plan, spread
from grouser.terrain.checks import choice
from grouser.terrain.soils import Soil

RESULTS, SOIL, DRAWS, RUNS = "identification.json", "soil.yaml", "posterior.csv", "wheel-runs"
MOST_RUNS = 1200  # of all wheels together
DEFAULT_RUNS = 900
TRIED = 100  # soils drawn before anything is written, to see that the ranges of the prior have some in common
FIRST_SHARE = 2 / 3  # of the runs spread over the prior; the rest is placed where the first posterior is
Progress = Callable[[str, float], None]  # what is being done, and the share of it that is done


@dataclass(frozen=True)
class _Place:
    """Where runs of wheels are made and kept."""

    folder: Path
    workers: int | None
    on: str  # local, ray or ray://HOST:PORT
    force: bool


@dataclass(frozen=True)
class Identification:
    """A soil with its uncertainty."""

    folder: Path
    soil: Soil  # the mean
    posterior: Posterior
    emulators: dict[str, Emulator]  # by the names of the tests of a wheel
    predictions: tuple[Prediction, ...] = ()  # of wheels at their `predict_slip`

    @property
    def soil_file(self) -> Path:
        return self.folder / SOIL

    @property
    def words(self) -> list[str]:
        """What was found, in sentences."""
        return words(self.posterior)

    @property
    def exit_status(self) -> int:
        return int(not self.posterior.draws.mixed or any(check.cannot_follow for check in self.posterior.checks))


def identify(
    data: str | Path | Mapping[str, Any],
    *,
    out: str | Path | None = None,
    constants: Sequence[str] | None = None,
    runs: int = DEFAULT_RUNS,
    workers: int | None = None,
    seed: int = 0,
    force: bool = False,
    on: str = LOCAL,
    progress: Progress = lambda what, share: None,
) -> Identification:
    """Identify a soil from a YAML file, or from a mapping with the same keys (docs/identify.md).

    Writes soil.yaml, posterior.csv, identification.json and identify.html to the folder `out`. Finished runs of wheels
    in it are used again. `on`: where wheels run, "local", "ray" or "ray://HOST:PORT". In a script with wheels, call
    this below `if __name__ == "__main__":`. Raises InputError.
    """
    measured = read_measurements(data)
    sampling.packages()  # runs of wheels take hours: what is missing is said before them
    if measured.wheels:
        process.require_packages()
    if not 100 <= runs <= MOST_RUNS:
        raise InputError(f"runs = {runs}: allowed are 100 to {MOST_RUNS}")
    for name in constants or ():
        choice(name, "constant", CONSTANTS)
    if len(set(constants or ())) < len(constants or ()):
        raise InputError(f"constants = {','.join(constants or ())}: allowed is each of them once")
    executor_named(on, workers)  # refuses what it cannot use before anything is written
    names = tuple(constants or (CONSTANTS if measured.wheels else STRESS))
    prior = Prior.of(names, measured.start, measured.priors)
    prior.draw(TRIED, np.random.default_rng(0))  # refuses ranges that hardly any soil is inside of
    folder = Path(out) if out is not None else Path("runs") / f"identify-{_plain(measured.title)}"
    with write_errors_as_input(folder):
        _open_folder(folder, _digest(measured, names, runs, seed), force)
        emulators: dict[str, Emulator] = {}
        if measured.wheels:
            place = _Place(folder / RUNS, workers, on, force)
            emulators = _emulators(measured, prior, runs, place, seed, progress)
        found = posterior(prior, likelihood(measured, emulators), seed=seed, progress=_named(progress, "sampling"))
        title, predicted = _plain(measured.title), predictions(found, measured.wheels, emulators)
        write_draws(found, folder / DRAWS)
        write_soil(found, title, folder / SOIL)
        write_page(found, measured.title, folder, emulators, predicted)
        write_json(folder / RESULTS, _read_digest(folder) | described(found, measured.title, emulators, predicted))
    return Identification(folder, found.soil(title), found, emulators, tuple(predicted))


def likelihood(measured: Measurements, emulators: Mapping[str, Emulator]) -> Likelihood:
    """Curves of all tests. `emulators` has one for each test of a wheel."""
    curves = exact_curves(measured)
    for name, test in measured.wheels.items():
        emulator = next(one for one in emulators.values() if name in one.tests)
        curves += wheel_curves(name, test, emulator, "rover" if name in measured.rovers else "wheel")
    return Likelihood(tuple(curves))


def _emulators(
    measured: Measurements, prior: Prior, runs: int, place: _Place, seed: int, progress: Progress
) -> dict[str, Emulator]:
    """Emulators of all wheels, from runs over the prior and then from further ones where the posterior is."""
    wheels = different_wheels(measured.wheels)
    each = runs // len(wheels)
    first = round(FIRST_SHARE * each)
    found: dict[str, Emulator] = {}
    kept: dict[str, tuple[list[Design], list[dict[str, Any]]]] = {}
    for tested, tests in wheels.items():
        label = ", ".join(tests)
        design = spread(tested, prior, first, seed)
        results = _run(design, f"{_plain(label)}-1", place, _named(progress, f"runs of {label}"))
        kept[label] = [design], [results]
        found[label] = learn([design], [results], _quantities(measured, tests), tests)
    rough = posterior(
        prior, likelihood(measured, found), seed=seed, effective=300, progress=_named(progress, "first look")
    )
    for tested, tests in wheels.items():
        label = ", ".join(tests)
        design = around(tested, prior, rough.q, each - first, seed + 1)
        results = _run(design, f"{_plain(label)}-2", place, _named(progress, f"more of {label}"))
        kept[label][0].append(design)
        kept[label][1].append(results)
        found[label] = learn(*kept[label], _quantities(measured, tests), tests)
    return found


def _quantities(measured: Measurements, tests: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name for test in tests for name in measured.wheels[test].quantities))


def _run(design: Design, name: str, place: _Place, progress: Callable[[float], None]) -> dict[str, Any]:
    """Run a design, or what is missing of it, and return its quantities."""
    sweep, folder = plan(design, name), place.folder / name
    there = read_json(folder / SWEEP)
    changed = there is not None and there.get("digest") != sweep.digest  # of a posterior that has moved since

    def show(counts: SweepCounts) -> None:
        progress((counts.done + len(counts.failed)) / counts.total)

    run_sweep(
        sweep, folder, ScenarioRunner(RATE, False), workers=place.workers, force=place.force or changed, on=place.on,
        progress=show,
    )  # fmt: skip
    results = [read_json(folder / CASES / f"{case.name}.json") for case in sweep.cases]
    return outputs([one if one and one.get("status") == COMPLETE else None for one in results])


def _open_folder(folder: Path, digest: str, force: bool) -> None:
    """Make the folder of an identification, or continue in that of the same one."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--out {folder}: is a file: allowed is a folder")
    if folder.is_dir() and any(folder.iterdir()) and not force and _read_digest(folder).get("digest") != digest:
        raise InputError(
            f"--out {folder}: holds something else: allowed is a new or empty folder, one of the same data and "
            "options, or --force to replace it"
        )
    folder.mkdir(parents=True, exist_ok=True)
    if _read_digest(folder).get("digest") != digest:
        write_json(folder / RESULTS, {"digest": digest})


def _read_digest(folder: Path) -> dict[str, Any]:
    there = read_json(folder / RESULTS) or {}
    return {"digest": there["digest"]} if "digest" in there else {}


def _digest(measured: Measurements, names: Sequence[str], runs: int, seed: int) -> str:
    """Hash of all that affects the result."""
    tests = {
        kind: {
            name: test.model_dump(mode="json", exclude_defaults=True) for name, test in getattr(measured, kind).items()
        }
        for kind in ("plates", "shear", "wheels")
    }
    decisive = [measured.title, repr(measured.start), measured.priors, tests, list(names), runs, seed]
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()


def _plain(title: str) -> str:
    """A title as name of a soil or a folder."""
    return "-".join("".join(c if c.isalnum() or c in "-_." else " " for c in title).split()) or "soil"


def _named(progress: Progress, what: str) -> Callable[[float], None]:
    return lambda share: progress(what, share)


__all__ = ["Identification", "identify"]
