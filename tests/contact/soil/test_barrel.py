"""The barrel of a wheel: heights over nodes, triangles and rims against closed forms, fine meshes and the triangles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from grouser.contact.soil import SoilModule, SoilOptions, Surface, barrel, per_world, prepare, surface_lanes, wheel
from grouser.contact.soil import types as t
from grouser.contact.soil.small_shapes import keep_triangles
from grouser.contact.soil.vertex_cloud import vertex_cloud
from grouser.device import at
from grouser.precision import precision
from grouser.simulation.shapes import box, placed, revolved
from grouser.terrain import flat, soil
from grouser.terrain.ground import Ground
from tests.device_call import call
from tests.rig import ManufacturedMotion

RADIUS, WIDTH, SINKAGE, CELL = 0.15, 0.1, 0.02, 0.01
CUT = CELL  # [m] height above which nothing is looked for: the soil is at 0
TYPES = ["float64", "float32"]
ROUND_OFF = {"float64": 1e-12, "float32": 1e-5}  # [m]
# Tilt of the axle, turn about it and heading [rad].
LEVEL, TILTED = (0.0, 0.3, 0.4), (0.08, -0.7, 1.2)
POSES = [(0.0, 0.0, 0.0), LEVEL, TILTED, (-0.3, 2.0, -2.0), (0.8, 1.0, 1.5), (0.2, -3.0, 0.5 * np.pi)]


def rotation(tilt: float, turn: float, heading: float) -> np.ndarray:
    def about(axis: int, angle: float) -> np.ndarray:
        c, s, one = np.cos(angle), np.sin(angle), np.eye(3)
        i, j = (axis + 1) % 3, (axis + 2) % 3
        one[i, i], one[i, j], one[j, i], one[j, j] = c, -s, s, c
        return one

    return about(2, heading) @ about(0, tilt) @ about(1, turn)


class Bed:
    """A wheel that stands in level soil, and what the stage `raster` finds below it."""

    def __init__(
        self, surface: Surface, angles: Any = LEVEL, *, at_xy: Any = (0.0013, -0.0042), sinkage: float = SINKAGE,
        dtype: str = "float64", lanes: bool = False,
    ):  # fmt: skip
        p = precision(dtype)
        ground = Ground(flat(size=(1, 1), spacing=0.25, origin=(-0.5, -0.5)), soil("dry-sand"), CELL, dtype=dtype)
        self.module = SoilModule(ground, {"wheel": surface}, SoilOptions(threads="per-world"))
        ManufacturedMotion(self.module, dtype=dtype)
        a, self.R = self.module.arrays, rotation(*angles) if isinstance(angles, tuple) else angles
        low = (surface.vertices @ self.R.T)[:, 2].min()
        self.position = np.array([*at_xy, -sinkage - low])
        side = a.window.side
        self.row0 = self.column0 = 50 - side // 2
        self.rows = min(side, 101 - self.row0)
        frame = a.window.frame.numpy()
        frame[0] = (self.row0, self.column0, self.rows, self.rows)
        a.window.frame.assign(frame)
        a.skin.height.fill_(t.FAR)
        a.placement.top.fill_(0.0)
        a.placement.below.fill_(0.0)
        m = at(t.BodyMotion, dtype)()
        m.position, m.R, m.duration = p.vec3(*self.position), p.mat33(*self.R.ravel()), 1e-3
        replaced = {k: v for k, v in surface_lanes.surface_stages().items() if k is barrel.lower_nodes and lanes}
        given = (a.ground, a.bodies, a.placement)
        call(at(per_world.place_vertices, dtype), *given, a.vertices, 0, 0, 0, m)
        call(at(per_world.raster_body, dtype, replaced), *given, a.window, a.vertices, a.skin, 0, 0, 0, m)
        shape = (-1, side)
        self.height = a.skin.height.numpy().reshape(shape)[: self.rows, : self.rows]
        self.triangle = a.skin.triangle.numpy().reshape(shape)[: self.rows, : self.rows]
        self.reach = a.skin.reach.numpy().reshape(*shape, 4)[: self.rows, : self.rows]
        self.mark = a.window.mark.numpy().reshape(shape)[: self.rows, : self.rows]
        self.hit = a.skin.hit.numpy()[0]
        i, j = np.mgrid[: self.rows, : self.rows]
        self.x, self.y = (j + self.column0) * CELL - 0.5, (i + self.row0) * CELL - 0.5
        self.vertices = a.vertices.place.numpy()[0]

    @property
    def covered(self) -> np.ndarray:
        return self.height < t.FAR / 10


def by_triangles(surface: Surface) -> Surface:
    """The wheel as a mesh, whose triangles are found one by one."""
    return replace(surface, barrel=None)


def lowest_point(bed: Bed, radius: float, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Height [m] of the cylinder over each node by the quadratic formula; whether that is a point that presses."""
    axis, centre = bed.R[:, 1], bed.position
    x, y = bed.x - centre[0], bed.y - centre[1]
    # |d|^2 - (d.a)^2 = R^2 for d = (x, y, t)
    p = x * axis[0] + y * axis[1]
    square, half, rest = 1 - axis[2] ** 2, -p * axis[2], x**2 + y**2 - p**2 - radius**2
    root = half**2 - square * rest
    with np.errstate(invalid="ignore"):
        height = (-half - np.sqrt(root)) / square
        along = p + height * axis[2]
        normal = (height - along * axis[2]) / radius
        presses = (root > 0) & (np.abs(along) <= width / 2) & (normal < -0.1)
    return centre[2] + height, presses


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("angles", POSES)
def test_heights_are_those_of_an_inclined_cylinder(angles, dtype):
    bed = Bed(wheel(RADIUS, WIDTH), angles, dtype=dtype)
    height, presses = lowest_point(bed, RADIUS, WIDTH)
    wanted = presses & (height <= CUT)
    assert wanted.sum() > 40
    assert np.abs(bed.height - height)[wanted].max() < ROUND_OFF[dtype]
    if abs(angles[0]) < 0.09:  # else the side presses too
        assert not (bed.covered & ~presses).any()
        end = RADIUS * 2 * np.pi / 144 + WIDTH * abs(np.sin(angles[0]))
        assert (height[bed.covered] < CUT + end).all(), "up to the end of a facet"
    i, j = np.nonzero(bed.covered)
    assert (bed.hit["row0"], bed.hit["column0"]) <= (i.min(), j.min())
    assert bed.hit["row1"] >= i.max()
    assert bed.hit["column1"] >= j.max()


