"""Tables on docking in docs/validation.md and the picture in docs/docking.md: `python benchmarks/docking.py NAME ...`.

elements: contact elements of half and twice the side. layer: thickness and stiffness of the elastic layer. impact: the
bolt in the throat at several stiffnesses. lateral: what makes the lateral force at touchdown large. speed: CPU time.
picture: both satellites; needs MUJOCO_GL=egl or osmesa.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from contact_figures import NEAR
from page import FIGURES, percent, quiet, table

import grouser
from grouser.robots.olev import Olev
from grouser.robots.olev_contact import Discretisation
from grouser.scenarios.docking_olev import STEP, build
from grouser.scenarios.settings import from_python

SIZE = (480, 900)  # pixels of the picture: height, width
OUT = FIGURES / "docking-satellites.png"
LOCKED = 16.0  # [s] from `NEAR` until the boom is being retracted
THROUGH = 35.0  # [s] from the default start until the bolt is through the throat
SHORT = {**NEAR, "boom_length": 0.51, "client_z": -1.6}  # the client is close to the brackets: retraction over 0.1 m
DOCKED = 97.0  # [s] until such a docking is mated, and 10 s more
MACHINE, FINE = Olev(), Discretisation()
STIFFNESS = "machine.contact_stiffness"
SECTORS, CHORD, PASSES = "contact.sectors", "contact.chord_error", "contact.border_passes"
BEFORE, AFTER = 29.5, 31.5  # [s] from which to which the bolt meets the throat
SEATED, BATCH, BATCHES = 14.0, 250, 40  # [s] when the lock holds; steps and number of batches that are timed


def metrics(settings: dict[str, Any], duration: float, initial: dict[str, float] | None = None) -> dict[str, Any]:
    """Metrics of one run; those that have no value are NaN."""
    start: dict[str, Any] = {"initial": initial} if initial else {}
    with TemporaryDirectory() as folder:
        done = grouser.run("docking-olev", settings, time=duration, **start, out=Path(folder) / "run", report=False)
        found = {name: entry["value"] for name, entry in done.summary["metrics"].items()}
        with grouser.Recording(done.folder / "recording.h5") as recording:
            found["seat_tilt_stiffness"] = seat_tilt_stiffness(recording, found)
    return {name: np.nan if value is None else value for name, value in found.items()}


def seat_tilt_stiffness(recording: grouser.Recording, found: dict[str, Any]) -> float | None:
    """Change of lateral torque over that of the angle of tool and nozzle [N m/rad], from before to after touchdown."""
    if found["touchdown_end_s"] is None:
        return None
    moments = []
    for at in (found["touchdown_start_s"] - 1.0, found["touchdown_end_s"] + 2.0):
        near = np.flatnonzero(np.abs(recording.time - at) < 0.5)
        axes = [_axis(recording, "client", near, MACHINE.nozzle_rotation), _axis(recording, "tool", near, np.eye(3))]
        moments.append((axes[0] - axes[1], recording["crown/torque"][near, :2].mean(axis=0)))
    angle, torque = (np.linalg.norm(after - before) for before, after in zip(*moments, strict=True))
    return float(torque / angle)


def _axis(recording: grouser.Recording, body: str, frames: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Mean direction (2,), in the servicer's x and y, of the third axis of `turn` on a body."""
    from scipy.spatial.transform import Rotation

    quats = (recording[f"body/pose[{name}]"].reshape(len(recording), -1)[frames, -4:] for name in ("servicer", body))
    servicer, own = (Rotation.from_quat(quat) for quat in quats)
    return (servicer.inv() * own).apply(turn[:, 2])[:, :2].mean(axis=0)


def elements() -> str:
    """Penetrations and polygons with other elements, until retraction has begun; the bolt's from the default start."""
    cases = {
        f"{FINE.sectors}, {1e6 * FINE.chord_error:g} µm, {FINE.border_passes} (default)": {},
        "half the side: 40, 1.25 µm, 3": {SECTORS: 40, CHORD: 1.25e-6, PASSES: 3},
        "twice: 10, 20 µm, 1": {SECTORS: 10, CHORD: 2e-5, PASSES: 1},
    }
    rows, first = [], None
    for name, given in cases.items():
        m = metrics(given, LOCKED, NEAR)
        m["penetration_bolt_m"] = metrics(given, THROUGH)["penetration_bolt_m"]
        first = first or m
        depths = [
            f"{1e3 * m[key]:.4f} mm ({percent(m[key] / first[key] - 1)})"
            for key in (f"penetration_{pair}_m" for pair in ("tool", "crown", "bolt"))
        ]
        rows.append((name, *depths, percent(m["penetration_jump_max_rel"]), f"{m['polygons_crown_over_tool']:.2f}"))
    return table(
        ("sectors, chord error, passes", "tool", "crown", "bolt", "largest jump", "polygons, crown over tool"), rows
    )


def layer() -> str:
    """Times and forces with layers of other thickness and stiffness, in a short docking."""
    cases = {
        "default": {},
        "half as thick": {"contact.layer": FINE.layer / 2, "contact.pad_layer": FINE.pad_layer / 2},
        "twice as thick": {"contact.layer": FINE.layer * 2, "contact.pad_layer": FINE.pad_layer * 2},
        "half as stiff": {STIFFNESS: MACHINE.contact_stiffness / 2},
        "twice as stiff, step 1 ms": {STIFFNESS: MACHINE.contact_stiffness * 2, "step": 0.001},
    }
    return table(LAYER_HEAD, (layer_row(name, metrics(given, DOCKED, SHORT)) for name, given in cases.items()))


