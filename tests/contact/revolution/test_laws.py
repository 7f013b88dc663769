"""Geometry of sections and elements, one law at a time."""

from __future__ import annotations

import numpy as np
import pytest

from grouser.contact.revolution import laws
from grouser.contact.revolution.types import Box
from grouser.precision import real, vec2, vec3
from tests.device_call import call

ROUND_OFF = 1e-12
COUNT = 20  # bands, at random places


def box(low, high):
    made = Box()
    made.low, made.high = vec2(*low), vec2(*high)
    return made


def random_rotation(random) -> np.ndarray:
    q, _ = np.linalg.qr(random.normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


def test_a_band_lies_in_its_box_wherever_it_is_turned():
    """Points of one body, mapped to the half plane of the other; none is farther out than that plane allows."""
    random = np.random.default_rng(0)
    turns = np.array([random_rotation(random) for _ in range(COUNT)])
    at = random.normal(size=(COUNT, 3)) * random.choice([0.01, 1.0], size=(COUNT, 1))
    low = np.column_stack([random.uniform(0, 1, COUNT), random.normal(size=COUNT)])
    high = low + random.uniform(0, 1, size=(COUNT, 2))
    for turn, origin, a, b in zip(turns, at, low, high, strict=True):
        around = call(laws.ring_box, vec3(*origin), vec3(*turn[:, 2]), box(a, b), returns=Box)
        r, z = random.uniform(a, b, size=(4000, 2)).T
        angle = random.uniform(0, 2 * np.pi, 4000)
        points = origin + np.column_stack([r * np.cos(angle), r * np.sin(angle), z]) @ turn.T
        mapped = np.column_stack([np.hypot(points[:, 0], points[:, 1]), points[:, 2]])
        assert (mapped >= around["low"] - ROUND_OFF).all()
        assert (mapped <= around["high"] + ROUND_OFF).all()


@pytest.mark.parametrize(("slope", "curvature"), [(0.3, 2.0), (-0.3, 2.0), (0.3, 0.1), (0.3, -1.0), (0.0, 1.0)])
def test_climb_is_the_greatest_depth_over_that_of_the_middle(slope, curvature):
    x = np.linspace(-0.5, 0.5, 100001)
    most = (slope * x - curvature * x**2 / 2).max()
    assert call(laws.climb, real(slope), real(curvature), real(0.5), returns=real) == pytest.approx(most, abs=1e-9)


def test_an_element_passes_to_the_inside_over_a_quarter_of_its_spread():
    shares = [call(laws.inner_share, real(depth), real(0.2), returns=real) for depth in (0.1, 0.2, 0.225, 0.25, 1.0)]
    assert shares == pytest.approx([0, 0, 0.5, 1, 1])


@pytest.mark.parametrize("turn", [0.3, 0.2, 0.1, 0.05, -0.2])  # [rad] between the ends of a curve
def test_the_bulge_of_an_arc_is_its_height(turn):
    """Over a chord of 1 m along z."""
    along = vec2(0.0, 1.0)
    straight = vec2(*call(laws.outward, along, real(1.0), returns=vec2))
    start = vec2(np.cos(turn / 2), -np.sin(turn / 2))
    end = vec2(*call(laws.mirrored, start, straight, returns=vec2))
    tilt = vec2(*(call(laws.rise, normal, along, straight, returns=real) for normal in (start, end)))
    height = (1 - np.cos(turn / 2)) / (2 * np.sin(turn / 2))  # of an arc of radius 1 / (2 sin(turn / 2))
    assert call(laws.bulge, tilt, real(0.5), returns=real) == pytest.approx(height, rel=0.3**2 / 8)


def test_the_gap_of_a_point_from_a_box_is_that_of_the_nearest_corner_or_side():
    gaps = [call(laws.box_gap2, vec2(*p), box((1, 2), (3, 5)), returns=real) for p in ((0, 0), (2, 7), (2, 3))]
    assert gaps == [5, 4, 0]


def test_boxes_that_overlap_have_a_gap_below_zero():
    first = box((0, 0), (1, 1))
    assert call(laws.boxes_gap, first, box((3, 0), (4, 1)), returns=real) == 2
    assert call(laws.boxes_gap, first, box((0.5, 0.25), (4, 1)), returns=real) == -0.5
