"""The part of a face element below the ground: its area, and the integral of depth over it, by exact clipping."""

from __future__ import annotations

import numpy as np
import warp as wp

from grouser.device import struct
from grouser.precision import mat33, real, vec3

MOST_FACES = 20_000  # of a body after `subdivided`
THIRD = wp.constant(real(1.0 / 3.0))
TWELFTH = wp.constant(real(1.0 / 12.0))


@struct
class Wetted:
    """The part of a triangle where a depth that is linear over it is above 0."""

    area: real  # [m^2]
    volume: real  # [m^3] integral of depth
    moment: vec3  # [m^4] integral of depth times position


@wp.func
def tip(area: real, corners: mat33, depths: vec3, i: int):
    """The triangle at corner i of a triangle, up to the line of depth 0; its integrals have the sign of that depth."""
    j = (i + 1) % 3
    k = (i + 2) % 3
    to_j = depths[i] / (depths[i] - depths[j])
    to_k = depths[i] / (depths[i] - depths[k])
    part = area * to_j * to_k
    a = corners[i]
    b = a + to_j * (corners[j] - a)
    c = a + to_k * (corners[k] - a)
    # Depths at the corners are (d, 0, 0): the integral of d x is area / 12 (sum d sum x + sum d x).
    moment = (part * depths[i] * TWELFTH) * (a + a + b + c)
    return Wetted(part, part * depths[i] * THIRD, moment)  # pyright: ignore[reportCallIssue] a device struct


@wp.func
def wetted(area: real, corners: mat33, depths: vec3):
    """The part of a triangle below the ground. `corners` [m]: one in each row; `depths` [m] of the corners."""
    zero = real(0.0)
    below = int(0)
    lone_below = int(0)  # the corner below, if there is one
    lone_above = int(0)  # the corner above, if there is one
    for i in range(3):
        if depths[i] > zero:
            below += 1
            lone_below = i
        else:
            lone_above = i
    if below == 0:
        return Wetted(zero, zero, vec3())  # pyright: ignore[reportCallIssue]
    if below == 1:
        return tip(area, corners, depths, lone_below)
    total = depths[0] + depths[1] + depths[2]
    sum_x = corners[0] + corners[1] + corners[2]
    sum_dx = depths[0] * corners[0] + depths[1] * corners[1] + depths[2] * corners[2]
    moment = (area * TWELFTH) * (total * sum_x + sum_dx)
    whole = Wetted(area, area * total * THIRD, moment)  # pyright: ignore[reportCallIssue]
    if below == 3:
        return whole
    dry = tip(area, corners, depths, lone_above)
    left = whole.moment - dry.moment
    return Wetted(whole.area - dry.area, whole.volume - dry.volume, left)  # pyright: ignore[reportCallIssue]


def subdivided(corners: np.ndarray, longest: float) -> np.ndarray:
    """Cut triangles, (triangle, corner, 3) [m], at the middle of their longest edge until none is above `longest` [m].

    If that would make more than MOST_FACES of them, edges may be longer.
    """
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    corners, area = corners[normals.any(axis=1)], np.linalg.norm(normals, axis=1).sum() / 2
    longest = max(longest, 2 * float(np.sqrt(area / MOST_FACES)))
    done = []
    while len(corners):
        edges = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2)  # (triangle, edge) from corner k on
        large = edges.max(axis=1) > longest
        done.append(corners[~large])
        k = edges[large].argmax(axis=1)
        rows = np.arange(len(k))
        a, b, c = (corners[large][rows, (k + n) % 3] for n in range(3))
        middle = (a + b) / 2
        corners = np.concatenate([np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)])
    return np.concatenate(done)
