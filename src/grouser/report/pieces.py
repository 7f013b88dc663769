"""A course and the convex pieces it is cut into, moved apart, seen from above (Stadukhin 2016, Fig. 5 and 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.errors import InputError
from grouser.recording import Recording
from grouser.report.style import COLOURS, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AZIMUTH, ELEVATION = np.radians(-60.0), np.radians(30.0)  # direction from which the pieces are seen
LIGHT = np.array([-0.3, -0.5, 0.81])  # direction of the light; unit length within 1 %
DARKEST = 0.45  # brightness of a face that is turned away from the light
APART = 0.6  # distance by which pieces are moved apart, over their distance from the middle
GAP = 1.15  # distance of the two drawings, over their width
STONE = "#c9d0d4"

Piece = Sequence[Sequence[Sequence[float]]]  # faces of a piece: corners [m], (corner, 3) each


def draw_pieces(axes: Axes, recording: Recording, figure: Mapping[str, Any]) -> None:
    """Draw `pieces`, each a list of faces: in place on the left, moved apart on the right."""
    pieces = figure.get("pieces")
    if not pieces:
        raise InputError("pieces: a list of faces for each piece is needed")
    draw_course(axes, pieces)


def draw_course(axes: Axes, pieces: Sequence[Piece]) -> None:
    """Draw a course and its pieces side by side."""
    faces = [[np.asarray(face, float) for face in piece] for piece in pieces]
    centres = np.array([np.concatenate(piece).mean(axis=0) for piece in faces])
    moves = APART * (centres - centres.mean(axis=0))
    whole = [_drawn(face) for piece in faces for face in piece]
    apart = [_drawn(face + move) for piece, move in zip(faces, moves, strict=True) for face in piece]
    spans = np.array([np.ptp(np.concatenate([ring for ring, *_ in drawn]), axis=0) for drawn in (whole, apart)])
    numbers = [k for k, piece in enumerate(faces) for _ in piece]
    beside = np.array([GAP * spans.max(axis=0)[0], 0.0])
    _fill(axes, whole, [STONE] * len(whole), np.zeros(2))
    _fill(axes, apart, [COLOURS[k % len(COLOURS)] for k in numbers], beside)
    axes.set_aspect("equal", adjustable="datalim")
    axes.autoscale_view()
    axes.set_axis_off()
    count = f"{len(pieces)} convex piece{'s' if len(pieces) > 1 else ''}"
    for text, place in (("course", 0.25), (count, 0.75)):
        axes.text(place, 0.0, text, transform=axes.transAxes, ha="center", color=INK, fontsize=9)


def _drawn(face: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Outline (n, 2) of a face as seen, its distance from the viewer, and its brightness; below 0: seen from behind."""
    right = np.array([-np.sin(AZIMUTH), np.cos(AZIMUTH), 0.0])
    towards = np.array([
        np.cos(ELEVATION) * np.cos(AZIMUTH), np.cos(ELEVATION) * np.sin(AZIMUTH), np.sin(ELEVATION)
    ])  # fmt: skip
    up = np.cross(towards, right)
    normal = np.cross(face[1] - face[0], face[2] - face[0])
    normal = normal / max(float(np.linalg.norm(normal)), 1e-12)
    bright = DARKEST + (1 - DARKEST) * max(float(normal @ LIGHT), 0.0)
    return np.stack([face @ right, face @ up], axis=1), -float(face.mean(axis=0) @ towards), (
        bright if normal @ towards > 0 else -1.0
    )  # fmt: skip


def _fill(axes: Axes, drawn: list[tuple[np.ndarray, float, float]], colours: Sequence[str], shift: np.ndarray) -> None:
    """Fill the faces that look at the viewer, the farthest first."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgb

    order = sorted(range(len(drawn)), key=lambda k: -drawn[k][1])
    seen = [k for k in order if drawn[k][2] > 0]
    fills = [tuple(drawn[k][2] * c for c in to_rgb(colours[k])) for k in seen]
    rings = [drawn[k][0] + shift for k in seen]
    axes.add_collection(PolyCollection(rings, facecolors=fills, edgecolors=INK, linewidths=0.4))
