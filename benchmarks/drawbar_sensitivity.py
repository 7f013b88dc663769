"""Drawbar pull of the ExoMars-class rover: `python benchmarks/drawbar_sensitivity.py [--write]`.

First the laws of the soil: the default, those of both papers, and the default with the friction and the z_0 of a paper,
against what Krenn and Hirzinger 2009 show. Then the scenario as it stands, with what the paper does not give changed
one at a time: constants of the soil, centre of mass, wheels, speed and spring. The last row shows what a change does
that should not matter.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from page import FIGURES, asked_to_write, number, publish, table
from PIL import Image

import grouser
from grouser.scenarios import exomars_drawbar as drawbar
from grouser.scenarios.exomars_drawbar import ExoMarsDrawbar

STIFFER = 600.0  # [N/m] the wheels pull more by the papers' laws: with a softer spring slip stays below 0.9
LAW_RUNS = {
    "default": {},
    "friction of eq. 5": {"friction": "mohr-coulomb"},
    "z_0 of eq. 29": {"loose_cover": False},
    "friction of eq. 5, z_0 of eq. 29": {"friction": "mohr-coulomb", "loose_cover": False},
    "`laws=krenn2009`": {"laws": "krenn2009", "stiffness": STIFFER},
    "`laws=krenn2008`": {"laws": "krenn2008", "stiffness": STIFFER},
}
SLIPS = (0.2, 0.5, 0.8)  # at which the pull is given
HITCH = ExoMarsDrawbar().hitch_height
SOIL_RUNS = {
    "as it stands": {},
    "χ = 1": {"compression": 1.0},
    "centre of mass 0.2 m ahead": {"rover.centre_x": 0.2},
    "spring 40 N/m": {"stiffness": 40.0},
    "spring 200 N/m": {"stiffness": 200.0},
    "φ = 25°": {"soil.friction_angle_deg": 25.0},
    "φ = 35°": {"soil.friction_angle_deg": 35.0},
    "hitch 1 mm higher": {"hitch_height": HITCH + 1e-3},
}
PICTURES = {
    "sinkage": "drawbar-sinkage",
    "pull-over-time": "drawbar-pull",
    "pull-over-slip": "drawbar-slip",
    "soil": "drawbar-soil",
}
COLOURS = 128  # of a picture in the docs


def main() -> int:
    write = asked_to_write(__doc__)
    publish({"drawbar-laws": law_table(), "drawbar": soil_table(write)}, write)
    return 0


def pulled(settings: dict, pictures: bool = False) -> tuple[dict, np.ndarray, np.ndarray]:
    """Metrics of a run, its pull [N] and its slip over time; its figures into docs/figures where asked for."""
    with tempfile.TemporaryDirectory() as folder:
        outcome = grouser.run("exomars-drawbar", settings, out=Path(folder) / "out", report=pictures)
        if pictures:
            for name, kept in PICTURES.items():
                image = Image.open(outcome.folder / "figures" / f"{name}.png").convert("RGB")
                image.quantize(COLOURS).save(FIGURES / f"{kept}.png", optimize=True)
        with grouser.Recording(outcome.recording) as recording:
            late = recording.time >= drawbar.PASSED
            pull = drawbar.moving_mean(recording.time, recording["drawbar/pull"])[late]
            return outcome.metrics, pull, recording["drawbar/smooth_slip"][late]


def law_table() -> str:
    """What the paper shows, in words, then one row for each choice of laws."""
    rows = [("Fig. 18, 20", "", "", "rises", "with", "slip", "levels off", "", "front least", "digs in", "")]
    for name, settings in LAW_RUNS.items():
        m, pull, slip = pulled(settings)
        spring = settings.get("stiffness", drawbar.STIFFNESS)
        rows.append((
            name, number(spring, 0), number(m["drawbar_pull_max_N"], 0), *(share(pull, slip, at) for at in SLIPS),
            number(m["drawbar_plateau_slope"], 2), shown(m["drawbar_flatness"]), number(m["front_sinkage_ratio"], 2),
            number(1e3 * m["sinkage_growth_m"], 1), number(m["slip_max"], 2),
        ))  # fmt: skip
    at = (f"at slip {slip:g}" for slip in SLIPS)
    head = ("laws", "spring N/m", "pull N", *at, "slope", "flatness", "front ratio", "growth mm", "largest slip")
    return table(head, rows)


def share(pull: np.ndarray, slip: np.ndarray, at: float) -> str:
    """Pull where slip exceeds a value for good, over the largest one."""
    below = np.flatnonzero(slip < at)
    passed = below[-1] + 1 if len(below) else 0
    return number(pull[passed] / pull.max(), 2) if passed < len(pull) else "–"


def shown(value: float | None) -> str:
    return "–" if value is None else number(value, 2)


def soil_table(write: bool) -> str:
    rows = []
    for name, settings in SOIL_RUNS.items():
        m, _, _ = pulled(settings, write and not settings)
        sunk = [number(1e3 * m[f"{axle}_sinkage_m"], 1) for axle in ("front", "middle", "rear")]
        rows.append((
            name, number(m["drawbar_pull_max_N"], 1), *sunk, number(m["front_sinkage_ratio"], 2),
            number(1e3 * m["sinkage_growth_m"], 1), number(m["slip_max"], 2), number(m["drawbar_plateau_slope"], 2),
            shown(m["drawbar_flatness"]), number(m["energy_J"], 0),
        ))  # fmt: skip
    head = (
        "run", "pull N", "front mm", "middle mm", "rear mm", "front ratio", "growth mm", "largest slip", "slope",
        "flatness", "energy J",
    )  # fmt: skip
    return table(head, rows)


if __name__ == "__main__":
    raise SystemExit(main())
