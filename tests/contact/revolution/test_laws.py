"""Geometry of sections and elements, one law at a time."""

import numpy as np
import pytest
import warp as wp

from grouser.contact.revolution import laws

ROUND_OFF = 1e-12
COUNT = 20  # bands, at random places


@wp.kernel(enable_backward=False)
def ring_boxes(
    at: wp.array(dtype=wp.vec3d), axis: wp.array(dtype=wp.vec3d), box: wp.array(dtype=wp.vec4d),
    box_out: wp.array(dtype=wp.vec4d),
):  # fmt: skip
    i = wp.tid()
    box_out[i] = laws.ring_box(at[i], axis[i], box[i])


@wp.kernel(enable_backward=False)
def elements(
    slope: wp.array(dtype=wp.float64), curvature: wp.array(dtype=wp.float64),
    climb_out: wp.array(dtype=wp.float64), share_out: wp.array(dtype=wp.float64), bulge_out: wp.array(dtype=wp.float64),
):  # fmt: skip
    """Greatest depth within half a metre; share of an element inside; an arc of this turn over a chord of 1 m."""
    i = wp.tid()
    climb_out[i] = laws.climb(slope[i], curvature[i], wp.float64(0.5))
    share_out[i] = laws.inner_share(slope[i], wp.float64(0.2))
    along = wp.vec2d(wp.float64(0.0), wp.float64(1.0))
    straight = laws.outward(along, wp.float64(1.0))
    half = wp.float64(0.5) * curvature[i]
    start = wp.vec2d(wp.cos(half), -wp.sin(half))
    end = laws.mirrored(start, straight)
    tilt = wp.vec2d(laws.rise(start, along, straight), laws.rise(end, along, straight))
    bulge_out[i] = laws.bulge(tilt, wp.float64(0.5))


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
    out = wp.zeros(COUNT, dtype=wp.vec4d, device="cpu")
    inputs = [
        wp.array(a, dtype=kind, device="cpu")
        for a, kind in ((at, wp.vec3d), (turns[:, :, 2], wp.vec3d), (np.hstack([low, high]), wp.vec4d))
    ]
    wp.launch(ring_boxes, dim=COUNT, inputs=[*inputs, out], device="cpu")
    for turn, origin, a, b, box in zip(turns, at, low, high, out.numpy(), strict=True):
        r, z = random.uniform(a, b, size=(4000, 2)).T
        angle = random.uniform(0, 2 * np.pi, 4000)
        points = origin + np.column_stack([r * np.cos(angle), r * np.sin(angle), z]) @ turn.T
        mapped = np.column_stack([np.hypot(points[:, 0], points[:, 1]), points[:, 2]])
        assert (mapped >= box[:2] - ROUND_OFF).all()
        assert (mapped <= box[2:] + ROUND_OFF).all()


def test_laws_of_an_element():
    slope = np.array([0.3, -0.3, 0.3, 0.3, 0.0, 0.1, 0.2, 0.225, 0.25, 1.0])
    curvature = np.array([2.0, 2.0, 0.1, -1.0, 1.0, 0.3, 0.2, 0.1, 0.05, -0.2])
    climb, share, bulge = (wp.zeros(len(slope), dtype=wp.float64, device="cpu") for _ in range(3))
    inputs = [wp.array(a, dtype=wp.float64, device="cpu") for a in (slope, curvature)]
    wp.launch(elements, dim=len(slope), inputs=[*inputs, climb, share, bulge], device="cpu")
    x = np.linspace(-0.5, 0.5, 100001)
    most = (slope[:, None] * x - curvature[:, None] * x**2 / 2).max(axis=1)
    np.testing.assert_allclose(climb.numpy(), most, atol=1e-9)
    assert share.numpy()[5:] == pytest.approx([0, 0, 0.5, 1, 1])
    small = np.abs(curvature) <= 0.3  # turns [rad] a sample of a curve may have
    radius = 1 / (2 * np.sin(curvature / 2))  # of the circle through a chord of 1 m
    height = radius * (1 - np.cos(curvature / 2))
    np.testing.assert_allclose(bulge.numpy()[small], height[small], rtol=0.3**2 / 8)
