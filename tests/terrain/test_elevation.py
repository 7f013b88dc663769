"""ElevationGrid: bilinear surface, normals, borders, checks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grouser.errors import InputError
from grouser.terrain import BARE, ElevationGrid, soil

ROUND_OFF = 1e-12  # relative to the size of the numbers: a handful of float64 operations
DIFFERENCE_STEP = 1e-5  # of the spacing
DIFFERENCE_ERROR = 1e-8  # round-off 1e-16/1e-5 of a central difference, exact for a bilinear cell otherwise

coefficient = st.floats(-3.0, 3.0)
place = st.floats(0.0, 1.0)


def bilinear(coefficients, x, y):
    a, b, c, d = coefficients
    return a + b * x + c * y + d * x * y


def grid_of(function, shape=(5, 7), spacing=0.3, origin=(-0.8, 0.4)) -> ElevationGrid:
    y = origin[1] + spacing * np.arange(shape[0])[:, None]
    x = origin[0] + spacing * np.arange(shape[1])[None, :]
    return ElevationGrid(function(x, y), spacing, origin)


@given(st.tuples(coefficient, coefficient, coefficient, coefficient), place, place)
def test_a_bilinear_function_is_reproduced_exactly(coefficients, along_x, along_y):
    grid = grid_of(lambda x, y: bilinear(coefficients, x, y))
    x_min, x_max, y_min, y_max = grid.bounds
    x, y = x_min + along_x * (x_max - x_min), y_min + along_y * (y_max - y_min)
    assert abs(grid.height(x, y) - bilinear(coefficients, x, y)) < 30 * ROUND_OFF
    _, b, c, d = coefficients
    assert grid.gradient(x, y) == pytest.approx((b + d * y, c + d * x), abs=100 * ROUND_OFF)


@given(
    hnp.arrays(np.float64, (4, 5), elements=st.floats(-2.0, 2.0)),
    st.integers(0, 2),
    st.integers(0, 3),
    st.floats(0.01, 0.99),
    st.floats(0.01, 0.99),
)
def test_normals_agree_with_finite_differences_of_the_height(heights, row, column, v, u):
    spacing = 0.25
    grid = ElevationGrid(heights, spacing, (1.0, -2.0))
    x, y = 1.0 + (column + u) * spacing, -2.0 + (row + v) * spacing
    h = DIFFERENCE_STEP * spacing
    along_x = (grid.height(x + h, y) - grid.height(x - h, y)) / (2 * h)
    along_y = (grid.height(x, y + h) - grid.height(x, y - h)) / (2 * h)
    normal = grid.normal(x, y)
    expected = np.array([-along_x, -along_y, 1.0]) / np.sqrt(1 + along_x**2 + along_y**2)
    np.testing.assert_allclose(normal, expected, atol=10 * DIFFERENCE_ERROR)
    assert np.linalg.norm(normal) == pytest.approx(1.0, rel=ROUND_OFF)


@given(hnp.arrays(np.float64, (3, 4), elements=st.floats(-5, 5)), st.floats(-3, 3), st.floats(-3, 3))
def test_height_lies_between_the_nodes_and_outside_is_that_of_the_nearest_border_point(heights, x, y):
    grid = ElevationGrid(heights, 0.5, (-0.75, -0.5))
    assert heights.min() - ROUND_OFF <= grid.height(x, y) <= heights.max() + ROUND_OFF
    x_min, x_max, y_min, y_max = grid.bounds
    inside = np.clip(x, x_min, x_max), np.clip(y, y_min, y_max)
    assert grid.height(x, y) == grid.height(*inside)
    assert np.array_equal(grid.normal(x, y), grid.normal(*inside))
    assert grid.contains(x, y) == (inside == (x, y))


def test_nodes_are_met_exactly_and_rows_are_y():
    grid = ElevationGrid([[0.0, 1.0, 2.0], [10.0, 11.0, 12.0]], 2.0, (5.0, -1.0))
    assert grid.heights.shape == (2, 3)
    assert grid.size == (4.0, 2.0)
    assert grid.bounds == (5.0, 9.0, -1.0, 1.0)
    assert grid.height(9.0, -1.0) == 2.0
    assert grid.height(5.0, 1.0) == 10.0
    assert np.array_equal(grid.height(grid.x[None, :], grid.y[:, None]), grid.heights)
    assert grid.height(6.0, 0.0) == (0.0 + 1.0 + 10.0 + 11.0) / 4


def test_a_plane_has_one_normal():
    grid = grid_of(lambda x, y: 0.75 * x + 0.0 * y)
    np.testing.assert_allclose(grid.normal(0.1, 0.9), [-0.6, 0.0, 0.8], atol=ROUND_OFF)


def test_shapes_follow_the_query():
    grid = grid_of(lambda x, y: x + y)
    x, y = np.linspace(-0.5, 0.5, 4), np.linspace(0.5, 1.0, 3)
    assert isinstance(grid.height(0.0, 0.5), float)
    assert grid.contains(0.0, 0.5) is True
    assert grid.height(x, 0.5).shape == (4,)
    assert grid.height(x[None, :], y[:, None]).shape == (3, 4)
    assert grid.normal(0.0, 0.5).shape == (3,)
    assert grid.normal(x[None, :], y[:, None]).shape == (3, 4, 3)
    assert grid.contains(x, 99.0).tolist() == [False] * 4
    assert grid.height([], []).shape == (0,)
    assert grid.soil_index_at(x, 0.5).dtype == np.int32


def test_a_query_that_is_nan_gives_nan_and_is_not_contained():
    grid = grid_of(lambda x, y: x + y)
    assert np.isnan(grid.height(np.nan, 0.5))
    assert np.isnan(grid.height([0.0, np.nan], 0.5)).tolist() == [False, True]
    assert grid.contains(np.nan, 0.5) is False
    assert grid.height(np.inf, 0.5) == grid.height(grid.bounds[1], 0.5)


def test_two_by_two_nodes_of_a_square_kilometre_are_enough():
    grid = ElevationGrid(np.zeros((2, 2)), 1000.0, (-500.0, -500.0))
    assert grid.height(123.4, -400.0) == 0.0
    assert grid.normal(0.0, 0.0).tolist() == [0.0, 0.0, 1.0]


def test_arrays_are_the_grids_own_and_read_only():
    heights = np.zeros((3, 3))
    grid = ElevationGrid(heights, 1.0, (0.0, 0.0))
    heights[1, 1] = 5.0
    assert grid.heights[1, 1] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        grid.heights[0, 0] = 1.0
    assert grid.with_soil("clay").heights is grid.heights


def test_moved_shifts_ground_and_origin():
    grid = grid_of(lambda x, y: x * y)
    moved = grid.moved(x=1.0, y=-2.0, z=0.5)
    assert moved.height(1.1, -1.2) == pytest.approx(grid.height(0.1, 0.8) + 0.5, abs=ROUND_OFF)


def test_soils_of_nodes():
    grid = ElevationGrid(np.zeros((2, 3)), 1.0, (0.0, 0.0))
    assert grid.soil_index is None
    assert grid.soil_index_at(1.0, 0.5) == 0
    assert grid.with_soil("clay").soils == (soil("clay"),)
    mixed = grid.with_soils([[0, 1, 1], [0, 0, BARE]], (soil("clay"), "dry-sand"))
    assert mixed.soil_index is not None
    assert mixed.soil_index.dtype == np.int32
    assert [s.name for s in mixed.soils] == ["clay", "dry-sand"]
    assert mixed.soil_index_at([0.4, 0.5, 1.9, 1.9], [0.0, 0.0, 0.5, 0.4]).tolist() == [0, 1, BARE, 1]
    assert mixed.soil_index_at(50.0, 50.0) == BARE
    assert mixed.with_soil("clay").soil_index is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"heights": np.zeros((1, 5))},
            r"heights have shape \(1, 5\): allowed is \(ny, nx\), at least 2 x 2",
        ),
        ({"heights": np.zeros(5)}, r"heights have shape \(5,\)"),
        ({"heights": "hill"}, "heights are not an array of numbers"),
        ({"heights": [[0, 1], [2]]}, "heights are not an array of numbers"),
        ({"heights": [[0, 1], [np.nan, np.nan]]}, r"height nan at node \(row 1, column 0\), 2 such nodes"),
        ({"heights": [[0, np.inf], [0, 0]]}, r"height inf at node \(row 0, column 1\), 1 such"),
        ({"spacing": 0.0}, "spacing = 0.0: allowed is a finite number above 0"),
        ({"spacing": -0.1}, "spacing = -0.1"),
        ({"spacing": np.nan}, "spacing = nan"),
        ({"origin": (0.0,)}, r"origin = \(0.0,\): allowed are two numbers"),
        ({"origin": (0.0, np.inf)}, r"origin\[1\] = inf"),
        (
            {"soil_index": np.zeros((3, 2), int)},
            r"soil_index is int64 \(3, 2\): allowed are integers \(2, 2\)",
        ),
        ({"soil_index": np.zeros((2, 2))}, "soil_index is float64"),
        (
            {"soil_index": [[0, 0], [0, 1]]},
            r"soil_index 1 at node \(row 1, column 1\): allowed is -1 \(bare\) to 0",
        ),
        ({"soil_index": [[0, -2], [0, 0]]}, r"soil_index -2 at node \(row 0, column 1\)"),
        ({"soil_index": [[0, -2], [0, 0]], "soils": ()}, r"allowed is -1 \(bare\) or above"),
        ({"soils": (3,)}, "soils hold 3: allowed are soils"),
        ({"soils": ("caly",)}, r"soil 'caly' is not known, did you mean 'clay'\?"),
    ],
)
def test_a_bad_grid_is_one_clear_line(change, message):
    given_fields = {
        "heights": np.zeros((2, 2)),
        "spacing": 1.0,
        "origin": (0.0, 0.0),
        "soils": (soil("clay"),),
    }
    with pytest.raises(InputError, match=message) as caught:
        ElevationGrid(**(given_fields | change))
    assert "\n" not in str(caught.value)
