"""Rock fields: irregular rocks on or in the ground, seeded, with sizes from a size-frequency law."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grouser.errors import InputError
from grouser.terrain import checks
from grouser.terrain.elevation import BARE, ElevationGrid
from grouser.terrain.rock_shapes import DIVISIONS, mass_properties, rock_mesh
from grouser.terrain.rock_sizes import VIKING_1, SizeClasses, SizeLaw, SizeTable, golombek_rapp, power_law

__all__ = ["VIKING_1", "Rock", "RockField", "SizeClasses", "SizeTable", "golombek_rapp", "power_law", "rock_field"]

BURIAL = (0.2, 0.5)  # smallest and largest fraction of a rock's height below ground (assumed)
DENSITY = 2700.0  # [kg/m^3] basalt (assumed)
THROWS = 1000  # positions tried for a rock before the field counts as full
MOST_ROCKS = 20_000
ROUND_OFF = 1e-12  # [triangle size] a node this close to the edge of a triangle, seen from above, counts as inside


@dataclass(frozen=True, eq=False)
class Rock:
    """One rock. Its frame is at its centre of mass, with axes parallel to the world axes at placement."""

    name: str
    diameter: float  # [m] mean of length and width seen from above
    position: np.ndarray  # [m], (3,) of the frame, world
    heading: float  # [rad] of its long axis
    burial: float  # fraction of its height below the ground; 0 if it is movable
    movable: bool
    vertices: np.ndarray  # [m], (vertex, 3) own frame
    triangles: np.ndarray  # (triangle, 3) int32, counter-clockwise from outside

    @property
    def world_vertices(self) -> np.ndarray:
        """Vertices [m], (vertex, 3) in world axes at placement."""
        return self.vertices + self.position

    @property
    def height(self) -> float:
        """Height [m] from the lowest to the highest point."""
        return float(np.ptp(self.vertices[:, 2]))

    @property
    def reach(self) -> float:
        """Radius [m] of the circle round `position` that contains the rock, seen from above."""
        return _reach(self.vertices)

    @property
    def volume(self) -> float:
        """Volume [m^3]."""
        return mass_properties(self.vertices, self.triangles)[0]

    def top(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """World z [m] of the upper surface at points x, y [m]; -inf beside the rock."""
        corners = self.world_vertices[self.triangles]
        a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
        upward = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
        a, b, c, area = (part[upward > 0] for part in (a, b, c, upward))
        px, py = np.ravel(x)[:, None], np.ravel(y)[:, None]
        of_b = ((px - a[:, 0]) * (c[:, 1] - a[:, 1]) - (py - a[:, 1]) * (c[:, 0] - a[:, 0])) / area
        of_c = ((b[:, 0] - a[:, 0]) * (py - a[:, 1]) - (b[:, 1] - a[:, 1]) * (px - a[:, 0])) / area
        inside = (of_b >= -ROUND_OFF) & (of_c >= -ROUND_OFF) & (of_b + of_c <= 1 + ROUND_OFF)
        heights = a[:, 2] + of_b * (b[:, 2] - a[:, 2]) + of_c * (c[:, 2] - a[:, 2])
        return np.where(inside, heights, -np.inf).max(axis=1).reshape(np.shape(x))


@dataclass(frozen=True, eq=False)
class RockField:
    """Rocks on a rectangle of ground. Their centres lie inside it, and no two overlap seen from above."""

    rocks: tuple[Rock, ...]  # largest first
    size: tuple[float, float]  # [m] along x and y
    origin: tuple[float, float]  # [m] corner with the smallest x and y
    left_out: int = 0  # rocks that were dropped because they reach into a keep-out circle

    @property
    def fixed(self) -> tuple[Rock, ...]:
        return tuple(rock for rock in self.rocks if not rock.movable)

    @property
    def movable(self) -> tuple[Rock, ...]:
        return tuple(rock for rock in self.rocks if rock.movable)

    @property
    def diameters(self) -> np.ndarray:
        """Diameters [m], (rock,)."""
        return np.array([rock.diameter for rock in self.rocks])

    @property
    def area_fraction(self) -> float:
        """Fraction of the rectangle that the rocks cover, at pi D^2 / 4 each."""
        return float(np.pi / 4 * (self.diameters**2).sum() / (self.size[0] * self.size[1]))

    def mesh(self) -> tuple[np.ndarray, np.ndarray]:
        """All fixed rocks as one mesh: vertices [m], (vertex, 3) in world axes, and triangles (triangle, 3)."""
        if not self.fixed:
            return np.zeros((0, 3)), np.zeros((0, 3), np.int32)
        starts = np.cumsum([0] + [len(rock.vertices) for rock in self.fixed])
        triangles = [rock.triangles + start for rock, start in zip(self.fixed, starts[:-1], strict=True)]
        return np.vstack([rock.world_vertices for rock in self.fixed]), np.vstack(triangles).astype(np.int32)

    def cover(self, ground: ElevationGrid) -> np.ndarray:
        """Nodes of the grid at which a fixed rock stands above the ground, (ny, nx) bool."""
        covered = np.zeros(ground.heights.shape, bool)
        for rock in self.fixed:
            low, high = rock.world_vertices.min(axis=0), rock.world_vertices.max(axis=0)
            columns = slice(*np.searchsorted(ground.x, (low[0], high[0])))
            rows = slice(*np.searchsorted(ground.y, (low[1], high[1])))
            x, y = np.meshgrid(ground.x[columns], ground.y[rows])
            if x.size:
                covered[rows, columns] |= rock.top(x, y) >= ground.heights[rows, columns]
        return covered

    def masked(self, ground: ElevationGrid) -> ElevationGrid:
        """The same ground with bare nodes under fixed rocks, at the resolution of the grid.

        With soil there, both rock and soil would carry the wheel.
        """
        index = np.zeros(ground.heights.shape, np.int32) if ground.soil_index is None else ground.soil_index
        return ground.with_soils(np.where(self.cover(ground), BARE, index), ground.soils)


def rock_field(
    law: SizeLaw = VIKING_1,
    *,
    size: tuple[float, float] = (10.0, 10.0),
    origin: tuple[float, float] | None = None,
    ground: ElevationGrid | None = None,
    seed: int = 0,
    burial: float | tuple[float, float] = BURIAL,
    movable_below: float = 0.0,
    movable_within: tuple[float, float, float, float] | None = None,
    keep_out: Sequence[tuple[float, float, float]] = (),
    gap: float = 0.0,
    whole: bool = False,
    divisions: int = DIVISIONS,
) -> RockField:
    """Place random rocks on a rectangle of `size` [m] with its corner at `origin` (default: centred on the origin).

    `ground`: terrain they lie on (default: z = 0). The number of rocks is Poisson distributed with the density of
    `law`. A rock that overlaps another, or is closer to it than `gap` [m], is placed again. A rock that reaches into a
    `keep_out` circle (x, y, radius) [m] is dropped, so the density elsewhere is unchanged. Rocks smaller than
    `movable_below` [m] lie on the ground and can move: all of them, or only those with their centre inside
    `movable_within` (x_min, x_max, y_min, y_max) [m]. The others are fixed; a random fraction of their height, within
    `burial`, is below the ground at their centre. Neither option changes the positions in plan view. `whole`: rocks lie
    inside the rectangle with all of their surface, not only their centres. `divisions`: of the mesh of a rock, which
    has 20 x 4^divisions triangles.
    """
    lengths = checks.pair(size, "rock field: size", above=0.0)
    corner = (-lengths[0] / 2, -lengths[1] / 2) if origin is None else checks.pair(origin, "rock field: origin")
    shares = _burial(burial)
    apart = checks.number(gap, "rock field: gap", at_least=0.0)
    loose_below = checks.number(movable_below, "rock field: movable_below", at_least=0.0)
    x_min, x_max, y_min, y_max = _region(movable_within)
    circles = _circles(keep_out)
    seed = checks.count(seed, "rock field: seed", at_least=0)
    random = np.random.default_rng(seed)
    expected = law.density() * lengths[0] * lengths[1]
    if not 0 <= expected <= MOST_ROCKS:
        raise InputError(
            f"rock field: {expected:.15g} rocks are expected on {lengths[0]:g} m x {lengths[1]:g} m: allowed are "
            f"at most {MOST_ROCKS}; use a smaller size or omit the smallest rocks"
        )
    diameters = np.sort(law.draw(int(random.poisson(expected)), random))[::-1]
    places = _Places(corner, lengths, apart, random, whole)
    rocks: list[Rock] = []
    for k, diameter in enumerate(diameters.tolist()):
        own = np.random.default_rng([seed, k])  # a stream per rock, so that shapes do not depend on positions
        vertices, triangles = rock_mesh(diameter, own, divisions)
        heading = float(own.uniform(0, 2 * math.pi))
        vertices = vertices @ _turn(heading).T
        reach = _reach(vertices)
        x, y = places.find(diameter, reach)
        if ((np.hypot(circles[:, 0] - x, circles[:, 1] - y)) < circles[:, 2] + reach).any():
            continue
        places.take(x, y, reach)
        movable = diameter < loose_below and x_min <= x <= x_max and y_min <= y <= y_max
        share = 0.0 if movable else float(own.uniform(*shares))
        z = _resting_height(vertices, x, y, ground) if movable else _buried_height(vertices, x, y, share, ground)
        rocks.append(
            Rock(f"rock{len(rocks)}", diameter, np.array([x, y, z]), heading, share, movable, vertices, triangles)
        )
    return RockField(tuple(rocks), lengths, corner, len(diameters) - len(rocks))


class _Places:
    """Positions of the rocks placed so far."""

    def __init__(self, corner, lengths, apart: float, random: np.random.Generator, whole: bool):
        self._corner, self._lengths, self._apart, self._random = np.array(corner), np.array(lengths), apart, random
        self._whole = whole
        self._taken = np.zeros((0, 3))  # [m] x, y, reach

    def find(self, diameter: float, reach: float) -> tuple[float, float]:
        """Find a position at which a rock overlaps no other."""
        border = reach if self._whole else 0.0
        room = np.maximum(self._lengths - 2 * border, 0.0)
        for _ in range(THROWS if (room > 0).all() else 0):
            x, y = self._corner + border + room * self._random.random(2)
            free = np.hypot(self._taken[:, 0] - x, self._taken[:, 1] - y) - self._taken[:, 2]
            if (free >= reach + self._apart).all():
                return float(x), float(y)
        raise InputError(
            f"rock field: no room for a rock of {diameter:.3g} m among {len(self._taken)} others after {THROWS} "
            "attempts; use fewer rocks or a smaller gap"
        )

    def take(self, x: float, y: float, reach: float) -> None:
        self._taken = np.vstack([self._taken, (x, y, reach)])


def _buried_height(vertices: np.ndarray, x: float, y: float, share: float, ground: ElevationGrid | None) -> float:
    """World z [m] of the frame at which the fraction `share` of the rock's height is below the ground at x, y."""
    level = 0.0 if ground is None else float(ground.height(x, y))
    return level - share * float(np.ptp(vertices[:, 2])) - float(vertices[:, 2].min())


