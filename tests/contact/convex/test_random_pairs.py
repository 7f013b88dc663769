"""Depth, direction and points of random pairs against an independent search and clipper.

The oracle tries every face and every pair of edges for the least overlap (separating axes) and finds the contact points
as corners of one face inside the other and crossings of their edges, all in the plane across the direction. Where
several directions or faces are as good within the tolerance, each of them is a right answer; no pair is left out.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from grouser.contact.convex import ConvexContact, ConvexPart
from grouser.terrain.course import Course
from grouser.terrain.polyhedra import box, hull, prism
from tests.rig import ManufacturedMotion

PARTS = 500
APART = 10.0  # [m] between the pieces
TIE = 3e-3  # relative: the module prefers the course's face by 1e-3
LOOK = 1e-6  # between cosines of faces: more than coal's direction is off by
DEPTH = 1e-7  # [m] coal's tolerance 1e-10 and the module's 1e-7, within which depths count as equal
ANGLE = 1e-4  # [rad] of coal's direction where edges cross
PLACE = 1e-5  # [m] of a point: ANGLE on a body of 0.1 m
SHALLOW = 1e-5  # [m] points of less depth may be in one list and not in the other


def solids(rng: np.random.Generator, count: int):
    kinds = [
        lambda: box(rng.uniform(0.1, 0.5, 3).tolist()),
        lambda: prism(rng.uniform(0.1, 0.3), rng.uniform(0.05, 0.3), int(rng.integers(3, 24))),
        lambda: hull(rng.uniform(-0.25, 0.25, (12, 3))),
    ]
    return [kinds[k % 3]() for k in range(count)]


class Placed:
    """A solid in the world, for the oracle."""

    def __init__(self, solid, x, R):
        self.corners = solid.vertices @ R.T + x
        self.normals = solid.normals @ R.T
        self.rings = [self.corners[list(f)] for f in solid.faces]
        ends = np.array(sorted({tuple(sorted((f[i], f[i - 1]))) for f in solid.faces for i in range(len(f))}))
        along = self.corners[ends[:, 1]] - self.corners[ends[:, 0]]
        self.edges = along / np.linalg.norm(along, axis=1)[:, None]


def overlaps(a: Placed, b: Placed):
    """Directions (k, 3) that push a out of b, the depth (k,) along each, and whose they are: piece, part, edges."""
    crosses = np.cross(a.edges[:, None], b.edges[None]).reshape(-1, 3)
    length = np.linalg.norm(crosses, axis=1)
    crosses = crosses[length > 1e-6] / length[length > 1e-6, None]
    axes = np.vstack([b.normals, -a.normals, crosses, -crosses])
    depth = (b.corners @ axes.T).max(0) - (a.corners @ axes.T).min(0)
    owners = np.repeat(["piece", "part", "edges"], [len(b.normals), len(a.normals), 2 * len(crosses)])
    return axes, depth, owners


def facing(cosines: np.ndarray) -> np.ndarray:
    """The faces that look most along a direction: one, or those that tie."""
    return np.flatnonzero(cosines > cosines.max() - LOOK)


def clipped(reference: np.ndarray, normal: np.ndarray, incident: np.ndarray, tilt: np.ndarray, n: np.ndarray):
    """Points of the incident face within the reference face seen along n, (k, 3), and their depths along n, (k,)."""
    e1 = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
    e1 /= np.linalg.norm(e1)
    flat = np.stack([e1, np.cross(n, e1)])
    p, q = reference @ flat.T, incident @ flat.T
    found = [x for x in q if inside(x, p)] + [x for x in p if inside(x, q)]
    for i in range(len(p)):
        for j in range(len(q)):
            a, b, c, d = p[i - 1], p[i], q[j - 1], q[j]
            m = np.column_stack([b - a, c - d])
            if abs(np.linalg.det(m)) > 1e-14:
                s, t = np.linalg.solve(m, c - a)
                if 0 <= s <= 1 and 0 <= t <= 1:
                    found.append(a + s * (b - a))
    if not found:
        return np.zeros((0, 3)), np.zeros(0)
    points = np.array(found) @ flat
    lift = ((incident[0] - points) @ tilt) / (n @ tilt)  # along n onto the incident face
    points = points + lift[:, None] * n
    return points, np.abs(((reference[0] - points) @ normal) / (n @ normal)) * np.sign((reference[0] - points) @ normal)


def inside(x: np.ndarray, ring: np.ndarray) -> bool:
    a, b = ring, np.roll(ring, -1, 0)
    side = (b[:, 0] - a[:, 0]) * (x[1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (x[0] - a[:, 0])
    return bool((side >= 0).all() or (side <= 0).all())


def compare(a: Placed, b: Placed, contact: np.ndarray, n: np.ndarray, points: np.ndarray, depths: np.ndarray) -> bool:
    """Checks one pair. Returns whether another direction was as good."""
    axes, overlap, owners = overlaps(a, b)
    least = overlap.min()
    tied = overlap <= least + TIE * least + DEPTH
    chosen = tied & (axes @ n > np.cos(ANGLE))
    assert chosen.any(), "not a direction of least overlap"
    _, once = np.unique(axes[chosen].round(9), axis=0, return_index=True)  # parallel edges give the same one
    for k in np.flatnonzero(chosen)[once]:
        axis, depth = axes[k], overlap[k]
        if abs(contact[6] - depth) < DEPTH:
            for of_part in owning(a, b, axis, owners[k]):
                first, second, sign = (a, b, -1) if of_part else (b, a, 1)
                for i in facing(sign * first.normals @ axis):
                    for j in facing(-sign * second.normals @ axis):
                        if agree(first, i, second, j, sign * axis, depth, points, depths):
                            return bool((tied & ~chosen).any())
    raise AssertionError("other points or depths than those of any direction and faces of least overlap")


def owning(a: Placed, b: Placed, axis: np.ndarray, owner: str) -> list[bool]:
    """Whether the reference face is the part's: for crossing edges that of the face closest to the direction."""
    if owner != "edges":
        return [owner == "part"]
    ahead = (-a.normals @ axis).max() - (b.normals @ axis).max()
    return [False, True] if abs(ahead) < TIE else [bool(ahead > 0)]


