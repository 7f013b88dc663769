"""How often a run left the range in which a law was compared with measurements, from the limits in a recording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grouser.recording import Recording
from grouser.report.wording import number

POSE = "body/pose"
DIGITS = 3


def validity(recording: Recording) -> list[dict[str, Any]]:
    """For each limit the body that is most often beyond it: share of the frames, largest value and when it occurs."""
    found = []
    for limit in recording.header.get("limits", []):
        values = _values(recording, limit)
        if values is None or not len(values):
            continue
        shares = (values > limit["bound"]).mean(axis=0)
        largest = values.max(axis=0)
        worst = int(np.lexsort((largest, shares))[-1])
        found.append(
            {
                "quantity": limit["quantity"],
                "bound": float(limit["bound"]),
                "share_beyond": float(shares[worst]),
                "largest": float(largest[worst]),
                "body": limit["bodies"][worst],
                "time_s": float(recording.time[values[:, worst].argmax()]),
                "reason": limit["reason"],
            }
        )
    return found


def _values(recording: Recording, limit: Mapping[str, Any]) -> np.ndarray | None:
    """Sizes of the quantity over its scale, (frame, body). Of several worlds the largest counts."""
    name, bodies = limit["channel"], list(limit["bodies"])
    if name not in recording.names():
        return None
    labels = list(recording.channel_info(name).labels)
    if not set(bodies) <= set(labels):
        return None
    values = np.asarray(recording.read(name))
    if recording.worlds == 1:
        values = values[:, None]
    values = values[:, :, [labels.index(body) for body in bodies]]  # (frame, world, body, ...)
    sizes = _speeds(values, recording.time) if name == POSE else np.abs(values)
    return np.nan_to_num(sizes.max(axis=1) / np.asarray(limit["scales"], float))


def _speeds(poses: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Speeds [m/s] between frames, (frame, world, body), of poses (frame, world, body, 7). The first frame has 0."""
    speeds = np.zeros(poses.shape[:3])
    if len(time) > 1:
        gone = np.linalg.norm(np.diff(poses[..., :3], axis=0), axis=-1)
        speeds[1:] = gone / np.maximum(np.diff(time), 1e-12)[:, None, None]
    return speeds


def validity_text(found: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """One line for each limit, by quantity, for a report."""
    return {f"{one['quantity']} (at most {number(one['bound'], DIGITS)})": _line(one) for one in found}


def beyond(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Sentences for the limits that were exceeded, for a terminal."""
    return [f"{one['quantity']}: {_line(one)}; {one['reason']}" for one in found if one["share_beyond"] > 0]


def _line(one: Mapping[str, Any]) -> str:
    largest = f"largest {number(one['largest'], DIGITS)} ({one['body']}, t = {number(one['time_s'], DIGITS)} s)"
    if one["share_beyond"] == 0:
        return f"{largest}, within"
    return f"{largest}, above {number(one['bound'], DIGITS)} in {number(100 * one['share_beyond'], DIGITS)} % of frames"
