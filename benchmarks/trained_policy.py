"""Figure and table of docs/envs.md from a training: `python benchmarks/trained_policy.py [--take DIR] [--write]`.

`--take DIR`: first take policy.npz, curve.csv and outside.json of a training from this folder into the repository.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from page import FIGURES, ROOT, number, publish, table

from grouser.envs.evaluate import CONFIDENCE, WHAT
from grouser.envs.policy import load_policy

PAGE = ROOT / "docs" / "envs.md"
POLICY = ROOT / "src" / "grouser" / "envs" / "trained" / "RoverGoal.npz"
DATA = Path(__file__).with_name("trained")
TAKEN = {"policy.npz": POLICY, "curve.csv": DATA / "curve.csv", "outside.json": DATA / "outside.json"}
DIGITS = {"success": 2, "return": 2, "time": 1, "slip": 3, "energy": 0}
HAND_WRITTEN = "hand-written"
INCH, DPI = (7.0, 2.8), 120


def take(folder: Path) -> None:
    """Copy the files of a training to where they are kept."""
    missing = [name for name in TAKEN if not (folder / name).exists()]
    if missing:
        raise SystemExit(f"{folder} has no {', '.join(missing)}")
    for name, kept in TAKEN.items():
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / name, kept)


def kept() -> tuple[dict[str, Any], list[dict[str, str]]]:
    """The comparison and the rows of the learning curve."""
    found = json.loads((DATA / "outside.json").read_text(encoding="utf-8"))
    with (DATA / "curve.csv").open(encoding="utf-8") as file:
        return found, list(csv.DictReader(file))


def comparison(found: dict[str, Any]) -> str:
    """Policy and hand-written controller beside each other: means and bounds."""
    made = found["table"]

    def cell(who: str, name: str) -> str:
        low, high = made[who][name]["bounds"]
        texts = [number(value, DIGITS[name]) for value in (made[who][name]["mean"], low, high)]
        return "{} ({} to {})".format(*texts)

    columns = ("policy", HAND_WRITTEN, f"policy - {HAND_WRITTEN}")
    rows = [(f"{name} [{what}]", *(cell(who, name) for who in columns)) for name, what in WHAT.items()]
    return table(("", "policy", "hand-written", "difference of each pair"), rows)


def account(found: dict[str, Any], rows: list[dict[str, str]]) -> str:
    """What was trained, in words, and what was judged on training soils."""
    policy, size = load_policy(POLICY), POLICY.stat().st_size
    by_hand = next(row for row in rows if row["driver"] == HAND_WRITTEN)
    best = max((row for row in rows if row["driver"] == "policy"), key=lambda row: float(row["return"]))
    if f"update {float(best['update']):.0f}, " not in policy.notes:
        raise SystemExit(f"{POLICY.name} ({policy.notes}) is not the best of curve.csv, update {best['update']}")

    def told(row: dict[str, str]) -> str:
        texts = [number(float(row[name]), 2) for name in ("return", "return_low", "return_high", "success")]
        return "return {} ({} to {}), success {}".format(*texts)

    return (
        f"The policy of the package ({size / 1e3:.0f} kB): `{policy.notes.replace(', update', '`, update', 1)}, "
        f"{float(best['wall_s']):.0f} s after the start.\n"
        f"Judged worlds, on soils of the training range: policy {told(best)}; hand-written controller "
        f"{told(by_hand)}.\n"
        f"On soils outside that range, {found['seeds']} seeds from {found['first_seed']} on, a grid of "
        f"{1e3 * found['spacing']:.0f} mm ({found['device']}), means with "
        f"{100 * CONFIDENCE:g} % bounds:\n\n{comparison(found)}"
    )


def draw(rows: list[dict[str, str]]) -> Path:
    """The learning curve: return and success of the judged policies over control periods of training."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from grouser.report.style import STYLE

    by_hand = next(row for row in rows if row["driver"] == HAND_WRITTEN)
    policies = [row for row in rows if row["driver"] == "policy"]
    periods = [float(row["periods"]) / 1e3 for row in policies]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=INCH, layout="constrained")
        FigureCanvasAgg(figure)
        for axes, name in zip(figure.subplots(1, 2), ("return", "success"), strict=True):
            low, middle, high = ([float(row[key]) for row in policies] for key in (f"{name}_low", name, f"{name}_high"))
            errors = np.abs(np.array([low, high]) - middle)
            axes.errorbar(periods, middle, errors, fmt="o-", capsize=2, label="policy")
            axes.axhspan(float(by_hand[f"{name}_low"]), float(by_hand[f"{name}_high"]), color="0.9")
            axes.axhline(float(by_hand[name]), color="0.4", linestyle="--", label="hand-written")
            axes.set_xlabel("control periods of training [thousand]")
            axes.set_ylabel("return of an episode" if name == "return" else "share of episodes that arrive")
        axes.legend(loc="lower right")
        path = FIGURES / "policy-curve.png"
        figure.savefig(path, dpi=DPI, metadata={"Software": None})
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--take", type=Path, default=None, help="folder of a training")
    parser.add_argument("--write", action="store_true", help="put figure and table into docs/envs.md")
    args = parser.parse_args()
    if args.take is not None:
        take(args.take)
    found, rows = kept()
    publish({"trained-policy": account(found, rows)}, args.write, PAGE)
    if args.write:
        print(f"written: {draw(rows).relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
