"""The vehicle against Morrot et al., sections 4 and 5: `python benchmarks/vehicle_bars.py [--write]`."""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from page import FIGURES, number, publish, quiet, table
from PIL import Image

import grouser
from grouser.robots.vehicle_file import FOLDER as VEHICLES
from grouser.scenarios import vivi_acceleration as acceleration

sys.path.insert(0, str(Path(__file__).parents[1]))  # the rig of the friction is that of the tests

SEARCHES: dict[str, dict[str, Any]] = {
    "20 slices, refined": {},
    "2000 slices, refined": {"slices": 2000},
    "20 slices alone, as the paper": {"refine": False},
    "2000 slices alone, as the paper": {"slices": 2000, "refine": False},
}
COURSES: dict[str, tuple[str, dict[str, Any]]] = {
    "ramp": ("vivi-ramp", {}),
    "ramp, 65 µs and 10 kHz": ("vivi-ramp", {"step": 65e-6, "control_period": 1e-4, "duration": 9.0}),
    "waves": ("vivi-sinusoid", {}),
}
FACTORS = {
    "mass": "mass_factor",
    "height of the centre of mass": "height_factor",
    "wheelbase": "wheelbase_factor",
    "stiffness of the suspension": "stiffness_factor",
    "damping of the suspension": "damping_factor",
    "friction": "friction_factor",
    "gear": "gear_factor",
}
OWN = {
    "vivi-ramp": {"angle of the ramp": ("ramp_angle_deg", 26.0), "height of the ramp": ("ramp_height", 1.0)},
    "vivi-sinusoid": {"amplitude": ("amplitude", 0.25), "wavelength": ("wavelength", 10.0)},
}
COLOURS = 64  # of a picture in docs/
ROUNDS, STEPS_TIMED = 40, 50  # of the comparison of costs; few steps, so that some rounds run undisturbed
PULLED, CREPT, JUMPED = 12.0, 7.0, 0.1  # [s], [s], [m] of the comparison of friction
SHARPNESS = (1e5, 1e6, 1e7)  # [s/m] of the continuous form
STIFFER = 10  # springs with which the vehicle hardly pitches


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put tables and figures into docs/")
    choice = parser.parse_args()
    quiet()
    parts = {"vehicle-bars": bars(), "vehicle-jumps": jumps(), "vehicle-courses": courses(choice.write)}
    parts["vehicle-friction"] = friction()
    for name in OWN:
        parts[f"vehicle-ranges-{name}"] = ranges(name)
    publish(parts, choice.write)
    return 0


