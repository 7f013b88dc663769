"""Drawbar pull of the ExoMars-class rover: `python benchmarks/drawbar_sensitivity.py [--write]`.

The scenario exomars-drawbar as it stands, and with friction angle, cohesion and shear modulus of the soil changed one
at a time: Krenn and Hirzinger 2009, Fig. 17 does not give them. The last row shows how much a change does that should
not matter.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from page import FIGURES, asked_to_write, number, percent, publish, table
from PIL import Image

import grouser
from grouser.scenarios.exomars_drawbar import ExoMarsDrawbar

HITCH = ExoMarsDrawbar().hitch_height
SOIL_RUNS = {
    "as it stands": {},
    "φ = 25°": {"soil.friction_angle_deg": 25.0},
    "φ = 35°": {"soil.friction_angle_deg": 35.0},
    "c = 200 Pa": {"soil.cohesion": 200.0},
    "c = 1000 Pa": {"soil.cohesion": 1000.0},
    "K = 10 mm": {"soil.shear_modulus": 0.010},
    "K = 25 mm": {"soil.shear_modulus": 0.025},
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
    publish({"drawbar": soil_table(write)}, write)
    return 0


def pulled(settings: dict, pictures: bool = False) -> dict:
    """Metrics of a run; its figures into docs/figures where asked for."""
    with tempfile.TemporaryDirectory() as folder:
        outcome = grouser.run("exomars-drawbar", settings, out=Path(folder) / "out", report=pictures)
        if pictures:
            for name, kept in PICTURES.items():
                image = Image.open(outcome.folder / "figures" / f"{name}.png").convert("RGB")
                image.quantize(COLOURS).save(FIGURES / f"{kept}.png", optimize=True)
        return outcome.metrics


def soil_table(write: bool) -> str:
    rows = []
    for name, settings in SOIL_RUNS.items():
        m = pulled(settings, write and not settings)
        sunk = [number(1e3 * m[f"{axle}_sinkage_m"], 1) for axle in ("front", "middle", "rear")]
        rows.append((
            name, number(m["drawbar_pull_max_N"], 1), *sunk, number(m["front_to_rear_sinkage_ratio"], 2),
            number(m["slip_final"], 2), number(m["drawbar_plateau_slope"], 2), percent(m["drawbar_drop_max_rel"], 1),
            number(m["energy_J"], 0),
        ))  # fmt: skip
    head = ("soil", "pull N", "front mm", "middle mm", "rear mm", "front/rear", "slip", "slope", "drop", "energy J")
    return table(head, rows)


if __name__ == "__main__":
    raise SystemExit(main())
