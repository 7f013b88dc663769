"""`grouser validate`: runs measured wheels, compares, and writes scores and figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import grouser
from grouser.campaign import SweepCounts, run_sweep
from grouser.campaign.results import CASES, COMPLETE, read_json, write_json
from grouser.campaign.run import LOCAL
from grouser.commands.bench import checkout
from grouser.commands.folder import FIGURES, check_output_folder
from grouser.commands.sweep import ScenarioRunner
from grouser.errors import InputError
from grouser.files import write_errors_as_input
from grouser.terrain.checks import nearest
from grouser.validation import MeasuredWheel, read_wheels
from grouser.validation.cases import Entry, Law, laws, named_soil, plan
from grouser.validation.figures import draw
from grouser.validation.score import AIM, Score, means, scores

RESULTS = "validation.json"
METRICS = {"pull": "drawbar_pull_N", "sinkage": "sinkage_m", "torque": "torque_Nm"}  # of `single-wheel`
NO_SOIL = "its source gives no soil constants, so it cannot be run blind: name a soil with --soil NAME|FILE.yaml"
Found = dict[str, dict[str, dict[str, Score]]]  # scores by law, set and quantity


@dataclass(frozen=True)
class Validation:
    """Scores of all sets under all laws."""

    folder: Path
    laws: tuple[Law, ...]
    entries: tuple[Entry, ...]
    found: Found
    failed: dict[str, str] = field(default_factory=dict)  # reason by law, set and slip of a run
    left_out: dict[str, str] = field(default_factory=dict)  # why a set was not run, by its name

    def means(self, law: str) -> dict[str, float]:
        """Mean of the medians of a law over the blind sets, by quantity and for all."""
        return means(self.found[law][entry.wheel.name] for entry in self.entries if entry.blind)

    @property
    def exit_status(self) -> int:
        return int(bool(self.failed))


def validate(
    names: Sequence[str] = (),
    *,
    out: str | Path | None = None,
    options: Sequence[str] = (),
    also: Iterable[str] = (),
    soil: str | None = None,
    workers: int | None = None,
    force: bool = False,
    on: str = LOCAL,
    progress: Callable[[SweepCounts], None] = lambda counts: None,
) -> Validation:
    """Run measured wheels and compare. `names`: data files, or names of those in benchmarks/wheels; all if empty.

    A name or file may end with `:SET`. Writes scores, cases and figures to the folder `out`. `on`: "local", "ray" or
    "ray://HOST:PORT". Raises InputError.
    """
    compared = laws(options, also)
    entries, left_out = _entries(_wheels(names), None if soil is None else named_soil(soil))
    sweep = plan(entries, compared)
    folder = Path(out) if out is not None else Path("runs") / f"validate-{datetime.now():%Y%m%d-%H%M%S}"
    check_output_folder(folder, force)
    run_sweep(sweep, folder, ScenarioRunner(sweep.rate, False), workers=workers, force=force, on=on, progress=progress)
    runs: dict[tuple[str, str], dict[float, Any]] = {}
    failed: dict[str, str] = {}
    for case in sweep.cases:
        law, name, slip = case.parameters["law"], case.parameters["set"], case.parameters["slip"]
        result = read_json(folder / CASES / f"{case.name}.json") or {"reason": "its result cannot be read"}
        run = runs.setdefault((law, name), {})
        run[slip] = _quantities(result)
        if run[slip] is None:
            failed[f"{name} at slip {slip:g}, {law}"] = result["reason"]
    found: Found = {
        law.name: {e.wheel.name: scores(e.wheel, runs[law.name, e.wheel.name]) for e in entries} for law in compared
    }
    done = Validation(folder, tuple(compared), tuple(entries), found, failed, left_out)
    with write_errors_as_input(folder):
        write_json(folder / RESULTS, described(done))
        for entry in entries:
            name = entry.wheel.name
            draw(entry.wheel, {law: one[name] for law, one in found.items()}, folder / FIGURES / f"{_plain(name)}.png")
    return done


def _quantities(result: Mapping[str, Any]) -> dict[str, float] | None:
    """Pull [N], sinkage [m] and torque [N m] of a run, or None if it failed."""
    if result.get("status") != COMPLETE:
        return None
    return {name: float(result["metrics"][metric]["value"]) for name, metric in METRICS.items()}


def _plain(name: str) -> str:
    """Name of a set in the name of a file."""
    return name.replace(":", "-")


def _wheels(names: Sequence[str]) -> list[MeasuredWheel]:
    """The sets of the given files and names, each once."""
    root = checkout()
    folder = root / "benchmarks" / "wheels" if root is not None else None
    known = {file.stem: file for file in sorted(folder.glob("*.yaml"))} if folder is not None else {}
    if not names and not known:
        raise InputError("validate: the package carries no measured wheels: name data files, or run it in a checkout")
    found: dict[tuple[Path, str], MeasuredWheel] = {}
    for text in names or known:
        file, chosen = _file(text, known)
        sets = read_wheels(file)
        if chosen and chosen not in sets:
            raise InputError(f"{text}: no set {chosen!r}{nearest(chosen, sets)}; allowed: {', '.join(sets)}")
        found |= {(file.resolve(), name): one for name, one in sets.items() if chosen in ("", name)}
    taken: dict[str, Path] = {}
    for wheel in found.values():
        if wheel.name in taken:
            raise InputError(f"{wheel.file} and {taken[wheel.name]} have the same name: allowed are different names")
        taken[wheel.name] = wheel.file
    return list(found.values())


def _file(text: str, known: Mapping[str, Path]) -> tuple[Path, str]:
    """The data file and the set, empty for all, that a text names: NAME, FILE.yaml, either with `:SET`."""
    start, _, chosen = text.partition(":") if Path(text).suffix not in (".yaml", ".yml") else (text, "", "")
    if start in known:
        return known[start], chosen
    if Path(start).suffix not in (".yaml", ".yml"):
        allowed = ", ".join([*known, "FILE.yaml"])
        raise InputError(f"{text}: no measured wheel of this name{nearest(start, known)}; allowed: {allowed}")
    return Path(start), chosen


def _entries(wheels: Sequence[MeasuredWheel], soil: Any) -> tuple[list[Entry], dict[str, str]]:
    """The sets that can be run, with their soils, and why others cannot."""
    entries = [Entry(wheel, wheel.soil or soil, blind=wheel.soil is not None) for wheel in wheels if wheel.soil or soil]
    left_out = {wheel.name: NO_SOIL for wheel in wheels if not (wheel.soil or soil)}
    if not entries:
        raise InputError.of(f"{name}: {reason}" for name, reason in left_out.items())
    return entries, left_out


def described(done: Validation) -> dict[str, Any]:
    """Content of validation.json. Values are SI; an error that is null belongs to a run that failed."""
    return {
        "version": grouser.__version__,
        "aim": AIM,
        "laws": [law.name for law in done.laws],
        "mean_of_blind_sets": {
            law.name: {name: _finite(value) for name, value in done.means(law.name).items()} for law in done.laws
        },
        "sets": [_set(done, entry) for entry in done.entries],
        "not_run": done.left_out,
        "failed": done.failed,
    }


def _set(done: Validation, entry: Entry) -> dict[str, Any]:
    wheel = entry.wheel
    return {
        "name": wheel.name,
        "title": wheel.given.title,
        "citation": wheel.source.citation,
        "soil": entry.soil.name,
        "blind": entry.blind,
        "assumed": wheel.given.assumed,
        "not_scored": wheel.not_scored,
        "quantities": {
            name: {
                "unit": points.unit,
                "scored": points.scored,
                "slip": points.slips,
                "slip_of": wheel.given.slip_of,
                "measured": points.values,
                "uncertainty": points.uncertainty,
                "laws": {law.name: _score(done.found[law.name][wheel.name][name]) for law in done.laws},
            }
            for name, points in wheel.points.items()
        },
    }


def _score(score: Score) -> dict[str, Any]:
    return {
        "computed": score.computed,
        "errors": [_finite(one) for one in score.errors],
        "floor": score.floor,
        "median": _finite(score.median),
        "worst": _finite(score.worst[0]),
        "worst_slip": score.worst[1],
        "slips_beyond_aim": score.beyond,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