def test_walls_do_not_press():
    """Where a wheel is as deep as its axle its rim stands upright, and a wheel on its side presses with that alone."""
    surface, found = wheel(RADIUS, WIDTH), 0
    for shift in np.arange(0.0, CELL, CELL / 5):
        deep = Bed(surface, (0.0, 0.0, 0.25 * np.pi), at_xy=(shift, 0.0), sinkage=1.1 * RADIUS)
        place = np.stack([deep.x - deep.position[0], deep.y - deep.position[1]], -1) @ deep.R[:2, :2]
        middle, across = np.abs(place[..., 1]) < 0.9 * WIDTH / 2, np.abs(place[..., 0]) / RADIUS
        assert deep.covered[middle & (across < 0.99)].all()
        wall = middle & (across > 0.9955) & (across < 1.0)
        assert not deep.covered[wall].any()
        found += wall.sum()
    assert found > 4
    lying = Bed(surface, (1.5, 0.3, 0.4))
    assert lying.covered.sum() > 500
    assert (lying.triangle[lying.covered] < surface.barrel.first).all()


def test_a_barrel_elsewhere_in_its_body_is_the_same_one():
    """A geom lies anywhere in its body, and its axis in any direction."""
    turn, offset = rotation(0.5, 0.7, -0.4), np.array([0.03, -0.02, 0.05])
    moved = placed(wheel(RADIUS, WIDTH), turn, offset)
    R, at_xy = rotation(*TILTED), np.array([0.0013, -0.0042])
    own = R @ turn.T  # rotation of the body in which the wheel is as before
    here, there = Bed(wheel(RADIUS, WIDTH), R, at_xy=at_xy), Bed(moved, own, at_xy=at_xy - (own @ offset)[:2])
    assert np.array_equal(here.covered, there.covered)
    assert np.abs(here.height - there.height)[here.covered].max() < ROUND_OFF["float64"]
    assert np.array_equal(here.triangle[here.covered], there.triangle[here.covered])
    assert np.abs(here.reach - there.reach).max() < 1e-9


