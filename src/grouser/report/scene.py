"""Side view of a body on its course: outlines, path, contact points and contact forces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.errors import InputError
from grouser.recording import Recording
from grouser.report.style import COLOURS, FAINT, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POSITIONS = 14  # outlines drawn, evenly spaced along the path
LONGEST = 0.25  # length of the longest arrow, as a fraction of the height of the drawing
LEAST = 0.02  # fraction of the largest force below which a contact gets no arrow
KINDS = ("face", "edge", "vertex")
MARKS = ("s", "D", "o")


def draw_scene(axes: Axes, recording: Recording, figure: Mapping[str, Any]) -> None:
    """Draw x against z. `body` names a pose, `corners` (n, 3) are its corners, `course` lists outlines (n, 2).

    `contacts` is a channel of rows: position in columns 0-2, force in 3-5, kind in 7 (0 face, 1 edge, 2 vertex).
    """
    try:
        body, corners, channel = figure["body"], np.asarray(figure["corners"], float), figure["contacts"]
    except KeyError as missing:
        raise InputError(f"scene: {missing} is missing; body, corners and contacts are needed") from None
    pose = np.asarray(recording[f"body/pose[{body}]"], float)
    pose = pose.reshape(len(recording), -1, 7)[:, 0]
    contacts = [np.asarray(rows, float).reshape(-1, 10) for rows in recording[channel]]
    for outline in figure.get("course") or ():
        axes.fill(*np.asarray(outline, float).T, color="#d9dfe3", edgecolor=FAINT, linewidth=0.8, zorder=1)
    path = pose[:, [0, 2]]
    for k in _even(path):
        ring = _outline(_turned(corners, pose[k])[:, [0, 2]])
        axes.fill(*ring.T, facecolor=COLOURS[0], alpha=0.10, zorder=2)
        axes.plot(*np.vstack([ring, ring[:1]]).T, color=COLOURS[0], linewidth=0.8, zorder=3)
    axes.plot(*path.T, color=INK, linewidth=1.0, linestyle=(0, (4, 2)), label="path of the centre", zorder=4)
    everything = np.concatenate([rows for rows in contacts if len(rows)] or [np.zeros((0, 10))])
    for kind, name in enumerate(KINDS):
        of_kind = everything[everything[:, 7] == kind]
        if len(of_kind):
            axes.plot(
                of_kind[:, 0], of_kind[:, 2], linestyle="none", marker=MARKS[kind], markersize=4.5, alpha=0.6,
                markeredgecolor="none", markerfacecolor=COLOURS[kind + 1],
                label=f"{name} contact", zorder=5.3 - 0.1 * kind,
            )  # fmt: skip
    _arrows(axes, contacts, float(np.ptp(path[:, 1])) + float(np.ptp(corners)))
    low, high = path.min(0), path.max(0)
    margin = float(np.ptp(corners)) + 0.1 * float((high - low).max())
    axes.set_xlim(low[0] - margin, high[0] + margin)
    axes.set_ylim(low[1] - margin, high[1] + margin)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("z [m]")
    axes.legend(loc="upper left")


def _turned(corners: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Corners in world axes. `pose` is x, y, z and a quaternion xyzw."""
    v, w = pose[3:6], pose[6]
    twice = 2 * np.cross(v, corners)
    return corners + w * twice + np.cross(v, twice) + pose[:3]


def _even(path: np.ndarray) -> np.ndarray:
    """Frames evenly spaced along the path, including the first and the last."""
    path_length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    return np.unique(np.searchsorted(path_length, np.linspace(0, path_length[-1], POSITIONS)).clip(0, len(path) - 1))


def _outline(points: np.ndarray) -> np.ndarray:
    """Convex outline, counter-clockwise (monotone chain)."""
    ordered = points[np.lexsort(points.T[::-1])]

    def chain(row: np.ndarray) -> list[np.ndarray]:
        out: list[np.ndarray] = []
        for p in row:
            while len(out) > 1 and _turn(out[-2], out[-1], p) <= 0:
                out.pop()
            out.append(p)
        return out[:-1]

    return np.array(chain(ordered) + chain(ordered[::-1]))


def _turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _arrows(axes: Axes, contacts: list[np.ndarray], height: float) -> None:
    """Draw the largest force of every contact period. Arrow lengths grow with the square root of the force."""
    force = np.array([np.linalg.norm(rows[:, 3:6].sum(0)) if len(rows) else 0.0 for rows in contacts])
    if not force.any():
        return
    touching = np.concatenate([[False], force > 0, [False]])
    begins, ends = np.flatnonzero(~touching[:-1] & touching[1:]), np.flatnonzero(touching[:-1] & ~touching[1:])
    scale = LONGEST * height / np.sqrt(force.max())
    for begin, end in zip(begins, ends, strict=True):
        rows = contacts[begin + int(force[begin:end].argmax())]
        for place, push in zip(rows[:, [0, 2]], rows[:, [3, 5]], strict=True):
            size = float(np.linalg.norm(push))
            if size > LEAST * force.max():
                tip = place + push / size * scale * np.sqrt(size)
                axes.annotate(
                    "", xy=tuple(tip), xytext=tuple(place), zorder=6,
                    arrowprops={
                        "arrowstyle": "-|>", "color": COLOURS[4], "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0,
                        "mutation_scale": 7,
                    },
                )  # fmt: skip
    axes.plot([], [], color=COLOURS[4], label=f"force, up to {force.max():.0f} N (length as its square root)")
