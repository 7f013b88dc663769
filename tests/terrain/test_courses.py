"""Courses: generators, splitting, seams, the cache."""

from __future__ import annotations

import math

import numpy as np
import pytest

from grouser.errors import InputError
from grouser.terrain import convex_split
from grouser.terrain.course import Course
from grouser.terrain.courses import blocks, ditch, from_grid, from_mesh, kerb, stairs
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.polyhedra import box, hull, prism

WITHIN = 1e-9


def inside(course: Course, points) -> np.ndarray:
    points = np.atleast_2d(points)
    return np.any([(points @ p.normals.T <= p.offsets + WITHIN).all(1) for p in course], axis=0)


def test_box_and_prism_are_closed_and_of_the_right_volume():
    assert box((1, 2, 3)).volume == pytest.approx(6)
    wheel = prism(0.1, 0.05, 10)
    assert wheel.volume == pytest.approx(0.5 * 10 * 0.01 * math.sin(2 * math.pi / 10) * 0.05)
    assert len(wheel.faces) == 12
    assert wheel.vertices[:, 2].min() == pytest.approx(-0.1 * math.cos(math.pi / 10))  # a flat side below


@pytest.mark.parametrize(
    "solid", [hull(np.random.default_rng(0).normal(size=(30, 3))), box((0.3, 0.4, 0.5), (1, 2, 3)), prism(0.1, 0.2, 7)]
)
def test_faces_look_outward(solid):
    middle = solid.vertices.mean(0)
    assert (solid.normals @ middle < solid.offsets).all()
    for face, normal in zip(solid.faces, solid.normals, strict=True):
        ring = solid.vertices[list(face)]
        assert np.cross(ring[1] - ring[0], ring[2] - ring[1]) @ normal > 0


def test_stairs_have_treads_where_they_should():
    course = stairs(count=4, rise=0.2, run=0.3, width=1.0, overhang=0.05)
    for k in range(4):
        x, z = k * 0.3 + 0.15, (k + 1) * 0.2
        assert inside(course, (x, 0, z - 1e-6))
        assert not inside(course, (x, 0, z + 1e-6))
        assert inside(course, (k * 0.3 - 0.04, 0, z - 1e-3))  # the riser hangs over
        assert not inside(course, (k * 0.3 - 0.04, 0, z - 0.19))


def test_ditch_with_overhanging_walls():
    course = ditch(opening=0.6, depth=0.4, wall_deg=110)
    assert not inside(course, (-0.05, 0, -0.39))  # under the brink
    assert inside(course, (-0.05, 0, -0.01))
    assert inside(course, (0.3, 0, -0.41))
    assert not inside(course, (0.3, 0, -0.39))


def test_kerb_and_blocks():
    assert inside(kerb(0.12, bevel=0.02), (0.001, 0, 0.09))
    assert not inside(kerb(0.12, bevel=0.02), (0.001, 0, 0.119))
    one, two = blocks(20, seed=1), blocks(20, seed=1)
    assert len(one) == 21
    assert all(np.array_equal(a.vertices, b.vertices) for a, b in zip(one, two, strict=True))


def step_mesh(rows: int = 1):
    """An open surface of two steps, drawn along x; every face cut into 2 x rows triangles."""
    profile = [(-1, 0), (0, 0), (0, 0.2), (0.3, 0.2), (0.3, 0.4), (1, 0.4)]
    across = np.linspace(-0.5, 0.5, rows + 1)
    vertices = np.array([(x, y, z) for x, z in profile for y in across])
    n = rows + 1
    triangles = []
    for k in range(len(profile) - 1):
        for j in range(rows):
            a, b, c, d = k * n + j, k * n + j + 1, (k + 1) * n + j, (k + 1) * n + j + 1
            triangles += [(a, c, b), (b, c, d)]
    return vertices, np.array(triangles)


@pytest.mark.parametrize("rows", [1, 3])
def test_patches_are_convex_solids_behind_the_surface(tmp_path, rows):
    """Step and tread make one patch, as in Fig. 5 of Stadukhin 2016; the surface is the solids' own, and nothing stands
    out.
    """
    vertices, triangles = step_mesh(rows)
    course = from_mesh((vertices, triangles), method="patches", thickness=0.1, cache=tmp_path)
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    middle = (a + b + c) / 3
    assert inside(course, middle - 1e-6 * normal).all()
    assert not inside(course, middle + 1e-6 * normal).any()
    assert len(course) < len(triangles) / 1.5
    if rows == 1:
        assert len(course) == 3


def test_growing_looks_at_the_whole_piece():
    """A ring of facets round a saddle: each bend to its neighbour is convex, all of them together are not."""
    angle = np.linspace(0, 2 * np.pi, 9)[:-1]
    ring = np.column_stack([np.cos(angle), np.sin(angle), -0.3 * (np.arange(8) % 2)])
    vertices = np.vstack([ring, [[0, 0, 0.1]]])
    triangles = np.array([(k, (k + 1) % 8, 8) for k in range(8)])
    for cloud in convex_split.grow_patches(vertices, triangles, 0.2):
        solid = hull(cloud)
        for t in triangles:
            above = vertices[t].mean(0) + np.array([0, 0, 1e-3])
            assert not (above @ solid.normals.T <= solid.offsets).all()