LAYER_HEAD = (
    "layer", "locked", "touchdown", "mated", "locking, spring", "bracket", "crown", "tool", "lateral torque",
    "tilt of the seat", "crown, tool depth",
)  # fmt: skip


def layer_row(name: str, m: dict[str, Any]) -> Sequence[str]:
    return (
        name, f"{m['lock_end_s']:.2f} s", f"{m['touchdown_start_s']:.2f} to {m['touchdown_end_s']:.2f} s",
        f"{m['mated_s']:.2f} s", f"{m['locking_force_N']:.1f}, {m['safety_spring_force_N']:.1f} N",
        f"{m['force_brackets_max_N']:.1f} N", f"{m['force_crown_max_N']:.1f} N", f"{m['force_tool_max_N']:.1f} N",
        f"{m['touchdown_lateral_torque_Nm']:.2f} N m", f"{m['seat_tilt_stiffness']:.0f} N m/rad",
        f"{1e3 * m['penetration_crown_m']:.2f}, {1e3 * m['penetration_tool_m']:.2f} mm",
    )  # fmt: skip


def impact() -> str:
    """The bolt meets the throat, from one state in which nothing touches yet, at several stiffnesses."""

    def docking(share: float) -> Any:
        machine = {"contact_stiffness": share * MACHINE.contact_stiffness}
        return build(from_python("docking-olev", {"machine": machine}).settings)  # type: ignore[arg-type]

    start, rows = docking(1.0), []
    start.step(round(BEFORE / STEP))
    saved, last = start.checkpoint(), None
    for share in (0.25, 0.5, 1.0):
        sim = docking(share)
        sim.restore(saved)
        channel = next(c for c in sim.modules[0].channels() if c.name == "nozzle/force")
        force = np.zeros((round((AFTER - BEFORE) / STEP), 3))
        for k in range(len(force)):
            sim.step(1)
            force[k] = channel.read()[0, 2]
        size = np.linalg.norm(force, axis=1)
        peak, impulse = size.max(), STEP * np.linalg.norm(force.sum(axis=0))
        ratio = "" if last is None else f"{peak / last:.3f}"
        rows.append((f"{share:g}", f"{peak:.2f} N", ratio, f"{impulse:.3f} N s"))
        last = peak
    return table(
        ("stiffness, of the default", "peak of the bolt", "over the row before", "impulse, both impacts"), rows
    )


def lateral() -> str:
    """Lateral loads at touchdown of a short docking, at other misalignments and rates."""
    cases: dict[str, dict[str, float]] = {
        "default: nozzle tilted by 0.4°, touchdown at 2 mm/s": {},
        "`machine.nozzle_tilt_deg=1`": {"machine.nozzle_tilt_deg": 1.0},
        "`machine.nozzle_tilt_deg=2`": {"machine.nozzle_tilt_deg": 2.0},
        "`plan.touchdown_rate=0.006`": {"plan.touchdown_rate": 0.006},
        "`plan.touchdown_rate=0.014`": {"plan.touchdown_rate": 0.014},
    }
    return table(LATERAL_HEAD, (lateral_row(name, metrics(given, DOCKED, SHORT)) for name, given in cases.items()))


LATERAL_HEAD = ("setting", "lateral force", "lateral torque", "crown", "deepest in the nozzle", "ends in")


def lateral_row(name: str, m: dict[str, Any]) -> Sequence[str]:
    return (
        name, f"{m['touchdown_lateral_force_N']:.1f} N", f"{m['touchdown_lateral_torque_Nm']:.1f} N m",
        f"{m['force_crown_max_N']:.0f} N", f"{1e3 * m['penetration_max_m']:.2f} mm",
        str(m["phase_end"]) if m["abort_reason"] == "none" else f"{m['phase_end']} ({m['abort_reason']})",
    )  # fmt: skip


def speed() -> str:
    """CPU time of a step while the lock holds: best and median of batches, on a machine that others use too."""
    sim = build(from_python("docking-olev", {"initial": NEAR}).settings)  # type: ignore[arg-type]
    sim.step(round(SEATED / STEP))
    taken = np.zeros(BATCHES)
    for k in range(BATCHES):
        begin = time.process_time()
        sim.step(BATCH)
        taken[k] = (time.process_time() - begin) / BATCH
    return table(
        ("", "CPU time of a step", "times real time"),
        [(name, f"{1e6 * t:.0f} µs", f"{STEP / t:.1f}") for name, t in
         (("best batch", taken.min()), ("median", float(np.median(taken))))],
    )  # fmt: skip


def picture() -> str:
    """Servicer below with its boom out, client above, as a run begins."""
    import mujoco
    from PIL import Image

    from grouser.robots import olev

    spec = olev.build()
    spec.visual.global_.offheight, spec.visual.global_.offwidth = SIZE
    spec.visual.headlight.ambient = [0.35, 0.35, 0.35]
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    for bus in ("servicer", "client"):
        for wing in olev.WINGS:
            data.joint(f"{bus}_turn_{wing}").qpos[0] = 1.1
    mujoco.mj_forward(model, data)
    camera = mujoco.MjvCamera()
    camera.lookat[:] = [0.0, 0.0, 2.2]
    camera.distance, camera.azimuth, camera.elevation = 9.5, 160.0, 25.0
    with mujoco.Renderer(model, *SIZE) as renderer:
        renderer.update_scene(data, camera)
        Image.fromarray(renderer.render()).quantize(96).save(OUT, optimize=True)
    return f"written: {OUT}"


TABLES: dict[str, Callable[[], str]] = {
    "elements": elements, "layer": layer, "impact": impact, "lateral": lateral, "speed": speed, "picture": picture,
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=TABLES)
    names = parser.parse_args().names
    quiet()
    for name in names:
        print(f"{TABLES[name]()}\n", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
