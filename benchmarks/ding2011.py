"""A driven wheel against the measurements of Ding et al. 2011: `python benchmarks/ding2011.py [--write]`.

The table of measurements was digitised. Nothing here is fitted to it: the friction of the smooth wheel is the
geotechnical rule of thumb tan(2/3 phi) for a smooth wall on sand (assumed), shown beside the soil's own limit; the
compressed share is that of the soil file (assumed); 24 lugs of 4 mm are assumed too.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from dataclasses import dataclass, field

import numpy as np
from page import FIGURES, number, percent, publish, quiet, table

import grouser
from grouser.scenarios.wheel_theory import rolling_wheel

SLIPS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.6)
WHEEL = {"radius": 0.15735, "width": 0.165}  # [m]
LUGS = {"grouser_height": 0.010, "grouser_count": 24, "grouser_width": 0.004}  # height measured, the rest assumed
LOAD = 80.0  # [N]
SOIL = "hit-lss1"
SMOOTH = {  # measured
    "pull": (-6.5, 11.0, 14.5, 15.0, 15.0, 15.0),  # [N]
    "sinkage": (5.0, 5.5, 7.5, 10.0, 12.5, 17.5),  # [mm]
    "torque": (0.0, 3.0, 4.2, 4.8, 5.0, 5.3),  # [N m]
}
LUGGED = {"pull": (-6.5, 14.0, 20.0, 22.0, 23.0, 24.5)}
UNITS = {"pull": "N", "sinkage": "mm", "torque": "N·m"}
DIGITS = {"pull": 1, "sinkage": 1, "torque": 2}
PEAK_WIDTH = 0.08  # of the lug frequency: what its peak covers
FIGURE_INCH, FIGURE_DPI = (6.4, 3.4), 110


@dataclass
class Curve:
    """One wheel over slip: pull [N], sinkage [mm], torque [N m]."""

    name: str
    pull: list[float] = field(default_factory=list)
    sinkage: list[float] = field(default_factory=list)
    torque: list[float] = field(default_factory=list)

    def add(self, sinkage: float, pull: float, torque: float) -> None:
        self.sinkage.append(1e3 * sinkage)
        self.pull.append(pull)
        self.torque.append(torque)

    def errors(self, measured: dict[str, tuple[float, ...]]) -> dict[str, float]:
        """Median relative error of each quantity over the slips at which the measured value is not 0."""
        out = {}
        for name, values in measured.items():
            pairs = [(v, m) for v, m in zip(getattr(self, name), values, strict=True) if m != 0]
            out[name] = float(np.median([abs(v - m) / abs(m) for v, m in pairs]))
        return out


def driven(name: str, wheel: dict, slips: tuple[float, ...] = SLIPS, **settings) -> Curve:
    """The wheel in Grouser at every slip (of the rim)."""
    curve = Curve(name)
    for slip in slips:
        with tempfile.TemporaryDirectory() as folder:
            run = grouser.run("single-wheel", load=LOAD, slip=slip, wheel=wheel, out=folder, report=False, **settings)
        m = run.metrics
        curve.add(m["sinkage_m"], m["drawbar_pull_N"], m["torque_Nm"])
    return curve


def rim_slips(height: float) -> tuple[float, ...]:
    """Slips of the rim when SLIPS are those of the lug tips: v = (1 - s) w (r + height); below 0 r w/v - 1."""
    share = [(1 - s) * (1 + height / WHEEL["radius"]) for s in SLIPS]  # v / (r w)
    return tuple(1 - q if q <= 1 else 1 / q - 1 for q in share)


def ripple(spacing: float) -> str:
    """Amplitude of the lugged wheel's pull at slip 0.3: at the lug frequency, and the strongest elsewhere."""
    wheel = {**WHEEL, **LUGS}
    with tempfile.TemporaryDirectory() as folder:
        run = grouser.run(
            "single-wheel", soil=SOIL, load=LOAD, slip=0.3, wheel=wheel, spacing=spacing, out=folder, report=False
        )
        with grouser.Recording(run.recording) as recording:
            time, pull = recording.time, recording["wheel/drawbar_pull"]
            spin = float(recording["joint/velocity[axle]"][-1])
    steady = pull[len(pull) // 3 :] - np.mean(pull[len(pull) // 3 :])
    amplitude = 4 / len(steady) * np.abs(np.fft.rfft(steady * np.hanning(len(steady))))
    times = np.fft.rfftfreq(len(steady), time[1] - time[0]) / (LUGS["grouser_count"] * spin / (2 * math.pi))
    near = np.abs(times - 1) < PEAK_WIDTH
    other = int(np.argmax(np.where(near, 0.0, amplitude)))
    return (
        f"{1e3 * spacing:.0f} mm grid: {amplitude[near].max():.1f} N at the lug frequency, at most"
        f" {amplitude[other]:.1f} N elsewhere (at {times[other]:.2f} times it)"
    )


def closed_form(name: str, wheel_friction: float | None) -> Curve:
    """Bekker and Janosi-Hanamoto integrals: no digging, no mound, no grousers."""
    curve = Curve(name)
    soil = grouser.soil(SOIL).replace(wheel_friction=wheel_friction)
    for slip in SLIPS:
        state = rolling_wheel(soil, **WHEEL, load=LOAD, slip=slip)
        curve.add(state.sinkage, state.drawbar_pull, state.torque)
    return curve


def comparison(
    curves: list[Curve], measured: dict[str, tuple[float, ...]], name: str, wheel: str = "smooth wheel"
) -> str:
    """One quantity over slip, measured and computed."""
    head = (f"{wheel}: {name} {UNITS[name]} at slip", *(f"{s:g}" for s in SLIPS), "median error")
    rows = [("measured", *(number(v, DIGITS[name]) for v in measured[name]), "")]
    for curve in curves:
        values = (number(v, DIGITS[name]) for v in getattr(curve, name))
        rows.append((curve.name, *values, percent(curve.errors(measured)[name], 0)))
    return table(head, rows)


def resistance(curves: list[Curve]) -> str:
    """What traction T/r loses before it becomes pull [N]."""
    r = WHEEL["radius"]
    head = ("smooth wheel: T/r − pull, N at slip", *(f"{s:g}" for s in SLIPS))
    measured = [t / r - p for t, p in zip(SMOOTH["torque"], SMOOTH["pull"], strict=True)]
    rows = [("measured", *(number(v, 1) for v in measured))]
    rows += [(c.name, *(number(t / r - p, 1) for t, p in zip(c.torque, c.pull, strict=True))) for c in curves]
    early, late = SLIPS.index(0.1), SLIPS.index(0.6)
    shares = {"measured": SMOOTH["torque"], **{c.name: c.torque for c in curves}}
    words = ", ".join(f"{name} {percent(t[early] / t[late], 0)}" for name, t in shares.items())
    return f"{table(head, rows)}\n\nTorque at slip 0.1 over that at slip 0.6: {words}."


def sensitivity(mu: float, reference: Curve) -> str:
    """Median errors of the smooth wheel when what was assumed is changed."""
    variants = {
        "compression 0.15": {"soil.compression": 0.15},
        "compression 0.6": {"soil.compression": 0.6},
        "K = 9.7 mm": {"soil.shear_modulus": 0.0097},
        "K = 13.1 mm": {"soil.shear_modulus": 0.0131},
    }
    head = ("smooth wheel, tan(2/3 φ)", "pull", "sinkage", "torque", "sinkage at slip 0.6", "pull at slip 0.6")
    rows = []
    for name, change in {"as above": {}, **variants}.items():
        settings = {"soil": SOIL, "soil.wheel_friction": mu, **change}
        curve = driven(name, WHEEL, settings=settings) if change else reference
        error = curve.errors(SMOOTH)
        shares = (percent(error[q], 0) for q in ("pull", "sinkage", "torque"))
        rows.append((name, *shares, f"{curve.sinkage[-1]:.1f} mm", f"{number(curve.pull[-1], 1)} N"))
    return table(head, rows)


def draw(quantity: str, curves: list[tuple[Curve, str, str]], points: dict[str, tuple[tuple[float, ...], str]]) -> None:
    """Measured points, Grouser's curves, the closed form."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from grouser.report.style import STYLE

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=FIGURE_INCH, layout="constrained")
        axes = figure.add_subplot()
        for label, (values, colour) in points.items():
            axes.plot(SLIPS, values, "o", color=colour, label=label, zorder=3)
        for curve, colour, style in curves:
            label = curve.name.removesuffix(", slip of the rim")
            label = label if label.startswith("closed form") else f"Grouser, {label}"
            axes.plot(SLIPS, getattr(curve, quantity), style, color=colour, label=label)
        if quantity == "pull":
            axes.axhline(0, color="#8797a3", linewidth=0.8)
        axes.set_xlabel("slip [1]")
        axes.set_ylabel({"pull": "drawbar pull [N]", "sinkage": "sinkage [mm]", "torque": "torque [N m]"}[quantity])
        figure.legend(loc="outside right upper", fontsize=7.5)
        FIGURES.mkdir(parents=True, exist_ok=True)
        FigureCanvasAgg(figure)
        figure.savefig(FIGURES / f"ding2011-{quantity}.png", dpi=FIGURE_DPI, metadata={"Software": None})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--write", action="store_true", help="tables into docs/validation.md, figures into docs/figures"
    )
    write = parser.parse_args().write
    quiet()
    mu = math.tan(math.radians(2 / 3 * grouser.soil(SOIL).friction_angle_deg))
    rule = driven("tan(2/3 φ)", WHEEL, settings={"soil": SOIL, "soil.wheel_friction": mu})
    own = driven("soil's own limit", WHEEL, soil=SOIL)
    lugs = {**WHEEL, **LUGS}
    lugged = driven("10 mm lugs, slip of the rim", lugs, soil=SOIL)
    tips = driven("10 mm lugs, slip of the tips", lugs, rim_slips(LUGS["grouser_height"]), soil=SOIL)
    books = [closed_form("closed form, tan(2/3 φ)", mu), closed_form("closed form, soil's own limit", None)]
    smooth = [rule, own, *books]
    text = [comparison(smooth, SMOOTH, name) for name in SMOOTH]
    text += [comparison([lugged, tips], LUGGED, "pull", "lugged wheel")]
    text += [
        "The same lugged wheel (slip of the rim), not measured: sinkage "
        + ", ".join(number(v, 1) for v in lugged.sinkage)
        + " mm, torque "
        + ", ".join(number(v, 2) for v in lugged.torque)
        + " N·m at the slips above.",
        "Ripple of its pull at slip 0.3. " + "; ".join(ripple(spacing) for spacing in (0.01, 0.005)) + ".",
    ]
    parts = {
        "ding2011": f"tan(2/3 φ) = {mu:.3f}.\n\n" + "\n\n".join(text),
        "ding2011-resistance": resistance([rule, own]),
        "ding2011-sensitivity": sensitivity(mu, rule),
    }
    publish(parts, write)
    if write:
        blue, red, green = "#2b6c99", "#d1543f", "#3f8f5f"
        lines = [(rule, blue, "-"), (own, red, "-"), (books[0], blue, ":"), (books[1], red, ":")]
        lines.append((lugged, green, "-"))
        for quantity, values in SMOOTH.items():
            points = {"measured, smooth": (values, "#22303a")}
            if quantity in LUGGED:
                points["measured, lugs"] = (LUGGED[quantity], green)
            draw(quantity, lines, points)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