def agree(first: Placed, i: int, second: Placed, j: int, direction, depth, points, depths) -> bool:
    """Whether the points and depths are those of face j of `second`, clipped by face i of `first`."""
    expected, deep = clipped(first.rings[i], first.normals[i], second.rings[j], second.normals[j], direction)
    if not len(expected):  # edges of faces that look past each other: one point between them
        return len(points) == 1 and abs(depths[0] - depth) < DEPTH
    for mine, my_depth, theirs in ((expected, deep, points), (points, depths, expected)):
        firm = mine[my_depth > SHALLOW]
        if len(firm):
            if not len(theirs):
                return False
            if np.linalg.norm(firm[:, None] - theirs[None], axis=2).min(1).max() >= PLACE:
                return False
    for x, d in zip(points, depths, strict=True):
        k = np.linalg.norm(expected - x, axis=1).argmin()
        if d > SHALLOW and abs(d - deep[k]) > PLACE:
            return False
    return True


def check(rounds: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts, pieces = solids(rng, PARTS), solids(rng, PARTS)
    pieces = [
        piece.placed((APART * (k % 25), APART * (k // 25), 0.0), rng.uniform(-2, 2, 3))
        for k, piece in enumerate(pieces)
    ]
    module = ConvexContact(
        [ConvexPart(f"b{k}", part) for k, part in enumerate(parts)], Course(tuple(pieces)), capacity=2 * PARTS
    )
    rig = ManufacturedMotion(module)
    compared = ties = 0
    for _ in range(rounds):
        turns = Rotation.random(PARTS, rng=rng)
        middle = np.array([piece.vertices.mean(0) for piece in pieces])
        x = middle + rng.normal(0, 0.12, (PARTS, 3))
        rig.place(position=x[None], rotation=turns.as_quat()[None])
        module.evaluate_for_channels()
        contacts, normals, points = module.contacts(), module.normals(), module.points()
        for c, contact in enumerate(contacts):
            k, piece = int(contact[8]), pieces[int(contact[9])]
            own = points[points[:, 4] == c]
            a, b = Placed(parts[k], x[k], turns[k].as_matrix()), Placed(piece, np.zeros(3), np.eye(3))
            ties += compare(a, b, contact, normals[c], own[:, :3], own[:, 3])
            compared += 1
        touching = {int(c) for c in contacts[:, 8]}
        for k in set(range(PARTS)) - touching:  # none is missed
            a, b = Placed(parts[k], x[k], turns[k].as_matrix()), Placed(pieces[k], np.zeros(3), np.eye(3))
            assert overlaps(a, b)[1].min() <= 1e-6
    print(f"{compared} pairs compared, {ties} of them with another direction as good")
    assert compared > 0.3 * rounds * PARTS


def test_five_hundred_random_pairs():
    check(1, 3)


@pytest.mark.long
def test_ten_thousand_random_pairs():
    check(27, 7)
