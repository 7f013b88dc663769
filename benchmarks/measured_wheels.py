"""Tables and figures of measured wheels for the docs: `python benchmarks/measured_wheels.py [--write]`.

All sets are run as `grouser validate` does. Ding et al. 2011 is looked at more closely: the closed form, what the soil
resists, the assumed values, the slip of lug tips, ripple. Nothing here is fitted to the measurements.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from pathlib import Path

import numpy as np
from page import FIGURES, ROOT, asked_to_write, number, percent, publish, table

import grouser
from grouser.commands.tables import score_rows
from grouser.commands.validate import Found, Validation, validate
from grouser.scenarios.wheel_theory import rolling_wheel
from grouser.validation import MeasuredWheel
from grouser.validation.cases import Entry, laws, settings
from grouser.validation.score import Score, scores

PAGE = ROOT / "docs" / "measured-wheels.md"
DING = ROOT / "benchmarks" / "wheels" / "ding2011.yaml"
SMOOTH, LUGGED = "ding2011:smooth", "ding2011:lugged"
OWN = "soil.wheel_friction=none"
ASSUMED = ("soil.compression=0.15", "soil.compression=0.6", "soil.shear_modulus=0.0097", "soil.shear_modulus=0.0131")
UNITS = {"pull": ("N", 1.0, 1), "sinkage": ("mm", 1e3, 1), "torque": ("N·m", 1.0, 2)}  # shown as: unit, scale, decimals
PEAK_WIDTH = 0.08  # of the lug frequency: what its peak covers


def comparison(head: str, rows: dict[str, dict[str, Score]], quantity: str) -> str:
    """One quantity over slip, measured and computed."""
    unit, scale, digits = UNITS[quantity]
    points = next(iter(rows.values()))[quantity].points
    lines = [("measured", *(number(scale * value, digits) for value in points.values), "")]
    for name, found in rows.items():
        values = (number(scale * (value or math.nan), digits) for value in found[quantity].computed)
        lines.append((name, *values, percent(found[quantity].median, 0)))
    return table((f"{head}: {quantity} {unit} at slip", *(f"{s:g}" for s in points.slips), "median error"), lines)


def closed_form(wheel: MeasuredWheel, *options: str) -> dict[str, Score]:
    """Scores of the Bekker and Janosi-Hanamoto integrals: no digging, no mound, no lugs."""
    assert wheel.soil is not None
    (law,) = laws(options, [])
    soil = settings(Entry(wheel, wheel.soil, blind=True), 0.1, law).chosen_soil()
    size = {"radius": wheel.given.wheel.radius, "width": wheel.given.wheel.width, "load": wheel.given.load}
    found = {}
    for slip in wheel.points["pull"].slips:
        state = rolling_wheel(soil, **size, slip=slip)
        found[slip] = {"pull": state.drawbar_pull, "sinkage": state.sinkage, "torque": state.torque}
    return scores(wheel, found)


def resistance(rows: dict[str, dict[str, Score]], radius: float) -> str:
    """What traction T/r loses before it becomes pull [N]."""
    first = next(iter(rows.values()))
    lost = {"measured": [first[name].points.values for name in ("torque", "pull")]}
    lost |= {name: [found[q].computed for q in ("torque", "pull")] for name, found in rows.items()}
    lines = [(name, *(number(t / radius - p, 1) for t, p in zip(*both, strict=True))) for name, both in lost.items()]
    slips = first["pull"].points.slips
    early, late = slips.index(0.1), slips.index(0.6)
    words = ", ".join(f"{name} {percent(torque[early] / torque[late], 0)}" for name, (torque, _) in lost.items())
    head = ("smooth wheel: T/r − pull, N at slip", *(f"{s:g}" for s in slips))
    return f"{table(head, lines)}\n\nTorque at slip 0.1 over that at slip 0.6: {words}."


def sensitivity(found: Found) -> str:
    """Median errors of the smooth wheel when what was assumed is changed."""
    lines = []
    for law, sets in found.items():
        one = sets[SMOOTH]
        medians = (percent(one[name].median, 0) for name in UNITS)
        last = {name: one[name].computed[-1] or math.nan for name in UNITS}
        lines.append((law, *medians, f"{1e3 * last['sinkage']:.1f} mm", f"{number(last['pull'], 1)} N"))
    return table(("smooth wheel", *UNITS, "sinkage at slip 0.6", "pull at slip 0.6"), lines)


def ripple(wheel: MeasuredWheel, spacing: float) -> str:
    """Amplitude of the lugged wheel's pull at slip 0.3: at the lug frequency, and the strongest elsewhere."""
    assert wheel.soil is not None
    assert wheel.given.wheel.lugs is not None
    (law,) = laws([f"spacing={spacing}"], [])
    chosen = settings(Entry(wheel, wheel.soil, blind=True), 0.3, law).model_dump(exclude_unset=True)
    with tempfile.TemporaryDirectory() as folder:
        run = grouser.run("single-wheel", chosen, out=folder, report=False)
        with grouser.Recording(run.recording) as recording:
            time, pull = recording.time, recording["wheel/drawbar_pull"]
            spin = float(recording["joint/velocity[axle]"][-1])
    steady = pull[len(pull) // 3 :] - np.mean(pull[len(pull) // 3 :])
    amplitude = 4 / len(steady) * np.abs(np.fft.rfft(steady * np.hanning(len(steady))))
    times = np.fft.rfftfreq(len(steady), time[1] - time[0]) / (wheel.given.wheel.lugs.count * spin / (2 * math.pi))
    near = np.abs(times - 1) < PEAK_WIDTH
    other = int(np.argmax(np.where(near, 0.0, amplitude)))
    return (
        f"{1e3 * spacing:.0f} mm grid: {amplitude[near].max():.1f} N at the lug frequency, at most"
        f" {amplitude[other]:.1f} N elsewhere (at {times[other]:.2f} times it)"
    )


def of_the_tips(folder: Path) -> dict[str, Score]:
    """The lugged wheel if the slips of the source are those of its tips."""
    file = folder / "ding2011.yaml"
    file.write_text(DING.read_text(encoding="utf-8").replace("slip_of: rim\n    sink", "slip_of: tips\n    sink"))
    done = validate([f"{file}:lugged"], out=folder / "tips")
    return done.found["default"][LUGGED]


def ding(done: Validation, found: Found, tips: dict[str, Score]) -> dict[str, str]:
    """The parts of docs/validation.md."""
    wheels = {entry.wheel.name: entry.wheel for entry in done.entries}
    smooth = wheels[SMOOTH]
    rows = {"tan(2/3 φ)": found["default"][SMOOTH], "soil's own limit": found[OWN][SMOOTH]}
    books = {
        "closed form, tan(2/3 φ)": closed_form(smooth),
        "closed form, soil's own limit": closed_form(smooth, OWN),
    }
    lugged = {"slip of the rim": done.found["default"][LUGGED], "slip of the tips": tips}
    text = [comparison("smooth wheel", rows | books, name) for name in UNITS]
    text += [comparison("lugged wheel", lugged, name) for name in UNITS]
    waves = "; ".join(ripple(wheels[LUGGED], spacing) for spacing in (0.01, 0.005))
    text.append(f"Ripple of the lugged wheel's pull at slip 0.3. {waves}.")
    kept = {law: sets for law, sets in found.items() if law != OWN}
    return {
        "ding2011": "\n\n".join(text),
        "ding2011-resistance": resistance(rows, smooth.given.wheel.radius),
        "ding2011-sensitivity": sensitivity(kept),
    }


def main() -> int:
    write = asked_to_write(__doc__, "docs")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        done = validate(out=folder / "all")
        head, lines = score_rows(done)
        publish({"measured-wheels": table(head, lines)}, write, PAGE)
        if write:
            for figure in (folder / "all" / "figures").glob("*.png"):
                shutil.copy(figure, FIGURES / f"wheel-{figure.name}")
        variants = validate([SMOOTH], also=[OWN, *ASSUMED], out=folder / "smooth").found
        publish(ding(done, variants, of_the_tips(folder)), write)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
