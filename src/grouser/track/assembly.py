"""Assemble a chain around its wheels: find the belt of tangents and arcs, place pins along it, move the idler until
the chain closes."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grouser.errors import InputError
from grouser.track.parts import Link, TrackWheel

EXACT = 1e-15  # [m] tolerance of roots
CLOSED = 1e-12  # [m] largest distance of the last pin from the first
SPAN = 2880  # number of directions in which the outermost wheel is searched


@dataclass(frozen=True)
class Assembly:
    """Assembled links in the assembly's frame: x forward, z up. The lower run goes forward; z of a link is inward."""

    position: np.ndarray  # [m], (link, 3)
    pitch_angle: np.ndarray  # [rad], (link,) of x above the horizontal
    idler_shift: float  # [m] motion of the idler along its path from the given position
    tension: float  # [N]
    first_gap: dict[str, float]  # [rad] of each sprocket: angle of a seated bushing above the horizontal
    gap: float  # [m] remaining gap where the chain closes

    def rotation(self) -> np.ndarray:
        """Orientations of the links, (link, 4) quaternions xyzw."""
        half = -self.pitch_angle / 2
        return np.stack([0 * half, np.sin(half), 0 * half, np.cos(half)], axis=1)


@dataclass(frozen=True)
class Belt:
    """A closed path of arcs around circles and tangents between them, counter-clockwise in x, z."""

    pieces: list[tuple]  # ("arc", centre, radius, angle, sweep) or ("line", from, to)
    lengths: np.ndarray
    wheels: list[int]  # in order
    turns: dict[int, float]  # [rad] wrap angle of the belt around each wheel

    def point(self, s: float) -> np.ndarray:
        s = s % self.lengths.sum()
        for piece, length in zip(self.pieces, self.lengths, strict=True):
            if s <= length:
                if piece[0] == "arc":
                    _, centre, radius, angle, _ = piece
                    along = angle + s / radius
                    return centre + radius * np.array([math.cos(along), math.sin(along)])
                return piece[1] + s / length * (piece[2] - piece[1])
            s -= length
        return self.point(0.0)


def belt(centres: np.ndarray, radii: np.ndarray) -> Belt:
    """Convex belt around circles, centres (n, 2) [m]. Circles inside it are left out."""
    angles = np.linspace(-math.pi, math.pi, SPAN, endpoint=False)
    reach = np.cos(angles)[:, None] * centres[:, 0] + np.sin(angles)[:, None] * centres[:, 1] + radii
    outer = reach.argmax(axis=1)
    order = [int(k) for n, k in enumerate(outer) if k != outer[n - 1]] or [int(outer[0])]
    if len(order) < 2:
        raise InputError("track: one wheel holds all others inside it; a chain needs two wheels or more")
    tangents = []
    for n, a in enumerate(order):
        b = order[(n + 1) % len(order)]
        span = centres[b] - centres[a]
        normal = math.atan2(span[1], span[0]) - math.acos((radii[a] - radii[b]) / math.hypot(*span))
        out = np.array([math.cos(normal), math.sin(normal)])
        tangents.append((centres[a] + radii[a] * out, centres[b] + radii[b] * out, normal))
    pieces, lengths, turns = [], [], {}
    for n, a in enumerate(order):
        before = tangents[n - 1][2]
        turn = (tangents[n][2] - before) % (2 * math.pi)
        if turn > 2 * math.pi - 1e-6:
            turn = 0.0
        turns[a] = turns.get(a, 0.0) + turn
        pieces += [("arc", centres[a], radii[a], before, turn), ("line", *tangents[n][:2])]
        lengths += [radii[a] * turn, math.hypot(*(tangents[n][1] - tangents[n][0]))]
    return Belt(pieces, np.array(lengths), order, turns)


def pin_belt(
    wheels: Sequence[TrackWheel], link: Link, idler_shift: float, idler: int, direction: np.ndarray, step: float
) -> Belt:
    """Path of the pins, far enough outside that the rails of straight links do not cut into the wheels."""
    centres = np.array([wheel.centre for wheel in wheels], float)
    centres[idler] += idler_shift * direction
    bare = np.array([w.radius if w.sprocket else w.radius + link.rail.height for w in wheels])
    toothed = np.array([w.sprocket is not None for w in wheels])
    radii, half = bare.copy(), step / 2
    path = belt(centres, radii)
    for _ in range(20):
        turn = np.array([path.turns.get(k, 0.0) for k in range(len(wheels))])
        cut = np.cos(turn / 2) * (bare + half * np.sin(turn / 2))  # a link across the corner of two tangents
        whole = np.hypot(bare, half)  # a link with both pins on the arc
        wanted = np.where(toothed, bare, np.clip(np.where(turn > 0, cut, bare), bare, whole))
        wanted = np.where(~toothed & (turn * whole > step), whole, wanted)
        if np.abs(wanted - radii).max() < 1e-9:
            break
        radii = np.maximum(radii, wanted)
        path = belt(centres, radii)
    return path


