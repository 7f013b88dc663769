"""Results of a docking run from its recording: clamping, peaks of each pair, elements, lateral loads, bending."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from grouser.control.docking import Phase
from grouser.recording import Recording
from grouser.robots import olev, olev_bending
from grouser.robots.olev import Olev
from grouser.scenarios.bending import damping_ratio
from grouser.scenarios.docking_channels import PAIRS

LAST = 10.0  # [s] over which the safety spring's force is averaged
AT_LOCK = 0.5  # [s] before the lock over which the locking force is averaged
SETTLING = 2.0  # [s] after the lock, in which tool and crown settle
SWING = 20.0  # [s] at the start and at the end of retraction over which the swing is compared

Entered = Mapping[Phase, float]  # [s] when each phase began, NaN if it did not


def _end(time: float) -> float:
    return time if math.isfinite(time) else math.inf


def clamping(recording: Recording, entered: Entered) -> dict[str, float]:
    """Contact before the lock, locking force and force of the safety spring [N]."""
    time, axial, peak = recording.time, recording["crown/axial"], recording["nozzle/peak_force"]
    before, locked = time < _end(entered[Phase.LOCKING]), entered[Phase.CHECK]
    closing = (time >= locked - AT_LOCK) & (time <= locked)
    total = recording["crown/force"][before]
    return {
        "contact_before_lock_max_N": float(peak[before].max()),
        "contact_before_lock_N": float(np.linalg.norm(total, axis=1).mean()),
        "locking_force_N": float(axial[closing, 1:].sum(axis=1).mean()) if closing.any() else math.nan,
        "safety_spring_force_N": float(axial[time > time[-1] - LAST].sum(axis=1).mean()),
    }


def peaks(recording: Recording) -> dict[str, float]:
    """Largest penetration [m], force [N] and pressure [Pa] of each pair, over all steps; brackets together."""
    found: dict[str, float] = {}
    for what, unit in (("penetration", "m"), ("force", "max_N"), ("pressure", "max_Pa")):
        inside, outside = (recording[f"{module}/peak_{what}"][-1] for module in ("nozzle", "brackets"))
        found |= {f"{what}_{pair}_{unit}": float(inside[k]) for k, pair in enumerate(PAIRS)}
        found[f"{what}_brackets_{unit}"] = float(outside.max())
    found["penetration_max_m"] = max(found[f"penetration_{pair}_m"] for pair in PAIRS)
    found["client_force_max_N"] = max(value for name, value in found.items() if name.startswith("force_"))
    return found


def elements_in_contact(recording: Recording, entered: Entered) -> dict[str, float]:
    """Jumps of penetrations, and polygons of the crown over those of the tool, from the lock to touchdown."""
    time = recording.time
    held = (time > entered[Phase.CHECK] + SETTLING) & (time < _end(entered[Phase.TOUCHDOWN]))
    depth = recording["nozzle/penetration"][held, :2].astype(float)
    polygons = recording["nozzle/polygons"][held, :2].astype(float)
    if len(depth) < 2 or depth.min() <= 0:
        return {"penetration_jump_max_rel": math.nan, "polygons_crown_over_tool": math.nan}
    jumps = np.abs(np.diff(depth, axis=0)) / depth[:-1]
    tool, crown = polygons.mean(axis=0)
    return {"penetration_jump_max_rel": float(jumps.max()), "polygons_crown_over_tool": float(crown / tool)}


def lateral_loads(recording: Recording, entered: Entered) -> dict[str, float]:
    """Lateral force [N] and torque [N m] at touchdown, and the swing left after retraction over that at its start."""
    time, start, touched = recording.time, entered[Phase.RETRACTION], entered[Phase.TOUCHDOWN]
    force, torque = (recording[f"crown/{name}"][:, :2].astype(float) for name in ("force", "torque"))
    down = (time >= touched) & (time <= _end(entered[Phase.MATED]))
    first, last = ((time >= at) & (time < at + SWING) for at in (start, touched - SWING))
    found = {"swing_left": math.nan, "touchdown_lateral_force_N": math.nan, "touchdown_lateral_torque_Nm": math.nan}
    if down.any():
        found["touchdown_lateral_force_N"] = float(np.hypot(*force[down].T).max())
        found["touchdown_lateral_torque_Nm"] = float(np.hypot(*torque[down].T).max())
        found["swing_left"] = float(np.ptp(torque[last], axis=0).max() / np.ptp(torque[first], axis=0).max())
    return found


def bending(p: Olev, recording: Recording, entered: Entered) -> dict[str, float]:
    """Damping ratio and frequency [rad/s] of the lowest bending mode, from the time between lock and retraction."""
    time = recording.time
    still = (time > entered[Phase.CHECK] + SETTLING) & (time < _end(entered[Phase.RETRACTION]))
    names = [f"joint/position[{name}]" for name in olev.BENDS[::2]]  # about x: slow because of the client's wings
    ratio, frequency = damping_ratio(
        time[still], np.stack([recording[name][still] for name in names], axis=1),
        olev_bending.frequencies(p, p.boom_extended)[0],
    )  # fmt: skip
    return {"bending_damping_ratio": ratio, "bending_frequency_rad_s": frequency}
