"""Meshes as the soil takes them: closed, outward, round where they should be, and refused where they are wrong."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grouser.contact.soil.surface import (
    CHUNK,
    UPRIGHT,
    chunks,
    divide,
    face_normals,
    lug_share,
    prepare,
    weld,
    wheel,
)
from grouser.errors import InputError
from grouser.simulation.shapes import box, revolved

ROUND_OFF = 1e-12  # of sums over a few thousand triangles, relative
ROUNDNESS = 0.02  # of the sag: the bow is a parabola where the rim is a circle (fourth order of the facet's angle)
SINE_ROUND_OFF = 1e-7  # sqrt(1 - c^2) of a cosine that is 1 up to round-off
QUARTERS = 64  # points over which a lug's share of a facet is counted


def tetrahedron(size: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    vertices = size * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
    return vertices, np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])


def sphere(radius: float) -> tuple[np.ndarray, np.ndarray]:
    angle = np.linspace(-np.pi / 2, np.pi / 2, 26)
    return revolved(radius * np.cos(angle), radius * np.sin(angle))


def volume(vertices: np.ndarray, triangles: np.ndarray) -> float:
    a, b, c = vertices[triangles].transpose(1, 0, 2)
    return float(np.einsum("ti,ti->", a, np.cross(b, c)) / 6)


def directed_edges(triangles: np.ndarray) -> Counter:
    return Counter((int(t[k]), int(t[(k + 1) % 3])) for t in triangles for k in range(3))


def is_closed(triangles: np.ndarray) -> bool:
    """Every edge once each way: no hole, no flap, all faces turned alike."""
    edges = directed_edges(triangles)
    return set(edges.values()) == {1} and all((b, a) in edges for a, b in edges)


def lengths(vertices: np.ndarray, edges: np.ndarray) -> np.ndarray:
    return np.linalg.norm(vertices[edges[:, 0]] - vertices[edges[:, 1]], axis=1)


wheels = pytest.mark.parametrize(
    ("radius", "width", "facets"), [(0.15, 0.1, 180), (0.15735, 0.165, 180), (0.05, 0.03, 60), (0.4, 0.5, 90)]
)


@wheels
def test_wheel_is_closed_and_turned_outward(radius, width, facets):
    w = wheel(radius, width, facets=facets)
    assert is_closed(w.triangles)
    prism = facets / 2 * radius**2 * np.sin(2 * np.pi / facets) * width
    assert volume(w.vertices, w.triangles) == pytest.approx(prism, rel=ROUND_OFF)
    assert np.linalg.norm(w.vertices[:, ::2], axis=1).max() == pytest.approx(radius, rel=ROUND_OFF)
    assert np.abs(w.vertices[:, 1]).max() == pytest.approx(width / 2, rel=ROUND_OFF)
    assert w.width == width


@wheels
def test_bow_of_the_facets_makes_the_rim_round(radius, width, facets):
    """Without it every facet would be up to its sag inside the circle."""
    w = wheel(radius, width, facets=facets)
    corner = w.vertices[w.triangles]
    tread = (np.linalg.norm(corner[..., ::2], axis=2) > radius * (1 - 1e-9)).all(axis=1) & (
        np.ptp(corner[..., 1], axis=1) > 0
    )
    side = np.ptp(corner[..., 1], axis=1) == 0
    n = face_normals(w.vertices, w.triangles)
    n /= np.linalg.norm(n, axis=1)[:, None]
    sag = radius * (1 - np.cos(np.pi / facets))
    for share in np.random.default_rng(1).dirichlet([1, 1, 1], size=20):
        a, b, c = share
        bow = w.bulge[:, 0] * a * b + w.bulge[:, 1] * b * c + w.bulge[:, 2] * c * a
        point = np.einsum("c,tci->ti", share, corner) + bow[:, None] * n
        away = np.linalg.norm(point[tread][:, ::2], axis=1) - radius
        assert np.abs(away).max() < ROUNDNESS * sag
        flat = np.linalg.norm((point - bow[:, None] * n)[tread][:, ::2], axis=1)
        assert (flat < radius).all()
        assert (bow[side] == 0).all()


def test_sharp_bodies_do_not_bow():
    for mesh in (box(np.array([0.1, 0.05, 0.02])), tetrahedron()):
        assert np.abs(prepare(*mesh).bulge[:, :3]).max() < 1e-15
    round_one = prepare(*sphere(0.1))
    assert (round_one.bulge[:, :3] > 0).any(axis=1).all()


@wheels
def test_creases_of_a_wheel_are_its_two_rims(radius, width, facets):
    w = wheel(radius, width, facets=facets)
    assert len(w.creases) == 2 * facets
    ends = w.vertices[w.creases]
    assert np.linalg.norm(ends[..., ::2], axis=2) == pytest.approx(radius, rel=1e-9)
    assert np.abs(ends[..., 1]) == pytest.approx(width / 2, rel=1e-9)


def test_creases_of_a_box_are_its_edges_and_of_a_plate_its_border():
    a, b, c = 0.2, 0.1, 0.04
    s = prepare(*box(np.array([a, b, c]) / 2))
    assert lengths(s.vertices, s.creases).sum() == pytest.approx(4 * (a + b + c), rel=ROUND_OFF)
    plate = np.array([[0, 0, 0], [a, 0, 0], [a, b, 0], [0, b, 0]])
    s = prepare(plate, np.array([[0, 2, 1], [0, 3, 2]]))
    assert lengths(s.vertices, s.creases).sum() == pytest.approx(2 * (a + b), rel=ROUND_OFF)
    assert len(prepare(*sphere(0.1)).creases) == 0


@given(st.floats(0.05, 0.3), st.floats(0.05, 0.3), st.floats(0.05, 0.3), st.floats(0.05, 0.2))
def test_dividing_keeps_the_body_and_shortens_its_edges(a, b, c, longest):
    vertices, triangles = box(np.array([a, b, c]) / 2)
    finer, pieces = divide(vertices, triangles, longest)
    corner = finer[pieces]
    assert np.linalg.norm(corner - np.roll(corner, 1, axis=1), axis=2).max() <= longest
    assert volume(finer, pieces) == pytest.approx(a * b * c, rel=1e-9)
    assert is_closed(pieces), "neighbours must split an edge alike"
    assert len(np.unique(pieces)) == len(finer) == len(np.unique(finer.round(9), axis=0))


def test_prepared_edges_are_short_enough_for_the_shear_state():
    s = prepare(*box(np.array([0.2, 0.1, 0.05])), longest_edge=0.02)
    assert s.longest_edge <= 0.02
    assert volume(s.vertices, s.triangles) == pytest.approx(0.4 * 0.2 * 0.1, rel=ROUND_OFF)


def test_vertices_repeated_for_shading_are_welded():
    vertices, triangles = box(np.array([0.1, 0.1, 0.1]))
    apart = vertices[triangles].reshape(-1, 3)
    joined, faces = weld(apart, np.arange(len(apart)).reshape(-1, 3))
    assert len(joined) == 8
    assert is_closed(faces)
    assert volume(joined, faces) == pytest.approx(0.2**3, rel=ROUND_OFF)


bodies = pytest.mark.parametrize(
    "surface",
    [wheel(0.15, 0.1), prepare(*box(np.array([0.2, 0.1, 0.05]))), prepare(*sphere(0.1)), prepare(*tetrahedron())],
    ids=["wheel", "box", "sphere", "tetrahedron"],
)


@bodies
def test_spheres_hold_their_points(surface):
    corners = [surface.vertices[np.unique(t)] for t in chunks(surface.triangles)]
    for spheres, groups in ((surface.triangle_spheres, corners), (surface.vertex_spheres, chunks(surface.vertices))):
        assert len(spheres) == len(groups)
        for sphere, points in zip(spheres, groups, strict=True):
            assert len(points)
            assert np.linalg.norm(points - sphere[:3], axis=1).max() <= sphere[3] * (1 + ROUND_OFF)
            assert sphere[3] <= np.linalg.norm(np.ptp(points, axis=0)) / 2 * (1 + ROUND_OFF)


@bodies
def test_cones_hold_their_normals(surface):
    """A chunk whose cone looks up may be left out: axis . up >= cone[3] means no face in it is more than a wall."""
    unit = face_normals(surface.vertices, surface.triangles)
    unit /= np.linalg.norm(unit, axis=1)[:, None]
    for cone, normals in zip(surface.triangle_cones, chunks(unit), strict=True):
        assert np.linalg.norm(cone[:3]) == pytest.approx(1, rel=1e-9)
        cosine = (normals @ cone[:3]).min()
        if cone[3] <= 1:
            widest = np.arcsin(cone[3]) + np.arcsin(UPRIGHT)
            assert np.sqrt(1 - min(cosine, 1.0) ** 2) <= np.sin(widest) + SINE_ROUND_OFF
        else:
            assert cosine <= 1e-9
        ups = np.random.default_rng(2).normal(size=(200, 3))
        ups /= np.linalg.norm(ups, axis=1)[:, None]
        left_out = ups[ups @ cone[:3] >= cone[3]]
        assert (left_out @ normals.T >= -UPRIGHT - 1e-9).all()


def test_some_of_a_wheel_can_be_left_out():
    """Cones that never close would make the check above empty."""
    w = wheel(0.15, 0.1)
    assert (w.triangle_cones[:, 3] < 0.5).mean() > 0.5
    assert (np.diff([len(c) for c in chunks(w.triangles)])[:-1] == 0).all()
    assert len(chunks(w.triangles)[0]) == CHUNK


@bodies
def test_normals_of_vertices_are_of_length_one_and_outward_or_nil_at_a_crease(surface):
    length = np.linalg.norm(surface.normals, axis=1)
    sharp = np.zeros(len(length), bool)
    sharp[surface.creases] = True
    assert length[~sharp] == pytest.approx(1, rel=1e-9)
    assert ((np.abs(length - 1) < 1e-9) | (length == 0)).all()
    middle = surface.vertices.mean(axis=0)
    outward = np.einsum("vi,vi->v", surface.normals, surface.vertices - middle)
    assert (outward > -1e-9).all()


def test_normals_at_a_rim_are_those_of_the_tread():
    w = wheel(0.15, 0.1)
    rim = np.unique(w.creases)
    radial = w.vertices[rim] * (1, 0, 1) / 0.15
    assert w.normals[rim] == pytest.approx(radial, abs=1e-9)


@pytest.mark.parametrize(("count", "width"), [(24, 0.004), (12, 0.01), (5, 0.002)])
def test_grousers_cover_their_share_of_the_rim(count, width):
    """Summed over the facets: count times width over the circumference."""
    facets, radius = 180, 0.15
    angle = 2 * np.pi * np.arange(facets) / facets
    share = lug_share(angle, 2 * np.pi / facets, radius, count, width)
    expected = count * width / (2 * np.pi * radius)
    counted = count / (facets * QUARTERS)  # a lug's edge falls between two points
    assert share.mean() == pytest.approx(expected, abs=counted)
    w = wheel(radius, 0.1, facets=facets, grouser_height=0.01, grouser_count=count, grouser_width=width)
    assert w.grouser_height == 0.01
    on_rim = np.linalg.norm(w.vertices[:, ::2], axis=1) > radius * (1 - 1e-9)
    assert w.lugs[on_rim].mean() == pytest.approx(share.mean(), rel=1e-9)
    assert (w.lugs[~on_rim] == 0).all()


def test_no_grousers_is_a_smooth_wheel():
    for smooth in (wheel(0.15, 0.1), wheel(0.15, 0.1, grouser_height=0.01), wheel(0.15, 0.1, grouser_count=24)):
        assert smooth.lugs.max() == 0
        assert smooth.grouser_height == 0


def broken(change) -> tuple[np.ndarray, np.ndarray]:
    vertices, triangles = tetrahedron()
    change(vertices, triangles)
    return vertices, triangles


@pytest.mark.parametrize(
    ("mesh", "said"),
    [
        (broken(lambda v, t: v.__setitem__((2, 1), np.nan)), r"mesh of 'foot': vertex 2 is .*nan.*; .* must be finite"),
        (broken(lambda v, t: v.__setitem__((0, 0), np.inf)), r"mesh of 'foot': vertex 0 is .*inf"),
        ((np.zeros((0, 3)), np.zeros((0, 3), int)), r"mesh of 'foot': it is empty"),
        ((tetrahedron()[0], np.zeros((0, 3), int)), r"mesh of 'foot': it is empty"),
        (broken(lambda v, t: v.__imul__(0.0)), r"mesh of 'foot': every triangle has zero area"),
        (
            broken(lambda v, t: t.__setitem__((1, 1), 4)),
            r"mesh of 'foot': triangle index 4 is not allowed; allowed: 0 to 3",
        ),
        (
            broken(lambda v, t: t.__setitem__((1, 1), -1)),
            r"mesh of 'foot': triangle index -1 is not allowed; allowed: 0 to 3",
        ),
    ],
    ids=["nan", "infinite", "no vertices", "no triangles", "zero area", "index too large", "index negative"],
)
def test_a_mesh_that_cannot_be_is_refused(mesh, said):
    with pytest.raises(InputError, match=said) as caught:
        prepare(*mesh, name="foot")
    assert "\n" not in str(caught.value)


def test_slivers_without_area_are_dropped():
    vertices, triangles = tetrahedron()
    s = prepare(vertices, np.vstack([triangles, [[0, 1, 1]]]))
    assert (np.linalg.norm(face_normals(s.vertices, s.triangles), axis=1) > 0).all()
    assert volume(s.vertices, s.triangles) == pytest.approx(0.1**3 / 6, rel=ROUND_OFF)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"radius": 0, "width": 0.1}, r"wheel.radius: 0 m is not allowed"),
        ({"radius": 0.1, "width": -0.1}, r"wheel.width: -0.1 m is not allowed"),
        ({"radius": float("nan"), "width": 0.1}, r"wheel.radius: nan m is not allowed"),
        ({"radius": 0.1, "width": 0.1, "grouser_height": -0.01}, r"wheel.grouser_height: -0.01 is not allowed"),
        ({"radius": 0.1, "width": 0.1, "grouser_count": -2}, r"wheel.grouser_count: -2 is not allowed"),
    ],
)
def test_a_wheel_that_cannot_be_is_refused(settings, said):
    with pytest.raises(InputError, match=said):
        wheel(**settings)
