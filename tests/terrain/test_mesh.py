"""Meshes seen from above."""

import math

import numpy as np
import pytest
import trimesh

from grouser import terrain
from grouser.errors import InputError

ROUND_OFF = 1e-9  # [m] float64 planes of triangles a metre large, and positions rounded in files
FILE_DIGITS = 2e-6  # [m] STL and GLB store float32 of metres


def surface(function, nodes=9, size=2.0, middle=(0.0, 0.0)):
    """Vertices and triangles of z = function(x, y) on a square."""
    line = np.linspace(-0.5 * size, 0.5 * size, nodes)
    x, y = (axis.ravel() for axis in np.meshgrid(line + middle[0], line + middle[1]))
    corner = (np.arange(nodes - 1)[:, None] * nodes + np.arange(nodes - 1)[None, :]).ravel()
    lower = np.stack([corner, corner + 1, corner + nodes + 1], axis=1)
    upper = np.stack([corner, corner + nodes + 1, corner + nodes], axis=1)
    return np.stack([x, y, function(x, y)], axis=1), np.concatenate([lower, upper])


def tilted(x, y):
    return 0.5 + 0.3 * x - 0.2 * y


def test_a_plane_is_exact_up_to_its_border():
    grid = terrain.from_mesh(surface(tilted, middle=(3.0, -1.0)), 0.1)
    assert grid.heights.shape == (21, 21)
    assert grid.origin == pytest.approx((2.0, -2.0), abs=ROUND_OFF)
    np.testing.assert_allclose(grid.heights, tilted(grid.x[None, :], grid.y[:, None]), atol=ROUND_OFF)


@pytest.mark.parametrize("size", [1.4 * (1 - 4e-8), 1000 * (1 - 4e-8)])
def test_a_border_that_misses_its_nodes_by_the_round_off_of_a_file_is_still_met(size):
    nodes = 15
    grid = terrain.from_mesh(surface(tilted, nodes=2, size=size), round(size, 3) / (nodes - 1))
    assert grid.heights.shape == (nodes, nodes)
    np.testing.assert_allclose(grid.heights, tilted(grid.x[None, :], grid.y[:, None]), atol=1e-7 * size)


def test_far_from_the_origin_a_plane_is_as_exact():
    grid = terrain.from_mesh(surface(tilted, nodes=3, size=1000.0, middle=(5e5, 4e6)), 40.0)
    np.testing.assert_allclose(grid.heights, tilted(grid.x[None, :], grid.y[:, None]), atol=1e-6)
    assert grid.heights.shape == (26, 26)


def test_only_whole_cells_inside_the_mesh_are_taken():
    grid = terrain.from_mesh(surface(tilted), 0.3)
    assert grid.heights.shape == (7, 7)
    assert grid.bounds == pytest.approx((-1.0, 0.8, -1.0, 0.8), abs=ROUND_OFF)


def test_the_topmost_surface_counts():
    low_points, low_faces = surface(lambda x, y: 0 * x)
    high_points, high_faces = surface(lambda x, y: 0 * x + 1.0, size=1.0)
    both = (
        np.concatenate([low_points, high_points]),
        np.concatenate([low_faces, high_faces + len(low_points)]),
    )
    grid = terrain.from_mesh(both, 0.4)
    expected = np.zeros((6, 6))
    expected[2:4, 2:4] = 1.0
    assert np.array_equal(grid.heights, expected)


def test_a_spacing_with_more_nodes_than_memory_is_refused():
    with pytest.raises(InputError, match=r"'mesh': spacing = 1e-05 m gives 200001 x 200001 nodes"):
        terrain.from_mesh(surface(tilted, nodes=3), 1e-5)


def test_a_sphere_is_a_dome():
    ball = trimesh.creation.icosphere(subdivisions=5, radius=1.0)
    grid = terrain.from_mesh((ball.vertices, ball.faces), 0.1, bounds=(-0.5, 0.5, -0.5, 0.5))
    exact = np.sqrt(1 - grid.x[None, :] ** 2 - grid.y[:, None] ** 2)
    facet = math.radians(63.4 / 2**5)  # an edge of the icosahedron, halved five times
    assert np.abs(grid.heights - exact).max() < facet**2 / 6 * 2  # sagitta of a facet, on a slope of up to 45 deg


