"""Tables of docs/soil-parameters.md: `python benchmarks/soil_tables.py [--runs] [--write]`.

The built-in soils with their sources, and how much each constant matters for a wheel: by the closed form where it
knows the constant, by runs of `single-wheel` where it does not (`--runs`, minutes).
"""

from __future__ import annotations

import argparse
import tempfile
from typing import Any

from page import ROOT, number, publish, quiet, table

import grouser
from grouser.scenarios.single_wheel import SingleWheel
from grouser.scenarios.wheel_theory import rolling_wheel
from grouser.terrain import Soil, soil, soil_names

PAGE = ROOT / "docs" / "soil-parameters.md"
SOILS = ("dry-sand", "clay", "lunar-nominal", "exomars-test")
MORE = 1.2  # what a constant is multiplied by
CONSTANTS = ("n", "k_c", "k_phi", "cohesion", "friction_angle_deg", "shear_modulus")
SOFTER = 0.2  # what the assumed elastic stiffness is multiplied by: less certain than the others
SMOOTH = 0.4  # friction of a smooth wheel (assumed)
CHANGES: dict[str, dict[str, float]] = {
    "`compression` 0.1": {"compression": 0.1},
    "`compression` 0.6": {"compression": 0.6},
    "`compression` 1": {"compression": 1.0},
    "`damping_time` 0": {"damping_time": 0.0},
    "`damping_time` 2 ms": {"damping_time": 2e-3},
    "`repose_angle_deg` 20": {"repose_angle_deg": 20.0},
}
RUN_SOIL = "dry-sand"


def builtin_soils() -> str:
    """Every constant of every soil, as soils.yaml has it."""
    head = ("soil", "n", "k_c", "k_φ", "c Pa", "φ °", "K mm", "K_e Pa/m", "t_d ms", "χ", "ρ kg/m³")
    rows = []
    for name in soil_names():
        s = soil(name)
        values = (s.n, s.k_c, s.k_phi, s.cohesion, s.friction_angle_deg, 1e3 * s.shear_modulus)
        values += (s.elastic_stiffness, 1e3 * s.damping_time, s.compression, s.density)
        rows.append((f"`{name}`", *(f"{value:.10g}".replace("e+0", "e") for value in values)))
    return table(head, rows)


def sources() -> str:
    """Who says so: fields that share a source stand together."""
    rows = []
    for name in soil_names():
        groups: dict[str, list[str]] = {}
        for field, source in soil(name).sources.items():
            groups.setdefault(source, []).append(f"`{field}`")
        rows += [(f"`{name}`", ", ".join(fields), source) for source, fields in groups.items()]
    return table(("soil", "values", "source"), rows)


def wheel() -> dict[str, Any]:
    """The default wheel of `single-wheel`."""
    s = SingleWheel()
    return {"radius": s.wheel.radius, "width": s.wheel.width, "load": s.load, "slip": s.slip}


def variants() -> dict[str, Any]:
    """What is changed, by how it reads in the table."""

    def scaled(field: str, factor: float) -> Any:
        return lambda s: s.replace(**{field: factor * getattr(s, field)})

    rows = {f"`{field}` + {100 * (MORE - 1):.0f} %": scaled(field, MORE) for field in CONSTANTS}
    rows[f"`elastic_stiffness` × {SOFTER:g}"] = scaled("elastic_stiffness", SOFTER)
    rows[f"`wheel_friction` {SMOOTH:g}"] = lambda s: s.replace(wheel_friction=SMOOTH)
    return rows


def sensitivity() -> str:
    """Sinkage and pull of the closed form: as they are, and what a change of one constant does to them."""

    def state(s: Soil) -> tuple[float, float]:
        found = rolling_wheel(s, **wheel())
        return 1e3 * found.sinkage, found.drawbar_pull

    plain = {name: state(soil(name)) for name in SOILS}
    rows = [("as it is", *(f"{number(z, 1)} mm, {number(pull, 1)} N" for z, pull in plain.values()))]
    for what, changed in variants().items():
        cells = []
        for name, (z, pull) in plain.items():
            new_z, new_pull = state(changed(soil(name)))
            cells.append(f"{signed(100 * (new_z / z - 1), 1)} %, {signed(new_pull - pull, 1)} N")
        rows.append((what, *cells))
    return table(("change", *(f"`{name}`" for name in SOILS)), rows)


def signed(value: float, digits: int) -> str:
    text = number(value, digits)
    return f"+{text}" if value > 0 and text.strip("0.") else text


def by_runs() -> str:
    """What the closed form does not know, from runs of `single-wheel` with its defaults."""

    def measured(**changes: float) -> tuple[str, str, str]:
        with tempfile.TemporaryDirectory() as folder:
            chosen = {"name": RUN_SOIL, **changes}
            metrics = grouser.run("single-wheel", soil=chosen, out=f"{folder}/run", report=False).metrics
        pull, torque = metrics["drawbar_pull_N"], metrics["torque_Nm"]
        return number(1e3 * metrics["sinkage_m"], 1), number(pull, 1), number(torque, 2)

    rows = [("as it is", *measured())]
    rows += [(what, *measured(**changes)) for what, changes in CHANGES.items()]
    return table((f"`{RUN_SOIL}`", "sinkage mm", "pull N", "torque N·m"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/soil-parameters.md")
    parser.add_argument("--runs", action="store_true", help="the table from runs too")
    arguments = parser.parse_args()
    parts = {"builtin-soils": builtin_soils(), "soil-sources": sources(), "soil-sensitivity": sensitivity()}
    if arguments.runs:
        quiet()
        parts["soil-runs"] = by_runs()
    publish(parts, arguments.write, PAGE)


if __name__ == "__main__":
    main()
