"""Side view of a machine at several times on its course, with the paths of some of its points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.errors import InputError
from grouser.recording import Recording
from grouser.report.curves import curves, frames, labels
from grouser.report.lines import draw_legend, listed
from grouser.report.style import COLOURS, FAINT, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GROUND, MACHINE = "#d9dfe3", ("#9db8a4", "#c4c8ce", "#55585e")
BELOW = 0.1  # depth drawn below the lowest point of the ground, as a fraction of its height


def draw_snapshots(axes: Axes, recording: Recording, figure: Mapping[str, Any]) -> None:
    """Draw x against z. `outlines` lists {"bodies", "corners" (n, 3) in body axes}, drawn in this order at `times` [s].
    `profile` {"x", "z"} is the ground; `x` and `y` are channels of paths to draw. `view` [m] (width, height): size of
    the section shown, about the middle of what is drawn, so that panels have one scale."""
    outlines, times = figure.get("outlines"), figure.get("times")
    if not outlines or not times:
        raise InputError("snapshots: outlines and times are needed")
    ground = figure.get("profile")
    if ground:
        x, z = (np.asarray(ground[key], float) for key in ("x", "z"))
        axes.fill_between(x, z, z.min() - BELOW * max(np.ptp(z), 1e-9), color=GROUND, linewidth=0)
        axes.plot(x, z, color=FAINT, linewidth=1.0)
    for place, outline in enumerate(outlines):
        corners = np.asarray(outline["corners"], float)
        for body in outline["bodies"]:
            pose = np.asarray(recording[f"body/pose[{body}]"], float).reshape(len(recording), -1, 7)[:, 0]
            for frame in _at(recording, times):
                ring = side_outline(corners, pose[frame])
                axes.fill(*ring.T, facecolor=MACHINE[place % len(MACHINE)], edgecolor=INK, linewidth=0.5, alpha=0.8)
    _draw_paths(axes, recording, figure)
    _show(axes, figure.get("view"))
    axes.set_xlabel(figure.get("xlabel", "x [m]"))
    axes.set_ylabel(figure.get("ylabel", "z [m]"))
    draw_legend(axes)


def _show(axes: Axes, view: Sequence[float] | None) -> None:
    """Set one scale for x and z: as much as fits, or a section of a given size [m]."""
    if view is None:
        axes.set_aspect("equal", adjustable="datalim")
        return
    x, z = sum(axes.dataLim.intervalx) / 2, sum(axes.dataLim.intervaly) / 2
    axes.set_xlim(x - view[0] / 2, x + view[0] / 2)
    axes.set_ylim(z - view[1] / 2, z + view[1] / 2)
    axes.set_aspect("equal", adjustable="box")


def _draw_paths(axes: Axes, recording: Recording, figure: Mapping[str, Any]) -> None:
    if not figure.get("y"):
        return
    within = frames(recording, figure)
    across = {curve.label: curve for curve in curves(recording, figure["x"], within)}
    up = [curve for words in listed(figure) for curve in curves(recording, words, within)]
    for place, (curve, label) in enumerate(zip(up, labels(up), strict=True)):
        if curve.label not in across:
            raise InputError(f"x {figure['x']!r} has no {curve.label!r}, which {curve.channel!r} needs")
        axes.plot(
            across[curve.label].values[:, 0], curve.values[:, 0], color=COLOURS[place % len(COLOURS)], label=label
        )


def _at(recording: Recording, times: list[float]) -> list[int]:
    """Frames at these times, without times after the end of the run."""
    last = len(recording) - 1
    return [int(k) for k in np.searchsorted(recording.time, times) if k <= last]


def side_outline(corners: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Convex outline in x and z [m], (n, 2), of corners [m], (n, 3) at a pose (position, quaternion xyzw)."""
    x, y, z, w = pose[3:]
    along = np.array([1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)])
    up = np.array([2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)])
    return _convex(np.column_stack([corners @ along + pose[0], corners @ up + pose[2]]))


def _convex(points: np.ndarray) -> np.ndarray:
    """Convex outline of points in a plane, anticlockwise (monotone chain)."""
    ordered = sorted(set(map(tuple, np.round(points, 9).tolist())))
    if len(ordered) < 3:
        return np.array(ordered)
    half = [_chain(ordered), _chain(ordered[::-1])]
    return np.array(half[0][:-1] + half[1][:-1])


def _chain(ordered: list[tuple[float, float]]) -> list[tuple[float, float]]:
    out: list[tuple[float, float]] = []
    for point in ordered:
        while len(out) > 1 and _turn(out[-2], out[-1], point) <= 0:
            out.pop()
        out.append(point)
    return out


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
