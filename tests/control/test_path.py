"""Places on a path against plane geometry."""

import math

import numpy as np
import pytest

from grouser.control import Path
from grouser.errors import InputError

ROUND_OFF = 1e-12
CORNER = [(0, 0), (2, 0), (2, 3)]


def test_lengths_and_points_of_a_polyline():
    path = Path(CORNER)
    assert path.length == 5
    assert path.point(1.5) == (1.5, 0)
    assert path.point(3.0) == (2, 1)
    assert path.point(5.5) == (2, 3.5)  # straight on beyond the end
    assert path.point_of_leg(2.5, 0) == (2.5, 0)
    assert path.heading(1) == pytest.approx(math.pi / 2)


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (1.0, 0.3, (0, 1.0, 0.3)),  # left of the first leg
        (1.0, -0.3, (0, 1.0, -0.3)),
        (2.4, 1.0, (1, 3.0, -0.4)),  # right of the second
        (2.2, -0.1, (1, 2.0, -0.2)),  # outside the corner
        (1.9, 0.5, (1, 2.5, 0.1)),  # inside the corner, nearer to the second leg
        (2.1, 3.5, (1, 5.0, -0.1)),  # past the end
        (-0.5, 0.1, (0, 0.0, 0.1)),  # before the start
    ],
)
def test_nearest_place(x, y, expected):
    np.testing.assert_allclose(Path(CORNER).locate(x, y), expected, atol=ROUND_OFF)


def test_a_path_that_crosses_itself_is_followed_in_order():
    """A figure of eight: at the crossing the place is that of the pass the vehicle is on."""
    t = np.linspace(0, 2 * np.pi, 200)
    path = Path(np.column_stack([2 * np.sin(t), np.sin(2 * t)]))
    leg, arcs = 0, []
    for x, y in path.points:
        leg, arc, error = path.locate(x, y, leg)
        arcs.append(arc)
        assert abs(error) < ROUND_OFF
    expected = np.concatenate([[0], np.cumsum(np.hypot(*np.diff(path.points, axis=0).T))])
    np.testing.assert_allclose(arcs, expected, atol=1e-9)


def test_a_spline_goes_through_its_waypoints_without_corners():
    waypoints = [(0, 0), (1.5, 0), (3.5, 1.2), (5.5, 2.4), (7, 2.4)]
    path = Path(waypoints, smooth=True)
    for x, y in waypoints:
        chord = 1e-3  # [m] a chord 2 cm long lies this close to a curve of 0.05 m radius or wider
        assert min(np.hypot(path.points[:, 0] - x, path.points[:, 1] - y)) < 0.011
        assert abs(path.locate(x, y)[2]) < chord
    headings = np.unwrap([path.heading(leg) for leg in range(path.legs)])
    assert np.abs(np.diff(headings)).max() < math.radians(3)


def test_a_spline_through_points_of_a_circle_is_the_circle():
    """Error of a cubic spline: of the fourth order in the spacing of its points (natural ends left out)."""
    errors = []
    for count in (9, 17):
        angle = np.linspace(0, np.pi, count)
        points = Path(np.column_stack([np.cos(angle), np.sin(angle)]), smooth=True, sampling=1e-3).points
        middle = points[(points[:, 1] > 0.8)]
        errors.append(np.abs(np.hypot(*middle.T) - 1).max())
    assert errors[1] < errors[0] / 8  # 16 less what the ends still do


@pytest.mark.parametrize("waypoints", [[(0, 0)], [(0, 0), (0, 0)], [(0, 0, 0), (1, 1, 1)], [(0, math.nan), (1, 1)]])
def test_bad_waypoints_are_refused(waypoints):
    with pytest.raises(InputError, match="waypoints = "):
        Path(waypoints)
