"""Slip of a body against the ground, in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from grouser.contact.soil.observation import slip_of

UP = np.array([0.0, 0.0, 1.0])


def slip(velocity, spin, depth=0.1, normal=UP) -> float:
    return float(slip_of(np.array(velocity, float), np.array(spin, float), np.array(depth), np.array(normal)))


@pytest.mark.parametrize(
    ("v", "u", "expected"),
    [(0.1, 0.1, 0.0), (0.05, 0.1, 0.5), (0.0, 0.1, 1.0), (0.1, 0.05, -0.5), (0.1, 0.0, -1.0), (-0.1, -0.2, 0.5),
     (-0.05, 0.1, 1.5), (0.0, 0.0, 0.0), (5e-4, 0.0, 0.0)],
)  # fmt: skip
def test_driving_braking_locked_backwards_and_at_rest(v, u, expected):
    assert slip((v, 0, 0), (0, u / 0.1, 0)) == pytest.approx(expected)


def test_it_does_not_depend_on_where_the_slope_and_the_heading_are():
    """Turned with the ground, the same motion has the same slip; sideways slide and yaw do not count."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        q *= np.sign(np.linalg.det(q))
        v, w = np.array([0.06, 0.02, 0.01]), np.array([0.0, 0.8, 0.3])
        assert slip(q @ v, q @ w, normal=q @ UP) == pytest.approx(1 - 0.06 / 0.08)


def test_every_world_and_body_at_once():
    v, w = np.zeros((2, 3, 3)), np.zeros((2, 3, 3))
    v[..., 0], w[..., 1] = 0.05, 1.0
    found = slip_of(v, w, np.full((2, 3), 0.1), np.broadcast_to(UP, v.shape))
    np.testing.assert_allclose(found, 0.5)
