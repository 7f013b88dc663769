"""Rest, volume, slopes, step size, grid and mound: `python benchmarks/bars.py [--write]`."""

from __future__ import annotations

import math
import tempfile
from typing import Any

import mujoco
import numpy as np
from page import asked_to_write, number, percent, publish, table

import grouser
from grouser.contact.soil import wheel
from grouser.scenarios.wheel_theory import rolling_wheel
from grouser.simulation import on_soil
from grouser.terrain import slope

RADIUS, WIDTH, LOAD = 0.15, 0.1, 185.5  # [m], [m], [N], the defaults of single-wheel
SLOPE_DEG, SETTLED, PARKED = 10.0, 10.0, 60.0  # [deg], [s], [s]
BEHIND = 0.3  # [m] behind the axle, where the soil has come to rest
TILE_ROUNDING = 2.0**-17  # [m] heights in a recording are multiples of it


def parked(soil: str, spacing: float) -> tuple[float, float]:
    """Creep [m] down the slope and into the ground of a locked wheel on 10 degrees, from 10 s to 70 s."""
    spec = mujoco.MjSpec()
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    body = spec.worldbody.add_body(name="wheel", pos=[0, 0, RADIUS / math.cos(math.radians(SLOPE_DEG))])
    for axis in ([1, 0, 0], [0, 0, 1]):
        body.add_joint(type=mujoco.mjtJoint.mjJNT_SLIDE, axis=axis)
    body.mass, body.inertia, body.ipos, body.explicitinertial = LOAD / 9.81, [0.1, 0.1, 0.1], [0, 0, 0], True
    ground = slope(SLOPE_DEG, size=(2.0, 2.0))
    surfaces = {"wheel": wheel(RADIUS, WIDTH)}
    sim = on_soil(spec, soil, surfaces, terrain=ground, spacing=spacing, step=5e-3, place=False)
    sim.step(round(SETTLED / sim.step_size))
    before = sim.data.qpos.copy()
    sim.step(round(PARKED / sim.step_size))
    x, z = sim.data.qpos - before
    angle = math.radians(SLOPE_DEG)
    return abs(x * math.cos(angle) + z * math.sin(angle)), abs(z * math.cos(angle) - x * math.sin(angle))


def rest_table() -> str:
    rows = []
    for soil in grouser.soil_names():
        cells = []
        for spacing in (0.01, 0.005):
            along, into = parked(soil, spacing)
            cells.append(f"{1e6 * along:.3f} / {1e6 * into:.3f}")
        rows.append((soil, *cells))
    return table(("soil", "10 mm grid: along / into, µm", "5 mm grid: along / into, µm"), rows)


def driven(keep=None, **settings: Any) -> dict[str, Any]:
    """Metrics of a single-wheel run, and what `keep` takes from its recording."""
    with tempfile.TemporaryDirectory() as folder:
        run = grouser.run("single-wheel", settings, out=folder, report=False)
        kept = {}
        if keep is not None:
            with grouser.Recording(run.recording) as recording:
                kept = {"kept": keep(recording)}
        return {**run.metrics, **kept}


def steepest(recording: grouser.Recording) -> tuple[float, float]:
    """Greatest slope between free neighbours at the end: well behind the wheel, and anywhere."""
    x, y, heights, _ = recording.surface_at()
    at = float(recording["wheel/travel"][-1])
    under = (np.abs(x[None, :] - at) < RADIUS) & (np.abs(y[:, None]) < WIDTH / 2 + 1e-9)
    left = np.broadcast_to(x[None, :] < at - BEHIND, under.shape)
    return _steepest(heights, left, x[1] - x[0]), _steepest(heights, ~under, x[1] - x[0])


def _steepest(heights: np.ndarray, chosen: np.ndarray, spacing: float) -> float:
    """Between chosen neighbours, along x or y."""
    rise_x = np.abs(np.diff(heights, axis=1))[chosen[:, 1:] & chosen[:, :-1]]
    rise_y = np.abs(np.diff(heights, axis=0))[chosen[1:] & chosen[:-1]]
    return (max(rise_x.max(), rise_y.max()) - TILE_ROUNDING) / spacing


def volume_table() -> str:
    """A 60 s run: 1.5 m at 25 mm/s."""
    rows = []
    for soil in ("dry-sand", "sandy-loam", "lunar-nominal"):
        for slip in (0.0, 0.3, 0.6):
            m = driven(steepest, soil=soil, slip=slip, speed=0.025)
            limit = grouser.soil(soil).slope_limit
            over = (percent(max(kept / limit - 1, 0.0), 2) for kept in m["kept"])
            rows.append((soil, f"{slip:g}", f"{m['volume_error_rel']:.1e}", *over))
    return table(("soil", "slip", "volume error", "slope over tan φ, behind the wheel", "anywhere but below it"), rows)


STEP_CASES = (("dry-sand", 0.3, 0.05), ("dry-sand", 0.3, 0.1), ("sandy-loam", 0.3, 0.1), ("dry-sand", 1.0, 0.1))
STEP_CHANGES = {
    "0.2 ms": {"step": 2e-4},
    "5 ms": {"step": 5e-3},
    "10 ms": {"step": 1e-2},
    "5 ms, 5 mm grid": {"step": 5e-3, "spacing": 5e-3},
}
STEP_BARS, NOISE_BAR = {"5 ms": 0.02, "10 ms": 0.05}, 0.05  # of sinkage and pull, of the load noise


def step_table() -> str:
    """Mean sinkage and pull at slip 0.3 against a 0.2 ms run."""
    rows = []
    for soil, compression, speed in STEP_CASES:
        reference = None
        for what, change in STEP_CHANGES.items():
            m = driven(soil=soil, compression=compression, speed=speed, **change)
            reference = reference or m
            off = [abs(m[k] / reference[k] - 1) for k in ("sinkage_m", "drawbar_pull_N")]
            bar, verdict = STEP_BARS.get(what), ""
            if bar is not None:
                verdict = "met" if max(off) <= bar and m["load_noise_rel"] <= NOISE_BAR else "missed"
            rows.append((
                f"{soil}, {compression:g}, {speed:g} m/s", what, f"{1e3 * m['sinkage_m']:.2f}",
                number(m["drawbar_pull_N"], 2), *(percent(o, 2) for o in off), percent(m["load_noise_rel"], 2), verdict,
            ))  # fmt: skip
    head = ("soil, compression, speed", "step", "sinkage mm", "pull N", "sinkage off", "pull off", "load noise", "bar")
    return table(head, rows)


def mound_table() -> str:
    """A frictionless wheel at slip 0 on dry sand: what the mound adds to the resistance."""
    soil = grouser.soil("dry-sand")
    book = rolling_wheel(soil, radius=RADIUS, width=WIDTH, load=LOAD, slip=0.0, friction=False)
    rows = []
    for compression in (0.0, 0.3, 0.6, 0.9, 0.99, 1.0):
        m = driven(soil="dry-sand", friction="none", slip=0.0, compression=compression, speed=0.1)
        more = -m["drawbar_pull_N"] + book.drawbar_pull
        rows.append(
            (f"{compression:g}", f"{1e3 * m['sinkage_m']:.2f}", number(-m["drawbar_pull_N"], 2), number(more, 2))
        )
    head = ("compression", "sinkage mm", "resistance N", "more than the closed form, N")
    return table(head, rows)


def main() -> int:
    write = asked_to_write(__doc__)
    publish({"rest": rest_table(), "volume": volume_table(), "steps": step_table(), "mound": mound_table()}, write)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
