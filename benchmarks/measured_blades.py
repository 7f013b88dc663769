"""Tables and figure of measured blades for docs/validation.md: `python benchmarks/measured_blades.py [--write]`.

Each set of benchmarks/blades is run with the constants of its source, in all soils that the source gives. One set is
run again with wrong machines and with what the source leaves open. Nothing here is fitted to the measurements.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from page import FIGURES, ROOT, asked_to_write, number, percent, publish, table

import grouser
from grouser.report.style import COLOURS, DOTS_PER_INCH, INK, STYLE
from grouser.scenarios.blade import MEASURED_AIM, over_stretches
from grouser.validation.blades import MeasuredBlade, read_blades

FILES = sorted((ROOT / "benchmarks" / "blades").glob("*.yaml"))
# A blade that is wider than a cell of 10 mm, for runs that are only compared with each other.
QUICK: dict[str, Any] = {"blade.thickness": 0.012, "spacing": 0.01}
VARIANTS: dict[str, dict[str, Any]] = {
    "10 mm grid, blade 12 mm thick": {},
    "20 mm grid, blade 24 mm thick": {"spacing": 0.02, "blade.thickness": 0.024},
    "5 mm grid, blade 12 mm thick": {"spacing": 0.005},
    "four times k_φ": {"soil.k_phi": 4 * 1528430.0},
    "a quarter of k_φ": {"soil.k_phi": 1528430.0 / 4},
    "n 0.7": {"soil.n": 0.7},
    "compression 0": {"soil.compression": 0.0},
    "compression 0.6": {"soil.compression": 0.6},
    "top leans ahead: rake 93.8°": {"blade.rake_deg": 93.8},
    "wall friction 2φ/3": {"soil.wall_friction_deg": 35 * 2 / 3},
    "wrong: half the density": {"soil.density": 865.0},
    "wrong: half the width": {"blade.width": 0.457 / 2},
    "wrong: faces off": {"faces": False},
}
VARIED = "50mm"


@dataclass(frozen=True)
class Result:
    """One run against its measured points."""

    metrics: Mapping[str, Any]
    travel: np.ndarray  # [m]
    draught: np.ndarray  # [N]
    lift: np.ndarray  # [N]

    def at(self, blade: MeasuredBlade) -> np.ndarray:
        """Draught [N] at the measured points."""
        places = np.array(blade.given.measured.travel)
        return over_stretches(places, blade.given.stretch, self.travel, self.draught)


def run(blade: MeasuredBlade, folder: Path, soil: Any = None, changes: Mapping[str, Any] | None = None) -> Result:
    """Run a set, with some settings changed by their paths."""
    outcome = grouser.run("blade", blade.settings(soil, changes), out=folder, report=soil is None and not changes)
    with grouser.Recording(outcome.recording) as recording:
        series = (recording[f"blade/{name}"] for name in ("travel", "draught", "lift"))
        return Result(outcome.metrics, *series)


def errors(result: Result) -> tuple[str, str, str]:
    m = result.metrics
    return (
        percent(m["measured_error_median"], 0),
        percent(m["measured_error_worst"], 0),
        percent(m["measured_bias"], 0),
    )


def within(blade: MeasuredBlade, result: Result) -> str:
    """How many of the scored points have an error of at most the aim."""
    given = blade.given
    scored = np.array(given.measured.travel) >= given.scored_from
    wrong = np.abs(result.at(blade) / [given.measured.draught.newtons(v) for v in given.measured.draught.values] - 1)
    return f"{int((wrong[scored] <= MEASURED_AIM).sum())} of {int(scored.sum())}"


def scores(blades: Sequence[MeasuredBlade], found: Mapping[tuple[str, str], Result]) -> str:
    """One row for each set and soil."""
    lines = []
    for blade in blades:
        for k, (name, soil) in enumerate(blade.soils.items()):
            result, table_of = found[blade.name, name], blade.given.measured
            end = f"{number(result.at(blade)[-1], 0)} ({number(table_of.draught.values[-1], 0)})"
            ratio = np.median(np.array(table_of.lift.values) / table_of.draught.values) if table_of.lift else np.nan
            lines.append(
                (f"{blade.name}, φ {soil.friction_angle_deg:g}°", "yes" if k == 0 else "no", *errors(result),
                 within(blade, result), end,
                 f"{number(result.metrics['lift_ratio'], 2)} ({number(float(ratio), 2)})")
            )  # fmt: skip
    head = ("set", "scored", "median error", "worst", "mean of computed over measured, less 1", "within 25 %",
            "last point N (measured)", "lift over draught (measured)")  # fmt: skip
    return table(head, lines)


def variants(blade: MeasuredBlade, folder: Path) -> str:
    lines = []
    for k, (name, changes) in enumerate(VARIANTS.items()):
        result = run(blade, folder / f"variant-{k}", changes=QUICK | changes)
        at = result.at(blade)
        lines.append((name, *errors(result), *(number(at[place], 0) for place in (4, 12, -1))))
    travel = blade.given.measured.travel
    head = (f"{blade.name}", "median error", "worst", "mean less 1",
            *(f"N at {travel[place]:g} m" for place in (4, 12, -1)))  # fmt: skip
    return table(head, lines)


def draw(blades: Sequence[MeasuredBlade], found: Mapping[tuple[str, str], Result], file: Path) -> None:
    """A panel for each set: measured force with its scatter, computed curves."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.4 * len(blades), 4.0), layout="constrained")
        FigureCanvasAgg(figure)
        for place, blade in enumerate(blades):
            axes, measured = figure.add_subplot(1, len(blades), place + 1), blade.given.measured
            for k, (name, soil) in enumerate(blade.soils.items()):
                result, colour = found[blade.name, name], COLOURS[k]
                label = f"Grouser, φ {soil.friction_angle_deg:g}°"
                axes.plot(result.travel, result.draught, color=colour, label=f"draught, {label}")
                axes.plot(result.travel, result.lift, color=colour, linestyle="--", label=f"lift, {label}")
            for force, fill, label in ((measured.draught, INK, "draught"), (measured.lift, "white", "lift")):
                if force is not None:
                    axes.errorbar(
                        measured.travel, force.values, yerr=force.scatter, fmt="o", markersize=3.5, color=INK,
                        markerfacecolor=fill, elinewidth=0.8, label=f"{label}, measured",
                    )  # fmt: skip
            axes.set_ylim(0, 1.25 * max(*measured.draught.values, *(float(r.draught.max()) for (n, _), r in
                                        found.items() if n == blade.name)))  # fmt: skip
            axes.set_title(f"{blade.name}: {blade.given.title}", fontsize=9)
            axes.set_xlabel("travel [m]")
            axes.set_ylabel("force [N]")
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
        figure.savefig(file, dpi=DOTS_PER_INCH, metadata={"Software": None})


def main() -> int:
    write = asked_to_write(__doc__)
    for file in FILES:
        sets = read_blades(file)
        with tempfile.TemporaryDirectory() as name:
            folder, found = Path(name), {}
            for chosen, blade in sets.items():
                for k, (soil_name, soil) in enumerate(blade.soils.items()):
                    found[blade.name, soil_name] = run(blade, folder / f"{chosen}-{k}", None if k == 0 else soil)
            publish({f"blade-{file.stem}": scores(list(sets.values()), found)}, write)
            if write:
                draw(list(sets.values()), found, FIGURES / f"blade-{file.stem}.png")
                shutil.copy(folder / f"{VARIED}-0" / "figures" / "pile.png", FIGURES / "blade-pile.png")
            publish({f"blade-{file.stem}-variants": variants(sets[VARIED], folder)}, write)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
