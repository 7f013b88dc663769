"""Polygons cut by lines, and their moments."""

from __future__ import annotations

import math

import numpy as np
import pytest

from grouser.contact.clipping import MOST_CORNERS, Moments, coordinates, cut, moments
from grouser.device import at
from grouser.precision import precision
from tests.device_call import call

ROUND_OFF = {"float64": 1e-14, "float32": 1e-6}
TRIANGLE = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]])


def corners(points: np.ndarray, dtype: str):
    kind = at(coordinates, dtype)
    padded = np.zeros((MOST_CORNERS, 2))
    padded[: len(points)] = points
    return kind(*padded[:, 0]), kind(*padded[:, 1]), len(points)


def cut_off(points: np.ndarray, a: float, b: float, c: float, dtype: str = "float64") -> np.ndarray:
    """Corners of the part where a x + b y + c >= 0."""
    kind, real = at(coordinates, dtype), precision(dtype).real
    line = real(a), real(b), real(c)
    x, y, count = call(at(cut, dtype), *corners(points, dtype), *line, returns=(kind, kind, int))
    return np.column_stack([x, y])[:count]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_line_cuts_a_corner_off(dtype):
    left = cut_off(TRIANGLE, -1.0, 0.0, 1.0, dtype)  # x <= 1
    assert {tuple(point) for point in left.tolist()} == {(0.0, 0.0), (1.0, 0.0), (1.0, 0.5), (0.0, 1.0)}


def test_a_polygon_on_the_right_side_stays_and_one_on_the_wrong_side_goes():
    assert cut_off(TRIANGLE, 1.0, 0.0, 0.0).tolist() == TRIANGLE.tolist()
    assert len(cut_off(TRIANGLE, -1.0, 0.0, -1.0)) == 0


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_moments_of_a_right_triangle(dtype):
    """Integral of x^i y^j over the triangle with legs p and q: i! j! p^(i + 1) q^(j + 1) / (i + j + 2)!."""
    got = call(at(moments, dtype), *corners(TRIANGLE, dtype), returns=at(Moments, dtype))
    powers = {"area": (0, 0), "x": (1, 0), "y": (0, 1), "xx": (2, 0), "xy": (1, 1), "yy": (0, 2)}
    for name, (i, j) in powers.items():
        exact = math.factorial(i) * math.factorial(j) * 2.0 ** (i + 1) / math.factorial(i + j + 2)
        assert got[name] == pytest.approx(exact, rel=ROUND_OFF[dtype]), name


def test_two_parts_of_a_polygon_have_the_moments_of_the_whole():
    whole = call(moments, *corners(TRIANGLE, "float64"), returns=Moments)
    line = np.array([0.3, -0.7, 0.1])
    one, two = (call(moments, *corners(cut_off(TRIANGLE, *side), "float64"), returns=Moments) for side in (line, -line))
    for name in whole.dtype.names:
        assert one[name] + two[name] == pytest.approx(whole[name], rel=ROUND_OFF["float64"]), name