@pytest.mark.parametrize("angles", [(0.0, 0.3, 0.4), TILTED, (-0.3, 2.0, -2.0)])
def test_triangles_of_finer_meshes_come_closer(angles):
    """A wheel of triangles with twice the facets is four times closer to the cylinder."""
    exact = Bed(wheel(RADIUS, WIDTH), angles)
    errors = []
    for facets in (72, 144, 288):
        bed = Bed(by_triangles(wheel(RADIUS, WIDTH, facets=facets)), angles)
        both = exact.covered & bed.covered & (exact.height < 0)
        assert both.sum() > 60
        errors.append(np.abs(exact.height - bed.height)[both].max())
    sag = RADIUS * (1 - np.cos(np.pi / 144))
    assert 0.05 * sag < errors[1] < sag
    assert errors[1] < errors[0] / 3
    assert errors[2] < errors[1] / 3


def twice_area(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Twice the area of triangles in plan view, of corners (triangle, 2)."""
    return (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]


@pytest.mark.parametrize("strips", [1, 2, 3])
@pytest.mark.parametrize("angles", POSES)
def test_every_node_gets_the_triangle_above_it(angles, strips):
    surface = wheel(RADIUS, WIDTH, strips=strips)
    bed, old = Bed(surface, angles), Bed(by_triangles(surface), angles)
    assert not (old.covered & ~bed.covered).any()
    both = old.covered & bed.covered & (bed.triangle >= surface.barrel.first)
    other = bed.triangle != old.triangle
    assert (other & both).sum() <= 1
    corners = bed.vertices[surface.triangles[bed.triangle[both]]]
    i, j = np.nonzero(both)
    to = np.stack([j + bed.column0, i + bed.row0], axis=-1)
    a, b, c = (corners[:, k, :2] for k in range(3))
    shares = np.stack([twice_area(to, p, q) for p, q in ((b, c), (c, a), (a, b))]) / twice_area(a, b, c)
    assert shares.min() > -0.005, "which half of a facet it is depends on where the line meets it: bent or flat"


def crossings(bed: Bed, radius: float, width: float, samples: int = 400_000) -> np.ndarray:
    """How far the body extends past each node, from places along the two rims that lie very close to each other."""
    reach = np.zeros_like(bed.reach)
    angle = 2 * np.pi * np.arange(samples + 1) / samples
    for side in (-width / 2, width / 2):
        rim = np.stack([radius * np.cos(angle), np.full_like(angle, side), radius * np.sin(angle)], -1)
        x, y, z = (rim @ bed.R.T + bed.position).T
        column, row = (x + 0.5) / CELL - bed.column0, (y + 0.5) / CELL - bed.row0
        for line, across, out, back in ((column, row, t.NORTH, t.SOUTH), (row, column, t.EAST, t.WEST)):
            for k in np.flatnonzero((np.floor(line[1:]) != np.floor(line[:-1])) & (z[1:] <= CUT)):
                at_line = round(max(np.floor(line[k]), np.floor(line[k + 1])))
                share = (at_line - line[k]) / (line[k + 1] - line[k])
                at_node = across[k] + share * (across[k + 1] - across[k])
                n = int(np.floor(at_node))
                nodes = [(n, at_line), (n + 1, at_line)] if out == t.NORTH else [(at_line, n), (at_line, n + 1)]
                for node, way, past in zip(nodes, (out, back), (at_node - n, n + 1 - at_node), strict=True):
                    reach[node][way] = max(reach[node][way], past)
    return reach


@pytest.mark.parametrize("angles", [LEVEL, TILTED, (-0.3, 2.0, -2.0), (0.2, -3.0, 1.4), (1.3, 0.3, 0.4)])
def test_rims_tell_how_far_the_body_goes_on(angles):
    bed = Bed(wheel(RADIUS, WIDTH), angles)
    expected = crossings(bed, RADIUS, WIDTH)
    assert np.count_nonzero(expected) > 50
    assert np.abs(bed.reach - expected).max() < 1e-6


@pytest.mark.parametrize("angles", [(0.0, 0.0, 0.0), LEVEL, TILTED])
def test_rims_mark_the_nodes_that_edges_of_a_mesh_mark(angles):
    surface = wheel(RADIUS, WIDTH)
    bed, old = Bed(surface, angles), Bed(by_triangles(surface), angles)
    assert (old.mark == t.BESIDE).sum() > 10
    assert (bed.mark != old.mark).sum() <= 2


@pytest.mark.parametrize("shift", [0.0, 1e-12, -1e-12, 1e-7, -1e-7])
@pytest.mark.parametrize("lean", [0.0, 1e-3, -0.05])
def test_cells_below_a_wheel_are_as_long_as_it_is_wide(lean, shift):
    """Also where a rim passes right beside a node: else a cell would be lost, or counted twice."""
    rim = np.cos(lean) * WIDTH / 2 + np.sin(lean) * RADIUS  # of the lowest line, from the middle
    bed = Bed(wheel(RADIUS, WIDTH), (lean, 0.0, 0.0), at_xy=(0.0, 0.05 - rim + shift))
    inside = np.pad(bed.covered, ((1, 1), (0, 0)))
    north = np.where(inside[2:], 0.5, bed.reach[..., t.NORTH])
    south = np.where(inside[:-2], 0.5, bed.reach[..., t.SOUTH])
    length = np.where(bed.covered, north + south, 0.0).sum(axis=0)
    sunk = np.where(bed.covered, bed.height, 0.0).min(axis=0) < -0.005
    assert sunk.sum() > 10
    assert np.abs(length[sunk] - np.cos(lean) * WIDTH / CELL).max() < 1e-6


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("size", [(RADIUS, WIDTH), (0.03, 0.03)], ids=["wide", "narrower than the lanes"])
@pytest.mark.parametrize("angles", POSES)
def test_eight_nodes_at_once_are_eight_nodes(angles, size, dtype):
    one, eight = (Bed(wheel(*size), angles, dtype=dtype, lanes=lanes) for lanes in (False, True))
    assert one.covered.sum() > 10
    assert np.array_equal(one.covered, eight.covered)
    assert np.abs(one.height - eight.height)[one.covered].max() < ROUND_OFF[dtype]
    other = (one.triangle != eight.triangle) & one.covered
    assert other.sum() <= (0 if dtype == "float64" else 1), "but for round-off between two triangles"


def test_triangles_of_a_barrel_are_in_the_order_of_facets_and_strips():
    for strips in (1, 3):
        surface = wheel(RADIUS, WIDTH, facets=60, strips=strips)
        rolling = surface.barrel
        assert (rolling.facets, rolling.strips, rolling.first) == (60, strips, len(surface.triangles) - 120 * strips)
        middle = surface.vertices[surface.triangles].mean(axis=1)
        side = np.cross(rolling.start, rolling.axis)
        turn = (np.arctan2(middle @ side, middle @ rolling.start) * 60 / (2 * np.pi)) % 60
        strip = (middle @ rolling.axis + WIDTH / 2) * strips / WIDTH
        number = 2 * (turn.astype(int) * strips + strip.astype(int)) + (turn % 1 + strip % 1 > 1)
        assert np.array_equal(number[rolling.first :], np.arange(120 * strips))
        assert np.linalg.norm(middle[: rolling.first, ::2], axis=1).min() < 0.5 * RADIUS, "what is left are the sides"


def test_only_what_is_certainly_round_is_taken_for_a_cylinder():
    assert wheel(RADIUS, WIDTH).barrel is not None
    assert wheel(RADIUS, WIDTH, grouser_height=0.01, grouser_count=24).barrel is not None
    assert wheel(RADIUS, WIDTH, facets=6).barrel is None, "its facets are flat"
    profile = np.array([[-0.05, 0.0], [-0.05, 0.15], [0.05, 0.15], [0.05, 0.0]])
    for mesh in (box(np.array([0.1, 0.05, 0.02])), revolved(profile[:, 1], profile[:, 0])):
        assert prepare(*mesh).barrel is None
    whole = wheel(RADIUS, WIDTH)
    assert keep_triangles(whole, whole.triangles[:100]).barrel is None
    assert vertex_cloud(whole, CELL).barrel is None


@pytest.mark.parametrize("dtype", TYPES)
def test_arc_tangent(dtype):
    for x in np.linspace(-1, 1, 21):
        got: Any = call(at(barrel.arctan, dtype), precision(dtype).real(x), returns=precision(dtype).real)
        assert got == pytest.approx(np.arctan(x), abs=3e-8 if dtype == "float64" else 2e-7)
