"""identify.html, identification.json and posterior.csv: what was found, for people and for programs."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import grouser
from grouser.files import write_atomically
from grouser.identification import figures
from grouser.identification.emulator import Emulator
from grouser.identification.posterior import Check, Estimate, Posterior
from grouser.identification.predictions import Band, Prediction
from grouser.report.html import Badge, picture, render
from grouser.report.wording import number

LEVELS = {"determined": "good", "weakly determined": "warn", "not determined": "bad"}
CAPTIONS = {
    "posteriors": ("Posteriors and correlations", "Diagonal: before (grey) and after the data. Below: draws of pairs. "
                   "Above: correlations, of logarithms where the axis is logarithmic."),
    "data": ("Data and predictions", "Points: measured. Line and band: median and 90 % of new measurements: soil, "
             "deviation of the law and scatter."),
    "residuals": ("Residuals", "Measured less predicted median, over the scatter. Two of three lie in the grey band if "
                  "the law follows."),
}  # fmt: skip


def words(found: Posterior) -> list[str]:
    """The findings as sentences."""
    lines = []
    missing = found.undetermined
    if missing:
        lines.append(f"Not determined by these data: {', '.join(missing)}. Their intervals are those of the prior.")
    weak = [one.name for one in found.estimates if one.verdict == "weakly determined"]
    if weak:
        lines.append(f"Weakly determined: {', '.join(weak)}.")
    for check in found.checks:
        lines.append(f"{check.group.capitalize()}: {check.words}.")
    if not found.draws.mixed:
        lines.append(f"The sampler has not mixed (R-hat {found.draws.spread:.3g}): do not use these numbers.")
    return lines


def write_page(
    found: Posterior, title: str, folder: Path, emulators: Mapping[str, Emulator], predicted: Sequence[Prediction] = ()
) -> Path:
    """Draw the figures and write identify.html."""
    drawn = {
        "posteriors": figures.draw_posteriors(found, folder / "figures" / "posteriors.png"),
        "data": figures.draw_data(found, folder / "figures" / "data.png"),
        "residuals": figures.draw_residuals(found, folder / "figures" / "residuals.png"),
    }
    checks = found.checks
    badges = [Badge(_level(one), f"{one.group}: {_short(one)}") for one in checks]
    text = render(
        "identify.html",
        title=title,
        overline="Grouser identify",
        badges=badges,
        facts=_facts(found, emulators),
        words=words(found),
        constants=[_constant(one) for one in found.estimates],
        checks=[_check(one, badge) for one, badge in zip(checks, badges, strict=True)],
        predictions=[_prediction(one) for one in predicted],
        figures=[picture(file, *CAPTIONS[name]) for name, file in drawn.items()],
        version=grouser.__version__,
    )
    return write_atomically(folder / "identify.html", text)


def _short(check: Check) -> str:
    if check.undecided:
        return "not told"
    return "cannot follow" if check.cannot_follow else "deviates" if check.deviates else "follows"


def _level(check: Check) -> str:
    return "bad" if check.cannot_follow else "warn" if check.deviates or check.undecided else "good"


def _facts(found: Posterior, emulators: Mapping[str, Emulator]) -> dict[str, str]:
    facts = {
        "data points": str(sum(len(curve.y) for curve in found.likelihood.curves)),
        "independent draws": f"{found.draws.effective:.0f}",
        "R-hat": f"{found.draws.spread:.4f}",
    }
    for name, emulator in emulators.items():
        errors = ", ".join(f"{key} {_error(key, one)}" for key, one in emulator.errors.items())
        facts[f"emulator of {name}"] = f"{emulator.runs} runs; error of runs left out: {errors}"
    return facts


def _error(quantity: str, error: float) -> str:
    of = {"sinkage": "of itself", "torque": "of load times radius"}.get(quantity, "of the load")
    return f"{100 * error:.2g} % {of}"


def _constant(one: Estimate) -> dict[str, Any]:
    return {
        "name": one.name, "unit": one.unit, "mean": number(one.mean),
        "interval": f"{number(one.low, 3)} to {number(one.high, 3)}",
        "prior": f"{number(one.prior_low, 3)} to {number(one.prior_high, 3)}", "share": f"{one.share:.2f}",
        "badge": Badge(LEVELS[one.verdict], one.verdict),
    }  # fmt: skip


def _check(one: Check, badge: Badge) -> dict[str, Any]:
    low, middle, _ = one.deviation
    return {
        "group": one.group, "points": one.points, "deviation": f"{middle:.2g} ({low:.2g} to {one.most:.2g})",
        "p": "" if one.p is None else f"{one.p:.3g}", "badge": Badge(badge.level, _short(one)),
    }  # fmt: skip


def _prediction(one: Prediction) -> dict[str, Any]:
    return {
        "test": one.test, "quantity": one.quantity.replace("_", " "), "slip": f"{one.slip:g}",
        "law": _band(one.law, one.unit), "with_deviation": _band(one.with_deviation, one.unit),
    }  # fmt: skip


def _band(band: Band, unit: str) -> str:
    low, median, high = band
    return f"{number(median, 3)} {unit} ({number(low, 3)} to {number(high, 3)})"


def described(
    found: Posterior, title: str, emulators: Mapping[str, Emulator], predicted: Sequence[Prediction] = ()
) -> dict[str, Any]:
    """Content of identification.json, in SI."""
    return {
        "version": grouser.__version__,
        "title": title,
        "constants": {
            one.name: {
                "unit": one.unit, "mean": one.mean, "interval_90": [one.low, one.high],
                "prior_90": [one.prior_low, one.prior_high], "width_over_prior": one.share, "verdict": one.verdict,
            }
            for one in found.estimates
        },
        "not_determined": list(found.undetermined),
        "correlation": np.atleast_2d(np.corrcoef(found.scaled, rowvar=False)).round(4).tolist(),
        "checks": {
            one.group: {
                "points": one.points, "deviation_over_scatter": list(one.deviation), "relative": one.relative,
                "p": one.p, "deviates": one.deviates, "cannot_follow": one.cannot_follow,
                "deviation_at_most": one.most, "differs_from_point_to_point": one.rough,
                "undecided": one.undecided, "estimated_scatter": one.scatter, "words": one.words,
            }
            for one in found.checks
        },
        "sampler": {"effective": found.draws.effective, "r_hat": found.draws.spread, "mixed": found.draws.mixed},
        "emulators": {name: {"runs": one.runs, "errors": one.errors} for name, one in emulators.items()},
        "predictions": [asdict(one) for one in predicted],
        "words": words(found),
    }  # fmt: skip


def write_draws(found: Posterior, file: Path) -> Path:
    """posterior.csv: one row for each draw, constants in SI, then the hyperparameters."""
    hyper = [f"deviation of {group}" for group in found.likelihood.groups] if found.likelihood.discrepancy else []
    hyper += [f"scatter of {group}" for group in found.likelihood.unknown]
    table = np.concatenate(
        [np.stack([found.values[n] for n in found.prior.names], axis=1), np.exp(found.hyper)], axis=1
    )
    text = io.StringIO()
    np.savetxt(text, table, fmt="%.6g", delimiter=",", header=",".join([*found.prior.names, *hyper]), comments="")
    return write_atomically(file, text.getvalue())
