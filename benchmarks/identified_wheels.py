"""Soils identified from measured wheels: fitted to every other slip, compared with the rest.

python benchmarks/identified_wheels.py [--runs N] [--workers N] [--out DIR] [NAME[:SET]...]: one identification for each
set of benchmarks/wheels with three slips or more, and one of both wheels of wang2016 (KLS-1). Finished runs in DIR are
used again. The table is in docs/identify.md.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from grouser.commands.identify import identify, likelihood
from grouser.identification.data import read_measurements
from grouser.validation.measured import MeasuredWheel, read_wheels
from grouser.validation.score import error, floor

WHEELS = Path(__file__).parent / "wheels"
LEAST = 5  # slips of a set: three to fit, two to compare
TOGETHER = {"wang2016": "KLS-1"}  # files whose wheels ran in one soil that the source does not give
LEFT_OUT = ("mgru3",)  # slip on slopes, wheel and load of others' simulations: not scored


def as_test(wheel: MeasuredWheel, slips: list[float]) -> dict[str, Any]:
    """A set as a wheel of DATA.yaml, with the points at some slips. Its uncertainty is taken for the scatter."""
    given = wheel.given
    test: dict[str, Any] = {
        "wheel": given.wheel.model_dump(exclude_none=True),
        "load": given.load,
        "gravity": given.gravity,
        "slip_of": given.slip_of,
        "sinkage_of": given.sinkage_of,
        "slip": slips,
    }
    for name, points in wheel.points.items():
        if points.scored:
            chosen = [points.values[points.slips.index(slip)] for slip in slips]
            test[name] = {"unit": points.unit, "values": chosen, "scatter": f"{points.uncertainty} {points.unit}"}
    return test


def common_slips(wheel: MeasuredWheel) -> list[float]:
    """Slips at which all scored quantities were measured."""
    scored = [set(points.slips) for points in wheel.points.values() if points.scored]
    return sorted(set.intersection(*scored)) if scored else []


def judged(wheels: dict[str, MeasuredWheel], out: Path, runs: int, workers: int | None, force: bool) -> dict[str, Any]:
    """Fit to every other slip, from the first on, and compare with the rest."""
    slips = {name: common_slips(wheel) for name, wheel in wheels.items()}
    tests = {n: as_test(w, slips[n][::2]) | {"predict_slip": slips[n]} for n, w in wheels.items()}
    fitted = {"title": out.name, "wheels": tests}
    rest = {"title": out.name, "wheels": {n: as_test(w, slips[n][1::2]) for n, w in wheels.items()}}
    done = identify(fitted, out=out, runs=runs, workers=workers, force=force)
    back = likelihood(read_measurements(rest), done.emulators)
    rows = []
    for known, curve in zip(done.posterior.likelihood.curves, back.curves, strict=True):
        _, name, quantity = curve.name.split(".")
        given = wheels[name].given
        least = floor(quantity, given.load, given.wheel.radius)
        for kind, band in (
            ("law and deviation", done.posterior.held_back(known, curve)),
            ("law alone", done.posterior.band(curve)),
        ):
            errors = [error(float(m), float(y), least) for m, y in zip(band[1], curve.y, strict=True)]
            inside = [bool(low <= y <= high) for low, y, high in zip(band[0], curve.y, band[2], strict=True)]
            rows.append(
                {"set": wheels[name].name, "quantity": quantity, "by": kind, "errors": errors, "inside": inside}
            )
    estimates = {one.name: [one.mean, one.low, one.high, one.verdict] for one in done.posterior.estimates}
    checks = {one.group: [*one.deviation, one.words] for one in done.posterior.checks}
    errors = {name: one.errors for name, one in done.emulators.items()}
    return {"rows": rows, "constants": estimates, "checks": checks, "emulators": errors}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--runs", type=int, default=600)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--out", type=Path, default=Path("runs") / "identified-wheels")
    parser.add_argument("--force", action="store_true")
    options = parser.parse_args()
    jobs: dict[str, dict[str, MeasuredWheel]] = {}
    for file in sorted(WHEELS.glob("*.yaml")):
        sets = {name: one for name, one in read_wheels(file).items() if len(common_slips(one)) >= LEAST}
        if file.stem in LEFT_OUT or not sets:
            continue
        if file.stem in TOGETHER:
            jobs[f"{file.stem}-both"] = sets
        jobs |= {f"{file.stem}-{name}": {name: one} for name, one in sets.items()}
    found = {}
    for name, wheels in jobs.items():
        if options.names and not any(name.startswith(chosen.replace(":", "-")) for chosen in options.names):
            continue
        found[name] = judged(wheels, options.out / name, options.runs, options.workers, options.force)
        show(name, found[name])
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "identified-wheels.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    for kind in ("law and deviation", "law alone"):
        single = [one for name, one in found.items() if not name.endswith("-both")]
        rows = [row for one in single for row in one["rows"] if row["by"] == kind]
        for quantity in dict.fromkeys(row["quantity"] for row in rows):
            errors = [e for row in rows if row["quantity"] == quantity for e in row["errors"]]
            inside = [e for row in rows if row["quantity"] == quantity for e in row["inside"]]
            within = f"inside {sum(inside)} of {len(inside)}"
            print(f"all sets, {quantity}, {kind}: median error {np.median(errors):.0%}, {within}", flush=True)


def show(name: str, one: dict[str, Any]) -> None:
    print(name, {key: {q: round(e, 4) for q, e in errors.items()} for key, errors in one["emulators"].items()})
    for constant, (mean, low, high, verdict) in one["constants"].items():
        print(f"  {constant}: {mean:.4g} ({low:.4g} to {high:.4g}), {verdict}")
    for group, (low, median, high, words) in one["checks"].items():
        print(f"  {group}: d {median:.2g} ({low:.2g} to {high:.2g}); {words}")
    for row in one["rows"]:
        print(f"  {row['set']}, {row['quantity']}, {row['by']}: median error {np.median(row['errors']):.0%}, "
              f"inside {sum(row['inside'])} of {len(row['inside'])}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