def run(name: str, settings: dict[str, Any], pictures: dict[str, str] | None = None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        outcome = grouser.run(name, settings, out=Path(folder) / "out", report=bool(pictures))
        for figure, stem in (pictures or {}).items():
            with Image.open(outcome.folder / "figures" / f"{figure}.png") as picture:
                small = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
                small.save(FIGURES / f"{stem}.png", optimize=True)
        print(name, settings, "missed:", ", ".join(outcome.missed) or "nothing", flush=True)
        return outcome.metrics


def bars() -> str:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "stiff.yaml"
        file.write_text(stiff(STIFFER))
        hardly = {f"20 slices alone, springs {STIFFER} times as stiff": {"refine": False, "vehicle": str(file)}}
        cost = costs()
        for name, settings in (SEARCHES | hardly).items():
            m = run("vivi-acceleration", settings)
            errors = [f"{m['front_normal_force_error_rel']:.1e}", f"{m['pitch_error_deg']:.1e}"]
            rows.append([name, *errors, number(max(m["pitch_deg"]), 2), number(cost[name], 1) if name in cost else ""])
    head = ["search", "front normal force, relative", "pitch, deg", "largest pitch, deg", "time of a step"]
    return table(head, rows)


def costs() -> dict[str, float]:
    """Wall time of a step with each search over that with 20 slices alone, the fastest of ROUNDS, taken in turns."""
    sims = {
        name: acceleration.build(acceleration.ViviAcceleration(torques=(5.0,), **settings))
        for name, settings in SEARCHES.items()
    }
    fastest = dict.fromkeys(sims, float("inf"))
    for _ in range(ROUNDS):
        for name, sim in sims.items():
            start = time.perf_counter()
            sim.step(STEPS_TIMED)
            fastest[name] = min(fastest[name], time.perf_counter() - start)
    return {name: value / fastest["20 slices alone, as the paper"] for name, value in fastest.items()}


def stiff(factor: float) -> str:
    """VIVI with springs `factor` times as stiff, damped as before."""
    text = (VEHICLES / "vivi.yaml").read_text()
    for name, power in (("stiffness", 1.0), ("compression", 0.5), ("rebound", 0.5)):
        text = re.sub(rf"(  {name}: )([0-9.]+)", lambda m, p=power: f"{m[1]}{float(m[2]) * factor**p}", text)
    return text


def jumps() -> str:
    m = run("vivi-jump", {})
    distances = ", ".join(number(x, 3) for x in m["landing_distance_m"])
    rows = [["virtual, as the paper", distances, f"{m['landing_distance_error_rel']:.2e}", ""]]
    m = run("vivi-jump", {"ramp": "real"})
    distances, pitch = (
        ", ".join(number(x, d) for x in m[key]) for key, d in (("flight_distance_m", 3), ("flight_pitch_deg", 0))
    )
    rows.append(["real", distances, f"{m['flight_distance_error_rel']:.2e}", pitch])
    return table(["ramp", "distance, m", "worst error, relative", "pitch in flight, deg"], rows)


def friction() -> str:
    """Stick and slip of a mass of 1 kg pulled by 2 N/m at 0.1 m/s, with three forms of LuGre friction."""
    from tests.drive import test_drive as drive

    time_, place, *_ = drive.pulled_mass(step=1e-4, duration=PULLED)
    runs = {"MuJoCo's actuator, step 0.1 ms": (time_, place), "ordinary form": drive.stick_slip(PULLED)}
    runs |= {f"continuous form, k = {k:g} s/m": drive.stick_slip(PULLED, k) for k in SHARPNESS}
    rows = []
    for name, (t, x) in runs.items():
        before = float(np.interp(CREPT, t, x))
        rows.append([name, f"{1e3 * before:.3f}", number(float(t[np.argmax(x > JUMPED)]), 3), number(float(x[-1]), 4)])
    return table(["friction", f"creep until {CREPT:g} s, mm", "jump at, s", f"place after {PULLED:g} s, m"], rows)


def courses(write: bool) -> str:
    rows = []
    for name, (scenario, settings) in COURSES.items():
        shown = {"speed": "vivi-ramp-speed", "power": "vivi-ramp-power"} if write and name == "ramp" else None
        m = run(scenario, settings, shown)
        over = ["no" if at is None else f"at {number(at, 2)} s" for at in m["rolled_over_at_s"]]
        for k, controller in enumerate(("proportional", "CDTA")):
            rows.append([
                name, controller, number(m["time_to_speed_s"][k], 2), number(m["energy_J"][k] / 1e3, 2), over[k],
                number(m["battery_current_max_A"][k], 1),
            ])  # fmt: skip
    return table(["course", "controller", "to 9.5 m/s, s", "energy, kJ", "rolls over", "largest current, A"], rows)


def ranges(name: str) -> str:
    """Every outcome with each parameter a fifth less and a fifth more, one at a time."""
    rows = []
    cases = {word: (key, 1.0) for word, key in FACTORS.items()} | OWN[name]
    for word, (key, value) in cases.items():
        cells = [outcomes(name, run(name, {key: value * share})) for share in (0.8, 1.2)]
        rows.append([word, *(cell for pair in zip(*cells, strict=True) for cell in pair)])
    head = ["sooner", "less energy", "upright", *(["other rolls over"] if name == "vivi-ramp" else [])]
    return table(["parameter", *(f"{what}, {sign}20 %" for what in head for sign in "−+")], rows)


def outcomes(name: str, m: dict[str, Any]) -> list[str]:
    holds = [m["cdta_time_ratio"] < 1, m["cdta_energy_ratio"] < 1, m["cdta_upright"]]
    holds += [m["proportional_rolled_over"]] if name == "vivi-ramp" else []
    return ["yes" if value else "no" for value in holds]


if __name__ == "__main__":
    raise SystemExit(main())
