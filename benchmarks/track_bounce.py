"""How much the ground load of a bulldozer varies while it drives on level ground, over its speed.

    python benchmarks/track_bounce.py [--write]

Prints the table of docs/theory/track.md: standard deviation of the load over the weight, for rollers fixed to their
frame, on ground four times as stiff, and on road arms; and at one speed with finer steps, markers and schemes.
`--write` draws docs/figures/track-bounce.png.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np

from grouser.robots.bulldozer import Bulldozer
from grouser.scenarios import tracked_machine as tracked
from grouser.scenarios.tracked_machine import RAMP, SETTLING, MachineSettings

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "track-bounce.png"
SPEEDS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.3, 1.6, 2.0)  # [m/s]
AWAY, TAKEN, EVERY = 1.0, 4.0, 2e-3  # [s] driving before, and over which, the load is taken; between two values
NUMERICS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "step 0.25 ms": {"step": 0.25e-3},
    "explicit links": {"scheme": "explicit"},
    "8 x 2 markers a plate": {"markers": (8, 2)},
    "no grousers": {"grousers": 0},
    "spline sprocket": {"sprocket": "spline"},
    "back-bend by shoes": {"back_bend": "shoes"},
}


class WithMarkers(MachineSettings):
    """The machine with another number of markers on its plates."""

    markers: tuple[int, int] = (2, 2)

    @property
    def machine(self) -> Bulldozer:
        p = self.bulldozer()
        shoe = dataclasses.replace(p.layout.link.shoe, markers=self.markers)
        link = dataclasses.replace(p.layout.link, shoe=shoe)
        return dataclasses.replace(p, layout=dataclasses.replace(p.layout, link=link))


def bounce(speed: float, **settings: Any) -> float:
    """Standard deviation of the ground load over the weight at a constant `speed` [m/s]."""
    s = WithMarkers(**settings)
    sim = tracked.simulate(s, tracked.ramped([(SETTLING, speed, speed)]))
    module: Any = sim.modules[0]
    sim.step(round((SETTLING + RAMP + AWAY) / s.step))
    loads = []
    for _ in range(round(TAKEN / EVERY)):
        sim.step(round(EVERY / s.step))
        loads.append(module.ground_force()[0, :, 2].sum())
    return float(np.std(loads)) / (s.machine.total_mass * s.gravity)


def heave_frequency(stiffness: float) -> float:
    """Frequency [Hz] of the machine on the springs of the ground below its shoes."""
    p = Bulldozer()
    area = 2 * tracked.CONTACT_LENGTH * p.layout.link.shoe.width
    return math.sqrt(stiffness * area / p.total_mass) / (2 * math.pi)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    stiff, pitch = 2e7, Bulldozer().layout.link.pitch
    machines: dict[str, dict[str, Any]] = {
        "rollers fixed": {}, "on ground four times as stiff": {"soil": {"stiffness": stiff}},
        "road arms": {"rollers": "road-arms"},
    }  # fmt: skip
    found = {name: [bounce(v, **settings) for v in SPEEDS] for name, settings in machines.items()}
    print("| speed, m/s |", " | ".join(f"{v:g}" for v in SPEEDS), "|")
    print("| --- |", " | ".join("---" for _ in SPEEDS), "|")
    for name, values in found.items():
        print(f"| {name} |", " | ".join(f"{100 * value:.1f} %" for value in values), "|", flush=True)
    for name, settings in NUMERICS.items():
        print(f"0.8 m/s, {name}: {100 * bounce(0.8, **settings):.2f} %", flush=True)
    for value in (5e6, stiff):
        f = heave_frequency(value)
        print(f"{value:g} N/m^3: heave {f:.2f} Hz; harmonics 1 and 3 at {f * pitch:.2f} and {f * pitch / 3:.2f} m/s")
    if parser.parse_args().write:
        draw(found, pitch, stiff)


def draw(found: dict[str, list[float]], pitch: float, stiff: float) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for (name, values), colour in zip(found.items(), ("C0", "C1", "C2"), strict=True):
        axes.plot(SPEEDS, 100 * np.array(values), "o-", label=name, color=colour)
    for value, harmonic, colour in ((5e6, 1, "C0"), (stiff, 3, "C1")):
        axes.axvline(heave_frequency(value) * pitch / harmonic, color=colour, linestyle=":", linewidth=1)
    axes.set_xlabel("speed [m/s]")
    axes.set_ylabel("ground load, standard deviation\n[% of the weight]")
    axes.set_ylim(0, None)
    axes.legend(title="dotted: first, third harmonic of links at heave frequency")
    figure.savefig(FIGURE, dpi=90)


if __name__ == "__main__":
    main()
