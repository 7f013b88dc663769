"""Courses of convex pieces: stairs, kerb, ditch, blocks, and any mesh or elevation grid split into pieces.

    course = stairs(count=5, rise=0.17, run=0.28, width=1.2)   # up along +x, floor at z = 0
    course = from_mesh("wreck.obj")                            # coacd; method="patches" for faceted courses
    course = from_grid(elevation)                              # a prism under every triangle

A course is fixed in the world and is passed to `grouser.contact.convex.ConvexContact`. The result of
splitting is cached on disk.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from grouser.errors import InputError
from grouser.terrain.convex_split import grid_prisms, split_mesh
from grouser.terrain.course import Course
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.polyhedra import Polyhedron, box, hull

__all__ = ["Course", "blocks", "ditch", "from_grid", "from_mesh", "kerb", "stairs"]


def stairs(
    count: int = 5,
    rise: float = 0.17,
    run: float = 0.28,
    width: float = 1.2,
    *,
    approach: float = 1.0,
    landing: float = 1.0,
    overhang: float = 0.0,
    depth: float = 0.5,
) -> Course:
    """Stairs that climb along +x from a floor at z = 0. The first riser is at x = 0; the stairs are centred on y = 0.

    `approach` and `landing` [m]: length of level ground before and after. `overhang` [m]: horizontal distance by which
    the top of each riser overhangs its foot. `depth` [m]: thickness of the floor. Each piece is one layer of height
    `rise`.
    """
    _lengths("stairs", rise=rise, run=run, width=width, approach=approach, landing=landing, depth=depth)
    if count < 1 or not 0 <= overhang < run:
        raise InputError(f"stairs: count {count}, overhang {overhang} m are not allowed; allowed: 1 or more, 0 to run")
    end = (count - 1) * run + landing
    pieces = [_profile([(-approach, -depth), (end, -depth), (end, 0), (-approach, 0)], width, "floor")]
    for k in range(count):
        x, low, high = k * run, k * rise, (k + 1) * rise
        pieces.append(_profile([(x, low), (end, low), (end, high), (x - overhang, high)], width, f"step {k + 1}"))
    return Course(tuple(pieces), "stairs")


def kerb(
    height: float = 0.12, width: float = 2.0, *, approach: float = 2.0, length: float = 2.0, bevel: float = 0.0,
    depth: float = 0.5,
) -> Course:  # fmt: skip
    """A road up to x = 0, then a kerb of `height` [m] whose edge is bevelled by `bevel` [m]."""
    _lengths("kerb", height=height, width=width, approach=approach, length=length, depth=depth)
    if not 0 <= bevel < min(height, length):
        raise InputError(f"kerb: bevel {bevel} m is not allowed; allowed: 0 to below height and length")
    edge = [(0, height - bevel), (bevel, height)] if bevel else [(0, height)]
    road = _profile([(-approach, -depth), (length, -depth), (length, 0), (-approach, 0)], width, "road")
    return Course((road, _profile([(0, 0), (length, 0), (length, height), *edge], width, "kerb")), "kerb")


def ditch(
    opening: float = 0.6,
    depth: float = 0.4,
    width: float = 2.0,
    *,
    wall_deg: float = 90.0,
    approach: float = 2.0,
    beyond: float = 2.0,
) -> Course:
    """A ditch across the path from x = 0 to `opening` [m]. Its walls stand at `wall_deg`; above 90 they overhang."""
    _lengths("ditch", opening=opening, depth=depth, width=width, approach=approach, beyond=beyond)
    lean = depth / math.tan(math.radians(wall_deg)) if wall_deg != 90 else 0.0
    if not 0 < wall_deg < 180 or opening - 2 * lean <= 0 or min(approach, beyond) + lean <= 0:
        raise InputError(f"ditch: walls at {wall_deg} degrees do not fit an opening of {opening} m and {depth} m depth")
    base = depth + 0.5
    start, end = -approach, opening + beyond
    near = _profile([(start, -depth), (lean, -depth), (0, 0), (start, 0)], width, "near side")
    far = _profile([(opening - lean, -depth), (end, -depth), (end, 0), (opening, 0)], width, "far side")
    bottom = _profile([(start, -base), (end, -base), (end, -depth), (start, -depth)], width, "bottom")
    return Course((near, far, bottom), "ditch")


def blocks(
    count: int = 40,
    area: tuple[float, float] = (4.0, 3.0),
    size: tuple[float, float] = (0.1, 0.4),
    *,
    seed: int = 0,
    tilt_deg: float = 10.0,
    depth: float = 0.5,
) -> Course:
    """Random boxes on level ground round the origin: sides within `size` [m], any heading, tilt up to `tilt_deg`."""
    _lengths("blocks", length=area[0], width=area[1], least=size[0], most=size[1], depth=depth)
    if count < 1 or size[0] > size[1]:
        raise InputError(f"blocks: count {count}, size {size} are not allowed; allowed: 1 or more, (least, most)")
    rng = np.random.default_rng(seed)
    pieces = [box((area[0], area[1], depth), (0, 0, -depth / 2), "ground")]
    for k in range(count):
        sides = rng.uniform(*size, 3)
        tilt = math.radians(tilt_deg) * rng.uniform(-1, 1, 2)
        place = np.array([*(rng.uniform(-0.5, 0.5, 2) * area), 0.25 * sides[2]])
        turned = box(sides.tolist(), name=f"block {k + 1}").placed((0, 0, 0), (0, 0, rng.uniform(-math.pi, math.pi)))
        pieces.append(turned.placed(place.tolist(), (*tilt, 0)))
    return Course(tuple(pieces), "blocks")


def from_mesh(
    source: str | Path | tuple[np.ndarray, np.ndarray],
    *,
    method: str = "coacd",
    thickness: float = 0.1,
    threshold: float = 0.05,
    cache: str | Path | None = None,
) -> Course:
    """Split a mesh, given as a file or as (vertices [m], triangles), into convex pieces.

    Method `coacd` takes closed meshes of any shape; `threshold` is the relative concavity it allows. Method `patches`
    grows convex patches over faceted courses (Stadukhin 2016, "Разбиение трассы") and makes each a solid of `thickness`
    [m] behind its faces; it takes open meshes too.
    """
    return Course(*_named(split_mesh(source, method, thickness, threshold, cache), "mesh"))


def from_grid(elevation: ElevationGrid, *, depth: float = 0.5) -> Course:
    """Split an elevation grid into prisms, one under each triangle, down to `depth` [m] below the lowest node."""
    _lengths("grid", depth=depth)
    return Course(*_named(grid_prisms(elevation, depth), "grid"))


def _named(pieces: Sequence[Polyhedron], name: str) -> tuple[tuple[Polyhedron, ...], str]:
    return tuple(pieces), name


def _lengths(where: str, **values: float) -> None:
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise InputError(f"{where}: {name} {value} m is not allowed; it must be above 0 m")


def _profile(corners: Sequence[tuple[float, float]], width: float, name: str) -> Polyhedron:
    """Extrude a convex outline in the x-z plane to `width` [m], centred on y = 0."""
    points = [(x, y, z) for x, z in corners for y in (-width / 2, width / 2)]
    return hull(points, name)