def test_holes_are_refused_or_filled():
    points, faces = surface(tilted, nodes=11)
    middles = points[faces].mean(axis=1)
    holed = points, faces[np.hypot(middles[:, 0], middles[:, 1]) > 0.35]
    with pytest.raises(InputError, match=r"'mesh': no height at node .* missing: allowed with missing = 'nearest'"):
        terrain.from_mesh(holed, 0.1)
    assert terrain.from_mesh(holed, 0.1, missing=-3.0).height(0.0, 0.0) == pytest.approx(-3.0)
    nearest = terrain.from_mesh(holed, 0.1, missing="nearest")
    assert nearest.height(0.0, 0.0) == pytest.approx(0.5, abs=0.2)
    assert nearest.height(0.9, 0.9) == pytest.approx(tilted(0.9, 0.9), abs=ROUND_OFF)


@pytest.mark.parametrize("ending", ["obj", "stl", "ply", "glb"])
def test_files_round_trip(tmp_path, ending):
    points, faces = surface(tilted)
    if ending == "glb":
        points = points[:, [0, 2, 1]] * [1, 1, -1]  # glTF: y up, -z north
    file = tmp_path / f"hill.{ending}"
    trimesh.Trimesh(points, faces, process=False).export(file)
    grid = terrain.load(file, spacing=0.25)
    np.testing.assert_allclose(grid.heights, tilted(grid.x[None, :], grid.y[:, None]), atol=FILE_DIGITS)
    assert grid.heights.shape == (9, 9)


def test_scale_up_and_origin(tmp_path):
    points, faces = surface(tilted)
    upright = points[:, [0, 2, 1]] * [1, 1, -1] * 1000.0
    grid = terrain.from_mesh((upright, faces), 0.25, scale=1e-3, up="y", origin=(5.0, 6.0))
    assert grid.origin == (5.0, 6.0)
    assert grid.height(5.0, 6.0) == pytest.approx(tilted(-1, -1), abs=ROUND_OFF)
    assert grid.height(7.0, 6.0) == pytest.approx(tilted(1, -1), abs=ROUND_OFF)


def test_a_generated_ground_survives_as_a_mesh():
    ground = terrain.crater(1.0, size=(2, 2), spacing=0.25)
    points, faces = surface(lambda x, y: ground.height(x, y))
    np.testing.assert_allclose(terrain.from_mesh((points, faces), 0.25).heights, ground.heights, atol=ROUND_OFF)


def test_a_bad_mesh_is_one_clear_line(tmp_path):
    points, faces = surface(tilted, nodes=3)
    broken = points.copy()
    broken[4, 2] = np.nan
    (tmp_path / "empty.obj").write_text("# nothing\n")
    (tmp_path / "points.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\n")
    (tmp_path / "junk.stl").write_bytes(b"junk")
    cases = [
        (
            lambda: terrain.from_mesh((broken, faces), 0.1),
            r"'mesh': vertex 4 = .*nan.*: allowed are finite numbers",
        ),
        (
            lambda: terrain.from_mesh((points[:5], faces), 0.1),
            "triangles refer to vertices 0 to 8: allowed are 0 to 4",
        ),
        (lambda: terrain.from_mesh((points, faces[:0]), 0.1), "has no triangles"),
        (lambda: terrain.from_mesh((points[:, :2], faces), 0.1), r"vertices are float64 \(9, 2\)"),
        (lambda: terrain.from_mesh((points, faces * 1.0), 0.1), r"triangles are float64 \(8, 3\)"),
        (lambda: terrain.from_mesh(3, 0.1), r"allowed is a file name or \(vertices, triangles\)"),
        (
            lambda: terrain.from_mesh((points, faces), 5.0),
            "2 m x 2 m seen from above: allowed is at least one spacing",
        ),
        (lambda: terrain.from_mesh((points, faces), -1), "mesh: spacing = -1"),
        (lambda: terrain.from_mesh((points, faces), 0.1, scale=0), "mesh: scale = 0"),
        (lambda: terrain.from_mesh((points, faces), 0.1, up="x"), "mesh: up 'x' is not known"),
        (
            lambda: terrain.from_mesh((points, faces), 0.1, bounds=(0, 1)),
            r"mesh: bounds = \(0, 1\): allowed are x_min",
        ),
        (lambda: terrain.from_mesh((points, faces), 0.1, bounds=(0, 5, 0, 1)), "no height at node"),
        (lambda: terrain.from_mesh(tmp_path / "empty.obj", 0.1), "empty.obj' (has|holds) no triangles"),
        (lambda: terrain.from_mesh(tmp_path / "points.obj", 0.1), "points.obj' (has|holds) no triangles"),
        (lambda: terrain.from_mesh(tmp_path / "junk.stl", 0.1), "junk.stl' has no triangles"),
        (lambda: terrain.from_mesh(tmp_path / "none.stl", 0.1), "none.stl' does not exist"),
    ]
    for make, message in cases:
        with pytest.raises(InputError, match=message) as caught:
            make()
        assert "\n" not in str(caught.value)
