"""Soils identified from measured wheels: fitted to every other slip, compared with the rest.

python benchmarks/identified_wheels.py [--runs N] [--workers N] [--out DIR] [--write] [NAME[:SET]...]: one
identification for each scored set of benchmarks/wheels, and one of both wheels of wang2016 (KLS-1), with N runs for
each wheel. Finished runs and sets in DIR are used again; --force makes them anew. Every set is judged with the
uncertainty of its file as scatter, and with a scatter that is estimated: most files know how well a figure can be read,
and not how far a test repeats. Straight lines between the fitted points are beside it: where these miss too, the
measured points scatter by more than the bar. Ends with status 1 if, with the deviation and either scatter, a bar over
all sets is missed. --write puts the tables into docs/identify.md.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from identified_bars import missed_bars
from page import ROOT, publish
from page import table as aligned

from grouser.commands.identify import identify, likelihood
from grouser.identification.data import read_measurements
from grouser.identification.likelihood import Curve
from grouser.identification.posterior import Posterior, posterior
from grouser.validation.measured import MeasuredWheel, read_wheels
from grouser.validation.score import error, floor

WHEELS = Path(__file__).parent / "wheels"
LEAST = 5  # slips of a set: three to fit, two to compare
TOGETHER = {"wang2016": "KLS-1"}  # files whose wheels ran in one soil that the source does not give
SCATTERS = ("stated", "estimated")
KINDS = ("law alone", "with deviation")
LINES = "straight lines"  # between the fitted points, without a soil
JUDGED = KINDS[1]
RUNS = 240  # for each wheel
EFFECTIVE = 500  # independent draws with the estimated scatter
PAGE = ROOT / "docs" / "identify.md"


def as_test(wheel: MeasuredWheel, slips: list[float], scatter: str = "stated") -> dict[str, Any]:
    """A set as a wheel of DATA.yaml, with the points at some slips."""
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
            test[name] = {"unit": points.unit, "values": chosen}
            if scatter == "stated":
                test[name]["scatter"] = f"{points.uncertainty} {points.unit}"
    return test


def common_slips(wheel: MeasuredWheel) -> list[float]:
    """Slips at which all scored quantities were measured."""
    scored = [set(points.slips) for points in wheel.points.values() if points.scored]
    return sorted(set.intersection(*scored)) if scored else []


def judged(wheels: dict[str, MeasuredWheel], out: Path, runs: int, workers: int | None, force: bool) -> dict[str, Any]:
    """Fit to every other slip, from the first on, and compare with the rest."""
    slips = {name: common_slips(wheel) for name, wheel in wheels.items()}

    def data(first: int, scatter: str) -> dict[str, Any]:
        tests = {n: as_test(w, slips[n][first::2], scatter) | {"predict_slip": slips[n]} for n, w in wheels.items()}
        return {"title": out.name, "wheels": tests}

    kept = out / "judged.json"
    if kept.is_file() and not force:
        there = json.loads(kept.read_text(encoding="utf-8"))
        if (there["runs"], there["data"]) == (runs, data(0, "stated")):
            return there
    done = identify(data(0, "stated"), out=out, runs=runs * len(wheels), workers=workers, force=force)
    found = {"stated": done.posterior}
    fitted = likelihood(read_measurements(data(0, "estimated")), done.emulators)
    found["estimated"] = posterior(done.posterior.prior, fitted, effective=EFFECTIVE)
    rows = []
    for scatter, one in found.items():
        back = likelihood(read_measurements(data(1, scatter)), done.emulators)
        for known, curve in zip(one.likelihood.curves, back.curves, strict=True):
            rows += compared(one, known, same_scale(known, curve), scatter, wheels)
    errors = {name: one.errors for name, one in done.emulators.items()}
    soils = {scatter: described(one) for scatter, one in found.items()}
    result = {"runs": runs, "data": data(0, "stated"), "rows": rows, "emulators": errors, "soils": soils}
    kept.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return result


def same_scale(fitted: Curve, curve: Curve) -> Curve:
    """The held-back curve with the unit of scatter of the fitted one, which an estimated scatter refers to."""
    return dataclasses.replace(curve, sigma=np.full_like(curve.sigma, fitted.sigma[0]))


def compared(
    found: Posterior, known: Curve, curve: Curve, scatter: str, wheels: dict[str, MeasuredWheel]
) -> list[dict[str, Any]]:
    """Errors and bands of the held-back points of a curve, by the law alone and with its deviation."""
    _, name, quantity = curve.name.split(".")
    given = wheels[name].given
    least = floor(quantity, given.load, given.wheel.radius)
    rows = []
    for kind, band in zip(KINDS, (found.band(curve), found.held_back(known, curve)), strict=True):
        errors = [error(float(m), float(y), least) for m, y in zip(band[1], curve.y, strict=True)]
        inside = [bool(low <= y <= high) for low, y, high in zip(band[0], curve.y, band[2], strict=True)]
        width = (0.5 * (band[2] - band[0]) / np.maximum(np.abs(curve.y), least)).tolist()
        rows.append({"set": wheels[name].name, "quantity": quantity, "scatter": scatter, "by": kind, "errors": errors,
                     "inside": inside, "half_width": width, "slips": curve.place.tolist(), "measured": curve.y.tolist(),
                     "median": band[1].tolist()})  # fmt: skip
    lines = np.interp(curve.place, known.place, known.y)
    errors = [error(float(m), float(y), least) for m, y in zip(lines, curve.y, strict=True)]
    rows.append({"set": wheels[name].name, "quantity": quantity, "scatter": "", "by": LINES, "errors": errors})
    return rows


def described(found: Posterior) -> dict[str, Any]:
    return {
        "constants": {one.name: [one.mean, one.low, one.high, one.verdict] for one in found.estimates},
        "checks": {one.group: [*one.deviation[:2], one.most, one.words] for one in found.checks},
        "r_hat": found.draws.spread,
    }


def jobs_of(names: list[str]) -> dict[str, dict[str, MeasuredWheel]]:
    """Sets by the name of their identification: each alone, and those of TOGETHER as one."""
    jobs: dict[str, dict[str, MeasuredWheel]] = {}
    for file in sorted(WHEELS.glob("*.yaml")):
        sets = {name: one for name, one in read_wheels(file).items() if len(common_slips(one)) >= LEAST}
        jobs |= {f"{file.stem}-{name}": {name: one} for name, one in sets.items()}
        if file.stem in TOGETHER:
            jobs[f"{file.stem}-both"] = sets
    chosen = [name.replace(":", "-") for name in names]
    return {job: sets for job, sets in jobs.items() if not chosen or any(job.startswith(name) for name in chosen)}


def table(rows: list[dict[str, Any]], label: Callable[[dict[str, Any]], str]) -> list[list[str]]:
    """Rows of a table: median error and points inside the band, by scatter and kind; then the error of lines."""
    lines = []
    for key in dict.fromkeys((label(row), row["quantity"]) for row in rows):
        mine = [row for row in rows if (label(row), row["quantity"]) == key]
        cells = []
        for column in COLUMNS:
            some = [row for row in mine if (row["scatter"], row["by"]) == column]
            errors = [x for row in some for x in row["errors"]]
            held = [x for row in some for x in row.get("inside", [])]
            cells.append(f"{100 * np.median(errors):.0f} %" + (f", {sum(held)} of {len(held)}" if held else ""))
        lines.append([*key, *cells])
    return lines


COLUMNS = [*((scatter, kind) for scatter in SCATTERS for kind in KINDS), ("", LINES)]
HEAD = ["set", "quantity", *(f"{kind}, scatter {scatter}" for scatter in SCATTERS for kind in KINDS), LINES]


def inside(rows: list[dict[str, Any]]) -> list[list[str]]:
    """How many of all held-back points lie in the 90 % bands, by scatter and kind."""
    cells = []
    for scatter, kind in COLUMNS[:-1]:
        found = [x for row in rows if (row["scatter"], row["by"]) == (scatter, kind) for x in row["inside"]]
        cells.append(f"{sum(found)} of {len(found)} ({100 * np.mean(found):.0f} %)")
    return [["all sets", "all, inside", *cells, ""]]


def soils(found: dict[str, Any]) -> list[list[str]]:
    """Constants of the soil that both wheels of a file ran in."""
    lines = []
    for name in found["stated"]["constants"]:
        cells = [f"{m:.3g} ({low:.3g} to {high:.3g}), {word}"
                 for m, low, high, word in (found[scatter]["constants"][name] for scatter in SCATTERS)]  # fmt: skip
        lines.append([f"`{name}`", *cells])
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--runs", type=int, default=RUNS, help="for each wheel")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--out", type=Path, default=Path("runs") / "identified-wheels")
    parser.add_argument("--force", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/identify.md")
    options = parser.parse_args()
    found = {}
    for name, wheels in jobs_of(options.names).items():
        found[name] = judged(wheels, options.out / name, options.runs, options.workers, options.force)
        show(name, found[name])
        print(aligned(HEAD, table(found[name]["rows"], lambda row: row["set"])), flush=True)
    single = [row for name, one in found.items() if not name.endswith("-both") for row in one["rows"]]
    both = [row for name, one in found.items() if name.endswith("-both") for row in one["rows"]]
    lines = table(single, lambda row: row["set"]) + table(single, lambda row: "all sets") + inside(single)
    lines += table(both, lambda row: f"{row['set']}, one soil for both wheels")
    parts = {"identified-wheels": aligned(HEAD, lines)}
    if "wang2016-both" in found:
        head = ["constant", *(f"scatter {scatter}" for scatter in SCATTERS)]
        parts["identified-kls-1"] = aligned(head, soils(found["wang2016-both"]["soils"]))
    publish(parts, options.write, PAGE)
    missed = []
    for scatter in SCATTERS:
        rows = [row for row in single if (row["scatter"], row["by"]) == (scatter, JUDGED)]
        missed += [f"scatter {scatter}, {one}" for one in missed_bars(rows)]
    print("\n".join(missed) or "all bars over all sets are met")
    sys.exit(bool(missed))


def show(name: str, one: dict[str, Any]) -> None:
    print(name, {key: {q: round(e, 4) for q, e in errors.items()} for key, errors in one["emulators"].items()})
    for scatter, soil in one["soils"].items():
        print(f"  scatter {scatter}: R-hat {soil['r_hat']:.3f}")
        for constant, (mean, low, high, verdict) in soil["constants"].items():
            print(f"    {constant}: {mean:.4g} ({low:.4g} to {high:.4g}), {verdict}")
        for group, (low, median, high, words) in soil["checks"].items():
            print(f"    {group}: d {median:.2g} ({low:.2g} to {high:.2g}); {words}", flush=True)


if __name__ == "__main__":
    main()
