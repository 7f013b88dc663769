"""A measured plate under both laws: `python -m benchmarks.rft_blades [--write]` for docs/theory/rft.md.

The plate of benchmarks/blades/haeri2020.yaml, pushed through dry sand 20 and 50 mm deep. Nothing is fitted: sand and
plate are those of that file, the scale of resistive force theory follows from density and angle of friction. The plate
moves as prescribed. Depth counts below the undisturbed level, so the law does not know the pile ahead of the plate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.page import FIGURES, ROOT, asked_to_write, number, percent, publish, table
from grouser.contact.rft import RftOptions
from grouser.report.style import COLOURS, DOTS_PER_INCH, INK, STYLE
from grouser.scenarios.blade import Blade, over_stretches
from grouser.scenarios.settings import from_python
from grouser.simulation.soil_robot import module_of
from grouser.terrain.generators import flat
from grouser.terrain.ground import Ground
from grouser.validation.blades import MeasuredBlade, read_blades
from tests.rig import ManufacturedMotion, quaternion

PAGE = ROOT / "docs" / "theory" / "rft.md"
FILE = ROOT / "benchmarks" / "blades" / "haeri2020.yaml"
STEP, SPACING = 0.0125, 0.01  # [s], [m]: half a millimetre of travel a step
ROOM = 0.5  # [m] of soil around the travel
LAWS = ("soil", "rft")
WRONG = "rft, half the density"


@dataclass(frozen=True)
class Pushed:
    """Draught and lift [N] over the travel [m]."""

    travel: np.ndarray
    draught: np.ndarray
    lift: np.ndarray

    def at(self, blade: MeasuredBlade, force: str) -> np.ndarray:
        """Means [N] at the measured points."""
        given = blade.given
        return over_stretches(np.array(given.measured.travel), given.stretch, self.travel, getattr(self, force))


def push(blade: MeasuredBlade, law: str, density: float = 1.0) -> Pushed:
    """Lead the plate as the scenario `blade` does; `density`: factor on that of the sand."""
    settings = from_python("blade", blade.settings(None, {"blade.thickness": 0.012, "spacing": SPACING})).settings
    assert isinstance(settings, Blade)
    soil = settings.chosen_soil()
    soil = soil.replace(density=density * soil.density)
    origin = (-ROOM, -settings.blade.width / 2 - ROOM)
    size = (settings.travel + 2 * ROOM, settings.blade.width + 2 * ROOM)
    ground = Ground(flat(size=size, spacing=size[1] / 8, origin=origin), soil, SPACING)
    options = RftOptions() if law == "rft" else None
    rig = ManufacturedMotion(module_of(law, ground, {"blade": settings.surface()}, options), step=STEP)
    found: list[tuple[float, float, float]] = []

    def note() -> None:
        found.append((rig.position[0, 0, 0], -rig.wrench[0, 0, 0], rig.wrench[0, 0, 2]))

    def pose(time: float) -> tuple[np.ndarray, np.ndarray]:
        x, z = settings.place(time)
        return np.array([x, 0.0, z]), quaternion(np.zeros(3))

    seconds = settings.entry_time + (settings.travel - settings.ramp) / settings.speed
    rig.follow(pose, int(seconds / STEP), note)
    return Pushed(*np.array(found).T)


def errors(blade: MeasuredBlade, run: Pushed, force: str) -> np.ndarray:
    """Computed over measured, less 1, at the points that are scored."""
    measured = getattr(blade.given.measured, force)
    scored = np.array(blade.given.measured.travel) >= blade.given.scored_from
    return (run.at(blade, force) / np.array(measured.values) - 1)[scored]


def tables(found: Mapping[tuple[str, str], Pushed], blades: Mapping[str, MeasuredBlade]) -> dict[str, str]:
    """Draught and lift at a few places, and the median errors."""
    rows = []
    for name, blade in blades.items():
        measured, count = blade.given.measured, len(blade.given.measured.travel)
        for place in (2, count // 2, count - 1):
            row = [blade.given.title, number(measured.travel[place], 2)]
            for force in ("draught", "lift"):
                row.append(number(getattr(measured, force).values[place], 0))
                row += [number(float(found[name, law].at(blade, force)[place]), 0) for law in LAWS]
            rows.append(row)
    head = ["plate", "travel m", "draught N", *(f"`{law}`" for law in LAWS), "lift N", *(f"`{law}`" for law in LAWS)]
    medians = [
        (blades[name].given.title, law,
         *(percent(float(np.median(np.abs(errors(blades[name], run, force)))), 0) for force in ("draught", "lift")),
         percent(float(errors(blades[name], run, "draught")[0]), 0),
         percent(float(errors(blades[name], run, "draught")[-1]), 0))
        for (name, law), run in found.items()
    ]  # fmt: skip
    ends = ("plate", "law", "median error of draught", "of lift", "draught, first point", "draught, last point")
    return {"rft-blades": f"{table(head, rows)}\n\n{table(ends, medians)}"}


def draw(found: Mapping[tuple[str, str], Pushed], blades: Mapping[str, MeasuredBlade]) -> None:
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9, 3.6), layout="constrained")
        for axes, (name, blade) in zip(figure.subplots(1, len(blades)), blades.items(), strict=True):
            measured = blade.given.measured
            for force, fill in (("draught", INK), ("lift", "white")):
                values = getattr(measured, force).values
                axes.plot(measured.travel, values, "o", ms=3.5, color=INK, mfc=fill, label=f"{force}, measured")
            for law, colour in zip(LAWS, COLOURS, strict=False):
                run = found[name, law]
                axes.plot(run.travel, run.draught, color=colour, label=f"draught, {law}")
                axes.plot(run.travel, run.lift, "--", color=colour, label=f"lift, {law}")
            axes.set(xlabel="travel [m]", ylabel="force [N]", title=blade.given.title)
            axes.grid(alpha=0.3)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
        figure.savefig(FIGURES / "rft-blades.png", dpi=DOTS_PER_INCH)


def main() -> int:
    write = asked_to_write(__doc__, "docs/theory/rft.md")
    blades = read_blades(FILE)
    found = {(name, law): push(blade, law) for name, blade in blades.items() for law in LAWS}
    found |= {("50mm", WRONG): push(blades["50mm"], "rft", 0.5)}
    publish(tables(found, blades), write, PAGE)
    if write:
        draw(found, blades)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
