"""Tracks against balances and closed forms: `python benchmarks/track_tables.py [--write]`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from page import MINUS, asked_to_write, publish, table

import grouser

RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "rig": ("track-rig", {}),
    "rig, 0.3 m/s": ("track-rig", {"speed": 0.3, "time": 9.0}),
    "rig, 3 m/s": ("track-rig", {"speed": 3.0}),
    "rig, reverse": ("track-rig", {"speed": -1.0}),
    "rig, reverse, 3 m/s": ("track-rig", {"speed": -3.0}),
    "rig, triangular": ("track-rig", {"layout": "triangular"}),
    "rig, explicit": ("track-rig", {"scheme": "explicit", "substeps": 16}),
    "ditch": ("bulldozer-ditch", {}),
    "ditch, oblique 30°": ("bulldozer-ditch", {"oblique_deg": 30.0}),
    "turn": ("bulldozer-turn", {}),
    "drawbar": ("bulldozer-drawbar", {}),
}
BALANCES = {
    "ground_load_error_rel": "ground load", "impulse_error_rel": "impulse", "pair_wrench_sum_rel": "pairs",
    "tension_idle_error_rel": "idle tension", "speed_ratio": "speed ratio",
    "speed_ratio_loaded": "pitch under load", "torque_error_rel": "torque",
    "thrown_links": "thrown", "tension_max_N": "greatest tension N",
}  # fmt: skip


def main() -> int:
    write = asked_to_write(__doc__)
    found: dict[str, dict[str, Any]] = {}
    for name, (scenario, settings) in RUNS.items():
        with tempfile.TemporaryDirectory() as folder:
            found[name] = grouser.run(scenario, settings, out=Path(folder) / "out", report=False).metrics
        print(f"{name}: done", flush=True)
    rows = [
        [
            name,
            *(worded(values.get(metric), exact=metric in ("speed_ratio", "speed_ratio_loaded")) for metric in BALANCES),
        ]
        for name, values in found.items()
    ]
    turn = found["turn"]
    turns = table(
        ["radius driven m", *(worded(r) for r in turn["radii_m"])],
        [["turning moment kN·m", *(f"{m / 1e3:.1f}" for m in turn["turning_moments_Nm"])]],
    )
    publish({"track-balances": table(["run", *BALANCES.values()], rows), "track-turn": turns}, write)
    return 0


def worded(value: float | None, exact: bool = False) -> str:
    if value is None:
        return ""
    return (f"{value:.4f}" if exact else f"{value:.3g}").replace("-", MINUS)


if __name__ == "__main__":
    raise SystemExit(main())
