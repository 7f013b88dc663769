"""Shared by the scenarios with tracks: declarations and computation of metrics, figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from grouser.recording import Recording
from grouser.scenarios.scenario import metric
from grouser.track.observation import STRAIGHT

FLANGE_PLAY = 0.02  # [m] lateral distance beyond the play of the rails at which a link counts as thrown
RAIL_PLAY = 0.012  # [m] play of the rails between collar and flanges, to either side
ENGAGED = 0.01  # [m] a bushing up to this far outside the pitch circle counts as seated
LOADED = 0.05  # fraction of the largest tooth load; a tooth with less does not count as loaded


def give_inertia(body, mass: float, size, centre=(0.0, 0.0, 0.0)) -> None:
    """Give a body the inertia of a solid box of `size` [m] around `centre`."""
    x, y, z = size
    body.mass, body.explicitinertial, body.ipos = mass, True, centre
    body.inertia = [mass * (y * y + z * z) / 12, mass * (x * x + z * z) / 12, mass * (x * x + y * y) / 12]


# name: definition, expected value, tolerance and reason for the expectation
DECLARED: dict[str, tuple[str, float, dict[str, float], str]] = {
    "ground_load_error_rel": (
        "force of the ground at rest, less the inertial force, over the weight, less 1", 0.0, {"abs": 1e-4}, "weight",
    ),
    "speed_ratio": (
        "chain speed relative to the frame over teeth x pitch x sprocket speed / (2 pi)",
        1.0, {"abs": 0.003}, "pitch polygon",
    ),
    "speed_ratio_loaded": (
        "the same with the pitch stretched by the tension", 1.0, {"abs": 0.003}, "pitch polygon",
    ),
    "tension_idle_error_rel": (
        "tension at the idler at rest over half the recoil force, less 1", 0.0, {"abs": 0.03}, "balance of the idler",
    ),
    "torque_error_rel": (
        "(tension before - after the sprocket) x radius + weight on it, over torque, less 1",
        0.0, {"abs": 0.05}, "balance of the sprocket",
    ),
    "pair_wrench_sum_rel": (
        "sum of action and reaction between links and wheels, over their magnitude; largest value",
        0.0, {"abs": 1e-12}, "action and reaction",
    ),
    "impulse_error_rel": (
        "momentum gained by {of} less the impulse of the loads, over weight x "
        "time", 0.0, {"abs": 1e-3}, "balance of momentum",
    ),
    "thrown_links": (
        "links whose rails left their roller line by more than the flange", 0, {"abs": 0}, "the track stays on",
    ),
}  # fmt: skip


def track_metric(name: str, known: bool = True, **words: str) -> dict[str, Any]:
    """Declare a metric of tracks, with its expectation if `known`. `words` are inserted into its definition."""
    definition, expected, tolerance, source = DECLARED[name]
    definition = definition.format(**words)
    return metric(name, "1", definition, expected, tolerance, source) if known else metric(name, "1", definition)


def measure_speed_ratio(
    recording: Recording, track: str, frames, pitch: float, teeth: int, per_pitch: int
) -> float | None:
    speed = recording[f"track/{track}/chain_speed"][frames]
    wheel_speed = recording[f"track/{track}/wheel_spin[sprocket]"][frames]
    if not len(wheel_speed) or abs(wheel_speed.mean()) < 1e-6:
        return None
    return float(abs(speed.mean()) / abs(teeth / per_pitch * pitch * wheel_speed.mean() / (2 * math.pi)))


def measure_stretch(recording: Recording, track: str, frames, pitch: float) -> float:
    """Mean stretch / pitch of links on straight runs. From bushing to bushing they are longer by T / K."""
    pose = recording[f"track/{track}/pose"][frames]
    ahead = _ahead(pose)
    bushing = pose[..., :3] - pitch / 2 * ahead
    step = np.linalg.norm(np.roll(bushing, -1, axis=1) - bushing, axis=-1)
    straight = (ahead * np.roll(ahead, -1, axis=1)).sum(-1) > math.cos(STRAIGHT)
    straight &= np.roll(straight, 1, axis=1)
    return float(step[straight].mean() / pitch - 1) if straight.any() else math.nan


def measure_tension_idle(recording: Recording, track: str, frames, recoil) -> float:
    """Mean tension where the chain runs on to and off the idler, relative to half the recoil force, minus 1.

    Taken at the pins nearest behind the idler's axle, above and below it.
    """
    errors = []
    for k in np.flatnonzero(frames):
        pose, tension = (recording.read(f"track/{track}/{name}", slice(k, k + 1))[0] for name in ("pose", "tension"))
        axle = recording.read(f"track/{track}/wheel_place[idler]", slice(k, k + 1))[0]
        both = 0.0
        for side in (1, -1):
            behind = np.flatnonzero((side * (pose[:, 2] - axle[2]) > 0) & (pose[:, 0] < axle[0]))
            both += tension[behind[pose[behind, 0].argmax()]]
        errors.append(both / recoil[k] - 1)
    return float(np.mean(errors)) if errors else math.nan


def mean_ground_load(recording: Recording, tracks: Sequence[str], frames, links_weight: float, machine) -> float:
    """Mean vertical force [N] of the ground between the first and last frame, without the part that accelerates bodies.

    Computed from the impulse on the links. `machine` [N s]: vertical momentum of the engine's bodies in each frame.
    """
    at = np.flatnonzero(frames)
    if len(at) < 2:
        return math.nan
    ends = at[[0, -1]]
    span = np.diff(recording.time[ends])[0]
    gained = sum(np.diff(recording[f"track/{track}/impulse"][ends, 2])[0] for track in tracks)
    kept = (
        sum(np.diff(recording[f"track/{track}/momentum"][ends, 2])[0] for track in tracks) + np.diff(machine[ends])[0]
    )
    return float((gained - kept) / span + links_weight)


def measure_thrown(recording: Recording, tracks: Sequence[str]) -> int:
    limit = RAIL_PLAY + FLANGE_PLAY
    return sum(int((np.abs(recording[f"track/{track}/lateral"]) > limit).any(axis=0).sum()) for track in tracks)


def measure_decay(recording: Recording, track: str, frames) -> float | None:
    """Smallest / largest load of the loaded teeth, mean over frames."""
    load = recording[f"track/{track}/tooth_load"][frames]
    ratios = []
    for row in load:
        loaded = row[row > LOADED * row.max()] if row.max() > 0 else row[:0]
        if len(loaded) > 1:
            ratios.append(loaded.min() / loaded.max())
    return float(np.mean(ratios)) if ratios else None


def measure_torque(
    recording: Recording, track: str, frames, pitch: float, radius: float, weight: float
) -> float | None:  # fmt: skip
    """Relative error of the torque balance of the sprocket, with means over frames.

    ((tension before - tension after) x radius + moment of the weight of the links on the sprocket) / torque - 1. Links
    are on the sprocket if their bushings lie inside the pitch circle (with a margin) or load a tooth. A slack chain, as
    in reverse, leaves the teeth and meets them again, so there may be several such groups. `weight` [N] of a link.
    """
    pose, tension, load = (recording[f"track/{track}/{name}"][frames] for name in ("pose", "tension", "tooth_load"))
    torque = recording[f"track/{track}/wheel_torque[sprocket]"][frames]
    if not len(torque) or torque.mean() == 0:
        return None
    axle = recording[f"track/{track}/wheel_place[sprocket]"][frames][:, None]
    bushing = (pose[..., :3] - pitch / 2 * _ahead(pose) - axle)[..., [0, 2]]
    on = (np.linalg.norm(bushing, axis=-1) < radius + ENGAGED) | (load > 0)
    before = (np.roll(tension, 1, axis=1) * (on & ~np.roll(on, 1, axis=1))).sum(axis=1)
    after = (tension * (on & ~np.roll(on, -1, axis=1))).sum(axis=1)
    lifted = weight * ((pose - axle[..., :1])[..., 0] * on).sum(axis=1)
    return float(((before - after) * radius + lifted).mean() / torque.mean() - 1)


def _ahead(pose: np.ndarray) -> np.ndarray:
    """x axes of links, (..., 3), from poses (..., 7)."""
    x, y, z, w = np.moveaxis(pose[..., 3:], -1, 0)
    return np.stack([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)], axis=-1)


def track_figures(
    tracks: Sequence[str], pitch: float, radii: Sequence[float], times, ground=None
) -> list[dict[str, Any]]:
    """Figures: side view, tension around the loop, loads of wheels and teeth, pressure and shear under the shoes."""
    out = []
    for track in tracks:
        at = f"track/{track}"
        side: dict[str, Any] = {
            "name": f"side-{track}", "title": f"Track {track} from the side", "kind": "chain", "pose": f"{at}/pose",
            "value": f"{at}/tension", "wheels": f"{at}/wheel_place", "radii": list(radii), "pitch": pitch,
            "times": list(times),
            "caption": "Links as lines between their pins, coloured by tension; wheels by tread or pitch circle.",
        }  # fmt: skip
        if ground is not None:
            side["overlay"] = [{"x": list(ground[0]), "y": list(ground[1]), "label": "ground", "style": "line"}]
        out += [
            side,
            {
                "name": f"tension-{track}", "title": f"Tension round the loop, {track}", "kind": "loop",
                "y": [f"{at}/tension"], "ylabel": "tension [N]", "times": list(times),
                "caption": "Link 0 is in the sprocket at the start; numbers increase forward along the lower run.",
            },
            {
                "name": f"wheels-{track}", "title": f"Loads on the wheels, {track}", "kind": "lines",
                "y": [f"{at}/wheel_load"], "ylabel": "load [N]",
                "caption": "Mean force of the links on each wheel over a step.",
            },
            {
                "name": f"teeth-{track}", "title": f"Load of the teeth, {track}", "kind": "loop",
                "y": [f"{at}/tooth_load"], "ylabel": "normal force of the sprocket [N]", "times": [times[-1]],
                "caption": "Along the wrap, by the link whose bushing is loaded.",
            },
            {
                "name": f"shoes-{track}", "title": f"Pressure and shear under the shoes, {track}", "kind": "loop",
                "y": [f"{at}/shoe_pressure", f"{at}/shoe_shear"], "ylabel": "mean stress [Pa]", "times": [times[-1]],
                "caption": "Force of the ground over the area of a shoe.",
            },
        ]  # fmt: skip
    return out
