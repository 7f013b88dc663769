"""The wheel and the plate against their closed forms: `python benchmarks/oracles.py [--write]`.

Every wheel runs free in the engine: the scenario single-wheel with its defaults (speed 0.05 m/s, step 5 ms, 1.5 m
of travel, the last metre averaged), compaction only (compression = 1). Errors of the pull are over
max(|pull|, frictionless resistance), those of the torque over the torque.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass

from page import asked_to_write, number, percent, publish, table

import grouser
from grouser.scenarios.wheel_theory import rolling_wheel

RADIUS, WIDTH, LOAD = 0.15, 0.1, 185.5  # [m], [m], [N], the defaults of single-wheel
SOILS = ("dry-sand", "lunar-nominal", "sandy-loam", "exomars-test")
NO_MODULUS = 1e-6  # [m] stands for K -> 0
COLUMNS = {
    "frictionless": {"friction": "none", "slip": 0.0},
    "K → 0": {"slip": 0.3, "soil.shear_modulus": NO_MODULUS},
    "slip 0.1": {"slip": 0.1},
    "slip 0.3": {"slip": 0.3},
    "slip 0.6": {"slip": 0.6},
}
GRIDS = {0.010: 0.02, 0.005: 0.01}  # spacing [m] -> bar
PLATES = ((0.2, 0.1), (0.1, 0.1), (0.2, 0.05))  # [m]; the last one has two edges on nodes and two between


@dataclass(frozen=True)
class Case:
    """One wheel, its measured values and errors."""

    soil: str
    column: str
    spacing: float
    erosion: bool
    values: tuple[float, float, float]  # sinkage [m], pull [N], torque [N m]
    expected: tuple[float, float, float]
    errors: tuple[float, float, float]

    @property
    def worst(self) -> float:
        return max(self.errors)


def wheel_case(soil: str, column: str, spacing: float, erosion: bool) -> Case:
    change = COLUMNS[column]
    settings = {"soil": soil, "compression": 1.0, "spacing": spacing, "erosion": erosion, **change}
    material = grouser.soil(soil)
    if "soil.shear_modulus" in change:
        material = material.replace(shear_modulus=change["soil.shear_modulus"])
    wheel = {"radius": RADIUS, "width": WIDTH, "load": LOAD, "slip": change["slip"]}
    theory = rolling_wheel(material, **wheel, friction="friction" not in change)
    resistance = -rolling_wheel(material, **wheel, friction=False).drawbar_pull
    with tempfile.TemporaryDirectory() as folder:
        m = grouser.run("single-wheel", settings, out=folder, report=False).metrics
    values = (m["sinkage_m"], m["drawbar_pull_N"], m["torque_Nm"])
    expected = (theory.sinkage, theory.drawbar_pull, theory.torque)
    scales = (theory.sinkage, max(abs(theory.drawbar_pull), resistance), theory.torque or resistance * RADIUS)
    errors = tuple(abs(v - e) / s for v, e, s in zip(values, expected, scales, strict=True))
    return Case(soil, column, spacing, erosion, values, expected, errors)


def wheel_tables(cases: list[Case]) -> tuple[str, str]:
    rows = []
    for c in cases:
        if not c.erosion:
            continue
        off = next(o for o in cases if (o.soil, o.column, o.spacing) == (c.soil, c.column, c.spacing) and not o.erosion)
        (z, pull, torque), (z0, pull0, torque0) = c.values, c.expected
        rows.append((
            c.soil, c.column, f"{1e3 * c.spacing:.0f} mm",
            f"{1e3 * z:.2f} ({1e3 * z0:.2f})", f"{number(pull, 1)} ({number(pull0, 1)})",
            f"{number(torque, 2)} ({number(torque0, 2)})",
            " / ".join(number(100 * e, 1) for e in c.errors), " / ".join(number(100 * e, 1) for e in off.errors),
        ))  # fmt: skip
    head = (
        "soil", "column", "grid", "sinkage mm", "pull N", "torque N·m",
        "errors %, erosion on", "errors %, erosion off",
    )  # fmt: skip
    summary = []
    for spacing, bar in GRIDS.items():
        for erosion in (True, False):
            chosen = [c for c in cases if c.spacing == spacing and c.erosion == erosion]
            beyond = [f"{c.soil}, {c.column}" for c in chosen if c.worst > bar]
            worst = [percent(max(c.errors[k] for c in chosen), 2) for k in range(3)]
            summary.append((
                f"{1e3 * spacing:.0f} mm", "on" if erosion else "off", *worst, percent(bar, 0),
                "; ".join(beyond) or "none",
            ))  # fmt: skip
    heads = ("grid", "erosion", "worst sinkage", "worst pull", "worst torque", "bar", "beyond the bar")
    return table(heads, summary), table(head, rows)


def plate_table() -> tuple[str, list[str]]:
    rows, missed = [], []
    for soil in SOILS:
        for length, width in PLATES:
            with tempfile.TemporaryDirectory() as folder:
                run = grouser.run(
                    "plate-sinkage", soil=soil, plate={"length": length, "width": width}, out=folder, report=False
                )
            m = run.metrics
            n = grouser.soil(soil).n
            rows.append((
                soil, f"{1e3 * length:.0f} × {1e3 * width:.0f} mm", percent(m["force_error_rel"], 3),
                f"{m['pressure_exponent']:.4f} ({n:g})", f"{m['volume_error_rel']:.1e}",
            ))  # fmt: skip
            missed += [f"{soil} {name}" for name in run.missed]
    head = ("soil", "plate", "worst force error", "exponent (expected)", "volume error")
    return table(head, rows), missed


def main() -> int:
    write = asked_to_write(__doc__)
    cases = [
        wheel_case(soil, column, spacing, erosion)
        for soil in SOILS
        for column in COLUMNS
        if soil != "exomars-test" or column == "frictionless"  # its friction is not given in the paper
        for spacing in GRIDS
        for erosion in (True, False)
    ]
    summary, full = wheel_tables(cases)
    plates, missed = plate_table()
    publish({"oracle-summary": summary, "oracles": full, "plate": plates}, write)
    return int(bool(missed) or any(c.worst > GRIDS[c.spacing] for c in cases))


if __name__ == "__main__":
    raise SystemExit(main())