def _resting_height(vertices: np.ndarray, x: float, y: float, ground: ElevationGrid | None) -> float:
    """World z [m] of the frame at which the rock just touches the ground."""
    below = 0.0 if ground is None else ground.height(vertices[:, 0] + x, vertices[:, 1] + y)
    return float((below - vertices[:, 2]).max())


def _reach(vertices: np.ndarray) -> float:
    return float(np.hypot(vertices[:, 0], vertices[:, 1]).max())


def _turn(heading: float) -> np.ndarray:
    c, s = math.cos(heading), math.sin(heading)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _burial(given: Any) -> tuple[float, float]:
    low, high = (given, given) if isinstance(given, int | float) else checks.pair(given, "rock field: burial")
    low = checks.number(low, "rock field: burial", at_least=0.0, below=1.0)
    return low, checks.number(high, "rock field: burial, most", at_least=low, below=1.0)


def _region(given: Sequence[float] | None) -> tuple[float, ...]:
    if given is None:
        return -math.inf, math.inf, -math.inf, math.inf
    if len(given) != 4:
        raise InputError(f"rock field: movable_within = {given!r}: allowed are x_min, x_max, y_min and y_max")
    return tuple(checks.number(value, "rock field: movable_within") for value in given)


def _circles(given: Sequence[tuple[float, float, float]]) -> np.ndarray:
    """Check keep-out circles. Returns x, y, radius [m], (circle, 3)."""
    circles = np.zeros((len(given), 3))
    for k, circle in enumerate(given):
        if len(circle) != 3:
            raise InputError(f"rock field: keep_out[{k}] = {circle!r}: allowed are x, y and radius")
        circles[k] = [checks.number(value, f"rock field: keep_out[{k}]") for value in circle]
        checks.number(circles[k, 2], f"rock field: keep_out[{k}], radius", at_least=0.0)
    return circles