def test_mesh_is_split_once(tmp_path, monkeypatch):
    trimesh = pytest.importorskip("trimesh")
    pytest.importorskip("coacd")
    ring = trimesh.creation.annulus(0.3, 0.5, 0.2, sections=12)
    first = from_mesh((ring.vertices, ring.faces), cache=tmp_path, threshold=0.2)
    assert len(list(tmp_path.iterdir())) == 1
    monkeypatch.setattr(convex_split, "_coacd", None)  # it would be called
    again = from_mesh((ring.vertices, ring.faces), cache=tmp_path, threshold=0.2)
    assert len(first) == len(again) > 2
    assert not inside(first, (0, 0, 0))  # the hole is kept
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"damaged")
    with pytest.raises(TypeError):  # it is split anew
        from_mesh((ring.vertices, ring.faces), cache=tmp_path, threshold=0.2)


def test_grid_prisms_follow_the_surface():
    rng = np.random.default_rng(2)
    grid = ElevationGrid(0.2 * rng.random((5, 6)), 0.5, (1.0, 2.0))
    course = from_grid(grid)
    assert len(course) == 2 * 4 * 5
    nodes = np.array(
        [(x, y, z) for y, row in zip(grid.y, grid.heights, strict=True) for x, z in zip(grid.x, row, strict=True)]
    )
    up = np.array([0, 0, 1e-6])
    assert inside(course, nodes - up).all()
    assert not inside(course, nodes + up).any()


def test_seams_of_level_tiles_are_found_and_ridges_are_not():
    tiles = Course((box((1, 1, 1), (0, 0, 0)), box((1, 1, 1), (1, 0, 0))))
    first = tiles.seams[0]
    (covered,) = np.flatnonzero(first.covered)
    assert tiles[0].normals[covered] == pytest.approx([1, 0, 0])
    assert sum(int(edge.sum()) for edge in first.edges) == 4  # of the four faces round it
    assert not first.ridge.any()
    bent = Course((box((1, 1, 1), (-0.5, 0, -0.5)).placed((0, 0, 0), (0, -0.2, 0)), hull(
        [(0, y, z) for y in (-0.5, 0.5) for z in (0, -1)] + [(1, y, z - 0.2) for y in (-0.5, 0.5) for z in (0, -1)]
    )))  # fmt: skip
    assert bent.seams[1].ridge.any() or not bent.seams[1].covered.any()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: stairs(count=0), "count 0"),
        (lambda: stairs(rise=-1.0), "rise"),
        (lambda: ditch(wall_deg=20.0), "do not fit"),
        (lambda: kerb(bevel=1.0), "bevel"),
        (lambda: blocks(size=(0.5, 0.1)), "size"),
        (lambda: from_mesh("no-such-file.obj"), "no-such-file.obj"),
        (lambda: from_mesh(step_mesh(), method="magic"), "method"),
        (lambda: Course(()), "no pieces"),
        (lambda: prism(0.1, 0.1, 2), "sides 2"),
    ],
)
def test_bad_input_is_named(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_seams_of_large_courses_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("GROUSER_CACHE", str(tmp_path))
    tiles = tuple(box((1, 1, 1), (i, j, 0)) for i in range(25) for j in range(20))
    first = Course(tiles)
    monkeypatch.setattr("grouser.terrain.course.find_seams", None)  # it would be called
    again = Course(tiles)
    for one, two in zip(first.seams, again.seams, strict=True):
        assert np.array_equal(one.covered, two.covered)
        assert np.array_equal(one.cover, two.cover)
        assert np.array_equal(one.ridge, two.ridge)
        assert all(np.array_equal(a, b) for a, b in zip(one.edges, two.edges, strict=True))


def test_patches_of_an_overhang_do_not_stick_out_of_the_surface(tmp_path):
    """A tread that hangs over its riser: the solid of the riser stays below the tread, that of the tread behind it."""
    profile = [(0.6, 0.0), (0.45, 0.3), (2.0, 0.3)]
    vertices = np.array([(x, y, z) for x, z in profile for y in (-1.0, 1.0)])
    triangles = np.array([f for k in (0, 2) for f in ((k, k + 2, k + 3), (k, k + 3, k + 1))])
    course = from_mesh((vertices, triangles), method="patches", thickness=0.2, cache=tmp_path)
    lean = np.array([-0.3, 0.0, -0.15]) / np.hypot(0.3, 0.15)  # out of the riser
    for piece in course:
        assert piece.vertices[:, 2].max() <= 0.3 + 1e-9
        assert ((piece.vertices - vertices[0]) @ lean).max() <= 1e-9