def assemble(
    wheels: Sequence[TrackWheel],
    link: Link,
    *,
    links: int | None = None,
    tension: float = 0.0,
    travel: tuple[float, float] = (-0.15, 0.15),
    idler_direction: tuple[float, float] = (1.0, 0.0),
) -> Assembly:
    """Assemble the chain around `wheels`.

    The idler moves along `idler_direction` within `travel` [m] until the chain closes.
    With `links` None, the number of links is chosen that closes nearest to the idler's given position. The chain is
    stretched by `tension` [N]: each bushing is displaced from its pin by T / K.
    """
    moving = [k for k, wheel in enumerate(wheels) if wheel.kind == "idler"]
    if not moving or not any(wheel.kind == "sprocket" for wheel in wheels):
        raise InputError("track: a chain needs a sprocket and an idler; names: " + ", ".join(w.name for w in wheels))
    idler = max(moving, key=lambda k: wheels[k].centre[0])
    direction = np.array(idler_direction, float) / math.hypot(*idler_direction)
    step = link.pitch + tension / link.joint.radial_stiffness

    def lay_chain(shift: float, count: int):
        path = pin_belt(wheels, link, shift, idler, direction, step)
        return _step_along(path, _seat(path, wheels), step, count)

    def excess(shift: float, count: int) -> float:
        return lay_chain(shift, count)[1]

    def links_that_fit(shift: float) -> float:
        """Number of links that fit on the path, as a real number."""
        path = pin_belt(wheels, link, shift, idler, direction, step)
        return path.lengths.sum() / step

    low, high = travel
    if links is None:
        guess = round(links_that_fit(0.0))
        near = [n for n in range(guess - 1, guess + 3) if excess(low, n) > 0 > excess(high, n)]
        if not near:
            raise InputError(_no_fit_message(wheels[idler], None, travel, links_that_fit))
        links = min(near, key=lambda n: abs(_close(excess, n, low, high)))
    if links < 4 or not excess(low, links) > 0 > excess(high, links):
        raise InputError(_no_fit_message(wheels[idler], links, travel, links_that_fit))
    shift = _close(excess, links, low, high)
    pins, gap = lay_chain(shift, links)
    return _placed(wheels, link, pins, shift, tension, gap)


def _no_fit_message(idler: TrackWheel, links: int | None, travel: tuple[float, float], links_that_fit) -> str:
    first, last = (links_that_fit(shift) for shift in travel)
    could = range(math.ceil(first), math.floor(last) + 1)
    words = f"{could.start} to {could.stop - 1} links would" if len(could) > 1 else (
        f"{could.start} links would" if len(could) else f"none between {first:.1f} and {last:.1f} links does"
    )  # fmt: skip
    given = "no number of links" if links is None else f"{links} links"
    return f"track: {given} cannot close with idler {idler.name!r} moved by {travel[0]:g} to {travel[1]:g} m; {words}"


def _seat(path: Belt, wheels: Sequence[TrackWheel]) -> float:
    """Position [m] of the first pin along the path: the middle of the arc of the first sprocket."""
    s = 0.0
    for n, k in enumerate(path.wheels):
        if wheels[k].kind == "sprocket":
            return s + path.lengths[2 * n] / 2
        s += path.lengths[2 * n] + path.lengths[2 * n + 1]
    raise InputError("track: the chain does not touch its sprocket; the sprocket must lie on the outside of the loop")


def _step_along(path: Belt, start: float, step: float, count: int) -> tuple[np.ndarray, float]:
    """Place pins (count, 2) [m] at straight distances `step`. Returns them and the overshoot past the first pin [m]."""
    pins, s = [path.point(start)], start
    for _ in range(count):
        last = pins[-1]
        s = _root(lambda q, last=last: math.dist(path.point(q), last) - step, s + 0.5 * step, s + 1.8 * step)
        pins.append(path.point(s))
    return np.array(pins[:-1]), s - start - path.lengths.sum()


def _close(excess, links: int, low: float, high: float) -> float:
    return _root(lambda shift: excess(shift, links), low, high)


def _root(function, low: float, high: float) -> float:
    """Root of a function between two points where its signs differ, to round-off.

    Inverse quadratic interpolation where that is safe, else bisection (Chandrupatla 1997).
    """
    a, b = low, high
    at_a, at_b = function(a), function(b)
    share = 0.5
    while True:
        x = a + share * (b - a)
        at_x = function(x)
        if (at_x > 0) == (at_a > 0):
            c, at_c = a, at_a
        else:
            c, at_c, b, at_b = b, at_b, a, at_a
        a, at_a = x, at_x
        best, at_best = (a, at_a) if abs(at_a) < abs(at_b) else (b, at_b)
        least = (EXACT + sys.float_info.epsilon * abs(best)) / abs(b - a)
        if at_best == 0 or least > 0.5:
            return float(best)
        place, value = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
        share = 0.5
        if value * value < place and (1 - value) ** 2 < 1 - place:
            share = at_a / (at_b - at_a) * at_c / (at_b - at_c)
            share += (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
        share = min(max(share, least), 1 - least)


def _placed(wheels, link: Link, pins: np.ndarray, shift: float, tension: float, gap: float) -> Assembly:
    after = np.roll(pins, -1, axis=0)
    middle = (pins + after) / 2
    along = after - pins
    gaps = {}
    for wheel in wheels:
        if wheel.sprocket:
            centre = np.array(wheel.centre)
            seat = min(pins, key=lambda pin: abs(math.dist(pin, centre) - wheel.sprocket.pitch_radius))
            gaps[wheel.name] = math.atan2(*(seat - centre)[::-1])
    position = np.column_stack([middle[:, 0], np.zeros(len(pins)), middle[:, 1]])
    return Assembly(position, np.arctan2(along[:, 1], along[:, 0]), shift, tension, gaps, float(abs(gap)))
